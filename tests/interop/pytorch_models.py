#!/usr/bin/env python3
"""Models and their gradients are PyTorch's: output, loss, the gradient of every parameter and running averages.

Compared with PyTorch in float64: with gelu for relu and average_pool for max_pool within 1e-4 (resnet50: 1.5e-4) of the
largest value, and as they are within 0.1: where a value is so near a kink that float32 falls on its other side, a
gradient of a deep model jumps (PyTorch's own float32 is 6e-3 from its float64 in GoogLeNet).

    tests/interop/pytorch_models.py PROGRAM FOLDER     PROGRAM: model_gradients of the build folder; FOLDER: of app files

Skipped (exit code 77) where python3-torch or python3-yaml is not installed.
"""
import json
import math
import pathlib
import re
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

# Smooth, and as they are. Through fifty layers, most with a batch norm, rounding grows: PyTorch in float32 is 6.0e-5 from
# PyTorch in float64, Troupe 9.8e-5 where it is optimized as users build it, 1.2e-4 where it is built for sanitizers.
TOLERANCES = {"resnet50": (1.5e-4, 0.5)}
TOLERANCES_OF_OTHERS = (1e-4, 0.1)
PARAMETERS = {"resnet18": 62, "resnet50": 161}  # tensors of torchvision's
SAMPLES = 4
SEED = 1
TYPES = {"F32": torch.float32, "I32": torch.int32}


def read_tensors(path):
    content = bytearray(path.read_bytes())
    begin = 8 + struct.unpack("<Q", content[:8])[0]
    return {name: torch.frombuffer(content, dtype=TYPES[entry["dtype"]], count=math.prod(entry["shape"]),
                                   offset=begin + entry["data_offsets"][0]).reshape(entry["shape"])
            for name, entry in json.loads(content[8:begin]).items() if name != "__metadata__"}


def below(tensors, prefix):
    return {name[len(prefix):]: t for name, t in tensors.items() if name.startswith(prefix)}


def scale(name, exact):
    """The largest value; of a bias, of its layer: before a batch norm its gradient is nothing but rounding."""
    values = [exact[name]]
    if name.startswith("gradient/") and name.endswith(".bias"):
        values.append(exact[name.removesuffix("bias") + "weight"])
    return max(value.abs().max().item() for value in values)


def results(name, app, tensors, precision):
    """What PyTorch makes of the same weights and batch."""
    model = make_model(app["model"]).to(precision)
    state = below(tensors, "weight/") | below(tensors, "average/")
    missing, unexpected = model.load_state_dict(state, strict=False)
    missing = [name for name in missing if not name.endswith("num_batches_tracked")]
    assert not missing and not unexpected, f"names differ: missing {missing}, unexpected {unexpected}"
    assert len(list(model.parameters())) == PARAMETERS.get(name, len(list(model.parameters()))), f"parameters of {name}"
    model.train()
    given = tensors["input"]
    output = model(given.to(precision) if given.dtype.is_floating_point else given)
    loss = functional.cross_entropy(output.flatten(0, -2), tensors["labels"].long().flatten())
    loss.backward()
    buffers = dict(model.named_buffers())
    return ({"output": output, "loss": loss} | {"gradient/" + name: p.grad for name, p in model.named_parameters()}
            | {"next/" + name: buffers[name] for name in below(tensors, "next/")})


def distances(some, exact):
    """The largest differences, relative to the largest value; infinite where one is no number, which Python's max does not see."""
    found = {name: (some[name].double() - value).abs().max().item() / scale(name, exact) for name, value in exact.items()}
    return {name: difference if math.isfinite(difference) else math.inf for name, difference in found.items()}


def compare(program, name, app):
    with tempfile.TemporaryDirectory() as scratch:
        changed_file, result = pathlib.Path(scratch, "app.yaml"), pathlib.Path(scratch, "result.safetensors")
        changed_file.write_text(yaml.safe_dump(app))
        subprocess.run([program, changed_file, str(SAMPLES), str(SEED), result], check=True)
        tensors = read_tensors(result)
    return distances(tensors, results(name, app, tensors, torch.float64))


def smooth(text):
    """The same model without kinks."""
    return re.sub(r"\brelu\b", "gelu", text).replace("max_pool", "average_pool")


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    failed = False
    files = sorted(folder.glob("*.yaml"))
    assert files, f"no app files in {folder}"
    for file in files:
        line = f"{file.stem:16}"
        tolerances = TOLERANCES.get(file.stem, TOLERANCES_OF_OTHERS)
        for what, change, tolerance in zip(("smooth", "as it is"), (smooth, str), tolerances):
            found = compare(program, file.stem, yaml.safe_load(change(file.read_text())))
            worst = max(found, key=found.get)
            within = found[worst] <= tolerance
            failed = failed or not within
            line += f"  {what} {found[worst]:.1e} ({worst}){'' if within else ' TOO FAR'}"
        print(line, flush=True)
    sys.exit(1 if failed else 0)


main()
