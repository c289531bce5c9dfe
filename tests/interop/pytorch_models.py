#!/usr/bin/env python3
"""Models and their gradients are PyTorch's: logits, loss, the gradient of every parameter and running averages, within 1e-4.

    tests/interop/pytorch_models.py PROGRAM FOLDER     PROGRAM: model_gradients of the build folder; FOLDER: of app files

Skipped (exit code 77) where python3-torch or python3-yaml is not installed.
"""
import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile

try:
    import torch
    import yaml
    from torch.nn import functional
except ImportError as missing:
    print(f"skipped: {missing} (Debian: python3-torch, python3-yaml)")
    sys.exit(77)

from pytorch_model import make_model

TOLERANCE = 1e-4
SAMPLES = 6
TYPES = {"F32": torch.float32, "I32": torch.int32}


def read_tensors(path):
    content = bytearray(path.read_bytes())
    begin = 8 + struct.unpack("<Q", content[:8])[0]
    return {name: torch.frombuffer(content, dtype=TYPES[entry["dtype"]], count=math.prod(entry["shape"]),
                                   offset=begin + entry["data_offsets"][0]).reshape(entry["shape"])
            for name, entry in json.loads(content[8:begin]).items() if name != "__metadata__"}


def below(tensors, prefix):
    return {name[len(prefix):]: t for name, t in tensors.items() if name.startswith(prefix)}


def distance(ours, theirs):
    """The largest difference, relative to the largest value. What should be 0, as of a bias before batch_norm, is rounding."""
    return (ours - theirs).abs().max().item() / max(theirs.abs().max().item(), 1e-3)


def compare(app, tensors):
    model = make_model(app["model"]).double()
    state = below(tensors, "weight/") | below(tensors, "average/")
    missing, unexpected = model.load_state_dict(state, strict=False)
    missing = [name for name in missing if not name.endswith("num_batches_tracked")]
    assert not missing and not unexpected, f"names differ: missing {missing}, unexpected {unexpected}"
    model.train()
    given = tensors["input"]
    output = model(given.double() if given.dtype.is_floating_point else given)
    labels = tensors["labels"].long()
    loss = functional.cross_entropy(output.flatten(0, -2), labels.flatten())
    loss.backward()
    distances = {"output": distance(tensors["output"].double(), output), "loss": distance(tensors["loss"].double(), loss)}
    for name, parameter in model.named_parameters():
        distances["gradient of " + name] = distance(tensors["gradient/" + name].double(), parameter.grad)
    buffers = dict(model.named_buffers())
    for name, t in below(tensors, "next/").items():
        distances["next " + name] = distance(t.double(), buffers[name])
    return distances


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    failed = False
    files = sorted(folder.glob("*.yaml"))
    assert files, f"no app files in {folder}"
    for file in files:
        with tempfile.TemporaryDirectory() as scratch:
            result = pathlib.Path(scratch, "result.safetensors")
            subprocess.run([program, file, str(SAMPLES), result], check=True)
            distances = compare(yaml.safe_load(file.read_text()), read_tensors(result))
        worst = max(distances, key=distances.get)
        within = distances[worst] <= TOLERANCE
        failed = failed or not within
        print(f"{file.stem:24} {len(distances) - 2:4} tensors, farthest {distances[worst]:.1e} ({worst})" + ("" if within else "  TOO FAR"))
    sys.exit(1 if failed else 0)


main()
