#!/usr/bin/env python3
"""One of two processes, on two hosts, that train an app's model in DistributedDataParallel over gloo; that of rank 0 prints
one line of JSON: step_ms, and mb_sent and mb_received by its host in a step.

    pytorch_slow_link.py APP.json --rank 0 --address ADDRESS_OF_RANK_0 --device tr-a [--hook fp16] [--steps 10]

APP.json: an app file as JSON; its batch is that of each process. The samples are made up and always the same; the first
steps are not counted. --hook: how gradients are compressed, by PyTorch's own communication hooks.
"""
import argparse
import json
import os
import sys
import time

import pytorch_common as common
import pytorch_models as models

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../support"))
import namespaces

PORT = 29500
RANKS = 2
WARM_UP_STEPS = 4
POWER_SGD_RANK = 4
POWER_SGD_START = 2     # steps before it that are not compressed; PyTorch wants as many


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("app")
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--address", required=True)
    parser.add_argument("--device", required=True)
    parser.add_argument("--hook", choices=["none", "fp16", "power_sgd"], default="none")
    parser.add_argument("--steps", type=int, default=10)
    return parser.parse_args()


def compress(network, hook):
    if hook == "power_sgd":
        from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
        state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=POWER_SGD_RANK,
                                            start_powerSGD_iter=POWER_SGD_START)
        network.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    elif hook == "fp16":
        from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
        network.register_comm_hook(None, default_hooks.fp16_compress_hook)


def main():
    options = arguments()
    os.environ.update(MASTER_ADDR=options.address, MASTER_PORT=str(PORT), GLOO_SOCKET_IFNAME=options.device)
    cores = sorted(os.sched_getaffinity(0))
    common.pin({cores[options.rank % len(cores)]})
    torch = common.use_threads(1)
    torch.distributed.init_process_group("gloo", rank=options.rank, world_size=RANKS)
    with open(options.app) as file:
        app = json.load(file)
    torch.manual_seed(options.rank)
    network = models.make_network(torch, app["model"])
    inputs, labels = models.make_batch(torch, network, app["model"], app["train"]["batch"])
    network = torch.nn.parallel.DistributedDataParallel(network)
    compress(network, options.hook)
    optimizer = models.make_optimizer(torch, network, app["train"]["optimizer"])
    for step in range(WARM_UP_STEPS + options.steps):
        if step == WARM_UP_STEPS:
            began, before = time.perf_counter(), namespaces.carried_bytes(options.device)
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(network(inputs).flatten(0, -2), labels.flatten()).backward()
        optimizer.step()
    seconds, after = time.perf_counter() - began, namespaces.carried_bytes(options.device)
    sent, received = ((now - then) / options.steps / 1e6 for then, now in zip(before, after))
    if options.rank == 0:
        common.report(step_ms=1e3 * seconds / options.steps, mb_sent=sent, mb_received=received)
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
