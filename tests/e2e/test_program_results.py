"""What the results of programs are used for."""

import math

from program_support import APP, COLUMNS, ROWS, ProgramTest, write_table
from support import APP as NETWORK
from support import main

try:
    import numpy
except ImportError:
    numpy = None


class Results(ProgramTest):
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

    def test_links_that_stand_where_files_go_are_replaced_and_not_followed(self):
        victim, folder = self.folder / "victim", self.folder / "elsewhere"
        victim.write_text("untouched")
        folder.mkdir()
        (folder / "kept").write_text("untouched")
        self.trained(APP)
        for name in ("coefficients.csv", "coefficients.npy", "path.csv"):
            (self.folder / "result" / name).unlink()
            (self.folder / "result" / name).symlink_to(victim)
        (self.folder / "result/.partial-result").symlink_to(folder)
        run = self.troupe("run", self.app(APP))
        self.assertEqual(run.code, 0, str(run))
        self.assertFalse((self.folder / "result/coefficients.csv").is_symlink())
        self.assertEqual(len(self.coefficients()), COLUMNS)
        self.assertEqual(victim.read_text(), "untouched")
        (self.folder / "saved").mkdir()
        (self.folder / "saved/.partial-epoch-0001").symlink_to(folder)
        network = NETWORK.replace("epochs: 2", "epochs: 1") + "checkpoint: {directory: saved}\n"
        run = self.troupe("run", self.app(network, "network.yaml"))
        self.assertEqual(run.code, 0, str(run))
        self.assertEqual([path.name for path in (self.folder / "saved").iterdir()], ["epoch-0001"])
        self.assertEqual([path.name for path in folder.iterdir()], ["kept"])

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
        refused("/result is of data with 12; give data with the same columns", "--data", "narrow.csv")
        refused("narrow.csv has 2 columns, but ", "--data", "narrow.csv")
        refused("narrow.csv has 1 column, but ", "--data", "narrow.csv", "--set", "data.matrix.target_column=-1")
        refused('column 0 of swapped.csv is "x11"', "--data", "swapped.csv")
        table = (self.folder / "x.csv").read_text().splitlines()
        (self.folder / "without.csv").write_text("".join(line.rpartition(",")[0] + "\n" for line in table))
        self.assertEqual(self.troupe("predict", app, "--data", "without.csv").code, 0)
        refused("; give data with the same columns, and the one that a number names by target_column beside them",
                "--data", "without.csv", "--set", "data.matrix.target_column=-1")
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


if __name__ == "__main__":
    main()
