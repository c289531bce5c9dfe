#!/usr/bin/env python3
"""Words of texts, their lower case and what makes two of them one, beside the data files of Unicode.

    tests/interop/unicode_words.py PROGRAM [FOLDER]      PROGRAM: word_forms of the build folder

FOLDER has the files as Debian's unicode-data has them. Skipped (exit code 77) where they are not there.
"""
import bz2
import json
import pathlib
import subprocess
import sys
import unicodedata

FOLDER = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else "/usr/share/unicode")
if not (FOLDER / "auxiliary/WordBreakTest.txt").exists():
    print(f"skipped: {FOLDER} has no data of Unicode (Debian: unicode-data)")
    sys.exit(77)


def lines_of(name):
    """The fields of each line that has some, and its comment."""
    path = FOLDER / name
    whole = bz2.decompress(path.read_bytes()).decode() if name.endswith(".bz2") else path.read_text("utf-8")
    for line in whole.splitlines():
        line, _, comment = line.partition("#")
        if line.strip() and not line.startswith("@"):
            yield [field.strip() for field in line.split(";")], comment.strip()


def text_of(points):
    return "".join(chr(int(point, 16)) for point in points.split())


def property_of(name):
    """(character, value, general category of the comment) of each line of a file of properties"""
    for (points, value, *_), comment in lines_of(name):
        first, _, last = points.partition("..")
        for point in range(int(first, 16), int(last or first, 16) + 1):
            if not 0xD800 <= point <= 0xDFFF:
                yield chr(point), value, comment.split()[0]


def ask(texts, *arguments):
    """What the program makes of each text."""
    told = "".join(text.encode().hex() + "\n" for text in texts)
    done = subprocess.run([sys.argv[1], *arguments], input=told, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.split("\n")[:-1]]


def expect(what, cases):
    """cases: (what it is, found, wanted)"""
    cases = list(cases)
    wrong = [case for case in cases if case[1] != case[2]]
    for name, found, wanted in wrong[:10]:
        print(f"{what}: {name!a}: {found!a} instead of {wanted!a}")
    print(f"{what}: {len(cases)} cases, {len(wrong)} wrong")
    return bool(wrong) or not cases


CHARACTERS = [fields for fields, _ in lines_of("UnicodeData.txt") if not 0xD800 <= int(fields[0], 16) <= 0xDFFF]
CATEGORY = {chr(int(fields[0], 16)): fields[2] for fields in CHARACTERS}
LOWER = {chr(int(fields[0], 16)): chr(int(fields[13], 16)) for fields in CHARACTERS if fields[13]}
IGNORABLE = [c for c, value, _ in property_of("DerivedCoreProperties.txt")
             if value == "Default_Ignorable_Code_Point" and c in CATEGORY]
WORD_BREAK = {c: value for c, value, _ in property_of("auxiliary/WordBreakProperty.txt")}

IGNORED = "Extend", "Format", "ZWJ"  # behind a letter, by rule WB4


def is_letter(character):
    """In blocks of ideographs and syllables UnicodeData.txt has the first and the last character alone."""
    return CATEGORY.get(character, unicodedata.category(character))[0] == "L"


def lower_case():
    """Every character that has a lower case."""
    made = ask(LOWER)
    return expect("lower case", ((upper, one["lower"], unicodedata.normalize("NFC", lower))
                                 for (upper, lower), one in zip(LOWER.items(), made)))


def case_folding():
    """What full case folding makes equal is one word; I with a dot is i, as its simple lower case is."""
    full, turkish = [], []
    for (point, status, mapping, *_), _ in lines_of("CaseFolding.txt"):
        if status in "CF" and point != "0130":
            full.append((text_of(point), text_of(mapping)))
        if status == "T":
            turkish.append((text_of(point), text_of(mapping)))
    made = ask([upper for upper, _ in full])
    wrong = expect("case folding", ((upper, one["folded"], unicodedata.normalize("NFC", mapping))
                                    for (upper, mapping), one in zip(full, made)))
    made = ask([upper for upper, _ in turkish], "turkish")
    return wrong | expect("case folding, Turkish", ((upper, one["lower"], mapping)
                                                    for (upper, mapping), one in zip(turkish, made)))


def normalization():
    """The first three columns have one NFC, the second; the others another one, the fourth."""
    rows = [[text_of(field) for field in fields[:5]] for fields, _ in lines_of("NormalizationTest.txt.bz2")]
    made = ask([text for row in rows for text in row])
    # Characters that change in other ways, too, must have the same form in all columns, whatever it is.
    other = set(LOWER) | set(IGNORABLE)
    cases = []
    for number, row in enumerate(rows):
        lowered = [one["lower"] for one in made[5 * number:5 * number + 5]]
        for equal, composed in ((0, 1, 2), 1), ((3, 4), 3):
            wanted = lowered[composed] if other & set(row[composed]) else row[composed]
            cases += [(row[i], lowered[i], wanted) for i in equal]
    return expect("normalization", cases)


def invisible():
    """What has no look leaves no trace in a word."""
    made = ask(["a" + character + "a" for character in IGNORABLE])
    return expect("invisible", ((character, one["lower"], "aa") for character, one in zip(IGNORABLE, made)))


def letters():
    """Letters stay with each other, and with what the rules ignore behind a letter."""
    kept = {character: True for character in CATEGORY if is_letter(character)}
    for character, value, category in property_of("auxiliary/WordBreakProperty.txt"):
        if value in IGNORED and category != "Sk":  # Sk: colours of emoji
            kept[character] = True
        elif value in ("Numeric", "ExtendNumLet", "WSegSpace", "Newline", "CR", "LF", "MidNum", "MidNumLet",
                       "Single_Quote", "Double_Quote"):
            kept[character] = False
    made = ask(["a" + character + "a" for character in kept])
    return expect("letters", ((character, len(one["words"]), 1 if is_kept else 2)
                              for (character, is_kept), one in zip(kept.items(), made)))


def boundaries():
    """Words end where the default rules have a boundary, but for the differences that text_words.hpp names."""
    rows = []
    for (line, *_), _ in lines_of("auxiliary/WordBreakTest.txt"):
        signs = line.split()
        rows.append((text_of(" ".join(signs[1::2])), [sign == "÷" for sign in signs[::2]]))
    cases = []
    for (text, is_boundary), one in zip(rows, ask([text for text, _ in rows])):
        place = {len(text[:i].encode()): i for i in range(len(text) + 1)}
        words = [(place[first], place[first + count]) for first, count in one["words"]]
        cases.append((text, [i for i, c in enumerate(text) if is_letter(c) and not any(a <= i < b for a, b in words)], []))
        for first, end in words:
            # A boundary within a word is beside a letter of a script that writes no blanks.
            for i in range(first + 1, end):
                beside = [c for c in (text[i], [c for c in text[:i] if is_letter(c)][-1]) if is_letter(c)]
                is_one = not is_boundary[i] or any(WORD_BREAK.get(c) not in ("ALetter", "Hebrew_Letter") for c in beside)
                cases.append((text, (i, is_one), (i, True)))
            # An end that is no boundary is at what those rules allow between letters, which is no letter itself.
            before = text[:first].rstrip("".join(c for c in text if WORD_BREAK.get(c) in IGNORED))
            cases.append((text, any(is_letter(c) for c in before[-1:]), False))
            cases.append((text, any(is_letter(c) or WORD_BREAK.get(c) in IGNORED for c in text[end:end + 1]), False))
    return expect("word boundaries", cases)


sys.exit(any([check() for check in (lower_case, case_folding, normalization, invisible, letters, boundaries)]))
