#!/usr/bin/env python3
"""The rate of PyTorch's float32 matrix product on one core: N x N x N, the best of several; prints one line of JSON.

    pytorch_sgemm.py [--size 2048] [--repetitions 8]
"""
import argparse
import os
import time

import pytorch_common as common


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", default="sgemm")
    parser.add_argument("--size", type=int, default=2048)
    parser.add_argument("--repetitions", type=int, default=8)
    options = parser.parse_args()
    common.pin({sorted(os.sched_getaffinity(0))[0]})
    torch = common.use_threads(1)
    a, b = torch.rand(options.size, options.size), torch.rand(options.size, options.size)
    c = torch.mm(a, b)
    times = []
    for _ in range(options.repetitions):
        start = time.perf_counter()
        torch.mm(a, b, out=c)
        times.append(time.perf_counter() - start)
    common.report(name=options.name, size=options.size, gflops=round(2e-9 * options.size**3 / min(times), 1))


if __name__ == "__main__":
    main()
