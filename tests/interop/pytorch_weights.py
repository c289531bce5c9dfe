#!/usr/bin/env python3
"""Weights go from PyTorch to Troupe and back: a model with batch norms, whose counts of minibatches PyTorch insists on.

    tests/interop/pytorch_weights.py TROUPE     TROUPE: the program

Files are written and read here by the format's description, as Debian has no safetensors for Python. Skipped (exit code 77)
where python3-torch, python3-numpy or python3-yaml is not installed.
"""
import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile

try:
    import numpy
    import torch
    import yaml
    from torch.nn import functional
except ImportError as missing:
    print(f"skipped: {missing} (Debian: python3-torch, python3-numpy, python3-yaml)")
    sys.exit(77)

from pytorch_model import make_model

TYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64}
NAMES = {type: name for name, type in TYPES.items()}

APP = """\
troupe: 1
data: {npy: {train_inputs: x.npy, train_labels: y.npy, test_inputs: x.npy, test_labels: y.npy}}
model:
  input: [3, 8, 8]
  layers:
    - conv2d: {out: 16, kernel: 3, padding: 1}
    - batch_norm
    - relu
    - residual: {layers: [{conv2d: {out: 16, kernel: 3, padding: 1}}, batch_norm, relu]}
    - max_pool: {kernel: 2}
    - linear: {out: 12}
    - batch_norm: {momentum: 0.3}
    - linear: {out: 4}
train: {batch: 16, epochs: 2, optimizer: {sgd: {learning_rate: 0.05}}}
checkpoint: {directory: saved}
"""
ALL_BITS = """\
troupe: 1
data: {npy: {train_inputs: w.npy, train_labels: y.npy, test_inputs: w.npy, test_labels: y.npy}}
model: {input: [256], layers: [linear: {out: 256}]}
train: {batch: 16, optimizer: {sgd: {learning_rate: 0.05}}}
"""


def write_file(path, state):
    """As PyTorch's users do: save_file(state, path). Larger elements come first."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, t in sorted(state.items(), key=lambda entry: (-entry[1].element_size(), entry[0])):
        elements = t.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if t.dim() else struct.pack("<q", t.item())
        header[name] = {"dtype": NAMES[t.dtype], "shape": list(t.shape), "data_offsets": [len(data), len(data) + len(elements)]}
        data += elements
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_file(path):
    content = bytearray(path.read_bytes())
    begin = 8 + struct.unpack("<Q", content[:8])[0]
    state = {}
    for name, entry in json.loads(content[8:begin]).items():
        if name != "__metadata__":
            at = begin + entry["data_offsets"][0]
            assert at % {"I64": 8}.get(entry["dtype"], 4) == 0, f"{name} is not aligned"
            state[name] = torch.frombuffer(content, dtype=TYPES[entry["dtype"]], count=math.prod(entry["shape"]),
                                           offset=at).reshape(entry["shape"])
    return state


def bits_equal(some, others):
    same = lambda a, b: torch.equal(a.view(torch.int32), b.view(torch.int32))
    return some.keys() == others.keys() and all(same(some[name], others[name].float()) for name in some)


def without_counts(state):
    return {name: t for name, t in state.items() if not name.endswith("num_batches_tracked")}


class Folder:
    def __init__(self, path, troupe):
        self.path, self.program = pathlib.Path(path), troupe
        torch.manual_seed(1)
        self.x, self.y = torch.rand(64, 3, 8, 8), torch.randint(4, (64,))
        numpy.save(self.path / "x.npy", self.x.numpy())
        numpy.save(self.path / "w.npy", torch.rand(64, 256).numpy())
        numpy.save(self.path / "y.npy", self.y.numpy())
        self.write_app(APP)

    def write_app(self, text):
        (self.path / "app.yaml").write_text(text)
        self.model = make_model(yaml.safe_load(text)["model"])

    def troupe(self, command, *words, code=0):
        done = subprocess.run([self.program, command, "app.yaml", *words], cwd=self.path, capture_output=True, text=True)
        assert done.returncode == code, f"troupe {command} {words}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout if code == 0 else done.stderr

    def there_and_back(self, state, folder):
        """Through a checkpoint."""
        write_file(self.path / "given.safetensors", state)
        self.troupe("convert", "given.safetensors", folder)
        self.troupe("convert", folder, "back.safetensors", "--force")
        return read_file(self.path / "back.safetensors")

    def loss(self):
        self.model.eval()
        with torch.no_grad():
            return functional.cross_entropy(self.model(self.x), self.y).item()

    def test_loss(self, weights):
        return json.loads(self.troupe("evaluate", "--weights", weights, "--json"))["test_loss"]


def a_model_of_pytorch_there_and_back(folder):
    folder.model.train()
    for _ in range(3):  # running averages that are not those of the beginning
        folder.model(torch.rand(16, 3, 8, 8) * 3)
    state = folder.model.state_dict()
    assert state["layers.1.num_batches_tracked"] == 3
    back = folder.there_and_back(state, "start")
    assert back.keys() == state.keys(), "names"
    assert bits_equal(without_counts(back), without_counts(state)), "values"
    assert all(t.dtype == torch.int64 and t.dim() == 0 for name, t in back.items() if name.endswith("num_batches_tracked"))
    folder.model.load_state_dict(back, strict=True)
    loss = folder.loss()
    for weights in ("given.safetensors", "start"):
        assert abs(folder.test_loss(weights) - loss) < 1e-5 * loss, "evaluated alike"


def weights_of_a_run_load_strictly_and_are_as_good(folder):
    folder.troupe("run")
    folder.troupe("convert", "saved", "trained.safetensors")
    state = read_file(folder.path / "trained.safetensors")
    folder.model.load_state_dict(state, strict=True)
    assert state["layers.1.num_batches_tracked"] == 8, "two epochs of four minibatches"
    loss = folder.loss()
    assert abs(folder.test_loss("saved") - loss) < 1e-5 * loss, "evaluated alike"


def numbers_of_16_bits_are_widened_as_pytorch_does(folder):
    folder.write_app(ALL_BITS)
    for type in (torch.float16, torch.bfloat16):
        every = torch.arange(65536, dtype=torch.int32).to(torch.int16).view(type).reshape(256, 256)
        every = torch.where(every.isfinite(), every, torch.zeros((), dtype=type))  # no checkpoint holds the others
        state = {"layers.0.weight": every, "layers.0.bias": every[1]}
        assert bits_equal(folder.there_and_back(state, f"all-{NAMES[type]}"), {n: t.float() for n, t in state.items()}), type
    write_file(folder.path / "double.safetensors", {name: t.double() for name, t in folder.model.state_dict().items()})
    said = folder.troupe("convert", "double.safetensors", "none", code=2)
    assert "is float64" in said and "tensor.float()" in said and said.count("\n") == 1, said


def main():
    with tempfile.TemporaryDirectory() as path:
        folder = Folder(path, pathlib.Path(sys.argv[1]).resolve())
        for check in (a_model_of_pytorch_there_and_back, weights_of_a_run_load_strictly_and_are_as_good,
                      numbers_of_16_bits_are_widened_as_pytorch_does):
            check(folder)
            print("ok", check.__name__.replace("_", " "), flush=True)


if __name__ == "__main__":
    main()
