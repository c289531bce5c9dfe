"""The benchmark "slow_link": training on two hosts whose link is slow, with gradients as they are and compressed."""
import contextlib
import json
import os
import sys
import tempfile

import contenders
from measuring import Contender, Figures, Skip, interleave
from tables import Row, Table, number

sys.path.insert(0, os.path.join(contenders.SOURCE, "tests/support"))
import namespaces

RATE = "1gbit"
RATE_MB_PER_S = 125.0
APP = "tests/interop/models/alexnet.yaml"
BATCH = 64                  # of each of two replicas
STEPS = 10                  # that count, of one run
CODECS = {                  # as in an app file
    "none": "none", "bf16": "bf16", "int8": "int8", "top_k 0.01": "{top_k: {ratio: 0.01}}", "one_bit": "one_bit",
    "tern_grad": "tern_grad", "qsgd": "qsgd", "sufficient_factors": "sufficient_factors", "power_sgd 4": "{power_sgd: {rank: 4}}",
    "deep_gradient 0.001": "{deep_gradient: {ratio: 0.001}}",
}
CLEAR = "none, not sealed"  # frames as in "none", by --plain
HOOKS = {"none": "none", "bf16": "fp16", "power_sgd 4": "power_sgd"}        # of PyTorch by ours; its bf16 wants NCCL in 1.13
SETTINGS = {"train.batch": BATCH, "train.optimizer": {"sgd": {"learning_rate": 0.01, "momentum": 0.9}}}
OWN_MOMENTUM = "train.optimizer={sgd: {learning_rate: 0.01}}"       # deep_gradient brings its own


def last_line(output):
    return contenders.json_lines(output)[-1]


def one_node(build):
    """Alone, and while the same runs on another core: two that compute at once take from each other what cores share."""
    alone = contenders.model_training(build, APP, SETTINGS, STEPS, 1)
    alone.name = "one node without sums"
    longer = [word.replace("train.epochs=2", "train.epochs=1000000") for word in alone.command]
    longer[longer.index("-c") + 1] = str(min(1, os.cpu_count() - 1))
    return [alone, Contender(f"{alone.name}, another beside it", alone.command, alone.read, server=longer)]


class Link:
    """What runs at both ends of a link."""

    def __init__(self, hosts, build):
        self.hosts, self.build = hosts, build
        self.here, self.there = hosts.addresses

    def plain_tcp(self):
        command = [sys.executable, os.path.join(contenders.SOURCE, "tests/bench/tcp_stream.py")]
        address = self.hosts.addresses[self.there]
        return Contender("plain TCP, both ways at once", self.hosts.command(self.here, [*command, "measure", address]),
                         last_line, server=self.hosts.command(self.there, [*command, "listen", address]), timeout_s=30)

    def troupe(self, name, codec, *more):
        settings = [f"topology={{replicas: 2, sync: {{all_reduce: {{}}, codec: {codec}}}}}",
                    f"data.synthetic.train_samples={2 * BATCH * STEPS}", "data.synthetic.test_samples=1",
                    *(f"{key}={json.dumps(value)}" for key, value in SETTINGS.items())]
        if name.startswith("deep_gradient"):
            settings.append(OWN_MOMENTUM)
        script = os.path.join(contenders.SOURCE, "tests/bench/train_on_two_nodes.py")
        command = [sys.executable, script, contenders.program(self.build, "tools/troupe/troupe"),
                   os.path.join(contenders.SOURCE, APP), "--steps", str(STEPS), "--other", self.there,
                   "--addresses", *self.hosts.addresses.values(), "--device", self.hosts.devices[self.here], *more]
        return Contender(f"troupe, {name}", self.hosts.command(self.here, [*command, *contenders.setting_options(settings)]),
                         last_line, timeout_s=120)

    def pytorch(self, label, python, app_file, hook):
        def command(host, rank):
            script = os.path.join(contenders.PEERS, "pytorch_slow_link.py")
            return self.hosts.command(host, [python, script, app_file, "--rank", rank, "--hook", hook, "--steps", STEPS,
                                             "--address", self.hosts.addresses[self.here],
                                             "--device", self.hosts.devices[host]])
        return Contender(f"{label}, DDP, {hook}", command(self.here, 0), last_line, server=command(self.there, 1),
                         timeout_s=120)


def row_of(name, keys, dense, rate, peer=None, peer_name=""):
    step = keys["step_ms"]
    row = Row(name, step, "ms", peer, peer_name)
    if dense:
        row.extra["of dense"] = f"{step.median / dense.median:.2f}"
    sent, received = keys["mb_sent"].median, keys["mb_received"].median
    row.extra.update({"MB sent": number(sent), "received": number(received)})
    if rate:
        row.extra["of the link"] = f"{100 * max(sent, received) / (rate * step.median / 1e3):.0f}%"
    return row


def table_of(outcome, troupe, pytorch, single, skipped):
    """`troupe`, `pytorch`: contenders' names by codec, of PyTorch a list of which the fastest counts; `single`: a list."""
    figures = outcome.figures
    rate = figures.get("plain TCP, both ways at once", {}).get("mb_per_s")
    dense = figures.get(troupe["none"], {}).get("step_ms")
    gradients = next((figures[name]["gradient_mb"].median for name in troupe.values() if name in figures), None)
    rows = []
    if rate:
        rows.append(Row("the link: plain TCP, both ways at once", rate, "MB/s"))
    if rate and gradients:
        rows.append(Row("dense gradients at that rate", Figures([1e3 * gradients / value for value in rate.values]), "ms"))
    for name in single:
        if name in figures:
            rows.append(Row(name, Figures([1e3 / value for value in figures[name]["steps_per_second"].values]), "ms"))
    def fastest_of(names):
        there = [name for name in names if name in figures]
        return min(there, key=lambda name: figures[name]["step_ms"].median, default=None)
    fastest = {codec: fastest_of(names) for codec, names in pytorch.items()}
    best = fastest_of(fastest.values())
    for codec, name in troupe.items():
        if name in figures:
            peer = fastest.get(codec) or best       # the same in PyTorch, else what is fastest there
            rows.append(row_of(name, figures[name], dense, rate and rate.median, figures[peer]["step_ms"] if peer else None,
                               peer or ""))
    for names in pytorch.values():
        own = figures.get(fastest["none"], {}).get("step_ms")
        rows += [row_of(name, figures[name], own, rate and rate.median) for name in names if name in figures]
    notes = ["MB: of the first host in a step, samples for the other included; of dense: of the same program's, for PyTorch "
             "the fastest; of the link: of plain TCP's bytes in the time of a step, of the busier way"]
    if rate:
        notes.append(f"the link: shaped to {RATE_MB_PER_S:.0f} MB/s each way" +
                     ("" if rate.median <= 1.02 * RATE_MB_PER_S else "; ATTENTION: plain TCP is faster than that"))
    for row in rows:
        if row.unit == "ms" and dense and "of dense" not in row.extra:
            row.extra["of dense"] = f"{row.figures.median / dense.median:.2f}"
    return Table("slow_link", f"A step of AlexNet for 64 x 64 ({gradients or 0:.1f} MB of gradients) on two hosts of "
                 f"one core, batch {BATCH} each, joined by {RATE_MB_PER_S:.0f} MB/s", rows,
                 skipped + outcome.skipped, outcome.others_busy, notes)


def slow_link(options):
    builds, skipped = contenders.pytorch_builds(options.venv)
    names = {f"troupe-bench-{os.getpid()}-{end}": f"10.213.8.{last}" for end, last in (("a", 1), ("b", 2))}
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        try:
            hosts = stack.enter_context(namespaces.two_hosts(names))
            hosts.bound(RATE)
            link = Link(hosts, options.build)
            single = one_node(options.build)
            troupe = {name: link.troupe(name, codec) for name, codec in CODECS.items()}
            clear = link.troupe(CLEAR, "none", "--plain")
            app = contenders.app_as_json(APP, SETTINGS)
        except (namespaces.Unavailable, Skip) as reason:
            return Table("slow_link", "Training over a slow link", [], [f"slow_link: skipped, {reason}"], 0.0)
        app_file = os.path.join(folder, "app.json")
        with open(app_file, "w") as text:
            json.dump(app, text)
        pytorch = {name: [link.pytorch(label, python, app_file, hook) for label, python in builds]
                   for name, hook in HOOKS.items()}
        peers = [peer for of_hook in pytorch.values() for peer in of_hook]
        outcome = interleave([link.plain_tcp(), *single, *troupe.values(), clear, *peers], options.repetitions)
    return table_of(outcome, {codec: part.name for codec, part in {**troupe, CLEAR: clear}.items()},
                    {codec: [part.name for part in parts] for codec, parts in pytorch.items()},
                    [part.name for part in single], skipped)
