"""Runs programs in turn, again and again, and keeps what they said: the ground of run.py. Standard library only.

A contender is a name, a command and a function that reads its output. Repetitions are interleaved (a b c a b c, not
a a b b c c), so that a slow minute of the machine falls on all of them.
"""
import dataclasses
import os
import resource
import signal
import statistics
import subprocess
import sys
import time
from typing import Callable

SERVER_SECONDS_MAX = 30     # until it is up


class Skip(Exception):
    """This contender cannot run here; the text says why and what to do."""


@dataclasses.dataclass
class Contender:
    name: str
    command: list[str]
    read: Callable[[str], dict[str, float]]     # standard output -> figures by key
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    server: list[str] | None = None             # started before the command, stopped after it
    is_up: Callable[[], bool] | None = None     # whether the server can be used; without it after 0.3 s
    timeout_s: int = 600
    keep_on: bool = False                       # goes on although its first run failed


@dataclasses.dataclass
class Figures:
    """What one key gave over all repetitions."""
    values: list[float]

    @property
    def median(self):
        return statistics.median(self.values)

    @property
    def low(self):
        return min(self.values)

    @property
    def high(self):
        return max(self.values)


@dataclasses.dataclass
class Outcome:
    figures: dict[str, dict[str, Figures]]      # by contender, then by key
    skipped: list[str]                          # sentences
    others_busy: float                          # median share of all processors that other programs used meanwhile


def busy_seconds():
    """Seconds that all processors together have worked since the start of the machine."""
    with open("/proc/stat") as stat:
        ticks = [int(field) for field in stat.readline().split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")      # without idle and iowait


def own_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def end_group(process):
    """Kills the process and what it has started; a group of its own, so that nothing of a broken run stays."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def start(command, environment, output):
    return subprocess.Popen(command, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, stdout=output,
                            stderr=subprocess.PIPE if output == subprocess.PIPE else subprocess.DEVNULL,
                            text=True, process_group=0)


def await_server(contender):
    if not contender.is_up:
        time.sleep(0.3)     # no sign that could be waited for; its client refuses when it is late
        return
    until = time.monotonic() + SERVER_SECONDS_MAX
    while not contender.is_up():
        if time.monotonic() > until:
            raise Skip(f"{contender.server[0]} was not up within {SERVER_SECONDS_MAX} s")
        time.sleep(0.1)


def run_once(contender):
    server = None
    if contender.server:
        server = start(contender.server, contender.environment, subprocess.DEVNULL)
    process = None
    try:
        if server:
            await_server(contender)
        process = start(contender.command, contender.environment, subprocess.PIPE)
        output, complaints = process.communicate(timeout=contender.timeout_s)
    except OSError as failure:
        raise Skip(f"cannot start {contender.command[0]}: {failure.strerror}") from failure
    except subprocess.TimeoutExpired:
        raise Skip(f"did not end within {contender.timeout_s} s") from None
    finally:
        for started in (process, server):
            if started:
                end_group(started)
    if process.returncode != 0:
        last = (complaints.strip() or output.strip() or "no output").splitlines()[-1]
        raise Skip(f"exit code {process.returncode}: {last}")
    return contender.read(output)


def interleave(contenders, repetitions):
    """Every contender `repetitions` times, in turn, every other time from the last to the first: what comes later in a turn
    is not always measured on a warmer machine.

    One whose first run fails is skipped from then on. Later failures are counted and said: figures of the runs that
    ended, without a word on those that did not, would flatter.
    """
    values, skipped, failures, shares = {}, {}, {}, []
    for repetition in range(repetitions):
        for contender in contenders if repetition % 2 == 0 else reversed(contenders):
            if contender.name in skipped:
                continue
            note(f"{repetition + 1}/{repetitions} {contender.name}")
            before = time.monotonic(), busy_seconds(), own_seconds()
            try:
                for key, value in run_once(contender).items():
                    values.setdefault(contender.name, {}).setdefault(key, []).append(value)
            except Skip as reason:
                if repetition == 0 and not contender.keep_on:
                    skipped[contender.name] = f"{contender.name}: skipped, {reason}"
                else:
                    failures.setdefault(contender.name, []).append(str(reason))
                continue
            wall, busy, own = (now - then for now, then in zip((time.monotonic(), busy_seconds(), own_seconds()), before))
            shares.append(max(0.0, busy - own) / (wall * os.cpu_count()))
    note("")
    figures = {name: {key: Figures(v) for key, v in keys.items()} for name, keys in values.items()}
    counted = [f"ATTENTION: {name}: {len(reasons)} of {repetitions} runs failed and are not in its figures: {reasons[-1]}"
               for name, reasons in failures.items()]
    return Outcome(figures, list(skipped.values()) + counted, statistics.median(shares) if shares else 0.0)


def note(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
