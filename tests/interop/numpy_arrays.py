#!/usr/bin/env python3
"""Arrays as NumPy saves them are read with the same shapes and values, and refused where that is documented.

    tests/interop/numpy_arrays.py PROGRAM      PROGRAM: npy_values of the build folder

Skipped (exit code 77) where python3-numpy is not installed.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy
except ImportError:
    print("skipped: this python has no numpy (Debian: python3-numpy)")
    sys.exit(77)


def arrays():
    """(name, array) of what is read."""
    random = numpy.random.default_rng(1)
    for shape in ((5,), (1, 1), (3, 2, 4), (2, 1, 3, 1, 2, 1, 1, 2)):
        yield "u1", random.integers(0, 256, shape).astype("u1")
        yield "i4", random.integers(0, 2**31, shape).astype("i4")
        yield "i8", random.integers(0, 2**31, shape).astype("i8")
        yield "f4", random.normal(size=shape).astype("f4")
        yield "f8", random.normal(size=shape)
        yield "f2", random.normal(size=shape).astype("f2")
        yield "b1", random.integers(0, 2, shape).astype("?")
        yield "i1", random.integers(0, 2**7, shape).astype("i1")
        yield "i2", random.integers(0, 2**15, shape).astype("i2")
        yield "u2", random.integers(0, 2**16, shape).astype("u2")
        yield "u4", random.integers(0, 2**31, shape).astype("u4")
        for kind in (">f2", ">f4", ">f8", ">i2", ">u4", ">i8"):
            yield kind[1:] + "-big-endian", random.integers(0, 2**10, shape).astype(kind)
    yield "small-half", numpy.array([6e-8, -6e-5, 65504, 0.1]).astype("f2")
    yield "labels", numpy.array([-1, 3, 0])
    yield "large", random.normal(size=(600, 7, 11))


def refused():
    """(name, array, what is said)."""
    good = numpy.arange(6.0).reshape(2, 3)
    yield "unsigned", good.astype("u8"), "elements of type '<u8'"
    yield "texts", numpy.array(["a"]), "elements of type '<U1'"
    yield "times", numpy.array(["2020-01-02"], dtype="M8[D]"), "array.astype('<i8')"
    yield "fortran", numpy.asfortranarray(good), "Fortran order"
    yield "complex", good.astype("c8"), "elements of type '<c8'"
    yield "structure", numpy.zeros(3, dtype=[("x", "f4"), ("y", "i4")]), "an array of structures"
    yield "scalar", numpy.array(1.0), "a single number"
    yield "empty", numpy.zeros((0, 3)), "a dimension of 0"
    yield "infinite", numpy.array([1.0, numpy.inf]), "element 1 is not a finite"
    yield "objects", numpy.array([None, 1], dtype=object), "elements of type '|O'"


def files_of(name, number, array, folder):
    """The same array in every kind of file."""
    plain = folder / f"{name}-{number}.npy"
    numpy.save(plain, array)
    yield plain
    for version in ((1, 0), (2, 0), (3, 0)):
        of_version = folder / f"{name}-{number}-{version[0]}.npy"
        with open(of_version, "wb") as file:
            numpy.lib.format.write_array(file, array, version)
        yield of_version
    for kind, save in (("stored", numpy.savez), ("packed", numpy.savez_compressed)):
        archive = folder / f"{name}-{number}-{kind}.npz"
        save(archive, other=numpy.zeros(3), wanted=array)
        yield f"{archive}:wanted"


def check(program, names, fits):
    output = subprocess.run([program, *map(str, names)], capture_output=True, text=True, check=True).stdout
    lines = [json.loads(line) for line in output.splitlines()]
    assert len(lines) == len(names), "one line for each"
    wrong = [(name, line) for name, line in zip(names, lines) if not fits(line)]
    for name, line in wrong:
        print(f"{name}: {str(line)[:300]}")
    return len(wrong)


def main():
    program, failed, files = sys.argv[1], 0, 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for number, (name, array) in enumerate(arrays()):
            names = list(files_of(name, number, array, folder))
            failed += check(program, names, lambda line: line.get("shape") == list(array.shape) and numpy.array_equal(
                numpy.float32(line["values"]) if array.dtype.kind == "f" else line["values"],
                numpy.float32(array).ravel() if array.dtype.kind == "f" else array.ravel()))
            files += len(names)
        for name, array, said in refused():
            path = folder / f"{name}.npy"
            numpy.save(path, array, allow_pickle=True)
            failed += check(program, [path], lambda line: said in line.get("refused", ""))
            files += 1
    print(f"{files} files, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
