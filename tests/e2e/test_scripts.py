"""The scripts in tools/, as far as they do not build anew."""

import os
import pathlib
import re
import shutil
import signal
import subprocess

from support import PATIENCE, SOURCE, TROUPE, TroupeTest, main


class Scripts(TroupeTest):
    def setUp(self):
        super().setUp()
        (self.folder / "tools").mkdir()
        for name in ("bundle", "demo", "setup", "soak", "test"):
            shutil.copy(SOURCE / "tools" / name, self.folder / "tools")

    def test_help_needs_no_build(self):
        setup = self.folder / "tools/setup"
        for name, words in (("setup", ["--help"]), ("demo", ["--help"]), ("demo", ["--set", "train.epochs=1", "-h"]),
                            ("bundle", ["--help"]), ("soak", ["--help"]), ("soak", ["2", "-h"]),
                            ("test", ["--help"]), ("test", ["--suite", "e2e", "--help"])):
            if name != "setup":
                setup.write_text("#!/bin/sh\necho building; exit 7\n")
            with self.subTest(name=name, words=words):
                shown = subprocess.run([self.folder / "tools" / name, *words], capture_output=True, text=True)
                self.assertEqual((shown.returncode, shown.stderr), (0, ""))
                self.assertIn(f"  tools/{name} [", shown.stdout)
                self.assertNotIn("building", shown.stdout)
                self.assertNotIn("set -euo", shown.stdout)

    def test_a_program_of_ones_own_asks_for_the_build_folder_that_is_there(self):
        shutil.copy(SOURCE / "tools/program", self.folder / "tools")
        (self.folder / "tools/setup").write_text("#!/bin/sh\necho building; exit 7\n")
        own = self.folder / "own"
        own.mkdir()
        self.assertEqual(subprocess.run([self.folder / "tools/program", own], capture_output=True).returncode, 7)
        other = self.folder / "build-release"
        for name, text in (("tools/troupe/troupe", "#!/bin/sh\n"),
                           ("meson-info/meson-info.json", f'{{"directories": {{\n"source": "{self.folder}"}}}}')):
            (other / name).parent.mkdir(parents=True)
            (other / name).write_text(text)
            (other / name).chmod(0o755)
        ended = subprocess.run([self.folder / "tools/program", own], capture_output=True, text=True)
        self.assertEqual((ended.returncode, ended.stdout), (2, ""))
        self.assertEqual(ended.stderr, f"program: {self.folder}/build has no troupe, but {other} has; "
                                       f"name it: tools/program --build {other} {own}\n")

    def setup_with(self, meson, ninja):
        """tools/setup with these scripts in place of Meson and Ninja, where all packages are installed."""
        programs = self.folder / "programs"
        programs.mkdir()
        for name, text in (("meson", meson), ("ninja", ninja), ("dpkg-query", "printf 'install ok installed'\n")):
            (programs / name).write_text(f"#!/bin/sh\n{text}")
            (programs / name).chmod(0o755)
        shutil.copy(SOURCE / "tools/packages.txt", self.folder / "tools")
        return subprocess.run([self.folder / "tools/setup"], capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"})

    def test_setup_keeps_what_meson_says_in_a_file_and_says_how_far_it_is(self):
        done = self.setup_with("seq -f 'Checking %g' 100\n", "echo '[1/200 0.4] one'; echo '[2/200 29.9] two'\n"
                               "echo '[100/200 180.25] three'; echo '[199/200 359.0] four'\n")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertIn("(all that Meson says is in build/configure.log)", done.stdout)
        self.assertNotIn("Checking", done.stdout)
        self.assertEqual(len((self.folder / "build/configure.log").read_text().splitlines()), 100)
        self.assertRegex(done.stdout, r"\n== building in build \(.* on two cores\)\n\[1/200\] one\n"  # the next comes too soon
                         r"\[100/200\] about 4 min left: three\n\[199/200\] about 1 min left: four\n$")

    def test_setup_shows_why_meson_fails(self):
        failed = self.setup_with("echo 'ERROR: no compiler'; exit 1\n", "echo building\n")
        self.assertEqual(failed.returncode, 1)
        self.assertIn("ERROR: no compiler\nsetup: Meson failed; ", failed.stderr)
        self.assertNotIn("building", failed.stdout)

    def test_setup_shows_in_full_what_cannot_be_built(self):
        failed = self.setup_with("true\n", "echo '[1/2 0.1] one'; echo 'FAILED: a.o'; echo 'a.cpp:1: error'; exit 3\n")
        self.assertEqual(failed.returncode, 3)
        self.assertIn("FAILED: a.o\na.cpp:1: error\n", failed.stdout)

    def test_a_bundle_trains_with_its_own_libraries(self):
        build = pathlib.Path(TROUPE).resolve().parents[2]
        folder = self.folder / "bundle"
        made = subprocess.run([SOURCE / "tools/bundle", "--build", build, folder], capture_output=True, text=True)
        self.assertEqual(made.returncode, 0, made.stdout + made.stderr)
        moved = self.folder / "elsewhere"
        folder.rename(moved)
        trained = subprocess.run([moved / "troupe", "run", self.app(), "--nodes", "2"], capture_output=True, text=True,
                                 env={**os.environ, "LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": str(self.folder / "libraries")})
        self.assertEqual(trained.returncode, 0, trained.stderr)
        self.assertIn("done: 2 nodes", trained.stderr + trained.stdout)
        started = [line.split()[-1] for log in self.folder.glob("libraries.*") for line in log.read_text().splitlines()
                   if "calling init" in line and "troupe" in log.read_text()]
        of_program = [path for path in started if "libdnnl" in path or "libucp" in path]
        self.assertTrue(of_program)
        self.assertEqual([path for path in of_program if not path.startswith(str(moved))], [])
        benchmark = subprocess.run([moved / "bench-cuda", "--help"], capture_output=True, text=True)
        self.assertIn("slow_link | gpu", benchmark.stdout, benchmark.stderr)
        # Of no model: it finds its files and a GPU, and measures nothing.
        benchmark = subprocess.run([moved / "bench-cuda", "--model", "none"], capture_output=True, text=True,
                                   env={**os.environ, "TROUPE_CUDA_MODULE": os.environ["TROUPE_EMULATED_CUDA"]})
        self.assertIn("Training steps on one GPU beside PyTorch", benchmark.stdout, benchmark.stdout + benchmark.stderr)

    def test_a_folder_that_is_no_bundle_is_not_replaced(self):
        (self.folder / "mine").mkdir()
        made = subprocess.run([SOURCE / "tools/bundle", self.folder / "mine"], capture_output=True, text=True)
        self.assertEqual(made.returncode, 2)
        self.assertIn("is no bundle; name another folder", made.stderr)


# Stands for a program of Boost.Test: seed 7 fails, and at seed 9 it runs until it is ended.
SEEDED = """\
#!/usr/bin/env python3
import signal
import sys
if "--list_labels" in sys.argv:
    sys.exit(print("Available labels:\\n  seeded", file=sys.stderr))
first, seeds = int(sys.argv[-3]), int(sys.argv[-1])
if "LIVELY" and first <= 9 < first + seeds:
    signal.sigwait([signal.SIGABRT])
    print('unknown location(0): fatal error: in "suite/hanging": signal: SIGABRT')
    print("Failure occurred in a following context:\\n    seed 9")
    sys.exit(201)
if first <= 7 < first + seeds:
    for check in "xy":
        print(f'a_test.cpp(5): error: in "suite/failing": check {check} has failed')
        print("Failure occurred in a following context:\\n    seed 7\\n    of two")
    sys.exit(201)
"""


class Soak(TroupeTest):
    def soak(self, *words, **options):
        return subprocess.run([SOURCE / "tools/soak", *map(str, words)], capture_output=True, text=True, check=False, cwd=self.folder,
                              **options)

    def made_up(self, **programs):
        (self.folder / "build/tests").mkdir(parents=True)
        for name, text in programs.items():
            program = self.folder / "build/tests" / name
            program.write_text(text)
            program.chmod(0o755)
        return self.folder / "build"

    def test_fresh_seeds_of_a_suite_hold_and_are_counted(self):
        build = pathlib.Path(TROUPE).resolve().parents[2]
        ran = self.soak("0", "--build", build, "--suite", "unit_support", "--first-seed", 500001, "--seeds", 3)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""), ran.stdout)
        self.assertIn("soaking 1 suite from seed 500001 on, 3 seeds of each case in turn", ran.stdout)
        self.assertRegex(ran.stdout, r"\nunit_support +3 +0\nall +3 +0\n$")

    def test_a_seed_that_fails_and_one_that_hangs_are_told_by_what_repeats_them(self):
        build = self.made_up(sim_hanging=SEEDED, sim_lively=SEEDED.replace("LIVELY", ""), unit_plain="#!/bin/sh\n")
        ran = self.soak("0", "--build", build, "--first-seed", 6, "--seeds", 2)
        self.assertEqual((ran.returncode, ran.stderr), (1, ""), ran.stdout)
        for name in ("sim_hanging", "sim_lively"):
            command = f"build/tests/{name} --run_test=suite/failing -- --first-seed 7 --seeds 1\n"
            self.assertEqual(ran.stdout.count(f"\nFAILED: {command}"), 1, ran.stdout)
            self.assertEqual(ran.stdout.count(f"\nfailed: {command}"), 1, ran.stdout)
        self.assertRegex(ran.stdout, r"\nsim_hanging +2 +1\nsim_lively +2 +1\nall +4 +2\n")
        ran = self.soak("0", "--build", build, "--first-seed", 8, "--seeds", 2, "--limit", 4 * PATIENCE)
        self.assertEqual((ran.returncode, ran.stderr), (1, ""), ran.stdout)
        command = "build/tests/sim_hanging --run_test=suite/hanging -- --first-seed 9 --seeds 1\n"
        self.assertIn(f"\nHANGS: {command}", ran.stdout)
        self.assertRegex(ran.stdout, r"\nsim_hanging +0 +1\nsim_lively +2 +0\nall +2 +1\nfailed: " + command)

    def test_fuzz_targets_are_given_inputs_of_fresh_seeds(self):
        build = pathlib.Path(TROUPE).resolve().parents[2]
        ran = self.soak("0", "--build", build, "--suite", "fuzz_key_file", "--first-seed", 500001, "--seeds", 2)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""), ran.stdout)
        self.assertRegex(ran.stdout, r"\nfuzz_key_file +60 +0\n")
        ran = self.soak("0", "--build", build, "--suite", "fuzz_broken", "--first-seed", 500001)
        self.assertEqual(ran.returncode, 1, ran.stdout)
        command = re.search(r"^failed: (\S+/fuzz_broken --seed 500001 --first \d+ --inputs 1)$", ran.stdout, re.MULTILINE)
        self.assertTrue(command, ran.stdout)
        again = subprocess.run(command[1].split(), capture_output=True, text=True, check=False)
        self.assertNotEqual(again.returncode, 0, again.stdout)

    def test_ctrl_c_ends_it_with_what_it_has_found(self):
        build = self.made_up(sim_lively=SEEDED.replace("LIVELY", ""))
        soaking = subprocess.Popen([SOURCE / "tools/soak", "--build", build, "--first-seed", "7"], stdout=subprocess.PIPE, text=True)
        while "FAILED" not in soaking.stdout.readline():
            pass
        soaking.send_signal(signal.SIGINT)
        said = soaking.communicate(timeout=60 * PATIENCE)[0]
        self.assertEqual(soaking.returncode, 1)
        self.assertRegex(said, r"\nsim_lively +[\d,]+ +1\n")

    def test_what_it_cannot_begin_with_is_refused(self):
        build = self.made_up(unit_plain="#!/bin/sh\n")
        for words, why in ((["--build", build], "has no seeded suite; build it with tools/setup, or name another folder by --build"),
                           (["--build", build, "--suite", "unit_plain"], "has no seeded suite 'unit_plain'; "),
                           (["--seeds", "0"], "soak: HOURS and --first-seed are 0 or more, --seeds is 1 or more, --limit is above 0; "),
                           (["soon"], "invalid float value: 'soon'; see tools/soak --help"),
                           (["--sooner"], "unrecognized arguments: --sooner; see tools/soak --help")):
            with self.subTest(words=words):
                refused = self.soak(*words)
                self.assertEqual((refused.returncode, refused.stdout), (2, ""))
                self.assertIn(why, refused.stderr)
                self.assertEqual(len(refused.stderr.splitlines()), 1)


if __name__ == "__main__":
    main()
