"""A second kind of job from an app file: the same commands, and nothing in them that knows it."""

import json
import os
import signal
import unittest.mock

from support import TroupeTest, main

COUNTER = "troupe: 1\ncounter: {workers: 3, rounds: 5, step: 4}\n"
LONG = COUNTER.replace("rounds: 5", "rounds: 1000000")


class Counter(TroupeTest):
    def test_it_is_checked_explained_and_planned(self):
        self.assertEqual(self.troupe("check", self.app(COUNTER)).out, f"{self.folder}/app.yaml: ok\n")
        self.assertIn("Times that every worker adds.", self.troupe("explain", "counter.rounds").out)
        self.assertIn("A training job", self.troupe("explain").out)
        planned = self.troupe("plan", self.app(COUNTER), "--nodes", 2)
        self.assertEqual(planned.out, "worker-0 on node-0/cpu:0, worker-1 on node-1/cpu:0, worker-2 on node-0/cpu:0\n")
        self.assertIn("worker-2 on node-0/cpu:0", json.loads(self.troupe("plan", self.app(COUNTER), "--nodes", 2, "--json").out)["actors"])

    def test_it_runs_on_two_node_processes_and_saves(self):
        saving = COUNTER.replace("step: 4", "step: 4, file: total.txt")
        run = self.troupe("run", self.app(saving), "--nodes", 2, "--json")
        self.assertEqual(run.code, 0, str(run))
        start, = run.event("start")
        self.assertEqual((start["nodes"], start["rounds"], start["transport"]), (2, 5, "nodes"))
        self.assertEqual([(e["round"], e["total"]) for e in run.event("round")], [(n, 12 * n) for n in range(1, 6)])
        done, = run.event("done")
        self.assertEqual((done["round"], done["total"], done["checkpoint"]), (5, 60, f"{self.folder}/total.txt"))
        self.assertEqual((self.folder / "total.txt").read_text(), "60\n")
        alone = self.troupe("run", self.app(COUNTER))
        self.assertIn("worker-0 on local/cpu:0", alone.out)
        self.assertIn("round 5/5  total 60\ndone: in this process", alone.out)

    def test_its_messages_are_tailed_followed_by_their_piece_of_work_and_exported(self):
        run = self.start("run", self.app(LONG), "--nodes", 2, "--json")
        address = self.read_event(run, "start")["inspect"]
        self.read_event(run, "round")
        tail = self.troupe("inspect", address, "tail", "type=Added", "amount=4", "--count", 3, "--json")
        self.assertEqual(tail.code, 0, str(tail))
        added = [e for e in tail.events if e.get("type") == "Added"]
        number = added[0]["run"].removeprefix("0x")
        self.assertEqual([e["to"]["name"] for e in added], [f"{number}/counter"] * 3)
        of_run = self.troupe("inspect", address, "tail", f"run={number}", "--count", 2, "--json")
        self.assertEqual({e["run"] for e in of_run.events if e["event"] == "message"}, {f"0x{number}"})
        self.assertIn(number, self.troupe("inspect", address).out)
        followed = self.troupe("inspect", address, "follow", "work=next", f"run={number}", "--json")
        self.assertEqual(followed.code, 0, str(followed))
        steps = followed.events[0]["steps"]
        self.assertEqual(sorted(s["what"] for s in steps if s["what"] in ("Add", "Added")), ["Add"] * 3 + ["Added"] * 3, steps)
        self.assertEqual({s["to"]["name"].split("/")[0] for s in steps}, {number})
        self.assertEqual(self.troupe("inspect", address, "export", "trace.json").code, 0)
        self.assertIn('"Added"', (self.folder / "trace.json").read_text())
        self.assertIn(f"{number}/worker-2", self.troupe("inspect", address).out)
        run.send_signal(signal.SIGINT)
        ended = self.finish(run)
        self.assertEqual(ended.code, 130, str(ended))
        self.assertIn("stopped in round", ended.err)

    def test_bad_input_is_one_line_each(self):
        for text, why in ((COUNTER + "model: {}\n", "conflicts with"), ("troupe: 1\n", "no job; give one of model or counter"),
                          (COUNTER + "train: {}\n", 'goes with "model"'), (COUNTER.replace("step: 4", "step: 9999"), "more than 1000 times")):
            for command in (("check",), ("plan",), ("run", "--nodes", 2)):
                with self.subTest(text=text, command=command):
                    refused = self.troupe(command[0], self.app(text), *command[1:])
                    self.assertEqual(refused.code, 2, str(refused))
                    self.assertIn(why, refused.err)
                    self.assertEqual(refused.err.count("\n"), 1)
        refused = self.troupe("evaluate", self.app(COUNTER))
        self.assertEqual((refused.code, refused.err.count("\n")), (2, 1), str(refused))

    def test_nodes_whose_agents_hang_while_their_heartbeats_go_on_are_given_up(self):
        first = self.node("--devices", "cpu:1", name="a")
        nodes = [first, self.node("--devices", "cpu:1", "--join", first[1], name="b")]
        ended = self.troupe("run", self.app(COUNTER.replace("step: 4", "step: 4, hangs: true")), "--cluster", first[1], "--patience", 3)
        self.assertEqual(ended.code, 3, str(ended))
        self.assertIn("no answer for 3 s, though heartbeats come over an idle link (--patience)", ended.err)
        for process, _ in nodes:
            self.assertIsNone(process.poll())
            process.kill()

    def test_a_program_without_the_kind_is_told_so_by_its_node(self):
        with unittest.mock.patch("support.TROUPE", os.environ["TROUPE_PLAIN"]):
            node, address = self.node("--devices", "cpu:1")
        refused = self.troupe("run", self.app(COUNTER), "--cluster", address)
        self.assertEqual(refused.code, 1, str(refused))
        self.assertIn("has no role 'counter-worker', it has stage", refused.err)
        node.terminate()
        self.finish(node)


if __name__ == "__main__":
    main()
