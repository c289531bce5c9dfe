"""What leaves a host during a run, and who listens there: network namespaces of this test's own. Needs root; skipped elsewhere."""

import contextlib
import itertools
import json
import os
import pathlib
import socket
import subprocess
import sys
import unittest

from support import APP, PATIENCE, SOURCE, TROUPE, TroupeTest, main

sys.path.insert(0, str(SOURCE / "tests/support"))
import namespaces

A, B = (f"troupe-{os.getpid()}-{end}" for end in "ef")      # so that several of this test do not meet
NAMES = {A: "a-node-whose-name-is-long", B: "b-node-whose-name-is-long"}
PIECE = 16                                                  # bytes that must not be found


def pieces(data):
    """Pieces of a file that say something: not all the same byte."""
    all_of_it = (data[at:at + PIECE] for at in range(0, len(data) - PIECE + 1, PIECE))
    return [piece for piece in all_of_it if len(set(piece)) > 8]


class Privacy(TroupeTest):
    HOSTS = {A: "10.213.9.1", B: "10.213.9.2"}
    OTHER = {A: "10.213.10.1", B: "10.213.10.2"}            # of a second network

    def setUp(self):
        super().setUp()
        try:
            self.hosts = self.enterContext(namespaces.two_hosts(self.HOSTS, PATIENCE))
            self.second = self.hosts.second_cable(self.OTHER)
        except namespaces.Unavailable as reason:
            print(f"skipped: network namespaces cannot be made here: {reason}")
            raise unittest.SkipTest(str(reason)) from None
        self.key = self.write("cluster.key", "a key that is long enough")
        os.chmod(self.key, 0o600)

    def start_on(self, host, *arguments):
        process = subprocess.Popen(self.hosts.command(host, [TROUPE, *arguments, "--key", self.key]), text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, cwd=self.folder)
        self.started.append(process)
        return process

    def node_on(self, host, *options):
        node = self.start_on(host, "node", "--listen", f"{self.HOSTS[host]}:4711", "--name", NAMES[host], *options)
        line = node.stdout.readline()
        self.assertIn("listens on", line, line or node.stderr.read())
        return node

    @contextlib.contextmanager
    def capture(self, device):
        """Gives the bytes that pass the device of A, once it has ended."""
        path = pathlib.Path(self.folder, f"{device}.captured")
        command = self.hosts.command(A, [sys.executable, SOURCE / "tests/support/capture.py", device, path])
        captured = bytearray()
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            try:
                self.assertEqual(process.stdout.readline(), "listening\n")
                yield captured
            finally:
                process.communicate()       # whose end of the input ends it
        captured += path.read_bytes()

    def train(self, *options):
        """Nodes on both hosts, a run between them, and its weights; what has passed both cables."""
        nodes = self.node_on(A, *options), self.node_on(B, "--join", f"{self.HOSTS[A]}:4711", *options)
        saved = pathlib.Path(self.folder, "saved")
        app = self.app(APP + f"checkpoint: {{directory: {saved}}}\n")
        with self.capture(self.hosts.devices[A]) as first, self.capture(self.second[A]) as second:
            result = self.finish(self.start_on(A, "run", app, "--cluster", f"{self.HOSTS[A]}:4711", "--json", *options))
            status = self.finish(self.start_on(A, "status", f"{self.HOSTS[A]}:4711", "--json", *options))
        self.assertEqual(result.code, 0, str(result))
        self.assertEqual(status.code, 0, str(status))
        self.assertEqual({s["node"] for s in result.event("start")[0]["plan"]["stages"]}, set(NAMES.values()))
        weights = b"".join(file.read_bytes() for file in sorted(saved.rglob("*.safetensors")))
        self.assertGreater(len(pieces(weights)), 20, "the weights are saved")
        return nodes, json.loads(status.out), pieces(weights), bytes(first), bytes(second)

    def test_nothing_of_a_run_can_be_read_on_the_way(self):
        _, status, weights, first, second = self.train()
        self.assertEqual({n["name"]: n["over"] for n in status["nodes"]}, {NAMES[A]: None, NAMES[B]: "tcp, sealed"})
        self.assertGreater(len(first), 10_000, "the run has sent something")
        words = [name.encode() for name in NAMES.values()] + [b"linear", b"synthetic", b"TRPF"]
        self.assertEqual([word for word in [*weights, *words] if word in first], [])
        self.assertEqual([address for address in [*self.HOSTS.values(), *self.OTHER.values()]
                          if socket.inet_aton(address) in second], [], "the other network carries no packet of theirs")

    def test_with_plain_all_of_it_can_be_read_and_every_start_says_so(self):
        nodes, status, weights, first, _ = self.train("--plain")
        self.assertEqual({n["name"]: n["over"] for n in status["nodes"]}, {NAMES[A]: None, NAMES[B]: "tcp"})
        self.assertIn(b"TRPF", first)
        self.assertTrue(any(piece in first for piece in weights), "the weights that are saved travel")
        for node in nodes:
            self.read_line(node, r"note: --plain: frames to and from other machines travel over TCP in clear")

    def test_the_manual_calls_links_as_they_are_called(self):
        page = (SOURCE / "tools/manual/several-machines.md").read_text()
        rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in page.splitlines()
                if line.startswith(("| between machines", "| within a machine"))]
        called = {link: words for link, words, *_ in rows}
        self.assertEqual(called, {"between machines": "tcp, sealed", "between machines, `--plain": "tcp",
                                  "within a machine, over its loopback addresses": "tcp",
                                  "within a machine, over other addresses": "tcp, sealed",
                                  "within a machine": "shared memory", "between machines that have RDMA": "rdma (...)"})
        self.assertEqual({row[2] for row in rows if row[1] == "tcp, sealed"}, {"all"})
        self.assertEqual({row[2] for row in rows if row[1] != "tcp, sealed"}, {"set-up alone"})

    def test_who_sends_in_clear_and_who_seals_do_not_meet(self):
        self.node_on(A)
        for command, host in itertools.product((["status"], ["inspect"], ["run", self.app(), "--cluster"]), (A, B)):
            with self.subTest(command=command[0], host=host):  # on A a run shares memory with the node
                result = self.finish(self.start_on(host, *command, f"{self.HOSTS[A]}:4711", "--plain"))
                self.assertEqual(result.code, 3, str(result))
                self.assertIn("it seals frames, this node sends them in clear; give --plain to both", result.err)

    def test_a_node_listens_at_the_address_that_it_names_and_at_no_other(self):
        for options in ([], ["--transport", "tcp"]):
            with self.subTest(options=options):
                a = self.node_on(A, *options)
                b = self.node_on(B, "--join", f"{self.HOSTS[A]}:4711", *options)
                self.read_line(a, rf"node {NAMES[B]} \(\S+\) has joined, over tcp, sealed")
                for host in self.HOSTS:
                    for table, expected in (("tcp", 1), ("tcp6", 0), ("udp", 0), ("udp6", 0), ("raw", 0)):
                        shown = subprocess.run(self.hosts.command(host, ["cat", f"/proc/net/{table}"]), capture_output=True,
                                               text=True, check=True).stdout
                        waiting = [row.split()[1] for row in shown.splitlines()[1:]
                                   if row.split()[3] in ("0A", "07")]       # it listens, or takes datagrams
                        self.assertEqual(len(waiting), expected, shown)
                for node in (a, b):
                    node.terminate()
                    self.finish(node)


if __name__ == "__main__":
    main()
