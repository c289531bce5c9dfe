"""Tours through cities on real nodes, also when one is killed."""

import itertools
import json
import math
import pathlib
import random
import shutil
import signal
import unittest

from support import SOURCE, TroupeTest, main

TSPLIB = pathlib.Path(SOURCE).parent / "shared/data/tsplib"
OPTIMA = {"att48": 10628, "eil51": 426, "berlin52": 7542}
APP = """\
troupe: 1
data: {tsplib: cities.csv}
program: {tsp: {}}
schedule: {cyclic: {window: 4}}
stop: {iterations: 40000}
result: {directory: result}
"""


def made_cities(count=60):
    draw = random.Random(8)
    return [(draw.randrange(10000), draw.randrange(10000)) for _ in range(count)]


def length_of(cities, tour):
    return sum(int(math.dist(cities[a], cities[b]) + 0.5) for a, b in zip(tour, tour[1:] + tour[:1]))


class Tsp(TroupeTest):
    def setUp(self):
        super().setUp()
        self.cities = made_cities()
        (self.folder / "cities.csv").write_text("x,y\n" + "".join(f"{x},{y}\n" for x, y in self.cities))

    def tour(self):
        words = (self.folder / "result/tour.tour").read_text().split()
        return [int(w) - 1 for w in words[words.index("TOUR_SECTION") + 1:words.index("-1")]]

    def test_what_is_left_behind_is_a_tour_of_its_length(self):
        run = self.troupe("run", self.app(APP), "--nodes", 2, "--json")
        self.assertEqual(run.code, 0, str(run))
        self.assertEqual(run.event("done")[0]["ended_by"], "iterations")
        tour = self.tour()
        self.assertEqual(sorted(tour), list(range(60)))
        summary = json.loads((self.folder / "result/summary.json").read_text())
        self.assertEqual((summary["length"], summary["cities"]), (length_of(self.cities, tour), 60))
        self.assertEqual([colony["tours"] for colony in summary["colonies"]], [40000, 40000])
        last = run.event("sweep")[-1]
        self.assertEqual((last["length"], last["tours"]), (summary["length"], 40000))
        self.assertEqual({last["colony_0"], last["colony_1"]}, {colony["length"] for colony in summary["colonies"]})
        course = [list(map(int, line.split(","))) for line in (self.folder / "result/course.csv").read_text().splitlines()[1:]]
        for before, after in itertools.pairwise(course):
            self.assertTrue(all(b >= a for b, a in zip(before[1:], after[1:])), course)
        self.assertIn("<svg", (self.folder / "result/tour.svg").read_text())
        self.assertEqual(self.troupe("run", self.app(APP), "--nodes", 2, "--set", "schedule.cyclic.window=4").code, 0)
        self.assertEqual(self.tour(), tour)

    def test_course_and_pictures_are_of_the_tour_that_is_left_behind(self):
        (self.folder / "cities.csv").write_text("".join(f"{x},{y}\n" for x, y in made_cities(400)))
        between_probes = APP.replace("iterations: 40000", "phases: 12").replace("window: 4", "window: 4, set: 64")
        self.assertEqual(self.troupe("run", self.app(between_probes), "--nodes", 2).code, 0)
        summary = json.loads((self.folder / "result/summary.json").read_text())
        last = (self.folder / "result/course.csv").read_text().splitlines()[-1].split(",")
        self.assertEqual([int(length) for length in last[1:]], [colony["length"] for colony in summary["colonies"]])
        self.assertTrue((self.folder / "result/tour.svg").exists())
        (self.folder / "cities.csv").write_text("TYPE: TSP\nDIMENSION: 4\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: "
                                                "UPPER_ROW\nEDGE_WEIGHT_SECTION\n1 2 3 4 5 6\nEOF\n")
        self.assertEqual(self.troupe("run", self.app(between_probes)).code, 0)
        self.assertFalse((self.folder / "result/tour.svg").exists(), "a picture of other cities is left")

    def test_known_tours_are_found(self):
        for name, optimum in OPTIMA.items():
            file = TSPLIB / f"{name}.tsp"
            if not file.exists():
                self.skipTest(f"{file} is not there")
            with self.subTest(name):
                text = APP.replace("cities.csv", str(file)).replace("iterations: 40000", f"length: {optimum}, seconds: 60")
                run = self.troupe("run", self.app(text), "--nodes", 2, "--json")
                self.assertEqual(run.code, 0, str(run))
                self.assertEqual(run.event("done")[0]["ended_by"], "length")
                self.assertEqual(run.event("sweep")[-1]["length"], optimum)

    def test_a_killed_node_changes_no_tour(self):
        slow = APP.replace("40000", "160000")
        self.assertEqual(self.troupe("run", self.app(slow), "--nodes", 3).code, 0)
        expected = [(self.folder / "result" / name).read_bytes() for name in ("tour.tour", "course.csv", "summary.json")]
        shutil.rmtree(self.folder / "result")
        nodes = [self.node(name="a")]
        nodes += [self.node("--join", nodes[0][1], name=name) for name in ("b", "c")]
        run = self.start("run", self.app(slow), "--cluster", nodes[1][1], "--json")
        self.read_event(run, "sweep")
        nodes[2][0].send_signal(signal.SIGKILL)
        ended = self.finish(run)
        self.assertEqual(ended.code, 0, str(ended))
        self.assertIn("it carried", ended.event("note")[0]["message"])
        found = [(self.folder / "result" / name).read_bytes() for name in ("tour.tour", "course.csv", "summary.json")]
        self.assertEqual(found, expected)

    def test_a_run_goes_on_to_the_same_tour_and_further(self):
        (self.folder / "cities.csv").write_text("".join(f"{x},{y}\n" for x, y in made_cities(1200)))
        whole = APP.replace("window: 4", "window: 0") + "checkpoint: {directory: saved}\n"
        self.assertEqual(self.troupe("run", self.app(whole), "--set", "stop.iterations=60000").code, 0)
        at_once = self.tour()
        shutil.rmtree(self.folder / "saved")
        self.assertEqual(self.troupe("run", self.app(whole), "--set", "stop.iterations=33000").code, 0)
        self.assertNotEqual(self.tour(), at_once)
        more = self.troupe("run", self.app(whole), "--resume", "--set", "stop.iterations=60000", "--json")
        self.assertEqual(more.code, 0, str(more))
        self.assertEqual(more.event("sweep")[-1]["tours"], 60000)
        self.assertEqual(self.tour(), at_once)
        fewer = self.troupe("run", self.app(whole), "--resume", "--set", "schedule.workers=3")
        self.assertEqual(fewer.code, 2, str(fewer))
        self.assertIn("each worker has a colony", fewer.err)

    def test_a_file_in_an_unusual_form_has_its_own_lengths_and_a_note(self):
        """The larger of both distances; cities from 0, and what a section needs behind it."""
        lines = [f"{number} {x} {y}\n" for number, (x, y) in enumerate(self.cities)]
        (self.folder / "cities.csv").write_text("NODE_COORD_SECTION\n" + "".join(lines) + "EDGE_WEIGHT_TYPE: MAX_2D\nDIMENSION: 60\nEOF\n")
        said = "data.tsplib: the cities of NODE_COORD_SECTION are numbered from 0"
        self.assertIn(said, self.troupe("check", self.app(APP)).err)
        run = self.troupe("run", self.app(APP), "--nodes", 2, "--set", "stop.iterations=4000", "--json")
        self.assertEqual(run.code, 0, str(run))
        self.assertIn(said, run.event("start")[0]["notes"][0])
        tour = self.tour()
        self.assertEqual(sorted(tour), list(range(60)))
        ways = zip(tour, tour[1:] + tour[:1])
        length = sum(max(abs(p - q) for p, q in zip(self.cities[a], self.cities[b])) for a, b in ways)
        self.assertEqual(run.event("sweep")[-1]["length"], length)

    def test_bad_input_is_one_line(self):
        def refused(text, *parts, file=None):
            if file is not None:
                (self.folder / "bad.tsp").write_text(file)
            self.assert_one_line_error(self.troupe("run", self.app(text)), 2, *parts)
        bad = APP.replace("cities.csv", "bad.tsp")
        head = "NAME: bad\nTYPE: TSP\nDIMENSION: 3\n"
        refused(bad, "app.yaml:2:", "data.tsplib", "bad.tsp: line 4", "EDGE_WEIGHT_TYPE", file=head + "EDGE_WEIGHT_TYPE: XRAY1\n")
        refused(bad, "bad.tsp: line 1", "2 cities", file="DIMENSION: 2\n")
        refused(bad, "bad.tsp: line 6", "not a number", file=head + "EDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 east\n2 0 1\n3 1 1\n")
        refused(bad, "bad.tsp: line", "the file is too short", file=head + "EDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: FULL_MATRIX\n"
                "EDGE_WEIGHT_SECTION\n0 1 2\n1\n")
        refused(APP.replace("cities.csv", "none.tsp"), "none.tsp")
        refused(APP.replace("iterations: 40000", "gap: 1e-3"), "stop", "stop.seconds")
        refused(APP.replace("tsp: {}", "tsp: {local_search: none}"), "program.tsp.local_search", "lin_kernighan")
        refused(APP.replace("cyclic: {window: 4}", "rotation: {}"), "schedule", "cyclic")
        refused(APP.replace("window: 4}", "window: 4}, shards: 2"), "schedule.shards")
        refused(APP.replace("program: {tsp: {}}", "program: {lda: {topics: 4}}").replace("cyclic: {window: 4}", "rotation: {}")
                .replace("iterations: 40000", "sweeps: 3"), "data.tsplib", "cities")
        lasso = APP.replace("tsplib: cities.csv", "matrix: {features: cities.csv, target_column: y}")
        refused(lasso, "data", "data.tsplib")
        lasso = lasso.replace("tsp: {}", "lasso: {penalty: {share: 0.1}}")
        refused(lasso, "stop.iterations", "lasso")
        refused(lasso.replace("iterations: 40000", "length: 7"), "stop.length", "lasso")


if __name__ == "__main__":
    main()
