#!/usr/bin/env python3
"""Runs a benchmark of Troupe beside its peers and prints a table, or several; never passes or fails by time.

    tests/bench/run.py frames | actors | operations | tracing | training | models | straggler | all_reduce | params |
                       slow_link | gpu | accuracy | topologies | pipelines | scheduled
                       [--build BUILD] [--repetitions 5] [--json]

Everything is repeated and interleaved; a figure is the median, with the lowest and highest beside it. Peers that are
not installed are skipped with a sentence; tests/bench/peers/setup installs them.
"""
import argparse
import json
import os
import signal
import sys
import tempfile

import contenders
import instruction_sets
from accuracy import SEEDS, accuracy
from factorization import factorization
from gpu import gpu
from lda import lda
from measuring import Figures, Skip, interleave
from pipelines import pipelines
from scheduled import lasso
from slow_link import slow_link
from sparse import sparse
from tables import Row, Table, number, print_json, print_text
from topologies import topologies
from tours import tsp

FRAME_SIZES = [64, 4096, 65536, 1 << 20, 8 << 20, 64 << 20]
COPIED_SIZES = [64, 4096, 65536]    # of frames that UCX writes into shared memory, where the receiver copies them out
STRAGGLER_RUNS = ["bsp.yaml", "ssp.yaml", "asp.yaml"]        # of apps/straggler; the others are compared with the first too
ALL_REDUCE_SIZES = [1 << 10, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26]
FLOPS_PER_SAMPLE = 24_995_328   # of the network of apps/fashion_mnist, forward and backward, multiply and add as two


def add(parts, skipped, name, make):
    """A contender if its program is there, else a sentence."""
    try:
        parts.append(make())
    except Skip as reason:
        skipped.append(f"{name}: skipped, {reason}")


def training(options):
    builds, skipped = contenders.pytorch_builds(options.venv)
    ours, cores = [], {}
    add(ours, skipped, "kernels alone", lambda: contenders.kernels_training(
        options.build, os.path.join(contenders.APP, "single.yaml"), 200))
    for name, app, more, count in [("troupe, single, one core", "single.yaml", [], 1),
                                   ("troupe, pipedream, 2 nodes", "pipedream.yaml", ["--nodes", "2"], 2),
                                   ("troupe, gpipe, 2 nodes", "gpipe.yaml", ["--nodes", "2"], 2),
                                   ("troupe, 2 replicas of 32, 2 nodes", "all_reduce.yaml",
                                    ["--nodes", "2", *contenders.setting_options(["topology.replicas=2", "train.batch=32"])], 2)]:
        add(ours, skipped, name,
            lambda: contenders.troupe_run(name, options.build, app, *more, pinned=count == 1))
        cores[name] = count
    peers = contenders.pytorch_training(builds, 60000 if options.full else options.samples, options.full)
    cores.update({peer.name: count for count, peer in peers})
    sgemm = [contenders.pytorch(f"sgemm of {label}", python, "pytorch_sgemm.py", "gflops") for label, python in builds]
    outcome = interleave(ours + [peer for _, peer in peers] + sgemm, options.repetitions)
    figures = outcome.figures

    rates = {name: keys["samples_per_second"] for name, keys in figures.items() if "samples_per_second" in keys}
    best = {count: max((peer.name for c, peer in peers if c <= count and peer.name in rates),
                       key=lambda name: rates[name].median, default=None) for count in (1, 2)}
    peaks = [figure.median for keys in figures.values() for key, figure in keys.items() if "gflops" in key]
    rows = []
    for name, rate in rates.items():
        count = cores.get(name, 1)
        row = Row(name, rate, "samples/s", extra={"cores": str(count)})
        if name.startswith("troupe") and best[count]:
            row.peer, row.peer_name, row.aim = rates[best[count]], f"the best PyTorch on {count}", ">= 2"
        if peaks:
            share = rate.median * FLOPS_PER_SAMPLE / (1e9 * max(peaks) * count)
            row.extra["of sgemm"] = f"{100 * share:.0f}%"
        if "test_accuracy" in figures[name]:
            row.extra["accuracy"] = f"{100 * figures[name]['test_accuracy'].median:.1f}%"
        rows.append(row)
    notes = [f"the best PyTorch on {count} core{'s' * (count > 1)}: {name}" for count, name in best.items() if name]
    if peaks:
        notes.append(f"sgemm on one core: {number(max(peaks))} GFLOP/s, the best of oneDNN and PyTorch")
    return Table("training", "Training throughput, convolutional network of apps/fashion_mnist, batch 64", rows,
                 skipped + outcome.skipped, outcome.others_busy, notes)


def tracing(options):
    parts, skipped = [], []
    for app, more in [("single.yaml", []), ("pipedream.yaml", ["--nodes", "2"])]:
        for switch, words in [([], "on"), (["--no-trace"], "off")]:
            add(parts, skipped, f"{app}, tracing {words}", lambda: contenders.troupe_run(
                f"{app[:-5]}, tracing {words}", options.build, app, *more, *switch, pinned=not more))
    add(parts, skipped, "bench_actors", lambda: contenders.local_actors(options.build))
    outcome = interleave(parts, options.repetitions)
    rows = []
    for app in ("single", "pipedream"):
        on, off = (outcome.figures.get(f"{app}, tracing {words}", {}).get("samples_per_second") for words in ("on", "off"))
        if on and off:
            rows.append(Row(f"{app}, tracing on", on, "samples/s", off, "tracing off", ">= 0.99"))
            pairs = Figures([with_trace / without for with_trace, without in zip(on.values, off.values)])
            rows.append(Row(f"{app}, ratio within a repetition", pairs, "on/off"))
    messages = outcome.figures.get("bench_actors", {})
    for key, figure in messages.items():
        if "tracing on" in key:
            rows.append(Row(f"message, {key}", figure, "ns", messages[key.replace("tracing on", "tracing off")],
                            "tracing off"))
    return Table("tracing", "What tracing costs", rows, skipped + outcome.skipped, outcome.others_busy)


def actors(options):
    builds, skipped = contenders.pytorch_builds(options.venv)
    parts = []
    add(parts, skipped, "bench_actors", lambda: contenders.local_actors(options.build))
    for transport in ("shm", "tcp"):
        add(parts, skipped, f"remote actors, {transport}",
            lambda: contenders.remote_actors(options.build, transport))
    add(parts, skipped, "wake-up", lambda: contenders.wake_up(options.build))
    rpc = [contenders.pytorch(f"RPC of {label}", python, "pytorch_rpc.py", "one_way_us") for label, python in builds]
    outcome = interleave(parts + rpc, options.repetitions)
    rows = [Row(f"within a process, {key}", figure, "ns", aim="<= 500" if "tracing on" in key else "")
            for key, figure in outcome.figures.get("bench_actors", {}).items()]
    best_rpc = min((outcome.figures[peer.name]["one_way_us"] for peer in rpc if peer.name in outcome.figures),
                   key=lambda figure: figure.median, default=None)
    wake_ups = outcome.figures.get("wake-up", {})
    floor = wake_ups.get("other core") or wake_ups.get("same core")
    for transport in ("shm", "tcp"):
        for key, figure in outcome.figures.get(f"remote actors, {transport}", {}).items():
            row = Row(f"across processes, {transport}, {key.removesuffix('_us')}", figure, "us", best_rpc,
                      "the best PyTorch RPC", aim="<= 25 us" if key == "asleep_us" else "")
            if key == "asleep_us" and floor:
                row.extra["of a wake-up"] = f"{figure.median / floor.median:.2f}"
            rows.append(row)
    rows += [Row(f"across processes, {peer.name}", outcome.figures[peer.name]["one_way_us"], "us")
             for peer in rpc if peer.name in outcome.figures]
    rows += [Row(f"a sleeping process woken, {key}", figure, "us") for key, figure in wake_ups.items()]
    return Table("actors", "One message from actor to actor, building it included", rows,
                 skipped + outcome.skipped, outcome.others_busy)


def operations(options):
    builds, skipped = contenders.pytorch_builds(options.venv)
    parts = []
    add(parts, skipped, "bench_operations", lambda: contenders.operations(options.build))
    parts += [contenders.pytorch(f"sgemm of {label}", python, "pytorch_sgemm.py", "gflops") for label, python in builds]
    outcome = interleave(parts, options.repetitions)
    figures = dict(outcome.figures.pop("bench_operations", {}))
    peak = figures.pop("sgemm", None)
    copied = figures.pop("memcpy", None)
    rows = []
    for key, figure in figures.items():
        name, unit = key.rsplit(", ", 1)
        if ", bf16, " in key:
            rows.append(Row(name, figure, unit, figures[key.replace(", bf16, ", ", ")], "the same in f32", ">= 1.6"))
            continue
        rows.append(Row(name, figure, unit, *((copied, "memcpy") if unit == "GB/s" else (peak, "sgemm of oneDNN"))))
    rows += [Row(name, keys["gflops"], "GFLOP/s", peak, "sgemm of oneDNN") for name, keys in outcome.figures.items()]
    return Table("operations", "Operations on one core beside the peak of sgemm, or memcpy", rows,
                 skipped + outcome.skipped, outcome.others_busy)


def bytes_in_words(size):
    return f"{size >> 20} MB" if size >= 1 << 20 else f"{size >> 10} KB" if size >= 1 << 10 else f"{size} B"


def frames(options):
    parts, skipped, notes, carrier = [], [], [], None
    try:
        carrier = contenders.frames_carrier(options.build)
    except Skip:
        pass                        # said below, once per size
    else:
        notes.append({"shared memory": "checked: the frames under shm went over shared memory",
                      "TCP": "ATTENTION: the frames under shm went over TCP on loopback; their ratios compare TCP with the "
                             "peer's shared memory"}.get(carrier, "not checked: what carried the frames under shm (needs "
                                                                  "root, unshare and ip)"))
    for transport in contenders.UCX_TRANSPORTS:
        for size in FRAME_SIZES:
            add(parts, skipped, f"frames, {transport}, {size}",
                lambda: contenders.frames(options.build, transport, size))
            parts += [contenders.ucx_perftest(transport, size, test) for test in ("lat", "bw")]
    for size in FRAME_SIZES:
        add(parts, skipped, f"frames, sealed, {size}", lambda: contenders.frames(options.build, "sealed", size))
    add(parts, skipped, "copy", lambda: contenders.shared_copy(options.build, COPIED_SIZES))
    outcome = interleave(parts, options.repetitions)
    copies = outcome.figures.get("copy", {})
    rows = []
    for key, test, unit, aim in [("latency", "lat", "us", "<= 1.3"), ("bandwidth", "bw", "GB/s", ">= 0.95")]:
        for transport in contenders.UCX_TRANSPORTS:
            for size in FRAME_SIZES:
                ours = outcome.figures.get(f"frames, {transport}, {size}", {}).get(key)
                peer = outcome.figures.get(f"ucx_perftest {transport} {size} {test}", {}).get(key)
                if ours:
                    label = "shm (TCP!)" if transport == "shm" and carrier == "TCP" else transport
                    row = Row(f"{key}, {label}, {bytes_in_words(size)}", ours, unit, peer, "ucx_perftest", aim)
                    if key == "latency" and label == "shm" and size in copies:
                        row.extra["of a copy"] = f"{ours.median / copies[size].median:.2f}"
                    rows.append(row)
        for size in FRAME_SIZES:
            sealed, plain = (outcome.figures.get(f"frames, {form}, {size}", {}).get(key) for form in ("sealed", "tcp"))
            if sealed:
                rows.append(Row(f"{key}, tcp sealed, {bytes_in_words(size)}", sealed, unit, plain, "tcp in clear"))
    rows += [Row(f"copied through shared memory, {bytes_in_words(size)}", figure, "us") for size, figure in copies.items()]
    return Table("frames", "Frames between two processes: latency one way, bandwidth of a stream", rows,
                 skipped + outcome.skipped, outcome.others_busy, notes)


def all_reduce(options):
    """Over shared memory beside OpenMPI over it; over TCP on loopback beside OpenMPI and the fastest of gloo's algorithms
    for each size, which has no shared memory: so beside both of ours."""
    parts, skipped = [], []
    sizes = [size for size in ALL_REDUCE_SIZES if size <= options.bytes_max]
    for ranks in (2, 4):
        for transport in ("shm", "tcp"):
            for make in (contenders.all_reduce, contenders.all_reduce_mpi):
                add(parts, skipped, f"{make.__name__}, {ranks} ranks, {transport}",
                    lambda: make(options.build, ranks, transport, sizes))
        for algorithm in contenders.GLOO_ALGORITHMS:
            add(parts, skipped, f"gloo, {ranks} ranks, {algorithm}",
                lambda: contenders.all_reduce_gloo(options.build, ranks, algorithm, sizes))
    outcome = interleave(parts, options.repetitions)
    figures = outcome.figures
    rows = []
    for transport in ("shm", "tcp"):
        for ranks in (2, 4):
            for size in sizes:
                ours = figures.get(f"all-reduce, {ranks} ranks, {transport}", {}).get(size)
                if not ours:
                    continue
                mpi = figures.get(f"OpenMPI, {ranks} ranks, {transport}", {}).get(size)
                gloo = min((of[size] for name, of in figures.items()
                            if name.startswith(f"gloo, {ranks} ranks") and size in of),
                           key=lambda figure: figure.median, default=None)
                row = Row(f"{transport}, {ranks} ranks, {bytes_in_words(size)}", ours, "us", mpi, "OpenMPI",
                          "< 1" if size >= 1 << 18 and transport == "shm" else "")
                if gloo:
                    row.extra["gloo"] = f"{number(gloo.median)} ({number(gloo.low)}..{number(gloo.high)})"
                    row.extra["of gloo"] = f"{ours.median / gloo.median:.2f}"
                rows.append(row)
    return Table("all_reduce", "All-reduce between processes, back to back", rows, skipped + outcome.skipped,
                 outcome.others_busy, ["gloo: over TCP, the fastest of its ring, bcube and halving-doubling; aim: < 1"])


def params(options):
    """What all workers push to a shard and pull from it, beside what one thread copies in memory at the same time."""
    parts, skipped = [], []
    for workers in (1, 2, 4):
        for transport in ("shm", "tcp") if workers > 1 else ("shm",):
            add(parts, skipped, f"{workers} workers, {transport}", lambda: contenders.params(options.build, workers, transport))
    outcome = interleave(parts, options.repetitions)
    rows = []
    for name, keys in outcome.figures.items():
        for size in sorted({key[0] for key in keys if isinstance(key, tuple)}):
            label = name.removeprefix("params, ").replace("1 workers, shm", "1 worker on the shard's node")
            row = Row(f"{label}, {bytes_in_words(size)}", keys[size, "gb_per_s"], "GB/s", keys["memcpy"], "memcpy")
            row.extra["push and pull"] = f"{number(keys[size, 'us'].median)} us"
            rows.append(row)
    return Table("params", "One shard of a parameter server, SGD with momentum: what is pushed and pulled in a second", rows,
                 skipped + outcome.skipped, outcome.others_busy,
                 ["memcpy: bytes copied in a second by one thread; an update alone reads three numbers and writes two"])


def one_model(options, builds, folder, name, file, settings, minibatches):
    """Its rows, sentences on what was skipped, and how busy other programs kept the processors."""
    app = contenders.app_as_json(file, settings)
    app_file = os.path.join(folder, "app.json")
    with open(app_file, "w") as text:
        json.dump(app, text)
    given = [f"{key}={value}" for key, value in settings.items()]
    kernels = contenders.kernels_training(options.build, os.path.join(contenders.SOURCE, file), 2 * minibatches, given,
                                          "troupe, kernels alone")
    ours = [contenders.model_training(options.build, file, settings, minibatches, nodes) for nodes in (1, 2)]
    images = len(app["model"]["input"]) == 3
    peers = contenders.pytorch_models(builds, app_file, minibatches, ("nchw", "nhwc") if images else ("nchw",))
    outcome = interleave([kernels, *ours, *(peer for _, peer in peers)], options.repetitions)
    figures = outcome.figures

    def best(key, cores, choose):
        found = [(peer.name, figures[peer.name][key]) for c, peer in peers if c <= cores and peer.name in figures]
        return choose(found, key=lambda entry: entry[1].median, default=("", None))
    rows = []
    alone = figures.get(kernels.name)
    for cores, part in zip((1, 2), ours):
        if part.name not in figures:
            continue
        peer_name, peer = best("steps_per_second", cores, max)
        row = Row(f"{name}, {cores} core{'s' * (cores > 1)}", figures[part.name]["steps_per_second"], "steps/s", peer,
                  peer_name, ">= 1.3")
        if alone:
            flops = alone["gflops"].median / alone["samples_per_second"].median * app["train"]["batch"]
            share = flops * row.figures.median / (alone["sgemm_gflops"].median * cores)
            row.extra["of sgemm"] = f"{100 * share:.0f}%"
        rows.append(row)
    if alone:
        peer_name, peer = best("peak_mb", 1, min)
        rows.append(Row(f"{name}, memory of a step", alone["peak_mb"], "MB", peer, peer_name, "<= 1"))
    return rows, outcome.skipped, outcome.others_busy


def models(options):
    builds, skipped = contenders.pytorch_builds(options.venv)
    rows, busy = [], []
    with tempfile.TemporaryDirectory() as folder:
        for name, (file, settings, minibatches) in contenders.MODELS.items():
            if options.model and options.model.lower() not in name.lower():
                continue
            try:
                of_model, unable, others = one_model(options, builds, folder, name, file, settings, minibatches)
            except Skip as reason:
                skipped.append(f"{name}: skipped, {reason}")
                continue
            rows += of_model
            skipped += [f"{name}: {sentence}" for sentence in unable]
            busy.append(others)
    return Table("models", "Training steps of models in float32, beside the fastest PyTorch (and the one that takes least "
                 "memory)", rows, skipped, max(busy, default=0.0))


def straggler(options):
    builds, skipped = contenders.pytorch_builds(options.venv)
    parts = []
    with tempfile.TemporaryDirectory() as folder:
        settings = contenders.first_samples(folder)
        for name in STRAGGLER_RUNS:
            add(parts, skipped, name, lambda: contenders.troupe_straggler(name, options.build, settings))
        parts += [contenders.pytorch_straggler(label, python) for label, python in builds]
        outcome = interleave(parts, options.repetitions)
    reached = {name: keys["seconds"] for name, keys in outcome.figures.items() if "seconds" in keys}
    peer = min((name for name in reached if not name.startswith("troupe")), key=lambda name: reached[name].median, default="")
    waits = reached.get(f"troupe, {STRAGGLER_RUNS[0]}")
    rows = []
    for name, keys in outcome.figures.items():
        row = Row(name, keys.get("seconds", keys["epoch_seconds"]), "s" if name in reached else "s an epoch; never there",
                  reached.get(peer), peer if name in reached and name != peer else "", "<= 0.5" if ".yaml" in name else "")
        if waits and name in reached:
            row.extra["of bsp"] = f"{reached[name].median / waits.median:.2f}"
        row.extra["best accuracy"] = f"{100 * keys['best_accuracy'].median:.1f}%"
        row.extra["epoch"] = f"{keys['epoch_seconds'].median:.1f} s"
        rows.append(row)
    return Table("straggler", f"Seconds to {100 * contenders.REACHED:.0f}% test accuracy with four replicas, one of them four times "
                 "as slow", rows, skipped + outcome.skipped, outcome.others_busy)


def scheduled(options):
    """A table for each program, as soon as it is measured."""
    for name, measure in {"lasso": lasso, "sparse": sparse, "lda": lda, "factorization": factorization,
                          "tsp": tsp}.items():
        if options.model and options.model.lower() not in name:
            continue
        try:
            yield measure(options)
        except Skip as reason:
            yield Table("scheduled", name, [], [f"{name}: skipped, {reason}"], 0.0)


BENCHMARKS = {"frames": frames, "training": training, "models": models, "tracing": tracing, "actors": actors,
              "operations": operations, "straggler": straggler, "all_reduce": all_reduce, "params": params,
              "slow_link": slow_link, "gpu": gpu, "accuracy": accuracy,
              "topologies": topologies, "pipelines": pipelines, "scheduled": scheduled}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benchmark", choices=sorted(BENCHMARKS))
    parser.add_argument("--build", default=os.path.join(contenders.SOURCE, "build"), help="the build folder")
    parser.add_argument("--instruction-set", choices=instruction_sets.SETS,
                        help="hold both sides to it, as on a processor that has no more; without it what this one has")
    parser.add_argument("--repetitions", type=int, help="how often all is measured: 5 times; accuracy: how many seeds, 3")
    parser.add_argument("--venv", default=os.path.expanduser("~/.cache/troupe/pytorch"),
                        help="virtual environment with a PyTorch of the Python package index")
    parser.add_argument("--lasso-venv", default=os.path.expanduser("~/.cache/troupe/lasso"),
                        help="virtual environment with scikit-learn, skglm and celer, for scheduled")
    parser.add_argument("--peers-venvs", default=os.path.expanduser("~/.cache/troupe"),
                        help="folder of the virtual environments tomotopy, libmf, cmfrec and tsp, for scheduled")
    parser.add_argument("--samples", type=int, default=12800, help="training, topologies: samples that a PyTorch run trains on")
    parser.add_argument("--bytes-max", type=int, default=1 << 26, help="all_reduce: the largest size")
    parser.add_argument("--model", help="models, gpu, accuracy, topologies, scheduled (lasso, sparse, lda, factorization, tsp): only those with this "
                        "in their names, of accuracy half a minute for each seed instead of an hour in all")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="accuracy, topologies: a key of the app files")
    parser.add_argument("--write", action="store_true", help="accuracy: also make the table in apps/fashion_mnist/README.md anew")
    parser.add_argument("--program", help="gpu: the troupe to run, as of a bundle; without it that of the build folder")
    parser.add_argument("--devices", default="cuda:0", help="gpu: where our runs compute; cpu:1 tries it without a GPU")
    parser.add_argument("--full", action="store_true", help="training: PyTorch runs a whole epoch, with test accuracy; "
                        "scheduled: peers that take minutes, too")
    parser.add_argument("--quick", action="store_true", help="scheduled: sparse, lda, factorization and tsp with a tenth of the data and "
                        "fewer sweeps or seconds, to try it")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the table")
    options = parser.parse_args()
    options.repetitions = options.repetitions or (SEEDS if options.benchmark == "accuracy" else 5)
    return options


def main():
    options = arguments()
    if options.instruction_set:
        instruction_sets.hold(options.instruction_set)
    try:
        tables = BENCHMARKS[options.benchmark](options)
    except Skip as reason:
        print(f"{options.benchmark}: skipped, {reason}")
        return 1
    is_measured = False
    for table in [tables] if isinstance(tables, Table) else tables:
        if options.benchmark in ("training", "topologies", "models", "operations"):
            table.notes += instruction_sets.used(options.build, options.venv)
        (print_json if options.json else print_text)(table)
        is_measured |= any(row.figures for row in table.rows)
    return 0 if is_measured else 1


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))     # unwinds, so that what was started is ended
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
