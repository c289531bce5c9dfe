"""Runs of programs that go on from their checkpoints."""

import re
import shutil
import signal

from program_support import APP, ProgramTest, objective, solved, write_table
from support import main


class Checkpoints(ProgramTest):
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
        self.assert_one_line_error(other, 2, "app.yaml:7:", "checkpoint.directory: ", f"{saved[-1].name}: is of another run: "
                                   "program.lasso.penalty.lambda was 0.05 and is 0.06; give what was")
        resumed = self.troupe("run", self.app(slow), "--nodes", 2, "--resume", "--json")
        self.assertEqual(resumed.code, 0, str(resumed))
        self.assertTrue(str(saved[-1]).endswith(resumed.event("start")[0]["resumed_from"]), str(resumed))
        self.assertEqual((self.folder / "result/coefficients.npy").read_bytes(), expected)
        newest = sorted((self.folder / "saved").glob("phase-*"))[-1]
        part = newest / "worker-0.safetensors"
        part.write_bytes(part.read_bytes()[:-1] + b"x")
        damaged = self.troupe("run", self.app(slow), "--nodes", 2, "--resume")
        self.assert_one_line_error(damaged, 2, "damaged", "worker-0.safetensors", "to go on from")

    def test_what_cannot_go_on_is_refused_before_anything_is_said_of_the_run(self):
        (self.folder / "lines").write_text("ant bee\nbee cat\ncat ant\n")
        text = APP.replace("matrix: {features: x.csv, target_column: y}", "documents: {lines: lines}").replace("gap: 1e-9", "sweeps: 2") \
            .replace("dynamic: {window: 2}", "rotation: {blocks_per_worker: 1}") + "checkpoint: {directory: saved}\n"
        text = re.sub("program: .*", "program: {lda: {topics: 2}}", text)
        self.assertEqual(self.troupe("run", self.app(text), "--nodes", 2).code, 0)
        others = self.troupe("run", self.app(text), "--nodes", 3, "--resume")
        self.assert_one_line_error(others, 2, "is of a run with 2 workers", "give as many by schedule.workers")
        self.assertNotIn("look at this run", others.out)
        lasso = self.troupe("run", self.app(APP + "checkpoint: {directory: saved}\n"), "--resume")
        self.assert_one_line_error(lasso, 2, "app.yaml:6:", 'result.directory: ')
        lasso = self.troupe("run", self.app(APP.replace("result}", "other}") + "checkpoint: {directory: saved}\n"), "--resume")
        self.assert_one_line_error(lasso, 2, "app.yaml:7:", 'is of the program "lda", and this app file\'s is "lasso"; name another')
        # Files are the same from wherever they are named.
        (self.folder / "below").mkdir()
        self.assertEqual(self.troupe("run", self.app(text), "--nodes", 2, "--resume", "--set", "data.documents.lines=below/../lines").code, 0)

    def test_other_data_is_refused_by_its_name_and_the_same_is_taken_from_elsewhere(self):
        text = APP.replace("gap: 1e-9", "gap: 1e-9, phases: 5") + "checkpoint: {directory: saved}\n"
        self.assertEqual(self.troupe("run", self.app(text)).code, 0)
        (self.folder / "moved").mkdir()
        (self.folder / "x.csv").rename(self.folder / "moved/table.csv")
        moved = text.replace("x.csv", "moved/table.csv")
        self.assertEqual(self.troupe("run", self.app(moved), "--resume").code, 0)
        table = self.folder / "moved/table.csv"
        table.write_text(table.read_text()[:-2] + ("1" if table.read_text()[-2] == "0" else "0") + "\n")
        refused = self.troupe("run", self.app(moved), "--resume")
        self.assert_one_line_error(refused, 2, "app.yaml:7:", "is of other data: data.matrix.features: ", "moved/table.csv has changed since")
        write_table(self.folder, self.rows[::-1], self.targets)
        refused = self.troupe("run", self.app(text), "--resume")
        self.assert_one_line_error(refused, 2, "x.csv does not hold what ", "moved/table.csv did; give the data of then")

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


if __name__ == "__main__":
    main()
