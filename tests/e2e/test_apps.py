"""The shipped apps: every file is right, and those whose data is not here train on made-up files of its format."""

import pathlib
import random
import subprocess

from support import FASHION, SOURCE, TroupeTest, main

APPS = SOURCE / "apps"
FOLDOC = pathlib.Path("/usr/share/dictd/foldoc.dict.dz")


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
        here = (FOLDOC if app == "text_gpt" else FASHION).exists()
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
                self.assertEqual((result.code, result.err), (0, ""), str(result))

    def test_an_app_without_its_data_says_where_to_get_it(self):
        # In a folder of its own, as somebody may have fetched the data beside the shipped file.
        app = self.app((APPS / "cifar_vgg/single.yaml").read_text())
        for command in ("check", "run"):
            self.assert_one_line_error(self.troupe(command, app), 2, "data.cifar.folder", "data_batch_1.bin: no such file",
                                       "cifar-10-binary.tar.gz from https://www.cs.toronto.edu/~kriz/cifar.html")

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
