#!/usr/bin/env python3
"""Trains an app on two nodes, one on this host and one on another network namespace of this machine, a core each, and
prints one line of JSON: step_ms, mb_sent and mb_received by this host in a step, and gradient_mb of the model.

    ip netns exec HERE train_on_two_nodes.py TROUPE APP.yaml --steps 10 --other NAME --addresses HERE THERE --device tr-a
                                             [--plain] [--set KEY=VALUE]...

The data are made up. An epoch of as many steps goes before the one that counts. Ends what it has started.
"""
import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import namespaces

PORT = 4711
EPOCHS = 2


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("troupe")
    parser.add_argument("app")
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--other", required=True, help="the namespace of the other host")
    parser.add_argument("--addresses", nargs=2, required=True, help="of this host and the other")
    parser.add_argument("--device", required=True, help="this host's end of the cable")
    parser.add_argument("--plain", action="store_true", help="seal no frames")
    parser.add_argument("--set", action="append", default=[])
    return parser.parse_args()


def core(index):
    """A command's prefix that gives it one core; the same for both where there is but one."""
    cores = sorted(os.sched_getaffinity(0))
    return ["taskset", "-c", str(cores[index % len(cores)])]


@contextlib.contextmanager
def node(command):
    """Starts it and waits until it listens."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        if not process.stdout.readline():
            sys.exit(f"train_on_two_nodes: {' '.join(command)} did not start")
        yield
    finally:
        process.terminate()
        process.communicate()


def figures(lines, device, steps):
    """Times are of the last of two epochs; bytes of the whole run, whose ends cost few, as the next epoch does not wait for
    whoever looks at the counters."""
    before, gradient_mb, epochs = namespaces.carried_bytes(device), 0, []
    for line in lines:
        event = json.loads(line)
        if event["event"] == "start":
            gradient_mb = event["plan"]["total"]["parameter_bytes"] / 1e6
        if event["event"] == "epoch":
            epochs.append(event)
    if len(epochs) != EPOCHS:
        sys.exit(f"train_on_two_nodes: the run did not train {EPOCHS} epochs")
    after = namespaces.carried_bytes(device)
    sent, received = ((now - then) / (EPOCHS * steps) / 1e6 for then, now in zip(before, after))
    return {"step_ms": 1e3 * epochs[-1]["seconds"] / steps, "mb_sent": sent, "mb_received": received,
            "gradient_mb": gradient_mb}


def main():
    options = arguments()
    here, there = (f"{address}:{PORT}" for address in options.addresses)
    with tempfile.NamedTemporaryFile("w", suffix=".key") as key:        # which its owner alone may read
        key.write("the key of a benchmark's cluster")
        key.flush()
        common = ["--key", key.name, "--transport", "tcp", *(["--plain"] if options.plain else [])]
        one = [options.troupe, "node", "--quiet", *common]
        run = [options.troupe, "run", options.app, "--cluster", here, "--json", *common, "--set", f"train.epochs={EPOCHS}"]
        for setting in options.set:
            run += ["--set", setting]
        with node([*core(0), *one, "--name", "a", "--listen", here]), \
             node(["ip", "netns", "exec", options.other, *core(1), *one, "--name", "b", "--listen", there,
                   "--join", here]), \
             subprocess.Popen([*core(0), *run], stdout=subprocess.PIPE, text=True) as training:
            found = figures(training.stdout, options.device, options.steps)
            if training.wait() != 0:
                sys.exit(training.returncode)
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
