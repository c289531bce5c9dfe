"""The table "tsp" of the benchmark "scheduled": tours through random cities beside those of fast-tsp and LKH (elkai), each as long
as it is given, and what a second node is worth."""
import json
import os
import tempfile

import contenders
from measuring import Contender, Figures, Skip, interleave
from rotations import in_words, made
from scheduled import clocked, python_with
from tables import Row, Table

# Cities: seconds that ours and fast-tsp have, by workers; LKH ends by itself.
OURS = {1000: [(5, 1), (20, 1), (12, 2), (20, 2)], 10000: [(60, 1), (60, 2)]}
FAST_TSP = {1000: [1, 5, 20], 10000: [60]}
QUICK = {1000: [(2, 1), (2, 2)]}
QUICK_FAST_TSP = {1000: [1, 2]}
AIMS = {(1000, 5, 1): "<= 0.05%", (1000, 20, 1): "fast-tsp, 20 s", (1000, 12, 2): "1 worker, 20 s", (10000, 60, 1): "LKH + 1%"}
TIMEOUT_S = 1800


def ours(options, folder, cities, seconds, workers):
    name = f"{cities} cities, {in_words(workers)}, {seconds} s"
    app = {"troupe": 1, "data": {"tsplib": os.path.join(folder, f"{cities}.tsp")}, "program": {"tsp": {}},
           "schedule": {"cyclic": {"window": 4}, "workers": workers}, "stop": {"seconds": seconds}}
    file = os.path.join(folder, f"{name}.yaml")
    with open(file, "w") as to:
        json.dump(app, to)

    def read(output):
        events = {line["event"]: line for line in contenders.json_lines(output)}
        return {"length": events["done"]["length"], "seconds": events["done"]["at"] - events["start"]["at"],
                "bytes": events["exit"]["memory_bytes"]}
    where = ["--nodes", str(workers), "--devices", "cpu:1"] if workers > 1 else ["--devices", "cpu:1"]
    command = clocked([contenders.program(options.build, "tools/troupe/troupe"), "run", file, "--json", *where])
    return Contender(name, [*command[:2], "--memory", *command[2:]], read, timeout_s=TIMEOUT_S)


def peer(options, folder, cities, solver, title, *words):
    versions = []

    def read(output):
        events = {line["event"]: line for line in contenders.json_lines(output)}
        versions.append(events["loaded"]["version"])
        return {"length": events["solved"]["length"], "seconds": events["solved"]["seconds"]}
    python = python_with(solver, os.path.join(options.peers_venvs, "tsp"))
    script = os.path.join(contenders.PEERS, "tours.py")
    return Contender(f"{cities} cities, {title}", [python, script, solver, os.path.join(folder, f"{cities}.tsp"), *words], read,
                     timeout_s=TIMEOUT_S)


def parts_of(options, folder, skipped):
    parts = []
    for cities, all_seconds in (QUICK if options.quick else OURS).items():
        made("cities", options, os.path.join(folder, f"{cities}.tsp"), "--cities", str(cities))
        parts += [ours(options, folder, cities, seconds, workers) for seconds, workers in all_seconds]
        fast = (QUICK_FAST_TSP if options.quick else FAST_TSP)[cities]
        peers = [("fast_tsp", f"fast-tsp, {seconds} s", "--seconds", str(seconds)) for seconds in fast]
        if cities == min(OURS) or options.full:
            peers.append(("elkai", "LKH, 1 run", "--runs", "1"))
        for words in peers:
            try:
                parts.append(peer(options, folder, cities, *words))
            except Skip as reason:
                skipped.append(f"{cities} cities, {words[1]}: skipped, {reason}")
    return parts


def rows_of(figures):
    rows = []
    for name, keys in figures.items():
        cities = int(name.split()[0])
        best = min(f["length"].low for other, f in figures.items() if other.startswith(f"{cities} "))
        row = Row(name, Figures([100 * (length / best - 1) for length in keys["length"].values]), "% above")
        words = name.split(", ")
        if "worker" in words[1]:
            row.aim = AIMS.get((cities, int(words[2].split()[0]), int(words[1].split()[0])), "")
        row.extra["seconds"] = f"{keys['seconds'].median:.1f}"
        if "bytes" in keys:
            row.extra["memory"] = f"{keys['bytes'].median / 1e6:.0f} MB"
        rows.append(row)
    return sorted(rows, key=lambda row: int(row.name.split()[0]))


def tsp(options):
    skipped = []
    with tempfile.TemporaryDirectory() as folder:
        outcome = interleave(parts_of(options, folder, skipped), options.repetitions)
    return Table("scheduled", "Tours through random cities: percent above the shortest of this table", rows_of(outcome.figures),
                 skipped + outcome.skipped, outcome.others_busy,
                 ["ours: a focused colony a worker, a node for each, one core each; seconds since the start event",
                  "peers: one core; seconds of the solver, with lengths or coordinates in memory; LKH by elkai ends by itself; of 10,000 "
                  "cities with --full only"])
