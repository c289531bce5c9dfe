"""The benchmark "pipelines": a GPT of 10.8 million parameters in two stages, or four, on two processes of one core each, by
several schedules, beside PyTorch's pipelines over gloo on the same processors."""
import json
import os
import random
import tempfile

import contenders
from measuring import Contender, interleave
from tables import Row, Table

STEPS = 16                      # minibatches of an epoch
BATCH, POSITIONS = 8, 256
APP = """troupe: 1
data: {text: {train: [%s], test_share: 0.02}}
model:
  input: [256]
  layers:
    - embedding: {vocabulary: 256, width: 384}
    - position_embedding: {}
    - repeat: {times: 6, layers: [{transformer: {heads: 6, causal: true}}]}
    - layer_norm: {}
    - linear: {out: 256}
  loss: cross_entropy
train: {batch: 8, epochs: 2, seed: 1, optimizer: {adamw: {learning_rate: 0.001}}}
topology: {pipeline: {schedule: gpipe, microbatches: 4, stages: auto}}
"""
OURS = ["gpipe", "one_f_one_b", "zero_bubble", "{zero_bubble: {stages_per_device: 2}}", "zero_bubble_v", "two_versions", "pipedream"]
PYTORCH = ["Schedule1F1B", "ScheduleInterleavedZeroBubble"]


def ours(build, app, schedule):
    def read(output):
        epochs = [line for line in map(json.loads, output.splitlines()) if line["event"] == "epoch"]
        return {"steps_per_second": epochs[-1]["samples_per_second"] / BATCH}
    return Contender(f"troupe, {schedule}", [contenders.program(build, "tools/troupe/troupe"), "run", app, "--json", "--nodes", "2",
                                            "--set", f"topology.pipeline.schedule={schedule}"], read)


def peer(label, python, schedule):
    def read(output):
        return {"steps_per_second": float(output.split()[0])}
    return Contender(f"{label}, {schedule}", [python, os.path.join(contenders.PEERS, "pytorch_pipeline.py"), schedule], read)


def pipelines(options):
    with tempfile.TemporaryDirectory() as folder:
        text, app = os.path.join(folder, "text"), os.path.join(folder, "gpt.yaml")
        with open(text, "wb") as out:
            out.write(random.Random(1).randbytes(round((STEPS * BATCH * POSITIONS + POSITIONS) / 0.98)))
        with open(app, "w", encoding="utf-8") as out:
            out.write(APP % text)
        builds, skipped = contenders.pytorch_builds(options.venv)
        builds = [(label, python) for label, python in builds if "PyPI" in label]     # Debian's has no such schedules
        outcome = interleave([ours(options.build, app, s) for s in OURS] +
                             [peer(label, python, s) for label, python in builds for s in PYTORCH], options.repetitions)
    rates = {name: keys["steps_per_second"] for name, keys in outcome.figures.items()}
    best = max((name for name in rates if name.startswith("PyTorch")), key=lambda name: rates[name].median, default="")
    rows = []
    for name, rate in rates.items():
        row = Row(name, rate, "steps/s", extra={"of gpipe": f"{rate.median / rates['troupe, gpipe'].median:.2f}"})
        if best and name.startswith("troupe"):
            row.peer, row.peer_name, row.aim = rates[best], "the best PyTorch", "> 1"
        rows.append(row)
    return Table("pipelines", "A GPT of 10.8 million parameters, two processes of one core, 4 microbatches of 2", rows,
                 skipped + outcome.skipped, outcome.others_busy, [f"the best PyTorch: {best}"] if best else [])
