"""Topics of documents by gensim, on counts of words in the format of LDA-C (lines N WORD:COUNT ...).

    topics_gensim.py COUNTS TOPICS.npy [--topics 100] [--passes 10] [--workers 1] [--alpha 0.1] [--beta 0.01] [--seed 1]

Online variational inference with fixed priors (LdaModel; with more workers LdaMulticore). What is timed are its passes through
the documents. Prints {"event": "loaded", "version": ..., "tokens": ...} and {"event": "swept", "sweep": passes, "seconds": ...};
writes the probabilities of words in topics, topics x words. Needs gensim (peers/setup).
"""
import argparse
import json
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")           # products of small matrices, in the thread of the worker
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import gensim      # noqa: E402
import numpy       # noqa: E402


def read(path):
    with open(path) as file:
        return [[tuple(map(int, pair.split(":"))) for pair in line.split()[1:]] for line in file]


def say(event, **more):
    print(json.dumps({"event": event, **more}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("counts")
    parser.add_argument("out")
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--passes", type=int, default=10)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--alpha", type=float, default=0.1)
    parser.add_argument("--beta", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    documents = read(options.counts)
    words = 1 + max(word for document in documents for word, _ in document)
    tokens = sum(count for document in documents for _, count in document)
    say("loaded", version=f"gensim {gensim.__version__}", tokens=tokens, documents=len(documents), words=words)
    settings = {"num_topics": options.topics, "id2word": {word: str(word) for word in range(words)}, "passes": options.passes,
                "alpha": [options.alpha] * options.topics, "eta": options.beta, "eval_every": None,
                "random_state": options.seed}
    before = time.perf_counter()
    if options.workers > 1:
        model = gensim.models.LdaMulticore(documents, workers=options.workers, **settings)
    else:
        model = gensim.models.LdaModel(documents, **settings)
    say("swept", sweep=options.passes, seconds=time.perf_counter() - before)
    numpy.save(options.out, model.get_topics())


if __name__ == "__main__":
    main()
