"""The table "factorization" of the benchmark "scheduled": factors of made ratings beside those of LIBMF and cmfrec."""
import json
import os
import tempfile

from measuring import interleave
from rotations import (Runs, add_peer, idle_rows, in_words, made, rate, run_command, sizes, speedup, traced)
from tables import Row, Table

RATING_SWEEPS = {"sgd": 20, "coordinates": 10}
RANK = 40
# Chosen for each by its held-out ratings, from a few (README.md).
METHODS = {"sgd": {"penalty": 0.025, "rate": 0.07, "decay": 0.4}, "coordinates": {"penalty": 0.065}}
PEERS = {"LIBMF": ("libmf", {"sweeps": 20, "penalty": 0.03, "rate": 0.1}), "cmfrec": ("cmfrec", {"sweeps": 5, "penalty": 0.065})}
OURS = [("sgd", 1), ("sgd", 2), ("coordinates", 1), ("coordinates", 2)]
NEAR = 1.001                # of a peer's lowest held-out RMSE: there


def factorization_command(options, folder, train, test, by, workers, sweeps):
    schedule = {"rotation": {}} if by == "sgd" else {"cyclic": {}}
    app = {"troupe": 1, "data": {"ratings": {"train": train, "test": test}},
           "program": {"factorization": {"rank": RANK, "by": by, **METHODS[by]}},
           "schedule": {**schedule, "workers": workers}, "stop": {"sweeps": sweeps}}
    return run_command(options, folder, f"factorization-{by}-{workers}", app, workers)


def factorization_parts(options, folder, runs, skipped, idle):
    """Contenders, and what is said of the data."""
    train, test = (os.path.join(folder, name) for name in ("train", "test"))
    facts = made("ratings", options, train, test, "--users", str(sizes(options)["users"]))
    parts = []
    for by, workers in OURS:
        command = factorization_command(options, folder, train, test, by, workers, RATING_SWEEPS[by])
        parts.append(runs.ours(f"{by}, {in_words(workers)}", command, "rmse"))
    for peer, (module, chosen) in PEERS.items():
        for threads in (1, 2):
            words = [module, train, test, "--rank", str(RANK), "--threads", str(threads)]
            words += [word for key, value in chosen.items() for word in (f"--{key}", str(value))]
            add_peer(parts, skipped, runs, options, module, "factors.py", f"{peer}, {threads} thread{'s' * (threads > 1)}",
                     words, "rmse")
    idle.append("sgd, 2 workers, nobody computes")
    parts.append(traced(idle[-1], factorization_command(options, folder, train, test, "sgd", 2, RATING_SWEEPS["sgd"]),
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
             f"{facts['held_out']} held out, as made_data.py says; rank {RANK}",
             f"settings: {json.dumps({**METHODS, **{peer: chosen for peer, (_, chosen) in PEERS.items()}})}",
             f"peers: {', '.join(sorted(runs.versions)) or 'none'}",
             "ours: a node for each worker, over shared memory, from the start event on; LIBMF: from its table's header on; "
             "cmfrec: its fit(), with reading from arrays",
             "to: a thousandth above the peer's lowest held-out RMSE"]
    return Table("scheduled", "Factorization of ratings, nodes of this machine", rows, skipped + outcome.skipped,
                 outcome.others_busy, notes)
