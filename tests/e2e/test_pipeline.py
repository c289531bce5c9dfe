"""Schedules drawn by the program: what it prints, the files that it writes and reads, and what it refuses."""

import json
import re
import xml.etree.ElementTree

from support import SOURCE, TroupeTest, main

MANUAL = SOURCE / "tools/manual/schedules.md"


class Pipeline(TroupeTest):
    def drawn(self, *words):
        shown = self.troupe("pipeline", *words)
        self.assertEqual((shown.code, shown.err), (0, ""), str(shown))
        return shown.out

    def test_every_schedule_is_drawn_in_eighty_columns(self):
        names = re.search(r"Schedules: ([^.]*)\.", self.troupe("pipeline", "--help").out).group(1).split(", ")
        self.assertGreaterEqual(len(names), 11)
        for name in names:
            with self.subTest(name=name):
                out = self.drawn(name, "--devices", 4, "--microbatches", 12, "--times", "1,1.2,0.8", "--hop", "0.25")
                self.assertTrue(out.startswith(f"{name}: "))
                for line in out.splitlines()[1:]:
                    self.assertLessEqual(len(line), 80, line)

    def test_idle_time_memory_and_versions_are_printed(self):
        out = self.drawn("zero_bubble", "--devices", 4, "--microbatches", 12, "--doubled-warm-up", "--hop", "1")
        self.assertIn("idle time    6 of 42 (14.3%) of a minibatch, in a long epoch\n", out)
        self.assertIn("in flight    7 7 7 7 microbatches at most, by device\n", out)
        out = self.drawn("pipedream", "--devices", 3, "--microbatches", 1)
        self.assertIn("idle time    0 of 3 (0.0%) of a minibatch", out)
        self.assertIn("versions     3 2 1 of the weights kept, by stage\n", out)
        self.assertIn("lag          2 1 0 updates behind at most, by stage\n", out)
        self.assertIn("--hop D", out)

    def test_a_table_that_was_written_is_read_as_the_same_picture(self):
        files = [self.folder / name for name in ("table.csv", "table.svg", "table.json")]
        first = self.drawn("zero_bubble_v", "--devices", 3, "--microbatches", 6, "--csv", files[0], "--svg", files[1],
                           "--trace", files[2])
        again = self.drawn(files[0])
        self.assertEqual(first.splitlines()[1:], again.splitlines()[1:])
        self.assertEqual(again.splitlines()[0], str(files[0]))
        self.assertEqual(len(files[0].read_text().splitlines()), 3)
        svg = xml.etree.ElementTree.parse(files[1]).getroot()
        self.assertEqual(sum(element.tag.endswith("rect") for element in svg), 3 * 36)
        events = json.loads(files[2].read_text())["traceEvents"]
        self.assertEqual(sum(event["ph"] == "X" for event in events), 3 * 36)

    def test_steps_are_ordered_anew_for_times_where_that_idles_less(self):
        idle = [float(re.search(r"idle time +(\S+) of", self.drawn("dual_pipe", *words)).group(1))
                for words in ((), ("--fit",))]
        self.assertLess(idle[1], idle[0])

    def test_what_cannot_be_is_refused_by_a_line(self):
        table = self.folder / "table.csv"
        table.write_text("0F0,0F1,0B0,0B1\n1F1,1B0,1F2,1B1\n")
        for words, parts in (
                (["hanayo"], ["hanayo: there is no file and no schedule of this name", "gpipe, one_f_one_b, "]),
                ([table], [f"{table}: line 2: row 2, column 2: 1B0 before 1F0; list each step once"]),
                ([table, "--devices", 2], ["says itself how many devices"]),
                (["chimera", "--devices", 3], ["two directions need an even number of devices; take 4"]),
                (["gpipe", "--stages-per-device", 2], ["gpipe: takes no setting for stages per device"]),
                (["gpipe", "--times", "1,2"], ["--times: give three numbers above 0"]),
                (["gpipe", "--times", "1,0,1"], ["--times: give three numbers above 0"]),
                (["gpipe", "--hop", "-1"], ["--hop: give a number from 0 on"]),
                (["gpipe", "--devices", 0], ["--devices"]),
                ([self.folder], [str(self.folder)])):
            with self.subTest(words=words):
                self.assert_one_line_error(self.troupe("pipeline", *words), 2, *parts)
        self.assert_one_line_error(self.troupe("pipeline", "gpipe", "--csv", self.folder), 2, "could not be written")

    def test_the_pictures_of_the_manual_are_the_programs(self):
        blocks = re.findall(r"```sh\n(troupe pipeline .*?)\n```\n\n```text\n(.*?)```", MANUAL.read_text(), re.DOTALL)
        self.assertEqual(len(blocks), 4)
        for command, picture in blocks:
            with self.subTest(command=command):
                self.assertEqual(self.drawn(*command.split()[2:]).partition("\n\nLinks")[0] + "\n", picture)


if __name__ == "__main__":
    main()
