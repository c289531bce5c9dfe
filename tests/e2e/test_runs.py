"""Training as a user does it: one process, several processes, a running cluster."""

import json
import os
import re
import signal
import struct
import unittest.mock

from support import APP, PATIENCE, TroupeTest, main

WHEN = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ"
LONG = APP.replace("epochs: 2", "epochs: 100000")


class Runs(TroupeTest):
    def assert_trained(self, result, nodes):
        self.assertEqual(result.code, 0, str(result))
        start, = result.event("start")
        done, = result.event("done")
        epochs = result.event("epoch")
        self.assertIn(":", start["inspect"])
        self.assertEqual([e["epoch"] for e in epochs], [1, 2])
        for key in ("train_loss", "test_loss", "test_accuracy", "samples_per_second", "seconds"):
            self.assertIn(key, epochs[-1])
            self.assertEqual(done[key], epochs[-1][key])
        self.assertEqual(done["nodes"], nodes)
        self.assertGreater(done["test_accuracy"], 0.9)
        return start, epochs, done

    def test_the_same_weights_alone_and_on_two_node_processes(self):
        alone = self.troupe("run", self.app(), "--json")
        spread = self.troupe("run", self.app(), "--nodes", 2, "--json")
        self.assertEqual(alone.err + spread.err, "")
        _, first, _ = self.assert_trained(alone, 1)
        start, second, done = self.assert_trained(spread, 2)
        self.assertEqual([e["test_loss"] for e in first], [e["test_loss"] for e in second])
        self.assertEqual(done["transport"], "nodes")
        self.assertEqual({s["node"] for s in start["plan"]["stages"]}, {"node-0", "node-1"})

    def test_16_bit_products_give_the_same_weights_alone_and_on_two_node_processes(self):
        _, exact, _ = self.assert_trained(self.troupe("run", self.app(), "--json"), 1)
        with open("/proc/cpuinfo") as info:
            processor = info.read()
        is_faster = {"bf16": "avx512_bf16" in processor and "AuthenticAMD" in processor, "f16": False}
        for precision in is_faster:
            rounded = ("--set", f"model.precision={precision}")
            alone = self.troupe("run", self.app(), *rounded, "--json")
            spread = self.troupe("run", self.app(), *rounded, "--nodes", 2, "--json")
            start, first, _ = self.assert_trained(alone, 1)
            _, second, _ = self.assert_trained(spread, 2)
            self.assertEqual(start["plan"]["precision"], precision)
            self.assertEqual([e["test_loss"] for e in first], [e["test_loss"] for e in second])
            self.assertNotEqual(first[-1]["test_loss"], exact[-1]["test_loss"])
            self.assertAlmostEqual(first[-1]["test_loss"], exact[-1]["test_loss"], delta=0.02)
            (self.assertNotIn if is_faster[precision] else self.assertIn)(
                f"note: model.precision: this processor multiplies {precision}",
                self.troupe("plan", self.app(), *rounded).err)

    def test_nodes_that_an_app_leaves_idle_are_noted(self):
        for command in ("run", "plan"):
            result = self.troupe(command, self.app(), "--nodes", 2, "--set", "topology=single")
            self.assertEqual(result.code, 0, str(result))
            self.assertIn("note: topology: single, so that one of 2 devices does all the work", result.err)
            self.assertNotIn("all the work", self.troupe(command, self.app(), "--nodes", 2).err)

    def test_nodes_with_different_instruction_sets_are_noted(self):
        with unittest.mock.patch.dict(os.environ, {"ONEDNN_MAX_CPU_ISA": "SSE41"}):
            _, address = self.node(name="old")
        _, _ = self.node("--join", address, name="new")
        for command in ("run", "plan"):
            result = self.troupe(command, self.app(), "--cluster", address)
            self.assertEqual(result.code, 0, str(result))
            self.assertRegex(result.err, r"note: processors compute with different instruction sets: "
                                         r"(AVX[\w ]+ on new; SSE41 on old); their sums differ in the last bits")
            self.assertNotIn("instruction sets", self.troupe(command, self.app(), "--nodes", 2).err)

    def test_the_lag_of_each_stage_is_that_of_pipedream(self):
        result = self.troupe("run", self.app(), "--nodes", 2, "--json")
        stages = result.event("done")[0]["stages"]
        # 16 minibatches in each of 2 epochs; stage 0 of 2 is one version late but for the first of an epoch.
        self.assertEqual(stages[0]["weight_version_lag"], {"0": 2, "1": 30})
        self.assertEqual(stages[1]["weight_version_lag"], {"0": 32})

    def run_in_little_memory(self, text, nodes):
        """A run of 320 minibatches, the memory of its stages' devices, and its trace."""
        trace = self.folder / "trace.json"
        _, address = self.node("--memory-mb", 64, name="a")
        for n in range(1, nodes):
            self.node("--memory-mb", 64, "--join", address, name=f"b{n}")
        result = self.troupe("run", self.app(text), "--cluster", address, "--trace", trace, "--json")
        self.assertEqual(result.code, 0, str(result))
        used = [stage["memory"] for stage in result.event("done")[0]["stages"]]
        for memory in used:
            self.assertGreater(memory["system_allocations"], 0)
            self.assertLessEqual(memory["peak_bytes"], memory["reserved_bytes"])
            self.assertLessEqual(memory["reserved_bytes"], 64 << 20)
        return used, json.loads(trace.read_text())["traceEvents"]

    def test_memory_is_taken_from_the_system_in_the_first_steps_alone(self):
        text = APP.split("topology:")[0].replace("512", "10240").replace("epochs: 2", "epochs: 1")
        _, events = self.run_in_little_memory(text, 1)
        counters = [e for e in events if e["ph"] == "C"]
        name, = {e["name"] for e in counters}
        self.assertRegex(name, "^memory of the device of [0-9a-f]{8}/stage-0$")
        tenth = min(e["ts"] for e in events if e["ph"] == "X" and e["args"].get("minibatch") == 10)
        evaluation = min(e["ts"] for e in events if e["ph"] == "X" and e["name"] == "evaluate")
        self.assertFalse([e for e in counters if tenth < e["ts"] < evaluation], counters)

    def test_a_pipeline_reuses_its_memory(self):
        used, _ = self.run_in_little_memory(APP.replace("epochs: 2", "epochs: 20"), 2)
        for memory in used:  # a minibatch of each stage takes several buffers: thousands, were they not reused
            self.assertLess(memory["system_allocations"], 60)
            self.assertLess(memory["system_allocations_of_last_epoch"], 5)  # batches of an evaluation on their way

    def test_a_loss_that_is_not_a_number_names_minibatch_layer_and_checkpoint(self):
        app = self.app(APP.split("topology:")[0].replace("    - relu\n", "") + "checkpoint: {directory: saved}\n")
        result = self.troupe("run", app)
        self.assertEqual(result.code, 0, str(result))
        result = self.troupe("run", app, "--resume", "--set", "train.epochs=9", "--set", "train.optimizer.sgd.learning_rate=1000")
        self.assertEqual(result.code, 1, str(result))
        self.assertRegex(result.err, r"stage 0 on local/cpu:0: forward: the loss of minibatch \d+ is not a number: "
                                     r"layers\.\d \w+ is the first layer that gives none; a smaller learning_rate \(train\.optimizer\) may "
                                     r"help; the last good checkpoint is \S*saved/epoch-000\d\n")

    def test_a_test_loss_that_is_not_a_number_ends_the_run_and_saves_nothing(self):
        # A batch norm keeps the loss of training a number with any learning rate, but its averages overflow.
        text = APP.split("topology:")[0].replace("    - relu\n", "    - batch_norm\n    - relu\n")
        text = text.replace("learning_rate: 0.05", "learning_rate: 1000") + "checkpoint: {directory: saved}\n"
        result = self.troupe("run", self.app(text), "--json")
        self.assertEqual(result.code, 1, str(result))
        self.assertEqual(result.event("error")[0]["code"], "numeric")
        self.assertIn("the test loss is not a number: layers.1 batch_norm is the first layer that gives none; a smaller learning_rate "
                      "(train.optimizer) may help\n", result.err)
        self.assertFalse((self.folder / "saved").exists())

    def test_gpipe_does_not_depend_on_the_number_of_stages(self):
        text = APP.replace("schedule: pipedream", "schedule: gpipe\n    microbatches: 4")
        losses = []
        for stages in ("[{layers: 4}]", "[{layers: 3}, {layers: 1}]", "[{layers: 1}, {layers: 2}, {layers: 1}]"):
            result = self.troupe("run", self.app(text), "--set", f"topology.pipeline.stages={stages}", "--json")
            self.assertEqual(result.code, 0, str(result))
            losses.append([(e["train_loss"], e["test_loss"]) for e in result.event("epoch")])
        self.assertEqual(losses[0], losses[1])
        self.assertEqual(losses[0], losses[2])

    def test_arrays_of_numpy_are_trained_on_and_vary_from_epoch_to_epoch(self):
        def array(name, kind, shape, elements):
            header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
            (self.folder / name).write_bytes(b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + elements)

        classes = [i * 7 % 4 for i in range(512)]
        # One quarter of the image, which is the class, is bright.
        array("x.npy", "|u1", (512, 8, 8), bytes(200 if (y // 4 * 2 + x // 4) == c else 20 + (i + x) % 30
                                                 for i, c in enumerate(classes) for y in range(8) for x in range(8)))
        array("y.npy", "<i8", (512,), struct.pack("<512q", *classes))
        npy = "npy: {train_inputs: x.npy, train_labels: y.npy, test_inputs: x.npy, test_labels: y.npy}"
        text = APP.replace("synthetic: {train_samples: 512, test_samples: 128, classes: 4}", npy)
        plain = self.troupe("run", self.app(text), "--json")
        self.assert_trained(plain, 1)
        text = text.replace("model:\n", "  images: {mean: [0.3], deviation: [0.3], crop_padding: 1}\nmodel:\n", 1)
        moved = [self.troupe("run", self.app(text), "--json") for _ in range(2)]
        _, first, _ = self.assert_trained(moved[0], 1)
        _, second, _ = self.assert_trained(moved[1], 1)
        self.assertEqual([e["train_loss"] for e in first], [e["train_loss"] for e in second])

    def test_a_text_trains_a_model_of_its_bytes(self):
        self.write("text", "the quick brown fox " * 400)
        text = re.sub(r"    - conv2d.*linear: {out: 4}\n", "    - embedding: {vocabulary: 256, width: 32}\n    - linear: {out: 256}\n",
                      APP, flags=re.DOTALL)
        text = text.replace("synthetic: {train_samples: 512, test_samples: 128, classes: 4}", "text: {train: [te*t]}")
        text = text.replace("[1, 8, 8]", "[16]").replace("{layers: 3}", "{layers: 1}").replace("batch: 32", "batch: 4")
        result = self.troupe("run", self.app(text), "--json", "--set", "train.optimizer={adam: {learning_rate: 0.03}}")
        self.assertEqual(result.code, 0, str(result))
        first, last = result.event("epoch")
        self.assertLess(last["test_loss"], first["train_loss"] / 2)
        result = self.troupe("check", self.app(text.replace("vocabulary: 256", "vocabulary: 110")))
        self.assert_one_line_error(result, 2, "data.text.train: ", "text: sample 0 has token 116, but the model has 110 tokens")

    def test_an_autoencoder_learns_to_give_its_own_samples(self):
        layers = "\n".join(f"    - {layer}" for layer in ("linear: {out: 32}", "tanh", "linear: {out: 64}", "sigmoid"))
        text = re.sub(r"  layers:\n(    - .*\n)+  loss: .*", f"  layers:\n{layers}\n  loss: mean_squared_error", APP)
        text = text.replace("classes: 4}\n", "classes: 4}\n  target: input\n").replace("learning_rate: 0.05", "learning_rate: 1")
        result = self.troupe("run", self.app(text), "--json")
        self.assertEqual(result.code, 0, str(result))
        first, last = result.event("epoch")
        self.assertLess(last["test_loss"], first["test_loss"])
        self.assertNotIn("test_accuracy", last)

    def test_a_recurrent_model_learns_sequences(self):
        layers = "\n".join(f"    - {layer}" for layer in ("gru: {out: 24}", "lstm: {out: 16, last: true}", "linear: {out: 4}"))
        text = re.sub(r"  layers:\n(    - .*\n)+", f"  layers:\n{layers}\n", APP).replace("[1, 8, 8]", "[8, 8]")
        text = text.replace("{layers: 3}", "{layers: 2}").replace("sgd: {learning_rate: 0.05, momentum: 0.9}",
                                                                  "adam: {learning_rate: 0.01}")
        result = self.troupe("run", self.app(text), "--json")
        self.assertEqual(result.code, 0, str(result))
        first, last = result.event("epoch")
        self.assertLess(last["train_loss"], first["train_loss"])

    def test_a_run_on_a_running_cluster_leaves_it_running(self):
        _, address = self.node(name="a")
        self.node("--join", address, name="b")
        for _ in range(2):
            result = self.troupe("run", self.app(), "--cluster", address, "--json")
            start, _, _ = self.assert_trained(result, 2)
            self.assertEqual({s["node"] for s in start["plan"]["stages"]}, {"a", "b"})
        status = self.troupe("status", address, "--json")
        self.assertEqual(status.code, 0, str(status))
        self.assertEqual({n["name"] for n in json.loads(status.out)["nodes"]}, {"a", "b"})

    def test_a_node_logs_who_comes_and_goes_and_what_runs_place_on_it(self):
        node, address = self.node(name="a")
        other, _ = self.node("--join", address, name="b")
        self.assertEqual(self.troupe("run", self.app(), "--cluster", address).code, 0)
        for end, victim in ((signal.SIGINT, None), (signal.SIGKILL, None), (signal.SIGKILL, other)):
            run = self.start("run", self.app(LONG), "--cluster", address, "--json")
            self.read_event(run, "epoch")
            (victim or run).send_signal(end)
            self.finish(run, 15)
        expected = [r"node b \(127\.0\.0\.1:\d+\) has joined, over shared memory"]
        for end in (["the actors of run-\\S+ have ended: the run is done", "run-\\S+ has left"],
                    ["the actors of run-\\S+ have ended: the run was cancelled: stopped .*", "run-\\S+ has left"],
                    ["the actors of run-\\S+ have ended: .* is gone.*", "run-\\S+ is lost: .*"],
                    ["the actors of run-\\S+ have ended: the run has failed: node b is lost: .*", "run-\\S+ has left"]):
            expected += [r"run-\S+ \(\S+\) has joined, over shared memory", r"run-\S+ has placed [0-9a-f]{8}/stage-0 on cpu:0", *end]
        expected.append("node b is lost: .*")
        lines = []
        while missing := [one for one in expected if not any(re.fullmatch(f"troupe: {WHEN} {one}\n", line) for line in lines)]:
            self.assertLess(len(lines), len(expected) + 1, (missing, "".join(lines)))
            lines.append(node.stderr.readline())
        node.send_signal(signal.SIGTERM)
        result = self.finish(node, 10)
        self.assertEqual(result.code, 0)
        # The last run may leave only now.
        self.assertRegex(result.err, f"^(troupe: {WHEN} run-\\S+ has left\n)?troupe: {WHEN} stopping: SIGTERM\n$")

    def test_a_node_whose_log_nobody_reads_goes_on_and_stops(self):
        node = self.start("node", "--listen", "127.0.0.1:0", pipesize=4096)
        address = re.search(r" listens on (\S+?),", node.stdout.readline()).group(1)
        for _ in range(25):  # four lines each, more than the pipe takes
            self.assertEqual(self.troupe("run", self.app(), "--cluster", address, "--set", "train.epochs=1").code, 0)
        node.send_signal(signal.SIGTERM)
        node.wait(10 * PATIENCE)
        self.assertEqual(node.returncode, 0)

    def test_a_quiet_node_logs_nothing(self):
        node, address = self.node("--quiet")
        self.assertEqual(self.troupe("run", self.app(), "--cluster", address, "--set", "train.epochs=1").code, 0)
        node.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(node, 10).err, "")

    def test_a_run_shows_its_learning_rate_and_says_where_more_epochs_move_it(self):
        app = self.app(APP + "checkpoint: {directory: saved}\n")
        falling = ["--set", "train.schedule={polynomial: {}}"]
        run = self.troupe("run", app, *falling, "--json")
        rates = [(e["learning_rate"], e["learning_rate_at_end"]) for e in run.event("epoch")]
        # 32 minibatches, of which the first has the whole rate and the last none of it
        for shown, expected in zip(rates, [(1, 16 / 31), (15 / 31, 0)], strict=True):
            for rate, share in zip(shown, expected, strict=True):
                self.assertAlmostEqual(rate, 0.05 * share, delta=1e-7)
        start, = run.event("start")
        self.assertEqual(start["plan"]["learning_rate"], {"full": 0.05, "warmup_minibatches": 0, "schedule": "polynomial", "last": 0})
        self.assertIn("\nlearning rate 0.05, down to 0 with the run's last minibatch by polynomial\n", self.troupe("plan", app, *falling).out)
        more = self.troupe("run", app, *falling, "--set", "train.epochs=4", "--resume")
        self.assertIn("saved by a run of 2 epochs, and this one has 4: polynomial (train.schedule)", more.err)
        self.assertRegex(more.out, r"epoch 3/4  .*  learning rate 0\.0246032  learning rate at end 0\.0126984\n")
        alone = self.troupe("run", self.app(), "--set", "train.epochs=1")
        self.assertRegex(alone.out, r"epoch 1/1  .*  learning rate 0\.05\n")

    def test_runs_that_share_a_cluster_are_noted(self):
        _, address = self.node(name="a")
        first = self.start("run", self.app(LONG), "--cluster", address, "--json")
        self.read_event(first, "epoch")
        for command in (["run", self.app(), "--cluster", address, "--set", "train.epochs=1"],
                        ["plan", self.app(), "--cluster", address]):
            noted = self.troupe(*command, "--set", "topology=single")
            self.assert_one_line_error(noted, 0, "note: run-", "uses this cluster too")
        first.send_signal(signal.SIGINT)
        self.finish(first, 15)
        self.assertEqual(self.troupe("plan", self.app(), "--cluster", address, "--set", "topology=single").err, "")

    def test_a_run_that_learns_nothing_says_so_and_how_to_go_on(self):
        still = ["--set", "train.optimizer.sgd.learning_rate=0", "--set", "train.shuffle=false"]
        self.assert_one_line_error(self.troupe("run", self.app(), *still), 0, "note: the ", "learning_rate")
        self.assertEqual(self.troupe("run", self.app()).err, "")

    def test_a_cluster_over_tcp_is_planned_for_over_tcp(self):
        _, address = self.node("--transport", "tcp", name="a")
        for transport in ([], ["--transport", "tcp"]):
            result = self.troupe("plan", self.app(), "--cluster", address, *transport)
            self.assertEqual(result.code, 0, str(result))
            self.assertIn("stage 0 on a/cpu:0", result.out)

    def test_stages_auto_makes_one_stage_per_device(self):
        text = APP.replace("stages: [{layers: 3}, {layers: 1}]", "stages: auto")
        start, _, _ = self.assert_trained(self.troupe("run", self.app(text), "--nodes", 2, "--json"), 2)
        self.assertEqual(len(start["plan"]["stages"]), 2)
        self.assertGreater(start["plan"]["stages"][0]["measured_ms"], 0)

    def test_plan_prints_stages_and_bytes(self):
        result = self.troupe("plan", self.app(), "--nodes", 2)
        self.assertEqual(result.code, 0, str(result))
        for part in ("stage 0 on node-0/cpu:0", "stage 1 on node-1/cpu:0", "Activation", "Gradient", "kB",
                     "in 2 versions", "of at most 1 minibatch in flight", "all stages\n  4 layers, 596 parameters"):
            self.assertIn(part, result.out)
        self.assertRegex(result.out, r"\n *2  layers\[2\] max_pool +\[8, 4, 4\] +0 ")
        self.assertNotIn("note:", result.out)

    def test_plan_gives_all_layers_as_json(self):
        text = APP.replace("    - relu\n", "    - repeat: {times: 2, layers: [relu]}\n").replace("{layers: 3}", "{layers: 4}")
        result = self.troupe("plan", self.app(text), "--nodes", 2, "--json")
        planned = json.loads(result.out)
        self.assertEqual([(layer["number"], layer["stage"], layer["key"], layer["name"], layer["kind"], layer["output"])
                          for layer in planned["layers"]],
                         [(0, 0, "model.layers[0]", "layers.0", "conv2d", [8, 8, 8]),
                          (1, 0, "model.layers[1].repeat.layers[0]", "layers.1.0.0", "relu", [8, 8, 8]),
                          (2, 0, "model.layers[1].repeat.layers[0]", "layers.1.1.0", "relu", [8, 8, 8]),
                          (3, 0, "model.layers[2]", "layers.2", "max_pool", [8, 4, 4]),
                          (4, 1, "model.layers[3]", "layers.3", "linear", [4])])
        self.assertEqual(planned["layers"][4]["parameters"], 4 * 128 + 4)
        self.assertEqual(planned["layers"][4]["kept_bytes"], 32 * 4 * (128 + 4))
        self.assertEqual(planned["layers"][3]["crossing_bytes"], 2 * planned["stages"][0]["activation_bytes"])
        for number in ("parameters", "forward_flops", "backward_flops", "weight_bytes", "kept_bytes"):
            self.assertEqual(planned["total"][number], sum(stage[number] for stage in planned["stages"]))
        self.assertEqual((planned["topology"], planned["schedule"]), ("pipeline", "pipedream"))

    def test_a_plan_of_one_device_names_no_schedule(self):
        planned = json.loads(self.troupe("plan", self.app(APP.split("topology:")[0]), "--json").out)
        self.assertEqual(planned["topology"], "single")
        self.assertNotIn("schedule", planned)

    def test_stages_that_share_a_device_are_noted(self):
        for command in (["plan"], ["run", "--set", "train.epochs=1"]):
            result = self.troupe(command[0], self.app(), "--devices", "cpu:1", *command[1:])
            self.assertEqual(result.code, 0, str(result))
            self.assertEqual(result.err.count("troupe: note: stages that share a device take turns: 0, 1 on local/cpu:0\n"), 1)
            self.assertNotIn("note", result.out)

    def test_json_has_what_is_noted_for_people(self):
        rounded = ("--set", "model.precision=tf32", "--devices", "cpu:1", "--memory-mb", 16)
        app = self.app(APP.replace("out: 8", "out: 4096"))
        noted = [line.removeprefix("troupe: note: ") for line in self.troupe("plan", app, *rounded).err.splitlines()]
        self.assertEqual([note.split(":")[0] for note in noted], ["model.precision", "stages that share a device take turns",
                         "local/cpu"])
        self.assertIn("local/cpu:0 may not hold what its stages keep: ", noted[-1])
        self.assertTrue(noted[-1].endswith("its bound is 16.8 MB: use more stages, a smaller train.batch or a larger bound "
                                           "(--memory-mb)"), noted[-1])
        planned = self.troupe("plan", app, *rounded, "--json")
        self.assertEqual((planned.code, planned.err, json.loads(planned.out)["notes"]), (0, "", noted))
        ran = self.troupe("run", app, *rounded, "--json")
        self.assertEqual(ran.event("start")[0]["notes"], noted, str(ran))
        self.assertEqual(ran.err.count("\n"), ran.code, str(ran))  # at most that memory has run out
        nothing = self.troupe("plan", self.app(), "--devices", "cpu:2", "--json")
        self.assertEqual(json.loads(nothing.out)["notes"], [], str(nothing))

    def test_more_devices_than_cores_are_noted(self):
        cores = len(os.sched_getaffinity(0))
        for devices in (cores, cores + 1):
            node, _ = self.node("--devices", f"cpu:{devices}", name=f"node-{devices}")
            node.send_signal(signal.SIGTERM)
            noted = [line for line in self.finish(node, 10).err.splitlines() if "note: " in line]
            for command in (["plan", "--devices", f"cpu:{devices}"], ["plan", "--nodes", devices],
                            ["run", "--nodes", devices, "--set", "train.epochs=1"]):
                noted += self.troupe(command[0], self.app(), *command[1:]).err.splitlines()
            self.assertEqual(len(noted), 4 * (devices - cores), noted)
            for line in noted:
                self.assertRegex(line, f"troupe: ({WHEN} )?note: {devices} devices share the .* of this machine$")
            cut = self.troupe("plan", self.app(), "--devices", f"cpu:{devices}", "--set", "topology.pipeline.stages=auto")
            self.assertEqual(cut.err.count("; `stages: auto` makes a stage for each of them\n"), devices - cores, str(cut))


if __name__ == "__main__":
    main()
