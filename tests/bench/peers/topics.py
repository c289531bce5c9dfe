"""Topics of documents by tomotopy, on counts of words in the format of LDA-C (lines N WORD:COUNT ...).

    topics.py COUNTS [--topics 100] [--sweeps 200] [--every 10] [--workers 1] [--alpha 0.1] [--beta 0.01] [--seed 1]
              [--save TOPICS.npy]

Collapsed Gibbs sampling with fixed priors. What is timed is train() alone; between its calls, every so many sweeps, the
likelihood log p(words, topics) of the sample is computed here, from the topics of all tokens, in nats per token. Prints
{"event": "loaded", "version": ..., "tokens": ...}, then {"event": "swept", "sweep": ..., "seconds": of train() so far,
"per_token": ...}; sweep 0 is the random start. --save writes the probabilities of words in topics,
topics x words. Needs tomotopy and SciPy (peers/setup).
"""
import argparse
import json
import time
import warnings

import numpy
import tomotopy
from scipy.special import gammaln


def read(path):
    """The documents, as lists of words."""
    with open(path) as file:
        for line in file:
            words = []
            for pair in line.split()[1:]:
                word, count = pair.split(":")
                words += [word] * int(count)
            yield words


class Likelihood:
    """Of samples of one model: Griffiths and Steyvers' log p(w | z) and log p(z)."""

    def __init__(self, model, options):
        self.model, self.options = model, options
        self.words = numpy.concatenate([document.words for document in model.docs]).astype("i8")
        self.sizes = numpy.array([len(document.words) for document in model.docs])
        self.documents = numpy.repeat(numpy.arange(len(self.sizes)), self.sizes)

    @staticmethod
    def of_counts(keys, size, prior):
        """The sum of log gamma(n + prior) - log gamma(prior) over the counts of all keys."""
        _, counts = numpy.unique(keys, return_counts=True)
        return (gammaln(counts + prior) - gammaln(prior)).sum()

    def per_token(self):
        topics, alpha, beta = self.options.topics, self.options.alpha, self.options.beta
        found = numpy.concatenate([document.topics for document in self.model.docs]).astype("i8")
        totals = numpy.bincount(found, minlength=topics)
        every, vocabulary = alpha * topics, beta * (self.words.max() + 1)
        value = self.of_counts(self.words * topics + found, topics, beta)
        value -= (gammaln(totals + vocabulary) - gammaln(vocabulary)).sum()
        value += self.of_counts(self.documents * topics + found, topics, alpha)
        value -= (gammaln(self.sizes + every) - gammaln(every)).sum()
        return value / len(found)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("counts")
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--sweeps", type=int, default=200)
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--alpha", type=float, default=0.1)
    parser.add_argument("--beta", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save")
    return parser.parse_args()


def say(event, **more):
    print(json.dumps({"event": event, **more}), flush=True)


def save(path, model, topics):
    """Its words have numbers of its own; words without a token have probability 0."""
    columns = [int(word) for word in model.used_vocabs]
    matrix = numpy.zeros((topics, max(columns) + 1))
    for topic in range(topics):
        matrix[topic, columns] = model.get_topic_word_dist(topic)
    numpy.save(path, matrix)


def main():
    options = arguments()
    warnings.simplefilter("ignore")         # that several workers are not repeatable
    model = tomotopy.LDAModel(k=options.topics, alpha=options.alpha, eta=options.beta, seed=options.seed)
    model.optim_interval = 0                # the priors stay
    for words in read(options.counts):
        model.add_doc(words)
    model.train(0, workers=options.workers)
    likelihood = Likelihood(model, options)
    say("loaded", version=f"tomotopy {tomotopy.__version__} ({tomotopy.isa})", tokens=int(model.num_words),
        documents=len(model.docs), words=len(model.used_vocabs))
    say("swept", sweep=0, seconds=0, per_token=likelihood.per_token())
    seconds, sweep = 0.0, 0
    while sweep < options.sweeps:
        step = min(options.every, options.sweeps - sweep)
        before = time.perf_counter()
        model.train(step, workers=options.workers)
        seconds, sweep = seconds + time.perf_counter() - before, sweep + step
        say("swept", sweep=sweep, seconds=seconds, per_token=likelihood.per_token())
    if options.save:
        save(options.save, model, options.topics)


if __name__ == "__main__":
    main()
