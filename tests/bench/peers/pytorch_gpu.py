#!/usr/bin/env python3
"""Training of an app's model in PyTorch on a GPU, as a user of PyTorch would write it, and what the GPU can do at most; prints
one line of JSON.

    pytorch_gpu.py train APP.json --precision f32 | tf32 | bf16 --mode eager | compiled | reduce-overhead
    pytorch_gpu.py limits

train: samples_per_second, and peak_mb of the GPU's memory in use. Each minibatch is copied from pinned memory of the host, always the same
one. bf16: autocast; images: channels_last. limits: bf16, tf32 and f32 in TFLOP/s of products of 8192 x 8192, copy in GB/s, read and
written, of 1 GB. --device cpu tries the script where there is no GPU.
"""
import argparse
import json
import statistics
import sys
import time

import pytorch_common as common

WARM_UP_STEPS = 10
SECONDS = 3             # that are timed, about
REPETITIONS = 10


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["train", "limits"])
    parser.add_argument("app", nargs="?")
    parser.add_argument("--precision", choices=["f32", "tf32", "bf16"], default="f32")
    parser.add_argument("--mode", choices=["eager", "compiled", "reduce-overhead"], default="eager")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    return parser.parse_args()


class Clock:
    """Seconds of what was put into the GPU's queue, until it is done."""

    def __init__(self, torch, device):
        self.wait = torch.cuda.synchronize if device == "cuda" else lambda: None

    def seconds(self, work):
        self.wait()
        begin = time.perf_counter()
        work()
        self.wait()
        return time.perf_counter() - begin


def set_precision(torch, precision):
    allowed = precision == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = allowed
    torch.backends.cudnn.allow_tf32 = allowed


def train(torch, options):
    import pytorch_models
    device = options.device
    with open(options.app) as file:
        app = json.load(file)
    set_precision(torch, options.precision)
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(0)
    batch = app["train"]["batch"]
    network = pytorch_models.make_network(torch, app["model"])
    inputs, labels = pytorch_models.make_batch(torch, network, app["model"], batch)
    network = network.to(device)
    if inputs.dim() == 4:
        network = network.to(memory_format=torch.channels_last)
        inputs = inputs.contiguous(memory_format=torch.channels_last)
    if device == "cuda":
        inputs, labels = inputs.pin_memory(), labels.pin_memory()
    optimizer = pytorch_models.make_optimizer(torch, network, app["train"]["optimizer"], fused=device == "cuda")
    called = {"eager": lambda: network, "compiled": lambda: torch.compile(network),
              "reduce-overhead": lambda: torch.compile(network, mode="reduce-overhead")}[options.mode]()

    def step():
        x, y = inputs.to(device, non_blocking=True), labels.to(device, non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16, enabled=options.precision == "bf16"):
            loss = torch.nn.functional.cross_entropy(called(x).flatten(0, -2), y.flatten())
        loss.backward()
        optimizer.step()

    def steps(count):
        for _ in range(count):
            step()
    clock = Clock(torch, device)
    steps(WARM_UP_STEPS)
    count = max(3, round(SECONDS * WARM_UP_STEPS / clock.seconds(lambda: steps(WARM_UP_STEPS))))
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    seconds = clock.seconds(lambda: steps(count))
    memory = {"peak_mb": torch.cuda.max_memory_allocated() / 1e6} if device == "cuda" else {}
    print(json.dumps({"samples_per_second": batch * count / seconds, **memory, "torch": torch.__version__}), flush=True)


def limits(torch, options):
    device = options.device
    clock = Clock(torch, device)
    size, copied = (8192, 1 << 30) if device == "cuda" else (512, 1 << 24)

    def median(work):
        work()
        return statistics.median(clock.seconds(work) for _ in range(REPETITIONS))
    figures = {}
    for precision, number in (("bf16", torch.bfloat16), ("tf32", torch.float32), ("f32", torch.float32)):
        set_precision(torch, precision)
        a, b = (torch.randn(size, size, device=device).to(number) for _ in range(2))
        figures[precision] = 2 * size ** 3 / median(lambda: a @ b) / 1e12
    source = torch.randint(255, [copied], device=device, dtype=torch.uint8)
    target = torch.empty_like(source)
    figures["copy"] = 2 * copied / median(lambda: target.copy_(source)) / 1e9
    print(json.dumps(figures), flush=True)


def main():
    options = arguments()
    torch = common.use_threads(1 if options.device == "cpu" else 8)
    if options.device == "cuda" and not torch.cuda.is_available():
        print("PyTorch finds no GPU", file=sys.stderr)
        return 1
    (train if options.what == "train" else limits)(torch, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
