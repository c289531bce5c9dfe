"""What the PyTorch peers share: threads set before PyTorch is loaded, Fashion-MNIST, what to say about the build.

Import this before torch: the number of threads of the BLAS libraries is read when they are loaded.
"""
import ctypes
import gzip
import json
import os
import socket
import subprocess
import sys

DATA_FOLDER = "/usr/share/datasets/fashion-mnist"


def use_threads(threads):
    """Sets the number of compute threads of this process; must come before `import torch`."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(threads)
    if has_avx512():    # Debian 12's OpenBLAS takes a newer processor than it knows for one of 2004: a fifth of the speed
        os.environ.setdefault("OPENBLAS_CORETYPE", "SKYLAKEX")
    import torch
    torch.set_num_threads(threads)
    return torch


def has_avx512():
    with open("/proc/cpuinfo") as info:
        return any(" avx512vl " in line for line in info)


def pin(cores):
    if cores is not None:
        os.sched_setaffinity(0, cores)


def read_idx(path):
    import numpy
    with gzip.open(path, "rb") as file:
        content = file.read()
    dimensions = content[3]
    shape = numpy.frombuffer(content, ">u4", count=dimensions, offset=4)
    return numpy.frombuffer(content, numpy.uint8, offset=4 + 4 * dimensions).reshape(shape)


def fashion_mnist(torch, part):
    """All samples of "train" or "t10k" in memory: float32 of 0 to 1, N x 1 x 28 x 28, and int64 labels."""
    images = read_idx(f"{DATA_FOLDER}/{part}-images-idx3-ubyte.gz")
    labels = read_idx(f"{DATA_FOLDER}/{part}-labels-idx1-ubyte.gz")
    pixels = torch.from_numpy(images.astype("float32") / 255).reshape(-1, 1, 28, 28)
    return pixels, torch.from_numpy(labels.astype("int64"))


def blas_library():
    """The BLAS that this process has loaded: Debian's alternatives for libblas.so.3, MKL in PyTorch's own builds."""
    import torch
    if torch.backends.mkl.is_available():
        return "MKL"
    with open("/proc/self/maps") as maps:
        folders = {os.path.basename(os.path.dirname(line.split()[-1])) for line in maps if "/libblas.so.3" in line}
    return ", ".join({"blas": "reference", "openblas-pthread": "OpenBLAS"}.get(f, f) for f in sorted(folders))


def report(**fields):
    import torch
    print(json.dumps({**fields, "torch": torch.__version__, "blas": blas_library()}), flush=True)


def set_death_signal():
    """This process ends when its parent does, however that happens (Linux: PR_SET_PDEATHSIG, SIGKILL)."""
    ctypes.CDLL(None).prctl(1, 9)


def run_mode(options, train, ranks=2):
    """Calls train(options, threads, rank, ranks) as options.mode says; the exit code. `options` has rank and port, None but in
    the processes that "ddp" starts: this program again. They have a core each if there are enough."""
    cores = sorted(os.sched_getaffinity(0))
    if options.rank is not None:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(options.port), GLOO_SOCKET_IFNAME="lo")
        if ranks <= len(cores):
            pin({cores[options.rank]})
        train(options, 1, options.rank, ranks)
    elif options.mode == "ddp":
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [sys.executable, *sys.argv, "--port", str(port), "--rank"]
        started = [subprocess.Popen([*command, str(rank)], preexec_fn=set_death_signal) for rank in range(ranks)]
        return max(rank.wait() for rank in started)
    elif options.mode == "one":
        pin({cores[0]})
        train(options, 1, 0, 1)
    else:
        train(options, 2, 0, 1)
    return 0
