"""A program of one's own, by the walk through apps/README.md."""

import pathlib
import re
import subprocess
import time

from program_support import COLUMNS, made_table, write_table
from support import SOURCE, TROUPE, TroupeTest, main


class Ridge(TroupeTest):
    """The files of the walk through apps/README.md."""

    def setUp(self):
        super().setUp()
        text = (SOURCE / "apps/README.md").read_text()
        (self.folder / "ridge").mkdir()
        for name, language in (("ridge.capnp", "capnp"), ("ridge.cpp", "cpp"), ("ridge.yaml", "yaml")):
            block, = re.findall(rf"```{language}\n((?:#|//) ridge/{re.escape(name)}\n.*?)```", text, re.DOTALL)
            (self.folder / "ridge" / name).write_text(block)
        self.rows, self.targets = made_table()
        write_table(self.folder / "ridge", self.rows, self.targets)
        self.module = ("--program", "ridge/ridge.so")

    def make(self):
        build = pathlib.Path(TROUPE).resolve().parents[2]
        made = subprocess.run([SOURCE / "tools/program", "--build", build, self.folder / "ridge"], capture_output=True, text=True)
        self.assertEqual((made.returncode, made.stderr), (0, ""), made.stderr)


class OwnProgram(Ridge):
    """The program as it stands there."""

    def setUp(self):
        super().setUp()
        self.make()

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


class ProgramWithFaults(Ridge):
    """The same, with a setting that has its parts throw, or end their process, at phase 500, or take long."""

    def setUp(self):
        super().setUp()
        self.edit("ridge.capnp", (' least squares.");', ' least squares.");\n  fault @1 :Text $A.doc("A call that fails.");'))
        fault = "if (p.number == 500 && fault_ == "
        self.edit("ridge.cpp",
                  ("#include <cmath>", "#include <unistd.h>\n\n#include <cmath>\n#include <csignal>\n#include <stdexcept>"),
                  ("gap_{site.stop.gap},", "gap_{site.stop.gap}, fault_{site.settings.getAs<proto::RidgeSettings>().getFault().cStr()},"),
                  ("const double penalty_, gap_;", "const double penalty_, gap_;\n    const std::string fault_;"),
                  ("const auto j = p.", 'if (p.number < 4 && fault_ == "slow")\n            sleep(6);\n        ' + fault +
                   '"pull")\n            throw std::out_of_range{"no such column"};\n        const auto j = p.'),
                  ("ranges_{site.variables} {}", "ranges_{site.variables}, fault_{site.worker == 0 ? "
                   'site.settings.getAs<proto::RidgeSettings>().getFault().cStr() : ""} {\n        if (fault_ == "slow")\n'
                   "            sleep(9);\n    }"),
                  ("const std::vector<number_range> ranges_;", "const std::vector<number_range> ranges_;\n    const std::string fault_;"),
                  ("const auto& x = columns_[p.", fault + '"push")\n            throw std::runtime_error{"no such row"};\n        ' + fault +
                   '"kill")\n            std::raise(SIGKILL);\n        const auto& x = columns_[p.'))
        thrown = ["#include <stdexcept>", "void fail_at(const char* call, capnp::AnyPointer::Reader settings) {",
                  "    if (settings.getAs<proto::RidgeSettings>().getFault() == call)", '        throw std::runtime_error{"no such call"};', "}"]
        self.edit("ridge.cpp",
                  ("program ridge() {", "\n".join([*thrown, "", "program ridge() {"])),
                  (".check = {}", '.check = [](const program_site& s) { fail_at("check", s.settings); return result<void>{}; }'),
                  (".write_result = write_ridge}", """.write_result = write_ridge,
            .score = [](const result_use& u) { fail_at("score", u.settings); return result<std::vector<std::vector<named_number>>>{{}}; },
            .predict = [](const result_use& u, prediction_table&) { fail_at("predict", u.settings); return result<void>{}; }}"""))
        self.make()

    def edit(self, name, *pairs):
        text = (self.folder / "ridge" / name).read_text()
        for old, new in pairs:
            self.assertEqual(text.count(old), 1, old)
            text = text.replace(old, new)
        (self.folder / "ridge" / name).write_text(text)

    def nodes(self, names):
        nodes = {}
        for name in names:
            join = ("--join", next(iter(nodes.values()))[1]) if nodes else ()
            nodes[name] = self.node("--devices", "cpu:1", *join, *self.module, name=name)
        return nodes

    def run_on(self, address, fault, *options):
        return self.troupe("run", "ridge/ridge.yaml", "--cluster", address, *self.module, "--set", f"program.ridge.fault={fault}",
                           "--set", f"checkpoint.directory={self.folder}/saved-{fault}", *options)

    def test_what_the_program_throws_outside_of_a_run_is_one_sentence(self):
        app, own = "ridge/ridge.yaml", self.module
        self.assertEqual(self.troupe("run", app, *own).code, 0)
        for command, fault in (("check", "check"), ("plan", "check"), ("run", "check"), ("evaluate", "score"), ("predict", "predict")):
            with self.subTest(command=command):
                ended = self.troupe(command, app, *own, "--set", f"program.ridge.fault={fault}")
                self.assert_one_line_error(ended, 1, f"program ridge: {fault} of the program has thrown an exception: no such call")

    def test_what_a_part_throws_ends_the_run_with_a_sentence_and_no_node(self):
        nodes = self.nodes("ab")
        address = nodes["a"][1]
        for fault, actor, why in (("push", "worker-0", "no such row"), ("pull", "scheduler-0", "no such column")):
            ended = self.run_on(address, fault)
            self.assertEqual(ended.code, 1, str(ended))
            self.assertRegex(ended.err, f"{actor} on [ab]/cpu:0: {fault} of phase 500 of the program has thrown an exception: {why}")
            self.assertEqual([process.poll() for process, _ in nodes.values()], [None, None])
            self.assertEqual(len(list((self.folder / f"saved-{fault}").iterdir())) > 0, True, str(ended))
        self.assertEqual(self.run_on(address, "none").code, 0)
        for process, _ in nodes.values():
            process.kill()

    def test_parts_that_take_long_lose_no_node(self):
        """A worker is made for longer than the run's patience, and numbers are pulled for longer than heartbeats may be late."""
        nodes = self.nodes("ab")
        began = time.monotonic()
        ended = self.run_on(nodes["a"][1], "slow", "--patience", 3)
        self.assertGreater(time.monotonic() - began, 9 + 2 * 6, "the parts are not slow")
        self.assertEqual(ended.code, 0, str(ended))
        self.assertNotRegex(ended.err, "heartbeat|lost")
        for process, _ in nodes.values():
            process.kill()

    def test_a_part_that_ends_its_process_does_not_end_all_nodes(self):
        nodes = self.nodes("abcde")
        ended = self.run_on(nodes["b"][1], "kill", "--set", "schedule.workers=2")
        self.assertEqual(ended.code, 1, str(ended))
        self.assertRegex(ended.err, "it carried worker-0 on ./cpu:0, scheduler-0 on ./cpu:0, lost 3 times in succession, and the "
                                    r"run came no further than about phase \d+ between; .*saved-kill\S* is saved, --resume goes on from it")
        self.eventually(lambda: sum(process.poll() is None for process, _ in nodes.values()) == 2, "three nodes are dead, and no more")
        for process, _ in nodes.values():
            process.kill()


if __name__ == "__main__":
    main()
