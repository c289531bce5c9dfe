"""How runs end: stops, losses, checkpoints and resumption."""

import fcntl
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import termios
import time

from support import APP, PATIENCE, TROUPE, TroupeTest, main, processes

LONG = APP.replace("epochs: 2", "epochs: 100000")


class Ends(TroupeTest):
    def checkpointed(self, text=LONG):
        return self.app(text + f"checkpoint: {{directory: {self.folder}/saved}}\n")

    def test_a_killed_node_ends_the_run_with_its_name_before_a_heartbeat_is_missed(self):
        victim, address = self.node(name="a")
        other, _ = self.node("--join", address, name="b")
        run = self.start("run", self.checkpointed(), "--cluster", address, "--json")
        self.read_event(run, "epoch")
        self.read_event(run, "epoch")  # so the first one is saved
        other.kill()
        killed = time.monotonic()
        result = self.finish(run, 10)
        self.assert_within(15, since=killed)    # that no heartbeat noticed it is told by "its process"
        self.assert_one_line_error(result, 3, "node b is lost: its process", "b/cpu:0", "saved/epoch-", "--resume")
        for once in ("node b", "is lost", "127.0.0.1", "is gone"):
            self.assertEqual(result.err.count(once), 1, f"{once} is said once\n{result}")
        self.assertIsNone(victim.poll(), "the other node lives on")

    def test_a_stopped_node_is_noticed_within_five_seconds(self):
        _, address = self.node(name="a")
        other, _ = self.node("--join", address, name="b")
        run = self.start("run", self.app(LONG), "--cluster", address, "--json")
        self.read_event(run, "epoch")
        other.send_signal(signal.SIGSTOP)
        stopped = time.monotonic()
        result = self.finish(run, 15)
        self.assert_within(12, since=stopped)   # about five, but for a machine that itself stalls
        self.assert_one_line_error(result, 3, "node b is lost: no heartbeat", "b/cpu:0", "nothing was saved")

    def test_a_stopped_node_comes_back_and_the_next_run_uses_it(self):
        impatient = ("--heartbeat-ms", 100, "--heartbeat-timeout-ms", 1000)
        first, address = self.node(*impatient, name="a")
        other, _ = self.node(*impatient, "--join", address, name="b")
        third, _ = self.node(*impatient, "--join", address, name="c")
        run = self.start("run", self.app(LONG), "--cluster", address, "--json")
        self.read_event(run, "epoch")
        other.send_signal(signal.SIGSTOP)
        for node in (first, third):
            self.read_line(node, "node b is lost: .*; this node goes on trying to reach it")
        other.send_signal(signal.SIGCONT)
        self.assertEqual(self.finish(run, 15).code, 3)  # what it had on the node is gone
        for node in (first, third):
            self.read_line(node, r"node b \(\S+\) has joined")
        self.eventually(lambda: {n["name"] for n in self.status(address) if n["role"] == "node"} == {"a", "b", "c"},
                        "all nodes are there")
        stages = "topology={pipeline: {schedule: gpipe, microbatches: 4, stages: 3}}"
        result = self.troupe("run", self.app(), "--cluster", address, "--json", "--set", stages)
        self.assertEqual(result.code, 0, str(result))
        self.assertEqual({s["node"] for s in result.event("start")[0]["plan"]["stages"]}, {"a", "b", "c"})

    def test_a_killed_node_comes_back_only_as_the_one_that_is_started_in_its_place(self):
        first, address = self.node(name="a")
        other, there = self.node("--join", address, name="b")
        other.kill()
        self.read_line(first, "node b is lost")
        self.assertEqual([n["name"] for n in self.status(address)], ["a"])
        again = self.start("node", "--listen", there, "--name", "b", "--join", address)
        again.stdout.readline()
        self.read_line(first, r"node b \(\S+\) has joined")
        self.assertEqual([n["name"] for n in self.status(address)], ["a", "b"])

    def status(self, address):
        return json.loads(self.troupe("status", address, "--json").out)["nodes"]

    def test_a_node_that_is_stopped_in_order_ends_the_run_too(self):
        _, address = self.node(name="a")
        other, _ = self.node("--join", address, name="b")
        run = self.start("run", self.app(LONG), "--cluster", address, "--json")
        self.read_event(run, "epoch")
        other.send_signal(signal.SIGTERM)
        result = self.finish(run, 15)
        self.assert_one_line_error(result, 3, "node b ", "stop", "b/cpu:0", "nothing was saved")

    def test_a_run_goes_on_while_nobody_reads_what_it_prints(self):
        _, address = self.node("--heartbeat-timeout-ms", 2500, name="a")
        run = self.start("run", self.app(LONG), "--cluster", address, "--json", pipesize=4096)
        self.read_event(run, "epoch")
        # The pipe is one page, which takes no second line before the first is read.
        self.eventually(lambda: fcntl.ioctl(run.stdout, termios.FIONREAD, bytes(4)) != bytes(4), "a line waits")
        time.sleep(5)  # a network that the full pipe holds up would be noticed by node a
        run.send_signal(signal.SIGINT)
        result = self.finish(run, 15)
        self.assert_one_line_error(result, 130, "stopped")
        epochs = [e["epoch"] for e in result.event("epoch")]
        self.assertGreater(len(epochs), 2, "it went on")
        self.assertEqual(epochs, list(range(epochs[0], epochs[0] + len(epochs))))
        self.assertEqual(result.events[-1]["event"], "error")

    def test_an_interrupted_run_saves_and_resumes(self):
        app = self.checkpointed()
        run = self.start("run", app, "--nodes", 2, "--json")
        self.read_event(run, "epoch")
        run.send_signal(signal.SIGINT)
        result = self.finish(run, 15)
        self.assert_one_line_error(result, 130, "stopped", "saved/epoch-", "--resume")
        saved = sorted((self.folder / "saved").glob("epoch-*"))
        manifest = json.loads((saved[-1] / "manifest.json").read_text())
        epochs, more = manifest["epochs_done"], manifest["minibatches_done"] % 16
        where = f"stopped in epoch {epochs + 1} after {more} of 16 minibatches" if more else f"stopped after epoch {epochs}"
        name = f"epoch-{epochs:04}" + (f"-plus-{more:04}-minibatches" if more else "")
        self.assertIn(f"{where}, saved in {self.folder}/saved/{name};", result.err)
        result = self.troupe("run", app, "--nodes", 2, "--json", "--resume", "--set", f"train.epochs={epochs + 1}")
        self.assertIn("saved/epoch-", result.event("start")[0]["resumed_from"])
        self.assertEqual(result.code, 0, str(result))
        self.assertEqual([e["epoch"] for e in result.event("epoch")], [epochs + 1])

    def test_signals_that_come_together_are_one(self):  # `timeout` sends one to the run and one to its group
        run = self.start("run", self.checkpointed(), "--nodes", 2, "--json")
        self.read_event(run, "epoch")
        run.send_signal(signal.SIGINT)
        run.send_signal(signal.SIGTERM)
        self.assert_one_line_error(self.finish(run, 15), (130, 143), "stopped ", "saved/epoch-", "--resume")

    def test_a_second_interrupt_ends_a_run_at_once_though_a_node_of_it_hangs(self):
        for waited in (0.6, 1.5):     # for the hanging node: while the run is stopped, while its own node closes
            with self.subTest(waited=waited):
                run = self.start("run", self.app(LONG), "--nodes", 2, "--json", "--trace", "trace.json")
                self.read_event(run, "epoch")
                os.kill(max(processes(self.folder) - {run.pid}), signal.SIGSTOP)
                run.send_signal(signal.SIGINT)
                time.sleep(waited)
                self.assertIsNone(run.poll(), "one alone waits for the node")
                run.send_signal(signal.SIGINT)
                interrupted = time.monotonic()
                result = self.finish(run, 15)
                self.assert_within(3, since=interrupted)
                self.assert_one_line_error(result, 130, "stopped at once by a second signal; nothing was saved")

    def test_resuming_after_an_epoch_gives_the_weights_of_an_uninterrupted_run(self):
        text = APP + f"checkpoint: {{directory: {self.folder}/saved}}\n"
        whole = self.troupe("run", self.app(), "--json", "--set", "train.epochs=3")
        self.troupe("run", self.app(text), "--json", "--set", "train.epochs=2")
        resumed = self.troupe("run", self.app(text), "--json", "--set", "train.epochs=3", "--resume")
        self.assertEqual(resumed.code, 0, str(resumed))
        self.assertEqual(whole.event("epoch")[-1]["test_loss"], resumed.event("epoch")[-1]["test_loss"])

    def test_a_run_that_is_not_the_one_that_saved_is_told_the_differences(self):
        self.assertEqual(self.troupe("run", self.checkpointed(APP), "--json").code, 0)
        for given, said in (
                (["train.seed=4"], "train.seed 3, not 4"),
                (["train.batch=16", "data.synthetic.train_samples=256"],
                 "train.batch 32, not 16, a number of training samples of 512, not 256"),
                (["train.batch_growth={every_epochs: 1, maximum: 64}"], 
                 "minibatches of 32 samples in epoch 3, where train.batch and train.batch_growth now make 64"),
                (["train.batch=16", "train.batch_growth={every_epochs: 1, maximum: 32}"], "another train.batch_growth"),
                (["model.layers[0].conv2d.out=4"], "model.layers[0].conv2d.out 8, not 4"),
                (["model.precision=bf16"], "model.precision f32, not bf16")):
            result = self.troupe("run", self.checkpointed(APP), "--resume", *(w for g in given for w in ("--set", g)))
            self.assert_one_line_error(result, 2, f"epoch-0002 was saved with {said}; resume with the same")
            (self.assertNotIn if "conv2d" in said else self.assertIn)("troupe convert APP.yaml ", result.err)
        rounded = ("--set", "model.precision=bf16")
        self.assertEqual(self.troupe("convert", self.checkpointed(APP), "saved", "start", *rounded).code, 0)
        onward = self.troupe("run", self.checkpointed(APP), "--resume", "--set", "checkpoint.directory=start", *rounded)
        self.assertEqual(onward.code, 0, str(onward))

    def test_a_run_that_goes_on_with_another_optimizer_says_what_becomes_of_its_state(self):
        app = self.checkpointed(APP)
        self.assertEqual(self.troupe("run", app, "--json").code, 0)
        onward = ("run", app, "--resume", "--set", "train.epochs=3")
        self.assertEqual(self.troupe(*onward, "--set", "checkpoint.keep=9").err, "")
        adam = self.troupe(*onward, "--set", "train.epochs=4", "--set", "train.optimizer={adam: {learning_rate: 0.001}}")
        self.assertEqual(adam.code, 0, str(adam))
        notes = [line for line in adam.err.splitlines() if "note: --resume: " in line]
        self.assertEqual(len(notes), 2, str(adam))
        self.assertRegex(notes[0], r"saved/epoch-0003 was saved with another train.optimizer; .* left out: momentum_buffer$")
        self.assertRegex(notes[1], r"saved/epoch-0003 has not the state of this .* zeros: exp_avg, exp_avg_sq$")
        adamw = self.troupe(*onward, "--set", "train.epochs=5", "--set", "train.optimizer={adamw: {learning_rate: 0.001}}")
        notes = [line for line in adamw.err.splitlines() if "note: --resume: " in line]
        self.assertEqual(len(notes), 1, str(adamw))
        self.assertRegex(notes[0], r"saved/epoch-0004 was saved with train.optimizer adam; adamw goes on with its state: exp_avg, exp_avg_sq$")

    def test_a_checkpoint_without_counts_of_updates_goes_on_and_says_what_it_takes_for_them(self):
        adam = APP.replace("sgd: {learning_rate: 0.05, momentum: 0.9}", "adam: {learning_rate: 0.001}")
        turns = ("{layers: 3}", "{layers: 3, replicas: 2}")
        note = (f"troupe: note: --resume: {self.folder}/saved/epoch-0002 was saved by an earlier build, without the optimizer's "
                "counts of updates; adam goes on as if it had made 32 of every weight, as that build took it, which is more than it has where replicas "
                "of a stage or of the whole updated by themselves")
        for app, where, counts, notes in ((adam.replace(*turns), "cpu:3", [16, 32], [note]), (adam, "cpu:2", [32, 32], [note]),
                                          (APP.replace(*turns), "cpu:3", [16, 32], [])):
            with self.subTest(app=app):
                shutil.rmtree(self.folder / "saved", ignore_errors=True)
                run = ("run", self.checkpointed(app), "--devices", where)
                self.assertEqual(self.troupe(*run).code, 0)
                path = self.folder / "saved/epoch-0002/manifest.json"
                manifest = json.loads(path.read_text())
                self.assertEqual((manifest["format_version"], [s["updates"] for s in manifest["stages"]]), (3, counts))
                onward = self.troupe(*run, "--resume", "--set", "train.epochs=3", "--set", "checkpoint.keep=9")
                self.assertEqual((onward.code, onward.err.count("--resume: ")), (0, 0), str(onward))
                shutil.rmtree(self.folder / "saved/epoch-0003")
                manifest["format_version"] = 2
                for stage in manifest["stages"]:
                    del stage["updates"]
                path.write_text(json.dumps(manifest))
                onward = self.troupe(*run, "--resume", "--set", "train.epochs=3")
                self.assertEqual(onward.code, 0, str(onward))
                self.assertEqual([line for line in onward.err.splitlines() if "--resume: " in line], notes)
                later = json.loads((self.folder / "saved/epoch-0003/manifest.json").read_text())
                self.assertEqual([s["updates"] for s in later["stages"]], [32 + counts[0] // 2, 48])

    def test_a_damaged_checkpoint_is_named_with_what_is_left_without_it(self):
        app = self.checkpointed(APP)
        self.assertEqual(self.troupe("run", app, "--json").code, 0)
        older, latest = (self.folder / "saved" / name for name in ("epoch-0001", "epoch-0002"))
        (latest / "stage-0-of-2.safetensors").unlink()
        result = self.troupe("run", app, "--resume")
        self.assert_one_line_error(result, 2, f"{latest}/stage-0-of-2.safetensors: missing",
                                   f"; delete {latest} to go on from {older}")
        (older / "stage-1-of-2.safetensors").write_bytes(b"x")
        result = self.troupe("run", app, "--resume")
        self.assert_one_line_error(result, 2, "no older one", f"delete {latest}, {older} and train anew without --resume")

    def test_progress_fits_into_a_narrow_terminal(self):
        terminal, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 30, 0, 0))
        run = subprocess.Popen([TROUPE, "run", self.app()], stdout=subprocess.DEVNULL, stderr=theirs, cwd=self.folder)
        os.close(theirs)
        self.assertEqual(run.wait(60 * PATIENCE), 0)
        shown = os.read(terminal, 65536).decode()
        os.close(terminal)
        lines = [line for line in re.split("\r\x1b\\[K", shown) if line]
        self.assertTrue([line for line in lines if line.startswith("epoch 1/2")], shown)
        self.assertLess(max(map(len, lines)), 30, shown)

    def test_resuming_when_nothing_is_left_says_so(self):
        app = self.checkpointed(APP)
        self.assertEqual(self.troupe("run", app, "--json").code, 0)
        result = self.troupe("run", app, "--nodes", 2, "--resume")
        self.assertEqual(result.code, 0, str(result))
        self.assertEqual(result.out.count("\n"), 1, str(result))
        for part in ("nothing left to do", "saved/epoch-0002", "train.epochs"):
            self.assertIn(part, result.out)
        done, = self.troupe("run", app, "--resume", "--json").events
        self.assertEqual((done["event"], done["nodes"], done["stages"]), ("done", 0, []))
        self.assertIn("saved/epoch-0002", done["checkpoint"])

    def test_interrupts_at_any_moment_leave_nothing_behind(self):
        app = self.app()
        for milliseconds in (1, 20, 60, 120, 200, 300, 500):
            for number in (signal.SIGINT, signal.SIGTERM):
                with self.subTest(milliseconds=milliseconds, signal=number):
                    run = self.start("run", app, "--nodes", 2)
                    time.sleep(milliseconds / 1000)
                    run.send_signal(number)
                    result = self.finish(run, 15)
                    self.assertIn(result.code, (0, 128 + number, -number), str(result))

    def test_a_node_drains_on_sigterm(self):
        node, address = self.node()
        node.send_signal(signal.SIGTERM)
        result = self.finish(node, 10)
        self.assertEqual(result.code, 0, str(result))

    def test_nodes_end_with_a_killed_run(self):
        run = self.start("run", self.app(LONG), "--nodes", 2, "--json")
        self.read_event(run, "epoch")
        run.kill()
        self.finish(run)


if __name__ == "__main__":
    main()
