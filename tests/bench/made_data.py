#!/usr/bin/env python3
"""Data for the benchmark "scheduled", in files that both our programs and their peers read.

    made_data.py dictionary FILE.dict.dz OUT        the entries of a dictd dictionary, as counts of words
    made_data.py documents OUT [--tokens 5000000]   documents drawn from topics, as counts of words
    made_data.py ratings TRAIN TEST [--users 70000] ratings drawn from factors
    made_data.py columns OUT TARGETS [--columns 1000000]    a sparse matrix with groups of columns that are alike
    made_data.py cities OUT [--cities 1000] [--kind KIND]    random, clustered or drilled; no two farther apart than 65,535

Counts are in the format of LDA-C: a line for each document, N WORD:COUNT ... Ratings are lines USER ITEM RATING. The matrix is
SciPy's .npz, csr and not compressed, its targets are .npy. Cities are a file of TSPLIB; clustered ones are drawn as those of
the DIMACS challenge on the travelling salesman (Johnson and McGeoch 2002): a centre for a hundred cities each, and around
it normal deviates of the side over the root of the number of cities; drilled ones are blocks, rows and heaps of holes, far
from each other and with many equal ways, as on TSPLIB's boards. Prints what it has made as one JSON object. The same
arguments make the same files with the same NumPy; "dictionary" needs no NumPy.
"""
import argparse
import collections
import gzip
import json
import re

DIGITS = {c: i for i, c in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")}
DOCUMENTS_MIN, DOCUMENTS_MAX_SHARE = 5, 0.1     # of a word that is kept


def number(text):
    value = 0
    for c in text:
        value = value << 6 | DIGITS[c]
    return value


def dictionary(options):
    """Words are runs of at least two ASCII letters in lower case, in 5 entries or more and in at most a tenth of them."""
    with gzip.open(options.file) as file:
        texts = file.read()
    entries = {}
    with open(re.sub(r"\.dict(\.dz)?$", ".index", options.file), encoding="utf-8") as index:
        for line in index:
            headword, offset, length = line.rstrip("\n").split("\t")[:3]
            if not re.match("00-?database", headword):
                entries[number(offset), number(length)] = True
    counts = [collections.Counter(re.findall("[a-z]{2,}", texts[at:at + size].decode("utf-8", "replace").lower()))
              for at, size in entries]
    spread = collections.Counter(word for counted in counts for word in counted)
    kept = {word: i for i, word in enumerate(sorted(
        word for word, n in spread.items() if DOCUMENTS_MIN <= n <= DOCUMENTS_MAX_SHARE * len(counts)))}
    tokens, documents = 0, 0
    with open(options.out, "w") as file:
        for counted in counts:
            row = sorted((kept[word], n) for word, n in counted.items() if word in kept)
            if row:
                file.write(f"{len(row)} " + " ".join(f"{word}:{n}" for word, n in row) + "\n")
                tokens, documents = tokens + sum(n for _, n in row), documents + 1
    return {"documents": documents, "words": len(kept), "tokens": tokens}


def documents(options):
    """Topics are words by a Zipf law, each times a gamma variable of shape 0.05; a document has 200 tokens in the mean
    (lognormal, spread 0.6) and topics by a symmetric Dirichlet distribution of 0.02."""
    import numpy
    draw = numpy.random.default_rng(options.seed)
    rows = options.tokens // 200
    sizes = numpy.maximum(10, draw.lognormal(0, 0.6, rows) * 200 / numpy.exp(0.18)).astype("i8")
    document = numpy.repeat(numpy.arange(rows), sizes)
    shares = draw.gamma(0.02, 1, (rows, options.topics)).cumsum(axis=1)
    topic = numpy.empty(len(document), "i4")
    at = 0
    for row, size in enumerate(sizes):
        topic[at:at + size] = numpy.searchsorted(shares[row], draw.random(size) * shares[row, -1])
        at += size
    law = 1 / (numpy.arange(options.words) + 10) ** 0.9
    word = numpy.empty(len(document), "i8")
    order = numpy.argsort(topic, kind="stable")
    ends = numpy.searchsorted(topic[order], numpy.arange(options.topics + 1))
    for k in range(options.topics):
        chances = (law * draw.gamma(0.05, 1, options.words)).cumsum()
        mine = order[ends[k]:ends[k + 1]]
        word[mine] = numpy.searchsorted(chances, draw.random(len(mine)) * chances[-1])
    _, word = numpy.unique(word, return_inverse=True)       # words without a token have no number
    words = int(word.max()) + 1
    pairs, counts = numpy.unique(document * words + word, return_counts=True)
    starts = numpy.searchsorted(pairs // words, numpy.arange(rows + 1))
    columns, counts = (pairs % words).tolist(), counts.tolist()
    with open(options.out, "w") as file:
        for first, end in zip(starts, starts[1:]):
            file.write(f"{end - first} " + " ".join(f"{columns[i]}:{counts[i]}" for i in range(first, end)) + "\n")
    return {"documents": rows, "words": words, "tokens": len(document), "true_topics": options.topics}


def ratings(options):
    """Items are drawn with chances that fall as 1 / (i + 20)^0.9, users have a lognormal activity; a rating is 3.5, a bias of
    user and item, the product of ten factors each, noise of 0.7, rounded to half stars of 0.5 to 5. Every tenth is held
    out."""
    import numpy
    draw = numpy.random.default_rng(options.seed)
    sizes = draw.lognormal(0, 1, options.users) * 58
    user = numpy.repeat(numpy.arange(options.users), sizes.astype("i8") + 3)
    chances = (1 / (numpy.arange(options.items) + 20) ** 0.9).cumsum()
    item = numpy.searchsorted(chances, draw.random(len(user)) * chances[-1])
    pairs = numpy.unique(user * options.items + item)
    user, item = pairs // options.items, pairs % options.items
    p = draw.normal(0, 1, (options.users, 10))
    q = draw.normal(0, 0.2, (options.items, 10))
    exact = (3.5 + draw.normal(0, 0.3, options.users)[user] + draw.normal(0, 0.4, options.items)[item]
             + numpy.einsum("ij,ij->i", p[user], q[item]) + draw.normal(0, 0.7, len(user)))
    stars = numpy.clip(numpy.rint(exact * 2) / 2, 0.5, 5)
    order = draw.permutation(len(user))
    held_out = len(user) // 10
    for path, part in ((options.test, order[:held_out]), (options.train, order[held_out:])):
        with open(path, "w") as file:
            rows = zip(user[part].tolist(), item[part].tolist(), stars[part].tolist())
            file.writelines(f"{u}\t{i}\t{r}\n" for u, i, r in rows)
    return {"ratings": len(user) - held_out, "held_out": held_out, "users": options.users, "items": options.items}


def columns(options):
    """Groups of 20 columns with the rows and values of a common one: a column has each of its rows with a chance of 0.8, and
    values whose correlation with the common ones is 0.95. Rows of a group are drawn by a Pareto law of exponent 1.5, up to a
    tenth of all; in the mean a column has 100. Targets are the sum of one column of each of some groups, with normal
    coefficients, and noise of half its spread."""
    import numpy
    import scipy.sparse
    draw = numpy.random.default_rng(options.seed)
    rows, count, alike, kept = options.rows, options.columns, 20, 0.8
    groups = count // alike
    sizes = numpy.minimum((1 - draw.random(groups)) ** (-1 / 1.5) * options.column_entries / kept / 3, rows / 10)
    sizes = (sizes * options.column_entries / kept / sizes.mean()).astype("i8") + 1
    of_rows, values, entries = [], [], numpy.zeros(groups * alike + 1, "i8")
    for first in range(0, groups, 500):
        some = numpy.arange(first, min(first + 500, groups))
        places = numpy.unique(numpy.repeat(some, sizes[some]) * rows + draw.integers(0, rows, sizes[some].sum()))
        common = draw.standard_normal(len(places), "f4")
        ends = numpy.searchsorted(places, (some + 1) * rows)
        for group, begin, end in zip(some, [0, *ends], ends):
            has = draw.random((alike, end - begin), "f4") < kept
            chosen = begin + numpy.nonzero(has)[1]
            of_rows.append((places[chosen] % rows).astype("i4"))
            noise = draw.standard_normal(len(chosen), "f4")
            values.append(numpy.float32(0.95) * common[chosen] + numpy.float32((1 - 0.95 ** 2) ** 0.5) * noise)
            entries[1 + group * alike:1 + (group + 1) * alike] = has.sum(axis=1)
    x = scipy.sparse.csc_matrix((numpy.concatenate(values), numpy.concatenate(of_rows), entries.cumsum()),
                                shape=(rows, groups * alike))
    b = numpy.zeros(groups * alike)
    true = draw.choice(groups, options.true_groups, replace=False)
    b[true * alike + draw.integers(0, alike, len(true))] = draw.standard_normal(len(true))
    exact = x @ b
    numpy.save(options.targets, exact + draw.normal(0, exact.std() / 2, rows))
    del values, of_rows
    scipy.sparse.save_npz(options.out, x.tocsr(), compressed=False)
    return {"rows": rows, "columns": groups * alike, "entries": int(x.nnz), "bytes": int(x.nnz) * 8,
            "entries_of_columns": numpy.percentile(numpy.diff(x.indptr), [0, 50, 99, 100]).astype(int).tolist()}


def drilled(number, draw):
    """So many holes of a board, no two at one place."""
    holes = set()
    while len(holes) < number:
        x, y = draw.integers(0, 1600), draw.integers(0, 1600)
        kind, step = draw.integers(0, 3), int(draw.integers(5, 12))
        if kind == 0:
            found = [(x + step * i, y + step * j) for i in range(int(draw.integers(3, 12))) for j in range(int(draw.integers(3, 12)))]
        elif kind == 1:
            found = [(x + step * i, y) for i in range(int(draw.integers(5, 30)))]
        else:
            found = [(int(x + a), int(y + b)) for a, b in draw.normal(0, 35, (int(draw.integers(30, 110)), 2))]
        holes.update((int(a), int(b)) for a, b in found)
    holes = sorted(holes)
    return [holes[i] for i in sorted(draw.permutation(len(holes))[:number])]


def cities(options):
    import numpy
    draw = numpy.random.default_rng(options.seed)
    if options.kind == "clustered":
        side = 36000  # leaves room for what lies beyond it
        centres = draw.integers(0, side, (max(1, options.cities // 100), 2))
        offsets = draw.normal(0, side / options.cities ** 0.5, (options.cities, 2))
        places = (centres[draw.integers(0, len(centres), options.cities)] + offsets).round().astype(int)
        places = numpy.clip(places - places.min(axis=0), 0, 46000)
    elif options.kind == "drilled":
        places = drilled(options.cities, draw)
    else:
        places = draw.integers(0, 46000, (options.cities, 2))
    with open(options.out, "w") as file:
        file.write(f"NAME : {options.kind}\nTYPE : TSP\nDIMENSION : {options.cities}\nEDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION\n")
        for i, (x, y) in enumerate(places):
            file.write(f"{i + 1} {x} {y}\n")
        file.write("EOF\n")
    return {"cities": options.cities}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made = parser.add_subparsers(dest="what", required=True)
    of = made.add_parser("dictionary")
    of.add_argument("file")
    of.add_argument("out")
    of = made.add_parser("documents")
    of.add_argument("out")
    of.add_argument("--tokens", type=int, default=5000000)
    of.add_argument("--words", type=int, default=20000)
    of.add_argument("--topics", type=int, default=500)
    of.add_argument("--seed", type=int, default=1)
    of = made.add_parser("ratings")
    of.add_argument("train")
    of.add_argument("test")
    of.add_argument("--users", type=int, default=70000)
    of.add_argument("--items", type=int, default=10000)
    of.add_argument("--seed", type=int, default=1)
    of = made.add_parser("columns")
    of.add_argument("out")
    of.add_argument("targets")
    of.add_argument("--rows", type=int, default=100000)
    of.add_argument("--columns", type=int, default=1000000)
    of.add_argument("--column-entries", type=int, default=100)
    of.add_argument("--true-groups", type=int, default=1000)
    of.add_argument("--seed", type=int, default=1)
    of = made.add_parser("cities")
    of.add_argument("out")
    of.add_argument("--cities", type=int, default=1000)
    of.add_argument("--kind", choices=["random", "clustered", "drilled"], default="random")
    of.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def main():
    options = arguments()
    make = {"dictionary": dictionary, "documents": documents, "ratings": ratings, "columns": columns,
            "cities": cities}[options.what]
    print(json.dumps(make(options)))


if __name__ == "__main__":
    main()
