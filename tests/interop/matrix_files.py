#!/usr/bin/env python3
"""Matrices as NumPy, SciPy and scikit-learn save them are read with the same rows, and refused where that is documented.

    tests/interop/matrix_files.py PROGRAM      PROGRAM: matrix_values of the build folder

Skipped (exit code 77) where python3-numpy is not installed, and the other two's files where they are not.
"""
import gzip
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
try:
    import scipy.io
    import scipy.sparse
except ImportError:
    scipy = None
    print("skipped: sparse matrices, as this python has no scipy (Debian: python3-scipy)")
try:
    import sklearn.datasets
except ImportError:
    sklearn = None
    print("skipped: libsvm files, as this python has no sklearn (Debian: python3-sklearn)")

RANDOM = numpy.random.default_rng(1)
DENSE = numpy.round(RANDOM.normal(size=(60, 23)) * 10.0 ** RANDOM.integers(-30, 30, (60, 23)), 35)
SPARSE = numpy.where(RANDOM.random((60, 23)) < 0.1, DENSE, 0)
SPARSE[17] = SPARSE[:, 5] = 0  # nothing there
SPARSE[59, 22] = 1  # what libsvm has no other way to say
TARGETS = RANDOM.normal(size=60)


def of_numpy(folder):
    """(name for the program, rows, targets or None, whether they are sparse)"""
    for kind in "u1", "i4", "i8", "f4", "f8":
        array = (numpy.abs(DENSE) % 100).astype(kind)
        for order in "C", "F":
            name = folder / f"{kind}{order}.npy"
            numpy.save(name, numpy.array(array, order=order))
            yield name, array, None, False
    numpy.savez(folder / "two.npz", x=DENSE, y=TARGETS)
    yield f"{folder}/two.npz:x@{folder}/two.npz:y", DENSE, TARGETS, False
    numpy.savetxt(folder / "targets.txt", TARGETS)
    for name, options in (("a.csv", {"delimiter": ","}), ("b.csv.gz", {"delimiter": ";"}),
                          ("c.tsv", {"delimiter": "\t", "fmt": "%.17g", "header": "\t".join("abcdefghijklmnopqrstuvw"),
                                     "comments": ""})):
        numpy.savetxt(folder / name, DENSE, **options)
        yield f"{folder / name}@{folder}/targets.txt", DENSE, TARGETS, False


def of_scipy(folder):
    for format in "csr", "csc", "coo":
        for compressed in True, False:
            for kind in "f4", "f8", "i8":
                array = (SPARSE if kind[0] == "f" else numpy.sign(SPARSE)).astype(kind)
                name = folder / f"{format}{compressed}{kind}.npz"
                scipy.sparse.save_npz(name, scipy.sparse.coo_matrix(array).asformat(format), compressed)
                yield name, array, None, True
    square = SPARSE[:23] + SPARSE[:23].T
    for name, array, options in (("general", SPARSE, {}), ("symmetric", square, {"symmetry": "symmetric"})):
        scipy.io.mmwrite(folder / f"{name}.mtx", scipy.sparse.coo_matrix(array), precision=17, **options)
        yield folder / f"{name}.mtx", array, None, True
        scipy.io.mmwrite(folder / f"{name}-array.mtx", array, precision=17, **options)
        yield folder / f"{name}-array.mtx", array, None, False
    pattern = (SPARSE != 0).astype("f4")
    scipy.io.mmwrite(folder / "pattern.mtx", scipy.sparse.coo_matrix(pattern), field="pattern")
    (folder / "pattern.mtx.gz").write_bytes(gzip.compress((folder / "pattern.mtx").read_bytes()))
    yield folder / "pattern.mtx.gz", pattern, None, True


def of_sklearn(folder):
    for name, array in (("sparse", SPARSE), ("dense", DENSE)):
        sklearn.datasets.dump_svmlight_file(array, TARGETS, str(folder / name), zero_based=False, comment="made up")
        rows, targets = sklearn.datasets.load_svmlight_file(str(folder / name))  # it has not written all digits
        yield folder / name, rows.toarray(), targets, True


def refused_of_scipy(folder):
    """(name, what is said)"""
    for format in "bsr", "dia":
        scipy.sparse.save_npz(folder / f"{format}.npz", scipy.sparse.coo_matrix(SPARSE).asformat(format))
        yield folder / f"{format}.npz", f'a matrix of the format "{format}"'
    twice = scipy.sparse.coo_matrix(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2))
    scipy.sparse.save_npz(folder / "twice.npz", twice)
    yield folder / "twice.npz", "element 1 has the row and column of one before it"
    scipy.io.mmwrite(folder / "complex.mtx", scipy.sparse.coo_matrix(SPARSE * 1j))
    yield folder / "complex.mtx", 'the field "complex"'


def refused_of_sklearn(folder):
    sklearn.datasets.dump_svmlight_file(numpy.ones((2, 2)), [1, 2], str(folder / "zero"), zero_based=True)
    yield folder / "zero", "an index of 0"


def read(program, name):
    output = subprocess.run([program, str(name)], capture_output=True, text=True, check=True).stdout
    return json.loads(output)


def is_read(program, name, rows, targets, is_sparse):
    got = read(program, name)
    fits = (got.get("sparse") == is_sparse and numpy.array_equal(numpy.float32(got["rows"]), rows.astype("f4"))
            and (targets is None or numpy.array_equal(got["targets"], targets))
            and (not is_sparse or got["entries"] == numpy.count_nonzero(rows)))
    if not fits:
        print(f"{name}: {str(got)[:300]}")
    return fits


def is_refused(program, name, said):
    got = read(program, name).get("refused", "")
    if said not in got:
        print(f"{name}: {got}, not {said}")
    return said in got


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        done = [is_read(program, *row) for row in of_numpy(folder)]
        if scipy:
            done += [is_read(program, *row) for row in of_scipy(folder)]
            done += [is_refused(program, *row) for row in refused_of_scipy(folder)]
        if sklearn:
            done += [is_read(program, *row) for row in of_sklearn(folder)]
            done += [is_refused(program, *row) for row in refused_of_sklearn(folder)]
    print(f"{len(done)} files, {done.count(False)} wrong")
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
