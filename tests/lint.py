#!/usr/bin/env python3
"""Checks what the compiler does not: include arrows, sizes of files and classes, columns, how comments begin, paths in READMEs,
what the tour in actors/README.md names, whether each format of data has a table of forms, calls that belong to tools/ alone,
merges left half done, names of two sources that a unity build joins, whether the mutations of mutations.py apply, the subjects of commits, and the format, by .clang-format.

The arrows go one way: schemas <- kernels <- transport <- actors <- apps <- tools; tests sees all and nothing sees it.
transport may include only kernels/tensor/. Between the sub-folders of kernels/, transport/ and actors/ they are what the
sub-folder's README says in the sentence that begins with "May include", or the README above it in an item that begins with
"- `NAME/` may include"; these arrows make no circle. The same items say what folders within a sub-folder may include of each
other. Prints one line per offence, "FILE:LINE: what is wrong", and exits 1 if any.
"""

import concurrent.futures
import pathlib
import re
import runpy
import shutil
import subprocess
import sys

from same_names import check_same_names

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
LARGE = {  # the only ones that may be larger: rows and records that are one thing
    "actors/runtime/trace.hpp: trace_event": "an event as the ring has it: one record of plain numbers",
    "actors/scheduled/program.hpp: program": "the contract of a program: a row of functions, most of which may be empty",
    "tests/conformance/images_cases.cpp: conv2d_row": "a row of a table of cases",
}
# Comments begin with their subject: these words begin clauses without one.
HEADLESS = re.compile(r"// (Of|What|Those|That|Whoever)\b")


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
    elif len(path.parts) > 3 and is_within(target, ["/".join(own)]) and not is_within(target, ["/".join(path.parts[:3])]):
        sub = pathlib.PurePath(*path.parts[:3])  # a folder within the sub-folder, which may have an item of its own
        if sub not in stated:
            stated[sub] = stated_includes(root, sub)
        if stated[sub] is not None and not is_within(target, stated[sub]):
            yield f"{sub}/ may not include {target}: the README above it does not say so"


def check_circles(root, files):
    """Sub-folders that include each other, by one or more steps, however their READMEs allow it file by file."""
    arrows = {}  # from a sub-folder to another: an include that goes this way
    for path in files:
        relative = path.relative_to(root)
        if relative.parts[0] not in SAY_WHAT_THEY_INCLUDE or len(relative.parts) < 3:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            included = re.match(r'\s*#\s*include\s*"([^"/]+/[^"/]+)/', line)
            if included and included.group(1).startswith(relative.parts[0] + "/") and included.group(1) != "/".join(relative.parts[:2]):
                arrows.setdefault("/".join(relative.parts[:2]), {}).setdefault(included.group(1), f"{relative}:{number}")

    def way(start, end, seen):
        for step in arrows.get(start, {}):
            if step == end:
                return [step]
            if step not in seen and (rest := way(step, end, seen | {step})):
                return [step, *rest]
        return None

    told = set()
    for start in sorted(arrows):
        circle = way(start, start, {start})
        if circle and not told & set(circle):
            told |= set(circle)
            yield f"{arrows[start][circle[0]]}: a circle of includes: {' -> '.join([start, *circle])}; move what both need"


def is_caf_allowed(relative, lines):
    is_header = relative.suffix == ".hpp"
    return relative.parts[:2] == ("actors", "runtime") and (not is_header or lines[0].startswith("// Private to actors/runtime"))


def check_file(root, path, stated):
    relative = path.relative_to(root)
    folder = relative.parts[0]
    lines = path.read_text(encoding="utf-8").splitlines()
    if len(lines) > LINES_MAX:
        yield f"{relative}:{LINES_MAX}: longer than {LINES_MAX} lines; split it"
    is_within_comment = False
    for number, line in enumerate(lines, 1):
        if len(line) > LINE_COLUMNS_MAX:
            yield f"{relative}:{number}: longer than {LINE_COLUMNS_MAX} columns"
        if CONFLICT.match(line):
            yield f"{relative}:{number}: a merge left half done"
        is_comment = line.lstrip().startswith("//")
        if folder != "tests" and is_comment and not is_within_comment and HEADLESS.match(line.lstrip()):
            yield f"{relative}:{number}: a comment that begins with a clause without a subject; say first what it is about"
        is_within_comment = is_comment
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
    """(line, name, methods, fields) of every class and struct; of a template's arguments only the name counts."""
    text = without_comments(text)
    for found in re.finditer(r"(?<!enum )\b(?:class|struct)\s+(?:alignas\([^)]*\)\s*)?(\w+)[^;{}()<>=]*(?:<[^;{}]*>[^;{}()<>]*)?\{", text):
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
        if f"{relative}: {name}" in LARGE:
            continue
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


# A format of the manual's table: | CSV | what is read | what is refused |
FORMATS = "tools/manual/data-files.md"
TABLE_OF = re.compile(r'table_of \w+\{\s*"([^"]+)"')


def check_formats(root):
    """Each format that the manual has has a table of forms in the tests, and each table its row in the manual."""
    page = root / FORMATS
    if not page.exists():
        return
    rows = page.read_text(encoding="utf-8").partition("| --- |")[2].partition("\n\n")[0]
    told = set(re.findall(r"^\| ([^|]+?) \|", rows, re.MULTILINE))
    tested = {name for path in sorted((root / "tests").rglob("*contract*_test.cpp"))
              for name in TABLE_OF.findall(path.read_text(encoding="utf-8"))}
    for name in sorted(told - tested):
        yield f"{FORMATS}:1: no test has a table of forms of {name} (tests/support/file_forms.hpp)"
    for name in sorted(tested - told):
        yield f"{FORMATS}:1: says nothing of {name}, of which a test has a table of forms"


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


SUBJECT_COLUMNS_MAX, SUBJECTS_SINCE = 72, "2026-11-28T11:40:00Z"  # some of the commits before it have longer ones


def check_commits(root):
    """The subjects of commits, where the tree is the work tree of a repository."""
    if not (root / ".git").exists() or not shutil.which("git"):
        return
    command = ["git", "-C", str(root), "log", "--no-merges", f"--since={SUBJECTS_SINCE}", "--format=%h %s"]
    for line in subprocess.run(command, capture_output=True, text=True).stdout.splitlines():
        commit, _, subject = line.partition(" ")
        if len(subject) > SUBJECT_COLUMNS_MAX:
            yield f"commit {commit}: a subject of {len(subject)} characters, more than {SUBJECT_COLUMNS_MAX}: {subject}"


def check_tree(root):
    """Prints the offences of a tree; true if it has none."""
    offences = []
    stated = {}
    files = [path for folder in MAY_INCLUDE for path in sorted((root / folder).rglob("*")) if path.suffix in CODE]
    for path in files:
        offences += check_file(root, path, stated)
        offences += check_classes(root, path)
    offences += check_circles(root, files)
    if program := clang_format():
        offences += check_format(root, program, files)
    else:
        print(f"skipped: the format, as there is no clang-format {CLANG_FORMAT_VERSION}")
    offences += check_readmes(root)
    offences += check_tour(root)
    offences += check_formats(root)
    offences += check_mutations(root)
    offences += check_same_names(root, [folder for folder in MAY_INCLUDE if folder != "tests"])
    offences += check_commits(root)
    for path in prose(root):
        offences += check_prose(root, path)
    print("\n".join(offences) or f"{len(files)} files keep the rules")
    return bool(files) and not offences


if __name__ == "__main__":
    sys.exit(0 if check_tree(pathlib.Path(sys.argv[1]).resolve()) else 1)
