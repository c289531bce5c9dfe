#!/usr/bin/env python3
"""Breaks formulas and protocols on purpose, one at a time, and checks that the test named for each finds it.

    tests/mutate.py [--list] [--work FOLDER] [WORD...]     without words all; with some those whose names have one of them

Works on a copy of the source tree with a build folder of its own (build-mutants/, kept for the next time), so that nothing here
changes. Each test must pass before its mutation and fail with it: one that passes has let a survivor through. A test that does not
end, or a program that the mutation keeps from being built, says nothing of the test and counts as no catch. Ends with
"N caught, N survived, N unusable"; exit code 0 if all were caught.

To add a mutation: a row in mutations.py.
"""
import argparse
import filecmp
import pathlib
import shutil
import subprocess
import sys

from mutations import MUTATIONS

SOURCE = pathlib.Path(__file__).resolve().parents[1]
TEST_SECONDS_MAX = 300
OUTPUT_LINES = 12       # of what a test said where it was not what was wanted


class Copy:
    """The source tree as it is here, and what is built of it."""

    def __init__(self, folder):
        self.source, self.build = folder, folder / "build"     # where ccache has seen the paths of an ordinary build

    def bring_up_to_date(self):
        listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=SOURCE,
                                capture_output=True, check=True).stdout.decode().split("\0")
        wanted = {name for name in listed if name and (SOURCE / name).is_file()}
        for path in [p for p in self.source.rglob("*") if p.is_file() and self.build not in p.parents]:
            if str(path.relative_to(self.source)) not in wanted:
                path.unlink()
        for name in wanted:
            target = self.source / name
            if not target.exists() or not filecmp.cmp(SOURCE / name, target, shallow=False):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(SOURCE / name, target)      # a new time: the build sees that it has changed
        if not (self.build / "build.ninja").exists():
            subprocess.run(["meson", "setup", self.build, self.source, "-Dcuda=disabled"], check=True, stdout=subprocess.DEVNULL)

    def make(self, programs):
        """What the compiler said, or nothing where all were built."""
        done = subprocess.run(["ninja", "-C", self.build, *(f"tests/{p}" for p in programs)], capture_output=True, text=True)
        return "" if done.returncode == 0 else done.stdout + done.stderr

    def run(self, mutation):
        """("passes" | "fails" | "does not end", what it said)"""
        command = [self.build / "tests" / mutation.program, f"--run_test={mutation.cases}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TEST_SECONDS_MAX, cwd=self.build,
                                  stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return "does not end", ""
        said = "\n".join((done.stdout + done.stderr).splitlines()[-OUTPUT_LINES:])
        return "passes" if done.returncode == 0 else "fails", said


def try_one(copy, mutation):
    """("caught" | "survived" | "unusable", why)"""
    if complaint := copy.make([mutation.program]):      # as it is: what was built last may be another mutation's
        return "unusable", "is not built unchanged:\n" + "\n".join(complaint.splitlines()[-OUTPUT_LINES:])
    outcome, said = copy.run(mutation)
    if outcome != "passes":
        return "unusable", f"{mutation.program} {mutation.cases} {outcome} unchanged\n{said}"
    path = copy.source / mutation.file
    whole = path.read_text(encoding="utf-8") if path.exists() else ""
    if whole.count(mutation.old) != 1:
        return "unusable", f"{mutation.file} has the text {whole.count(mutation.old)} times: {mutation.old!r}"
    path.write_text(whole.replace(mutation.old, mutation.new), encoding="utf-8")
    try:
        if complaint := copy.make([mutation.program]):
            return "unusable", "is not built:\n" + "\n".join(complaint.splitlines()[-OUTPUT_LINES:])
        outcome, _ = copy.run(mutation)
    finally:
        path.write_text(whole, encoding="utf-8")
    return {"fails": "caught", "passes": "survived"}.get(outcome, "unusable"), f"{mutation.program} {mutation.cases} {outcome}"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--list", action="store_true", help="print the mutations and end")
    parser.add_argument("--work", type=pathlib.Path, default=SOURCE / "build-mutants", help="where the copy lies")
    return parser.parse_args()


def main():
    options = arguments()
    chosen = [m for m in MUTATIONS if not options.words or any(word.lower() in m.name.lower() for word in options.words)]
    if not chosen:
        print("no mutation has such a word in its name; --list prints them", file=sys.stderr)
        return 2
    if options.list:
        for m in chosen:
            print(f"{m.name}: {m.file}; found by {m.program} {m.cases}")
        return 0
    copy = Copy(options.work.resolve())
    copy.bring_up_to_date()
    counts = {"caught": 0, "survived": 0, "unusable": 0}
    for m in chosen:
        outcome, why = try_one(copy, m)
        counts[outcome] += 1
        print(f"{outcome}: {m.name} ({why})", flush=True)
    print(f"{counts['caught']} caught, {counts['survived']} survived, {counts['unusable']} unusable")
    return 0 if counts["caught"] == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
