#!/usr/bin/env python3
"""Checks what the compiler does not: include arrows, file sizes, columns, calls that belong to tools/ alone, merges left half done,
and that the files and functions which the tour in actors/README.md names are there.

The arrows go one way: schemas <- kernels <- transport <- actors <- apps <- tools; tests sees all and nothing sees it.
transport may include only kernels/tensor/. Prints one line per offence, "FILE:LINE: what is wrong", and exits 1 if any.
"""

import pathlib
import re
import sys

MAY_INCLUDE = {
    "schemas": {"schemas"},
    "kernels": {"schemas", "kernels"},
    "transport": {"schemas", "transport", "kernels/tensor"},
    "actors": {"schemas", "kernels", "transport", "actors"},
    "apps": {"schemas", "kernels", "actors", "apps"},
    "tools": {"schemas", "kernels", "transport", "actors", "apps", "tools"},
    "tests": {"schemas", "kernels", "transport", "actors", "apps", "tools", "tests"},
}
LINES_MAX = 400
LINE_COLUMNS_MAX = 125
CODE = {".hpp", ".cpp", ".cu", ".cuh"}
# Only programs look at the environment, and only they, tests and what stands for slow hardware sleep.
MAY_SLEEP = {"kernels/device/slowed_device.cpp"}
BANNED = [(re.compile(r"\bgetenv\s*\("), "getenv belongs to tools/"),
          (re.compile(r"\bsleep_for\b|\busleep\s*\(|\bsleep\s*\("), "nothing below tools/ sleeps; use a timer")]


CONFLICT = re.compile(r"^(<<<<<<<|>>>>>>>)( |$)")


def folder_allowed(folder, target):
    return any(target == allowed or target.startswith(allowed + "/") for allowed in MAY_INCLUDE[folder])


def check_file(root, path):
    relative = path.relative_to(root)
    folder = relative.parts[0]
    lines = path.read_text(encoding="utf-8").splitlines()
    if len(lines) > LINES_MAX:
        yield f"{relative}:{LINES_MAX}: longer than {LINES_MAX} lines; split it"
    for number, line in enumerate(lines, 1):
        if len(line) > LINE_COLUMNS_MAX:
            yield f"{relative}:{number}: longer than {LINE_COLUMNS_MAX} columns"
        if CONFLICT.match(line):
            yield f"{relative}:{number}: a merge left half done"
        included = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
        if included:
            target = included.group(1)
            if target.split("/")[0] not in MAY_INCLUDE:
                yield f'{relative}:{number}: "{target}" is not named from the root'
            elif not folder_allowed(folder, target):
                yield f"{relative}:{number}: {folder}/ may not include {target}"
        if folder not in ("tools", "tests"):
            for pattern, why in BANNED:
                if pattern.search(line.split("//")[0]) and not ("sleep" in pattern.pattern and str(relative) in MAY_SLEEP):
                    yield f"{relative}:{number}: {why}"
        if folder not in ("tools", "tests") and re.search(r"\b(TODO|FIXME|XXX)\b", line):
            yield f"{relative}:{number}: unfinished work is written down elsewhere"


def check_readmes(root):
    for folder in MAY_INCLUDE:
        for sub in [root / folder, *sorted((root / folder).iterdir())]:
            if sub.is_dir() and any(p.suffix in CODE for p in sub.iterdir()):
                if not any((parent / "README.md").exists() for parent in (sub, sub.parent)):
                    yield f"{sub.relative_to(root)}: no README.md here or above"


def check_prose(root, path):
    """Lines of a README outside tables, figures and indented examples."""
    is_figure = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        is_figure ^= line.startswith("```")
        if CONFLICT.match(line):
            yield f"{path.relative_to(root)}:{number}: a merge left half done"
        if len(line) > LINE_COLUMNS_MAX and not is_figure and not line.startswith(("|", "    ")):
            yield f"{path.relative_to(root)}:{number}: longer than {LINE_COLUMNS_MAX} columns"


# A step of the tour: | 3 | `actors/data/data_source.cpp` | `data_source::feed` | what happens |
TOUR = "actors/README.md"
STEP = re.compile(r"\| \d+ \| `([^`]+)` \| `([^`]+)` \|")
PATH = re.compile(rf"`((?:{'|'.join(MAY_INCLUDE)})/[^` ]*)`")


def check_tour(root):
    steps = 0
    for number, line in enumerate((root / TOUR).read_text(encoding="utf-8").splitlines(), 1):
        for path in PATH.findall(line):
            if not (root / path).exists():
                yield f"{TOUR}:{number}: {path} is not there"
        step = STEP.match(line)
        if not step:
            continue
        steps += 1
        file, function = step.groups()
        if (root / file).is_file() and not re.search(rf"(?<![\w:]){re.escape(function)}\(", (root / file).read_text(encoding="utf-8")):
            yield f"{TOUR}:{number}: {function}() is not in {file}"
    if steps == 0:
        yield f"{TOUR}:1: the tour has no step of the form of tests/lint.py"


def prose(root):
    readmes = {path for folder in MAY_INCLUDE for path in (root / folder).rglob("README.md")}
    return sorted({root / "README.md", *readmes, *(root / "tools/manual").glob("*.md"), *(root / ".github").glob("*.md")})


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    offences = []
    count = 0
    for folder in MAY_INCLUDE:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in CODE:
                count += 1
                offences += check_file(root, path)
    offences += check_readmes(root)
    offences += check_tour(root)
    for path in prose(root):
        offences += check_prose(root, path)
    print("\n".join(offences) or f"{count} files keep the rules")
    return 1 if offences or not count else 0


if __name__ == "__main__":
    sys.exit(main())
