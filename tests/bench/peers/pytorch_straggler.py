#!/usr/bin/env python3
"""The network of apps/fashion_mnist in DistributedDataParallel over gloo with one slow process; prints one line of JSON:
seconds of training and accuracy on the test images after each epoch.

    pytorch_straggler.py --ranks 4 --slow-down 4 --samples 15000 --epochs 6

The last process waits, in every minibatch, so much longer than it computes that it takes --slow-down times as long. What it
takes is measured before, while all processes compute and none waits for another.
"""
import argparse
import sys
import time

import pytorch_common as common
import pytorch_training as training


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--slow-down", type=float, default=4)
    parser.add_argument("--batch", type=int, default=64, help="samples per update, of all processes together")
    parser.add_argument("--samples", type=int, default=15000)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--layout", choices=["nchw", "nhwc"], default="nhwc")
    parser.add_argument("--learning-rate", type=float, default=0.03)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


class SlowRun(training.Run):
    def __init__(self, torch, options, rank, ranks):
        options.compile = False
        super().__init__(torch, options, rank, ranks)
        for group in self.optimizer.param_groups:
            group["lr"] = options.learning_rate
        self.waits = rank + 1 == ranks
        self.extra_s = 0.0

    def measure(self):
        """Seconds of a minibatch's passes while nobody waits for another."""
        if self.ranks > 1:
            self.torch.distributed.barrier()
        began = time.perf_counter()
        samples = self.torch.arange(self.options.batch // self.ranks)
        for _ in range(training.WARM_UP_MINIBATCHES):
            self.loss(self.plain(self.images[samples]), self.labels[samples]).backward()
        taken = (time.perf_counter() - began) / training.WARM_UP_MINIBATCHES
        self.plain.zero_grad(set_to_none=True)
        if self.waits:
            self.extra_s = (self.options.slow_down - 1) * taken

    def minibatch(self, samples):
        time.sleep(self.extra_s)
        return super().minibatch(samples)


def train(options, threads, rank, ranks):
    torch = common.use_threads(threads)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=ranks)
    run = SlowRun(torch, options, rank, ranks)
    run.warm_up()
    run.measure()
    epochs = []
    for number in range(options.epochs):
        seconds, _, _ = run.epoch(number)
        epochs.append({"seconds": seconds, "test_accuracy": run.accuracy() if rank == 0 else 0})
        torch.distributed.barrier()
    if rank == 0:
        common.report(epochs=epochs)
    torch.distributed.destroy_process_group()


def main():
    options = arguments()
    options.mode = "ddp"
    return common.run_mode(options, train, options.ranks)


if __name__ == "__main__":
    sys.exit(main())
