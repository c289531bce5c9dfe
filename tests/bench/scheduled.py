"""The table "lasso" of the benchmark "scheduled": the Lasso on Fashion-MNIST beside what Python has for it, and what a phase costs in which there
is next to nothing to compute."""
import csv
import json
import os
import random
import subprocess
import sys
import tempfile

import contenders
from measuring import Contender, Figures, Skip, interleave
from tables import Row, Table, number

APP = "apps/lasso/shirts.yaml"
DATA = "/usr/share/datasets/fashion-mnist"
LABEL = 6
GAP = 1e-6                  # of the objective without coefficients
AIMS = {0.1: "<= 0.5", 0.01: "<= 0.65", 0.001: "<= 0.65"}      # by lambda, as a share of the smallest without coefficients
PATH = 100                  # lambdas, to a thousandth
PATH_AIM = "<= 0.33"
WHERE = {"2 nodes": ["--nodes", "2"], "one process": ["--devices", "cpu:2"]}
PHASES = 20000
SMALL_ROWS, SMALL_COLUMNS = 1000, 50


def clocked(command):
    """The same, whose lines say when they came."""
    return [sys.executable, os.path.join(contenders.SOURCE, "tests/bench/line_times.py"), *command]


# Troupe

def between(output):
    """Keys: "seconds" from the start event to the done event; "before" and "whole" since the command's start, of the former and
    of the command's end; "phases"."""
    events = {line["event"]: line for line in contenders.json_lines(output)}
    if "start" not in events or "done" not in events:
        raise Skip("printed no start or no done")
    start, done = events["start"], events["done"]
    return {"seconds": done["at"] - start["at"], "before": start["at"], "whole": events["exit"]["at"],
            "phases": done["phases"]}


def troupe_lasso(name, build, penalty, where, folder):
    """Key "gap" too: the largest of the path's."""
    settings = [f"data.idx.images={DATA}/train-images-idx3-ubyte.gz", f"data.idx.labels={DATA}/train-labels-idx1-ubyte.gz",
                f"program.lasso={{target: {{label: {LABEL}}}, penalty: {penalty}}}", f"stop.gap={GAP}",
                f"result.directory={os.path.join(folder, 'result')}"]

    def read(output):
        with open(os.path.join(folder, "result", "path.csv"), newline="") as file:
            gaps = [float(row["gap"]) for row in csv.DictReader(file)]
        return {**between(output), "gap": max(gaps)}
    app = os.path.join(contenders.SOURCE, APP)
    command = [contenders.program(build, "tools/troupe/troupe"), "run", app, "--json", *where]
    return Contender(name, clocked([*command, *contenders.setting_options(settings)]), read, timeout_s=120)


def small_app(folder):
    """An app file whose phases change a variable of a small matrix, and are bounded by their number alone."""
    draw = random.Random(1)
    with open(os.path.join(folder, "x.csv"), "w") as file:
        for _ in range(SMALL_ROWS):
            file.write(",".join(f"{draw.gauss(0, 1):.4f}" for _ in range(SMALL_COLUMNS + 1)) + "\n")
    path = os.path.join(folder, "small.json")
    with open(path, "w") as file:
        json.dump({"troupe": 1, "data": {"matrix": {"features": "x.csv", "target_column": "0"}},
                   "program": {"lasso": {"penalty": {"share": 0.01}}}, "schedule": {"dynamic": {"set": 1}},
                   "stop": {"gap": 0, "phases": PHASES}}, file)
    return path


def troupe_phases(name, build, app, window, where):
    """Key: "us" of a phase."""
    def read(output):
        figures = between(output)
        return {"us": 1e6 * figures["seconds"] / figures["phases"]}
    return Contender(name, clocked([contenders.program(build, "tools/troupe/troupe"), "run", app, "--json", *where,
                                    "--set", f"schedule.dynamic.window={window}"]), read, timeout_s=120)


# Peers

def python_with(module, venv):
    """The interpreter of the virtual environment, else Debian's, that has the module; a Skip if neither."""
    for python in (os.path.join(venv, "bin/python"), "/usr/bin/python3"):
        try:
            subprocess.run([python, "-c", f"import {module}"], check=True, capture_output=True)
            return python
        except (OSError, subprocess.CalledProcessError):
            continue
    raise Skip(f"neither {venv} nor Debian's python has {module}; {contenders.SETUP_HINT}")


def peer_lasso(name, python, solver, words, timeout_s=300):
    """Keys: "seconds" of the fit, "whole" of the command until that had ended, "gap"."""
    def read(output):
        events = {line["event"]: line for line in contenders.json_lines(output)}
        fitted, judged = events["fitted"], events["judged"]
        return {"seconds": fitted["seconds"], "whole": fitted["at"], "gap": judged["gap"]}
    command = [python, os.path.join(contenders.PEERS, "lasso_fashion_mnist.py"), solver, "--label", str(LABEL), *words]
    return Contender(name, clocked(command), read, timeout_s=timeout_s)


def peers_of(title, words, is_path, options, skipped):
    """(name, module, solver, more words) of every peer: those that end within seconds, with --full the others too."""
    rows = [("scikit-learn, products first", "sklearn", "gram", []),
            ("scikit-learn, products first, float32", "sklearn", "gram", ["--dtype", "float32", "--tol", "5e-5"])]
    if not is_path:
        rows += [("scikit-learn, by columns", "sklearn", "columns", []),
                 ("skglm, products first", "skglm", "skglm", ["--tol", "5e-9"])]
    if options.full:
        rows += [("celer", "celer", "celer", []), ("adelie", "adelie", "adelie", ["--tol", "1e-11"])]
        if is_path:
            rows += [(f"glmnet, {kind}", "sklearn", f"glmnet-{kind}", ["--tol", "1e-15"]) for kind in ("covariance", "naive")]
    found = []
    for name, module, solver, more in rows:
        try:
            own = os.path.join(options.peers_venvs, module)     # of some
            python = python_with(module, own if os.path.exists(own) else options.lasso_venv)
        except Skip as reason:
            skipped.append(f"{title}, {name}: skipped, {reason}")
            continue
        found.append(peer_lasso(f"{title}, {name}", python, solver, [*words, *more]))
    return found


def is_there(keys):
    return "gap" in keys and keys["gap"].high <= GAP


def lasso_rows(figures, title, aim):
    """Ours beside scikit-learn, and the peers below."""
    own = [f"{title}, {where}" for where in WHERE]
    peer = figures.get(f"{title}, scikit-learn, products first", {})
    rows = []
    for name, keys in figures.items():
        if not name.startswith(f"{title}, "):
            continue
        row = Row(name, keys["seconds"], "s")
        if name in own and is_there(peer):
            row.peer, row.peer_name, row.aim = peer["seconds"], "scikit-learn, products first", aim
        row.extra["whole command"] = f"{number(keys['whole'].median)} s"
        if name in own and peer:
            row.extra["of its"] = f"{keys['whole'].median / peer['whole'].median:.2f}"
        if "before" in keys:
            row.extra["until it starts"] = f"{number(keys['before'].median)} s"
        row.extra["gap"] = f"{keys['gap'].median:.1e}" + (" (!)" if not is_there(keys) else "")
        rows.append(row)
    return rows


def phase_rows(figures, names):
    rows = []
    for name in names:
        if name in figures:
            us = figures[name]["us"]
            row = Row(name, us, "us")
            row.extra["phases/s"] = number(Figures([1e6 / value for value in us.values]).median)
            rows.append(row)
    return rows


def lasso(options):
    skipped, parts, phases, titles = [], [], [], {}
    with tempfile.TemporaryDirectory() as folder:
        if not os.path.exists(DATA):
            raise Skip("dataset-fashion-mnist is not installed (Debian)")
        for share, aim in AIMS.items():
            titles[f"lambda {share}"] = (f"{{share: {share}}}", ["--share", str(share)], aim)
        titles[f"path of {PATH}"] = (f"{{path: {{count: {PATH}, ratio: 0.001}}}}", ["--path", str(PATH)], PATH_AIM)
        for title, (penalty, words, _) in titles.items():
            for name, where in WHERE.items():
                parts.append(troupe_lasso(f"{title}, {name}", options.build, penalty, where, folder))
            parts += peers_of(title, words, "--path" in words, options, skipped)
        app = small_app(folder)
        for name, where in WHERE.items():
            for window in (0, 2):
                title = f"a phase of one variable, window {window}, {name}"
                phases.append(troupe_phases(title, options.build, app, window, where))
        outcome = interleave(parts + phases, options.repetitions)
    rows = [row for title, (_, _, aim) in titles.items() for row in lasso_rows(outcome.figures, title, aim)]
    rows += phase_rows(outcome.figures, [part.name for part in phases])
    return Table("scheduled", f"Lasso on Fashion-MNIST, label {LABEL} against the rest, to a gap of {GAP:g} of the objective "
                 "without coefficients; lambda as a share of the largest", rows, skipped + outcome.skipped, outcome.others_busy,
                 ["ours: from the start event to the done event, data read and dealt before; peers: the fit on arrays in memory",
                  "whole command: with starting, reading and, ours, writing the result; (!): above the gap"])
