#!/usr/bin/env python3
"""Schedules of pipelines by their names and as tables in files, with real processes."""
import os
import pathlib

from support import APP, TroupeTest, main

FOUR = APP.replace("    - linear: {out: 4}\n", "    - linear: {out: 12}\n    - relu\n    - linear: {out: 4}\n")
STAGES = {2: "[{layers: 3}, {layers: 3}]", 4: "[{layers: 1}, {layers: 2}, {layers: 1}, {layers: 2}]"}
PYTORCH = pathlib.Path(os.environ.get("TROUPE_PYTORCH_TABLES", pathlib.Path(__file__).resolve().parents[3] / "shared/data/pytorch-tables"))


class Schedules(TroupeTest):
    def app_by(self, schedule, stages, microbatches=4):
        return self.app(FOUR.replace("schedule: pipedream", f"schedule: {schedule}\n    microbatches: {microbatches}").replace(
            "[{layers: 3}, {layers: 1}]", STAGES[stages]))

    def losses(self, schedule, stages=2, microbatches=4):
        result = self.troupe("run", self.app_by(schedule, stages, microbatches), "--json", "--nodes", "2", timeout=120)
        self.assertEqual(result.code, 0, str(result))
        return [(e["train_loss"], e["test_loss"]) for e in result.event("epoch")]

    def test_a_schedule_that_is_synchronous_gives_the_losses_of_another(self):
        first = self.losses("gpipe")
        for schedule, stages in (("one_f_one_b", 2), ("zero_bubble", 2), ("{zero_bubble: {doubled_warm_up: true}}", 2),
                                 ("interleaved", 4), ("{zero_bubble: {stages_per_device: 2}}", 4), ("zero_bubble_v", 4)):
            with self.subTest(schedule=schedule):
                for one, other in zip(first, self.losses(schedule, stages)):
                    for a, b in zip(one, other):
                        self.assertAlmostEqual(a, b, delta=1e-5)

    def test_a_table_in_a_file_trains_as_the_schedule_that_it_is_of(self):
        for name, stages in (("zero_bubble", 2), ("interleaved", 4)):
            with self.subTest(schedule=name):
                file = self.folder / f"{name}.csv"
                drawn = self.troupe("pipeline", name, "--devices", "2", "--microbatches", "4", "--csv", file)
                self.assertEqual(drawn.code, 0, str(drawn))
                self.assertEqual(self.losses(f"{{table: {file.name}}}", stages), self.losses(name, stages))

    def test_a_table_of_pytorch_trains(self):
        if not PYTORCH.exists():
            self.skipTest(f"no tables of PyTorch in {PYTORCH}")
        table = PYTORCH / "looped_bfs_p2_m4.csv"
        self.assertTrue(table.exists(), table)
        for one, other in zip(self.losses("gpipe"), self.losses(f"{{table: {table}}}", 4)):
            self.assertAlmostEqual(one[0], other[0], delta=1e-5)

    def test_a_table_that_does_not_fit_is_refused_by_one_line(self):
        (self.folder / "t.csv").write_text("0F0,0F1,0B0,0B1\n1F0,1B0,1F1\n")
        table = "{table: t.csv}"
        for microbatches, stages, words in ((2, 2, ("t.csv", "row 2", "1B1")), (2, 4, ("t.csv", "row 2", "1B1"))):
            self.assert_one_line_error(self.troupe("check", self.app_by(table, stages, microbatches)), 2, *words)
        (self.folder / "t.csv").write_text("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n")
        self.assertEqual(self.troupe("check", self.app_by(table, 2, 2)).code, 0)
        self.assert_one_line_error(self.troupe("check", self.app_by(table, 2, 4)), 2, "topology.pipeline.microbatches",
                                   "the schedule's table has 2 microbatches; leave microbatches out")
        self.assert_one_line_error(self.troupe("check", self.app_by(table, 4, 2)), 2, "topology.pipeline.stages",
                                   "the schedule's table has 2 stages; leave stages out")
        self.assert_one_line_error(self.troupe("check", self.app_by("{table: none.csv}", 2, 2)), 2, "none.csv", "no such file")

    def test_a_table_says_stages_and_microbatches_and_keeps_one_order(self):
        (self.folder / "t.csv").write_text("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n")
        pipeline = "--set", "topology={pipeline: {schedule: {table: %s}}}" % (self.folder / "t.csv")
        said = self.troupe("plan", self.app_by("gpipe", 2), *pipeline, "--nodes", "2")
        self.assertEqual(said.code, 0, str(said))
        self.assertIn("table, 2 stages, minibatches of 32 in 2 microbatches", said.out)
        (self.folder / "t.csv").write_text("0F0,0F1,0B1,0B0\n1F0,1F1,1B0,1B1\n")
        self.assert_one_line_error(self.troupe("check", self.app_by("gpipe", 2), *pipeline), 2, "topology.pipeline.schedule.table",
                                   "stage 1 gives gradients back in another order than stage 0")

    def test_replicas_of_a_stage_are_refused_but_with_pipedream(self):
        stages = "topology.pipeline.stages=[{layers: 3, replicas: 2}, {layers: 3}]"
        for schedule in ("two_versions", "local_accumulation", "zero_bubble"):
            self.assert_one_line_error(self.troupe("check", self.app_by(schedule, 2), "--set", stages), 2, "replicas", schedule, "use pipedream")

    def test_stages_that_do_not_fill_devices_are_refused(self):
        self.assert_one_line_error(self.troupe("run", self.app_by("interleaved", 4), "--nodes", "1"), 2, "topology.pipeline.stages",
                                   "4 stages need 2 devices with schedule interleaved, and there is 1")


if __name__ == "__main__":
    main()
