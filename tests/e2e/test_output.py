"""What a user sees whose output, trace or checkpoint cannot be written."""
import subprocess

from support import APP, TROUPE, Result, TroupeTest, main


class Output(TroupeTest):
    def test_a_full_or_closed_output_is_no_success(self):
        app = self.app()
        for command in (["run", app], ["run", app, "--nodes", 2, "--json"], ["plan", app], ["check", app], ["explain"],
                        ["check", "--json-schema"], ["--help"], ["run", "--help"], ["--version"]):
            for redirection in (">/dev/full", ">&-"):
                with self.subTest(command=command, redirection=redirection):
                    words = " ".join(map(str, command))
                    process = subprocess.run(f"{TROUPE} {words} {redirection}", shell=True, cwd=self.folder, text=True,
                                             stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
                    self.assert_one_line_error(Result(process.returncode, "", process.stderr), 1, "standard output")

    def test_a_run_whose_reader_is_gone_saves_its_last_epoch(self):
        app = self.app(APP + f"checkpoint: {{directory: {self.folder}/saved}}\n")
        process = subprocess.run(f"{TROUPE} run {app} --nodes 2 | head -1; exit ${{PIPESTATUS[0]}}", shell=True,
                                 executable="/bin/bash", cwd=self.folder, capture_output=True, text=True)
        self.assert_one_line_error(Result(process.returncode, "", process.stderr), 1, "standard output")
        self.assertTrue((self.folder / "saved/epoch-0002/manifest.json").exists())


class Disk(TroupeTest):
    def test_a_full_disk_at_a_trace_is_told_by_the_run(self):
        if (mount := self.small_disk()) is None:
            return
        result = self.troupe("run", self.app(), "--trace", mount / "t.json")
        self.assert_one_line_error(result, 2, f"troupe: --trace: {mount}/t.json could not be written")
        self.assertEqual(list(mount.iterdir()), [])

    def test_a_full_disk_keeps_the_last_checkpoint(self):
        if (mount := self.small_disk()) is None:
            return
        text = APP.replace("epochs: 2", "epochs: 40") + f"checkpoint: {{directory: {mount}/saved, keep: 60}}\n"
        result = self.troupe("run", self.app(text))
        self.assert_one_line_error(result, 2, str(mount), "space")
        saved = sorted(p.name for p in (mount / "saved").iterdir() if not p.name.startswith("."))
        self.assertTrue(saved, "the checkpoints before are kept")
        self.assertEqual([p.name for p in (mount / "saved").iterdir() if p.name.startswith(".epoch")], [])
        for folder in saved:
            self.assertTrue((mount / "saved" / folder / "manifest.json").exists(), "every checkpoint is whole")


if __name__ == "__main__":
    main()
