"""The tables "lda" and "factorization" of the benchmark "scheduled": programs whose variables rotate, on nodes of this machine,
beside tomotopy, LIBMF and cmfrec on the same data."""
import json
import os
import subprocess
import sys
import tempfile

import contenders
from measuring import Contender, Figures, Skip, interleave
from scheduled import clocked, python_with
from tables import Row, Table, number

DICTIONARY = "/usr/share/dictd/foldoc.dict.dz"
PRIORS = {"alpha": 0.1, "beta": 0.01}
SWEEPS = 200                # of tomotopy on the dictionary; its likelihood then is what the others have to reach
SWEEPS_MAX = 260            # of the others
LARGE_SWEEPS, LARGE_TOPICS = 20, 1000
METROPOLIS_TOPICS = (100, 1000, 10000)
RATING_SWEEPS = 20
ALTERNATIONS = 10           # of cmfrec, its default
RANK, PENALTY = 40, 0.05
NEAR = 1.001                # of a peer's lowest held-out RMSE: there
TIMEOUT_S = 1800
QUICK = {"tokens": 400000, "users": 6000, "sweeps": 40, "sweeps_max": 60}
FULL = {"tokens": 5000000, "users": 70000, "sweeps": SWEEPS, "sweeps_max": SWEEPS_MAX}


def sizes(options):
    return QUICK if options.quick else FULL


def made(what, options, *words):
    """Runs made_data.py; what it says of the data."""
    python = sys.executable if what == "dictionary" else python_with("numpy", options.lasso_venv)
    command = [python, os.path.join(contenders.SOURCE, "tests/bench/made_data.py"), what, *words]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Skip(f"made_data.py {what}: {(done.stderr.strip() or 'no output').splitlines()[-1]}")
    return json.loads(done.stdout)


# What runs tell

class Runs:
    """Every run's points (sweep, seconds, value), by contender, and the versions of the peers."""

    def __init__(self):
        self.points, self.versions = {}, set()

    def ours(self, name, command, key, timeout_s=TIMEOUT_S):
        """Seconds since the start event."""
        def read(output):
            lines = contenders.json_lines(output)
            start = next((line["at"] for line in lines if line.get("event") == "start"), None)
            found = [(line["sweep"], line["at"] - start, line[key]) for line in lines
                     if line.get("event") == "sweep" and key in line]
            return self.kept(name, found, {line["event"]: line for line in lines}["exit"])
        return Contender(name, clocked(command), read, timeout_s=timeout_s)

    def peer(self, name, command, key, timeout_s=TIMEOUT_S):
        """Seconds of the solver, by its script."""
        def read(output):
            lines = contenders.json_lines(output)
            self.versions.update(line["version"] for line in lines if line["event"] == "loaded")
            found = [(line["sweep"], line["seconds"], line[key]) for line in lines if line["event"] == "swept"]
            return self.kept(name, found, {line["event"]: line for line in lines}["exit"])
        return Contender(name, clocked(command), read, timeout_s=timeout_s)

    def kept(self, name, found, end):
        """Keys: "last" value, "sweep_seconds" from the first point to the last, "whole" of the command."""
        if len(found) < 1:
            raise Skip("printed no sweep")
        self.points.setdefault(name, []).append(found)
        figures = {"last": found[-1][2], "whole": end["at"]}
        if len(found) > 1 and found[-1][1] > found[0][1]:
            figures["sweep_seconds"] = (found[-1][1] - found[0][1]) / (found[-1][0] - found[0][0])
        return figures

    def reached(self, name, is_there):
        """Seconds, Figures, until a value was there for the first time; None if that is not so in every run."""
        times = [next((seconds for _, seconds, value in run if is_there(value)), None)
                 for run in self.points.get(name, [])]
        return Figures(times) if times and None not in times else None

    def values(self, name, choose):
        """What choose makes of the values of each run."""
        return Figures([choose([value for _, _, value in run]) for run in self.points[name]])


def rate(figures, name, count):
    """Millions a second, by the time of a sweep of `count`."""
    seconds = figures.get(name, {}).get("sweep_seconds")
    return Figures([count / 1e6 / value for value in seconds.values]) if seconds else None


def speedup(row, one, is_rate=True):
    """Says how many times as fast it is as with one worker."""
    if row.figures and one:
        factor = row.figures.median / one.median
        row.extra["of one worker"] = f"{factor if is_rate else 1 / factor:.2f}"


def nobody_computes(path):
    """Keys, in per cent: "nobody" of the time in which no device of any node has a part of the program to compute, "waits" of a
    worker's in which it does not; of what the trace has, from its first turn to its last."""
    with open(path) as file:
        spans = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X" and event.get("cat") == "device"]
    turns = [span for span in spans if span["name"] == "push"]
    if not turns:
        raise Skip("its trace has no turn")
    begin, end = min(s["ts"] for s in turns), max(s["ts"] + s["dur"] for s in turns)
    covered, until = 0.0, begin
    for span in sorted(spans, key=lambda s: s["ts"]):
        last = min(end, span["ts"] + span["dur"])
        covered, until = covered + max(0.0, last - max(until, span["ts"])), max(until, last)
    busy = {}
    for span in turns:
        busy[span["pid"], span["tid"]] = busy.get((span["pid"], span["tid"]), 0.0) + span["dur"]
    whole = end - begin
    return {"nobody": 100 * (1 - covered / whole), "waits": 100 * (1 - sum(busy.values()) / len(busy) / whole)}


def traced(name, command, path):
    def read(_):
        return nobody_computes(path)
    return Contender(name, [*command, "--trace", path], read, timeout_s=TIMEOUT_S)


def idle_rows(figures, names):
    rows = []
    for name in names:
        if name in figures:
            row = Row(name, figures[name]["nobody"], "% of time")
            row.extra["a worker waits"] = f"{number(figures[name]['waits'].median)}%"
            rows.append(row)
    return rows


def run_command(options, folder, name, app, workers):
    path = os.path.join(folder, name + ".json")
    with open(path, "w") as file:
        json.dump(app, file)
    return [contenders.program(options.build, "tools/troupe/troupe"), "run", path, "--json", "--nodes", str(workers)]


def add_peer(parts, skipped, runs, options, module, script, name, words, key):
    """The peer of the virtual environment that bears its module's name."""
    try:
        python = python_with(module, os.path.join(options.peers_venvs, module))
    except Skip as reason:
        skipped.append(f"{name}: skipped, {reason}")
        return
    parts.append(runs.peer(name, [python, "-W", "ignore", os.path.join(contenders.PEERS, script), *words], key))


# Topics

def lda_command(options, folder, counts, topics, sampler, workers, sweeps):
    app = {"troupe": 1, "data": {"documents": {"counts": counts}},
           "program": {"lda": {"topics": topics, "sampler": sampler, **PRIORS}},
           "schedule": {"rotation": {}, "workers": workers}, "stop": {"sweeps": sweeps}}
    return run_command(options, folder, f"lda-{topics}-{sampler}-{workers}-{sweeps}-{os.path.basename(counts)}", app, workers)


def tomotopy_words(counts, topics, workers, sweeps, every):
    return [counts, "--topics", str(topics), "--workers", str(workers), "--sweeps", str(sweeps), "--every", str(every),
            "--alpha", str(PRIORS["alpha"]), "--beta", str(PRIORS["beta"])]


def in_words(workers):
    return f"{workers} worker{'s' * (workers > 1)}"


class Topics:
    def __init__(self, options, folder):
        self.options, self.folder, self.size = options, folder, sizes(options)
        self.runs, self.parts, self.skipped, self.idle = Runs(), [], [], []
        self.facts = {}

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
                     tomotopy_words(counts, 100, workers, sweeps, 10), "per_token")
        self.idle.append("dictionary, K 100, 2 workers, nobody computes")
        self.parts.append(traced(self.idle[-1], lda_command(self.options, self.folder, counts, 100, "exact", 2, 40),
                                 os.path.join(self.folder, "trace.json")))

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
        topics.dictionary_parts()
        topics.made_parts()
        outcome = interleave(topics.parts, options.repetitions)
    figures = outcome.figures
    rows = topics.dictionary_rows(figures) if "dictionary" in topics.facts else []
    rows += topics.made_rows(figures) + idle_rows(figures, topics.idle)
    notes = [f"{name}: {fact['documents']} documents of {fact['words']} words, {fact['tokens']} tokens"
             for name, fact in topics.facts.items()]
    notes += [f"peers: {', '.join(sorted(topics.runs.versions)) or 'none'}; alpha 0.1, beta 0.01, both fixed",
              "ours: a node for each worker, over shared memory, from the start event on, with the likelihood of every sweep; "
              "tomotopy: its train() alone",
              "to: the likelihood of tomotopy's sample, per token, after " +
              f"{topics.size['sweeps']} sweeps, 1 worker; with 2 workers it is looked at every 10 sweeps",
              "speed: without the random start"]
    return Table("scheduled", "Topics of documents by Gibbs sampling, nodes of this machine", rows,
                 topics.skipped + outcome.skipped, outcome.others_busy, notes + topics.start_note())


# Factors

def factorization_command(options, folder, train, test, by, workers, sweeps):
    schedule = {"rotation": {}} if by == "sgd" else {"cyclic": {}}
    app = {"troupe": 1, "data": {"ratings": {"train": train, "test": test}},
           "program": {"factorization": {"rank": RANK, "by": by, "penalty": PENALTY}},
           "schedule": {**schedule, "workers": workers}, "stop": {"sweeps": sweeps}}
    return run_command(options, folder, f"factorization-{by}-{workers}", app, workers)


PEERS = {"LIBMF": ("libmf", RATING_SWEEPS), "cmfrec": ("cmfrec", ALTERNATIONS)}
OURS = [("sgd", 1), ("sgd", 2), ("coordinates", 1), ("coordinates", 2)]


def factorization_parts(options, folder, runs, skipped, idle):
    """Contenders, and what is said of the data."""
    train, test = (os.path.join(folder, name) for name in ("train", "test"))
    facts = made("ratings", options, train, test, "--users", str(sizes(options)["users"]))
    parts = []
    for by, workers in OURS:
        command = factorization_command(options, folder, train, test, by, workers, RATING_SWEEPS)
        parts.append(runs.ours(f"{by}, {in_words(workers)}", command, "rmse"))
    for peer, (module, sweeps) in PEERS.items():
        for threads in (1, 2):
            words = [module, train, test, "--rank", str(RANK), "--penalty", str(PENALTY), "--sweeps", str(sweeps),
                     "--threads", str(threads)]
            add_peer(parts, skipped, runs, options, module, "factors.py", f"{peer}, {threads} thread{'s' * (threads > 1)}",
                     words, "rmse")
    idle.append("sgd, 2 workers, nobody computes")
    parts.append(traced(idle[-1], factorization_command(options, folder, train, test, "sgd", 2, RATING_SWEEPS),
                        os.path.join(folder, "trace.json")))
    return parts, facts


def factorization_speeds(figures, ratings):
    rows, ones = [], {}
    for by, workers in OURS:
        title, its = f"{by}, {in_words(workers)}", None
        if by == "sgd":
            its = rate(figures, f"LIBMF, {workers} thread{'s' * (workers > 1)}", ratings)
        row = Row(f"{title}, speed", rate(figures, title, ratings), "M ratings/s", its, "LIBMF" if its else "")
        if workers > 1:
            speedup(row, ones.get(by))
        else:
            ones[by] = row.figures
        if row.figures:
            row.extra["rmse at the end"] = f"{figures[title]['last'].median:.4f}"
            rows.append(row)
    return rows


def factorization_times(runs, figures):
    """Ours to the lowest RMSE of each peer, or nearly: that is a thousandth above."""
    rows, ones = [], {}
    for peer in PEERS:
        for by, workers in OURS:
            title, its = f"{by}, {in_words(workers)}", f"{peer}, {workers} thread{'s' * (workers > 1)}"
            if title not in figures or its not in figures:
                continue
            target = NEAR * runs.values(its, min).median
            there = runs.reached(title, lambda value: value <= target)
            row = Row(f"{title}, to {target:.4f}", there or figures[title]["whole"], "s" if there else "s; never there",
                      runs.reached(its, lambda value: value <= target) if there else None, its if there else "")
            if workers > 1 and there:
                speedup(row, ones.get((peer, by)), is_rate=False)
            elif there:
                ones[peer, by] = there
            row.extra["rmse at the end"] = f"{figures[title]['last'].median:.4f}"
            row.extra["the peer's lowest"] = f"{runs.values(its, min).median:.4f}"
            rows.append(row)
    return rows


def factorization(options):
    runs, skipped, idle = Runs(), [], []
    with tempfile.TemporaryDirectory() as folder:
        parts, facts = factorization_parts(options, folder, runs, skipped, idle)
        outcome = interleave(parts, options.repetitions)
    figures = outcome.figures
    rows = factorization_speeds(figures, facts["ratings"])
    rows += factorization_times(runs, figures)
    rows += idle_rows(figures, idle)
    notes = [f"made ratings: {facts['ratings']} of {facts['users']} users for {facts['items']} items and "
             f"{facts['held_out']} held out, as made_data.py says; rank {RANK}, penalty {PENALTY}",
             f"peers: {', '.join(sorted(runs.versions)) or 'none'}",
             "ours: a node for each worker, over shared memory, from the start event on; LIBMF: from its table's header on; "
             "cmfrec: its fit(), with reading from arrays",
             "to: a thousandth above the peer's lowest held-out RMSE"]
    return Table("scheduled", "Factorization of ratings, nodes of this machine", rows, skipped + outcome.skipped,
                 outcome.others_busy, notes)
