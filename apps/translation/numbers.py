#!/usr/bin/env python3
"""Numbers below a million in English words and in digits, to train on and to test; the same on every machine.

    apps/translation/numbers.py [FOLDER]     writes FOLDER/train.tsv and FOLDER/test.tsv; FOLDER: numbers, beside this file

Lines are WORDS, a tab, DIGITS. Words are those of British English: twenty-one; three hundred and twelve; one thousand and
five; two hundred thousand one hundred. As many numbers are drawn below 10, 100 ... 1000000, and no number twice.
"""
import argparse
import pathlib
import random

TRAIN, TEST = 20000, 1000
SMALL = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
         "eighteen nineteen").split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()


def words(number):
    if number < 20:
        return SMALL[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return TENS[tens - 2] + (f"-{SMALL[ones]}" if ones else "")
    unit, name = (1000, "thousand") if number >= 1000 else (100, "hundred")
    count, rest = divmod(number, unit)
    text = f"{words(count)} {name}"
    if rest == 0:
        return text
    return text + (" and " if rest < 100 else " ") + words(rest)


def draw(count):
    """Different numbers in random order."""
    source = random.Random(1)
    numbers = {}
    while len(numbers) < count:
        numbers[source.randrange(10 ** source.randint(1, 6))] = None
    numbers = list(numbers)
    source.shuffle(numbers)
    return numbers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).parent / "numbers")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    numbers = draw(TRAIN + TEST)
    for name, part in (("train", numbers[:TRAIN]), ("test", numbers[TRAIN:])):
        (folder / f"{name}.tsv").write_text("".join(f"{words(number)}\t{number}\n" for number in part))


if __name__ == "__main__":
    main()
