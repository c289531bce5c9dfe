"""The data of programs, good and bad."""

import json
import math
import random
import re
import shutil
import signal

from program_support import APP, ProgramTest
from support import TroupeTest, main


class BadInput(ProgramTest):
    def test_bad_input_is_one_line_each(self):
        def check(text, why, code=2, command=("check",), **files):
            for name, content in files.items():
                (self.folder / f"{name}.csv").write_text(content)
            with self.subTest(why=why):
                refused = self.troupe(command[0], self.app(text), *command[1:])
                self.assert_one_line_error(refused, code, why)

        check(APP + "model: {}\n", "conflicts with")
        check(APP + "train: {}\n", 'goes with "model"')
        check(APP.replace("lasso:", "laso:"), 'did you mean "lasso"?')
        check(APP.replace("intercept", "intercepts"), 'did you mean "intercept"?')
        check(APP.replace("x.csv", "none.csv"), "none.csv")
        check(APP.replace("target_column: y", "target_column: z"), "z")
        check(APP.replace("x.csv", "ragged.csv"), "ragged.csv: line 3", ragged="a,y\n1,2\n1,2,3\n")
        check(APP.replace("x.csv", "nan.csv"), "nan.csv: line 2", nan="a,y\nnan,2\n1,2\n")
        check(APP.replace("gap: 1e-9", "gap: 0"), "stop")
        check(APP.replace("dynamic: {window: 2}", "random: {}"), "schedule.random: unknown key")
        check(APP.replace("{dynamic: {window: 2}}", "{workers: 1000}"), "1000 workers for 120 rows", command=("run", "--nodes", 2))
        check(APP.replace("{dynamic: {window: 2}}", "{shards: 50}"), "50 shards for 12 variables", command=("run", "--nodes", 2))
        for data, why in (
            ("{documents: {lines: x.csv}}", "data.documents: has no targets, which the program needs"),
            ("{documents: {lines: x.csv, text: texts}}", 'data.documents.text: conflicts with "lines"'),
            ("{documents: {documents_min: 2}}", "give exactly one of counts, text, lines or dictionary"),
            ("{documents: {lines: x.csv, vocabulary: v}}", "data.documents.vocabulary: goes with counts"),
            ("{documents: {counts: c, stop_words: english}}", "counts without a vocabulary have no words"),
            ("{documents: {lines: x.csv, stem: klingon}}", 'data.documents.stem: unknown word "klingon"'),
            ("{ratings: {train: x.csv}}", "data.ratings: has no targets, which the program needs"),
            ("{ratings: {test: x.csv}}", 'data.ratings: missing key "train"'),
            ("{ratings: {train: x.csv}, scale: unit_norm}", "data.scale: is for matrices"),
        ):
            check(APP.replace("{matrix: {features: x.csv, target_column: y}}", data), why)
        check(APP.replace("x.csv", "big.csv"), "big.csv: line 3: a target is 1e+200, whose square is too large", big="a,y\n1,2\n1,1e200\n")
        check(APP.replace("{dynamic: {window: 2}}", "{window: 2}"), 'app.yaml:4:12: schedule.window: unknown key; did you mean "dynamic.window"?')
        check(APP.replace("x.csv, target_column: y", "svm.csv"), 'svm.csv: line 1: the label: "cat" is not a number', svm="cat 1:2 3:1\n1 2:1\n")
        check(APP, "--set data.matrix.target_column: ", command=("check", "--set", "data.matrix.target_column=z"))
        check(APP.replace("lasso:", "ridge:"), "expected factorization, lasso, lda or tsp; load one of your own by --program FILE.so")
        check(APP + "checkpoint: {directory: ./result/}\n", "app.yaml:7:25: checkpoint.directory: is result.directory, too; give checkpoints a folder")
        check(APP + "checkpoint: {directory: x.csv}\n", "x.csv: cannot be made: Not a directory; choose another checkpoint.directory", command=("run",))
        huge = "a,b,y\n" + "".join(f"{x}e30,{x * x % 7}e30,{x}\n" for x in range(1, 9))
        check(APP.replace("x.csv", "huge.csv"), "products of columns are too large for float32", 1, command=("run",), huge=huge)
        check(APP, "names no checkpoint folder", command=("run", "--resume"))
        check(APP, "no module of a program", command=("check", "--program", __file__))
        check(APP, "none.so", command=("check", "--program", "none.so"))


    def test_columns_far_from_0_have_the_coefficients_of_the_file(self):
        """The data are one problem, whatever is added to a column; only the intercept is another."""
        draw = random.Random(7)
        rows = [[draw.gauss(0, 1) for _ in range(3)] for _ in range(60)]
        targets = [2 * a - b + 0.5 + draw.gauss(0, 0.1) for a, b, _ in rows]
        text = APP.replace("intercept: false", "intercept: true")

        def csv(table):
            return "a,b,c,y\n" + "".join(f"{','.join(map(repr, row))}\n" for row in table)

        def libsvm(table):
            return "".join(f"{y!r} 1:{a!r} 2:{b!r} 3:{c!r}\n" for a, b, c, y in table)

        def solution(form, offset, *more):
            (self.folder / "x.csv").write_text(form([[*(x + offset for x in row), y] for row, y in zip(rows, targets)]))
            app = self.app(text if form == csv else text.replace(", target_column: y", ""))
            run = self.troupe("run", app, *more, "--json")
            self.assertEqual(run.code, 0, str(run))
            self.assertEqual(run.event("start")[0]["notes"], [], str(run))
            found = [float(line.split(",")[-1]) for line in (self.folder / "result/path.csv").read_text().splitlines()[1:]]
            lines = (self.folder / "result/coefficients.csv").read_text().splitlines()[1:]
            scored, = self.troupe("evaluate", app, "result", "--json").event("evaluation")
            predicted = [float(p) for p in self.troupe("predict", app).out.splitlines()[1:]]
            return [float(line.split(",")[-1]) for line in lines], found[0], scored["mse"], predicted

        wanted, intercept, mse, predictions = solution(csv, 0)
        squared = ("--set", "program.lasso.loss=squared")
        for offset, more in ((1e3, ()), (2460000.5, ()), (1.7e9, ("--nodes", 2)), (-1e9, squared)):
            for form in (csv, libsvm):
                with self.subTest(offset=offset, form=form.__name__):
                    found, moved, scored, predicted = solution(form, offset, *more)
                    self.assertEqual(len(found), len(wanted))
                    for a, b in zip(found, wanted):
                        self.assertAlmostEqual(a, b, delta=2e-6)
                    self.assertAlmostEqual(moved + offset * sum(found), intercept, delta=1e-5)
                    self.assertAlmostEqual(scored, mse, delta=1e-6)
                    for a, b in zip(predicted, predictions):
                        self.assertAlmostEqual(a, b, delta=1e-5)

    def test_the_gap_is_that_of_the_numbers_in_the_file(self):
        """Of columns that are much alike, coefficients are large, and so is what rounding of a column does to their sum."""
        draw = random.Random(3)
        rows, targets = [], []
        for _ in range(400):
            size = draw.betavariate(6, 3)
            length = round(0.075 + 0.74 * size, 3)
            whole = round(4.6 * length ** 2.9 * (1 + draw.gauss(0, 0.03)), 4)
            parts = [round(whole * (share + draw.gauss(0, 0.002)), 4) for share in (0.43, 0.22, 0.29)]
            rows.append([length, round(0.8 * length + draw.gauss(0, 0.002), 3), whole, *parts])
            targets.append(round(3 + 10 * length + 8 * parts[2] - 6 * parts[0] + draw.gauss(0, 2)))
        names = "abcdef"
        (self.folder / "x.csv").write_text(f"{','.join(names)},y\n" + "".join(f"{','.join(map(str, [*row, y]))}\n" for row, y in zip(rows, targets)))
        (self.folder / "x.svm").write_text("".join(f"{y} " + " ".join(f"{j + 1}:{x}" for j, x in enumerate(row)) + "\n" for row, y in zip(rows, targets)))

        def of_the_file(numbers, b, is_centred):
            """Objective and gap, as apps/lasso/penalty.hpp has them."""
            n = len(rows)
            columns = [[x - is_centred * math.fsum(c) / n for x in c] for c in zip(*rows)]
            y = [t - is_centred * math.fsum(targets) / n for t in targets]
            r = [t - math.fsum(v * c[i] for v, c in zip(b, columns)) for i, t in enumerate(y)]
            gradients = [math.fsum(x * e for x, e in zip(c, r)) for c in columns]
            l1, norm = n * numbers["lambda"], math.fsum(e * e for e in r) / 2
            scale = min(1, l1 / max(map(abs, gradients)))
            penalty = l1 * math.fsum(map(abs, b))
            gap = norm * (1 - scale) ** 2 + penalty - scale * math.fsum(v * g for v, g in zip(b, gradients))
            return (norm + penalty) / n, gap / (math.fsum(t * t for t in y) / 2)

        text = APP.replace("lambda: 0.05", "share: 0.0001")
        for is_centred in (False, True):
            for file in ("x.csv, target_column: y", "x.svm"):
                with self.subTest(file=file, is_centred=is_centred):
                    app = text.replace("x.csv, target_column: y", file).replace("intercept: false", f"intercept: {str(is_centred).lower()}")
                    run = self.troupe("run", self.app(app), "--nodes", 2, "--json")
                    self.assertEqual(run.code, 0, str(run))
                    lines = (self.folder / "result/coefficients.csv").read_text().splitlines()[1:]
                    found = {name: float(v) for _, name, v in (line.split(",") for line in lines)}
                    b = [found.get(name, found.get(str(j), 0)) for j, name in enumerate(names)]
                    last = run.event("sweep")[-1]
                    objective, gap = of_the_file(last, b, is_centred)
                    self.assertLess(last["gap"], 1e-9)
                    self.assertAlmostEqual(last["gap"], gap, delta=1e-12)
                    self.assertAlmostEqual(last["objective"], objective, delta=1e-13 * objective)

    def test_columns_that_float32_cannot_keep_are_noted(self):
        (self.folder / "x.csv").write_text("day,b,y\n" + "".join(f"{2460000 + i * 0.1:.1f},{i % 3},{i}\n" for i in range(20)))
        for command in ("check", "run"):
            done = self.troupe(command, self.app(APP))  # without an intercept
            self.assertIn('data.matrix.features: the numbers of the column "day" are so far from 0 that float64, in which they are read and summed, has', done.err)
            self.assertNotIn("float32", done.err)  # which has remainders beside it
        (self.folder / "x.svm").write_text("".join(f"{i} 1:{2460000 + i * 0.1:.1f}\n" for i in range(20)))
        sparse = self.troupe("check", self.app(APP.replace("x.csv, target_column: y", "x.svm")))
        self.assertIn("data.matrix.features: the numbers that are kept (float32) of the column 0 are off by up to 0.12 of its spread", sparse.err)
        self.assertNotIn("float64", self.troupe("check", self.app(APP.replace("intercept: false", "intercept: true"))).err)

    def test_a_result_needs_no_data_file_again(self):
        app = APP.replace("window: 2", "window: 2, set: 1").replace("gap: 1e-9", "gap: 0, phases: 3000")
        run = self.start("run", self.app(app), "--json")
        self.read_event(run, "sweep")
        (self.folder / "x.csv").rename(self.folder / "moved.csv")
        ended = self.finish(run)
        self.assertEqual(ended.code, 0, str(ended))
        self.assertTrue((self.folder / "result/summary.json").exists())

    def test_a_column_that_is_there_twice_counts_once(self):
        lines = [f"{a},{a},{b},{2 * a + b}" for a, b in ((math.sin(i), math.cos(3 * i)) for i in range(50))]
        (self.folder / "x.csv").write_text("a,a2,b,y\n" + "\n".join(lines) + "\n")
        run = self.troupe("run", self.app(APP), "--json")
        self.assertEqual(run.code, 0, str(run))
        values = [float(line.split(",")[-1]) for line in (self.folder / "result/coefficients.csv").read_text().splitlines()[1:]]
        self.assertEqual(len(values), int(run.event("sweep")[-1]["variables"]))
        self.assertTrue(all(abs(v) > 1e-9 for v in values), values)

    def test_what_a_table_has_little_sense_with_is_noted(self):
        (self.folder / "same.csv").write_text("# a,b,a,y\n1,2,3,4\n4,5,6,4\n3,4,2,4\n")
        checked = self.troupe("check", self.app(APP.replace("x.csv", "same.csv")))
        self.assertEqual(checked.code, 0, str(checked))
        self.assertIn("data.matrix.target_column: all rows have the same target", checked.err)
        self.assertIn('data.matrix.features: two columns have the name "a"', checked.err)
        self.assertEqual(len(checked.err.splitlines()), 2)
        self.assertEqual(self.troupe("check", self.app(APP)).err, "")


    def test_a_first_line_that_pandas_counts_has_names_and_is_noted(self):
        lines = (self.folder / "x.csv").read_text().splitlines()
        header = ",".join(str(i) for i in range(len(lines[0].split(","))))
        (self.folder / "counted.csv").write_text("\n".join([header, *lines[1:]]) + "\n")
        named = self.troupe("run", self.app(APP), "--json")
        counted = APP.replace("x.csv, target_column: y", "counted.csv, target_column: -1").replace("result}", "counted}")
        run = self.troupe("run", self.app(counted), "--json")
        self.assertEqual((named.code, run.code), (0, 0), str(run))
        self.assertIn("data.matrix.features: the first line, 0, 1, 2, 3, ..., is taken for the names", str(run))
        self.assertEqual((self.folder / "counted/coefficients.npy").read_bytes(), (self.folder / "result/coefficients.npy").read_bytes())
        said = self.troupe("check", self.app(counted.replace("target_column", "header: yes, target_column")))
        self.assertEqual((said.code, said.err), (0, ""), str(said))


class DocumentsAndRatings(TroupeTest):
    """Data of programs that take no targets."""

    def data(self, data, program):
        return self.app(f"troupe: 1\ndata: {data}\nprogram: {program}\nschedule: {{rotation: {{blocks_per_worker: 1}}}}\n"
                        "stop: {sweeps: 2}\nresult: {directory: result}\n")

    def documents(self, settings):
        return self.data(f"{{documents: {{{settings}}}}}", "{lda: {topics: 2}}")

    def ratings(self, settings):
        return self.data(f"{{ratings: {{{settings}}}}}", "factorization")

    def write_files(self, **files):
        for name, content in files.items():
            (self.folder / name).write_bytes(content)

    def planned(self, app):
        plan = self.troupe("plan", app, "--nodes", 2, "--json")
        self.assertEqual(plan.code, 0, str(plan))
        numbers = json.loads(plan.out)
        return numbers["rows"], numbers["variables"], numbers["entries"]

    def test_documents_of_all_kinds_have_rows_and_words(self):
        self.write_files(lines=b"The cat sat\nDogs and a cat\n42\ncats\n", counts=b"2 0:1 1:2\n1 1:1\n", words=b"cat\ndog\n",
                   uci=b"2\n3\n3\n1 1 1\n1 3 4\n2 3 1\n")
        (self.folder / "folder/below").mkdir(parents=True)
        self.write_files(**{"folder/b": b"one two", "folder/below/a": b"two"})
        self.write_files(**{"d.dict": b"cat: a petdog: a pet", "d.index": b"cat\tA\tK\nkitten\tA\tK\ndog\tK\tK\n"})
        self.assertEqual(self.planned(self.documents("lines: lines, stop_words: english, stem: english")), (3, 3, 5))
        self.assertEqual(self.planned(self.documents("counts: counts, vocabulary: words")), (2, 2, 3))
        self.assertEqual(self.planned(self.documents("counts: uci")), (2, 2, 3))
        self.assertEqual(self.planned(self.documents("text: folder")), (2, 2, 3))
        self.assertEqual(self.planned(self.documents("dictionary: d.dict, length_min: 2")), (2, 3, 4))

    def test_words_and_what_is_left_out_are_said(self):
        self.write_files(lines=b"ant bee ant\n42\nbee cat\n")
        run = self.troupe("run", self.documents("lines: lines"), "--nodes", 2, "--json")
        self.assertEqual(run.code, 0, str(run))
        self.assertIn("1 of 3 documents have no words that are kept", str(run))
        self.assertEqual((self.folder / "result/words.txt").read_text().split(), ["ant", "bee", "cat"])

    def test_a_result_is_used_with_words_that_are_found_as_in_its_run(self):
        self.write_files(lines=b"The cats sat\nDogs and cats\n", more=b"the cat sat\n")
        app = self.documents("lines: lines, stem: english, length_min: 3, stop_words: english")
        self.assertEqual(self.troupe("run", app).code, 0)
        self.assertEqual(self.troupe("evaluate", app, "--data", "more").code, 0)
        for setting, then in (("stem=none", "which is english"), ("length_min=2", "which is 3"), ("stop_words=none", "which is english"),
                              ("stop_words_file=more", "which is none")):
            for command in ("evaluate", "predict"):
                with self.subTest(setting=setting, command=command):
                    self.assert_one_line_error(self.troupe(command, app, "--set", f"data.documents.{setting}"), 2,
                                               f"data.documents.{setting.split('=')[0]}: is not that of the words", then)

    def test_ratings_are_learned_from_and_held_out(self):
        self.write_files(train=b"userId,movieId,rating,timestamp\n" + b"".join(
            b"%d,%d,%d,0\n" % (u, i, 1 + (u * i) % 5) for u in range(8) for i in range(6) if u != i),
            test=b"9\t3\t4\t0\n3\t3\t2\t0\n")
        self.assertEqual(self.planned(self.ratings("train: train, test: test")), (9, 6, 42))
        run = self.troupe("run", self.ratings("train: train, test: test"), "--nodes", 2, "--json")
        self.assertEqual(run.code, 0, str(run))
        self.assertLess({"rmse", "training_rmse", "objective"}, set(run.event("sweep")[-1]))
        scored, = self.troupe("evaluate", self.ratings("train: train, test: test"), "--json").event("evaluation")
        self.assertLess({"rmse", "training_rmse"}, set(scored))
        learned, = self.troupe("evaluate", self.ratings("train: train"), "--json").event("evaluation")
        self.assertEqual(("rmse" in learned, learned["training_rmse"]), (False, scored["training_rmse"]))
        others, = self.troupe("evaluate", self.ratings("train: train"), "--data", "test", "--json").event("evaluation")
        self.assertEqual(("training_rmse" in others, others["rmse"]), (False, scored["rmse"]))
        self.assertRegex(self.troupe("evaluate", self.ratings("train: train")).out, r"^training rmse \d\.\d+  of ")

    def test_ratings_are_read_below_names_whatever_separates_them(self):
        for name, header, between in (("tabs", b"user\titem\trating\n", b"\t"), ("scores", b"user_id,item_id,score\n", b","), ("bare", b"", b";")):
            self.write_files(**{name: header + b"".join(between.join(b"%d" % n for n in (u, i, 1 + u * i % 5)) + b"\n"
                                                        for u in range(1, 5) for i in range(1, 4))})
            self.assertEqual(self.planned(self.ratings(f"train: {name}")), (4, 3, 12), name)

    def test_a_result_needs_no_documents_ratings_or_cities_again(self):
        self.write_files(lines=b"The cat sat\nDogs and a cat\n", train=b"".join(
            b"%d %d %d\n" % (u, i, 1 + (u * i) % 5) for u in range(8) for i in range(6)), test=b"3 9 2\n9 3 4\n",
            cities=b"".join(b"%d,%d\n" % (137 * i % 1000, 59 * i % 997) for i in range(100)))
        rotation, cyclic = "{rotation: {blocks_per_worker: 1}}", "{cyclic: {}}"
        for names, data, program, schedule, written in (
                (["lines"], "{documents: {lines: lines}}", "{lda: {topics: 2}}", rotation, "summary.json"),
                (["train", "test"], "{ratings: {train: train, test: test}}", "factorization", rotation, "model.json"),
                (["cities"], "{tsplib: cities}", "tsp", cyclic, "tour.tour")):
            with self.subTest(program):
                app = self.app(f"troupe: 1\ndata: {data}\nprogram: {program}\nschedule: {schedule}\n"
                               "stop: {sweeps: 100000000}\nresult: {directory: result}\n")
                run = self.start("run", app, "--json")
                self.read_event(run, "sweep")
                for name in names:
                    (self.folder / name).rename(self.folder / (name + ".moved"))
                run.send_signal(signal.SIGINT)
                self.assertEqual(self.finish(run).code, 130)
                self.assertTrue((self.folder / "result" / written).exists())
                shutil.rmtree(self.folder / "result")

    def test_settings_without_effect_and_too_many_topics_are_noted(self):
        self.write_files(lines=b"ant bee ant\nbee cat\n", train=b"1 1 3\n1 2 4\n2 1 1\n")

        def notes(app, *settings):
            checked = self.troupe("check", app, *(word for setting in settings for word in ("--set", setting)))
            self.assertEqual(checked.code, 0, str(checked))
            return re.findall(r"(?m)^troupe: note: .*?((?:program|stop)\.[a-z_.]+): ", checked.err)
        topics = self.documents("lines: lines")
        self.assertEqual(notes(topics), [])
        self.assertEqual(notes(topics, "stop.gap=0.1", "program.lda.proposals=2", "program.lda.topics=3"),
                         ["stop.gap", "program.lda.proposals", "program.lda.topics"])
        factors = self.ratings("train: train")
        self.assertEqual(notes(factors, "program.factorization.rate=0.1"), [])
        factors = self.data("{ratings: {train: train}}", "{factorization: {by: coordinates, rate: 0.1, decay: 0.2}}")
        self.assertEqual(notes(factors, "schedule={cyclic: {}}"), ["program.factorization.rate", "program.factorization.decay"])

    def test_bad_files_are_refused_in_one_line(self):
        def documents(settings, why, code=2, **files):
            self.write_files(**files)
            with self.subTest(why=why):
                self.assert_one_line_error(self.troupe("check", self.documents(settings)), code, why)

        def ratings(why, **files):
            self.write_files(**files)
            with self.subTest(why=why):
                self.assert_one_line_error(self.troupe("check", self.ratings(", ".join(f"{f}: {f}" for f in files))), 2, why)

        def counts(matrix, why):
            self.write_files(matrix=matrix)
            with self.subTest(why=why):
                app = self.data("{matrix: {features: matrix}}", "{lda: {topics: 2}}")
                self.assert_one_line_error(self.troupe("check", app), 2, "app.yaml:2:", why)

        counts(b"1 1:2\n1 1:2 2:1.5\n", "matrix: line 2: a document has 1.5 of a word")
        counts(b"a,b\n1,2\n3,-1\n", "matrix: line 3: a document has -1 of a word")
        dense = self.data("{matrix: {features: matrix}}", "factorization")
        self.assert_one_line_error(self.troupe("check", dense), 2, "app.yaml:2:", "data: the ratings are a dense matrix")
        documents("lines: none", "data.documents.lines: ")
        documents("lines: x", "x: line 2: the byte 0xe9 is not UTF-8", x=b"a\ncaf\xe9\n")
        documents("lines: x, documents_min: 2", "the vocabulary is empty", x=b"a\nb\n")
        documents("text: x", "x: a file, but text takes a folder", x=b"")
        documents("lines: x", "x: line 1: the lines end by carriage returns alone", x=b"a b\rc\r")
        documents("counts: x", "x: line 1: the count \"-1\"", x=b"1 0:-1\n")
        documents("counts: x", "x: line 1: the count \"99999999\"", x=b"1 0:99999999\n")
        documents("counts: x, vocabulary: v", "the word \"2\"; words are numbers from 0 to 1", x=b"1 2:1\n", v=b"a\nb\n")
        documents("counts: x", "documents are numbers from 1 to 2", x=b"2\n2\n1\n3 1 1\n")
        documents("dictionary: x.dict", "x.index: line 1: the entry \"a\" ends at byte 4",
                  **{"x.dict": b"cat", "x.index": b"a\tB\tD\n"})
        ratings("train: line 2: the item \"b\" is not a whole number", train=b"1 2 3\n1 b 3\n")
        ratings("train: line 2: the rating: ", train=b"1::2::3\n1::3::nan\n")
        ratings("train: line 3: user 1 rates item 2 a second time", train=b"1 2 3\n1 1 3\n1 2 3\n")
        ratings("test: line 1: user 1 rates item 2 for training, too", train=b"1 2 3\n2 2 3\n", test=b"1 2 4\n")


if __name__ == "__main__":
    main()
