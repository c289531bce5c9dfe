"""The shipped apps: every file is right and trains on a little of its data; those whose data is not here on made-up files of its format."""

import gzip
import math
import pathlib
import random
import re
import subprocess
import sys

from support import FASHION, FOLDOC, SOURCE, TroupeTest, main

sys.path += [str(SOURCE / "tests/support"), str(SOURCE / "tests/bench")]
import accuracy  # noqa: E402
from measuring import Figures  # noqa: E402
from shipped_apps import place_of  # noqa: E402

APPS = SOURCE / "apps"
TRAIN_SAMPLES, TEST_SAMPLES = 1024, 256     # of the images that every app trains on
TEXT_BYTES = 40_000
PROGRAMS = ("factorization", "lasso", "lda", "tsp")     # folders whose app files name a program; the others train networks


class Apps(TroupeTest):
    def cifar(self, images):
        """A folder of CIFAR-10 with so many images per file, whose class is how bright they are."""
        source = random.Random(1)
        folder = self.folder / "cifar-10-batches-bin"
        folder.mkdir(exist_ok=True)
        for name in [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]:
            records = ((i % 10, bytes(source.randrange(20) + 23 * (i % 10) for _ in range(3072))) for i in range(images))
            (folder / name).write_bytes(b"".join(bytes([label]) + pixels for label, pixels in records))
        return f"data.cifar.folder={folder}"

    def settings(self, app):
        """Where the data of an app is; None: not here."""
        if app == "cifar_vgg":
            return ["--set", self.cifar(30)]
        if app == "translation":
            subprocess.run([APPS / app / "numbers.py", self.folder], check=True)
            return [word for key, name in (("train_source", "train.tsv"), ("test_source", "test.tsv"),
                                           ("vocabulary_file", "vocabulary.model"))
                    for word in ("--set", f"data.translation.{key}={self.folder / name}")]
        if app == "factorization":
            subprocess.run([APPS / app / "stars.py", self.folder / "stars"], check=True)
            return [word for part in ("train", "test")
                    for word in ("--set", f"data.ratings.{part}={self.folder / 'stars' / part}.txt")]
        if app == "tsp":
            subprocess.run([APPS / app / "thousand.py", self.folder / "thousand.csv"], check=True)
            return ["--set", f"data.tsplib={self.folder / 'thousand.csv'}"]
        here = (FOLDOC if app in ("text_gpt", "schedules", "lda") else FASHION).exists()
        return [] if here else None

    def test_every_app_file_is_right(self):
        files = sorted(APPS.glob("*/*.yaml"))
        self.assertGreater(len(files), 9)
        for file in files:
            settings = self.settings(file.parent.name)
            if settings is None:
                print(f"skipped: the data of {file.parent.name} is not installed")
                continue
            with self.subTest(file=file):
                result = self.troupe("check", file, *settings)
                self.assertEqual(result.code, 0, str(result))
                said = [line for line in result.err.splitlines()
                        if not line.startswith("troupe: note: data.") and "characters that the vocabulary has not" not in line]
                self.assertEqual(said, [], str(result))

    def test_an_app_without_its_data_says_where_to_get_it(self):
        # In a folder of its own, as somebody may have fetched the data beside the shipped file.
        app = self.app((APPS / "cifar_vgg/single.yaml").read_text())
        for command in ("check", "run"):
            self.assert_one_line_error(self.troupe(command, app), 2, "data.cifar.folder", "data_batch_1.bin: no such file",
                                       "cifar-10-binary.tar.gz from https://www.cs.toronto.edu/~kriz/cifar.html")

    def first_images(self):
        """Settings for the first images of Fashion-MNIST alone."""
        settings = []
        for kind, name, samples in (("train", "train", TRAIN_SAMPLES), ("test", "t10k", TEST_SAMPLES)):
            for what, dimensions in (("images", 3), ("labels", 1)):
                file = f"{name}-{what}-idx{dimensions}-ubyte"
                with gzip.open(FASHION / f"{file}.gz") as all_of_them:
                    head = all_of_them.read(4 + 4 * dimensions)
                    each = 784 if what == "images" else 1
                    content = head[:4] + samples.to_bytes(4, "big") + head[8:] + all_of_them.read(samples * each)
                (self.folder / file).write_bytes(content)
                settings += ["--set", f"data.idx.{kind}_{what}={self.folder / file}"]
        return settings

    def little_data(self, app):
        """Settings that make an app train for a short while; None: its data is not here."""
        settings = self.settings(app)
        if settings is None:
            return None
        if app == "cifar_vgg":
            return [*settings, "--set", "train.batch=16", "--set", "train.optimizer.sgd.learning_rate=0.002"]
        if app == "translation":
            return settings
        if app not in ("text_gpt", "schedules"):
            return self.first_images()
        with gzip.open(FOLDOC) as text:
            (self.folder / "text").write_bytes(text.read(TEXT_BYTES))
        return ["--set", f"data.text.train=[{self.folder / 'text'}]", "--set", "train.warmup_minibatches=0"]

    def trains_at_its_place(self, file, settings):
        """One run of two epochs, on as many nodes of as many devices as the app is made for."""
        words = [file, "--json", "--set", "train.epochs=2", "--set", f"checkpoint.directory={self.folder / file.parent.name / file.stem}", *settings]
        place = place_of(file)
        if place.words() is not None:
            return self.troupe("run", *words, *place.words(), timeout=240)
        devices = ["--devices", f"cpu:{place.devices}"]
        first, address = self.node(*devices)
        nodes = [first, *(self.node(*devices, "--join", address, name=f"node-{n}")[0] for n in range(1, place.nodes))]
        result = self.troupe("run", *words, "--cluster", address, timeout=240)
        for node in nodes:
            node.terminate()
            node.wait()
        return result

    def has_learned(self, result):
        """Where a replica takes the next minibatch when it is free, a busy machine decides which one trains on how many, and
        whose loss the next epoch has: what comes of that is tested in the simulator, at seeded speeds."""
        (start,), (first, last) = result.event("start"), result.event("epoch")
        for epoch in (first, last):
            self.assertTrue(math.isfinite(epoch["train_loss"]) and math.isfinite(epoch["test_loss"]), str(result))
            self.assertGreater(epoch["learning_rate"], 0, str(result))
        if start["plan"].get("sync", {}).get("takes_turns", True):
            self.assertLess(last["train_loss"], first["train_loss"])

    def test_every_app_file_trains(self):
        folders = sorted({file.parent.name for file in APPS.glob("*/*.yaml")} - set(PROGRAMS))
        data = {folder: self.little_data(folder) for folder in folders}
        for folder, settings in data.items():
            if settings is None:
                print(f"skipped: the data of {folder} is not installed")
                continue
            for file in sorted((APPS / folder).glob("*.yaml")):
                with self.subTest(file=file):
                    result = self.trains_at_its_place(file, settings)
                    self.assertEqual(result.code, 0, str(result))
                    self.has_learned(result)

    def test_topics_of_a_dictionary(self):
        if not FOLDOC.exists():
            print("skipped: the dictionary is not installed")
            return
        result = self.troupe("run", APPS / "lda/foldoc.yaml", "--nodes", 2, "--json", "--set", "stop.sweeps=10",
                             "--set", f"result.directory={self.folder / 'topics'}")
        self.assertEqual(result.code, 0, str(result))
        sweeps = result.event("sweep")
        self.assertGreater(sweeps[-1]["per_token"], sweeps[0]["per_token"] + 0.3)

    def test_factors_of_made_ratings_are_as_good_as_their_readme_says(self):
        """It shows what `run` and `evaluate` print."""
        readme = (APPS / "factorization/README.md").read_text()
        result = f"result.directory={self.folder / 'result'}"
        run = self.troupe("run", APPS / "factorization/stars.yaml", "--nodes", 2, *self.settings("factorization"), "--set", result)
        self.assertEqual(run.code, 0, str(run))
        last = run.out[run.out.index("sweep 40/40"):].splitlines()[0]
        said = self.troupe("evaluate", APPS / "factorization/stars.yaml", *self.settings("factorization"), "--set", result).out
        for line, begin in ((last, "sweep 40/40"), (said, "rmse ")):
            shown = re.search(rf"^    {begin}.*$", readme, re.MULTILINE)[0]
            for number, expected in zip(re.findall(r"0\.\d+", line), re.findall(r"0\.\d+", shown), strict=True):
                self.assertAlmostEqual(float(number), float(expected), delta=1e-3)
        self.assertEqual(len((self.folder / "result/rankings.csv").read_text().splitlines()), 1 + 10 * 2000)

    def test_a_short_tour_of_a_thousand_cities(self):
        """As its readme shows; the length is of any machine, as the seconds are few."""
        result = f"result.directory={self.folder / 'result'}"
        run = self.troupe("run", APPS / "tsp/thousand.yaml", "--nodes", 2, "--json", *self.settings("tsp"), "--set", result)
        self.assertEqual(run.code, 0, str(run))
        self.assertLess(run.event("sweep")[-1]["length"], 1.03 * 0.7124 * 40000 * 1000 ** 0.5)    # the law of random cities
        self.assertIn("DIMENSION : 1000", (self.folder / "result/tour.tour").read_text())

    def test_the_lasso_reaches_its_gap(self):
        if not FASHION.exists():
            print("skipped: the data of programs is not installed")
            return
        self.first_images()
        settings = [f"data.idx.images={self.folder / 'train-images-idx3-ubyte'}", f"data.idx.labels={self.folder / 'train-labels-idx1-ubyte'}",
                    f"result.directory={self.folder / 'result'}"]
        for file in sorted((APPS / "lasso").glob("*.yaml")):
            with self.subTest(file=file):
                result = self.troupe("run", file, "--nodes", 2, "--json", *(word for s in settings for word in ("--set", s)))
                self.assertEqual(result.code, 0, str(result))
                done, = result.event("done")
                self.assertLessEqual(done["gap"], 1e-6)
                self.assertTrue(all(pathlib.Path(file).exists() for file in done["result"]), str(result))

    def test_the_table_of_accuracies_can_be_made_anew(self):
        text = accuracy.README.read_text(encoding="utf-8")
        names = [file.stem for file in accuracy.FOLDER.glob("*.yaml")]
        figures = {name: Figures([50.0 + len(name), 91.0, 99.0]) for name in names}
        about = {"date": "2001-02-03 04:05", "processor": "a processor"}
        made = accuracy.with_figures(text, figures, about, range(3))
        for name in names:
            self.assertRegex(made, rf"\| `{name}\.yaml` \| .+ \| 91\.0% \| {50 + len(name)}\.0 to 99\.0 \| \+0\.0 \|\n")
        self.assertIn("on 2001-02-03,\na processor.", made)
        self.assertEqual(accuracy.with_figures(made, figures, about, range(3)), made)
        self.assertIn(accuracy.HEAD, text, "the table that ships is made by troupe bench accuracy --write")
        with self.assertRaisesRegex(ValueError, "not of the same app files: single"):
            accuracy.with_figures(text, {name: f for name, f in figures.items() if name != "single"}, about, range(3))

    def trains_on_two_nodes(self, app, *settings):
        words = [word for setting in (*settings, f"checkpoint.directory={self.folder / 'saved'}") for word in ("--set", setting)]
        result = self.troupe("run", APPS / app, "--nodes", 2, "--json", *words, timeout=240)
        self.assertEqual(result.code, 0, str(result))
        plan, = result.event("start")
        self.assertEqual({stage["node"] for stage in plan["plan"]["stages"]}, {"node-0", "node-1"})
        return result.event("epoch")

    def test_vgg_trains_on_files_of_cifar_10(self):
        first, last = self.trains_on_two_nodes("cifar_vgg/pipedream.yaml", self.cifar(16), "train.epochs=2", "train.batch=8",
                                             "train.optimizer.sgd.learning_rate=0.002",
                                             "topology.pipeline.stages=[{layers: 15}, {layers: 15}]")
        self.assertLess(last["train_loss"], first["train_loss"])
        self.assertEqual(last["test_accuracy"] * 16 % 1, 0)  # 16 images

    def test_the_autoencoder_learns(self):
        first, last = self.trains_on_two_nodes(
            "autoencoder/pipedream.yaml", "data={synthetic: {train_samples: 512, test_samples: 128}, target: input}", "train.epochs=2",
            "topology.pipeline.stages=[{layers: 3}, {layers: 4}]")
        self.assertLess(last["test_loss"], first["test_loss"])


if __name__ == "__main__":
    main()
