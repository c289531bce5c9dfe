#!/usr/bin/env python3
"""The learning rates of a run, minibatch by minibatch, are those of PyTorch's schedulers, within 1e-6 of the largest.

    tests/interop/pytorch_learning_rates.py PROGRAM      PROGRAM: learning_rates of the build folder

Skipped (exit code 77) where python3-torch is not installed.
"""
import math
import json
import subprocess
import sys

try:
    import torch
    from torch.optim import lr_scheduler as schedulers
except ImportError:
    print("skipped: this python has no torch (Debian: python3-torch)")
    sys.exit(77)

TOLERANCE = 1e-6


def optimizer_of(rate):
    return torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=rate)


def rates_of(optimizer, step, minibatches):
    """The rate of each minibatch; `step` goes on to the next."""
    rates = []
    for minibatch in range(minibatches):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        step(minibatch + 1)
    return rates


def rates_by_epoch(case, make):
    """A scheduler that is stepped at the end of an epoch, beside a warm-up that is stepped after each minibatch."""
    per_epoch = case["minibatches_per_epoch"]
    minibatches = case["epochs"] * per_epoch
    by_epoch = optimizer_of(case["learning_rate"])
    scheduler = make(by_epoch)
    rates = rates_of(by_epoch, lambda done: scheduler.step() if done % per_epoch == 0 else None, minibatches)
    if not case["warmup"]:
        return rates
    warming = optimizer_of(1)
    warmup = warmup_of(warming, case)
    return [rate * share for rate, share in zip(rates, rates_of(warming, lambda done: warmup.step(), minibatches))]


def warmup_of(optimizer, case):
    return schedulers.LinearLR(optimizer, start_factor=1 / case["warmup"], end_factor=1, total_iters=case["warmup"] - 1)


def rates_of_polynomial(case):
    """PolynomialLR goes down to 0: what is above the final rate goes down by it, after the warm-up."""
    minibatches = case["epochs"] * case["minibatches_per_epoch"]
    final = case["learning_rate"] * case["settings"]["final_factor"]
    falling = optimizer_of(case["learning_rate"] - final)
    scheduler = schedulers.PolynomialLR(falling, total_iters=minibatches - case["warmup"], power=case["settings"]["power"])
    fall = [final + rate for rate in rates_of(falling, lambda done: scheduler.step(), minibatches - case["warmup"])]
    if not case["warmup"]:
        return fall
    warming = optimizer_of(case["learning_rate"])
    warmup = warmup_of(warming, case)
    return rates_of(warming, lambda done: warmup.step(), case["warmup"]) + fall


def rates_of_pytorch(case):
    settings = case["settings"]
    if case["schedule"] == "constant":
        return rates_by_epoch(case, lambda o: schedulers.LambdaLR(o, lambda epoch: 1))
    if case["schedule"] == "step":
        return rates_by_epoch(case, lambda o: schedulers.StepLR(o, settings["every_epochs"], settings["factor"]))
    if case["schedule"] == "cosine":
        return rates_by_epoch(case, lambda o: schedulers.CosineAnnealingLR(
            o, case["epochs"] - 1, settings["final_factor"] * case["learning_rate"]))
    return rates_of_polynomial(case)


def main():
    output = subprocess.run([sys.argv[1]], capture_output=True, text=True, check=True).stdout
    failed = 0
    for line in output.splitlines():
        case = json.loads(line)
        expected = rates_of_pytorch(case)
        differences = [abs(a - b) for a, b in zip(case["rates"], expected, strict=True)]
        error = max(differences) / max(expected)
        ok = all(map(math.isfinite, differences)) and error <= TOLERANCE
        failed += not ok
        print(f"{'ok' if ok else 'FAILED':8} {case['schedule']:10} {json.dumps(settings_of(case)):60} off by {error:.1e}")
    return 1 if failed or not output else 0


def settings_of(case):
    return {**case["settings"], "warmup": case["warmup"]}


if __name__ == "__main__":
    sys.exit(main())
