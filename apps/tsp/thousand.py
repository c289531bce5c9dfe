#!/usr/bin/env python3
"""A thousand random cities in a square of 40,000 units; the same on every machine.

    apps/tsp/thousand.py [FILE]     FILE: thousand.csv, beside this file
"""
import argparse
import pathlib
import random

CITIES, SIDE = 1000, 40000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).parent / "thousand.csv")
    file = parser.parse_args().file
    draw = random.Random(1)
    file.write_text("x,y\n" + "".join(f"{draw.randrange(SIDE)},{draw.randrange(SIDE)}\n" for _ in range(CITIES)))


if __name__ == "__main__":
    main()
