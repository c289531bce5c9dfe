"""Translation: from the script that makes the sentences to what a trained model says."""

import hashlib
import importlib.util
import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

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
    def seconds_of_work(self, process):
        fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return int(fields[11]) / os.sysconf("SC_CLK_TCK")

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
        self.assert_one_line_error(self.troupe("generate", app, "--prompt", "  \n"), 2, "--prompt: has no word to translate")
        several = self.troupe("generate", app, "--prompt", "old sun\nred dog\n")
        self.assertEqual((several.code, several.out, several.err), (0, "soleil vieux\nchien rouge\n", ""), str(several))
        self.assert_one_line_error(self.troupe("generate", app, "--prompt", "\nred dog"), 2, "--prompt: line 1: has no word to translate")
        unknown = self.troupe("generate", app, "--prompt", "red dog\nold %sun@")
        self.assertEqual(unknown.code, 0, str(unknown))
        self.assertEqual(unknown.err, "troupe: note: --prompt: line 2: the vocabulary has not % @; the model reads an unknown "
                                      "character there\n")
        long = self.troupe("generate", app, "--prompt", "red dog " * 12)
        self.assertEqual(long.code, 0, str(long))
        self.assertRegex(long.err, r"^troupe: note: --prompt: of its \d+ tokens the model reads the first 11, as many as "
                                   r"data\.translation\.source_length leaves before the end; \d+ are left out\n$")
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
        for words in (("evaluate", app), ("generate", app, "--prompt", "red dog")):
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

    def test_what_translates_nothing_has_no_exact_matches(self):
        app = self.app(APP[:APP.index("model:")] + """\
  target: input
model: {input: [24], layers: [{embedding: {vocabulary: 48, width: 16}}, {linear: {out: 48}}]}
train: {batch: 4, epochs: 1, optimizer: {adam: {learning_rate: 0.01}}}
checkpoint: {directory: saved}
""")
        (self.folder / "pairs.tsv").write_text("red dog\tchien rouge\nold sun\tsoleil vieux\n" * 6)
        self.assertEqual(self.troupe("run", app).code, 0)
        why = "data.target: translates nothing: input has the model learn what it reads, not what comes next; "
        evaluated = self.troupe("evaluate", app)
        self.assertNotIn("exact", evaluated.out)
        self.assertRegex(evaluated.err, r"troupe: note: no exact matches: \S*app\.yaml:5:11: " + why)
        as_json = self.troupe("evaluate", app, "--json").event("evaluation")[0]
        self.assertNotIn("exact_matches", as_json)
        self.assertEqual([f"troupe: note: {note}" for note in as_json["notes"]], evaluated.err.splitlines())
        self.assert_one_line_error(self.troupe("generate", app, "--prompt", "red dog"), 2, why)

    def test_a_signal_ends_a_translation_between_its_positions(self):
        # Never the end of a sentence: every target is cut.
        app = self.app(APP.replace("input: [24]", "input: [1512]").replace("epochs: 40", "epochs: 2").replace(
            "every_epochs: 40", "every_epochs: 1"))
        (self.folder / "pairs.tsv").write_text("red dog\t" + "rouge " * 1600 + "\n" + "old sun\t" + "soleil " * 1600 + "\n")
        trained = self.troupe("run", app, "--set", "train.batch=2")
        self.assertEqual(trained.code, 0, str(trained))
        for words in (("generate", app, "--prompt", "red dog"), ("evaluate", app)):
            running = self.start(*words)
            self.eventually(lambda: self.seconds_of_work(running) > 0.5, "it translates")
            running.send_signal(signal.SIGINT)
            since = time.monotonic()
            stopped = self.finish(running)
            self.assert_within(5, since)
            self.assertEqual((stopped.code, stopped.out), (130, ""), str(stopped))
            self.assertRegex(stopped.err.splitlines()[-1], r"^troupe: stopped after \d+ of (1500 positions|2 samples)")

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
