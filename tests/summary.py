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
            passed += test["result"] in ("OK", "EXPECTEDFAIL")
            failed += test["result"] not in ("OK", "EXPECTEDFAIL", "SKIP")
            whys = [output[len("skipped:"):].strip() for output in (test.get("stdout") or "").splitlines()
                    if output.startswith("skipped:")]
            skipped += [f"{test['name']}: {why}" for why in whys]
            if test["result"] == "SKIP" and not whys:
                skipped.append(test["name"])
    for what in skipped:
        print(f"skipped: {what}")
    print(f"{passed} passed, {failed} failed, {len(skipped)} skipped")
    return 1 if failed or not passed + len(skipped) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
