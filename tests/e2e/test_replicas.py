"""Data parallelism as a user runs it: replicas on node processes of their own."""

import json
import shutil

from support import APP, TroupeTest, main

SINGLE = APP[:APP.index("topology:")]
TWO = SINGLE + "topology: {replicas: 2, sync: all_reduce}\n"


class Replicas(TroupeTest):
    def losses(self, app, *arguments):
        result = self.troupe("run", self.app(app), "--json", *arguments)
        self.assertEqual((result.code, result.err), (0, ""), str(result))
        done, = result.event("done")
        return [epoch["test_loss"] for epoch in result.event("epoch")], done

    def test_two_replicas_over_the_network_train_as_one_with_minibatches_twice_as_large(self):
        spread, done = self.losses(TWO, "--nodes", 2)
        alone, _ = self.losses(SINGLE.replace("batch: 32", "batch: 64"))
        for a, b in zip(spread, alone, strict=True):
            self.assertAlmostEqual(a, b, places=5)
        self.assertEqual([(s["replica"], s["stage"], s["weight_version"]) for s in done["stages"]], [(0, 0, 16), (1, 0, 16)])
        self.assertEqual(done["nodes"], 2)
        here, _ = self.losses(TWO, "--devices", "cpu:2")
        self.assertEqual(here, spread)

    def test_every_algorithm_sums_the_same(self):
        app = TWO.replace("replicas: 2", "replicas: 3")
        runs = [self.losses(app.replace("all_reduce", f"{{all_reduce: {{algorithm: {name}}}}}"), "--nodes", 3)[0]
                for name in ("ring", "recursive_doubling", "halving_doubling", "tree")]
        for run in runs[1:]:
            for a, b in zip(run, runs[0], strict=True):
                self.assertAlmostEqual(a, b, places=5)

    def test_local_sgd_learns(self):
        _, done = self.losses(TWO.replace("all_reduce", "{local_sgd: {period: 4}}"), "--nodes", 2)
        self.assertGreater(done["test_accuracy"], 0.9)

    def test_a_parameter_server_trains_by_every_consistency(self):
        for rule in ("bsp", "{ssp: {staleness: 2}}", "asp"):
            server = f"{{parameter_server: {{consistency: {rule}, shards: 2}}}}"
            app = (TWO.replace("replicas: 2", "replicas: 3").replace("all_reduce", server).replace("momentum: 0.9", "momentum: 0.5")
                   .replace("epochs: 2", "epochs: 6") + "checkpoint: {directory: saved}\n")
            with self.subTest(rule=rule):
                losses, done = self.losses(app, "--nodes", 3)
                self.assertGreater(done["test_accuracy"], 0.8)
                updates = 36 if rule == "bsp" else 96  # of 16 minibatches an epoch, by three replicas at a time or one
                self.assertEqual({s["weight_version"] for s in done["stages"]}, {updates})
                late = {int(k): n for s in done["stages"] for k, n in s["weight_version_lag"].items()}
                self.assertEqual(set(late) == {0}, rule == "bsp", late)
                again = self.troupe("evaluate", self.app(app), "--json")
                self.assertAlmostEqual(json.loads(again.out)["test_loss"], losses[-1], places=5)
                shutil.rmtree(self.folder / "saved")

    def test_replicas_of_a_pipeline_have_stages_of_their_own(self):
        app = APP.replace("  pipeline:", "  replicas: 2\n  pipeline:")
        result = self.troupe("run", self.app(app), "--json", "--nodes", 4)
        self.assertEqual((result.code, result.err), (0, ""), str(result))
        start, = result.event("start")
        placed = [[r["node"] for r in stage["replicas"]] for stage in start["plan"]["stages"]]
        self.assertEqual(placed, [["node-0", "node-2"], ["node-1", "node-3"]])

    def test_a_lost_replica_ends_the_run_with_its_name(self):
        for sync in ("all_reduce", "{parameter_server: {consistency: asp}}"):
            with self.subTest(sync=sync):
                _, address = self.node(name="a")
                other, _ = self.node("--join", address, name="b")
                app = TWO.replace("epochs: 2", "epochs: 100000").replace("all_reduce", sync)
                run = self.start("run", self.app(app + "checkpoint: {directory: saved}\n"), "--cluster", address, "--json")
                for _ in range(2):  # the first one is saved before the second ends
                    self.read_event(run, "epoch")
                other.kill()
                self.assert_one_line_error(self.finish(run, 15), 3, "node b is lost", "stage 0 of replica 1 on b/cpu:0",
                                           "--resume")
                shutil.rmtree(self.folder / "saved")

    def test_too_few_devices_are_one_line(self):
        for command in ("run", "plan"):
            result = self.troupe(command, self.app(TWO), "--devices", "cpu:1")
            self.assert_one_line_error(result, 2, "topology.replicas: 2 replicas need a device each, and there are 1")
        result = self.troupe("check", self.app(TWO.replace("replicas: 2", "replicas: 0")))
        self.assert_one_line_error(result, 2, "topology.replicas: must be 1 to 64")
        server = TWO.replace("all_reduce", "{parameter_server: {consistency: {ssp: {staleness: 1}}}}")
        for setting, error in (("shards=3", "3 shards, but they stand beside the replicas, of which there are 2"),
                               ("consistency.ssp.staleness=-1", "must be 0 to 1000000"),
                               ("consistency=bps", "unknown word")):
            result = self.troupe("check", self.app(server), "--set", f"topology.sync.parameter_server.{setting}")
            self.assert_one_line_error(result, 2, error)
        clipped = self.troupe("check", self.app(server), "--set", "train.clip.norm=1", "--set",
                              "topology.sync.parameter_server.consistency=bsp")
        self.assert_one_line_error(clipped, 2, "train.clip: a synchronous parameter server cannot bound", "use topology.sync: all_reduce")
        self.assertEqual(self.troupe("check", self.app(server), "--set", "train.clip.norm=1").code, 0)
        result = self.troupe("check", self.app(server), "--set", "topology.replicas=9", "--set",
                             "topology.sync.parameter_server.shards=9")
        self.assert_one_line_error(result, 2, "9 shards, but the model has 4 parameter tensors to keep")
        noted = self.troupe("check", self.app(TWO.replace("replicas: 2, ", "")))
        self.assertEqual(noted.code, 0)
        self.assertIn("topology.sync: one replica agrees with itself", noted.err)


if __name__ == "__main__":
    main()
