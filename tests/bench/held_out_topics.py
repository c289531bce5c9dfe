"""Rows of the table "lda": how well topics of nine tenths of the dictionary predict the last tenth, and after what time, beside
tomotopy's and gensim's. What finds the topics differs, Gibbs sampling or variational inference; completion.py judges all."""
import json
import os
import subprocess

import contenders
from measuring import Figures, Skip
from rotations import add_peer, run_command
from scheduled import python_with
from tables import Row, number

HELD_OUT_EVERY = 10     # document
TOPICS = 100
OURS = "held out, K 100, {} sweeps"


def divided(counts):
    """Two files with the documents of one: those to train on, and the others."""
    train, test = counts + "-train", counts + "-held-out"
    with open(counts) as file, open(train, "w") as most, open(test, "w") as few:
        for number_of_document, line in enumerate(file):
            (few if number_of_document % HELD_OUT_EVERY == HELD_OUT_EVERY - 1 else most).write(line)
    return train, test


class HeldOut:
    """The contenders, each with "perplexity" and "seconds" among its figures, and the rows that they make."""

    def __init__(self, options, folder, counts, runs, size, priors):
        self.options, self.folder, self.runs, self.priors = options, folder, runs, priors
        self.train, self.test = divided(counts)
        self.python = python_with("numpy", options.lasso_venv)
        self.sweeps = (20, size["sweeps"])
        self.passes = (1, 2 if options.quick else 10)
        self.tomotopy = f"held out, tomotopy, {self.sweeps[1]} sweeps"

    def judged(self, contender, matrix, *words):
        read = contender.read

        def read_and_judge(output):
            figures = read(output)
            command = [self.python, os.path.join(contenders.SOURCE, "tests/bench/completion.py"), matrix, self.train, self.test,
                       "--alpha", str(self.priors["alpha"]), *words]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                raise Skip(f"completion.py: {(done.stderr.strip() or 'no output').splitlines()[-1]}")
            seconds = self.runs.points[contender.name][-1][-1][1]
            return {**figures, "seconds": seconds, "perplexity": json.loads(done.stdout)["perplexity"]}
        contender.read = read_and_judge
        return contender

    def ours(self, sweeps):
        result = os.path.join(self.folder, f"held-out-{sweeps}")
        app = {"troupe": 1, "data": {"documents": {"counts": self.train}},
               "program": {"lda": {"topics": TOPICS, "sampler": "exact", **self.priors}},
               "schedule": {"rotation": {}, "workers": 1}, "stop": {"sweeps": sweeps + 1}, "result": {"directory": result}}
        command = run_command(self.options, self.folder, f"held-out-{sweeps}", app, 1)
        return self.judged(self.runs.ours(OURS.format(sweeps), command, "per_token"),
                           os.path.join(result, "word_topics.npy"), "--beta", str(self.priors["beta"]))

    def add_to(self, parts, skipped):
        parts += [self.ours(sweeps) for sweeps in self.sweeps]
        alike = ["--topics", str(TOPICS), *(word for name, value in self.priors.items() for word in (f"--{name}", str(value)))]
        matrix, found = os.path.join(self.folder, "held-out-tomotopy.npy"), []
        add_peer(found, skipped, self.runs, self.options, "tomotopy", "topics.py", self.tomotopy,
                 [self.train, *alike, "--sweeps", str(self.sweeps[1]), "--every", str(self.sweeps[1]), "--save", matrix], "sweep")
        parts += [self.judged(one, matrix) for one in found]
        for passes in self.passes:
            matrix, found = os.path.join(self.folder, f"held-out-gensim-{passes}.npy"), []
            add_peer(found, skipped, self.runs, self.options, "gensim", "topics_gensim.py", self.gensim(passes),
                     [self.train, matrix, *alike, "--passes", str(passes)], "sweep")
            parts += [self.judged(one, matrix) for one in found]

    @staticmethod
    def gensim(passes):
        return f"held out, gensim, {passes} pass{'es' * (passes > 1)}"

    def rows(self, figures):
        few, many = (OURS.format(sweeps) for sweeps in self.sweeps)
        pairs = [(few, self.gensim(self.passes[0])), (few, self.gensim(self.passes[1])), (many, self.gensim(self.passes[1])),
                 (many, self.tomotopy)]
        rows = []
        for name, peer in pairs:
            if name not in figures:
                continue
            its = figures.get(peer, {}).get("perplexity")
            row = Row(name, figures[name]["perplexity"], "perplexity", its, peer.removeprefix("held out, ") if its else "")
            row.extra["after"] = seconds(figures[name]["seconds"])
            if its:
                row.extra["the peer's, after"] = seconds(figures[peer]["seconds"])
            rows.append(row)
        return rows


def seconds(figures: Figures):
    return f"{number(figures.median)} s"
