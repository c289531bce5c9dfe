"""The table "tsp" of the benchmark "scheduled": tours through random and clustered cities beside those of fast-tsp and LKH (elkai), each as long
as it is given, and what a second node is worth."""
import json
import os
import tempfile

import contenders
from measuring import Contender, Figures, Skip, interleave
from rotations import in_words, made
from scheduled import clocked, python_with
from tables import Row, Table

# Kinds of cities: instances, whose number is their seed and that of the run; and for ours and for fast-tsp how long (by workers), and the
# times at which the shortest tour so far counts, too. LKH ends by itself, of other kinds and of many cities after many minutes.
RANDOM, CLUSTERED, DRILLED, MANY = "1000 cities", "1000 clustered cities", "1400 drilled cities", "10000 cities"
KINDS = {RANDOM: "random", CLUSTERED: "clustered", DRILLED: "drilled", MANY: "random"}
INSTANCES = {RANDOM: 3, CLUSTERED: 3, DRILLED: 1, MANY: 1}
THOUSAND = {1: (20, [5]), 2: (20, [12])}
OURS = {RANDOM: THOUSAND, CLUSTERED: THOUSAND, DRILLED: THOUSAND, MANY: {1: (60, [])}}
FAST_TSP = {RANDOM: [5, 20], CLUSTERED: [5, 20], DRILLED: [5, 20], MANY: [60]}
QUICK = {kind: {1: (2, []), 2: (2, [1])} for kind in (RANDOM, CLUSTERED, DRILLED)}
QUICK_FAST_TSP = {kind: [1, 2] for kind in QUICK}
AIMS = {(RANDOM, 5, 1): "<= 0.05%", (RANDOM, 20, 1): "fast-tsp, 20 s", (RANDOM, 12, 2): "1 worker, 20 s",
        (CLUSTERED, 20, 2): "<= 0.05%", (DRILLED, 20, 2): "<= 0.05%", (MANY, 60, 1): "LKH + 1%"}
TIMEOUT_S = 1800
INSTANCE = ", instance "            # between a row's name and the number in a contender's


def file_of(folder, cities, number):
    return os.path.join(folder, f"{cities.replace(' ', '-')}-{number}.tsp")


def ours(options, folder, cities, number, workers, seconds, looks):
    name = f"{cities}, {in_words(workers)}{INSTANCE}{number}"
    app = {"troupe": 1, "data": {"tsplib": file_of(folder, cities, number)}, "program": {"tsp": {}},
           "schedule": {"cyclic": {"window": 4}, "workers": workers}, "seed": number, "stop": {"seconds": seconds}}
    file = os.path.join(folder, f"{name}.yaml")
    with open(file, "w") as to:
        json.dump(app, to)

    def read(output):
        lines = contenders.json_lines(output)
        events = {line["event"]: line for line in lines}
        begun = events["start"]["at"]
        found = {f"{look} s": min(line["length"] for line in lines if line["event"] == "sweep" and line["at"] <= begun + look)
                 for look in looks}
        found.update({f"{seconds} s": events["done"]["length"], "seconds": events["done"]["at"] - begun,
                      "bytes": events["exit"]["memory_bytes"]})
        return found
    where = ["--nodes", str(workers)] if workers > 1 else ["--devices", "cpu:1"]
    command = clocked([contenders.program(options.build, "tools/troupe/troupe"), "run", file, "--json", *where])
    return Contender(name, [*command[:2], "--memory", *command[2:]], read, timeout_s=TIMEOUT_S)


def peer(options, folder, cities, number, solver, title, when, *words):
    versions = []

    def read(output):
        events = {line["event"]: line for line in contenders.json_lines(output)}
        versions.append(events["loaded"]["version"])
        return {when: events["solved"]["length"], "seconds": events["solved"]["seconds"]}
    python = python_with(solver, os.path.join(options.peers_venvs, "tsp"))
    script = os.path.join(contenders.PEERS, "tours.py")
    return Contender(f"{cities}, {title}{INSTANCE}{number}",
                     [python, script, solver, file_of(folder, cities, number), *words], read, timeout_s=TIMEOUT_S)


def parts_of(options, folder, skipped):
    parts = []
    for cities, runs in (QUICK if options.quick else OURS).items():
        peers = [("fast_tsp", f"fast-tsp, {seconds} s", f"{seconds} s", "--seconds", str(seconds))
                 for seconds in (QUICK_FAST_TSP if options.quick else FAST_TSP)[cities]]
        if cities == RANDOM or options.full:
            peers.append(("elkai", "LKH", "1 run", "--runs", "1"))
        for number in range(1, INSTANCES[cities] + 1):
            made("cities", options, file_of(folder, cities, number), "--cities", cities.split()[0], "--seed", str(number),
                 "--kind", KINDS[cities])
            parts += [ours(options, folder, cities, number, workers, *run) for workers, run in runs.items()]
            for words in peers:
                try:
                    parts.append(peer(options, folder, cities, number, *words))
                except Skip as reason:
                    skipped.append(f"{cities}, {words[1]}{INSTANCE}{number}: skipped, {reason}")
    return parts


def lengths_by_row(figures):
    """Key: the row's name, cities and solver, and when its tour was there; value: lengths by the instance's number."""
    rows = {}
    for name, keys in figures.items():
        of, number = name.split(INSTANCE)
        for when, figure in keys.items():
            if when not in ("seconds", "bytes"):
                row = of if of.endswith(when) else f"{of}, {when}"
                rows.setdefault(row, {}).setdefault(int(number), []).extend(figure.values)
    return rows


def rows_of(figures):
    by_row, rows = lengths_by_row(figures), []
    for name, lengths in by_row.items():
        cities = name.split(", ")[0]
        best = {number: min(min(of[number]) for other, of in by_row.items() if other.startswith(f"{cities},") and number in of)
                for number in lengths}
        row = Row(name, Figures([100 * (length / best[number] - 1) for number, all_of in lengths.items() for length in all_of]),
                  "% above")
        words = name.split(", ")
        if "worker" in words[1]:
            row.aim = AIMS.get((cities, int(words[2].split()[0]), int(words[1].split()[0])), "")
        row.extra["mean"] = f"{sum(row.figures.values) / len(row.figures.values):.4f}"
        row.extra["instances"] = str(len(lengths))
        of = [keys for contender, keys in figures.items() if name.startswith(contender.split(INSTANCE)[0])]
        if "LKH" in name:
            row.extra["seconds"] = f"{max(keys['seconds'].high for keys in of):.1f}"
        if "bytes" in of[0]:
            row.extra["memory"] = f"{max(keys['bytes'].high for keys in of) / 1e6:.0f} MB"
        rows.append(row)
    return sorted(rows, key=lambda row: list(INSTANCES).index(row.name.split(", ")[0]))


def tsp(options):
    skipped = []
    with tempfile.TemporaryDirectory() as folder:
        outcome = interleave(parts_of(options, folder, skipped), options.repetitions)
    return Table("scheduled", "Tours through cities: percent above the shortest of this table", rows_of(outcome.figures),
                 skipped + outcome.skipped, outcome.others_busy,
                 ["above the shortest of this table of the same instance; the median, the range and the mean of all instances and repetitions",
                  "ours: a focused colony a worker, a node for each, one core each; seconds since the start event, at 5 and 12 s of "
                  "the run of 20 s by its last line until then",
                  "peers: one core; seconds of the solver, with lengths or coordinates in memory; LKH by elkai ends by itself; "
                  "of others than 1000 random cities with --full only"])
