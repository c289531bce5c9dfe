#!/usr/bin/env python3
"""How well topics predict documents that they are not of: each one's second half by its first.

    completion.py TOPICS.npy TRAINED_ON HELD_OUT [--alpha 0.1] [--beta B]

TOPICS.npy has the probabilities of words in topics, topics x words; with --beta the numbers of tokens, words x topics, to each
of which B is added, as our results have them. Documents are counts of words in the format of LDA-C. Of a document's tokens, in
the order of its words, every second one is given: its shares of topics are found by 100 steps of expectation maximisation, with
a prior of `alpha`; the others are predicted. Words that no document of TRAINED_ON has are left out. Prints one JSON object:
the perplexity, exp of the mean of -log p, and the number of predicted tokens. Whoever found the topics, this is the same.
Needs NumPy.
"""
import argparse
import json

import numpy

STEPS = 100


def read(path):
    """For each document an array of its tokens' words."""
    with open(path) as file:
        for line in file:
            pairs = numpy.array([pair.split(":") for pair in line.split()[1:]], dtype="i8").reshape(-1, 2)
            yield numpy.repeat(pairs[:, 0], pairs[:, 1])


def shares(given, topics, alpha):
    """Of topics in a document, by its tokens."""
    words, counts = numpy.unique(given, return_counts=True)
    of_words = topics[:, words]
    found = numpy.full(len(topics), 1 / len(topics))
    for _ in range(STEPS if len(words) else 0):
        expected = found * (of_words * (counts / (found @ of_words))).sum(axis=1) + alpha
        found = expected / expected.sum()
    return found


def perplexity(topics, known, documents, alpha):
    loss, count = 0.0, 0
    for tokens in documents:
        tokens = tokens[tokens < len(known)]
        tokens = tokens[known[tokens]]
        asked = tokens[1::2]
        if len(asked):
            loss -= numpy.log(shares(tokens[::2], topics, alpha) @ topics[:, asked]).sum()
            count += len(asked)
    return {"perplexity": float(numpy.exp(loss / count)), "tokens": count}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("topics")
    parser.add_argument("trained_on")
    parser.add_argument("held_out")
    parser.add_argument("--alpha", type=float, default=0.1)
    parser.add_argument("--beta", type=float)
    options = parser.parse_args()
    topics = numpy.load(options.topics).astype("f8")
    if options.beta is not None:
        topics = (topics + options.beta).T
    known = numpy.zeros(topics.shape[1], bool)
    for tokens in read(options.trained_on):
        known[tokens] = True
    topics[:, ~known] = 0
    topics /= topics.sum(axis=1, keepdims=True)
    print(json.dumps(perplexity(topics, known, read(options.held_out), options.alpha)))


if __name__ == "__main__":
    main()
