"""The README at the top and the manual: every command is run, or held to the options that its program takes; every path is there.

A command is a line of a block marked sh. It stands in exactly one of RUN, NODES, WAITS and CHECKED below; one that stands in
none of them fails, and so does an entry that no page has any more.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import unittest
import unittest.mock

from support import APP, FASHION, FOLDOC, SOURCE, TroupeTest, main

EMULATED = os.environ.get("TROUPE_EMULATED_CUDA", "")
PAGES = [SOURCE / "README.md", *sorted((SOURCE / "tools/manual").glob("*.md"))]
KINDS = {"sh", "yaml", "json", "python", "text"}
FOLDERS = r"(?:schemas|kernels|transport|actors|apps|tools|tests|\.github|\.ci)/"

# ---- the lists ------------------------------------------------------------------------------------------------------

SYNTHETIC = ["--set", "data={synthetic: {train_samples: 512, test_samples: 128, classes: 10}}"]
BRIEF = [*SYNTHETIC, "--set", "train.epochs=1"]

# Run to their end, with these words behind them for them to be short.
RUN = {
    "export PATH=$PWD/build/tools/troupe:$PATH": [],
    "head -c 32 /dev/urandom | base64 > cluster.key && chmod 600 cluster.key": [],
    "for role in member run observe; do echo $role $(head -c 32 /dev/urandom | base64); done > roles.key && chmod 600 roles.key": [],
    "grep -v ^member roles.key > runs.key && grep ^observe roles.key > observers.key && chmod 600 runs.key observers.key": [],
    "troupe run apps/fashion_mnist/pipedream.yaml": BRIEF,
    "troupe run apps/fashion_mnist/pipedream.yaml --nodes 2": BRIEF,
    "troupe run apps/fashion_mnist/pipedream.yaml --nodes 2 --json": BRIEF,
    "troupe run apps/fashion_mnist/pipedream.yaml --nodes 2 --trace trace.json": BRIEF,
    "troupe run apps/fashion_mnist/single.yaml --set train.epochs=1 --set train.batch=128": SYNTHETIC,
    "troupe run APP.yaml --resume": ["--set", "train.epochs=3"],
    "troupe run app.yaml --cluster 192.0.2.1:4711 --key cluster.key": [],
    "troupe run app.yaml --devices cuda:0": [],
    "troupe run app.yaml --devices cuda:0,cuda:1": [],
    "troupe run app.yaml --devices cuda:0,cpu:1": [],
    "troupe plan apps/fashion_mnist/pipedream.yaml --nodes 2": SYNTHETIC,
    "troupe plan app.yaml --cluster 192.0.2.1:4711 --key cluster.key": [],
    "troupe check apps/fashion_mnist/pipedream.yaml": SYNTHETIC,
    "troupe check apps/fashion_mnist/pipedream.yaml --nodes 4": SYNTHETIC,
    "troupe check apps/fashion_mnist/all_reduce.yaml --print": SYNTHETIC,
    "troupe check --json-schema": [],
    "troupe explain": [],
    "troupe pipeline zero_bubble --devices 4 --microbatches 8": [],
    "troupe pipeline one_f_one_b --devices 4 --microbatches 4": [],
    "troupe pipeline zero_bubble --devices 4 --microbatches 4": [],
    "troupe pipeline zero_bubble_v --devices 4 --microbatches 4": [],
    "troupe pipeline chimera --devices 4 --microbatches 2": [],
    "troupe explain topology.pipeline": [],
    "troupe explain program.lasso": [],
    "troupe explain schedule.dynamic": [],
    "troupe run apps/lasso/shirts.yaml --nodes 2": ["--set", "result.directory=shirts"],
    "troupe evaluate apps/lasso/shirts.yaml RESULT": [],
    "troupe predict apps/lasso/shirts.yaml RESULT --out predicted.csv": [],
    "troupe explain topology.sync.codec": [],
    "troupe evaluate APP.yaml": [],
    "troupe evaluate APP.yaml --weights WEIGHTS": [],
    "troupe convert APP.yaml FROM TO": [],
    "troupe convert APP.yaml CHECKPOINT weights.safetensors": [],
    "troupe convert APP.yaml weights.safetensors FOLDER": [],
    "troupe status HOST:PORT": [],
    "troupe status 192.0.2.1:4711 --key cluster.key": [],
    "troupe inspect HOST:PORT": [],
    "troupe inspect 192.0.2.1:4711 --key cluster.key": [],
    "troupe inspect 127.0.0.1:4711": [],
    "troupe inspect 127.0.0.1:4711 schedule": [],
    "troupe inspect 127.0.0.1:4711 results": [],
    "troupe inspect 127.0.0.1:4711 follow minibatch=next": [],
    "troupe inspect 127.0.0.1:4711 follow minibatch=42": [],
    "troupe inspect 127.0.0.1:4711 follow work=42": [],
    "troupe inspect 127.0.0.1:4711 export trace.json --seconds 2": [],
    "troupe inspect 127.0.0.1:4711 export trace.json": [],
}

# Started, and left running up to the end of their page.
NODES = {
    "troupe node --listen 192.0.2.1:4711 --key cluster.key --devices cpu:2",
    "troupe node --listen 192.0.2.2:4711 --key cluster.key --devices cpu:2 --join 192.0.2.1:4711",
    "troupe node --listen 192.0.2.1:4711 --key cluster.key --devices cuda:0,cuda:1 --gpu-memory-mb 40000",
}

# Never end by themselves: stopped by Ctrl-C when they have shown something.
WAITS = {
    "troupe inspect 127.0.0.1:4711 --watch",
    "troupe inspect 127.0.0.1:4711 staleness --watch",
    "troupe inspect 127.0.0.1:4711 tail type=Activation actor=stage-1",
}

# Not run, for this reason, but held to what their program takes.
CHECKED = {
    "tools/demo": "installs packages, builds",
    "tools/test": "installs packages, builds, runs this test",
    "tools/test --sanitize=address,undefined": "builds everything with sanitizers",
    "tools/test --sanitize=thread": "builds everything with sanitizers",
    "tools/test --cuda": "needs a GPU, builds",
    "tools/setup": "installs packages, builds",
    "tools/setup -- -Dcuda=disabled": "builds everything",
    "tools/setup -- -Dunity=off": "builds everything",
    "tools/setup --build build-gpu -- -Dgpu_root=/usr/local/cuda": "builds everything, needs the CUDA toolkit",
    "tools/bundle": "test_scripts.py runs it",
    "tar xf bundle.tar.gz && bundle/troupe run bundle/apps/fashion_mnist/pipedream.yaml --nodes 2": "test_scripts.py runs a bundle",
    "bundle/test-cuda": "needs a GPU",
    "bundle/bench-cuda": "needs a GPU; test_scripts.py starts it",
    "troupe bench training": "measures for minutes",
    "troupe run APP.yaml --resume --result-directory FOLDER": "of a program; test_output.py runs it",
    "troupe generate APP.yaml --prompt TEXT": "its model trains for minutes; test_translation.py runs it",
}

# ---- the pages ------------------------------------------------------------------------------------------------------


def blocks(page):
    """(kind, text) of each block of a page."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def commands(page):
    return [re.split(r"\s+# ", line)[0].rstrip() for kind, text in blocks(page) if kind == "sh" for line in text.splitlines()]


def prose(page):
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


class Pages(TroupeTest):
    def test_every_command_stands_in_one_list(self):
        on_pages = [command for page in PAGES for command in commands(page)]
        self.assertGreater(len(on_pages), 40)
        listed = [*RUN, *NODES, *WAITS, *CHECKED]
        for command in on_pages:
            self.assertEqual(listed.count(command), 1, f"'{command}' must stand in one of the lists of {__file__}")
        self.assertEqual(set(listed) - set(on_pages), set(), "no page has these any more")

    def test_every_block_says_what_it_is(self):
        for page in PAGES:
            for kind, text in blocks(page):
                self.assertIn(kind, KINDS, f"{page}: {text}")
            indented = [line for line in prose(page).splitlines() if line.startswith("    ")]
            self.assertEqual(indented, [], f"{page}: mark what is indented as a block of some kind")

    def test_every_path_is_there(self):
        named = 0
        for page in [*PAGES, SOURCE / ".github/CONTRIBUTING.md"]:
            spans = [*re.findall(r"`([^`]+)`", prose(page)), *commands(page)]
            for path in {path for span in spans for path in re.findall(rf"(?<![\w/.]){FOLDERS}[\w./-]*", span)}:
                named += 1
                self.assertTrue((SOURCE / path.rstrip(".")).exists(), f"{page} names {path}")
        self.assertGreater(named, 20)

    def test_the_app_files_of_the_methods_are_there(self):
        files = set(re.findall(r"`(\w+\.yaml)`", prose(SOURCE / "README.md")))
        self.assertGreater(len(files), 20)
        for name in files:
            self.assertTrue((SOURCE / "apps/fashion_mnist" / name).exists(), name)

    def test_every_page_of_the_manual_is_in_its_index(self):
        index = (SOURCE / "tools/manual/README.md").read_text(encoding="utf-8")
        for page in PAGES[1:]:
            if page.name != "README.md":
                self.assertIn(f"`tools/manual/{page.name}`", index)


# ---- what is not run ------------------------------------------------------------------------------------------------


class Checked(TroupeTest):
    def help_of(self, script):
        shown = subprocess.run([SOURCE / script, "--help"], capture_output=True, text=True, check=False)
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        return shown.stdout

    def script_takes(self, words):
        own, _, of_meson = " ".join(words).partition(" -- ")
        text = self.help_of(words[0])
        for option in re.findall(r"--\w+", own):
            self.assertIn(option, text)
        known = (SOURCE / "meson_options.txt").read_text(encoding="utf-8")
        of_every_project = subprocess.run(["meson", "setup", "--help"], capture_output=True, text=True, check=True).stdout
        for option in re.findall(r"-D(\w+)=", of_meson):
            self.assertTrue(f"option('{option}'," in known or f"--{option} " in of_every_project, option)

    def program_takes(self, words):
        """It gets as far as the files that are not there."""
        if words[1] == "bench":
            self.assertEqual(self.troupe(*words[1:], "--help").code, 0)
            return
        self.assert_one_line_error(self.troupe(*words[1:]), 2, "no such app file")

    def test_what_is_not_run_has_options_that_its_program_takes(self):
        for command in CHECKED:
            with self.subTest(command=command):
                words = shlex.split(command)
                if words[0] == "troupe":
                    self.program_takes(words)
                elif words[0].startswith("tools/"):
                    self.script_takes(words)
                else:
                    self.assertIn(f" {command}", self.help_of("tools/bundle"))


# ---- what is run ----------------------------------------------------------------------------------------------------

# Slowed down, so that nodes remember a minibatch for a while.
LONG = APP.replace("epochs: 2", "epochs: 100000") + "  devices: [{device: node-0/cpu:0, slow_down: 50}]\n"


class Commands(TroupeTest):
    def setUp(self):
        super().setUp()
        self.words = {}     # what stands for the names and addresses of a page

    def long_run(self):
        """The address of a run that is there for the inspector."""
        run = self.start("run", self.app(LONG, "long.yaml"), "--nodes", 2, "--json")
        address = self.read_event(run, "start")["inspect"]
        self.read_event(run, "epoch")
        return address

    def trained(self):
        """An app file with a checkpoint."""
        app = self.app(APP + "checkpoint: {directory: checkpoints}\n", "trained.yaml")
        self.assertEqual(self.troupe("run", app).code, 0)
        return app

    def stands_for(self, word):
        if word.startswith("apps/"):
            return str(SOURCE / word)
        if word not in self.words:
            self.words[word] = {
                "app.yaml": self.app,
                "APP.yaml": self.trained,
                "HOST:PORT": self.long_run,
                "127.0.0.1:4711": self.long_run,
                "192.0.2.1:4711": lambda: "127.0.0.1:0",    # until a node listens
                "192.0.2.2:4711": lambda: "127.0.0.1:0",
                "WEIGHTS": lambda: "checkpoints",
                "FROM": lambda: "checkpoints",
                "CHECKPOINT": lambda: "checkpoints",
                "TO": lambda: "to.safetensors",
                "FOLDER": lambda: "converted",
                "RESULT": lambda: "shirts",                 # of the page's run
            }.get(word, lambda: word)()
        return self.words[word]

    def program(self, command):
        return [self.stands_for(word) for word in shlex.split(command)[1:]]

    def starts_a_node(self, command):
        words = self.program(command)
        node = self.start(*words)
        listens = re.search(r" listens on (\S+?),? ", node.stdout.readline() + " ")
        self.assertIsNotNone(listens, command)
        self.words[shlex.split(command)[3]] = listens[1]

    def shows_something(self, command):
        waiting = self.start(*self.program(command))
        self.assertTrue(waiting.stdout.readline(), command)
        waiting.send_signal(signal.SIGINT)
        result = self.finish(waiting)
        self.assertEqual(result.code, 0, str(result))

    def ends_well(self, command):
        if command.startswith("troupe "):
            result = self.troupe(*self.program(command), *RUN[command])
            self.assertEqual(result.code, 0, str(result))
        else:
            subprocess.run(["bash", "-ec", command], cwd=self.folder, check=True)

    def walk(self, page):
        """The commands of a page, one after another, as a reader would type them."""
        for command in commands(SOURCE / page):
            with self.subTest(command=command):
                if command in NODES:
                    self.starts_a_node(command)
                elif command in WAITS:
                    self.shows_something(command)
                elif command in RUN:
                    self.ends_well(command)

    def test_the_readme(self):
        self.walk("README.md")

    def test_app_files(self):
        self.walk("tools/manual/app-files.md")

    def test_running(self):
        self.walk("tools/manual/running.md")

    def test_several_machines(self):
        self.walk("tools/manual/several-machines.md")

    def test_gpus(self):
        if not EMULATED:
            print("skipped: the emulated GPU is not built")
            return
        key = self.write("cluster.key", "a key that is long enough")
        os.chmod(key, 0o600)
        with unittest.mock.patch.dict(os.environ, {"TROUPE_CUDA_MODULE": EMULATED}):
            self.walk("tools/manual/gpus.md")

    def test_pytorch(self):
        self.walk("tools/manual/pytorch.md")

    def test_inspector(self):
        self.walk("tools/manual/inspector.md")

    def test_schedules(self):
        self.walk("tools/manual/schedules.md")

    def test_building(self):
        self.walk("tools/manual/building.md")

    @unittest.skipUnless(FASHION.exists(), "Fashion-MNIST is not installed")
    def test_programs(self):
        self.walk("tools/manual/programs.md")

    def test_pages_that_are_walked_are_all(self):
        for page in PAGES[1:]:
            self.assertTrue(hasattr(self, f"test_{page.stem.replace('-', '_')}") or not commands(page), page)


class Examples(TroupeTest):
    # What completes an app file of which a page shows the data alone.
    COMPLETE = {
        "data: {documents:": "program: {lda: {topics: 10}}\nschedule: {rotation: {}}\nstop: {sweeps: 2}\n",
        "data: {ratings:": "program: {factorization: {rank: 2}}\nschedule: {rotation: {}}\n",
    }

    def complete(self, text):
        for data, rest in self.COMPLETE.items():
            if text.startswith(data):
                return f"troupe: 1\n{text}{rest}"
        return text

    def make_data(self):
        (self.folder / "x.csv").write_text("a,b,y\n1,2,3\n2,1,5\n0,1,1\n")
        (self.folder / "ml-100k").mkdir(exist_ok=True)
        (self.folder / "ml-100k/u1.base").write_text("1\t1\t5\t0\n1\t2\t3\t0\n2\t1\t4\t0\n")
        (self.folder / "ml-100k/u1.test").write_text("2\t2\t3\t0\n")

    def test_app_files_are_right(self):
        settings = [] if FASHION.exists() else SYNTHETIC
        self.make_data()
        found = 0
        for page in PAGES:
            for kind, text in blocks(page):
                if kind == "yaml":
                    found += 1
                    text = self.complete(text)
                    is_program = "\nprogram:" in text
                    if "foldoc" in text and not FOLDOC.exists():
                        print(f"skipped: the dictionary of {page.name} is not installed")
                        continue
                    result = self.troupe("check", self.app(text), *([] if is_program else settings))
                    said = [line for line in result.err.splitlines() if not line.startswith("troupe: note: ")]
                    self.assertEqual((result.code, said), (0, []), f"{page}: {result}")
        self.assertEqual(found, 5)

    def test_every_way_to_agree_is_right(self):
        page = (SOURCE / "tools/manual/app-files.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| (`[^|]+`) \|", page[page.index("## Replicas"):], re.MULTILINE)
        ways = [way for row in rows for way in re.findall(r"`([^`]+)`", row) if way != "sync"]
        ways += re.findall(r"`(\{all_reduce: .*\}\})`", page)
        self.assertGreater(len(ways), 8)
        app = self.app(APP[:APP.index("topology:")] + "topology: {replicas: 3}\n")
        for way in ways:
            with self.subTest(way=way):
                result = self.troupe("check", app, "--set", f"topology.sync={way}")
                self.assertEqual(result.code, 0, str(result))

    def test_json_and_python_can_be_read(self):
        for page in PAGES:
            for kind, text in blocks(page):
                if kind == "json":
                    self.assertTrue(all(json.loads(line) for line in text.splitlines()))
                elif kind == "python":
                    compile(text, page, "exec")


if __name__ == "__main__":
    main()
