"""Saved weights outside of a run: evaluated, turned into files of other programs and back."""

import hashlib
import json
import pathlib
import resource
import signal
import struct

from support import APP, TroupeTest, main

SAVING = APP + "checkpoint: {directory: saved}\n"


def read_header(path):
    content = path.read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    return json.loads(content[8:8 + length]), content[8 + length:]


def write_file(path, header, data):
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


class Weights(TroupeTest):
    def setUp(self):
        super().setUp()
        self.app_file = self.app(SAVING)
        trained = self.troupe("run", self.app_file, "--nodes", 2, "--json")
        self.assertEqual(trained.code, 0, str(trained))
        self.done = trained.event("done")[0]
        self.file = pathlib.Path(self.folder, "weights.safetensors")

    def evaluate(self, *options):
        result = self.troupe("evaluate", self.app_file, "--json", *options)
        self.assertEqual(result.code, 0, str(result))
        return result.event("evaluation")[0]

    def convert(self, source, target, *options):
        result = self.troupe("convert", self.app_file, source, target, *options)
        self.assertEqual(result.code, 0, str(result))
        return result

    def refused(self, *words):
        result = self.troupe(*words)
        self.assertEqual(result.code, 2, str(result))
        self.assertEqual(result.err.count("\n"), 1, str(result))
        return result.err

    def test_saved_weights_are_as_good_as_the_run_said(self):
        saved = self.evaluate()
        self.assertEqual(saved["samples"], 128)
        self.assertAlmostEqual(saved["test_loss"], self.done["test_loss"], places=6)
        self.assertEqual(saved["test_accuracy"], self.done["test_accuracy"])
        text = self.troupe("evaluate", self.app_file)
        self.assertRegex(text.out, r"^test loss \d\.\d{4}  test accuracy \d+\.\d\d%  of \S*/saved/epoch-0002\n$")

    def test_a_file_of_all_weights_has_pytorchs_names_and_goes_back_bit_for_bit(self):
        self.convert("saved", self.file)
        header, data = read_header(self.file)
        header.pop("__metadata__")
        self.assertEqual({name: entry["shape"] for name, entry in header.items()},
                         {"layers.0.weight": [8, 1, 3, 3], "layers.0.bias": [8],
                          "layers.3.weight": [4, 128], "layers.3.bias": [4]})
        self.assertEqual(self.evaluate("--weights", self.file)["test_loss"], self.evaluate()["test_loss"])
        self.convert(self.file, "again")
        self.assertIn("weights.safetensors: is there already; ", self.refused("convert", self.app_file, "again", self.file))
        self.convert("again", self.file, "--force")
        self.assertEqual(read_header(self.file)[1], data)

    def test_a_file_in_a_folder_that_is_not_there_is_named(self):
        said = self.refused("convert", self.app_file, "saved", "nowhere/weights.safetensors")
        self.assertEqual(said, "troupe: nowhere/weights.safetensors: cannot be made: No such file or directory; "
                               "make its folder first\n")

    def test_a_file_that_there_is_no_space_for_is_named_and_leaves_nothing(self):
        def tight():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        result = self.troupe("convert", self.app_file, "saved", "weights.safetensors", preexec_fn=tight)
        self.assert_one_line_error(result, 2, "troupe: weights.safetensors: cannot be written: File too large; "
                                   "raise the limit on the size of files (ulimit -f) or choose another folder")
        self.assertEqual([p.name for p in self.folder.glob("weights*")], [])

    def test_names_of_foreign_tensors_are_shown_few_short_and_without_control_characters(self):
        folder = self.folder / "saved/epoch-0002"
        manifest = json.loads((folder / "manifest.json").read_text())
        stage = manifest["stages"][0]
        header, data = read_header(folder / stage["file"])
        for kind in ("\x1b[2J" + "long" * 100, *(f"x{i}" for i in range(10))):
            header[kind + ".layers.0.bias"] = {"dtype": "U8", "shape": [1], "data_offsets": [len(data), len(data) + 1]}
            data += b"\0"
        write_file(folder / stage["file"], header, data)
        content = (folder / stage["file"]).read_bytes()
        stage.update(bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
        (folder / "manifest.json").write_text(json.dumps(manifest))
        resumed = self.troupe("run", self.app_file, "--resume", "--set", "train.epochs=3", "--json")
        self.assertEqual(resumed.code, 0, str(resumed))
        self.assertNotIn("\x1b", resumed.err)
        notes = [line for line in resumed.err.splitlines() if "note: --resume: " in line]
        self.assertEqual(len(notes), 1, str(resumed))
        self.assertRegex(notes[0], r"its state is left out: \\x1b\[2J.*, x0, x1, x2 and 7 more$")
        self.assertLess(len(notes[0]), 400)

    def test_a_run_starts_from_the_weights_of_a_file(self):
        self.convert("saved", self.file)
        self.convert(self.file, "start")
        resumed = self.troupe("run", self.app_file, "--resume", "--set", "checkpoint.directory=start", "--json")
        self.assertEqual(resumed.code, 0, str(resumed))
        first = resumed.event("epoch")[0]
        self.assertEqual(first["epoch"], 1)
        self.assertLess(first["train_loss"], self.done["train_loss"] * 1.2)

    def test_a_file_that_does_not_fit_is_refused_with_what_is_wrong(self):
        self.convert("saved", self.file)
        header, data = read_header(self.file)

        def with_header(change):
            changed = json.loads(json.dumps(header))
            change(changed)
            write_file(self.file, changed, data)
            return self.refused("evaluate", self.app_file, "--weights", self.file)

        self.assertIn("weights.safetensors: does not fit the model: 1 tensor is missing, layers.3.bias (like layers.9.bias); "
                      "1 tensor is none of the model's, layers.9.bias\n",
                      with_header(lambda h: h.update({"layers.9.bias": h.pop("layers.3.bias")})))
        self.assertIn("1 tensor is of another form, layers.0.weight is float32 [72], but the model wants float32 [8, 1, 3, 3]\n",
                      with_header(lambda h: h["layers.0.weight"].update(shape=[72])))
        self.assertRegex(with_header(lambda h: h.update({name.replace("layers.", "net."): h.pop(name) for name in header if "layers" in name})),
                         r"4 tensors are missing, .*; 4 tensors are none of the model's, net\.0\.bias, ")
        bare = APP.replace("linear: {out: 4}", "linear: {out: 5}")
        self.assertIn("does not fit the model: 2 tensors are of another form, layers.3.weight is float32 [4, 128]",
                      self.refused("evaluate", self.app(bare, "other.yaml"), "--weights", "saved"))
        self.file.write_bytes(self.file.read_bytes()[:-4])
        self.assertIn("weights.safetensors: ", self.refused("evaluate", self.app_file, "--weights", self.file))
        self.file.write_bytes(struct.pack("<Q", 1 << 62))
        self.assertIn("weights.safetensors: ", self.refused("evaluate", self.app_file, "--weights", self.file))
        self.file.write_bytes(b"")
        self.assertIn("weights.safetensors: ", self.refused("evaluate", self.app_file, "--weights", self.file))
        missing = self.refused("evaluate", self.app_file, "--weights", "nowhere.safetensors")
        self.assertIn("nowhere.safetensors", missing)

    def test_names_that_wrappers_of_pytorch_have_made_longer_are_read(self):
        self.convert("saved", self.file)
        header, data = read_header(self.file)
        plain = self.evaluate("--weights", self.file)
        for wrapped in ("module.{}", "_orig_mod.{}", "_orig_mod.module.{}", "module._orig_mod.{}"):
            with self.subTest(wrapped=wrapped):
                write_file(self.file, {name if name == "__metadata__" else wrapped.format(name): entry
                                       for name, entry in header.items()}, data)
                result = self.troupe("evaluate", self.app_file, "--json", "--weights", self.file)
                self.assertEqual(result.code, 0, str(result))
                self.assertEqual(result.event("evaluation")[0]["test_loss"], plain["test_loss"])
                self.assertIn(f"of 4 tensors, such as {wrapped.format('layers.')}", str(result))
                self.assertIn('the name is taken without', self.convert(self.file, "copy.safetensors", "--force").err)
        both = {**header, "module.layers.0.bias": header["layers.0.bias"]}
        both["module.layers.0.bias"] = {**header["layers.0.bias"], "data_offsets": [len(data), len(data) + 32]}
        write_file(self.file, both, data + bytes(32))
        self.assertIn("has layers.0.bias twice, with and without", self.refused("evaluate", self.app_file, "--weights", self.file))

    def test_weights_that_are_no_numbers_are_not_evaluated_as_if_they_were(self):
        self.convert("saved", self.file)
        header, data = read_header(self.file)
        begin = header["layers.3.bias"]["data_offsets"][0]
        write_file(self.file, header, data[:begin] + struct.pack("<f", float("nan")) + data[begin + 4:])
        result = self.troupe("evaluate", self.app_file, "--weights", self.file, "--json")
        self.assertEqual((result.code, result.out), (1, ""), str(result))
        self.assertIn("is not a number", result.err)
        result = self.convert(self.file, "copy.safetensors")
        self.assertIn("note: weights.safetensors: layers.3.bias has numbers that are not finite", result.err.replace(f"{self.folder}/", ""))
        result = self.troupe("convert", self.app_file, self.file, "start")
        self.assertEqual(result.code, 1, str(result))
        self.assertIn("troupe: layers.3.bias has numbers that are not finite\n", result.err)
        self.assertFalse((self.folder / "start").exists())

    def test_a_run_does_not_go_on_from_weights_that_are_no_numbers(self):
        bad = self.folder / "saved/epoch-0002"
        file = bad / "stage-1-of-2.safetensors"
        header, data = read_header(file)
        begin = header["layers.3.bias"]["data_offsets"][0]
        write_file(file, header, data[:begin] + struct.pack("<f", float("inf")) + data[begin + 4:])
        manifest = json.loads((bad / "manifest.json").read_text())
        manifest["stages"][1].update(bytes=file.stat().st_size, sha256=hashlib.sha256(file.read_bytes()).hexdigest())
        (bad / "manifest.json").write_text(json.dumps(manifest))
        said = self.refused("run", self.app_file, "--nodes", 2, "--resume", "--set", "train.epochs=3").replace(f"{self.folder}/", "")
        self.assertEqual(said, "troupe: saved/epoch-0002: layers.3.bias has numbers that are not finite, of a training that has diverged; "
                               "delete saved/epoch-0002 to go on from saved/epoch-0001\n")

    def test_a_model_with_a_batch_norm_is_tested_one_by_one_and_all_its_tensors_are_counted(self):
        self.app_file = self.app(SAVING.replace("- relu", "- linear: {out: 6}\n    - batch_norm")
                                 .replace("- max_pool: {kernel: 2}\n    ", "").replace("saved", "normed"))
        self.assertEqual(self.troupe("run", self.app_file, "--nodes", 2).code, 0)
        self.assertAlmostEqual(self.evaluate("--set", "train.batch=1")["test_loss"], self.evaluate()["test_loss"], places=5)
        said = self.convert("normed", self.file).out
        self.assertIn("layers.2.num_batches_tracked", read_header(self.file)[0])
        self.assertEqual(len(read_header(self.file)[0]) - 1, 11)
        self.assertTrue(said.endswith("weights.safetensors: 11 tensors\n"), said)
        self.assertTrue(self.convert(self.file, "again").out.endswith("again/epoch-0000: 10 tensors\n"))

    def test_a_name_that_looks_like_another_kind_of_file_is_refused(self):
        self.assertIn("NAME.safetensors", self.refused("convert", self.app_file, "saved", "weights.pt"))
        self.assertFalse(pathlib.Path(self.folder, "weights.pt").exists())

    def test_a_language_model_writes_the_same_text_for_the_same_seed(self):
        (self.folder / "book.txt").write_text("to be or not to be, that is the question. " * 200)
        app = self.app("""\
troupe: 1
data: {text: {train: [book.txt]}}
model: {input: [16], layers: [{embedding: {vocabulary: 256, width: 32}}, gelu, {linear: {out: 256}}]}
train: {batch: 16, epochs: 4, optimizer: {adamw: {learning_rate: 0.02}}}
checkpoint: {directory: written}
""", "text.yaml")
        self.assertEqual(self.troupe("run", app).code, 0)
        words = ("generate", app, "--prompt", "to be", "--length", "40")
        first = self.troupe(*words)
        self.assertEqual(first.code, 0, str(first))
        self.assertRegex(first.out, r"(?s)^to be.{40}\n$")
        self.assertEqual(self.troupe(*words).out, first.out)
        self.assertNotEqual(self.troupe(*words, "--seed", "2").out, first.out)
        likeliest = self.troupe(*words, "--temperature", "0").out
        self.assertEqual(self.troupe(*words, "--temperature", "0", "--seed", "2").out, likeliest)
        self.assertIn("generates no text", self.refused("generate", self.app_file))
        self.assertIn("--prompt: needs a value", self.refused("generate", app, "--prompt", ""))
        self.assertRegex(self.troupe("generate", app, "--length", "5").out, r"(?s)^\n.{5}\n$")
        fitting = self.troupe("generate", app, "--prompt", "x" * 16, "--length", "5")
        self.assertEqual((fitting.code, fitting.err), (0, ""), str(fitting))
        cut = self.troupe("generate", app, "--prompt", "x" * 19, "--length", "5")
        self.assertEqual((cut.code, cut.err), (0, "troupe: note: --prompt: of its 19 bytes the model sees the last 16, as many as "
                                                  "model.input says; 3 are left out\n"), str(cut))
        self.assertIn("--set data.target: generates no text: input has the model learn what it reads, not what comes next",
                      self.refused("generate", app, "--set", "data.target=input"))
        ahead = "model.layers=[{embedding: {vocabulary: 256, width: 32}}, {attention: {heads: 2}}, {linear: {out: 256}}]"
        self.assertRegex(self.refused("generate", app, "--set", ahead),
                         r"model\.layers\[1\]\.attention: not causal, so that .*; say causal: true and train anew\n$")

    def test_a_folder_of_another_run_is_left_alone(self):
        self.convert("saved", self.file)
        self.assertIn("has checkpoints of a run already", self.refused("convert", self.app_file, self.file, "saved"))
        self.assertIn("no checkpoint there", self.refused("evaluate", self.app_file, "--weights", self.folder))


if __name__ == "__main__":
    main()
