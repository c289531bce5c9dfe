"""GPUs as a user sees them: what is missing is told in one line, and what is computed on one is what a processor computes.

On a machine with a GPU this runs on it; else on the emulated one, which computes in memory of its own as a GPU does.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

from support import APP, TROUPE, TroupeTest, main

SINGLE = APP[:APP.index("topology:")]
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

    def test_two_stages_of_pipedream_train_on_one_gpu_and_on_a_gpu_and_a_processor(self):
        expected = self.losses(APP, "--devices", "cpu:2")
        self.assert_close(self.losses(APP, "--devices", "cuda:0"), expected)
        self.assert_close(self.losses(APP, "--devices", "cpu:1,cuda:0"), expected)
        other_way_round = APP.replace("{layers: 3}", "{layers: 3, device: cuda:0}").replace(
            "{layers: 1}", "{layers: 1, device: cpu:0}")
        self.assert_close(self.losses(other_way_round, "--devices", "cpu:1,cuda:0"), expected)

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
    if WHY and EMULATED:
        os.environ["TROUPE_CUDA_MODULE"] = EMULATED
    elif WHY:
        print(f"skipped: {WHY}")
        sys.exit(77)
    main()
