"""Programs of scheduled parameters: the Lasso on real nodes, also when they are killed, and a program of one's own."""

import json
import math
import pathlib
import random
import re
import shutil
import signal
import subprocess

from support import APP as NETWORK
from support import SOURCE, TROUPE, TroupeTest, main

try:
    import numpy
except ImportError:
    numpy = None

ROWS, COLUMNS = 120, 12
LAMBDA = 0.05
APP = f"""\
troupe: 1
data: {{matrix: {{features: x.csv, target_column: y}}}}
program: {{lasso: {{penalty: {{lambda: {LAMBDA}}}, intercept: false}}}}
schedule: {{dynamic: {{window: 2}}}}
stop: {{gap: 1e-9}}
result: {{directory: result}}
"""


def made_table():
    """Rows of correlated columns, and targets of some of them with noise."""
    draw = random.Random(5)
    rows, targets = [], []
    for _ in range(ROWS):
        common = draw.gauss(0, 1)
        row = [round(draw.gauss(0, 1) + 0.5 * common, 4) for _ in range(COLUMNS)]
        rows.append(row)
        targets.append(round(2 * row[1] - row[4] + 0.5 * row[9] + draw.gauss(0, 0.3), 4))
    return rows, targets


def write_table(folder, rows, targets):
    lines = [",".join([*(f"x{j}" for j in range(COLUMNS)), "y"])]
    lines += [",".join(map(str, [*row, y])) for row, y in zip(rows, targets)]
    (folder / "x.csv").write_text("\n".join(lines) + "\n")


def objective(rows, targets, b):
    errors = [y - sum(x * c for x, c in zip(row, b)) for row, y in zip(rows, targets)]
    return sum(e * e for e in errors) / (2 * len(rows)) + LAMBDA * sum(map(abs, b))


def solved(rows, targets):
    """By plain coordinate descent, far beyond what is asked for."""
    n = len(rows)
    b = [0.0] * COLUMNS
    r = list(targets)
    squares = [sum(row[j] ** 2 for row in rows) for j in range(COLUMNS)]
    for _ in range(500):
        for j in range(COLUMNS):
            z = sum(row[j] * e for row, e in zip(rows, r)) + squares[j] * b[j]
            new = math.copysign(max(abs(z) - n * LAMBDA, 0), z) / squares[j]
            if new != b[j]:
                r = [e + (b[j] - new) * row[j] for row, e in zip(rows, r)]
                b[j] = new
    return b


class Programs(TroupeTest):
    def setUp(self):
        super().setUp()
        self.rows, self.targets = made_table()
        write_table(self.folder, self.rows, self.targets)

    def coefficients(self, folder="result"):
        b = [0.0] * COLUMNS
        lines = (self.folder / folder / "coefficients.csv").read_text().splitlines()
        header = lines[0].split(",")
        for line in lines[1:]:
            fields = dict(zip(header, line.split(",")))
            name = next(v for v in fields.values() if re.fullmatch(r"x\d+", v))
            b[int(name[1:])] = float(line.split(",")[-1])
        return b

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
        write_table(self.folder, self.rows, [1] * ROWS)
        refused = self.troupe("run", self.app(app))
        self.assertIn("all targets are of one class", str(refused))
        self.assertNotEqual(refused.code, 0)
        write_table(self.folder, self.rows, self.targets)
        self.assertIn("the targets are two classes", str(self.troupe("run", self.app(app))))

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
                self.read_event(run, "start")
                self.read_event(run, "sweep")
                nodes[victim][0].send_signal(signal.SIGKILL)
                ended = self.finish(run)
                self.assertEqual(ended.code, 0, str(ended))
                notes = [e["message"] for e in ended.event("note")]
                self.assertIn("it carried", notes[0])
                if victim == 0:
                    self.assertIn("the run goes on from phase", notes[0])
                else:  # nobody else computes anything again
                    self.assertRegex(notes[0], "worker-2 on .* takes over, and all others keep what they have computed$")
                    self.assertRegex(notes[1], r"^worker-2 replays [1-9][\d,]* phases$")
                self.assertEqual(len(notes), 1 + (victim == 2), notes)
                self.assertEqual((self.folder / "result/coefficients.npy").read_bytes(), expected)
                for process, _ in nodes:
                    process.kill()

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

    def test_a_run_that_is_stopped_goes_on_to_the_same_result(self):
        slow = APP.replace("window: 2", "window: 2, set: 1").replace("gap: 1e-9", "gap: 0, phases: 20000") \
            + "checkpoint: {directory: saved, every_seconds: 1}\n"
        self.assertEqual(self.troupe("run", self.app(slow), "--nodes", 2).code, 0)
        expected = (self.folder / "result/coefficients.npy").read_bytes()
        refused = self.troupe("run", self.app(slow), "--nodes", 2)
        if any((self.folder / "saved").glob("phase-*")):
            self.assert_one_line_error(refused, 2, "go on from them with --resume")
        shutil.rmtree(self.folder / "saved", ignore_errors=True)
        run = self.start("run", self.app(slow), "--nodes", 2, "--json")
        self.read_event(run, "sweep")
        run.send_signal(signal.SIGINT)
        stopped = self.finish(run)
        self.assertEqual(stopped.code, 130, str(stopped))
        saved = sorted((self.folder / "saved").glob("phase-*"))
        self.assertTrue(saved, str(stopped))
        other = self.troupe("run", self.app(slow.replace("lambda: 0.05", "lambda: 0.06")), "--nodes", 2, "--resume")
        self.assert_one_line_error(other, 2, "other data, settings, schedule or seed")
        resumed = self.troupe("run", self.app(slow), "--nodes", 2, "--resume", "--json")
        self.assertEqual(resumed.code, 0, str(resumed))
        self.assertTrue(str(saved[-1]).endswith(resumed.event("start")[0]["resumed_from"]), str(resumed))
        self.assertEqual((self.folder / "result/coefficients.npy").read_bytes(), expected)
        newest = sorted((self.folder / "saved").glob("phase-*"))[-1]
        part = newest / "worker-0.safetensors"
        part.write_bytes(part.read_bytes()[:-1] + b"x")
        damaged = self.troupe("run", self.app(slow), "--nodes", 2, "--resume")
        self.assert_one_line_error(damaged, 2, "damaged", "worker-0.safetensors", "to go on from")

    def test_a_run_goes_on_with_another_window_and_other_shares(self):
        text = APP.replace("window: 2", "window: 2, set: 1").replace("gap: 1e-9", "gap: 1e-9, phases: 40") \
            + "checkpoint: {directory: saved, every_seconds: 1}\n"
        objectives = {}
        for name, nodes, others in (("wide", 2, ["schedule.dynamic.window=8"]), ("narrow", 2, ["schedule.dynamic.window=0"]),
                                    ("shards", 2, ["schedule.shards=3"]),
                                    ("all", 3, ["schedule.dynamic.window=5", "schedule.shards=2"])):
            with self.subTest(name):
                shutil.rmtree(self.folder / "saved", ignore_errors=True)
                self.assertEqual(self.troupe("run", self.app(text), "--nodes", 2).code, 0)
                self.assertTrue(any((self.folder / "saved").glob("phase-*")))
                others = [word for o in others + ["stop.phases=0"] for word in ("--set", o)]
                shutil.copytree(self.folder / "saved", self.folder / "kept", dirs_exist_ok=True)
                resumed = self.troupe("run", self.app(text), "--nodes", nodes, "--resume", *others, "--json")
                self.assertEqual(resumed.code, 0, str(resumed))
                self.assertLessEqual(resumed.event("sweep")[-1]["gap"], 1e-9)
                objectives[name] = objective(self.rows, self.targets, self.coefficients())
                once = (self.folder / "result/coefficients.npy").read_bytes()
                shutil.rmtree(self.folder / "saved")
                (self.folder / "kept").rename(self.folder / "saved")
                again = self.troupe("run", self.app(text), "--nodes", nodes, "--resume", *others)
                self.assertEqual(again.code, 0, str(again))
                self.assertEqual((self.folder / "result/coefficients.npy").read_bytes(), once)
        best = objective(self.rows, self.targets, solved(self.rows, self.targets))
        for name, found in objectives.items():
            self.assertLess(abs(found / best - 1), 1e-6, name)

    def test_a_run_that_has_ended_goes_on_with_other_bounds(self):
        text = APP + "checkpoint: {directory: saved}\n"
        best = objective(self.rows, self.targets, solved(self.rows, self.targets))
        for first in ("stop.sweeps=2", "stop.phases=6", "stop.gap=1e-3"):
            with self.subTest(first):
                shutil.rmtree(self.folder / "saved", ignore_errors=True)
                self.assertEqual(self.troupe("run", self.app(text), "--set", first).code, 0)
                early = objective(self.rows, self.targets, self.coefficients())
                on = self.troupe("run", self.app(text), "--resume", "--json")
                self.assertEqual(on.code, 0, str(on))
                self.assertEqual(on.event("done")[0]["ended_by"], "gap")
                self.assertLess(objective(self.rows, self.targets, self.coefficients()), early)
                self.assertLess(objective(self.rows, self.targets, self.coefficients()) / best - 1, 1e-6)
                whole = (self.folder / "result/coefficients.npy").read_bytes()
                again = self.troupe("run", self.app(text), "--resume", "--json") # nothing is left to do
                self.assertEqual(again.code, 0, str(again))
                self.assertEqual((self.folder / "result/coefficients.npy").read_bytes(), whole)

    def trained(self, text):
        run = self.troupe("run", self.app(text), "--devices", "cpu:1", "--json")
        self.assertEqual(run.code, 0, str(run))

    def test_what_a_result_predicts_and_how_well_is_what_its_coefficients_say(self):
        """Beside plain sums, and beside numpy's product where numpy is there."""
        for name, text in (("lambda", APP), ("intercept", APP.replace(", intercept: false", "")),
                           ("scaled", APP.replace("y}}", "y}, scale: unit_norm}").replace(", intercept: false", ""))):
            with self.subTest(name):
                self.trained(text)
                b = self.coefficients()
                intercept = float((self.folder / "result/path.csv").read_text().splitlines()[1].split(",")[-1])
                if name == "scaled":
                    means = [sum(row[j] for row in self.rows) / ROWS for j in range(COLUMNS)]
                    b = [c / math.sqrt(sum((row[j] - means[j]) ** 2 for row in self.rows)) for j, c in enumerate(b)]
                expected = [intercept + sum(x * c for x, c in zip(row, b)) for row in self.rows]
                predicted = self.troupe("predict", self.app(text)).out.splitlines()
                self.assertEqual((predicted[0], len(predicted)), ("prediction", 1 + ROWS))
                for found, wanted in zip(map(float, predicted[1:]), expected):
                    self.assertAlmostEqual(found, wanted, delta=1e-6)  # features are kept as float32
                errors = [(y - p) ** 2 for y, p in zip(self.targets, expected)]
                mean = sum(self.targets) / ROWS
                line, = self.troupe("evaluate", self.app(text), "result", "--json").event("evaluation")
                self.assertEqual((line["program"], line["rows"]), ("lasso", ROWS))
                self.assertAlmostEqual(line["mse"], sum(errors) / ROWS, delta=1e-6)
                self.assertAlmostEqual(line["r2"], 1 - sum(errors) / sum((y - mean) ** 2 for y in self.targets), delta=1e-6)
                self.assertRegex(self.troupe("evaluate", self.app(text)).out, r"^mse \S+  r2 0\.\d+  of \S*result\n$")
                if numpy is None:
                    continue
                saved = numpy.load(self.folder / "result/coefficients.npy")[0]
                if name == "scaled":
                    saved = saved / numpy.load(self.folder / "result/scales.npy")
                product = numpy.array(self.rows, "f4").astype("f8") @ saved + intercept
                self.assertLess(abs(product - [float(p) for p in predicted[1:]]).max(), 1e-12)

    def test_new_data_needs_no_targets(self):
        path = APP.replace("lambda: 0.05", "path: {count: 4, ratio: 0.01}")
        self.trained(path)
        (self.folder / "new.csv").write_text("\n".join(
            [",".join(f"x{j}" for j in range(COLUMNS)), *(",".join(map(str, row)) for row in self.rows[:7])]) + "\n")
        said = self.troupe("predict", self.app(path), "--data", "new.csv", "--out", "predicted.csv", "--json")
        line, = said.event("predictions")
        self.assertEqual((line["rows"], line["lines"], line["file"]), (7, 7, "predicted.csv"))
        written = (self.folder / "predicted.csv").read_text()
        lambdas = [line.split(",")[0] for line in (self.folder / "result/path.csv").read_text().splitlines()[1:]]
        self.assertEqual(written.splitlines()[0], ",".join(f"lambda {number}" for number in lambdas))
        self.assertEqual(written.splitlines(), self.troupe("predict", self.app(path)).out.splitlines()[:8])
        write_table(self.folder, self.rows[:7], ["?", "", "nan", "a b", '"a, b"', "1e999", "-"])
        self.assertEqual(self.troupe("predict", self.app(path)).out, written)
        write_table(self.folder, self.rows, self.targets)
        again = self.troupe("predict", self.app(path), "--out", "predicted.csv")
        self.assert_one_line_error(again, 2, "predicted.csv: is there already")
        self.assertEqual(self.troupe("predict", self.app(path), "--out", "predicted.csv", "--force").code, 0)
        (self.folder / "full").symlink_to("/dev/full")
        full = self.troupe("predict", self.app(path), "--out", "full", "--force")
        self.assert_one_line_error(full, 2, "--out: full: cannot be written")
        self.assertTrue((self.folder / "full").is_symlink())
        evaluated = self.troupe("evaluate", self.app(path), "--json").event("evaluation")
        self.assertEqual([str(e["lambda"]) for e in evaluated], lambdas)
        self.assertEqual(sorted(evaluated, key=lambda e: -e["mse"]), evaluated)

    def test_a_result_or_data_that_does_not_fit_is_one_sentence(self):
        self.trained(APP)
        app = self.app(APP)

        def refused(why, *words, command="predict", code=2):
            with self.subTest(why=why):
                self.assert_one_line_error(self.troupe(command, app, *words), code, why)

        for folder in ("empty", "other"):
            (self.folder / folder).mkdir()
        (self.folder / "other/result.json").write_text('{"program": "lda"}')
        (self.folder / "swapped.csv").write_text(",".join(f"x{j}" for j in reversed(range(COLUMNS))) + "\n" + "1," * (COLUMNS - 1) + "1\n")
        (self.folder / "narrow.csv").write_text("x0,x1\n1,2\n")
        refused("nowhere: no such folder", "nowhere")
        refused("empty: has no result.json", "empty")
        refused('is a result of the program "lda"', "other")
        refused("with the same columns", "--data", "narrow.csv")
        refused('column 0 of the data is "x11"', "--data", "swapped.csv")
        refused("none.csv", "--data", "none.csv")
        refused('no target column "y"', "--data", "narrow.csv", command="evaluate")
        refused("without data.scale: unit_norm", "--set", "data.scale=unit_norm")
        refused("--weights is for networks", "--weights", "x", command="evaluate")
        bare = APP.replace("result: {directory: result}\n", "")
        self.assert_one_line_error(self.troupe("predict", self.app(bare)), 2, "names no folder")
        network = self.app(NETWORK)
        self.assert_one_line_error(self.troupe("predict", network), 2, "predicts nothing")
        self.assert_one_line_error(self.troupe("evaluate", network, "result"), 2, "RESULT and --data are for programs")

    def test_a_run_replaces_its_own_result_and_nobody_elses_files(self):
        self.trained(APP)
        self.trained(APP.replace("0.05", "0.06"))
        documents = """\
troupe: 1
data: {documents: {lines: x.csv}}
program: {lda: {topics: 2}}
schedule: {rotation: {}}
stop: {sweeps: 2}
result: {directory: result}
"""
        before = (self.folder / "result/coefficients.npy").read_bytes()
        (self.folder / "notes").mkdir()
        self.write("notes/x.txt", "mine")
        for command in ("run", "check"):
            taken = self.troupe(command, self.app(documents))
            self.assert_one_line_error(taken, 2, "app.yaml:6:", "result.directory: ", 'a result of the program "lasso"',
                                       "name a new folder")
            taken = self.troupe(command, self.app(documents.replace("directory: result", "directory: notes")))
            self.assert_one_line_error(taken, 2, "has files that are no result of lda, such as x.txt")
        self.assertEqual((self.folder / "result/coefficients.npy").read_bytes(), before)
        self.assertEqual([f.name for f in (self.folder / "notes").iterdir()], ["x.txt"])

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
        self.assertIn("the gap has not fallen in 20 sweeps", note["message"])
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

    def test_settings_without_effect_are_noted_if_they_are_given(self):
        self.assertEqual(self.troupe("check", self.app(APP)).err, "")
        noted = self.troupe("check", self.app(APP), "--set", "schedule.dynamic.rho=0.1")
        self.assertEqual(noted.code, 0)
        self.assertRegex(noted.err, r"^troupe: note: .*schedule\.dynamic\.rho: not used by couple: exact")

    def test_bad_input_is_one_line_each(self):
        def check(text, why, code=2, command=("check",), **files):
            for name, content in files.items():
                (self.folder / f"{name}.csv").write_text(content)
            with self.subTest(why=why):
                refused = self.troupe(command[0], self.app(text), *command[1:])
                self.assert_one_line_error(refused, code, why)

        check(APP + "model: {}\n", "conflicts with")
        check(APP + "train: {}\n", 'goes with "model"')
        check(APP.replace("lasso:", "laso:"), 'did you mean "lasso"?')
        check(APP.replace("intercept", "intercepts"), 'did you mean "intercept"?')
        check(APP.replace("x.csv", "none.csv"), "none.csv")
        check(APP.replace("target_column: y", "target_column: z"), "z")
        check(APP.replace("x.csv", "ragged.csv"), "ragged.csv: line 3", ragged="a,y\n1,2\n1,2,3\n")
        check(APP.replace("x.csv", "nan.csv"), "nan.csv: line 2", nan="a,y\nnan,2\n1,2\n")
        check(APP.replace("gap: 1e-9", "gap: 0"), "stop")
        check(APP.replace("dynamic: {window: 2}", "random: {}"), "schedule.random: unknown key")
        check(APP.replace("{dynamic: {window: 2}}", "{workers: 1000}"), "1000 workers for 120 rows", command=("run", "--nodes", 2))
        check(APP.replace("{dynamic: {window: 2}}", "{shards: 50}"), "50 shards for 12 variables", command=("run", "--nodes", 2))
        for data, why in (
            ("{documents: {lines: x.csv}}", "data.documents: has no targets, which the program needs"),
            ("{documents: {lines: x.csv, text: texts}}", 'data.documents.text: conflicts with "lines"'),
            ("{documents: {documents_min: 2}}", "give exactly one of counts, text, lines or dictionary"),
            ("{documents: {lines: x.csv, vocabulary: v}}", "data.documents.vocabulary: goes with counts"),
            ("{documents: {counts: c, stop_words: english}}", "counts without a vocabulary have no words"),
            ("{documents: {lines: x.csv, stem: klingon}}", 'data.documents.stem: unknown word "klingon"'),
            ("{ratings: {train: x.csv}}", "data.ratings: has no targets, which the program needs"),
            ("{ratings: {test: x.csv}}", 'data.ratings: missing key "train"'),
            ("{ratings: {train: x.csv}, scale: unit_norm}", "data.scale: is for matrices"),
        ):
            check(APP.replace("{matrix: {features: x.csv, target_column: y}}", data), why)
        check(APP, "names no checkpoint folder", command=("run", "--resume"))
        check(APP, "no module of a program", command=("check", "--program", __file__))
        check(APP, "none.so", command=("check", "--program", "none.so"))


class DocumentsAndRatings(TroupeTest):
    """Data of programs that take no targets."""

    def data(self, data, program):
        return self.app(f"troupe: 1\ndata: {data}\nprogram: {program}\nschedule: {{rotation: {{blocks_per_worker: 1}}}}\n"
                        "stop: {sweeps: 2}\nresult: {directory: result}\n")

    def documents(self, settings):
        return self.data(f"{{documents: {{{settings}}}}}", "{lda: {topics: 2}}")

    def ratings(self, settings):
        return self.data(f"{{ratings: {{{settings}}}}}", "factorization")

    def write_files(self, **files):
        for name, content in files.items():
            (self.folder / name).write_bytes(content)

    def planned(self, app):
        plan = self.troupe("plan", app, "--nodes", 2, "--json")
        self.assertEqual(plan.code, 0, str(plan))
        numbers = json.loads(plan.out)
        return numbers["rows"], numbers["variables"], numbers["entries"]

    def test_documents_of_all_kinds_have_rows_and_words(self):
        self.write_files(lines=b"The cat sat\nDogs and a cat\n42\ncats\n", counts=b"2 0:1 1:2\n1 1:1\n", words=b"cat\ndog\n",
                   uci=b"2\n3\n3\n1 1 1\n1 3 4\n2 3 1\n")
        (self.folder / "folder/below").mkdir(parents=True)
        self.write_files(**{"folder/b": b"one two", "folder/below/a": b"two"})
        self.write_files(**{"d.dict": b"cat: a petdog: a pet", "d.index": b"cat\tA\tK\nkitten\tA\tK\ndog\tK\tK\n"})
        self.assertEqual(self.planned(self.documents("lines: lines, stop_words: english, stem: english")), (3, 3, 5))
        self.assertEqual(self.planned(self.documents("counts: counts, vocabulary: words")), (2, 2, 3))
        self.assertEqual(self.planned(self.documents("counts: uci")), (2, 2, 3))
        self.assertEqual(self.planned(self.documents("text: folder")), (2, 2, 3))
        self.assertEqual(self.planned(self.documents("dictionary: d.dict, length_min: 2")), (2, 3, 4))

    def test_words_and_what_is_left_out_are_said(self):
        self.write_files(lines=b"ant bee ant\n42\nbee cat\n")
        run = self.troupe("run", self.documents("lines: lines"), "--nodes", 2, "--json")
        self.assertEqual(run.code, 0, str(run))
        self.assertIn("1 of 3 documents have no words that are kept", str(run))
        self.assertEqual((self.folder / "result/words.txt").read_text().split(), ["ant", "bee", "cat"])

    def test_a_result_is_used_with_words_that_are_found_as_in_its_run(self):
        self.write_files(lines=b"The cats sat\nDogs and cats\n", more=b"the cat sat\n")
        app = self.documents("lines: lines, stem: english, length_min: 3, stop_words: english")
        self.assertEqual(self.troupe("run", app).code, 0)
        self.assertEqual(self.troupe("evaluate", app, "--data", "more").code, 0)
        for setting, then in (("stem=none", "which is english"), ("length_min=2", "which is 3"), ("stop_words=none", "which is english"),
                              ("stop_words_file=more", "which is none")):
            for command in ("evaluate", "predict"):
                with self.subTest(setting=setting, command=command):
                    self.assert_one_line_error(self.troupe(command, app, "--set", f"data.documents.{setting}"), 2,
                                               f"data.documents.{setting.split('=')[0]}: is not that of the words", then)

    def test_ratings_are_learned_from_and_held_out(self):
        self.write_files(train=b"userId,movieId,rating,timestamp\n" + b"".join(
            b"%d,%d,%d,0\n" % (u, i, 1 + (u * i) % 5) for u in range(8) for i in range(6) if u != i),
            test=b"9\t3\t4\t0\n3\t3\t2\t0\n")
        self.assertEqual(self.planned(self.ratings("train: train, test: test")), (9, 6, 42))
        run = self.troupe("run", self.ratings("train: train, test: test"), "--nodes", 2, "--json")
        self.assertEqual(run.code, 0, str(run))
        self.assertLess({"rmse", "training_rmse", "objective"}, set(run.event("sweep")[-1]))
        scored, = self.troupe("evaluate", self.ratings("train: train, test: test"), "--json").event("evaluation")
        self.assertLess({"rmse", "training_rmse"}, set(scored))
        learned, = self.troupe("evaluate", self.ratings("train: train"), "--json").event("evaluation")
        self.assertEqual(("rmse" in learned, learned["training_rmse"]), (False, scored["training_rmse"]))
        others, = self.troupe("evaluate", self.ratings("train: train"), "--data", "test", "--json").event("evaluation")
        self.assertEqual(("training_rmse" in others, others["rmse"]), (False, scored["rmse"]))
        self.assertRegex(self.troupe("evaluate", self.ratings("train: train")).out, r"^training rmse \d\.\d+  of ")

    def test_settings_without_effect_and_too_many_topics_are_noted(self):
        self.write_files(lines=b"ant bee ant\nbee cat\n", train=b"1 1 3\n1 2 4\n2 1 1\n")

        def notes(app, *settings):
            checked = self.troupe("check", app, *(word for setting in settings for word in ("--set", setting)))
            self.assertEqual(checked.code, 0, str(checked))
            return re.findall(r"(?m)^troupe: note: .*?((?:program|stop)\.[a-z_.]+): ", checked.err)
        topics = self.documents("lines: lines")
        self.assertEqual(notes(topics), [])
        self.assertEqual(notes(topics, "stop.gap=0.1", "program.lda.proposals=2", "program.lda.topics=3"),
                         ["stop.gap", "program.lda.proposals", "program.lda.topics"])
        factors = self.ratings("train: train")
        self.assertEqual(notes(factors, "program.factorization.rate=0.1"), [])
        factors = self.data("{ratings: {train: train}}", "{factorization: {by: coordinates, rate: 0.1, decay: 0.2}}")
        self.assertEqual(notes(factors, "schedule={cyclic: {}}"), ["program.factorization.rate", "program.factorization.decay"])

    def test_bad_files_are_refused_in_one_line(self):
        def documents(settings, why, code=2, **files):
            self.write_files(**files)
            with self.subTest(why=why):
                self.assert_one_line_error(self.troupe("check", self.documents(settings)), code, why)

        def ratings(why, **files):
            self.write_files(**files)
            with self.subTest(why=why):
                self.assert_one_line_error(self.troupe("check", self.ratings(", ".join(f"{f}: {f}" for f in files))), 2, why)

        documents("lines: none", "data.documents.lines: ")
        documents("lines: x", "x: line 2: the byte 0xe9 is not UTF-8", x=b"a\ncaf\xe9\n")
        documents("lines: x, documents_min: 2", "the vocabulary is empty", x=b"a\nb\n")
        documents("text: x", "no such folder", x=b"")
        documents("counts: x", "x: line 1: the count \"-1\"", x=b"1 0:-1\n")
        documents("counts: x", "x: line 1: the count \"99999999\"", x=b"1 0:99999999\n")
        documents("counts: x, vocabulary: v", "the word \"2\"; words are numbers from 0 to 1", x=b"1 2:1\n", v=b"a\nb\n")
        documents("counts: x", "documents are numbers from 1 to 2", x=b"2\n2\n1\n3 1 1\n")
        documents("dictionary: x.dict", "x.index: line 1: the entry \"a\" ends at byte 4",
                  **{"x.dict": b"cat", "x.index": b"a\tB\tD\n"})
        ratings("train: line 2: the item \"b\" is not a whole number", train=b"1 2 3\n1 b 3\n")
        ratings("train: line 2: the rating: ", train=b"1::2::3\n1::3::nan\n")
        ratings("train: line 3: user 1 rates item 2 a second time", train=b"1 2 3\n1 1 3\n1 2 3\n")
        ratings("test: line 1: user 1 rates item 2 for training, too", train=b"1 2 3\n2 2 3\n", test=b"1 2 4\n")


class OwnProgram(TroupeTest):
    """The walk through apps/README.md, as it stands there."""

    def setUp(self):
        super().setUp()
        text = (SOURCE / "apps/README.md").read_text()
        (self.folder / "ridge").mkdir()
        for name, language in (("ridge.capnp", "capnp"), ("ridge.cpp", "cpp"), ("ridge.yaml", "yaml")):
            block, = re.findall(rf"```{language}\n((?:#|//) ridge/{re.escape(name)}\n.*?)```", text, re.DOTALL)
            (self.folder / "ridge" / name).write_text(block)
        self.rows, self.targets = made_table()
        write_table(self.folder / "ridge", self.rows, self.targets)
        build = pathlib.Path(TROUPE).resolve().parents[2]
        made = subprocess.run([SOURCE / "tools/program", "--build", build, self.folder / "ridge"], capture_output=True, text=True)
        self.assertEqual((made.returncode, made.stderr), (0, ""), made.stderr)
        self.module = ("--program", "ridge/ridge.so")

    def test_it_is_explained_and_run_on_two_nodes(self):
        self.assertIn("Weight of the squared coefficients", self.troupe("explain", "program.ridge", *self.module).out)
        run = self.troupe("run", "ridge/ridge.yaml", "--nodes", 2, "--json", *self.module)
        self.assertEqual(run.code, 0, str(run))
        for command, why in (("predict", "predicts nothing"), ("evaluate", "does not say how well")):
            self.assert_one_line_error(self.troupe(command, "ridge/ridge.yaml", *self.module), 2, why)
        b = [float(line) for line in (self.folder / "ridge/ridge_result/ridge.txt").read_text().splitlines()]
        n, penalty = len(self.rows), 0.1
        for j in range(COLUMNS):  # the gradient is zero
            slope = sum(row[j] * (y - sum(x * c for x, c in zip(row, b))) for row, y in zip(self.rows, self.targets)) / n
            self.assertAlmostEqual(slope, penalty * b[j], delta=1e-4)

    def test_a_bundle_compiles_and_runs_it(self):
        build = pathlib.Path(TROUPE).resolve().parents[2]
        made = subprocess.run([SOURCE / "tools/bundle", "--build", build, self.folder / "made"], capture_output=True, text=True)
        self.assertEqual(made.returncode, 0, made.stdout + made.stderr)
        bundle = self.folder / "bundle"
        (self.folder / "made").rename(bundle)
        (self.folder / "ridge/ridge.so").unlink()
        compiled = subprocess.run([bundle / "program", self.folder / "ridge"], capture_output=True, text=True)
        self.assertEqual((compiled.returncode, compiled.stderr), (0, ""), compiled.stderr)
        run = subprocess.run([bundle / "troupe", "run", self.folder / "ridge/ridge.yaml", "--nodes", "2", "--program",
                              self.folder / "ridge/ridge.so"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertEqual(len((self.folder / "ridge/ridge_result/ridge.txt").read_text().splitlines()), COLUMNS)

    def test_nodes_without_it_say_so(self):
        node, address = self.node("--devices", "cpu:1")
        refused = self.troupe("run", "ridge/ridge.yaml", "--cluster", address, *self.module)
        self.assertNotEqual(refused.code, 0, str(refused))
        self.assertIn('has no program "ridge"', refused.err)
        unknown = self.troupe("check", "ridge/ridge.yaml")
        self.assert_one_line_error(unknown, 2, 'unknown key', "ridge")
        node.terminate()


if __name__ == "__main__":
    main()
