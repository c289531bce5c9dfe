"""Command lines of our programs and of their peers, and how to read what they print."""
import gzip
import json
import os
import re
import subprocess

from measuring import Contender, Skip

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PEERS = os.path.join(SOURCE, "tests/bench/peers")
APP = os.path.join(SOURCE, "apps/fashion_mnist")
MODELS = {      # of the benchmark "models": file, settings that make it what is measured, minibatches of one epoch
    "AlexNet, 64 x 64, batch 64": ("tests/interop/models/alexnet.yaml", {"train.batch": 64}, 20),
    "GoogLeNet, 32 x 32, batch 32": ("tests/interop/models/googlenet.yaml",
                                     {"train.batch": 32, "train.optimizer": {"sgd": {"learning_rate": 0.001}}}, 5),
    "ResNet-18, 32 x 32, batch 32": ("tests/interop/models/resnet18.yaml", {"train.batch": 32}, 8),
    "GPT, 10.8M, 256 positions, batch 8": ("tests/bench/models/gpt_10m.yaml", {}, 5),
    "GRU translation, 32 to 32 positions, batch 64": ("tests/bench/models/translation.yaml", {}, 8),
}
SETUP_HINT = "tests/bench/peers/setup installs it"
FIRST_CORE = ["taskset", "-c", "0"]


def json_lines(output):
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def read_matches(output, pattern, figures):
    """`figures` of every line that matches, merged; a program that prints none has changed its form."""
    found = {}
    for match in re.finditer(pattern, output, re.MULTILINE):
        found.update(figures(match))
    if not found:
        raise Skip("printed no line of the expected form")
    return found


# PyTorch

PYTORCH_MODES = [(1, "one", "one thread"), (2, "two-threads", "two threads"), (2, "ddp", "DDP, 2 processes")]
LAYOUTS = ("nchw", "nhwc")


def pytorch_builds(venv):
    """(label, interpreter) of every PyTorch that is here, and a sentence for each that is not."""
    found, missing = [], []
    for where, python in [("PyPI", os.path.join(venv, "bin/python")), ("Debian", "/usr/bin/python3")]:
        ask = "import torch; print(torch.__version__.split('+')[0])"
        try:
            version = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.strip()
            found.append((f"PyTorch {version} ({where})", python))
        except (OSError, subprocess.CalledProcessError):
            missing.append(f"PyTorch ({where}): skipped, {python} cannot import torch; {SETUP_HINT}")
    return found, missing


def pytorch(label, python, script, key, *options):
    def read(output):
        return {key: json_lines(output)[-1][key]}
    return Contender(label, [python, os.path.join(PEERS, script), *options], read)


def pytorch_trained(label, python, words, layout, *options):
    def read(output):
        line = json_lines(output)[-1]
        return {key: line[key] for key in ("samples_per_second", "test_accuracy") if key in line}
    return Contender(f"{label}, {words}, {layout}",
                     [python, os.path.join(PEERS, "pytorch_training.py"), "--layout", layout, *options], read)


def pytorch_training(builds, samples, accuracy):
    options = ["--samples", str(samples)] + ([] if accuracy else ["--no-accuracy"])
    return [(cores, pytorch_trained(label, python, words, layout, "--mode", mode, *options))
            for label, python in builds for cores, mode, words in PYTORCH_MODES for layout in LAYOUTS]


def pytorch_distributed(builds, samples):
    """DistributedDataParallel in two processes, and in four, which share the same 64 samples an update."""
    return [pytorch_trained(label, python, f"DDP, {processes} processes", layout, "--mode", "ddp", "--processes", str(processes),
                            "--samples", str(samples), "--no-accuracy")
            for label, python in builds for processes in (2, 4) for layout in LAYOUTS]


# Troupe

def program(build, *parts):
    """The path of one of our programs; a Skip if it has not been built."""
    path = os.path.join(build, *parts)
    if not os.path.exists(path):
        raise Skip(f"{path} is not built: ninja -C {build}")
    return path


def troupe_run(name, build, app, *options, pinned=False):
    """One epoch of an app by the command line program; figures as in its `epoch` line."""
    def read(output):
        epochs = [line for line in json_lines(output) if line.get("event") == "epoch"]
        if not epochs:
            raise Skip("printed no epoch line")
        return {key: epochs[-1][key] for key in ("samples_per_second", "test_accuracy")}
    command = [program(build, "tools/troupe/troupe"), "run", os.path.join(APP, app), "--json", "--set", "train.epochs=1"]
    return Contender(name, (FIRST_CORE if pinned else []) + command + list(options), read)


# A straggler

STRAGGLER_EPOCHS = 6
STRAGGLER_SAMPLES = 15000       # of the training set, in an epoch
REACHED = 0.85


def time_to_accuracy(epochs):
    """Seconds of training until the accuracy was reached, on the line from one epoch's end to the next; those of evaluation do
    not count. Key "best_accuracy" too."""
    time, before, reached = 0.0, 0.0, None
    for epoch in epochs:
        after = epoch["test_accuracy"]
        if reached is None and after >= REACHED:
            reached = time + epoch["seconds"] * (REACHED - before) / (after - before)
        time, before = time + epoch["seconds"], after
    figures = {"best_accuracy": max(epoch["test_accuracy"] for epoch in epochs), "epoch_seconds": time / len(epochs)}
    return figures if reached is None else {**figures, "seconds": reached}


def first_samples(folder):
    """Settings for IDX files with the first samples of the training set alone."""
    settings = []
    for key, name in [("train_images", "train-images-idx3-ubyte"), ("train_labels", "train-labels-idx1-ubyte")]:
        try:
            with gzip.open(f"/usr/share/datasets/fashion-mnist/{name}.gz", "rb") as file:
                content = file.read()
        except OSError:
            raise Skip("dataset-fashion-mnist is not installed (Debian)") from None
        head = 4 + 4 * content[3]
        count = int.from_bytes(content[4:8], "big")
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(content[:4] + STRAGGLER_SAMPLES.to_bytes(4, "big") + content[8:head])
            file.write(content[head:head + (len(content) - head) // count * STRAGGLER_SAMPLES])
        settings.append(f"data.idx.{key}={path}")
    return settings


def troupe_straggler(name, build, settings):
    """Times and accuracies of an app of apps/straggler with these settings."""
    def read(output):
        epochs = [line for line in json_lines(output) if line.get("event") == "epoch"]
        if len(epochs) != STRAGGLER_EPOCHS:
            raise Skip("did not train to the end")
        return time_to_accuracy(epochs)
    app, *more = name.split(", ")
    given = [*settings, f"train.epochs={STRAGGLER_EPOCHS}", "train.schedule=constant", *more]
    command = [program(build, "tools/troupe/troupe"), "run", os.path.join(SOURCE, "apps/straggler", app), "--json",
               "--nodes", "4", *setting_options(given)]
    return Contender(f"troupe, {name}", command, read)


def pytorch_straggler(label, python):
    return Contender(f"{label}, DDP over gloo", [python, os.path.join(PEERS, "pytorch_straggler.py"), "--samples",
                                                 str(STRAGGLER_SAMPLES), "--epochs", str(STRAGGLER_EPOCHS)],
                     lambda output: time_to_accuracy(json_lines(output)[-1]["epochs"]))


def kernels_training(build, app, minibatches, settings=(), name="troupe, kernels alone"):
    """Keys: "samples_per_second", "gflops", "sgemm_gflops", "peak_mb"."""
    def read(output):
        return read_matches(output, r"^median .* ([\d.]+) samples/s, ([\d.]+) GFLOP/s.* of sgemm's ([\d.]+) GFLOP/s\n"
                                    r"(?:.*\n)?memory: ([\d.]+) MB",
                            lambda m: {"samples_per_second": float(m[1]), "gflops": float(m[2]),
                                       "sgemm_gflops": float(m[3]), "peak_mb": float(m[4])})
    return Contender(name, [*FIRST_CORE, program(build, "tests/bench/bench_training"), app, str(minibatches),
                            *setting_options(settings)], read)


def setting_options(settings):
    return [word for setting in settings for word in ("--set", setting)]


def model_training(build, file, settings, minibatches, nodes):
    """Steps/s of the second of two epochs of an app with made-up samples; with two nodes as a pipeline between them, whose
    epochs are longer, as it runs empty at the end of each."""
    batch = app_as_json(file, settings)["train"]["batch"]
    minibatches *= 4 if nodes > 1 else 1
    given = [f"{key}={value}" for key, value in settings.items()]
    given += [f"data.synthetic.train_samples={batch * minibatches}", "data.synthetic.test_samples=1", "train.epochs=2"]
    if nodes > 1:
        given.append("topology.pipeline={schedule: pipedream, stages: auto}")

    def read(output):
        epochs = [line for line in json_lines(output) if line.get("event") == "epoch"]
        if len(epochs) != 2:
            raise Skip("printed no second epoch")
        return {"steps_per_second": epochs[-1]["samples_per_second"] / batch}
    command = [program(build, "tools/troupe/troupe"), "run", os.path.join(SOURCE, file), "--json", *setting_options(given)]
    return Contender(f"troupe, {nodes}", FIRST_CORE + command if nodes == 1 else [*command, "--nodes", str(nodes)], read)


def app_as_json(file, settings):
    """What an app file says, with settings of the form "section.key"; for programs without a reader of YAML."""
    try:
        import yaml
    except ImportError:
        raise Skip("python3-yaml is not installed (Debian)") from None
    with open(os.path.join(SOURCE, file)) as text:
        app = yaml.safe_load(text)
    for key, value in settings.items():
        section, name = key.split(".")
        app[section][name] = value
    return app


def pytorch_models(builds, app_file, steps, layouts):
    """(cores, contender) of every way to train a model in PyTorch."""
    def read(output):
        line = json_lines(output)[-1]
        return {key: line[key] for key in ("steps_per_second", "peak_mb")}
    return [(cores, Contender(f"{label}, {words}, {layout}",
                              [python, os.path.join(PEERS, "pytorch_models.py"), app_file, "--mode", mode,
                               "--layout", layout, "--steps", str(steps)], read))
            for label, python in builds for cores, mode, words in PYTORCH_MODES for layout in layouts]


def operations(build):
    """Keys: "CASE, forward, UNIT/s", "CASE, backward, UNIT/s", and "sgemm" and "memcpy" for the peaks."""
    def figures(match):
        case, unit, forward, backward = match[1].strip(), match[2] + "/s", match[3], match[4]
        return {f"{case}, forward, {unit}": float(forward),
                **({f"{case}, backward, {unit}": float(backward)} if backward else {})}

    def read(output):
        peaks = read_matches(output, r"^(sgemm|memcpy).*: ([\d.]+) G", lambda m: {m[1]: float(m[2])})
        cases = read_matches(output, r"^(\S.*?) +(GFLOP|GB) +[\d.]+ +([\d.]+) +\d+%(?: +[\d.]+ +([\d.]+) +\d+%)?$",
                             figures)
        return {**peaks, **cases}
    return Contender("bench_operations", [*FIRST_CORE, program(build, "tests/bench/bench_operations")], read)


def local_actors(build):
    """Keys: "one way, tracing on, clock" and so on; nanoseconds per message, by the clock and as processor time."""
    def read(output):
        def figures(m):
            return {f"{m[1]}, tracing {m[2]}, clock": float(m[3]), f"{m[1]}, tracing {m[2]}, processor": float(m[4])}
        return read_matches(output, r"^(one way|ping-pong) +tracing (on|off) +clock: .*?median (\d+).*"
                                    r"processor: .*?median (\d+)", figures)
    return Contender("bench_actors", [program(build, "tests/bench/bench_actors"), "1000000", "1"], read)


def remote_actors(build, transport):
    """Keys: "asleep_us", "busy_us", one way."""
    def read(output):
        line = json_lines(output)[-1]
        return {"asleep_us": line["asleep_us"], "busy_us": line["busy_us"]}
    return Contender(f"remote actors, {transport}",
                     [program(build, "tests/bench/bench_remote_actors"), transport], read, timeout_s=60)


def wake_up(build):
    """Keys: "same core", "other core" where there are two; microseconds one way."""
    def read(output):
        return {key.removesuffix("_us").replace("_", " "): us for key, us in json_lines(output)[-1].items()}
    return Contender("wake-up", [program(build, "tests/bench/bench_machine"), "wake-up"], read, timeout_s=60)


def shared_copy(build, sizes):
    """Keys: sizes; microseconds one way. None of them on a machine with one core."""
    def read(output):
        return {int(size): us for size, us in json_lines(output)[-1].items()}
    return Contender("copy", [program(build, "tests/bench/bench_machine"), "copy", *map(str, sizes)], read, timeout_s=60)


def frames(build, transport, size):
    """Keys: "latency" in microseconds, "bandwidth" in GB/s."""
    def read(output):
        line = json_lines(output)[-1]
        return {"latency": line["latency_us"], "bandwidth": line["bandwidth_gbs"]}
    return Contender(f"frames, {transport}, {size}",
                     [program(build, "tests/bench/bench_frames"), transport, str(size)], read, timeout_s=20, keep_on=True)


CARRIER_BYTES = 65536   # of a frame in the probe; thousands of them are sent


def frames_carrier(build):
    """What really carries the frames of `bench_frames shm`: "shared memory", "TCP", or None where it cannot be told.

    Runs it in a network namespace of its own, whose loopback device counts nobody else's bytes; needs root. UCX falls
    back to TCP without a word, and then the figures under "shm" would be compared with another transport's.
    """
    script = ('ip link set lo up && "$@" >/dev/null && '
              "awk '$1 == \"lo:\" {print $2}' /proc/net/dev")
    command = ["unshare", "-n", "sh", "-c", script, "sh", program(build, "tests/bench/bench_frames"), "shm",
               str(CARRIER_BYTES)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0 or not done.stdout.strip().isdigit():
        return None
    return "TCP" if int(done.stdout) > 100 * CARRIER_BYTES else "shared memory"


# All-reduce

GLOO_ALGORITHMS = ["ring", "bcube", "halving_doubling"]


def microseconds_by_size(output):
    return {line["bytes"]: line["us"] for line in json_lines(output)}


def all_reduce(build, ranks, transport, sizes):
    """Keys: sizes in bytes; microseconds of an all-reduce, as those of the two below."""
    return Contender(f"all-reduce, {ranks} ranks, {transport}",
                     [program(build, "tests/bench/bench_all_reduce"), str(ranks), "auto", transport, *map(str, sizes)],
                     microseconds_by_size, timeout_s=120)


def params(build, workers, transport):
    """Keys: (bytes, "us" or "gb_per_s") of a push and a pull; "memcpy" in GB/s."""
    def read(output):
        figures = {}
        for line in json_lines(output):
            if "memcpy_gb_per_s" in line:
                figures["memcpy"] = line["memcpy_gb_per_s"]
            else:
                figures.update({(line["bytes"], key): line[key] for key in ("us", "gb_per_s")})
        return figures
    return Contender(f"params, {workers} workers, {transport}",
                     [program(build, "tests/bench/bench_params"), str(workers), transport], read, timeout_s=120)


def all_reduce_mpi(build, ranks, transport, sizes):
    layers = {"shm": "self,vader", "tcp": "self,tcp"}[transport]
    interface = ["--mca", "btl_tcp_if_include", "lo"] if transport == "tcp" else []
    command = ["mpirun", "-n", str(ranks), "--oversubscribe", "--bind-to", "none", "--mca", "btl", layers, *interface,
               peer_program(build, "all_reduce_mpi"), *map(str, sizes)]
    if os.geteuid() == 0:
        command.insert(1, "--allow-run-as-root")
    return Contender(f"OpenMPI, {ranks} ranks, {transport}", command, microseconds_by_size, timeout_s=120)


def all_reduce_gloo(build, ranks, algorithm, sizes):
    return Contender(f"gloo, {ranks} ranks, {algorithm}",
                     [peer_program(build, "all_reduce_gloo"), str(ranks), algorithm, *map(str, sizes)],
                     microseconds_by_size, timeout_s=120)


def peer_program(build, name):
    path = os.path.join(build, "tests/bench", name)
    if not os.path.exists(path):
        raise Skip(f"{path} is not built: {SETUP_HINT}; then make {build} anew, as meson remembers what it found")
    return path


# ucx_perftest

UCX_TRANSPORTS = {"shm": "posix,sysv,cma,self", "tcp": "tcp,self"}
UCX_PORT = 13741


def ucx_perftest(transport, size, test):
    """One-way latency in microseconds (the median of its iterations) or bandwidth in GB/s, for one message size."""
    iterations = max(10, min(20000, 300_000_000 // max(size, 1)))
    common = ["ucx_perftest", "-p", str(UCX_PORT)]
    command = [*common, "localhost", "-t", f"ucp_am_{test}", "-s", str(size), "-n", str(iterations),
               "-w", str(max(2, iterations // 10)), "-f", "-v"]

    def read(output):
        fields = output.strip().splitlines()[-1].split(",")
        # median latency (us); overall bandwidth (MB/s of 2^20 bytes)
        return {"latency": float(fields[1])} if test == "lat" else {"bandwidth": float(fields[5]) * 2**20 / 1e9}
    return Contender(f"ucx_perftest {transport} {size} {test}", command, read,
                     environment={"UCX_TLS": UCX_TRANSPORTS[transport], "UCX_WARN_UNUSED_ENV_VARS": "n"},
                     server=common, timeout_s=60)
