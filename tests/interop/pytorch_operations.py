#!/usr/bin/env python3
"""Operations and their gradients are PyTorch's in float64, within 1e-4 of the largest value.

    tests/interop/pytorch_operations.py PROGRAM      PROGRAM: operation_results of the build folder

Every case of tests/conformance whose kind stands in KINDS: a function that computes the output with PyTorch, whose
gradients then come from autograd, or a tuple of the output and others without gradients. In bf16 and f16 the numbers are
rounded that kernels/ops/*.hpp say are rounded, and no others: what PyTorch would round in these types depends on the
processor. So it is float32 sums that the tolerance is for. Skipped (exit code 77) where python3-torch is not installed.
"""
import collections
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
    from torch.nn import functional
except ImportError:
    print("skipped: this python has no torch (Debian: python3-torch)")
    sys.exit(77)

TOLERANCE = 1e-4
# Of operations that round what they have computed in float32 themselves: where that is between two numbers of 16 bits they
# may take either. As much as tests/conformance allows back ends.
STEPS_TOLERANCE = 3e-4
STEPS = ("gru", "lstm", "additive_attention", "attention_gru")
TYPES = {"F32": torch.float32, "I32": torch.int32, "U8": torch.uint8}


class Case:
    def __init__(self, name):
        self.name = name
        self.tensors = {}
        self.halves = {"bf16": torch.bfloat16, "f16": torch.float16}.get(name.rsplit(", ")[-1])

    def tolerance(self):
        return STEPS_TOLERANCE if self.halves and self.name.split()[0] in STEPS else TOLERANCE

    def rounded(self, x):
        """To nearest, ties to even. Numbers here are of a size that half precision has without a scale."""
        return x if self.halves is None else x.float().to(self.halves).double()

    def factor(self, x):
        """As products take it; its gradient is as it is."""
        return x + (self.rounded(x) - x).detach()

    def product(self, y):
        """The sums of a product of factors; their gradient is a factor of the products on the way back."""
        y.register_hook(self.rounded)
        return y

    def several(self, name):
        return [t for key, t in self.tensors.items() if key.rsplit(" ", 1)[0] == name]

    def settings(self, name, default=None):
        """The numbers behind a word of the case's name: "kernel 3x2"."""
        found = re.search(rf"\b{name} (-?[0-9.ex-]+)", self.name)
        return [default] if found is None else [float(n) if re.search("[.e]", n) else int(n) for n in found[1].split("x")]

    def setting(self, name, default=None):
        return self.settings(name, default)[0]


def cases_of(path):
    """Of a safetensors file whose tensors are named CASE/NAME."""
    content = bytearray(path.read_bytes())
    begin = 8 + struct.unpack("<Q", content[:8])[0]
    cases = {}
    for name, entry in json.loads(content[8:begin]).items():
        if name != "__metadata__":
            case, _, part = name.rpartition("/")
            values = torch.frombuffer(content, dtype=TYPES[entry["dtype"]], count=math.prod(entry["shape"]),
                                      offset=begin + entry["data_offsets"][0])
            values = values.double() if values.dtype.is_floating_point else values
            cases.setdefault(case, Case(case)).tensors[part] = values.reshape(entry["shape"])
    return cases.values()


def cross_entropy(case, logits):
    return functional.cross_entropy(
        logits.flatten(0, -2), case.several("constant")[0].flatten().long(), reduction="sum",
        label_smoothing=float(case.setting("smoothing", 0)), ignore_index=case.setting("ignored", -1))


def mean_squared_error(case, outputs):
    return functional.mse_loss(outputs, case.several("constant")[0]) * outputs.shape[0]


def product(case, x, weight):
    return case.product(case.factor(x) @ case.factor(weight).T)


def gru_cell(case, x, state, w_ih, w_hh, b_ih, b_hh):
    if case.halves is None:
        return torch.gru_cell(x, state, w_ih, w_hh, b_ih, b_hh)
    of_x, of_state = (product(case, x, w_ih) + b_ih).chunk(3, 1), (product(case, state, w_hh) + b_hh).chunk(3, 1)
    r, z = torch.sigmoid(of_x[0] + of_state[0]), torch.sigmoid(of_x[1] + of_state[1])
    return (1 - z) * torch.tanh(of_x[2] + r * of_state[2]) + z * state


def lstm_cell(case, x, state, cell, w_ih, w_hh, b_ih, b_hh):
    if case.halves is None:
        return torch.lstm_cell(x, [state, cell], w_ih, w_hh, b_ih, b_hh)
    i, f, g, o = (product(case, x, w_ih) + b_ih + product(case, state, w_hh) + b_hh).chunk(4, 1)
    cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(cell), cell


def gru(case, x, w_ih, w_hh, b_ih, b_hh, state=None):
    state = torch.zeros(x.shape[0], w_hh.shape[1]) if state is None else state
    outputs = []
    for position in x.unbind(1):
        state = gru_cell(case, position, state, w_ih, w_hh, b_ih, b_hh)
        outputs.append(state)
    return state[None] if "last state" in case.name else torch.stack(outputs, 1)


def lstm(case, x, w_ih, w_hh, b_ih, b_hh, state=None, cell=None):
    if state is None:
        state = cell = torch.zeros(x.shape[0], w_hh.shape[1])
    outputs = []
    for position in x.unbind(1):
        state, cell = lstm_cell(case, position, state, cell, w_ih, w_hh, b_ih, b_hh)
        outputs.append(state)
    return torch.stack([state, cell]) if "last state" in case.name else torch.stack(outputs, 1)


def additive_attention(case, state, memory, projected, query_weight, score_weight):
    scores = torch.tanh(product(case, state, query_weight)[:, None] + projected) @ score_weight
    for lengths in case.several("constant"):
        scores = scores.masked_fill(torch.arange(memory.shape[1]) >= lengths[:, None], -math.inf)
    return (torch.softmax(scores, 1)[:, :, None] * memory).sum(1)


def attention_gru(case, x, w_ih, w_hh, b_ih, b_hh, memory, projected, query_weight, score_weight, state=None):
    state = torch.zeros(x.shape[0], w_hh.shape[1]) if state is None else state
    outputs = []
    for position in x.unbind(1):
        context = additive_attention(case, state, memory, projected, query_weight, score_weight)
        state = gru_cell(case, torch.cat([position, context], 1), state, w_ih, w_hh, b_ih, b_hh)
        outputs.append(torch.cat([state, context], 1) if ", contexts" in case.name else state)
    return torch.stack(outputs, 1)


def conv2d(case, x, weight, bias=None):
    """Also the gradient of the bias is one of rounded numbers."""
    y = case.product(functional.conv2d(case.factor(x), case.factor(weight), bias, case.setting("stride"), case.setting("padding"),
                                       groups=case.setting("groups", 1)))
    pool = re.search(r"pool (\d+)/(\d+)", case.name)
    return y if pool is None else functional.max_pool2d(torch.relu(y), int(pool[1]), int(pool[2]), case.setting("padded", 0))


def batch_norm(_, x, weight, bias):
    """Also mean and unbiased variance: running averages that take all of this batch."""
    mean, variance = torch.zeros_like(weight), torch.zeros_like(weight)
    y = functional.batch_norm(x, mean, variance, weight, bias, training=True, momentum=1.0)
    return y, mean.detach(), variance.detach()


def local_response_norm(case, x):
    images = x.reshape(*x.shape[:2], -1)
    return functional.local_response_norm(
        images, case.setting("size"), case.setting("alpha"), case.setting("beta"), case.setting("k")).reshape(x.shape)


def attention(case, *operands):
    """On processors shares, and the gradients of scores, are not rounded."""
    q, k, v = operands if len(operands) == 3 else operands[0].chunk(3, 2)
    q, k, v = (t.unflatten(2, (case.setting("heads"), -1)).transpose(1, 2) for t in (q, k, v))
    scores = case.factor(q) @ case.factor(k).transpose(2, 3) / math.sqrt(q.shape[3])
    keys = torch.arange(k.shape[2])
    if " causal " in case.name:
        scores = scores.masked_fill(keys > keys[:, None], -math.inf)
    for lengths in case.several("constant"):
        scores = scores.masked_fill((keys >= lengths[:, None])[:, None, None], -math.inf)
    output = case.product(torch.softmax(scores, 3) @ case.factor(v))
    return output.transpose(1, 2).flatten(2), torch.logsumexp(scores, 3).detach()


def linear(case, x, weight, bias=None):
    """With the activation that the name says, if any."""
    y = product(case, x, weight)
    y = y if bias is None else y + bias
    names = [word for word in case.name.split(", ") if word in KINDS]
    return KINDS[names[0]](case, y) if names else y


KINDS = {
    "linear": linear,
    "conv2d": conv2d,
    "max_pool": lambda case, x: functional.max_pool2d(
        x, case.setting("kernel"), case.setting("stride"), case.setting("padding", 0)),
    "average_pool": lambda case, x: functional.avg_pool2d(
        x, case.settings("kernel"), case.setting("stride"), case.setting("padding")),
    "batch_norm": batch_norm,
    "local_response_norm": local_response_norm,
    "rms_norm": lambda _, x, weight: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * weight,
    "relu": lambda _, x: torch.relu(x),
    "gelu": lambda _, x: functional.gelu(x),
    "gelu_tanh": lambda _, x: functional.gelu(x, approximate="tanh"),
    "silu": lambda _, x: functional.silu(x),
    "sigmoid": lambda _, x: torch.sigmoid(x),
    "tanh": lambda _, x: torch.tanh(x),
    "softmax": lambda _, x: torch.softmax(x, -1),
    "embedding": lambda case, table: functional.embedding(case.several("constant")[0].long(), table),
    "add_to_samples": lambda _, x, positions: x + positions,
    "attention": attention,
    "concat": lambda case, *parts: torch.cat(parts, case.setting("along")),
    "transfer": lambda _, x: x.clone(),
    "swiglu": lambda _, gate, up: functional.silu(gate) * up,
    "softmax_cross_entropy": cross_entropy,
    "mean_squared_error": mean_squared_error,
    "gru": gru,
    "lstm": lstm,
    "additive_attention": additive_attention,
    "attention_gru": attention_gru,
    "layer_norm": lambda _, x, *operands: functional.layer_norm(x, x.shape[-1:], *operands),
}


def off_by(given, expected):
    """Infinite where either is no number: Python's max does not see one."""
    if not (given.isfinite().all() and expected.isfinite().all()):
        return math.inf
    return float((given - expected).abs().max() / expected.abs().max().clamp(min=1e-3))


def error_of(case):
    """The largest of the errors of the outputs and of every gradient."""
    inputs = [t.requires_grad_() for t in case.several("input")]
    outputs = KINDS[case.name.split()[0]](case, *inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    gradients = torch.autograd.grad(outputs[0], inputs, case.tensors["output_gradient"].reshape(outputs[0].shape))
    computed = case.several("output")[:len(outputs)]  # behind them what the backward pass reads
    errors = [off_by(a.reshape(b.shape), b.detach()) for a, b in zip(computed, outputs, strict=True)]
    given = case.several("gradient")
    assert len(given) == len(inputs), "a gradient for every input"
    return max(errors + [off_by(a, b) for a, b in zip(given, gradients, strict=True)])


def main():
    torch.set_default_dtype(torch.float64)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "results.safetensors"
        subprocess.run([sys.argv[1], str(path)], check=True)
        cases = [case for case in cases_of(path) if case.name.split()[0] in KINDS]
    failed = 0
    for case in cases:
        error = error_of(case)
        is_good = error <= case.tolerance()
        failed += not is_good
        print(f"{'ok' if is_good else 'FAILED':8} {case.name:60} off by {error:.1e}")
    compared = collections.Counter(case.name.split()[0] for case in cases)
    missing = [kind for kind in KINDS if not compared[kind]]
    print(f"{len(cases)} cases" + (f"; no case of {', '.join(missing)}" if missing else ""))
    return 1 if failed or missing else 0


if __name__ == "__main__":
    sys.exit(main())
