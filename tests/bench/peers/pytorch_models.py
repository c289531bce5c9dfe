#!/usr/bin/env python3
"""Training of an app's model in PyTorch, as a user of PyTorch would write it; prints one line of JSON.

    pytorch_models.py APP.json --mode one | two-threads | ddp [--layout nhwc] [--steps 10]

APP.json: an app file as JSON. The samples are made up and always the same; the first steps are not counted. With ddp each
of two processes of one thread computes half of the batch. steps_per_second, and peak_mb: how far the
memory of the process (of rank 0) rises above what it has with PyTorch loaded and warm.
"""
import argparse
import json
import os
import re
import sys
import time

import pytorch_common as common

WARM_UP_STEPS = 3
INTEROP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../interop")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("app")
    parser.add_argument("--mode", choices=["one", "two-threads", "ddp"], default="one")
    parser.add_argument("--layout", choices=["nchw", "nhwc"], default="nchw", help="nhwc: channels_last tensors")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def make_network(torch, model):
    """The model with the attention of GPTs written today: one product for q, k and v, and PyTorch's fused attention."""
    sys.path.insert(0, INTEROP)
    import pytorch_model
    functional = torch.nn.functional

    class Attention(torch.nn.Module):
        def __init__(self, settings, width):
            super().__init__()
            self.heads, self.causal = settings["heads"], settings.get("causal", False)
            self.projections, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)

        def forward(self, x):
            samples, positions, width = x.shape
            q, k, v = (part.view(samples, positions, self.heads, -1).transpose(1, 2)
                       for part in self.projections(x).split(width, dim=2))
            if hasattr(functional, "scaled_dot_product_attention"):
                y = functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
            else:
                scores = q @ k.transpose(2, 3) * q.shape[-1] ** -0.5
                if self.causal:
                    hidden = torch.ones(positions, positions, dtype=torch.bool).triu(1)
                    scores = scores.masked_fill(hidden, float("-inf"))
                y = scores.softmax(-1) @ v
            return self.out(y.transpose(1, 2).reshape(samples, positions, width))

    pytorch_model.Attention = Attention
    return pytorch_model.make_model(model)


def make_batch(torch, network, model, size):
    """Inputs as the model takes them, and a label for each row of its output."""
    vocabularies = [int(number) for number in re.findall(r'"vocabulary": (\d+)', json.dumps(model))]
    shape = [size, *model["input"]]
    inputs = torch.randint(vocabularies[0], shape) if vocabularies else torch.rand(shape)
    with torch.no_grad():
        outputs = network(inputs[:1])
    return inputs, torch.randint(outputs.shape[-1], [size, *outputs.shape[1:-1]])


def make_optimizer(torch, network, description, **more):
    kind, settings = next(iter(description.items()))
    rate = settings["learning_rate"]
    if kind == "adamw":
        return torch.optim.AdamW(network.parameters(), lr=rate, **more)
    if kind == "sgd":
        return torch.optim.SGD(network.parameters(), lr=rate, momentum=settings.get("momentum", 0), **more)
    raise ValueError(f"no optimizer for {kind}")


def resident_mb(key):
    """"VmHWM" (the most so far) or "VmRSS" (now)."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(key)) * 1024 / 1e6


def load_libraries(torch):
    """What PyTorch loads and builds at the first use of anything is not the model's."""
    small = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 36, 4))
    optimizer = torch.optim.AdamW(small.parameters())
    small(torch.rand(2, 3, 8, 8)).sum().backward()
    optimizer.step()


def train(options, threads, rank, ranks):
    torch = common.use_threads(threads)
    if ranks > 1:
        torch.distributed.init_process_group("gloo", rank=rank, world_size=ranks)
    load_libraries(torch)
    with open(options.app) as file:
        app = json.load(file)
    torch.manual_seed(rank)
    before_mb = resident_mb("VmRSS")
    network = make_network(torch, app["model"])
    inputs, labels = make_batch(torch, network, app["model"], app["train"]["batch"] // ranks)
    if options.layout == "nhwc":
        network = network.to(memory_format=torch.channels_last)
        inputs = inputs.contiguous(memory_format=torch.channels_last)
    if ranks > 1:
        network = torch.nn.parallel.DistributedDataParallel(network)
    optimizer = make_optimizer(torch, network, app["train"]["optimizer"])
    starts = []
    for _ in range(WARM_UP_STEPS + options.steps):
        starts.append(time.perf_counter())
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(network(inputs).flatten(0, -2), labels.flatten())
        loss.backward()
        optimizer.step()
    seconds = time.perf_counter() - starts[WARM_UP_STEPS]
    if rank == 0:
        common.report(steps_per_second=options.steps / seconds, peak_mb=resident_mb("VmHWM") - before_mb)
    if ranks > 1:
        torch.distributed.destroy_process_group()


def main():
    return common.run_mode(arguments(), train)


if __name__ == "__main__":
    sys.exit(main())
