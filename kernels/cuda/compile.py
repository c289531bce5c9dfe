#!/usr/bin/env python3
"""Compiles one file of kernels for the GPU and keeps the compiler's report of registers, shared memory and spills.

  compile.py REPORT -- NVCC ARGUMENT...

The report goes into the file REPORT; other words of the compiler are printed. Ends as the compiler does.
"""

import pathlib
import re
import subprocess
import sys

# What ptxas says of each kernel with -v.
OF_REPORT = re.compile(r"ptxas info|bytes stack frame|^\s*$")


def main():
    report, dashes, *command = sys.argv[1:]
    if dashes != "--" or not command:
        sys.exit(__doc__)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines = done.stdout.splitlines()
    pathlib.Path(report).write_text("".join(line + "\n" for line in lines if OF_REPORT.search(line)), encoding="utf-8")
    print("".join(line + "\n" for line in lines if not OF_REPORT.search(line)), end="")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
