#!/usr/bin/env python3
"""Runs clang-tidy, with the checks of .clang-tidy, over sources of a build folder.

    tests/tidy.py [--build DIR] [--since COMMIT] [FILE...]

FILE: a source of the tree; without any those that differ from COMMIT, with one for each header that does, and without COMMIT
all but those of tests/. DIR is `build` unless given, and must have been built, as headers are generated there. A file takes
some seconds of one core; as many run at a time as there are cores.
Prints what was found, and a line "N files, N with findings". Exit code 0 if there is nothing to mend, 1 if there is, 2 if it
cannot begin.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
GCC_ALONE = re.compile(r"^-W")  # Clang does not know all of GCC's warnings, and this is not about warnings


def refuse(why):
    print(f"tidy: {why}", file=sys.stderr)
    sys.exit(2)


def commands_of(build):
    """By source of the tree, how it is compiled; without warnings. Generated sources are left out."""
    database = build / "compile_commands.json"
    if not database.exists():
        refuse(f"{build} is not configured; run tools/setup, or name another folder by --build")
    commands = {}
    for entry in json.loads(database.read_text(encoding="utf-8")):
        path = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
        if path.is_relative_to(ROOT) and not path.is_relative_to(build) and path.suffix == ".cpp":
            words = [word for word in entry["command"].split() if not GCC_ALONE.match(word) and word != "ccache"]
            commands.setdefault(str(path.relative_to(ROOT)), entry | {"command": " ".join(words)})
    return commands


def changed_since(commit):
    done = subprocess.run(["git", "diff", "--name-only", commit, "--"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        refuse(f"git does not know {commit}")
    return done.stdout.split()


def includer_of(header, commands):
    """A source that includes the header: its own if it has one. None if no source does by itself."""
    own = header.removesuffix(".hpp") + ".cpp"
    line = f'#include "{header}"'
    return own if own in commands else next((name for name in commands if line in (ROOT / name).read_text(encoding="utf-8")), None)


def chosen_of(arguments, commands):
    if arguments.files:
        names = [str(pathlib.Path(name).resolve().relative_to(ROOT)) for name in arguments.files]
        if unknown := [name for name in names if name not in commands]:
            refuse(f"{unknown[0]} is no source that {arguments.build} builds")
        return names
    if arguments.since:
        changed = changed_since(arguments.since)
        headers = [name for name in changed if name.endswith(".hpp")]
        return sorted({name for name in changed if name in commands} |
                      {name for name in (includer_of(header, commands) for header in headers) if name})
    return sorted(name for name in commands if not name.startswith("tests/"))


FINDING = re.compile(r"^(\S+?):(\d+):(\d+): (?:warning|error): (.*) \[(?!clang-diagnostic-)([\w.,-]+)\]$")


def tidy(folder, name, directory):
    """The findings in a source and its headers. What Clang's compiler says is left out: version 14 does not understand all of the
    standard library of GCC 12."""
    done = subprocess.run(["clang-tidy", "--quiet", "-p", folder, ROOT / name], cwd=ROOT, capture_output=True, text=True)
    if done.returncode < 0:
        return [f"{name}: clang-tidy ended by signal {-done.returncode}"]
    if missing := re.search(r"'([^']+)' file not found", done.stdout):
        return [f"{name}: not looked at, as {missing[1]} is not there; build first"]
    found = [match for line in done.stdout.splitlines() if (match := FINDING.match(line))]
    places = ((pathlib.Path(directory, match[1]).resolve(), match) for match in found)
    return [f"{path.relative_to(ROOT)}:{match[2]}:{match[3]}: {match[4]} [{match[5].split(',')[0]}]"
            for path, match in places if path.is_relative_to(ROOT)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--since", metavar="COMMIT")
    parser.add_argument("files", nargs="*", metavar="FILE")
    arguments = parser.parse_args()
    if not shutil.which("clang-tidy"):
        refuse("clang-tidy is not there; install Debian's package of that name")
    commands = commands_of(arguments.build.resolve())
    names = chosen_of(arguments, commands)
    with_findings, shown = 0, set()
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "compile_commands.json").write_text(json.dumps(list(commands.values())), encoding="utf-8")
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for found in pool.map(lambda name: tidy(folder, name, commands[name]["directory"]), names):
                with_findings += bool(found)
                for line in found:
                    if line not in shown:   # of a header every source that includes it tells
                        shown.add(line)
                        print(line, flush=True)
    print(f"{len(names)} files, {with_findings} with findings")
    return 1 if with_findings else 0


if __name__ == "__main__":
    sys.exit(main())
