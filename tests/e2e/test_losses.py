"""What is lost, and what a run does then: every kind of run with every kind of loss. The manual's table is what is seen here."""

import collections
import json
import re
import shutil
import signal
import subprocess

from program_support import APP as PROGRAM, made_table, write_table
from support import APP, SOURCE, TROUPE, TroupeTest, main

MANUAL = SOURCE / "tools/manual/running.md"
HEAD = """\
| what is lost | kinds of runs | what goes on | exit code | the sentence begins with |
| --- | --- | --- | --- | --- |
"""
REPLICAS = APP[:APP.index("topology:")] + "topology: {replicas: 2, sync: SYNC}\n"
SYNCS = {
    "`all_reduce`": "all_reduce",
    "`local_sgd`": "{local_sgd: {period: 4}}",
    "`bsp`": "{parameter_server: {consistency: bsp, shards: 1}}",
    "`ssp`": "{parameter_server: {consistency: {ssp: {staleness: 2}}, shards: 1}}",
    "`asp`": "{parameter_server: {consistency: asp, shards: 1}}",
    "`elastic_averaging`": "{elastic_averaging: {period: 2}}",
    "`gossip`": "{gossip: {period: 1}}",
    "`malt`": "{malt: {graph: all}}",
    "`admm`": "{admm: {penalty: 1, period: 2, quorum: 1}}",
}
# Each kind has a part on each of two nodes, and does not end by itself soon.
KINDS = {
    "`gpipe`": APP.replace("schedule: pipedream", "schedule: gpipe\n    microbatches: 2"),
    "`pipedream`": APP,
    **{name: REPLICAS.replace("SYNC", sync) for name, sync in SYNCS.items()},
    "programs": PROGRAM.replace("window: 2", "window: 2, set: 1").replace("gap: 1e-9", "gap: 0, phases: 1000000000")
                       .replace("schedule: {", "schedule: {workers: 2, "),
}

MILESTONES = ("epoch", "sweep")

Outcome = collections.namedtuple("Outcome", "goes_on code sentence")
NOTHING, RUN = "nothing; its nodes are free for other runs", "the run"
WITHOUT_REPLICA, TO_THE_SAME_RESULT = "the run, with the replicas left", "the run, to the same result"
AT_ITS_END = "0, at its end"


def beginning(sentence):
    """Its first clause, without what differs from run to run."""
    sentence = re.sub(r"127\.0\.0\.1:\d+", "HOST:PORT", sentence.split("; ")[0])
    sentence = re.sub(r"\brun-[\w.-]+-\d+", "RUN", sentence)
    sentence = re.sub(r"(?<!\S)/\S+:", "FILE:", sentence)
    sentence = re.sub(r" \((?!--)[^)]*\)", "", sentence)
    return re.sub(r"^stopped .*", "stopped ...", sentence)


def rows(loss, outcomes):
    """Lines of the table: kinds of runs that do alike share one."""
    alike = {}
    for kind, outcome in outcomes.items():
        alike.setdefault(outcome, []).append(kind)
    lines = []
    for outcome, kinds in alike.items():
        named = "all" if kinds == list(KINDS) else ", ".join(kinds)
        lines.append(f"| {'' if lines else loss} | {named} | {outcome.goes_on} | {outcome.code} | {outcome.sentence} |\n")
    return "".join(lines)


class Run:
    """A run whose events are read from a file, so that what it says after some moment is told from what it said before."""

    def __init__(self, process, path):
        self.process, self.path = process, path

    def events(self):
        return [json.loads(line) for line in self.path.read_text().splitlines(keepends=True) if line.endswith("\n")]

    def has_milestone(self, after=0):
        return any(event["event"] in MILESTONES for event in self.events()[after:])


class Losses(TroupeTest):
    def setUp(self):
        super().setUp()
        self.runs = {}
        write_table(self.folder, *made_table())

    # ---- what is lost -----------------------------------------------------------------------------------------------

    def cluster(self, *options):
        a, self.address = self.node(*options, name="a")
        b, _ = self.node("--join", self.address, *options, name="b")
        return a, b

    def start_runs(self, kinds=tuple(KINDS), more="", **options):
        """A run of each kind on both nodes that has reached its first milestone."""
        runs = {}
        for number, kind in enumerate(kinds):
            app = KINDS[kind].replace("epochs: 2", "epochs: 100000").replace("directory: result", f"directory: result-{number}")
            path = self.folder / f"{number}.json"
            with path.open("w") as out:
                app = self.app(app + more.replace("NUMBER", str(number)), f"{number}.yaml")
                process = self.start("run", app, "--cluster", self.address, "--json", stdout=out, **options)
            runs[kind] = Run(process, path)
        for kind, run in runs.items():
            self.eventually(lambda: run.has_milestone() or run.process.poll() is not None, f"{kind} begins")
            self.assertIsNone(run.process.poll(), run.path.read_text())
        self.runs = runs
        return runs

    def look_into_hang(self):
        last = "".join(f"{kind}: exit code {run.process.poll()}, {run.events()[-1:]}\n" for kind, run in self.runs.items())
        commands = [[TROUPE, "inspect", self.address, "actors"]]
        if shutil.which("gdb"):
            hanging = [run.process.pid for run in self.runs.values() if run.process.poll() is None][:1]
            commands += [["gdb", "-batch", "-ex", "thread apply all backtrace", "-p", str(pid)] for pid in hanging]
        return last + "".join(subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
                              for command in commands)

    def signal_runs(self, runs, number):
        """The number of events of each before."""
        before = {kind: len(run.events()) for kind, run in runs.items()}
        for run in runs.values():
            run.process.send_signal(number)
        return before

    def logged(self, node, sentence, times):
        """The first line of a node's log with the sentence, once there are so many."""
        lines = []
        while len(lines) < times:
            line = node.stderr.readline()
            self.assertTrue(line, f"the node says '{sentence}' {times} times, not {len(lines)} times")
            if sentence in line:
                lines.append(line.split("Z ", 1)[1].strip())
        return lines[0]

    # ---- what follows -----------------------------------------------------------------------------------------------

    def ended(self, run):
        code = self.finish(run.process).code
        return Outcome(NOTHING, code, beginning(run.events()[-1]["message"]))

    def outcome(self, kind, run):
        """The run ends, or says in a note what it goes on without, and does so; then it is stopped."""
        def noted():
            return next((number for number, event in enumerate(run.events()) if event["event"] == "note"), None)
        self.eventually(lambda: run.process.poll() is not None or (noted() is not None and run.has_milestone(noted())),
                        f"{kind} goes on or ends")
        if run.process.poll() is not None:
            return self.ended(run)
        note = beginning(run.events()[noted()]["message"])
        return Outcome(TO_THE_SAME_RESULT if kind == "programs" else WITHOUT_REPLICA, AT_ITS_END, note)

    def assert_in_the_manual(self, loss, outcomes):
        lines = rows(loss, outcomes)
        self.assertTrue(lines in MANUAL.read_text(), f"the manual's table has what is seen:\n{HEAD}{lines}")

    # ---- a node -----------------------------------------------------------------------------------------------------

    def lose_node(self, loss, number):
        _, b = self.cluster()
        runs = self.start_runs()
        b.send_signal(number)
        self.assert_in_the_manual(loss, {kind: self.outcome(kind, run) for kind, run in runs.items()})

    def test_a_node_is_killed(self):
        self.lose_node("a node is killed", signal.SIGKILL)

    def test_a_node_hangs(self):
        self.lose_node("a node hangs (SIGSTOP), or its network does", signal.SIGSTOP)

    def test_a_node_is_stopped_in_order(self):
        self.lose_node("a node is stopped by SIGTERM or Ctrl-C", signal.SIGTERM)

    def test_the_terminal_of_a_node_is_closed(self):
        a, b = self.cluster()
        runs = self.start_runs()
        before = {kind: len(run.events()) for kind, run in runs.items()}
        for node in (a, b):
            node.send_signal(signal.SIGHUP)
        for kind, run in runs.items():
            self.eventually(lambda: run.has_milestone(before[kind]), f"{kind} goes on")
        self.assertEqual((a.poll(), b.poll()), (None, None))
        self.assert_in_the_manual("the terminal of a node is closed (SIGHUP)", dict.fromkeys(runs, Outcome(RUN, AT_ITS_END, "")))

    # ---- the run ----------------------------------------------------------------------------------------------------

    def test_a_run_is_stopped_in_order(self):
        self.cluster()
        for number, loss in ((signal.SIGINT, "Ctrl-C (SIGINT)"), (signal.SIGTERM, "the run is stopped by SIGTERM"),
                             (signal.SIGHUP, "the terminal of the run is closed (SIGHUP)")):
            runs = self.start_runs()
            self.signal_runs(runs, number)
            self.assert_in_the_manual(loss, {kind: self.ended(run) for kind, run in runs.items()})

    def test_a_run_under_nohup_goes_on_when_its_terminal_is_closed(self):
        self.cluster()
        runs = self.start_runs(("`gossip`", "programs"), preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        before = self.signal_runs(runs, signal.SIGHUP)
        for kind, run in runs.items():
            self.eventually(lambda: run.has_milestone(before[kind]), f"{kind} goes on")

    def test_a_run_is_killed(self):
        a, b = self.cluster()
        runs = self.start_runs()
        self.signal_runs(runs, signal.SIGKILL)
        said = "in the nodes' logs: " + beginning(self.logged(a, "the actor that leads the run is gone", len(runs)))
        for run in runs.values():
            self.finish(run.process)
        self.start_runs(("programs",))
        self.assertEqual((a.poll(), b.poll()), (None, None))
        self.assert_in_the_manual("the run's process is killed", dict.fromkeys(runs, Outcome(NOTHING, 137, said)))

    def test_a_run_is_stopped_for_a_while(self):
        """For longer than a node may be silent, and no longer than is waited for a run."""
        a, _ = self.cluster()
        runs = self.start_runs()
        self.signal_runs(runs, signal.SIGSTOP)
        said = "in the nodes' logs: " + beginning(self.logged(a, "is waited for", len(runs)))
        before = self.signal_runs(runs, signal.SIGCONT)
        for kind, run in runs.items():
            self.eventually(lambda: run.has_milestone(before[kind]) or run.process.poll() is not None, f"{kind} goes on")
            self.assertIsNone(run.process.poll(), run.path.read_text().splitlines()[-1])
        self.logged(a, "come again", len(runs))
        self.assert_in_the_manual("the run's process is stopped (Ctrl-Z, a machine that sleeps), and goes on within a minute",
                                  dict.fromkeys(runs, Outcome(RUN, AT_ITS_END, said)))

    def test_a_run_is_stopped_for_too_long(self):
        a, b = self.cluster("--run-timeout-ms", 5000)
        runs = self.start_runs()
        self.signal_runs(runs, signal.SIGSTOP)
        for node in (a, b):
            self.logged(node, "is lost: no heartbeat of this run", len(runs))
        self.signal_runs(runs, signal.SIGCONT)
        ended = {kind: self.ended(run) for kind, run in runs.items()}
        outcomes = {kind: end._replace(sentence=re.sub("^node [ab]:", "node a:", end.sentence).replace("5000", "60000"))
                    for kind, end in ended.items()}
        self.assert_in_the_manual("the same, for longer than nodes wait for a run (`--run-timeout-ms`)", outcomes)

    def test_the_disk_is_full_at_a_checkpoint(self):
        if (mount := self.small_disk()) is None:
            return
        self.cluster()
        more = f"checkpoint: {{directory: {mount}/NUMBER, keep: 1}}\n"
        runs = self.start_runs(("`pipedream`", "programs"), more)
        with (mount / "filler").open("wb", buffering=0) as filler:
            with self.assertRaises(OSError):
                while filler.write(bytes(1024)):
                    pass
        outcomes = {kind: self.outcome(kind, run)._replace(goes_on=RUN) for kind, run in runs.items()}
        self.assert_in_the_manual("the disk is full at a checkpoint", outcomes)


if __name__ == "__main__":
    main()
