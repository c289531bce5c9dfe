#!/usr/bin/env python3
"""Checks what the compiler does not: include arrows, sizes of files and classes, columns, paths in READMEs, what the tour in
actors/README.md names, calls that belong to tools/ alone, merges left half done, whether the mutations of mutations.py apply,
and the format, by .clang-format.

The arrows go one way: schemas <- kernels <- transport <- actors <- apps <- tools; tests sees all and nothing sees it.
transport may include only kernels/tensor/. Between the sub-folders of kernels/, transport/ and actors/ they are what the
sub-folder's README says in the sentence that begins with "May include", or the README above it in an item that begins with
"- `NAME/` may include". Prints one line per offence, "FILE:LINE: what is wrong", and exits 1 if any.
"""

import concurrent.futures
import pathlib
import re
import runpy
import shutil
import subprocess
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
SAY_WHAT_THEY_INCLUDE = ("kernels", "transport", "actors")  # of each of their sub-folders
LINES_MAX = 400
LINE_COLUMNS_MAX = 125
CODE = {".hpp", ".cpp", ".cu", ".cuh"}
# Only programs look at the environment, and only they, tests and what stands for slow hardware sleep.
MAY_SLEEP = {"kernels/device/slowed_device.cpp"}
BANNED = [(re.compile(r"\bgetenv\s*\("), "getenv belongs to tools/"),
          (re.compile(r"\bsleep_for\b|\busleep\s*\(|\bsleep\s*\("), "nothing below tools/ sleeps; use a timer")]
JSON_UNIT = "schemas/base/json.cpp"
CONFLICT = re.compile(r"^(<<<<<<<|>>>>>>>)( |$)")

METHODS_MAX = 40
FIELDS_MAX = 15


# ---- lines and includes ----

def is_within(target, allowed):
    return any(target == a or target.startswith(a.rstrip("/") + "/") for a in allowed)


def stated_includes(root, folder):
    """What the sub-folder `folder` may include, as its README or the one above says; None if neither does."""
    own, above = root / folder / "README.md", root / folder.parent / "README.md"
    for readme, start in ((own, "May"), (above, rf"- `{folder.name}/` may")):
        sentence = readme.exists() and re.search(rf"^(?:.*\. )?{start} include:?((?:.|\n(?!\n|- ))*?)(?:\.\s|\.$|\n\n|\Z)",
                                                 readme.read_text(encoding="utf-8"), re.MULTILINE)
        if sentence:
            return set(re.findall(r"`([\w./]+)`", sentence.group(1)))
    return None


def check_include(root, path, target, stated):
    folder, own = path.parts[0], path.parts[:2]
    if target.split("/")[0] not in MAY_INCLUDE:
        yield f'"{target}" is not named from the root'
    elif not is_within(target, MAY_INCLUDE[folder]):
        yield f"{folder}/ may not include {target}"
    elif folder in SAY_WHAT_THEY_INCLUDE and len(path.parts) > 2 and not is_within(target, ["/".join(own)]):
        sub = pathlib.PurePath(*own)
        if sub not in stated:
            stated[sub] = stated_includes(root, sub)
        if stated[sub] is None:
            yield f'no README says what {sub}/ may include ("May include: ...")'
        elif not is_within(target, stated[sub]):
            yield f"{sub}/ may not include {target}: its README does not say so"


def is_caf_allowed(relative, lines):
    is_header = relative.suffix == ".hpp"
    return relative.parts[:2] == ("actors", "runtime") and (not is_header or lines[0].startswith("// Private to actors/runtime"))


def check_file(root, path, stated):
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
        if re.match(r"\s*#\s*include\s*<caf/", line) and not is_caf_allowed(relative, lines):
            yield f"{relative}:{number}: CAF is for the sources and private headers of actors/runtime/, as it takes long to compile"
        if re.match(r"\s*#\s*include\s*<nlohmann/", line) and folder != "tests" and str(relative) != JSON_UNIT:
            yield f"{relative}:{number}: nlohmann's header, which takes long to compile, is for {JSON_UNIT}; use schemas/base/json.hpp"
        if included := re.match(r'\s*#\s*include\s*"([^"]+)"', line):
            yield from (f"{relative}:{number}: {why}" for why in check_include(root, relative, included.group(1), stated))
        if folder not in ("tools", "tests"):
            for pattern, why in BANNED:
                if pattern.search(line.split("//")[0]) and not ("sleep" in pattern.pattern and str(relative) in MAY_SLEEP):
                    yield f"{relative}:{number}: {why}"
            if re.search(r"\b(TODO|FIXME|XXX)\b", line):
                yield f"{relative}:{number}: unfinished work is written down elsewhere"


# ---- classes ----

def without_comments(text):
    """The same text, with comments, strings and directives as blanks, so that places stay."""
    nothing = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'|^[ \t]*#(?:\\\n|[^\n])*", re.DOTALL | re.MULTILINE)
    return nothing.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def closing(text, start):
    """Where the bracket that opens at `start` closes."""
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] in "({[") - (text[place] in ")}]")
        if depth == 0:
            return place
    return len(text) - 1


def declarations(body):
    """The declarations of a class's body, each on one line: what is in braces is left out."""
    said, place = "", 0
    while place < len(body):
        if body[place] == "(":
            end = closing(body, place)
            said += "()"
            place = end
        elif body[place] == "{":
            place = closing(body, place)
            rest = body[place + 1:].lstrip()
            if "(" in said and "=" not in said and not rest.startswith((";", ",", "{")):  # a function's body, not a default value
                yield said
                said = ""
            else:
                said += "{}"
        elif body[place] == ";":
            yield said
            said = ""
        elif body[place] == ":" and re.search(r"\b(public|protected|private)\s*$", said):
            said = ""
        else:
            said += body[place]
        place += 1


def class_sizes(text):
    """(line, name, methods, fields) of every class; of a template's arguments only the name counts."""
    text = without_comments(text)
    for found in re.finditer(r"(?<!enum )\bclass\s+(?:alignas\([^)]*\)\s*)?(\w+)[^;{}()<>]*(?:<[^;{}]*>[^;{}()<>]*)?\{", text):
        body = text[found.end():closing(text, found.end() - 1)]
        methods = fields = 0
        for said in declarations(body):
            said = " ".join(said.split())
            while "<" in said and said != (said := re.sub(r"<[^<>]*>", "", said)):  # from the inside out
                pass
            said = re.sub(r"^template ", "", said)
            if not said or re.match(r"(using|friend|typedef|static_assert|enum|class|struct|union|static constexpr)\b", said) \
                    or said.endswith("= delete"):
                continue
            if "(" in said.split("=")[0] or "operator" in said:
                methods += 1
            else:
                fields += 1 + said.count(",")
        yield text.count("\n", 0, found.start()) + 1, found.group(1), methods, fields


def check_classes(root, path):
    relative = path.relative_to(root)
    for line, name, methods, fields in class_sizes(path.read_text(encoding="utf-8")):
        if methods > METHODS_MAX:
            yield f"{relative}:{line}: class {name} has {methods} methods, more than {METHODS_MAX}; split it"
        if fields > FIELDS_MAX:
            yield f"{relative}:{line}: class {name} has {fields} fields, more than {FIELDS_MAX}; split it"


# ---- format ----

CLANG_FORMAT_VERSION = "14"  # others lay out some lines differently
AT_ONCE = 2


def clang_format():
    """The program of that version; None where there is none."""
    for name in (f"clang-format-{CLANG_FORMAT_VERSION}", "clang-format"):
        if found := shutil.which(name):
            said = subprocess.run([found, "--version"], capture_output=True, text=True).stdout
            if re.search(rf"version {CLANG_FORMAT_VERSION}\.", said):
                return found
    return None


def check_format(root, program, files):
    """One line for each file that clang-format would change. A tree without .clang-format has no format."""
    def first_places(some):
        said = subprocess.run([program, "--dry-run", "--style=file", "--fallback-style=none", *some],
                              capture_output=True, text=True, cwd=root, check=True).stderr
        places = re.findall(r"^(.+?):(\d+):\d+: warning: code should be clang-formatted", said, re.MULTILINE)
        return dict(reversed(places))

    names = [str(path.relative_to(root)) for path in files]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as threads:
        for places in threads.map(first_places, [names[i::AT_ONCE] for i in range(AT_ONCE)]):
            yield from (f"{name}:{line}: clang-format -i {name} changes it" for name, line in sorted(places.items()))


# ---- READMEs ----

def check_readmes(root):
    for folder in MAY_INCLUDE:
        for sub in [root / folder, *sorted((root / folder).iterdir())]:
            if sub.is_dir() and any(p.suffix in CODE for p in sub.iterdir()):
                if not any((parent / "README.md").exists() for parent in (sub, sub.parent)):
                    yield f"{sub.relative_to(root)}: no README.md here or above"


def is_path(word):
    """Whether a word in backticks names a file or folder of this tree; NAME stands for many."""
    if not re.fullmatch(r"\w[\w.-]*(/[\w.-]+)*/?", word) or "NAME" in word:
        return False
    is_source = re.search(r"\w\.(hpp|cpp|cu|cuh|capnp|py|md)$", word)
    return is_source or word.split("/")[0] in MAY_INCLUDE and "/" in word and not pathlib.PurePath(word).suffix


def check_prose(root, path):
    """Lines of a README outside tables, figures and indented examples."""
    relative = path.relative_to(root)
    is_figure = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        is_figure ^= line.startswith("```")
        if CONFLICT.match(line):
            yield f"{relative}:{number}: a merge left half done"
        if len(line) > LINE_COLUMNS_MAX and not is_figure and not line.startswith(("|", "    ")):
            yield f"{relative}:{number}: longer than {LINE_COLUMNS_MAX} columns"
        for word in filter(is_path, re.findall(r"`([^`\s]+)`", line)):
            # A program that is built has the name of its source.
            if not any((place / word).exists() or (place / f"{word}.cpp").exists() for place in (root, path.parent, *path.parent.iterdir())):
                yield f"{relative}:{number}: there is no {word}"


# A step of the tour: | 3 | `actors/data/samples/data_source.cpp` | `data_source::feed` | what happens |
TOUR = "actors/README.md"
STEP = re.compile(r"\| \d+ \| `([^`]+)` \| `([^`]+)` \|")


def check_tour(root):
    steps = 0
    for number, line in enumerate((root / TOUR).read_text(encoding="utf-8").splitlines(), 1):
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


def check_mutations(root):
    """A row of tests/mutations.py breaks what it says only while its line stands in its file, once."""
    table = root / "tests/mutations.py"
    if not table.exists():
        return
    rows = runpy.run_path(str(table))["MUTATIONS"]
    for row in rows:
        file = root / row.file
        times = file.read_text(encoding="utf-8").count(row.old) if file.is_file() else 0
        if times != 1:
            yield f"tests/mutations.py: \"{row.name}\": its line stands {times} times in {row.file}, not once"


def check_tree(root):
    """Prints the offences of a tree; true if it has none."""
    offences = []
    stated = {}
    files = [path for folder in MAY_INCLUDE for path in sorted((root / folder).rglob("*")) if path.suffix in CODE]
    for path in files:
        offences += check_file(root, path, stated)
        if path.suffix == ".hpp":
            offences += check_classes(root, path)
    if program := clang_format():
        offences += check_format(root, program, files)
    else:
        print(f"skipped: the format, as there is no clang-format {CLANG_FORMAT_VERSION}")
    offences += check_readmes(root)
    offences += check_tour(root)
    offences += check_mutations(root)
    for path in prose(root):
        offences += check_prose(root, path)
    print("\n".join(offences) or f"{len(files)} files keep the rules")
    return bool(files) and not offences


if __name__ == "__main__":
    sys.exit(0 if check_tree(pathlib.Path(sys.argv[1]).resolve()) else 1)
