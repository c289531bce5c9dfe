"""Programs whose variables rotate on real nodes: topics of documents and factors of ratings, also when nodes are killed."""

import json
import math
import random
import re
import shutil
import signal
import time

from support import TroupeTest, main

try:
    import numpy
except ImportError:
    numpy = None

TOPICS, WORDS = 4, 20  # planted: every topic has its own words
LDA = """\
troupe: 1
data: {documents: {lines: texts.txt}}
program: {lda: {topics: 8, alpha: 0.1, beta: 0.01}}
schedule: {rotation: {blocks_per_worker: 2}}
stop: {sweeps: 40}
result: {directory: result}
"""
FACTORS = """\
troupe: 1
data: {ratings: {train: train.txt, test: test.txt}}
program: {factorization: {rank: 4, penalty: 0.01, decay: 0.01}}
schedule: {rotation: {}}
stop: {sweeps: 200}
result: {directory: result}
"""


def word(topic, number):
    return "".join(chr(ord("a") + digit) for digit in (topic, number // 10, number % 10)) + "word"


def made_documents(count=300, length=60):
    draw = random.Random(3)
    lines = []
    for _ in range(count):
        topic = draw.randrange(TOPICS)
        lines.append(" ".join(word(topic, draw.randrange(WORDS)) for _ in range(length)))
    return lines


def made_ratings(users=150, items=80, rank=3, share=0.3, noise=0.1):
    """Of a plain model with noise: what is held out cannot be met better than the noise allows."""
    draw = random.Random(4)
    u = [[draw.gauss(0, 1) for _ in range(rank)] for _ in range(users)]
    v = [[draw.gauss(0, 1) for _ in range(rank)] for _ in range(items)]
    train, test = [], []
    for i in range(users):
        for j in range(items):
            if draw.random() < share:
                value = 3 + sum(a * b for a, b in zip(u[i], v[j])) + draw.gauss(0, noise)
                (test if draw.random() < 0.1 else train).append((i, j, round(value, 4)))
    return train, test


class Rotation(TroupeTest):
    def setUp(self):
        super().setUp()
        (self.folder / "texts.txt").write_text("\n".join(made_documents()) + "\n")

    def result(self):
        return (self.folder / "result/word_topics.npy").read_bytes()

    def ratings(self):
        train, test = made_ratings()
        for name, entries in (("train.txt", train), ("test.txt", test)):
            (self.folder / name).write_text("".join(f"{i}\t{j}\t{v}\t0\n" for i, j, v in entries))
        return test

    def test_topics_that_are_in_the_documents_are_found(self):
        for workers in (1, 2, 4):
            with self.subTest(workers=workers):
                self.find_topics(workers)

    def find_topics(self, workers):
        run = self.troupe("run", self.app(LDA), "--nodes", 2, "--set", f"schedule.workers={workers}", "--json")
        self.assertEqual(run.code, 0, str(run))
        sweeps = run.event("sweep")
        self.assertEqual(len(sweeps), 40)
        self.assertGreater(sweeps[-1]["likelihood"], sweeps[0]["likelihood"])
        rows = [line.split(",") for line in (self.folder / "result/topics.csv").read_text().splitlines()[1:]]
        pure = total = 0
        for topic in {r[0] for r in rows}:
            words = [(r[2][0], int(r[3])) for r in rows if r[0] == topic]
            by_planted = {p: sum(n for w, n in words if w == p) for p, _ in words}
            pure += max(by_planted.values(), default=0)
            total += sum(by_planted.values())
        self.assertGreater(pure, 0.95 * total, rows)
        summary = json.loads((self.folder / "result/summary.json").read_text())
        self.assertEqual(summary["tokens"], 300 * 60)

    def test_the_plan_has_the_blocks(self):
        planned = json.loads(self.troupe("plan", self.app(LDA), "--nodes", 2, "--json").out)
        self.assertEqual([b["worker"] for b in planned["blocks"]], [0, 0, 1, 1])
        self.assertEqual(sum(w["entries"] for w in planned["workers"]), planned["entries"])  # not words: fewer
        self.assertEqual(sum(b["variables"] for b in planned["blocks"]), TOPICS * WORDS)

    def test_a_killed_node_changes_no_topic(self):
        slow = LDA.replace("sweeps: 40", "sweeps: 4000")
        self.assertEqual(self.troupe("run", self.app(slow), "--nodes", 3).code, 0)
        expected = self.result()
        for victim in (0, 2):
            with self.subTest(victim=victim):
                nodes = [self.node(name="a")]
                nodes += [self.node("--join", nodes[0][1], name=name) for name in ("b", "c")]
                run = self.start("run", self.app(slow), "--cluster", nodes[1][1], "--json")
                self.read_event(run, "start")
                self.read_event(run, "sweep")
                nodes[victim][0].send_signal(signal.SIGKILL)
                ended = self.finish(run)
                self.assertEqual(ended.code, 0, str(ended))
                self.assertIn("it carried", ended.event("note")[0]["message"])
                self.assertEqual(self.result(), expected)
                for process, _ in nodes:
                    process.kill()

    def test_a_node_that_only_the_other_nodes_give_up_changes_no_topic(self):
        slow = LDA.replace("sweeps: 40", "sweeps: 4000")
        self.assertEqual(self.troupe("run", self.app(slow), "--nodes", 3).code, 0)
        expected = self.result()
        impatient = ("--heartbeat-ms", 100, "--heartbeat-timeout-ms", 1000)  # the run waits longer for a node
        nodes = [self.node(*impatient, name="a")]
        nodes += [self.node(*impatient, "--join", nodes[0][1], name=name) for name in ("b", "c")]
        run = self.start("run", self.app(slow), "--cluster", nodes[0][1], "--json")
        self.read_event(run, "start")
        self.read_event(run, "sweep")
        nodes[1][0].send_signal(signal.SIGSTOP)
        time.sleep(3)
        nodes[1][0].send_signal(signal.SIGCONT)
        ended = self.finish(run)
        self.assertEqual(ended.code, 0, str(ended))
        notes = [note["message"] for note in ended.event("note")]
        self.assertTrue(any(re.search("have lost each other, .* goes on without node b: .*it carried", note) for note in notes), notes)
        self.assertEqual(self.result(), expected)

    def test_a_run_that_is_stopped_goes_on_to_the_same_topics(self):
        slow = LDA.replace("sweeps: 40", "sweeps: 4000") + "checkpoint: {directory: saved, every_seconds: 1}\n"
        self.assertEqual(self.troupe("run", self.app(slow), "--nodes", 2).code, 0)
        expected = self.result()
        shutil.rmtree(self.folder / "saved")
        run = self.start("run", self.app(slow), "--nodes", 2, "--json")
        self.read_event(run, "sweep")
        run.send_signal(signal.SIGINT)
        stopped = self.finish(run)
        self.assertEqual(stopped.code, 130, str(stopped))
        resumed = self.troupe("run", self.app(slow), "--nodes", 2, "--resume")
        self.assertEqual(resumed.code, 0, str(resumed))
        self.assertEqual(self.result(), expected)
        fewer = self.troupe("run", self.app(slow), "--nodes", 3, "--resume")
        self.assertEqual(fewer.code, 2, str(fewer))
        self.assertIn("is of a run with 2 workers, 1 shard and window 1; documents and their topics", fewer.err)
        wider = self.troupe("run", self.app(slow), "--nodes", 2, "--resume", "--set", "schedule.rotation.window=3",
                            "--set", "stop.sweeps=4020", "--json")
        self.assertEqual(wider.code, 0, str(wider))
        self.assertGreaterEqual(len(wider.event("sweep")), 20, str(wider))
        for bound in ("stop.sweeps=1", "stop.phases=3"):     # passed long ago
            at_once = self.troupe("run", self.app(slow), "--nodes", 2, "--resume", "--set", bound, timeout=30)
            self.assertEqual(at_once.code, 0, str(at_once))

    def test_little_data_takes_fewer_workers(self):
        (self.folder / "texts.txt").write_text("one two\ntwo three\nthree one\n")
        run = self.troupe("run", self.app(LDA.replace("topics: 8", "topics: 2")), "--nodes", 2, "--json")
        self.assertEqual(run.code, 0, str(run))
        self.assertEqual([a["actor"] for a in run.event("start")[0]["plan"]["actors"]], ["worker-0", "scheduler-0"])

    def test_the_inspector_shows_where_the_blocks_are(self):
        run = self.start("run", self.app(LDA.replace("sweeps: 40", "sweeps: 1000000")), "--nodes", 2, "--json")
        start = self.read_event(run, "start")
        self.read_event(run, "sweep")
        shown = json.loads(self.troupe("inspect", start["inspect"], "schedule", "--json").out)
        facts = {a["name"].split("/")[1]: a["facts"] for a in shown["actors"]}
        self.assertRegex(facts["worker-1"]["blocks"], r"^(\d(, \d)*)?$")
        self.assertRegex(facts["worker-1"]["last"], r"^phase \d+: (block [0-3] of 4, \d+ tokens?|probe)$")
        run.terminate()
        self.finish(run, 15)

    def test_factors_meet_what_was_held_out(self):
        if numpy is None:
            self.skipTest("NumPy is not installed")
        test = self.ratings()
        for workers in (1, 2, 4):
            with self.subTest(workers=workers):
                run = self.troupe("run", self.app(FACTORS), "--nodes", 2, "--set", f"schedule.workers={workers}", "--json")
                self.assertEqual(run.code, 0, str(run))
                model = json.loads((self.folder / "result/model.json").read_text())
                u, v, bu, bv = (numpy.load(self.folder / f"result/{name}.npy")
                                for name in ("user_factors", "item_factors", "user_biases", "item_biases"))
                # Users and items are those of both files, in the order of their numbers: here all are there.
                errors = [value - (model["mean"] + bu[i] + bv[j] + u[i] @ v[j]) for i, j, value in test]
                rmse = math.sqrt(sum(e * e for e in errors) / len(errors))
                self.assertAlmostEqual(rmse, model["rmse"], delta=1e-3 * rmse)
                self.assertAlmostEqual(rmse, run.event("sweep")[-1]["rmse"], delta=0.02 * rmse)
                self.assertLess(rmse, 0.15)  # the noise is 0.1

    def test_what_does_not_fit_is_one_line(self):
        def refused(why, *settings, text=LDA):
            self.assert_one_line_error(self.troupe("check", self.app(text), *settings), 2, why)
        self.ratings()
        refused("write schedule: {rotation: {}}", text=LDA.replace("rotation: {blocks_per_worker: 2}", "dynamic: {}"))
        refused("write schedule: {rotation: {}} or schedule: {cyclic: {}}",
                text=FACTORS.replace("rotation: {}", "dynamic: {}"))
        refused("a rotation has one", "--set", "schedule.shards=2")
        ran = self.troupe("run", self.app(LDA), "--set", "schedule.rotation.blocks_per_worker=64",
                          "--set", "schedule.workers=2")
        self.assert_one_line_error(ran, 2, "128 blocks for 80 variables")


main()
