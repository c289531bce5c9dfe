#!/usr/bin/env python3
"""A thousand random cities in a square of 40,000 units; the same on every machine.

    apps/tsp/thousand.py [FILE]     FILE: thousand.csv, beside this file
"""
import pathlib
import random
import sys

CITIES, SIDE = 1000, 40000


def main():
    file = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "thousand.csv"
    draw = random.Random(1)
    file.write_text("x,y\n" + "".join(f"{draw.randrange(SIDE)},{draw.randrange(SIDE)}\n" for _ in range(CITIES)))


if __name__ == "__main__":
    main()
