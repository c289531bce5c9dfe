#!/usr/bin/env python3
"""The learning rates of a run, update by update, are those of PyTorch's schedulers, within 1e-6 of the configured rate.

    tests/interop/pytorch_learning_rates.py PROGRAM      PROGRAM: learning_rates of the build folder

Each schedule follows the warm-up in a SequentialLR that is stepped after every update. Skipped (exit code 77) where
python3-torch is not installed.
"""
import json
import math
import subprocess
import sys
import warnings

try:
    import torch
    from torch.optim import lr_scheduler as schedulers
except ImportError:
    print("skipped: this python has no torch (Debian: python3-torch)")
    sys.exit(77)

TOLERANCE = 1e-6


def rates_of(rate, make, case):
    """The rate of each update by a warm-up and the scheduler that `make` makes."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=rate)
    warmup, updates = case["warmup"], case["epochs"] * case["updates_per_epoch"]
    if warmup == 0:
        scheduler = make(optimizer)
    else:
        rising = schedulers.LinearLR(optimizer, start_factor=1 / warmup, end_factor=1, total_iters=warmup - 1)
        after = [make(optimizer)] if warmup < updates else []
        scheduler = schedulers.SequentialLR(optimizer, [rising, *after], [warmup][:len(after)])
    rates = []
    for _ in range(updates):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return rates


def rates_of_pytorch(case):
    settings, rate = case["settings"], case["learning_rate"]
    last = case["epochs"] * case["updates_per_epoch"] - 1 - case["warmup"]
    if case["schedule"] == "constant":
        return rates_of(rate, lambda o: schedulers.LambdaLR(o, lambda update: 1), case)
    if case["schedule"] == "step":
        every = settings["every_epochs"] * case["updates_per_epoch"]
        return rates_of(rate, lambda o: schedulers.StepLR(o, every, settings["factor"]), case)
    final = settings["final_factor"]
    if case["schedule"] == "cosine":
        return rates_of(rate, lambda o: schedulers.CosineAnnealingLR(o, last, final * rate), case)
    # PolynomialLR goes down to 0: what is above the final rate goes down by it, and the rest stays.
    falling = rates_of((1 - final) * rate, lambda o: schedulers.PolynomialLR(o, last, settings["power"]), case)
    staying = rates_of(final * rate, lambda o: schedulers.LambdaLR(o, lambda update: 1), case)
    return [a + b for a, b in zip(falling, staying)]


def main():
    warnings.simplefilter("ignore")     # PyTorch's own, about the order of steps in its schedulers
    output = subprocess.run([sys.argv[1]], capture_output=True, text=True, check=True).stdout
    failed = 0
    for line in output.splitlines():
        case = json.loads(line)
        expected = rates_of_pytorch(case)
        differences = [abs(a - b) for a, b in zip(case["rates"], expected, strict=True)]
        error = max(differences) / case["learning_rate"]
        ok = all(map(math.isfinite, differences)) and error <= TOLERANCE
        failed += not ok
        print(f"{'ok' if ok else 'FAILED':8} {case['schedule']:10} {json.dumps(settings_of(case)):94} off by {error:.1e}")
    return 1 if failed or not output else 0


def settings_of(case):
    return {**case["settings"], "epochs": case["epochs"], "warmup": case["warmup"], "replicas": case["replicas"]}


if __name__ == "__main__":
    sys.exit(main())
