#!/usr/bin/env python3
"""Made ratings of half stars, to learn from and to test; the same on every machine.

    apps/factorization/stars.py [FOLDER]    writes FOLDER/train.txt and FOLDER/test.txt; FOLDER: stars, beside this file

Lines are USER ITEM RATING, separated by tabs, of 2,000 users and 500 items, every tenth of which is held out. Users rate 5 to
75 items. A rating is 3.5, a bias of the user and one of the item, the product of three factors each, and noise of 0.5,
rounded to half stars from 0.5 to 5: nobody can predict it better than to 0.52.
"""
import argparse
import pathlib
import random

USERS, ITEMS, FACTORS = 2000, 500, 3


def made():
    draw = random.Random(1)
    biases = [draw.gauss(0, 0.4) for _ in range(ITEMS)]
    factors = [[draw.gauss(0, 0.4) for _ in range(FACTORS)] for _ in range(ITEMS)]
    for user in range(USERS):
        bias = draw.gauss(0, 0.3)
        likes = [draw.gauss(0, 1) for _ in range(FACTORS)]
        for item in draw.sample(range(ITEMS), draw.randint(5, 75)):
            exact = 3.5 + bias + biases[item] + sum(p * q for p, q in zip(likes, factors[item])) + draw.gauss(0, 0.5)
            yield f"{user}\t{item}\t{min(max(round(2 * exact) / 2, 0.5), 5)}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).parent / "stars")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    lines = list(made())
    (folder / "train.txt").write_text("".join(line for i, line in enumerate(lines) if i % 10 > 0))
    (folder / "test.txt").write_text("".join(lines[::10]))


if __name__ == "__main__":
    main()
