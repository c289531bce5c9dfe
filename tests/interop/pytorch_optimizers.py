#!/usr/bin/env python3
"""Ten steps of every update rule that PyTorch has, and of one with clipped gradients, give what PyTorch gives, within
1e-5 of the largest value.

    tests/interop/pytorch_optimizers.py PROGRAM      PROGRAM: optimizer_steps of the build folder

Skipped (exit code 77) where python3-torch is not installed.
"""
import json
import subprocess
import sys

try:
    import torch
except ImportError:
    print("skipped: this python has no torch (Debian: python3-torch)")
    sys.exit(77)

TOLERANCE = 1e-5


def steps_of_pytorch(case):
    parameter = torch.nn.Parameter(torch.tensor(case["before"]))
    rule = getattr(torch.optim, case["rule"])([parameter], lr=case["learning_rate"], **case["settings"])
    for gradient in case["gradients"]:
        parameter.grad = torch.tensor(gradient)
        if case["clip_value"]:
            torch.nn.utils.clip_grad_value_([parameter], case["clip_value"])
        if case["clip_norm"]:
            torch.nn.utils.clip_grad_norm_([parameter], case["clip_norm"])
        rule.step()
    return parameter.detach()


def main():
    output = subprocess.run([sys.argv[1]], capture_output=True, text=True, check=True).stdout
    failed = 0
    for line in output.splitlines():
        case = json.loads(line)
        expected = steps_of_pytorch(case)
        error = float((torch.tensor(case["after"]) - expected).abs().max() / expected.abs().max())
        moved = float((expected - torch.tensor(case["before"])).abs().max())
        ok = error <= TOLERANCE and moved > 100 * TOLERANCE
        failed += not ok
        print(f"{'ok' if ok else 'FAILED':8} {case['rule']:9} {json.dumps(case['settings']):45} {clip_of(case):10} off by {error:.1e}")
    return 1 if failed or not output else 0


def clip_of(case):
    return "".join(f"{key} {case[key]:.3g}" for key in ("clip_value", "clip_norm") if case[key])


if __name__ == "__main__":
    sys.exit(main())
