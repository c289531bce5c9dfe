"""Tours through the cities of a TSPLIB file (EUC_2D) by fast-tsp or by LKH, as elkai has it.

    tours.py fast_tsp FILE --seconds 5
    tours.py elkai FILE [--runs 1]

What is timed is the solver on a matrix of lengths in memory (fast-tsp), or on coordinates (LKH). Prints {"event": "loaded",
"version": ...}, then {"event": "solved", "seconds": ..., "cpu_seconds": ..., "length": ...}, whose length is computed here.
"""
import argparse
import importlib.metadata
import json
import time

import numpy


def say(event, **more):
    print(json.dumps({"event": event, **more}), flush=True)


def read(name):
    with open(name) as file:
        lines = file.read().splitlines()
    at = lines.index("NODE_COORD_SECTION") + 1
    cities = [line.split()[1:] for line in lines[at:] if line.strip() not in ("", "EOF")]
    return numpy.array(cities, dtype=float)


def lengths(cities, a, b):
    return numpy.floor(numpy.sqrt(((cities[a] - cities[b]) ** 2).sum(axis=-1)) + 0.5).astype("i8")


def fast_tsp(cities, options):
    import fast_tsp
    every = numpy.arange(len(cities))
    matrix = numpy.stack([lengths(cities, c, every) for c in every]).astype("u2")
    return lambda: fast_tsp.find_tour(matrix, duration_seconds=options.seconds)


def elkai(cities, options):
    import elkai
    problem = elkai.Coordinates2D({str(c): (float(x), float(y)) for c, (x, y) in enumerate(cities)})
    return lambda: [int(c) for c in problem.solve_tsp(runs=options.runs)[:-1]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("solver", choices=["fast_tsp", "elkai"])
    parser.add_argument("file")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--runs", type=int, default=1)
    options = parser.parse_args()
    cities = read(options.file)
    solve = {"fast_tsp": fast_tsp, "elkai": elkai}[options.solver](cities, options)
    package = options.solver.replace("_", "-")
    say("loaded", version=f"{package} {importlib.metadata.version(package)}")
    begun, used = time.perf_counter(), time.process_time()
    tour = solve()
    seconds, cpu = time.perf_counter() - begun, time.process_time() - used
    tour = numpy.array(tour)
    if sorted(tour.tolist()) != list(range(len(cities))):
        raise SystemExit("the solver has returned no tour")
    say("solved", seconds=seconds, cpu_seconds=cpu, length=int(lengths(cities, tour, numpy.roll(tour, -1)).sum()))


if __name__ == "__main__":
    main()
