"""Translation: from the script that makes the sentences to what a trained model says."""

import hashlib
import importlib.util
import itertools
import json
import shutil
import subprocess
import sys

from support import SOURCE, TroupeTest, main

NUMBERS = SOURCE / "apps/translation/numbers.py"
ADJECTIVES = {"red": "rouge", "green": "vert", "old": "vieux", "big": "grand"}
NOUNS = {"dog": "chien", "cat": "chat", "sun": "soleil"}
APP = """\
troupe: 1
data:
  origin: ask the author
  translation: {train_source: pairs.tsv, test_source: pairs.tsv, source_length: 12, vocabulary: 48, vocabulary_file: words.model}
model:
  input: [24]
  layers:
    - encoder_decoder:
        source_length: 12
        encoder: [{embedding: {vocabulary: 48, width: 16, deviation: 1}}, {gru: {out: 32}}]
        decoder:
          - embedding: {vocabulary: 48, width: 16, deviation: 1}
          - attention_gru: {out: 32, attention: 16}
          - linear: {out: 48}
train: {batch: 4, epochs: 40, optimizer: {adam: {learning_rate: 0.01}}}
topology: {pipeline: {schedule: gpipe, microbatches: 2, stages: [{layers: 4}, {layers: 3}]}}
checkpoint: {directory: saved, every_epochs: 40}
"""


def load_script():
    spec = importlib.util.spec_from_file_location("numbers_script", NUMBERS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Translation(TroupeTest):
    def run_script(self, folder):
        subprocess.run([sys.executable, "-B", NUMBERS, folder], check=True)
        return [(folder / name).read_text() for name in ("train.tsv", "test.tsv")]

    def test_words_become_other_words_in_another_order(self):
        app = self.app(APP)
        missing = self.troupe("run", app)
        self.assert_one_line_error(missing, 2, "pairs.tsv: no such file; data.origin: ask the author")
        (self.folder / "pairs.tsv").write_text("".join(
            f"{adjective} {noun}\t{NOUNS[noun]} {ADJECTIVES[adjective]}\n"
            for adjective, noun in itertools.product(ADJECTIVES, NOUNS)))
        trained = self.troupe("run", app, "--nodes", 2)
        self.assertEqual(trained.code, 0, str(trained))
        evaluated = self.troupe("evaluate", app, "--json").event("evaluation")[0]
        self.assertEqual((evaluated["samples"], evaluated["exact_matches"]), (12, 12))
        self.assertRegex(self.troupe("evaluate", app).out,
                         r"^test loss \d\.\d{4}  test accuracy 100\.00%  exact matches 100\.00% \(12 of 12\)  of ")
        self.assertEqual(self.troupe("generate", app, "--prompt", "red dog").out, "chien rouge\n")
        self.assertEqual(self.troupe("generate", app, "--prompt", "old sun").out, "soleil vieux\n")
        self.assert_one_line_error(self.troupe("generate", app), 2, "--prompt: give the sentence to translate")
        other = self.troupe("generate", app, "--prompt", "old sun", "--set", "data.translation.source_length=11")
        self.assert_one_line_error(other, 2, "--set data.translation.source_length: 11 is not the source_length of the model's "
                                   "encoder_decoder, 12")

    def test_sentences_that_are_cut_are_noted(self):
        app = self.app(APP)
        (self.folder / "pairs.tsv").write_text("red dog\tchien rouge\nold sun\tsoleil vieux, vieux soleil, soleil\n" * 6)
        self.assertNotIn(" cut; ", self.troupe("check", app).err)
        short = ("--set", "model.input=[16]", "--set", "train.epochs=1")
        noted = (r"troupe: note: \S*app\.yaml:4:31: data\.translation\.train_source: \S*pairs\.tsv: \d+ of 12 target sentences are "
                 r"longer than what model\.input leaves behind the source and are cut; the longest takes \d+ tokens, its end included\n")
        for words in (("check", app), ("run", app), ("evaluate", app)):
            done = self.troupe(*words, *short)
            self.assertEqual(done.code, 0, str(done))
            self.assertRegex(done.err, noted)
        self.assertNotIn(" cut; ", self.troupe("evaluate", app, *short, "--json").err)

    def test_a_checkpoint_knows_the_vocabulary_that_it_was_trained_with(self):
        app = self.app(APP)
        (self.folder / "pairs.tsv").write_text("red dog\tchien rouge\nold sun\tsoleil vieux\n" * 6)
        self.assertEqual(self.troupe("run", app, "--set", "train.epochs=1").code, 0)
        vocabulary = self.folder / "words.model"
        learned = hashlib.sha256(vocabulary.read_bytes()).hexdigest()
        manifest = json.loads((self.folder / "saved/epoch-0001/manifest.json").read_text())
        self.assertEqual(manifest["vocabulary_sha256"], learned)
        self.assertEqual(self.troupe("convert", app, "saved", "copy").code, 0)
        copy = json.loads((self.folder / "copy/epoch-0000/manifest.json").read_text())
        self.assertEqual(copy["vocabulary_sha256"], learned)
        vocabulary.rename(self.folder / "learned.model")
        (self.folder / "pairs.tsv").write_text("big cat\tgrand chat\ngreen sun\tsoleil vert\n" * 6)
        for words in (("evaluate", app),):
            self.assert_one_line_error(
                self.troupe(*words), 2, f"words.model is not the vocabulary that {self.folder}/saved/epoch-0001 was trained with; "
                f"give that one's file, of SHA-256 {learned}")
        self.assert_one_line_error(
            self.troupe("run", app, "--resume"), 2, f"saved/epoch-0001 was saved with another data.translation.vocabulary_file, "
            f"of SHA-256 {learned}; resume with the same")
        right = ("--set", f"data.translation.vocabulary_file={self.folder}/learned.model")
        self.assertEqual(self.troupe("evaluate", app, *right).code, 0)
        resumed = self.troupe("run", app, "--resume", "--set", "train.epochs=2", *right)
        self.assertEqual(resumed.code, 0, str(resumed))

    def test_weights_that_know_nothing_translate_nothing_exactly(self):
        app = self.app(APP)
        (self.folder / "pairs.tsv").write_text("red dog\tchien rouge\nold sun\tsoleil vieux\n" * 6)
        self.assertEqual(self.troupe("run", app, "--set", "train.epochs=1", "--set",
                                     "train.optimizer.adam.learning_rate=0").code, 0)
        self.assertEqual(self.troupe("evaluate", app, "--json").event("evaluation")[0]["exact_matches"], 0)

    def test_the_script_writes_the_same_different_numbers_every_time(self):
        script = load_script()
        for number, text in ((0, "zero"), (17, "seventeen"), (40, "forty"), (312, "three hundred and twelve"),
                             (1005, "one thousand and five"), (2121, "two thousand one hundred and twenty-one"),
                             (200100, "two hundred thousand one hundred")):
            self.assertEqual(script.words(number), text)
        first, again = (self.run_script(self.folder / name) for name in ("first", "again"))
        self.assertEqual(first, again)
        train, test = ([int(line.split("\t")[1]) for line in part.splitlines()] for part in first)
        self.assertEqual((len(train), len(test)), (20000, 1000))
        self.assertEqual(len({*train, *test}), 21000)

    def test_the_app_trains_on_what_its_script_writes(self):
        for file in (SOURCE / "apps/translation").glob("*.yaml"):
            shutil.copy(file, self.folder)
        missing = self.troupe("run", "single.yaml")
        self.assert_one_line_error(missing, 2, "numbers/train.tsv: no such file; ", "apps/translation/numbers.py")
        train, test = self.run_script(self.folder / "numbers")
        for name, part in (("train", train), ("test", test)):
            (self.folder / "numbers" / f"{name}.tsv").write_text("".join(part.splitlines(keepends=True)[:640]))
        for app, options in (("single.yaml", ()), ("pipedream.yaml", ("--nodes", "2"))):
            folder = ("--set", f"checkpoint.directory={app}.saved")
            trained = self.troupe("run", app, "--set", "train.epochs=1", *folder, *options)
            self.assertEqual(trained.code, 0, str(trained))
            self.assertRegex(self.troupe("evaluate", app, *folder).out, r"exact matches \d+\.\d\d% \(\d+ of 640\)")
            self.assertTrue(self.troupe("generate", app, *folder, "--prompt", "three hundred").out.endswith("\n"))


if __name__ == "__main__":
    main()
