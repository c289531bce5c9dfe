#!/usr/bin/env python3
"""What a trigram model of bytes reaches on the end of a text: the mark for language models of bytes to be below.

    tests/bench/peers/trigram.py FILE [TEST_SHARE]      FILE: plain or gzip; the share at its end is held out, 0.05

Witten-Bell interpolation of orders 0 to 2 (Witten and Bell 1991). Prints nats per byte.
"""
import collections
import gzip
import math
import pathlib
import sys

ORDERS = 3


def main():
    content = pathlib.Path(sys.argv[1]).read_bytes()
    text = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    held_out = int(len(text) * (float(sys.argv[2]) if len(sys.argv) > 2 else 0.05))
    train, test = text[:len(text) - held_out], text[len(text) - held_out:]
    counts, seen, kinds = ([collections.Counter() for _ in range(ORDERS)] for _ in range(3))
    for order in range(ORDERS):
        for end in range(order, len(train)):
            gram = train[end - order:end + 1]
            if gram not in counts[order]:
                kinds[order][gram[:-1]] += 1
            counts[order][gram] += 1
            seen[order][gram[:-1]] += 1

    def probability(history, byte):
        p = 1 / 256
        for order in range(ORDERS):
            context = history[len(history) - order:]
            n, different = seen[order][context], kinds[order][context]
            if n:
                p = (counts[order][context + byte] + different * p) / (n + different)
        return p

    loss = -sum(math.log(probability(test[i - 2:i], test[i:i + 1])) for i in range(2, len(test)))
    print(f"trigram: {loss / (len(test) - 2):.4f} nats per byte on the last {len(test)} of {len(text)} bytes")


main()
