#!/usr/bin/env python3
"""Training throughput of the network of apps/fashion_mnist in PyTorch; prints one line of JSON.

    pytorch_training.py --mode one            one process, one thread
    pytorch_training.py --mode two-threads    one process, two threads
    pytorch_training.py --mode ddp            DistributedDataParallel over gloo, processes of one thread

The data is in memory as float32 before the clock starts, the first minibatches are not counted, and evaluation is
not part of the time. --batch is the number of samples per update, which the DDP processes share.
"""
import argparse
import sys
import time

import pytorch_common as common

WARM_UP_MINIBATCHES = 20


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", choices=["one", "two-threads", "ddp"], default="one")
    parser.add_argument("--name", help="the name in the printed line; default: the mode")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--processes", type=int, default=2, help="of --mode ddp")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--samples", type=int, default=60000, help="of the training set, per epoch")
    parser.add_argument("--layout", choices=["nchw", "nhwc"], default="nchw", help="nhwc: channels_last tensors")
    parser.add_argument("--compile", action="store_true", help="torch.compile the network (needs g++)")
    parser.add_argument("--no-accuracy", action="store_true", help="skip the evaluation on the test set")
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def make_network(torch):
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 7 * 7, 128), nn.ReLU(), nn.Linear(128, 10))


class Run:
    """One process's part of the training: its share of every minibatch."""

    def __init__(self, torch, options, rank, ranks):
        self.torch, self.options, self.rank, self.ranks = torch, options, rank, ranks
        torch.manual_seed(1)
        network = make_network(torch)
        self.images, self.labels = common.fashion_mnist(torch, "train")
        self.images, self.labels = self.images[:options.samples], self.labels[:options.samples]
        if options.layout == "nhwc":
            network = network.to(memory_format=torch.channels_last)
            self.images = self.images.contiguous(memory_format=torch.channels_last)
        self.plain = network
        if ranks > 1:
            network = torch.nn.parallel.DistributedDataParallel(network)
        self.network = torch.compile(network) if options.compile else network
        self.optimizer = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9)
        self.loss = torch.nn.CrossEntropyLoss()

    def minibatch(self, samples):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(self.network(self.images[samples]), self.labels[samples])
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def warm_up(self):
        """Compiles kernels and fills caches, then forgets what was learnt."""
        before = {key: value.clone() for key, value in self.plain.state_dict().items()}
        for _ in range(WARM_UP_MINIBATCHES):
            self.minibatch(self.torch.arange(self.options.batch // self.ranks))
        self.plain.load_state_dict(before)
        self.optimizer.state.clear()

    def epoch(self, number):
        """Wall seconds, CPU seconds of this process and mean training loss.

        Every process draws the same order and takes its slice of each minibatch.
        """
        order = self.torch.randperm(len(self.labels), generator=self.torch.Generator().manual_seed(number))
        total = self.torch.zeros(())
        start, start_cpu = time.perf_counter(), time.process_time()
        for minibatch in order.split(self.options.batch):
            share = minibatch.tensor_split(self.ranks)[self.rank]
            total += self.minibatch(share) * (len(minibatch) / len(order))
        return time.perf_counter() - start, time.process_time() - start_cpu, total.item()

    def accuracy(self):
        images, labels = common.fashion_mnist(self.torch, "t10k")
        with self.torch.no_grad():
            hits = sum((self.plain(i).argmax(1) == l).sum().item() for i, l in zip(images.split(500), labels.split(500)))
        return hits / len(labels)


def train(options, threads, rank, ranks):
    torch = common.use_threads(threads)
    if ranks > 1:
        torch.distributed.init_process_group("gloo", rank=rank, world_size=ranks)
    run = Run(torch, options, rank, ranks)
    run.warm_up()
    epochs = [run.epoch(number) for number in range(options.epochs)]
    if rank == 0:
        seconds, cpu_seconds, loss = sorted(epochs)[len(epochs) // 2]
        result = {"name": options.name or options.mode, "samples_per_second": round(options.samples / seconds, 1),
                  "epochs": options.epochs, "samples": options.samples, "batch": options.batch,
                  "processes": ranks, "threads": threads, "train_loss": round(loss, 4),
                  "cores_busy": round(cpu_seconds / seconds, 2)}    # of rank 0; below `threads` it was disturbed
        if not options.no_accuracy:
            result["test_accuracy"] = run.accuracy()
        common.report(**result)
    if ranks > 1:
        torch.distributed.destroy_process_group()


def main():
    options = arguments()
    return common.run_mode(options, train, options.processes)


if __name__ == "__main__":
    sys.exit(main())
