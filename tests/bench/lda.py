"""The table "lda" of the benchmark "scheduled": topics of documents beside tomotopy's, from the same counts of words."""
import os
import tempfile

from held_out_topics import HeldOut
from measuring import Figures, Skip, interleave
from rotations import (Runs, add_peer, idle_rows, in_words, made, rate, run_command, sizes, speedup, traced)
from tables import Row, Table, number

DICTIONARY = "/usr/share/dictd/foldoc.dict.dz"
PRIORS = {"alpha": 0.1, "beta": 0.01}
LOOKED_AT = {1: 20, 2: 5}   # every so many sweeps tomotopy's likelihood is computed, by workers; that is not timed
LARGE_SWEEPS, LARGE_TOPICS = 20, 1000
METROPOLIS_TOPICS = (100, 1000, 10000)


def lda_command(options, folder, counts, topics, sampler, workers, sweeps):
    app = {"troupe": 1, "data": {"documents": {"counts": counts}},
           "program": {"lda": {"topics": topics, "sampler": sampler, **PRIORS}},
           "schedule": {"rotation": {}, "workers": workers}, "stop": {"sweeps": sweeps}}
    return run_command(options, folder, f"lda-{topics}-{sampler}-{workers}-{sweeps}-{os.path.basename(counts)}", app, workers)


def tomotopy_words(counts, topics, workers, sweeps, every):
    return [counts, "--topics", str(topics), "--workers", str(workers), "--sweeps", str(sweeps), "--every", str(every),
            "--alpha", str(PRIORS["alpha"]), "--beta", str(PRIORS["beta"])]


class Topics:
    def __init__(self, options, folder):
        self.options, self.folder, self.size = options, folder, sizes(options)
        self.runs, self.parts, self.skipped, self.idle = Runs(), [], [], []
        self.facts, self.held_out = {}, None

    def dictionary_parts(self):
        """To the likelihood of the peer."""
        if not os.path.exists(DICTIONARY):
            self.skipped.append("dictionary: skipped, dict-foldoc is not installed (Debian)")
            return
        counts = os.path.join(self.folder, "dictionary")
        self.facts["dictionary"] = made("dictionary", self.options, DICTIONARY, counts)
        for workers in (1, 2):
            title = f"dictionary, K 100, {in_words(workers)}"
            command = lda_command(self.options, self.folder, counts, 100, "exact", workers, self.size["sweeps_max"])
            self.parts.append(self.runs.ours(title, command, "per_token"))
            sweeps = self.size["sweeps" if workers == 1 else "sweeps_max"]
            add_peer(self.parts, self.skipped, self.runs, self.options, "tomotopy", "topics.py", f"{title}, tomotopy",
                     tomotopy_words(counts, 100, workers, sweeps, LOOKED_AT[workers]), "per_token")
        self.idle.append("dictionary, K 100, 2 workers, nobody computes")
        self.parts.append(traced(self.idle[-1], lda_command(self.options, self.folder, counts, 100, "exact", 2, 40),
                                 os.path.join(self.folder, "trace.json")))
        self.held_out = HeldOut(self.options, self.folder, counts, self.runs, self.size, PRIORS)
        self.held_out.add_to(self.parts, self.skipped)

    def made_parts(self):
        """A number of sweeps of many tokens."""
        counts = os.path.join(self.folder, "made")
        self.facts["made"] = made("documents", self.options, counts, "--tokens", str(self.size["tokens"]))
        shapes = [(LARGE_TOPICS, "exact", 1), (LARGE_TOPICS, "exact", 2), (LARGE_TOPICS, "metropolis", 2)]
        shapes += [(topics, "metropolis", 1) for topics in METROPOLIS_TOPICS]
        for topics, sampler, workers in shapes:
            command = lda_command(self.options, self.folder, counts, topics, sampler, workers, LARGE_SWEEPS + 1)
            self.parts.append(self.runs.ours(f"made, K {topics}, {sampler}, {in_words(workers)}", command, "per_token"))
        for workers in (1, 2):
            add_peer(self.parts, self.skipped, self.runs, self.options, "tomotopy", "topics.py",
                     f"made, K {LARGE_TOPICS}, {in_words(workers)}, tomotopy",
                     tomotopy_words(counts, LARGE_TOPICS, workers, LARGE_SWEEPS, LARGE_SWEEPS), "per_token")
        self.idle.append(f"made, K {LARGE_TOPICS}, exact, 2 workers, nobody computes")
        self.parts.append(traced(self.idle[-1], lda_command(self.options, self.folder, counts, LARGE_TOPICS, "exact", 2, 8),
                                 os.path.join(self.folder, "trace.json")))

    def target(self):
        """What has to be reached: the peer's value after its sweeps, the median of its runs."""
        name = "dictionary, K 100, 1 worker, tomotopy"
        return self.runs.values(name, lambda values: values[-1]).median if name in self.runs.points else None

    def dictionary_rows(self, figures):
        target, rows, one, one_rate = self.target(), [], None, None
        for workers in (1, 2):
            title = f"dictionary, K 100, {in_words(workers)}"
            peer = f"{title}, tomotopy"
            if target is not None and title in figures:
                there = self.runs.reached(title, lambda value: value >= target)
                its = self.runs.reached(peer, lambda value: value >= target - 1e-9) if workers > 1 else \
                    Figures([run[-1][1] for run in self.runs.points[peer]])
                row = Row(f"{title}, to {target:.3f}", there, "s", its, f"tomotopy, {in_words(workers)}" if its else "")
                if there is None:
                    row.figures, row.peer, row.peer_name = figures[title]["whole"], None, ""
                    row.unit = "s; never there"
                elif workers == 1:
                    one = there
                else:
                    speedup(row, one, is_rate=False)
                rows.append(row)
            rows.append(self.rate_row(figures, title, peer, "dictionary", workers))
            if workers == 1:
                one_rate = rows[-1].figures
            else:
                speedup(rows[-1], one_rate)
        return [row for row in rows if row.figures]

    def rate_row(self, figures, title, peer, corpus, workers):
        tokens = self.facts[corpus]["tokens"]
        its = rate(figures, peer, tokens)
        row = Row(f"{title}, speed", rate(figures, title, tokens), "M tokens/s", its,
                  f"tomotopy, {in_words(workers)}" if its else "")
        if title in figures:
            row.extra["per token at the end"] = f"{figures[title]['last'].median:.3f}"
        if its:
            row.extra["the peer's"] = f"{figures[peer]['last'].median:.3f}"
        return row

    def made_rows(self, figures):
        rows = []
        for sampler in ("exact", "metropolis"):
            one = None
            for workers in (1, 2):
                title = f"made, K {LARGE_TOPICS}, {sampler}, {in_words(workers)}"
                row = self.rate_row(figures, title, f"made, K {LARGE_TOPICS}, {in_words(workers)}, tomotopy", "made", workers)
                if title in figures:
                    row.extra["20 sweeps"] = f"{number(LARGE_SWEEPS * figures[title]['sweep_seconds'].median)} s"
                if workers == 1:
                    one = row.figures
                else:
                    speedup(row, one)
                rows.append(row)
        first = rate(figures, f"made, K {METROPOLIS_TOPICS[0]}, metropolis, 1 worker", self.facts["made"]["tokens"])
        for topics in METROPOLIS_TOPICS:
            title = f"made, K {topics}, metropolis, 1 worker"
            row = self.rate_row(figures, title, "", "made", 1)
            if row.figures and first:
                row.name = f"made, K {topics}, metropolis, 1 worker, against K {METROPOLIS_TOPICS[0]}"
                row.peer, row.peer_name = first, f"metropolis, K {METROPOLIS_TOPICS[0]}"
                rows.append(row)
        return [row for row in rows if row.figures]

    def start_note(self):
        """That both sides count the same: the likelihood of their random starts."""
        names = ["dictionary, K 100, 1 worker", "dictionary, K 100, 1 worker, tomotopy"]
        if not all(name in self.runs.points for name in names):
            return []
        own, its = (self.runs.values(name, lambda values: values[0]).median for name in names)
        return [f"check: a random start of the dictionary has {own:.3f} per token by ours, {its:.3f} by the peer's script"]


def lda(options):
    with tempfile.TemporaryDirectory() as folder:
        topics = Topics(options, folder)
        for add_parts in (topics.dictionary_parts, topics.made_parts):
            try:
                add_parts()
            except Skip as reason:
                topics.skipped.append(f"{add_parts.__name__}: skipped, {reason}")
        outcome = interleave(topics.parts, options.repetitions)
    figures = outcome.figures
    rows = topics.dictionary_rows(figures) if "dictionary" in topics.facts else []
    rows += topics.held_out.rows(figures) if topics.held_out else []
    rows += topics.made_rows(figures) if "made" in topics.facts else []
    rows += idle_rows(figures, topics.idle)
    notes = [f"{name}: {fact['documents']} documents of {fact['words']} words, {fact['tokens']} tokens"
             for name, fact in topics.facts.items()]
    notes += [f"peers: {', '.join(sorted(topics.runs.versions)) or 'none'}; alpha 0.1, beta 0.01, both fixed",
              "ours: a node for each worker, over shared memory, from the start event on, with the likelihood of every sweep; "
              "tomotopy: its train() alone; gensim: its passes",
              "to: the likelihood of tomotopy's sample, per token, after " +
              f"{topics.size['sweeps']} sweeps, 1 worker; with 2 workers it is looked at every 5 sweeps",
              "speed: without the random start",
              "held out: the dictionary without every tenth entry, whose halves are predicted by completion.py; one worker each"]
    return Table("scheduled", "Topics of documents by Gibbs sampling, nodes of this machine", rows,
                 topics.skipped + outcome.skipped, outcome.others_busy, notes + topics.start_note())
