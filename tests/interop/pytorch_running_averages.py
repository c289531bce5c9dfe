#!/usr/bin/env python3
"""The running averages of batch norms over replicas and microbatches, beside a loop in PyTorch that goes on from the same weights.

    tests/interop/pytorch_running_averages.py TROUPE     TROUPE: the program

Each microbatch of each replica is normalised by itself, as by PyTorch's DistributedDataParallel; an update moves the averages by
the mean of the microbatches' statistics. Those of DistributedDataParallel are of the first process alone: they are computed
beside, and must be no better on the test samples by more than their noise. Skipped (exit code 77) where python3-torch,
python3-numpy or python3-yaml is not installed.
"""
import copy
import pathlib
import sys
import tempfile

from pytorch_weights import Folder, functional, numpy, read_file, torch, write_file

REPLICAS, MICROBATCHES, BATCH, RATE = 2, 2, 16, 0.1
SAMPLES, CLASSES = 1024, 4
TOLERANCE = 1e-4
APP = f"""\
troupe: 1
data: {{npy: {{train_inputs: x.npy, train_labels: y.npy, test_inputs: test_x.npy, test_labels: test_y.npy}}}}
model:
  input: [3, 8, 8]
  layers:
    - conv2d: {{out: 8, kernel: 3, padding: 1}}
    - batch_norm
    - relu
    - max_pool: {{kernel: 2}}
    - linear: {{out: 12}}
    - batch_norm: {{momentum: 0.3}}
    - linear: {{out: {CLASSES}}}
train: {{batch: {BATCH}, shuffle: false, optimizer: {{sgd: {{learning_rate: {RATE}}}}}}}
topology: {{replicas: {REPLICAS}, sync: all_reduce, pipeline: {{schedule: gpipe, microbatches: {MICROBATCHES}, stages: 1}}}}
checkpoint: {{directory: saved}}
"""


def made(samples):
    """Images of classes that differ in brightness and noise."""
    labels = torch.randint(CLASSES, (samples,))
    return torch.randn(samples, 3, 8, 8) * (1 + labels).reshape(-1, 1, 1, 1) + labels.reshape(-1, 1, 1, 1), labels


def norms_of(model):
    return [module for module in model.modules() if isinstance(module, torch.nn.modules.batchnorm._BatchNorm)]


def averages_of(norm):
    return [norm.running_mean, norm.running_var]


def trained(model, x, y):
    """The model after an epoch, and the averages that the first of the processes would have."""
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    norms = norms_of(model)
    momenta = [norm.momentum for norm in norms]
    first = [[a.clone() for a in averages_of(norm)] for norm in norms]
    for norm in norms:
        norm.momentum = 1.0     # so that the averages after a pass are its statistics
    together = REPLICAS * BATCH
    for begin in range(0, len(x), together):
        before = [[a.clone() for a in averages_of(norm)] for norm in norms]
        sums = [[torch.zeros_like(a) for a in averages] for averages in before]
        optimizer.zero_grad()
        for part in range(REPLICAS * MICROBATCHES):
            rows = slice(begin + part * BATCH // MICROBATCHES, begin + (part + 1) * BATCH // MICROBATCHES)
            (functional.cross_entropy(model(x[rows]), y[rows], reduction="sum") / together).backward()
            for norm, momentum, total, of_first in zip(norms, momenta, sums, first):
                for statistic, a, b in zip(averages_of(norm), total, of_first):
                    a += statistic
                    if part < MICROBATCHES:
                        b += momentum * (statistic - b)
        optimizer.step()
        for norm, momentum, old, total in zip(norms, momenta, before, sums):
            for a, b, c in zip(averages_of(norm), old, total):
                a.copy_((1 - momentum) * b + momentum * c / (REPLICAS * MICROBATCHES))
    of_first = copy.deepcopy(model)
    for norm, averages in zip(norms_of(of_first), first):
        for a, b in zip(averages_of(norm), averages):
            a.copy_(b)
    return model, of_first


def loss_of(model, x, y):
    model.eval()
    with torch.no_grad():
        return functional.cross_entropy(model(x), y).item()


def main():
    with tempfile.TemporaryDirectory() as path:
        folder = Folder(path, pathlib.Path(sys.argv[1]).resolve())
        x, y = made(SAMPLES)
        test_x, test_y = made(512)
        for name, values in (("x", x), ("y", y), ("test_x", test_x), ("test_y", test_y)):
            numpy.save(folder.path / f"{name}.npy", values.numpy())
        folder.write_app(APP)
        write_file(folder.path / "given.safetensors", folder.model.state_dict())
        folder.troupe("convert", "given.safetensors", "saved")
        folder.troupe("run", "--resume", "--devices", f"cpu:{REPLICAS}")
        folder.troupe("convert", "saved", "trained.safetensors")
        state = read_file(folder.path / "trained.safetensors")
        model, of_first = trained(folder.model, x, y)
        expected = model.state_dict()
        for name, values in state.items():
            if not name.endswith("num_batches_tracked"):
                off = ((values - expected[name]).abs().max() / expected[name].abs().max()).item()
                assert off < TOLERANCE, f"{name} is off by {off}"
        loss, of_ddp = loss_of(model, test_x, test_y), loss_of(of_first, test_x, test_y)
        said = folder.test_loss("saved")
        print(f"test loss {said:.4f}; PyTorch's loop {loss:.4f}, with the averages of the first process {of_ddp:.4f}")
        assert abs(said - loss) < 1e-3 * loss, "evaluated alike"
        assert loss < of_ddp + 0.1, "the averages are no worse than those of the first process"


if __name__ == "__main__":
    main()
