"""GPUs as a user sees them: what is missing is told in one line, and what is computed on one is what a processor computes.

On a machine with a GPU this runs on it; else on the emulated one, which computes in memory of its own as a GPU does.
"""

import math
import os
import pathlib
import subprocess
import sys
import tempfile

from support import APP, TROUPE, TroupeTest, main

SINGLE = APP[:APP.index("topology:")]
FLAT = SINGLE.replace("""\
    - conv2d: {out: 8, kernel: 3, padding: 1}
    - relu
    - max_pool: {kernel: 2}
""", """\
    - linear: {out: 16}
    - relu
""")
# Replicas that do the same whatever the order of what happens, and others.
ORDERED = ["all_reduce", "{local_sgd: {period: 4}}", "{parameter_server: {consistency: bsp}}"] + [
    f"{{all_reduce: {{}}, codec: {codec}}}" for codec in (
        "{top_k: {ratio: 0.2}}", "{power_sgd: {rank: 2}}", "bf16", "f16", "int8", "one_bit", "sufficient_factors", "qsgd",
        "tern_grad", "{threshold: {threshold: 0.001}}")] + [
    "{parameter_server: {consistency: bsp}, codec: {top_k: {ratio: 0.2}}}"]
FREE = ["gossip", "malt", "admm", "hogwild", "{elastic_averaging: {rate: 0.1, period: 2}}",
        "{parameter_server: {consistency: {ssp: {staleness: 2}}}}",
        "{parameter_server: {consistency: asp, push_every: 3, fetch_every: 2}}"]
EMULATED = os.environ.get("TROUPE_EMULATED_CUDA", "")


def missing():
    """What is missing for a GPU, in the program's words; empty if it has one."""
    with tempfile.TemporaryDirectory() as folder:
        app = pathlib.Path(folder) / "app.yaml"
        app.write_text(SINGLE, encoding="utf-8")
        run = subprocess.run([TROUPE, "run", app, "--devices", "cuda:0"], capture_output=True, text=True, check=False)
    return run.stderr.strip() if "--devices: cuda:0: " in run.stderr else ""


class Gpus(TroupeTest):
    def losses(self, app, *arguments):
        result = self.troupe("run", self.app(app), "--json", *arguments)
        self.assertEqual((result.code, result.err), (0, ""), str(result))
        return [epoch["test_loss"] for epoch in result.event("epoch")]

    def assert_close(self, given, expected):
        for a, b in zip(given, expected, strict=True):
            self.assertLess(abs(a - b), 1e-3 * max(1, abs(b)), f"{given} beside {expected}")

    def test_a_model_trains_on_a_gpu_as_on_a_processor_and_twice_the_same(self):
        there = self.losses(SINGLE, "--devices", "cuda:0")
        self.assert_close(there, self.losses(SINGLE, "--devices", "cpu:1"))
        self.assertEqual(there, self.losses(SINGLE, "--devices", "cuda:0"))

    def test_a_program_computes_on_processor_cores_and_says_so_of_gpus(self):
        (self.folder / "cities.csv").write_text("x,y\n" + "".join(f"{i * 37 % 50}00,{i * 11 % 50}00\n" for i in range(50)))
        app = self.app("troupe: 1\ndata: {tsplib: cities.csv}\nprogram: {tsp: {colony: max_min}}\n"
                       "schedule: {cyclic: {}}\nstop: {iterations: 100}\n")
        for command in ("run", "plan"):
            refused = self.troupe(command, app, "--devices", "cuda:0")
            self.assertEqual(refused.code, 2, str(refused))
            self.assertIn("the program tsp computes on processor cores, and all devices are GPUs; give cores, as with "
                          "--devices cpu:1", refused.err)
        both = self.troupe("run", app, "--devices", "cuda:0,cpu:1")
        self.assertEqual(both.code, 0, str(both))
        self.assertIn("worker-0 on local/cpu:0", both.out)
        self.assertIn("GPUs are left out", both.err)

    def test_products_in_16_bits_train_as_on_a_processor(self):
        for precision in ("bf16", "f16"):
            rounded = ("--set", f"model.precision={precision}")
            there = self.losses(SINGLE, "--devices", "cuda:0", *rounded)
            self.assert_close(there, self.losses(SINGLE, "--devices", "cpu:1", *rounded))
            self.assertNotEqual(there, self.losses(SINGLE, "--devices", "cuda:0"))
            self.assertNotIn("note: model.precision", self.troupe("plan", self.app(SINGLE), "--devices", "cuda:0", *rounded).err)

    def test_two_stages_of_pipedream_train_on_one_gpu_and_on_a_gpu_and_a_processor(self):
        expected = self.losses(APP, "--devices", "cpu:2")
        self.assert_close(self.losses(APP, "--devices", "cuda:0"), expected)
        self.assert_close(self.losses(APP, "--devices", "cpu:1,cuda:0"), expected)
        other_way_round = APP.replace("{layers: 3}", "{layers: 3, device: cpu:0}").replace(
            "{layers: 1}", "{layers: 1, device: cuda:0}")
        self.assert_close(self.losses(other_way_round, "--devices", "cpu:1,cuda:0"), expected)

    def test_stages_and_replicas_train_on_two_gpus(self):
        one = self.troupe("run", self.app(SINGLE), "--devices", "cuda:1", "--set", "train.epochs=1")
        if "this machine has cuda:0 alone" in one.err:
            self.skipTest("this machine has one GPU")
        self.assert_close(self.losses(APP, "--devices", "cuda:0,cuda:1"), self.losses(APP, "--devices", "cpu:2"))
        replicas = FLAT + "topology: {replicas: 2, sync: all_reduce}\n"
        self.assert_close(self.losses(replicas, "--devices", "cuda:0,cuda:1"), self.losses(replicas, "--devices", "cpu:2"))

    def test_replicas_on_a_gpu_and_a_processor_agree_as_two_on_processors_do(self):
        for sync in ORDERED:
            with self.subTest(sync=sync):
                app = FLAT + f"topology: {{replicas: 2, sync: {sync}}}\n"
                self.assert_close(self.losses(app, "--devices", "cpu:1,cuda:0"), self.losses(app, "--devices", "cpu:2"))

    def test_replicas_that_update_on_their_own_train_on_a_gpu_and_a_processor(self):
        for sync in FREE:
            with self.subTest(sync=sync):
                losses = self.losses(FLAT + f"topology: {{replicas: 2, sync: {sync}}}\n", "--devices", "cpu:1,cuda:0")
                self.assertTrue(all(math.isfinite(loss) for loss in losses), losses)

    def test_gradients_are_bounded_by_the_norm_of_all_stages(self):
        app = FLAT.replace("seed: 3", "seed: 3\n  clip: {norm: 0.5}") + (
            "topology: {pipeline: {schedule: gpipe, stages: [{layers: 2}, {layers: 1}]}}\n")
        self.assert_close(self.losses(app, "--devices", "cpu:1,cuda:0"), self.losses(app, "--devices", "cpu:2"))

    def test_who_runs_out_of_memory_says_what_it_holds(self):
        app = self.app(FLAT.replace("out: 16", "out: 400000"))
        node, address = self.node("--devices", "cuda:0,cpu:1", "--gpu-memory-mb", "300")
        self.assertRegex(self.troupe("status", address).out, r"^a  node  \S+  cuda:0 \(.+, 315 MB to use\)  cpu:0\n$")
        ended = self.troupe("run", app, "--cluster", address)
        self.assertEqual(ended.code, 1, str(ended))
        self.assertRegex(ended.err, "troupe: note: a/cuda:0 may not hold what its stages keep: [0-9.]+ [MG]B of weights and gradients, [0-9.]+ [kMG]?B of activations; its bound is 314.6 MB: use more stages or a larger bound \\(troupe node --gpu-memory-mb\\)\n")
        error = ended.err.splitlines()[-1] # behind lines of progress, if it took long
        for part in ("on a/cuda:0: ", "out of device memory", "; this stage holds weights (", "use a smaller train.batch or "
                     "more stages, or start nodes with a larger bound: troupe node --gpu-memory-mb"):
            self.assertIn(part, error)

    def test_a_plan_notes_what_a_run_on_the_same_bounds_notes(self):
        app = self.app(FLAT.replace("out: 16", "out: 400000"))
        bounded = ("--devices", "cuda:0", "--gpu-memory-mb", 300)
        planned = self.troupe("plan", app, *bounded)
        self.assertEqual(planned.code, 0, str(planned))
        self.assertRegex(planned.err, r"^troupe: note: local/cuda:0 may not hold what its stages keep: .* or a larger bound "
                                      r"\(--gpu-memory-mb\)\n$")
        ran = self.troupe("run", app, *bounded)
        self.assertEqual(ran.code, 1, str(ran))
        self.assertTrue(ran.err.startswith(planned.err), str(ran))
        self.assertTrue(ran.err.endswith(" or more stages, or a larger bound: --gpu-memory-mb\n"), str(ran))

    def test_what_was_saved_goes_on_on_either(self):
        saves = SINGLE + "checkpoint: {directory: saved}\n"
        whole = self.losses(SINGLE, "--devices", "cpu:1")
        app = self.app(saves)
        first = self.troupe("run", app, "--set", "train.epochs=1", "--devices", "cuda:0", "--json")
        self.assertEqual(first.code, 0, str(first))
        on = self.troupe("run", app, "--resume", "--devices", "cpu:1", "--json")
        self.assertEqual(on.code, 0, str(on))
        self.assert_close([e["test_loss"] for e in first.event("epoch") + on.event("epoch")], whole)


if __name__ == "__main__":
    WHY = missing()
    if WHY and EMULATED and "TROUPE_GPU_ONLY" not in os.environ:
        print(f"on the emulated GPU: {WHY}")
        os.environ["TROUPE_CUDA_MODULE"] = EMULATED
    elif WHY:
        print(f"skipped: {WHY}")
        sys.exit(77)
    main()
