"""The benchmark "gpu": training steps of models on one GPU, beside PyTorch on the same one, as it is and compiled."""
import json
import os
import subprocess
import sys
import tempfile

import contenders
from measuring import Contender, Skip, interleave
from tables import Row, Table, number

MODELS = {      # name: app file, precision, settings for our run alone, minibatches of an epoch
    "GPT-2, 1024 positions, batch 8": ("tests/bench/models/gpt2.yaml", "bf16", [], 30),
    "ResNet-50, 224 x 224, batch 64": ("tests/bench/models/resnet50.yaml", "bf16", [], 30),
    "AlexNet, 224 x 224, batch 128": ("tests/bench/models/alexnet.yaml", "f32", [], 40),
    "convolutional network of apps/fashion_mnist, batch 64":
        ("apps/fashion_mnist/single.yaml", "f32", ["data={synthetic: {classes: 10}}"], 400),
}
SHARED_BY = [2, 4]      # stages that share the GPU
STEPS = {"GPT-2": 20}   # of PyTorch, by the begin of the name; else 50


def pytorch_on_path(venv):
    """(label, interpreter) of the first PyTorch that is here."""
    for python in (os.path.join(venv, "bin/python"), sys.executable, "/usr/bin/python3"):
        ask = "import torch; print(torch.__version__.split('+')[0])"
        try:
            done = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True)
            return f"PyTorch {done.stdout.strip()}", python
        except (OSError, subprocess.CalledProcessError):
            continue
    raise Skip(f"no PyTorch; {contenders.SETUP_HINT}")


def card(python):
    """What PyTorch and the driver call it."""
    ask = "import torch; print(torch.cuda.get_device_name(), 'CUDA', torch.version.cuda)"
    named = subprocess.run([python, "-c", ask], capture_output=True, text=True)
    if named.returncode != 0:
        return []
    try:
        driver = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True,
                                text=True).stdout.split()
    except OSError:
        driver = []
    return [", driver ".join([named.stdout.strip(), *driver[:1]])]


def peer(python, device, *words):
    return [python, os.path.join(contenders.PEERS, "pytorch_gpu.py"), *words, "--device", device]


def limits(python, device):
    """Keys: "bf16", "tf32", "f32" in TFLOP/s, "copy" in GB/s."""
    return Contender("limits", peer(python, device, "limits"), lambda output: contenders.json_lines(output)[-1])


def pytorch_steps(label, python, device, app_file, precision, steps, compiled):
    def read(output):
        line = contenders.json_lines(output)[-1]
        return {key: line[key] for key in ("samples_per_second", "peak_mb") if key in line}
    command = peer(python, device, "train", app_file, "--precision", precision, "--steps", str(steps))
    return Contender(f"{label}, {'compiled' if compiled else 'eager'}", command + ["--compile"] * compiled, read)


def ours(program, devices, file, precision, settings, minibatches, stages, batch, more=()):
    """Keys: "samples_per_second" of the second of two epochs, "peak_mb" of all stages, "tflop" of a sample."""
    given = [*settings, f"data.synthetic.train_samples={batch * minibatches}", "data.synthetic.test_samples=1",
             "train.epochs=2", "train.schedule=constant", f"model.precision={precision}"]
    if stages > 1:
        given.append(f"topology={{pipeline: {{schedule: pipedream, stages: {stages}}}}}")

    def read(output):
        lines = contenders.json_lines(output)
        epochs = [line for line in lines if line.get("event") == "epoch"]
        if len(epochs) != 2:
            raise Skip("printed no second epoch")
        of_plan = lines[0]["plan"]["total"]
        return {"samples_per_second": epochs[1]["samples_per_second"],
                "peak_mb": max(stage["memory"]["peak_bytes"] for stage in lines[-1]["stages"]) / 1e6,
                "tflop": (of_plan["forward_flops"] + of_plan["backward_flops"]) / batch / 1e12}
    command = [program, "run", os.path.join(contenders.SOURCE, file), "--json", "--devices", devices,
               *contenders.setting_options(given), *more]
    name = f"troupe, {stages} stages" if stages > 1 else "troupe" + "".join(f", {word.removeprefix('--')}" for word in more)
    return Contender(name, command, read)


def of_model(options, program, torch, folder, name):
    file, precision, settings, minibatches = MODELS[name]
    app = contenders.app_as_json(file, {})
    batch = app["train"]["batch"]
    app_file = os.path.join(folder, "app.json")
    with open(app_file, "w") as text:
        json.dump(app, text)
    label, python = torch
    steps = next((count for begin, count in STEPS.items() if name.startswith(begin)), 50)
    device = "cpu" if options.devices.startswith("cpu") else "cuda"
    parts = [ours(program, options.devices, file, precision, settings, minibatches, stages, batch)
             for stages in (1, *SHARED_BY)]
    parts.append(ours(program, options.devices, file, precision, settings, minibatches, 1, batch, ["--no-cuda-graphs"]))
    parts += [pytorch_steps(label, python, device, app_file, precision, steps, compiled) for compiled in (False, True)]
    outcome = interleave([*parts, limits(python, device)], options.repetitions)
    return rows_of(name, precision, batch, parts, outcome), outcome


def rows_of(name, precision, batch, parts, outcome):
    one, *shared, without_graphs, eager, compiled = (outcome.figures.get(part.name) for part in parts)
    peak = outcome.figures.get("limits", {})
    rows = []
    if not one:
        return rows
    rate = one["samples_per_second"]
    for peer_figures, part, aim in ((compiled, parts[-1], ">= 1"), (eager, parts[-2], "")):
        if not peer_figures:
            continue
        row = Row(f"{name}, {precision}", rate, "samples/s", peer_figures["samples_per_second"], part.name, aim)
        if peak:
            tflops = one["tflop"].median * rate.median
            row.extra["of the matrix rate"] = f"{100 * tflops / peak[precision].median:.0f}%"
        rows.append(row)
        rows.append(Row(f"{name}, memory", one["peak_mb"], "MB", peer_figures.get("peak_mb"), part.name))
    if not rows:
        rows.append(Row(f"{name}, {precision}", rate, "samples/s"))
    for stages, figures in zip(SHARED_BY, shared):
        if figures:
            rows.append(Row(f"{name}, {stages} stages on it", figures["samples_per_second"], "samples/s", rate, "one stage",
                            ">= 0.95"))
    if without_graphs:
        rows.append(Row(f"{name}, without graphs", without_graphs["samples_per_second"], "samples/s", rate, "with graphs"))
    return rows


def gpu(options):
    program = options.program or contenders.program(options.build, "tools/troupe/troupe")
    torch = pytorch_on_path(options.venv)
    rows, skipped, notes, busy = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for name in MODELS:
            if options.model and options.model.lower() not in name.lower():
                continue
            of_this, outcome = of_model(options, program, torch, folder, name)
            rows += of_this
            skipped += [f"{name}: {sentence}" for sentence in outcome.skipped]
            busy.append(outcome.others_busy)
            if peak := outcome.figures.get("limits"):
                notes = card(torch[1]) + [f"the card's measured rates: {', '.join(f'{number(peak[k].median)} TFLOP/s in {k}' for k in ('bf16', 'tf32', 'f32'))}"
                         f", {number(peak['copy'].median)} GB/s copied (read and written)"]
    return Table("gpu", "Training steps on one GPU beside PyTorch; memory: what is in use at most", rows, skipped,
                 max(busy, default=0.0), notes)
