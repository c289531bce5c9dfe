"""A program of one's own, by the walk through apps/README.md."""

import pathlib
import re
import subprocess

from program_support import COLUMNS, made_table, write_table
from support import SOURCE, TROUPE, TroupeTest, main


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
