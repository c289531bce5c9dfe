"""What the tables "lda" and "factorization" of the benchmark "scheduled" have in common: programs whose variables rotate, on
nodes of this machine, and their peers on the same data, sweep by sweep."""
import json
import os
import subprocess
import sys

import contenders
from measuring import Contender, Figures, Skip
from scheduled import clocked, python_with
from tables import Row, number

TIMEOUT_S = 1800
QUICK = {"tokens": 400000, "users": 6000, "sweeps": 40, "sweeps_max": 60}
FULL = {"tokens": 5000000, "users": 70000, "sweeps": 200, "sweeps_max": 260}


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


def in_words(workers):
    return f"{workers} worker{'s' * (workers > 1)}"
