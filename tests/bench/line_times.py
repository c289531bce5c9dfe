#!/usr/bin/env python3
"""Runs a command and prints those of its lines that are JSON objects, each with the seconds since the command's start as it
came, "at"; at last {"event": "exit", "at": ..., "processor_seconds": ...}, of the command and of what it has waited for.

    tests/bench/line_times.py COMMAND...

Its exit code is the command's. Lines that come in one piece are stamped with the same time.
"""
import json
import resource
import subprocess
import sys
import time


def main():
    began = time.monotonic()
    process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    stamped = [(time.monotonic() - began, line) for line in process.stdout if line.startswith("{")]
    code = process.wait()
    ended = time.monotonic() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    for at, line in stamped:    # once all have come, so that this takes no time from the command
        print(json.dumps({**json.loads(line), "at": round(at, 6)}))
    print(json.dumps({"event": "exit", "at": round(ended, 6), "processor_seconds": round(used.ru_utime + used.ru_stime, 6)}))
    return code


if __name__ == "__main__":
    sys.exit(main())
