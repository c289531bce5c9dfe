"""Programs of scheduled parameters on real nodes, also when they are killed: the Lasso."""

import json
import math
import os
import re
import signal
import unittest.mock

from program_support import APP, COLUMNS, LAMBDA, ROWS, ProgramTest, objective, solved, write_table
from support import main


class Programs(ProgramTest):
    def test_the_lasso_on_two_nodes_is_what_coordinate_descent_finds(self):
        best = objective(self.rows, self.targets, solved(self.rows, self.targets))
        for settings in ([], ["--set", "schedule.dynamic.window=0"], ["--set", "schedule.shards=3"],
                         ["--set", "schedule.dynamic.couple=check"], ["--set", "schedule.workers=4"]):
            with self.subTest(settings=settings):
                run = self.troupe("run", self.app(APP), "--nodes", 2, "--json", *settings)
                self.assertEqual(run.code, 0, str(run))
                done, = run.event("done")
                found = objective(self.rows, self.targets, self.coefficients())
                self.assertLess(found - best, 1e-8 * best, str(run))
                self.assertTrue(all((self.folder / file).exists() for file in done["result"]), str(run))
                self.assertGreater(len(run.event("sweep")), 0)

    def test_logistic_regression_on_two_nodes_meets_the_conditions_of_the_optimum(self):
        classes = [int(y + 0.3 > 0) for y in self.targets]
        write_table(self.folder, self.rows, classes)
        app = APP.replace("lasso: {", "lasso: {loss: logistic, ")
        for settings in ([], ["--set", "schedule.dynamic.window=0"], ["--set", "schedule.shards=3"],
                         ["--set", "schedule.workers=4", "--set", "schedule.dynamic.window=8"]):
            with self.subTest(settings=settings):
                run = self.troupe("run", self.app(app), "--nodes", 2, "--json", *settings)
                self.assertEqual(run.code, 0, str(run))
                b = self.coefficients()
                margins = [sum(x * c for x, c in zip(row, b)) for row in self.rows]
                errors = [y - 1 / (1 + math.exp(-m)) for y, m in zip(classes, margins)]
                for j, c in enumerate(b):
                    gradient = sum(row[j] * e for row, e in zip(self.rows, errors)) / ROWS
                    if c == 0:
                        self.assertLess(abs(gradient), LAMBDA)
                    else:
                        self.assertAlmostEqual(gradient, math.copysign(LAMBDA, c), 5)
                self.assertGreater(sum(c != 0 for c in b), 2)
        loss = sum(math.log1p(math.exp(-m if y else m)) for y, m in zip(classes, margins)) / ROWS
        right = sum((m > 0) == bool(y) for y, m in zip(classes, margins)) / ROWS
        said, = self.troupe("evaluate", self.app(app), "--json").event("evaluation")
        self.assertAlmostEqual(said["log_loss"], loss, 7)  # features are float32
        self.assertAlmostEqual(said["accuracy"], right, 9)
        predicted = self.troupe("predict", self.app(app)).out.split()
        self.assertAlmostEqual(float(predicted[1]), 1 / (1 + math.exp(-margins[0])), 6)
        several = [3 if y else 7 for y in classes]
        for targets, settings, line, why in (
                ([1] * ROWS, "", ROWS + 1, "all targets are of one class"),
                (classes[:-1] + [-1], "", ROWS + 1, "the targets are 0, 1 and -1"),
                (several, "", 2, f"a target is {several[0]}, but with loss: logistic the targets are two classes"),
                (several, ", target: {label: 5}", ROWS + 1, "no target is 5"),
                ([3] * ROWS, ", target: {label: 3}", ROWS + 1, "every target is 3")):
            write_table(self.folder, self.rows, targets)
            for command in ("check", "run"):
                with self.subTest(why, command=command):
                    refused = self.troupe(command, self.app(app.replace("logistic", "logistic" + settings)))
                    self.assert_one_line_error(refused, 2, "app.yaml:2:", f"x.csv: line {line}: ", why)

    def test_it_is_checked_planned_and_explained(self):
        self.assertEqual(self.troupe("check", self.app(APP)).out, f"{self.folder}/app.yaml: ok\n")
        planned = json.loads(self.troupe("plan", self.app(APP), "--nodes", 3, "--json", "--set", "schedule.shards=2").out)
        self.assertEqual((planned["rows"], planned["variables"], planned["entries"]), (ROWS, COLUMNS, ROWS * COLUMNS))
        self.assertEqual([w["rows"] for w in planned["workers"]], [40, 40, 40])
        self.assertEqual([s["variables"] for s in planned["schedulers"]], [6, 6])
        self.assertIn("L1 penalty", self.troupe("explain", "program.lasso").out)

    def test_a_killed_node_changes_nothing(self):
        """A cluster of three nodes: the one with a scheduler and a worker, then one with a worker alone."""
        slow = APP.replace("window: 2", "window: 2, set: 1") \
                  .replace("gap: 1e-9", "gap: 0, phases: 6000")
        quiet = self.troupe("run", self.app(slow), "--nodes", 3, "--json")
        self.assertEqual(quiet.code, 0, str(quiet))
        expected = (self.folder / "result/coefficients.npy").read_bytes()
        for victim in (0, 2):
            with self.subTest(victim=victim):
                nodes = [self.node(name="a")]
                nodes += [self.node("--join", nodes[0][1], name=name) for name in ("b", "c")]
                client = nodes[1][1]
                run = self.start("run", self.app(slow), "--cluster", client, "--json")
                start = self.read_event(run, "start")
                for _ in range(3):  # the first commit is complete by then
                    self.read_event(run, "sweep")
                nodes[victim][0].send_signal(signal.SIGKILL)
                ended = self.finish(run)
                self.assertEqual(ended.code, 0, str(ended))
                self.assertEqual((start["nodes"], ended.event("done")[0]["nodes"]), (3, 2))
                notes = [e["message"] for e in ended.event("note")]
                self.assertIn("it carried", notes[0])
                if victim == 0:
                    self.assertIn("the run goes on from phase", notes[0])
                else:  # nobody else computes anything again
                    self.assertRegex(notes[0], "worker-2 on .* takes over$")
                    self.assertRegex(notes[1], r"^worker-2 replays [1-9][\d,]* phases, and all others keep what they have computed$")
                self.assertEqual(len(notes), 1 + (victim == 2), notes)
                self.assertEqual((self.folder / "result/coefficients.npy").read_bytes(), expected)
                for process, _ in nodes:
                    process.kill()

    def test_a_node_that_is_stopped_in_order_changes_nothing(self):
        slow = APP.replace("window: 2", "window: 2, set: 1") \
                  .replace("gap: 1e-9", "gap: 0, phases: 6000")
        self.assertEqual(self.troupe("run", self.app(slow), "--nodes", 3).code, 0)
        expected = (self.folder / "result/coefficients.npy").read_bytes()
        nodes = [self.node(name="a")]
        nodes += [self.node("--join", nodes[0][1], name=name) for name in ("b", "c")]
        run = self.start("run", self.app(slow), "--cluster", nodes[1][1], "--json")
        self.read_event(run, "start")
        self.read_event(run, "sweep")
        nodes[2][0].send_signal(signal.SIGTERM)
        ended = self.finish(run)
        self.assertEqual(ended.code, 0, str(ended))
        self.assertRegex(ended.event("note")[0]["message"], "node c .*; it carried worker-2 on c/cpu:0; ")
        self.assertEqual((self.folder / "result/coefficients.npy").read_bytes(), expected)

    def test_columns_that_are_constant_are_told(self):
        """However little a column varies beside its mean, it is not taken for a constant one."""
        rows = [[7.0, 1e8 + i % 3, i % 4 - 1.5, i] for i in range(48)]
        (self.folder / "x.csv").write_text("a,b,c,y\n" + "".join(",".join(map(repr, row)) + "\n" for row in rows))
        run = self.troupe("run", self.app(APP.replace("intercept: false", "intercept: true")), "--json")
        self.assertEqual(run.event("sweep")[-1]["constant_columns"], 1, str(run))
        (self.folder / "x.csv").write_text("a,c,y\n" + "".join(f"{i % 5},{i % 4},{i}\n" for i in range(48)))
        run = self.troupe("run", self.app(APP), "--json")
        self.assertNotIn("constant_columns", run.event("sweep")[-1])

    def test_the_inspector_shows_what_the_actors_of_a_run_are_at(self):
        endless = APP.replace("window: 2", "window: 2, set: 1").replace("gap: 1e-9", "gap: 0, phases: 1000000000")
        run = self.start("run", self.app(endless), "--nodes", 2, "--json", "--set", "schedule.shards=2")
        start = self.read_event(run, "start")
        self.read_event(run, "sweep")

        def look(view, *words):
            return json.loads(self.troupe("inspect", start["inspect"], view, *words, "--json").out)

        def facts():
            return {a["name"].split("/")[1]: a["facts"] for a in look("schedule", f"run={start['run']}")["actors"]}
        before = facts()
        self.assertEqual(list(before), ["leader", "scheduler-0", "scheduler-1", "worker-0", "worker-1"])
        self.assertEqual(before["leader"]["course"], "running")
        self.assertEqual(before["scheduler-1"]["window"], "2")
        self.assertRegex(before["scheduler-0"]["chosen"], r"phase \d+: (\d+ variables?|probe)")
        self.assertRegex(before["worker-1"]["last"], r"phase \d+: (\d+ variables?|probe)")
        for actor in ("scheduler-0", "worker-1"):
            self.eventually(lambda: int(facts()[actor]["phase"]) > int(before[actor]["phase"]), f"{actor} goes on")
        followed = self.troupe("inspect", start["inspect"], "follow", "phase=next").out
        self.assertRegex(followed, r"^phase \d+ of run \w+: \d+ steps, ")
        shown = self.troupe("inspect", start["inspect"], "schedule").out
        self.assertTrue(shown.startswith("run "), shown)
        self.assertIn("chosen", shown)
        results, = look("results")["runs"]
        self.assertTrue(results["name"].endswith("/leader"), results)
        last = results["milestones"][-1]
        self.assertGreaterEqual(last["milestone"], 1)
        self.assertGreater(last["seconds"], 0)
        self.assertLessEqual({"objective", "gap", "phases"}, set(last["numbers"]))
        self.assertRegex(self.troupe("inspect", start["inspect"], "results").out, r"^run \w+\nmilestone +at +objective +gap ")
        server, = look("staleness")["servers"]
        self.assertEqual([w["worker"] for w in server["workers"]], [0, 1])
        run.terminate()
        self.finish(run, 15)

    def test_a_run_says_which_bound_has_ended_it(self):
        for bounds, key in (("gap: 1e-9", "gap"), ("gap: 0, sweeps: 2", "sweeps"), ("gap: 0, phases: 20", "phases"),
                            ("gap: 0, seconds: 0.1", "seconds")):
            with self.subTest(key):
                app = self.app(APP.replace("gap: 1e-9", bounds))
                done, = self.troupe("run", app, "--json").event("done")
                self.assertEqual(done["ended_by"], key)
        self.assertIn(", stop.seconds reached", self.troupe("run", app).out)

    def test_a_gap_that_no_longer_falls_is_noted_once(self):
        app = self.app(APP.replace("gap: 1e-9", "gap: 1e-30, phases: 5000"))
        run = self.troupe("run", app, "--json")
        note, = run.event("note")
        self.assertIn("the gap has not fallen by a hundredth in 20 sweeps", note["message"])
        self.assertEqual(run.event("done")[0]["ended_by"], "phases")
        self.assertEqual(self.troupe("run", self.app(APP), "--json").event("note"), [])

    def test_check_applies_what_is_true_on_any_devices(self):
        for setting, why in (("schedule.shards=50", "50 shards for 12 variables"), ("schedule.workers=1000", "1000 workers for 120 rows")):
            with self.subTest(setting):
                self.assert_one_line_error(self.troupe("check", self.app(APP), "--set", setting), 2, "--set schedule.", why)
        texts = APP.replace("{matrix: {features: x.csv, target_column: y}}", "{documents: {lines: x.csv}}") \
                   .replace("dynamic: {window: 2}", "rotation: {blocks_per_worker: 60}").replace("gap: 1e-9", "sweeps: 2")
        texts = re.sub("program: .*", "program: {lda: {topics: 2}}", texts)
        self.assert_one_line_error(self.troupe("check", self.app(texts)), 2, "schedule.rotation: 60 blocks for ")
        self.assertEqual(self.troupe("check", self.app(APP), "--set", "schedule.shards=12").code, 0)

    def test_nodes_with_different_instruction_sets_are_noted_where_bits_depend_on_them(self):
        with unittest.mock.patch.dict(os.environ, {"ONEDNN_MAX_CPU_ISA": "SSE41"}):
            _, address = self.node(name="old")
        _, _ = self.node("--join", address, name="new")
        lines = [f"{y} " + " ".join(f"{j + 1}:{x}" for j, x in enumerate(row)) for row, y in zip(self.rows, self.targets)]
        (self.folder / "x.svm").write_text("\n".join(lines) + "\n")
        sparse = APP.replace("features: x.csv, target_column: y", "features: x.svm")
        for command in ("plan", "run"):
            noted = self.troupe(command, self.app(APP), "--cluster", address)
            self.assertEqual(noted.code, 0, str(noted))
            self.assertRegex(noted.err, r"note: processors compute with different instruction sets: "
                                        r"AVX[\w ]+ on new; SSE41 on old; their sums differ in the last bits")
            same = self.troupe(command, self.app(sparse), "--cluster", address)
            self.assertEqual(same.code, 0, str(same))
            self.assertNotIn("instruction sets", same.err)
            self.assertNotIn("instruction sets", self.troupe(command, self.app(APP), "--nodes", 2).err)

    def test_settings_without_effect_are_noted_if_they_are_given(self):
        self.assertEqual(self.troupe("check", self.app(APP)).err, "")
        noted = self.troupe("check", self.app(APP), "--set", "schedule.dynamic.rho=0.1")
        self.assertEqual(noted.code, 0)
        self.assertRegex(noted.err, r"^troupe: note: .*schedule\.dynamic\.rho: not used by couple: exact")


if __name__ == "__main__":
    main()
