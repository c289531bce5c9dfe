"""Bad input ends in one line that says what and where, the right exit code, and nothing left behind."""

import contextlib
import gzip
import os
import pathlib
import re
import signal
import socket
import unittest
import unittest.mock

from support import APP, FASHION, SOURCE, TroupeTest, main


class AppFile(TroupeTest):
    def check(self, text, *parts):
        for command in (["check"], ["run"], ["run", "--nodes", "2"]):
            result = self.troupe(command[0], self.app(text), *command[1:])
            self.assert_one_line_error(result, 2, "app.yaml", *parts)

    def test_unknown_key_names_the_nearest_one(self):
        self.check(APP.replace("kernel: 3", "kernal: 3"), ":7:", "kernal", "kernel")

    def test_wrong_type(self):
        self.check(APP.replace("batch: 32", "batch: many"), "train.batch")

    def test_value_out_of_range(self):
        self.check(APP.replace("batch: 32", "batch: 0"), "train.batch")

    def test_repeated_key(self):
        self.check(APP.replace("  seed: 3\n", "  seed: 3\n  seed: 4\n"), "seed")

    def test_impossible_shapes_between_layers(self):
        self.check(APP.replace("max_pool: {kernel: 2}", "max_pool: {kernel: 9}"), "layers[2]", "8")

    def test_more_stages_than_layers(self):
        self.check(APP.replace("stages: [{layers: 3}, {layers: 1}]", "stages: 5"), "stages", "5", "4")

    def test_stages_that_do_not_add_up(self):
        self.check(APP.replace("{layers: 1}]", "{layers: 2}]"), "stages")

    def test_names_of_files_know_the_home_folder_and_no_variables(self):
        home = self.folder / "home"
        home.mkdir()
        saving = APP + "checkpoint: {directory: ~/saved}\n"
        with unittest.mock.patch.dict(os.environ, {"HOME": str(home)}):
            self.assertEqual(self.troupe("run", self.app(saving), "--set", "train.epochs=1").code, 0)
            self.assertTrue((home / "saved/epoch-0001").is_dir())
            self.assertEqual(self.troupe("evaluate", self.app(), "--weights=~/saved").code, 0)
            self.assertEqual(self.troupe("evaluate", self.app(), "--set", "checkpoint={directory: ~/saved}").code, 0)
        self.assertFalse((self.folder / "~").exists())
        self.check(saving.replace("~/", "$HOME/"), ":21:", 'checkpoint.directory: "$HOME/saved": variables have no value')
        self.check(saving.replace("~/", "~ann/"), "home folders of other users are not looked up")
        self.assert_one_line_error(self.troupe("evaluate", self.app(), "--weights=~ann/saved"), 2, "other users are not looked up")

    def test_labels_of_which_none_counts_are_refused(self):
        def npy(name, kind, shape, data):
            header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
            (self.folder / name).write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data)
        npy("x.npy", "|u1", "(4, 64)", bytes(256))
        npy("y.npy", "<i8", "(4,)", b"\xff" * 32)
        arrays = APP.replace("synthetic: {train_samples: 512, test_samples: 128, classes: 4}",
                             "npy: {train_inputs: x.npy, train_labels: y.npy, test_inputs: x.npy, test_labels: y.npy}")
        for command in ("check", "run"):
            self.assert_one_line_error(self.troupe(command, self.app(arrays)), 2, "data.npy.train_labels: ",
                                       "y.npy: no label counts: all are -1, which the loss leaves out")

    def test_a_key_without_effect_is_noted(self):
        result = self.troupe("check", self.app(APP + "    microbatches: 4\n"))
        self.assert_one_line_error(result, 0, "note", "app.yaml:21:", "topology.pipeline.microbatches", "pipedream")

    def test_a_key_without_effect_is_noted_by_a_run_too(self):
        rate = ("--set", "topology.pipeline.rate=per_update", "--devices", "cpu:2")
        said = "note: --set topology.pipeline.rate: only for stages with replicas of their own, and no stage has any"
        self.assert_one_line_error(self.troupe("run", self.app(), *rate), 0, said)
        start, = self.troupe("run", self.app(), *rate, "--json").event("start")
        self.assertEqual([note[:len(said) - 6] for note in start["notes"]], [said.removeprefix("note: ")])

    def test_what_is_hardly_meant_is_noted_by_check_and_plan(self):
        app = self.app(APP.replace("linear: {out: 4}\n", "linear: {out: 4}\n    - softmax\n").replace("{layers: 1}]", "{layers: 2}]"))
        for command in ("check", "plan"):
            self.assert_one_line_error(self.troupe(command, app, "--set", "train.warmup_minibatches=32"), 0, "note",
                                       "app.yaml:11:", "model.layers[4]: cross_entropy brings a softmax")
        result = self.troupe("check", self.app(), "--set", "train.warmup_minibatches=33")
        self.assert_one_line_error(result, 0, "note: --set train.warmup_minibatches: the run has 32 minibatches")

    def test_a_precision_that_does_nothing_on_these_processors_is_noted_by_check(self):
        for precision, what in (("f16", "this processor multiplies f16 no faster than f32"), ("tf32", "tf32 is for GPUs")):
            check = ("check", self.app(), "--set", f"model.precision={precision}")
            for devices in (["--devices", "cpu:2"], ["--nodes", 2]):
                self.assert_one_line_error(self.troupe(*check, *devices), 0, f"note: model.precision: {what}")
            for devices in ([], ["--devices", "cuda:0,cuda:1"]):  # who knows what it runs on; GPUs
                self.assertEqual(self.troupe(*check, *devices).err, "")

    def test_a_bad_override_names_the_switch(self):
        result = self.troupe("run", self.app(), "--set", "train.epoch=3")
        self.assert_one_line_error(result, 2, "troupe: --set train.epoch: unknown key", "epochs")

    def test_a_device_that_is_not_there(self):
        app = self.app(APP.replace("{layers: 1}]", "{layers: 1, device: mars}]"))
        for command in ("plan", "run"):
            result = self.troupe(command, app, "--devices", "cpu:1")
            line = result.err.splitlines()[-1]
            self.assertEqual(result.code, 2, str(result))
            self.assertRegex(line, r"app.yaml:20:\d+: topology.pipeline.stages\[1\].device: no device 'mars'; .* local/cpu:0$")

    def test_a_missing_app_file(self):
        self.assert_one_line_error(self.troupe("run", "nowhere.yaml"), 2, "nowhere.yaml")


class Data(TroupeTest):
    def idx_app(self, **files):
        names = {"train_images": "train-images-idx3-ubyte.gz", "train_labels": "train-labels-idx1-ubyte.gz",
                 "test_images": "t10k-images-idx3-ubyte.gz", "test_labels": "t10k-labels-idx1-ubyte.gz"}
        paths = {key: files.get(key, FASHION / name) for key, name in names.items()}
        lines = "".join(f"    {key}: {path}\n" for key, path in paths.items())
        return self.app(APP.replace("  synthetic: {train_samples: 512, test_samples: 128, classes: 4}\n",
                                    "  idx:\n" + lines).replace("[1, 8, 8]", "[1, 28, 28]"))

    def test_missing_data_file(self):
        for command in ("check", "run"):
            for key, line in (("train_images", 4), ("test_labels", 7)):
                result = self.troupe(command, self.idx_app(**{key: "/nowhere/file.gz"}))
                self.assert_one_line_error(result, 2, f"/app.yaml:{line}:", f": data.idx.{key}: /nowhere/file.gz: no such")
            result = self.troupe(command, self.idx_app(), "--set", "data.idx.train_images=/nowhere/file.gz")
            self.assert_one_line_error(result, 2, "troupe: --set data.idx.train_images: /nowhere/file.gz: no such")

    def test_a_last_minibatch_that_is_too_small_for_a_batch_norm_is_refused_before_training(self):
        text = APP.replace("- relu", "- linear: {out: 6}\n    - batch_norm").replace("- max_pool: {kernel: 2}\n    ", "")
        for command in ("check", "run"):
            result = self.troupe(command, self.app(text.replace("samples: 512", "samples: 513")))
            self.assert_one_line_error(result, 2, "app.yaml:13:10: train.batch: of 513 samples the last minibatch of an epoch "
                                       "has 1 sample, but layers.2 batch_norm needs 2")
        self.assertEqual(self.troupe("check", self.app(text)).code, 0)
        for command in ("check", "run", "plan"):
            result = self.troupe(command, self.app(text), "--set", "train.batch=1")
            self.assert_one_line_error(result, 2, "--set train.batch: a minibatch has 1 sample, but layers.2 batch_norm needs 2")

    def test_truncated_data_file_says_the_byte(self):
        images = self.folder / "images"
        images.write_bytes(bytes([0, 0, 8, 3, 0, 0, 0, 10, 0, 0, 0, 28, 0, 0, 0, 28]) + bytes(1000))
        for command in ("check", "run"):
            result = self.troupe(command, self.idx_app(train_images=images))
            self.assert_one_line_error(result, 2, "images", "byte")

    def test_truncated_gzip_file(self):
        images = self.folder / "images.gz"
        whole = gzip.compress(bytes([0, 0, 8, 3, 0, 0, 0, 10, 0, 0, 0, 28, 0, 0, 0, 28]) + os.urandom(7840))
        images.write_bytes(whole[:4000])
        result = self.troupe("run", self.idx_app(train_images=images))
        self.assert_one_line_error(result, 2, "images.gz")

    def test_check_accepts_whole_files_and_reads_the_samples(self):
        app = self.idx_app()
        text = pathlib.Path(app).read_text().replace("linear: {out: 4}", "linear: {out: 10}")
        result = self.troupe("check", self.app(text))
        self.assertEqual((result.code, result.err), (0, ""), str(result))
        damaged = self.folder / "images.gz"
        whole = (FASHION / "train-images-idx3-ubyte.gz").read_bytes()
        text = text.replace(str(FASHION / "train-images-idx3-ubyte.gz"), str(damaged))
        for content, problem in ((whole[:-100000], "truncated"), (gzip.decompress(whole) + b"x", "more data")):
            damaged.write_bytes(content)
            for command in ("check", "run"):
                self.assert_one_line_error(self.troupe(command, self.app(text)), 2, "images.gz", problem)

    def test_labels_that_do_not_fit_the_model(self):
        for command in ("check", "run"):
            result = self.troupe(command, self.app(APP.replace("classes: 4", "classes: 9")))
            self.assert_one_line_error(result, 2, "app.yaml:3:", "data.synthetic.classes: ", "sample 4 has label 4",
                                       "at least 9")
            self.assert_one_line_error(self.troupe(command, self.idx_app()), 2, "app.yaml:5:", "data.idx.train_labels: ",
                                       "train-labels-idx1-ubyte.gz: sample 0 has label 9")

    def test_samples_and_labels_that_the_model_does_not_take(self):
        for options, said in (("vocabulary: 20", ("data.synthetic.vocabulary: ", "whole numbers of shape [1, 8, 8]", "first layer")),
                              ("next_token: true", ("data.synthetic.next_token: ", "give data.synthetic.vocabulary"))):
            for command in ("check", "run"):
                result = self.troupe(command, self.app(APP.replace("classes: 4", "classes: 4, " + options)))
                self.assert_one_line_error(result, 2, "app.yaml:3:", *said)
        result = self.troupe("check", self.app(APP.replace("model:\n", "  target: input\nmodel:\n")))
        self.assert_one_line_error(result, 2, "app.yaml:4:", "data.target: ", "label is numbers of shape [1, 8, 8]", "loss takes one whole number",
                                   "data.target")

    def data_app(self, data, shape="[1, 8, 8]"):
        return self.app(APP.replace("  synthetic: {train_samples: 512, test_samples: 128, classes: 4}\n", f"  {data}\n")
                        .replace("[1, 8, 8]", shape))

    def test_damaged_files_of_every_reader_say_the_byte_and_what_to_do(self):
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (9000000, 1, 8, 8), }"
        for name, content in (("x.npy", b"\x93NUMPY\x01\0" + len(header).to_bytes(2, "little") + header),
                              ("x.npz", b"PK no archive"), ("batch.bin", b"\x0b" + bytes(3072)),
                              ("short.txt", b"only a few bytes"), ("pairs.tsv", b"one\teins\ntwo\n"),
                              ("words.model", b"no vocabulary")):
            (self.folder / name).write_bytes(content)
        for data, shape, said in (
                ("npy: {train_inputs: x.npy, test_inputs: x.npy}", "[1, 8, 8]",
                 ("data.npy.train_inputs: ", f"x.npy: byte {10 + len(header)}: truncated", "fetch the file again")),
                ("npy: {train_inputs: x.npz, test_inputs: x.npz}", "[1, 8, 8]",
                 ("data.npy.train_inputs: ", "x.npz: byte 0: no readable zip archive")),
                ("cifar: {train: [batch.bin], test: [batch.bin]}", "[3, 32, 32]",
                 ("data.cifar.train: ", "batch.bin: byte 0: label 11 in CIFAR-10", "set data.cifar.classes")),
                ("cifar: {folder: nowhere}", "[3, 32, 32]", ("data.cifar.folder: ", "nowhere/data_batch_1.bin: no such file")),
                ("cifar: {folder: nowhere}", "[1, 8, 8]", ("data.cifar: ", "images are [3, 32, 32]")),
                ("text: {train: [short.txt]}", "[16]", ("data.text.train: ", "short.txt: 15 bytes", "give more text")),
                ("synthetic: {classes: 4}\n  images: {mean: [0.5, 0.5]}", "[1, 8, 8]",
                 ("data.images.mean: ", "2 values for images of [1, 8, 8]; give 1")),
                ("translation: {train_source: pairs.tsv, test_source: pairs.tsv, source_length: 8, vocabulary_file: v.model}",
                 "[16]", ("data.translation.train_source: ", "pairs.tsv: line 2: no tab between two sentences", "put one in")),
                ("translation: {train_source: short.txt, train_target: short.txt, test_source: short.txt, "
                 "test_target: short.txt, source_length: 8, vocabulary_file: words.model}", "[16]",
                 ("data.translation.vocabulary_file: ", "words.model: byte 0: no SentencePiece model")),
                ("text: {train: ['*.md']}\n  origin: ask the author", "[16]",
                 ("data.text.train[0]: ", "*.md: no file has such a name; data.origin: ask the author"))):
            app = self.data_app(data, shape)
            text = pathlib.Path(app).read_text()
            if shape == "[16]": # no image
                text = re.sub(r"    - conv2d.*max_pool: {kernel: 2}\n", "", text, flags=re.DOTALL)
                text = text.replace("stages: [{layers: 3}, {layers: 1}]", "stages: 1")
            for command in ("check", "run"):
                with self.subTest(data=data, command=command):
                    self.assert_one_line_error(self.troupe(command, self.app(text)), 2, "app.yaml:", *said)


class Cluster(TroupeTest):
    def key(self, text="a key that is long enough"):
        path = self.write("cluster.key", text)
        os.chmod(path, 0o600)
        return path

    def test_port_in_use(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = "127.0.0.1:%d" % taken.getsockname()[1]
            result = self.troupe("node", "--listen", address)
        self.assert_one_line_error(result, 2, address, "in use", "another port")

    def test_a_bad_listen_address_says_what_is_wrong_with_it(self):
        key = self.key()
        for address, said in (("127.0.0.1:99999", "'99999' is no port"), ("127.0.0.1:http", "'http' is no port"),
                              ("127.0.0.1", "HOST:PORT"), ("::1:4711", "HOST:PORT"),
                              ("nowhere.invalid:4711", "no address is known"), ("192.0.2.77:4711", "of this machine")):
            with self.subTest(address=address):
                result = self.troupe("node", "--listen", address, "--key", key)
                self.assert_one_line_error(result, 2, f"cannot listen on {address}", said)

    def test_unreachable_member(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = "127.0.0.1:%d" % free.getsockname()[1]
        for command in (["run", self.app(), "--cluster", address], ["node", "--join", address],
                        ["status", address], ["inspect", address]):
            with self.subTest(command=command[0]):
                self.assert_one_line_error(self.troupe(*command), 3, address)

    def test_a_member_that_does_not_answer(self):
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            address = "127.0.0.1:%d" % silent.getsockname()[1]
            commands = [self.start(*command) for command in (["node", "--join", address], ["status", address])]
            for command in commands:
                self.assert_one_line_error(self.finish(command, 20), 3, address, "accepts connections, but has not answered",
                                           "no Troupe node, or it hangs")

    def test_wrong_key(self):
        _, guarded = self.node("--key", self.key())
        _, open_to_all = self.node(name="b")
        wrong = self.write("wrong.key", "another key that is long")
        os.chmod(wrong, 0o600)
        for address, key, said in ((guarded, [], "the keys differ"), (guarded, ["--key", wrong], "the keys differ"),
                                   (open_to_all, ["--key", wrong], "the keys differ")):
            for command in (["run", self.app(), "--cluster", address], ["node", "--join", address],
                            ["status", address], ["inspect", address]):
                with self.subTest(command=command, key=key):
                    result = self.troupe(*command, *key)
                    self.assert_one_line_error(result, 3, address, said, "--key FILE")
                    self.assertEqual(result.err.count(address), 1, str(result))

    def test_connections_that_say_nothing_keep_nobody_out(self):
        node, address = self.node("--key", self.key())
        host, port = address.split(":")
        with contextlib.ExitStack() as silent:
            for _ in range(900):
                silent.enter_context(socket.create_connection((host, port)))
            status = self.troupe("status", address, "--key", "cluster.key")
            self.assertEqual(status.code, 0, str(status))
            self.node("--join", address, "--key", "cluster.key", name="b")
        node.send_signal(signal.SIGTERM)
        log = self.finish(node).err
        self.assertEqual(log.count("has not proven the cluster's key is closed for a new one"), 1, log)

    def test_a_node_with_a_key_says_how_to_attach_with_it(self):
        node = self.start("node", "--listen", "127.0.0.1:0", "--key", self.key())
        self.assertIn(f" --key {self.folder}/cluster.key", node.stdout.readline())

    def test_a_key_file_that_others_can_read_is_refused(self):
        path = self.key()
        os.chmod(path, 0o644)
        self.assert_one_line_error(self.troupe("node", "--key", path), 2, path)

    def test_other_addresses_than_loopback_need_a_key(self):
        self.assert_one_line_error(self.troupe("node", "--listen", "0.0.0.0:0"), 2, "key")

    def test_a_name_that_is_in_use(self):
        _, address = self.node(name="a")
        result = self.troupe("node", "--name", "a", "--join", address)
        self.assert_one_line_error(result, (2, 3), "a")

    def test_a_device_that_no_node_has(self):
        text = APP.replace("{layers: 1}]", "{layers: 1, device: node-7/cpu:3}]")
        text += f"checkpoint: {{directory: {self.folder}/saved/here}}\n"
        result = self.troupe("run", self.app(text), "--nodes", 2)
        self.assert_one_line_error(result, 2, "node-7/cpu:3", "node-0/cpu:0")
        self.assertFalse((self.folder / "saved").exists(), "a run that saves nothing leaves no folder")
        self.assert_one_line_error(self.troupe("check", self.app(text), "--nodes", 2), 2, "node-7/cpu:3", "node-0/cpu:0")
        alone = self.troupe("check", self.app(text.replace("node-7/cpu:3", "cpu:2")), "--devices", "cpu:2")
        self.assert_one_line_error(alone, 2, "no device 'cpu:2'", "there are: local/cpu:0, local/cpu:1")

    def test_bad_command_lines(self):
        for command in (["run"], ["fly"], ["--fly"], ["bench", "nothing"], ["run", self.app(), "--nodes", "0"], ["run", self.app(), "--warp", "9"],
                        ["node", "--devices", "abacus:1"], ["node", "--listen", "nonsense"],
                        ["node", "--transport", "pigeon"]):
            with self.subTest(command=command):
                self.assertEqual(self.troupe(*command).code, 2)

    def test_benchmarks_are_handed_their_options(self):
        own = self.troupe("bench", "--help")
        of_benchmark = self.troupe("bench", "frames", "--help")
        self.assertEqual((own.code, of_benchmark.code), (0, 0))
        self.assertIn("Benchmarks: frames", own.out)
        self.assertIn("--venv", of_benchmark.out)
        self.assertNotIn("--venv", own.out)

    def test_an_option_without_its_value_is_refused(self):
        app = self.app()
        for command in (["run", app, "--key", ""], ["run", app, "--devices", ""], ["run", app, "--trace", ""],
                        ["run", app, "--cluster", ""], ["node", "--name", ""], ["node", "--join", ""],
                        ["status", "127.0.0.1:1", "--key", ""]):
            with self.subTest(command=command):
                self.assert_one_line_error(self.troupe(*command), 2, command[-2], "needs a value")

    def test_another_machine_needs_a_key(self):
        result = self.troupe("run", self.app(), "--cluster", "192.0.2.1:4711")
        self.assert_one_line_error(result, (2, 3), "--cluster", "192.0.2.1:4711")

    def test_a_trace_file_that_cannot_be_written_is_told_before_training(self):
        app = self.app()
        for trace, said in (("/nowhere/t.json", "No such file or directory"), (str(self.folder), "no ordinary file"),
                            (app, "is no trace")):
            result = self.troupe("run", app, "--trace", trace)
            self.assert_one_line_error(result, 2, "--trace", trace, said)
            self.assertEqual(result.out, "")
        self.assertEqual(pathlib.Path(app).read_text(), APP, "it is not overwritten")

    def test_a_count_of_messages_is_one_or_more(self):
        for count in ("-5", "0", "1.5", "18446744073709551615"):
            result = self.troupe("inspect", "127.0.0.1:1", "tail", "--count", count)
            self.assert_one_line_error(result, 2, "--count")

    def test_a_number_has_no_unit_and_the_sentence_says_which_is_meant(self):
        for words, sentence in ((["run", "app.yaml", "--patience", "5s"],
                                 "--patience: '5s' is no number; give seconds without a unit, from 0 to 86400"),
                                (["run", "app.yaml", "--patience", "1.5"],
                                 "--patience: '1.5' is no whole number; give seconds without a unit, from 0 to 86400"),
                                (["run", "app.yaml", "--patience", "86401"], "--patience: '86401' is not from 0 to 86400"),
                                (["run", "app.yaml", "--patience", "-1"], "--patience: '-1' is not from 0 to 86400"),
                                (["node", "--heartbeat-ms", "1s"],
                                 "--heartbeat-ms: '1s' is no number; give milliseconds without a unit, from 10 to 60000"),
                                (["node", "--memory-mb", "4G"],
                                 "--memory-mb: '4G' is no number; give MiB without a unit, from 16 to 16777216"),
                                (["node", "--memory-mb", "99999999999"], "--memory-mb: '99999999999' is not from 16 to 16777216"),
                                (["run", "app.yaml", "--nodes", "2x"], "--nodes: '2x' is no number; give one from 1 to 64"),
                                (["inspect", "127.0.0.1:1", "export", "t.json", "--seconds", "2s"],
                                 "--seconds: '2s' is no number; give seconds without a unit, from 0 to 3600")):
            with self.subTest(words=words):
                self.assert_one_line_error(self.troupe(*words), 2, sentence)

    def test_options_that_would_be_ignored_are_refused(self):
        app = self.app()
        for command in (["run", app, "--nodes", "2", "--devices", "cpu:2"],
                        ["run", app, "--cluster", "127.0.0.1:1", "--devices", "cpu:2"],
                        ["run", app, "--cluster", "127.0.0.1:1", "--nodes", "2"],
                        ["run", app, "--trace", "t.json", "--no-trace"],
                        ["plan", app, "--nodes", "2", "--devices", "cpu:2"],
                        ["plan", app, "--cluster", "127.0.0.1:1", "--devices", "cpu:2"],
                        ["plan", app, "--cluster", "127.0.0.1:1", "--nodes", "2"],
                        ["run", app, "--cluster", "127.0.0.1:1", "--memory-mb", "64"],
                        ["run", app, "--nodes", "2", "--gpu-memory-mb", "64"], ["run", app, "--gpu-memory-mb", "64"],
                        ["node", "--gpu-memory-mb", "64"],
                        ["plan", app, "--cluster", "127.0.0.1:1", "--memory-mb", "64"],
                        ["plan", app, "--nodes", "2", "--gpu-memory-mb", "64"],
                        ["plan", app, "--devices", "cpu:2", "--gpu-memory-mb", "64"],
                        ["plan", app, "--key", "cluster.key"], ["check", app, "--json-schema"],
                        ["check", app, "--nodes", "2", "--devices", "cpu:2"],
                        ["inspect", "127.0.0.1:1", "tail", "--watch"], ["inspect", "127.0.0.1:1", "--count", "3"],
                        ["inspect", "127.0.0.1:1", "follow", "minibatch=1", "--seconds", "1"],
                        ["inspect", "127.0.0.1:1", "export", "t.json", "--seconds", "nan"]):
            with self.subTest(command=command[1:]):
                named = next(word for word in reversed(command) if word.startswith("--"))
                self.assert_one_line_error(self.troupe(*command), 2, named)


class JsonErrors(TroupeTest):
    def test_a_run_that_fails_ends_with_an_error_object_of_the_manual(self):
        manual = (SOURCE / "tools/manual/running.md").read_text()
        documented = {}  # exit codes by kind of error; io has one before a run and one after
        for row in manual.splitlines():
            if row.startswith("| `"):
                for code in re.findall(r"`(\w+)`", row):
                    documented.setdefault(code, set()).update(row.rsplit("|", 2)[1].split())
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = "127.0.0.1:%d" % free.getsockname()[1]
        _, member = self.node()
        key = self.write("cluster.key", "a key that is long enough")
        os.chmod(key, 0o600)
        app = self.app()
        idx = self.app(APP.replace("  synthetic: {train_samples: 512, test_samples: 128, classes: 4}\n",
                                   "  idx: {train_images: a, train_labels: a, test_images: a, test_labels: a}\n"), "idx.yaml")
        self.write("a", "no images")
        cases = (("usage", [app, "--set", "train.batch=0"]), ("data", [idx]), ("io", ["nowhere.yaml"]),
                 ("usage", [app, "--nodes", "2", "--key", "/nowhere/cluster.key"]),
                 ("unreachable", [app, "--cluster", address]), ("refused", [app, "--cluster", member, "--key", key]))
        for code, words in cases:
            with self.subTest(code=code):
                result = self.troupe("run", *words, "--json")
                event = result.events[-1]
                self.assertEqual(list(event), ["event", "code", "message"])
                self.assertEqual((event["event"], event["code"]), ("error", code), str(result))
                self.assertEqual(result.err, f"troupe: {event['message']}\n")
                self.assertIn(str(result.code), documented[code])


if __name__ == "__main__":
    main()
