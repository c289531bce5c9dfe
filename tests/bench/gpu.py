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
PYTORCH_MODES = ["eager", "compiled", "reduce-overhead"]    # the last with CUDA graphs


def pytorch_on_path(venv):
    """(label, interpreter) of the first PyTorch that is here; None without one."""
    for python in (os.path.join(venv, "bin/python"), sys.executable, "/usr/bin/python3"):
        ask = "import torch; print(torch.__version__.split('+')[0])"
        try:
            done = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True)
            return f"PyTorch {done.stdout.strip()}", python
        except (OSError, subprocess.CalledProcessError):
            continue
    return None


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


def pytorch_steps(label, python, device, app_file, precision, mode):
    def read(output):
        line = contenders.json_lines(output)[-1]
        return {key: line[key] for key in ("samples_per_second", "peak_mb") if key in line}
    command = peer(python, device, "train", app_file, "--precision", precision, "--mode", mode)
    return Contender(f"{label}, {mode}", command, read)


def ours(program, devices, file, precision, settings, minibatches, stages, batch):
    """Keys: "samples_per_second" of the second of two epochs, "peak_mb" of all stages, "busy" (the share of the time in which
    the busiest stage computes), "tflop" of a sample."""
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
                "busy": max(stage["busy_share"] for stage in lines[-1]["stages"]),
                "peak_mb": max(stage["memory"]["peak_bytes"] for stage in lines[-1]["stages"]) / 1e6,
                "tflop": (of_plan["forward_flops"] + of_plan["backward_flops"]) / batch / 1e12}
    command = [program, "run", os.path.join(contenders.SOURCE, file), "--json", "--devices", devices,
               *contenders.setting_options(given)]
    return Contender(f"troupe, {stages} stages" if stages > 1 else "troupe", command, read)


def of_model(options, program, torch, folder, name):
    file, precision, settings, minibatches = MODELS[name]
    app = contenders.app_as_json(file, {})
    batch = app["train"]["batch"]
    app_file = os.path.join(folder, "app.json")
    with open(app_file, "w") as text:
        json.dump(app, text)
    device = "cpu" if options.devices.startswith("cpu") else "cuda"
    parts = [ours(program, options.devices, file, precision, settings, minibatches, stages, batch)
             for stages in (1, *SHARED_BY)]
    measured = []
    if torch:
        label, python = torch
        measured = [pytorch_steps(label, python, device, app_file, precision, words) for words in PYTORCH_MODES]
        measured.append(limits(python, device))
    outcome = interleave([*parts, *measured], options.repetitions)
    return rows_of(name, precision, parts, measured[:-1], outcome), outcome


def rows_of(name, precision, parts, peers, outcome):
    one, *shared = (outcome.figures.get(part.name) for part in parts)
    peak = outcome.figures.get("limits", {})
    if not one:
        return []
    rate = one["samples_per_second"]
    measured = {part.name: outcome.figures[part.name] for part in peers if part.name in outcome.figures}
    fastest = max(measured, key=lambda label: measured[label]["samples_per_second"].median, default=None)
    rows = [Row(f"{name}, {precision}", rate, "samples/s",
                measured[fastest]["samples_per_second"] if fastest else None, fastest or "", ">= 1" if fastest else "")]
    rows[0].extra["the stage at work"] = f"{100 * one['busy'].median:.0f}%"
    if peak:
        rows[0].extra["of the matrix rate"] = f"{100 * one['tflop'].median * rate.median / peak[precision].median:.0f}%"
    for label, figures in measured.items():
        if label != fastest:
            rows.append(Row(f"{name}, {precision}", rate, "samples/s", figures["samples_per_second"], label))
        if "peak_mb" in figures:
            rows.append(Row(f"{name}, memory", one["peak_mb"], "MB", figures["peak_mb"], label))
    for stages, figures in zip(SHARED_BY, shared):
        if figures:
            rows.append(Row(f"{name}, {stages} stages on it", figures["samples_per_second"], "samples/s", rate, "one stage",
                            ">= 0.95"))
    return rows


def gpu(options):
    program = options.program or contenders.program(options.build, "tools/troupe/troupe")
    able = subprocess.run([program, "plan", os.path.join(contenders.SOURCE, "tests/bench/models/alexnet.yaml"), "--devices",
                           options.devices], capture_output=True, text=True)
    if able.returncode != 0:
        raise Skip(able.stderr.strip())
    torch = pytorch_on_path(options.venv)
    rows, notes, busy = [], [], []
    skipped = [] if torch else [f"PyTorch: skipped, {sys.executable} cannot import torch; {contenders.SETUP_HINT}"]
    with tempfile.TemporaryDirectory() as folder:
        for name in MODELS:
            if options.model and options.model.lower() not in name.lower():
                continue
            try:
                of_this, outcome = of_model(options, program, torch, folder, name)
            except Skip as reason:
                skipped.append(f"{name}: skipped, {reason}")
                continue
            rows += of_this
            skipped += [f"{name}: {sentence}" for sentence in outcome.skipped]
            busy.append(outcome.others_busy)
            if peak := outcome.figures.get("limits"):
                rates = ", ".join(f"{number(peak[key].median)} TFLOP/s in {key}" for key in ("bf16", "tf32", "f32"))
                notes = [*card(torch[1]), f"measured: {rates}, {number(peak['copy'].median)} GB/s copied (read and written)",
                         "of the matrix rate: what the layers compute, attention's scores a second time too, by the rate of "
                         "large products"]
    return Table("gpu", "Training steps on one GPU beside PyTorch; memory: what is in use at most", rows, skipped,
                 max(busy, default=0.0), notes)
