"""What a user sees whose output, trace or checkpoint cannot be written."""
import contextlib
import hashlib
import json
import resource
import shutil
import signal
import subprocess

from program_support import APP as PROGRAM
from program_support import ProgramTest
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


class Disk(ProgramTest):
    def note_with(self, run, *parts):
        """Reads notes up to the first with all these parts."""
        while True:
            note = self.read_event(run, "note")["message"]
            if all(part in note for part in parts):
                return note

    def assert_whole(self, saved):
        """Every checkpoint is, and nothing else stands there."""
        folders = sorted(saved.iterdir())
        self.assertTrue(folders, "the checkpoints before are kept")
        for folder in folders:
            manifest = json.loads((folder / "manifest.json").read_text())
            for part in manifest.get("stages", manifest.get("members")):
                self.assertEqual(hashlib.sha256((folder / part["file"]).read_bytes()).hexdigest(), part["sha256"])
        return folders

    def network(self, saved, epochs=2):
        return self.app(APP.replace("epochs: 2", f"epochs: {epochs}") + f"checkpoint: {{directory: {saved}, keep: 60}}\n")

    def test_a_full_disk_at_a_trace_is_told_by_the_run(self):
        if (mount := self.small_disk()) is None:
            return
        result = self.troupe("run", self.app(), "--trace", mount / "t.json")
        self.assert_one_line_error(result, 1, f"troupe: --trace: {mount}/t.json could not be written")
        self.assertEqual(list(mount.iterdir()), [])

    def test_a_full_disk_takes_nothing_from_a_training_run(self):
        """It goes on, keeps the last checkpoint, and writes it once there is room."""
        if (mount := self.small_disk()) is None:
            return
        app = self.network(mount / "saved", epochs=20)
        run = self.start("run", app, "--json")
        note = self.note_with(run, "a checkpoint is not written: ")
        self.assertIn("No space left on device; free some space; the run goes on, the last good one is ", note)
        self.assertIn("keeps it in memory", self.note_with(run, "the last checkpoint cannot be written: "))
        folders = self.assert_whole(mount / "saved")
        self.assertLess(len(folders), 20)
        shutil.rmtree(folders[0])
        shutil.rmtree(folders[1])
        result = self.finish(run)
        self.assertEqual(result.code, 0, str(result))
        self.assertTrue(result.event("done")[0]["checkpoint"].endswith("saved/epoch-0020"), str(result))
        self.assert_whole(mount / "saved")
        self.assertIn("nothing left to do", self.troupe("run", app, "--resume").out)

    def test_what_a_full_disk_keeps_waiting_is_written_where_its_folder_has_gone(self):
        if (mount := self.small_disk()) is None:
            return
        run = self.start("run", self.network(mount / "saved", epochs=20), "--json")
        self.note_with(run, "the last checkpoint cannot be written: ")
        shutil.move(mount / "saved", self.folder / "roomy")
        (mount / "saved").symlink_to(self.folder / "roomy")
        result = self.finish(run)
        self.assertEqual(result.code, 0, str(result))
        self.assertEqual(self.assert_whole(self.folder / "roomy")[-1].name, "epoch-0020")

    def test_a_stop_gives_up_what_a_full_disk_keeps_waiting(self):
        if (mount := self.small_disk()) is None:
            return
        run = self.start("run", self.network(mount / "saved", epochs=20), "--json")
        self.note_with(run, "the last checkpoint cannot be written: ")
        run.send_signal(signal.SIGINT)
        result = self.finish(run)
        self.assert_one_line_error(result, 130, "stopped while the last checkpoint could not be written: ", "No space left",
                                   "; the last checkpoint is ", "go on from it with --resume")
        self.assert_whole(mount / "saved")

    def test_a_disk_that_is_read_only_for_a_while_costs_a_note(self):
        if (mount := self.small_disk()) is None:
            return
        run = self.start("run", self.network(mount / "saved", epochs=100000), "--json", "--set", "checkpoint.keep=2")
        self.read_event(run, "epoch")
        self.read_event(run, "epoch")
        if subprocess.run(["mount", "-o", "remount,ro", mount], capture_output=True).returncode:
            print("skipped: a read-only disk: no permission to mount it anew")
            return
        self.assertIn("Read-only file system; make its file system writable; the run goes on",
                      self.note_with(run, "a checkpoint is not written: "))
        self.assert_whole(mount / "saved")
        subprocess.run(["mount", "-o", "remount,rw", mount], check=True)
        self.note_with(run, "checkpoints are written again; ")
        run.send_signal(signal.SIGINT)
        self.assert_one_line_error(self.finish(run), 130, "saved in ")

    def test_a_limit_on_the_size_of_files_is_named_and_may_be_raised_while_the_run_waits(self):
        run = self.start("run", self.network("saved"), "--json", preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY)))
        self.assertIn("File too large; raise the limit on the size of files (ulimit -f); the run is over, keeps it",
                      self.note_with(run, "the last checkpoint cannot be written: "))
        self.assertEqual(list((self.folder / "saved").iterdir()), [])
        resource.prlimit(run.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        result = self.finish(run)
        self.assertEqual(result.code, 0, str(result))
        self.assertEqual(self.assert_whole(self.folder / "saved")[-1].name, "epoch-0002")

    def test_a_folder_of_checkpoints_that_is_removed_is_told_and_may_be_made_anew(self):
        run = self.start("run", self.network("saved"), "--json", "--set", "train.epochs=100000")
        self.read_event(run, "epoch")
        self.eventually(lambda: list((self.folder / "saved").glob("epoch-*")), "one is saved")
        (self.folder / "saved").rename(self.folder / "moved")
        # One that is being written when the folder goes fails by its files' names; the next one by the folder's.
        self.note_with(run, "a checkpoint is not written: ", "saved: the folder for checkpoints is gone")
        (self.folder / "moved").rename(self.folder / "saved")
        self.note_with(run, "checkpoints are written again; ")
        run.send_signal(signal.SIGTERM)
        self.assert_one_line_error(self.finish(run), 143, "saved in ")

    def program(self, result, saved):
        return self.app(PROGRAM.replace("{directory: result}", f"{{directory: {result}}}") +
                        f"checkpoint: {{directory: {saved}}}\n")

    def filled(self, mount):
        """Leaves room for folders, and for no file."""
        with contextlib.suppress(OSError), open(mount / "full", "wb", buffering=0) as full:
            while full.write(bytes(4096)):
                pass

    def whole_result(self):
        self.trained(PROGRAM)
        return {f.name: f.read_bytes() for f in (self.folder / "result").iterdir()}

    def test_a_result_is_kept_until_there_is_room_and_never_torn(self):
        if (mount := self.small_disk()) is None:
            return
        expected = self.whole_result()
        (mount / "result").mkdir()
        self.filled(mount)
        run = self.start("run", self.program(mount / "result", self.folder / "saved"), "--devices", "cpu:1", "--json")
        note = self.note_with(run, "the result cannot be written: ")
        self.assertIn(f"{mount}/result/", note)
        self.assertIn("No space left on device", note)
        self.assertEqual([f for f in (mount / "result").iterdir() if not f.name.startswith(".")], [])
        (mount / "full").unlink()
        result = self.finish(run)
        self.assertEqual(result.code, 0, str(result))
        self.assertEqual({f.name: f.read_bytes() for f in (mount / "result").iterdir()}, expected)

    def test_a_second_command_writes_a_result_elsewhere(self):
        if (mount := self.small_disk()) is None:
            return
        expected = self.whole_result()
        self.filled(mount)
        app = self.program(mount / "result", self.folder / "saved")
        run = self.start("run", app, "--devices", "cpu:1", "--json")
        self.note_with(run, "the result cannot be written: ")
        second = self.troupe("run", app, "--devices", "cpu:1", "--resume", "--result-directory", "else where", "--json")
        self.assertEqual(second.code, 0, str(second))
        self.assertEqual({f.name: f.read_bytes() for f in (self.folder / "else where").iterdir()}, expected)
        run.send_signal(signal.SIGINT)
        self.assert_one_line_error(self.finish(run), 130, "stopped while the result could not be written: ", "saved/phase-",
                                   "--resume goes on from it")
        network = self.troupe("run", self.app(), "--result-directory", "x")
        self.assert_one_line_error(network, 2, 'result: goes with "program"')

    def test_a_full_disk_at_the_checkpoints_of_a_program_leaves_its_result(self):
        if (mount := self.small_disk()) is None:
            return
        expected = self.whole_result()
        shutil.rmtree(self.folder / "result")
        (mount / "saved").mkdir()
        self.filled(mount)
        result = self.troupe("run", self.program("result", mount / "saved"), "--devices", "cpu:1", "--json")
        self.assertEqual(result.code, 0, str(result))
        self.assertIn("the end of the run is not saved: ", result.event("note")[-1]["message"])
        self.assertIn("--resume goes on from the beginning", result.event("note")[-1]["message"])
        self.assertEqual({f.name: f.read_bytes() for f in (self.folder / "result").iterdir()}, expected)
        self.assertEqual(list((mount / "saved").iterdir()), [])


if __name__ == "__main__":
    main()
