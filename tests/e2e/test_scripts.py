"""The scripts in tools/, as far as they do not build anew."""

import os
import pathlib
import shutil
import subprocess

from support import SOURCE, TROUPE, TroupeTest, main


class Scripts(TroupeTest):
    def setUp(self):
        super().setUp()
        (self.folder / "tools").mkdir()
        for name in ("bundle", "demo", "setup", "test"):
            shutil.copy(SOURCE / "tools" / name, self.folder / "tools")

    def test_help_needs_no_build(self):
        setup = self.folder / "tools/setup"
        for name, words in (("setup", ["--help"]), ("demo", ["--help"]), ("demo", ["--set", "train.epochs=1", "-h"]),
                            ("bundle", ["--help"]),
                            ("test", ["--help"]), ("test", ["--suite", "e2e", "--help"])):
            if name != "setup":
                setup.write_text("#!/bin/sh\necho building; exit 7\n")
            with self.subTest(name=name, words=words):
                shown = subprocess.run([self.folder / "tools" / name, *words], capture_output=True, text=True)
                self.assertEqual((shown.returncode, shown.stderr), (0, ""))
                self.assertIn(f"  tools/{name} [", shown.stdout)
                self.assertNotIn("building", shown.stdout)
                self.assertNotIn("set -euo", shown.stdout)

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


if __name__ == "__main__":
    main()
