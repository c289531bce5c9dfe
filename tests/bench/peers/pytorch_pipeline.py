#!/usr/bin/env python3
"""A GPT of 10.8 million parameters as a pipeline of PyTorch, two processes of one thread each over gloo.

  pytorch_pipeline.py SCHEDULE [--steps N] [--microbatches M]

SCHEDULE is a class of torch.distributed.pipelining: ScheduleGPipe, Schedule1F1B, ScheduleInterleaved1F1B,
ScheduleInterleavedZeroBubble. Prints the training steps a second: batch 8 of 256 positions, AdamW, made-up tokens.
"""
import argparse
import os
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed import pipelining

WIDTH, HEADS, POSITIONS, VOCABULARY, BLOCKS, BATCH, WARM_UP = 384, 6, 256, 256, 6, 8, 3


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
        self.qkv, self.out = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (p.view(b, t, HEADS, -1).transpose(1, 2) for p in self.qkv(self.norm1(x)).split(WIDTH, dim=2))
        attended = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(b, t, WIDTH))
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm2(x))))


class Part(torch.nn.Module):
    """A contiguous part of the blocks, with the embedding before the first and the scores behind the last."""

    def __init__(self, number, parts):
        super().__init__()
        share = [BLOCKS // parts + (p < BLOCKS % parts) for p in range(parts)]
        self.tokens = torch.nn.Embedding(VOCABULARY, WIDTH) if number == 0 else None
        self.places = torch.nn.Embedding(POSITIONS, WIDTH) if number == 0 else None
        self.blocks = torch.nn.Sequential(*(Block() for _ in range(share[number])))
        last = number + 1 == parts
        self.norm = torch.nn.LayerNorm(WIDTH) if last else None
        self.scores = torch.nn.Linear(WIDTH, VOCABULARY) if last else None

    def forward(self, x):
        if self.tokens is not None:
            x = self.tokens(x) + self.places(torch.arange(POSITIONS))
        x = self.blocks(x)
        return x if self.scores is None else self.scores(self.norm(x))


def loss(scores, labels):
    return torch.nn.functional.cross_entropy(scores.flatten(0, 1), labels.flatten())


def train(rank, options):
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29611")
    dist.init_process_group("gloo", rank=rank, world_size=2)
    torch.manual_seed(rank)
    kind = getattr(pipelining, options.schedule)
    several = "Interleaved" in options.schedule
    numbers = [rank, rank + 2] if several else [rank]
    parts = 4 if several else 2
    stages = [pipelining.PipelineStage(Part(n, parts), n, parts, torch.device("cpu")) for n in numbers]
    schedule = kind(stages if several else stages[0], options.microbatches, loss_fn=loss)
    optimizer = torch.optim.AdamW([p for s in stages for p in s.submod.parameters()], lr=1e-3)
    tokens = torch.randint(VOCABULARY, (BATCH, POSITIONS))
    began = 0.0
    for step in range(WARM_UP + options.steps):
        if step == WARM_UP:
            dist.barrier()
            began = time.perf_counter()
        optimizer.zero_grad()
        first = (tokens,) if rank == 0 else ()
        schedule.step(*first, **({"target": tokens, "losses": []} if rank == 1 else {}))
        optimizer.step()
    dist.barrier()
    if rank == 0:
        print(f"{options.steps / (time.perf_counter() - began):.4f} steps/s", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("schedule")
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--microbatches", type=int, default=4)
    mp.spawn(train, args=(parser.parse_args(),), nprocs=2)
