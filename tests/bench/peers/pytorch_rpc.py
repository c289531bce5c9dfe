#!/usr/bin/env python3
"""One-way latency between two processes by PyTorch RPC (TensorPipe): half of a round trip; prints one line of JSON.

    pytorch_rpc.py [--bytes 0] [--calls 1000]

The callee gets a tensor of --bytes bytes and returns nothing, as the answer to an actor's message would.
"""
import argparse
import os
import socket
import subprocess
import sys
import time

import pytorch_common as common

WARM_UP_CALLS = 100


def accept(payload):
    """What the callee runs."""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", default="rpc")
    parser.add_argument("--bytes", type=int, default=0)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def call_repeatedly(torch, options):
    from torch.distributed import rpc
    payload = torch.zeros(options.bytes, dtype=torch.uint8)
    times = []
    for _ in range(WARM_UP_CALLS + options.calls):
        start = time.perf_counter()
        rpc.rpc_sync("rank1", accept, args=(payload,))
        times.append(time.perf_counter() - start)
    times = sorted(times[WARM_UP_CALLS:])
    one_way_us = [0.5e6 * times[len(times) * percent // 100] for percent in (50, 90)]
    common.report(name=options.name, bytes=options.bytes, calls=options.calls,
                  one_way_us=round(one_way_us[0], 2), one_way_p90_us=round(one_way_us[1], 2))


def be_rank(options):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(options.port), GLOO_SOCKET_IFNAME="lo",
                      TP_SOCKET_IFNAME="lo")
    torch = common.use_threads(1)
    from torch.distributed import rpc
    rpc.init_rpc(f"rank{options.rank}", rank=options.rank, world_size=2)
    if options.rank == 0:
        call_repeatedly(torch, options)
    rpc.shutdown()


def main():
    options = arguments()
    if options.rank is not None:
        be_rank(options)
        return 0
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--port", str(port), "--rank"]
    ranks = [subprocess.Popen([*command, str(rank)], preexec_fn=common.set_death_signal) for rank in range(2)]
    return max(rank.wait() for rank in ranks)


if __name__ == "__main__":
    sys.exit(main())
