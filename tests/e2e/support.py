"""Running the troupe program as a user does: real processes, real files, loopback.

Each test has a folder of its own, and fails if a process or a file of the program is left behind, or if a sanitizer has
reported anything in a process that the test started or that one of those did.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

SOURCE = pathlib.Path(__file__).resolve().parents[2]
TROUPE = os.environ.get("TROUPE", str(SOURCE / "build/tools/troupe/troupe"))
# Limits of time are multiplied by this: tools/test sets it for builds with sanitizers, which are slower.
PATIENCE = float(os.environ.get("TROUPE_TEST_PATIENCE", "1"))
FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")
FOLDOC = pathlib.Path("/usr/share/dictd/foldoc.dict.dz")

# A model that trains in well under a second, with four layers that can be cut.
APP = """\
troupe: 1
data:
  synthetic: {train_samples: 512, test_samples: 128, classes: 4}
model:
  input: [1, 8, 8]
  layers:
    - conv2d: {out: 8, kernel: 3, padding: 1}
    - relu
    - max_pool: {kernel: 2}
    - linear: {out: 4}
  loss: cross_entropy
train:
  batch: 32
  epochs: 2
  seed: 3
  optimizer: {sgd: {learning_rate: 0.05, momentum: 0.9}}
topology:
  pipeline:
    schedule: pipedream
    stages: [{layers: 3}, {layers: 1}]
"""


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def events(self):
        return [json.loads(line) for line in self.out.splitlines() if line.startswith("{")]

    def event(self, name):
        return [e for e in self.events if e["event"] == name]

    def __str__(self):
        return f"exit code {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


def processes(folder):
    """Ids of living troupe processes that were started in this folder (zombies do not count)."""
    found = set()
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            command = (entry / "cmdline").read_bytes().split(b"\0")
            state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
            if command[0].endswith(b"troupe") and state != "Z" and os.readlink(entry / "cwd") == str(folder):
                found.add(int(entry.name))
    return found


class TroupeTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.started = []
        # What a sanitizer finds goes to a file beside the process id, of grandchildren too, whoever reads their output.
        self.enterContext(unittest.mock.patch.dict(os.environ, {
            name: f"{os.environ.get(name, '')}:log_path={self.folder}/sanitizer-report"
            for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS")}))

    def tearDown(self):
        reports = []
        for process in self.started:
            if process.poll() is None:
                process.kill()
            _, err = process.communicate()
            if "runtime error: " in (err or ""):  # UndefinedBehaviorSanitizer beside another takes no file
                reports.append(err)
        self.eventually(lambda: not processes(self.folder), "no troupe process is left behind", 30)
        reports += [report.read_text() for report in self.folder.glob("sanitizer-report*")]
        self.assertFalse(reports, "\n".join(["a sanitizer reports", *reports]))

    def small_disk(self):
        """A folder that holds 96 kB; None without the permission to mount one."""
        mount = self.folder / "small"
        mount.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96k", "tmpfs", mount], capture_output=True).returncode:
            print("skipped: a full disk: no permission to mount a small file system")
            return None
        self.addCleanup(subprocess.run, ["umount", mount])
        return mount

    def eventually(self, condition, what, seconds=60):
        deadline = time.monotonic() + seconds * PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.02)

    def assert_within(self, seconds, since):
        self.assertLess(time.monotonic() - since, seconds * PATIENCE)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def app(self, text=APP, name="app.yaml"):
        return self.write(name, text)

    def start(self, *arguments, **options):
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
        process = subprocess.Popen([TROUPE, *map(str, arguments)], text=True, cwd=self.folder, **{**streams, **options})
        self.started.append(process)
        return process

    def finish(self, process, timeout=60):
        timeout = max(timeout, 60)  # so that a hang ends: how soon something is over is asserted by assert_within()
        try:
            out, err = process.communicate(timeout=timeout * PATIENCE)
        except subprocess.TimeoutExpired:
            seen = self.look_into_hang()
            process.kill()
            out, err = process.communicate()
            self.fail(f"still running after {timeout * PATIENCE} s\n{Result(None, out, err)}\n{seen}")
        return Result(process.returncode, out, err)

    def look_into_hang(self):
        """What a test can tell of a process that does not end, while it still runs."""
        return ""

    def troupe(self, *arguments, timeout=60, **options):
        return self.finish(self.start(*arguments, **options), timeout)

    def node(self, *arguments, name="a"):
        """A node process that listens, and its address."""
        process = self.start("node", "--listen", "127.0.0.1:0", "--name", name, *arguments)
        line = process.stdout.readline()
        match = re.search(r" listens on (\S+?),? ", line + " ")
        self.assertIsNotNone(match, f"the node says where it listens: {line!r}")
        return process, match.group(1)

    def read_event(self, process, name):
        """Reads standard output up to the first event of this name."""
        for line in process.stdout:
            if line.startswith("{") and json.loads(line)["event"] == name:
                return json.loads(line)
        self.fail(f"no {name} event: {process.stderr.read()}")

    def read_line(self, node, text):
        """Reads the log of a node up to the line that says this."""
        lines = []
        while not lines or not re.search(text, lines[-1]):
            lines.append(node.stderr.readline())
            self.assertNotEqual(lines[-1], "", f"no line says '{text}': {lines}")

    def assert_one_line_error(self, result, code, *parts):
        self.assertIn(result.code, code if isinstance(code, tuple) else (code,), str(result))
        lines = [line for line in result.err.splitlines() if line.strip()]
        self.assertEqual(len(lines), 1, f"one line of error\n{result}")
        for part in parts:
            self.assertIn(part, lines[0])


def main():
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=1)
