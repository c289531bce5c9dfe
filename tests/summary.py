#!/usr/bin/env python3
"""Prints "N passed, N failed, N skipped" for a Meson test log (JSON lines), counting the cases that a test reports.

A Boost.Test program counts as one test; what it skipped for want of data or hardware it says in lines that begin with
"skipped:", and these are counted and shown.
"""

import json
import sys


def main(path):
    passed = failed = 0
    skipped = []
    with open(path, encoding="utf-8") as log:
        for line in log:
            test = json.loads(line)
            if test["result"] in ("OK", "EXPECTEDFAIL"):
                passed += 1
            elif test["result"] == "SKIP":
                skipped.append(test["name"])
            else:
                failed += 1
            for output in (test.get("stdout") or "").splitlines():
                if output.startswith("skipped:"):
                    skipped.append(f"{test['name']}: {output[len('skipped:'):].strip()}")
    for what in skipped:
        print(f"skipped: {what}")
    print(f"{passed} passed, {failed} failed, {len(skipped)} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
