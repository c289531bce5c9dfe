#!/usr/bin/env python3
"""Runs a command and prints those of its lines that are JSON objects, each with the seconds since the command's start as it
came, "at"; at last {"event": "exit", "at": ..., "processor_seconds": ...}, of the command and of what it has waited for.

    tests/bench/line_times.py [--memory] COMMAND...

With --memory, "memory_bytes" too: what the command and its descendants had at once, at most, with shared pages counted once,
looked at ten times a second. Its exit code is the command's. Lines that come in one piece are stamped with the same time.
"""
import json
import os
import resource
import subprocess
import sys
import threading
import time


def family(process):
    """The process and its descendants."""
    found = [process]
    try:
        for thread in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{thread}/children") as children:
                for child in children.read().split():
                    found += family(int(child))
    except OSError:
        pass    # it has ended
    return found


def memory_bytes(processes):
    total = 0
    for process in processes:
        try:
            with open(f"/proc/{process}/smaps_rollup") as rollup:
                total += sum(int(line.split()[1]) << 10 for line in rollup if line.startswith("Pss:"))
        except OSError:
            pass
    return total


class Memory(threading.Thread):
    def __init__(self, process):
        super().__init__(daemon=True)
        self.process, self.most = process, 0
        self.start()

    def run(self):
        while self.process.poll() is None:
            self.most = max(self.most, memory_bytes(family(self.process.pid)))
            time.sleep(0.1)


def main():
    looks = sys.argv[1] == "--memory"
    began = time.monotonic()
    process = subprocess.Popen(sys.argv[1 + looks:], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    memory = Memory(process) if looks else None
    stamped = [(time.monotonic() - began, line) for line in process.stdout if line.startswith("{")]
    code = process.wait()
    ended = time.monotonic() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    for at, line in stamped:    # once all have come, so that this takes no time from the command
        print(json.dumps({**json.loads(line), "at": round(at, 6)}))
    more = {"memory_bytes": memory.most} if looks else {}
    print(json.dumps({"event": "exit", "at": round(ended, 6), "processor_seconds": round(used.ru_utime + used.ru_stime, 6), **more}))
    return code


if __name__ == "__main__":
    sys.exit(main())
