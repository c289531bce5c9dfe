"""Bounds of memory: who runs out of it says what it held, and what needs less or gives more."""

from support import APP, TroupeTest, main


class Memory(TroupeTest):
    def test_a_run_that_runs_out_of_memory_says_what_needs_less_or_gives_more(self):
        _, address = self.node("--memory-mb", 16)
        text = APP.replace("batch: 32", "batch: 4096").replace("train_samples: 512", "train_samples: 4096")
        result = self.troupe("run", self.app(text.replace("out: 8", "out: 256")), "--cluster", address)
        self.assertEqual(result.code, 1, str(result))
        self.assertRegex(result.err, r": use more stages, a smaller train\.batch or a larger bound \(troupe node --memory-mb\)\n")
        self.assertRegex(result.err, r" of 16777216 in use; .*train\.batch or more stages, or start nodes with a larger bound: "
                                     r"troupe node --memory-mb\n$")

    def test_who_runs_out_of_memory_is_told_the_option_that_bounds_it(self):
        text = APP.replace("batch: 32", "batch: 65536").replace("train_samples: 512", "train_samples: 65536")
        text = text.replace("out: 8", "out: 4096")
        for stages in ("[{layers: 3}, {layers: 1}]", "auto"):  # in training, in measuring
            app = self.app(text.replace("[{layers: 3}, {layers: 1}]", stages))
            for command in (["run"], ["plan"])[:2 if stages == "auto" else 1]:
                result = self.troupe(*command, app, "--devices", "cpu:2")
                self.assertEqual(result.code, 1, str(result))
                self.assertRegex(result.err, "of 4294967296 in use(; this stage holds [^;]*B\\))?; use a smaller train.batch or more stages, or a "
                                             "larger bound: --memory-mb\n$")

    def test_a_stage_of_pipedream_that_runs_out_of_memory_names_its_weight_versions(self):
        # Stage 0 holds weights of 3.64 MB: in two versions by the second update, with the optimizer's state, the gradient and
        # what is to be the third.
        layers = "[{linear: {out: 14000}}, {linear: {out: 4}}, {linear: {out: 4}}]"
        stages = "[{layers: 1}, {layers: 1}, {layers: 1}]"
        settings = ("--set", f"model.layers={layers}", "--set", f"topology.pipeline.stages={stages}", "--set", "train.batch=1")
        result = self.troupe("run", self.app(), *settings, "--devices", "cpu:3", "--memory-mb", 16)
        self.assertEqual(result.code, 1, str(result))
        self.assertRegex(result.err.splitlines()[-1],
                         r"^troupe: stage 0 on local/cpu:0: update: .*of 16777216 in use; this stage holds weights in 2 versions "
                         r"\(7280\.0 kB\), the optimizer's state \(3640\.0 kB\)(, [^;]*)?; use smaller layers, or a larger bound: "
                         r"--memory-mb$")

    def test_weights_that_no_memory_holds_are_named_with_their_device(self):
        text = APP.replace("    - linear: {out: 4}\n", "    - linear: {out: 9000000}\n    - linear: {out: 4}\n")
        where = r"troupe: stage 1 on local/cpu:1: initialise: layers\.3\.weight: out of device memory: .* of 4294967296 in use"
        result = self.troupe("run", self.app(text.replace("{layers: 1}", "{layers: 2}")), "--devices", "cpu:2")
        self.assertEqual(result.code, 1, str(result))
        self.assertRegex(result.err, f"^{where}; use smaller layers or more stages, or a larger bound: --memory-mb\n$")
        auto = self.app(text.replace("[{layers: 3}, {layers: 1}]", "auto"))
        for command in ("run", "plan"):
            result = self.troupe(command, auto, "--devices", "cpu:2")
            self.assertEqual(result.code, 1, str(result))
            self.assertRegex(result.err, r"^troupe: measuring the layers on local/cpu:0: layers\.3\.weight: out of ")

    def test_the_bound_of_memory_holds_wherever_a_run_starts_its_devices(self):
        app = self.app(APP.replace("batch: 32", "batch: 4096").replace("512", "4096").replace("out: 8", "out: 256"))
        for devices in (["--devices", "cpu:2"], ["--nodes", 2]):
            planned = self.troupe("plan", app, *devices, "--memory-mb", 16)
            self.assertIn(" may not hold what its stages keep", planned.err)
            self.assertNotIn("may not hold", self.troupe("plan", app, *devices).err)
            ran = self.troupe("run", app, *devices, "--memory-mb", 16)
            self.assertEqual(ran.code, 1, str(ran))
            self.assertRegex(ran.err, r"of 16777216 in use; (.*; )?use a smaller train\.batch or more stages, or a larger bound: "
                                      r"--memory-mb\n$")


if __name__ == "__main__":
    main()
