"""The scripts in tools/, as far as they do not build."""

import shutil
import subprocess

from support import SOURCE, TroupeTest, main


class Scripts(TroupeTest):
    def setUp(self):
        super().setUp()
        (self.folder / "tools").mkdir()
        for name in ("demo", "setup", "test"):
            shutil.copy(SOURCE / "tools" / name, self.folder / "tools")

    def test_help_needs_no_build(self):
        setup = self.folder / "tools/setup"
        for name, words in (("setup", ["--help"]), ("demo", ["--help"]), ("demo", ["--set", "train.epochs=1", "-h"]),
                            ("test", ["--help"]), ("test", ["--suite", "e2e", "--help"])):
            if name != "setup":
                setup.write_text("#!/bin/sh\necho building; exit 7\n")
            with self.subTest(name=name, words=words):
                shown = subprocess.run([self.folder / "tools" / name, *words], capture_output=True, text=True)
                self.assertEqual((shown.returncode, shown.stderr), (0, ""))
                self.assertIn(f"  tools/{name} [", shown.stdout)
                self.assertNotIn("building", shown.stdout)
                self.assertNotIn("set -euo", shown.stdout)


if __name__ == "__main__":
    main()
