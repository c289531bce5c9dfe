"""Several hosts: network namespaces of this test's own, joined by a virtual cable. Needs root; skipped elsewhere."""

import json
import os
import subprocess
import time
import unittest

from support import APP, TROUPE, TroupeTest, main

WIDE = """troupe: 1
data: {synthetic: {train_samples: 64, test_samples: 16, classes: 3}}
model:
  input: [1, 6, 6]
  layers:
    - linear: {out: 16}
    - linear: {out: 200000}
    - linear: {out: 3}
train: {batch: 16, epochs: 1, seed: 5, optimizer: {sgd: {learning_rate: 0.001}}}
topology: {pipeline: {schedule: pipedream, stages: [{layers: 1}, {layers: 2}]}}
"""


def ip(*arguments):
    return subprocess.run(["ip", *arguments], capture_output=True, text=True)


class Namespaces(TroupeTest):
    HOSTS = {"troupe-a": "10.213.7.1", "troupe-b": "10.213.7.2"}

    def setUp(self):
        super().setUp()
        made = [ip("netns", "add", name).returncode for name in self.HOSTS]
        self.addCleanup(lambda: [ip("netns", "del", name) for name in self.HOSTS])
        works = ip("-n", "troupe-a", "link", "show", "lo")  # not in a root folder that is no mount point
        if any(made) or works.returncode or ip("link", "add", "tr-a", "netns", "troupe-a", "type", "veth", "peer", "name", "tr-b", "netns",
                           "troupe-b").returncode:
            print(f"skipped: network namespaces cannot be made here {works.stderr.strip()}")
            raise unittest.SkipTest("network namespaces cannot be made here")
        for (name, address), device in zip(self.HOSTS.items(), ("tr-a", "tr-b")):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", device)
            ip("-n", name, "link", "set", device, "up")
            ip("-n", name, "link", "set", "lo", "up")
        # The kernel takes up to a second to call a new cable running, and UCX uses only what runs.
        for name, device in zip(self.HOSTS, ("tr-a", "tr-b")):
            self.eventually(lambda: "state UP" in ip("-n", name, "link", "show", device).stdout, f"{device} is up")
        self.key = self.write("cluster.key", "a key that is long enough")
        os.chmod(self.key, 0o600)

    def start_on(self, host, *arguments):
        return self.start_program(["ip", "netns", "exec", host, TROUPE, *map(str, arguments)])

    def start_program(self, command):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                   text=True, cwd=self.folder)
        self.started.append(process)
        return process

    def nodes(self):
        a = self.start_on("troupe-a", "node", "--listen", "10.213.7.1:4711", "--name", "a", "--key", self.key,
                          "--transport", "tcp")
        self.assert_listens(a)
        b = self.start_on("troupe-b", "node", "--listen", "10.213.7.2:4711", "--name", "b", "--key", self.key,
                          "--join", "10.213.7.1:4711", "--transport", "tcp")
        self.assert_listens(b)
        return a, b

    def assert_listens(self, node):
        line = node.stdout.readline()
        self.assertIn("listens on", line, line or node.stderr.read())

    def run_on_both(self, *arguments):
        return self.start_on("troupe-a", "run", *arguments, "--cluster", "10.213.7.1:4711", "--key", self.key,
                             "--transport", "tcp", "--json")

    def test_a_pipeline_across_two_hosts_gives_the_weights_of_one(self):
        self.nodes()
        result = self.finish(self.run_on_both(self.app()))
        self.assertEqual(result.code, 0, str(result))
        self.assertEqual({s["node"] for s in result.event("start")[0]["plan"]["stages"]}, {"a", "b"})
        alone = self.troupe("run", self.app(), "--json")
        self.assertEqual([e["test_loss"] for e in alone.event("epoch")], [e["test_loss"] for e in result.event("epoch")])

    def test_nodes_that_listen_on_all_addresses_are_reached_by_those_of_their_hosts(self):
        common = ["--listen", "0.0.0.0:4711", "--key", self.key]
        a = self.start_on("troupe-a", "node", "--name", "a", *common)
        self.assertIn("troupe inspect HOST:4711 --key", a.stdout.readline())
        self.assert_listens(self.start_on("troupe-b", "node", "--name", "b", "--join", "10.213.7.1:4711", *common))
        result = self.finish(self.run_on_both(self.app()))
        self.assertEqual(result.code, 0, str(result))
        self.assertEqual({s["node"] for s in result.event("start")[0]["plan"]["stages"]}, {"a", "b"})
        status = self.finish(self.start_on("troupe-b", "status", "10.213.7.1:4711", "--key", self.key, "--json"))
        self.assertEqual({n["name"]: n["address"] for n in json.loads(status.out)["nodes"]},
                         {"a": "10.213.7.1:4711", "b": "10.213.7.2:4711"})

    def test_a_node_that_the_cluster_could_not_reach_is_told_where_to_listen(self):
        self.nodes()
        for listen in ([], ["--listen", "127.0.0.1:4712"]):
            with self.subTest(listen=listen):
                lonely = self.start_on("troupe-b", "node", "--key", self.key, "--join", "10.213.7.1:4711", *listen)
                result = self.finish(lonely, 15)
                self.assert_one_line_error(result, 2, "--listen", "10.213.7.1:4711", "127.0.0.1",
                                           "as in --listen 10.213.7.2:0")

    def test_status_and_inspector_reach_nodes_of_other_hosts(self):
        self.nodes()
        for arguments in (["status", "10.213.7.1:4711"], ["inspect", "10.213.7.1:4711", "actors"]):
            with self.subTest(arguments=arguments):
                asked = self.start_on("troupe-b", *arguments, "--key", self.key, "--json")
                result = self.finish(asked, 15)
                self.assertEqual(result.code, 0, str(result))
                self.assertEqual({n["name"] for n in json.loads(result.out)["nodes"]}, {"a", "b"})

    def test_nodes_without_names_are_told_apart(self):
        # As on machines that share a host name, and listen on the same port.
        common = ["--key", self.key, "--transport", "tcp"]
        self.assert_listens(self.start_on("troupe-a", "node", "--listen", "10.213.7.1:4711", *common))
        self.assert_listens(self.start_on("troupe-b", "node", "--listen", "10.213.7.2:4711",
                                          "--join", "10.213.7.1:4711", *common))
        status = self.finish(self.start_on("troupe-b", "status", "10.213.7.1:4711", "--json", *common))
        self.assertEqual({n["name"] for n in json.loads(status.out)["nodes"]}, {"10.213.7.1-4711", "10.213.7.2-4711"})

    def test_a_cut_cable_ends_the_run_within_five_seconds(self):
        self.nodes()
        run = self.run_on_both(self.app(APP.replace("epochs: 2", "epochs: 100000")))
        self.read_event(run, "epoch")
        ip("-n", "troupe-b", "link", "set", "tr-b", "down")
        cut = time.monotonic()
        result = self.finish(run, 15)
        self.assert_within(8, since=cut)
        self.assert_one_line_error(result, 3, "b/cpu:0")

    def test_a_message_that_takes_longer_than_the_heartbeats_time_out_is_no_silence(self):
        for name, device in zip(self.HOSTS, ("tr-a", "tr-b")):
            slow = subprocess.run(["ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", device, "root", "tbf",
                                   "rate", "20mbit", "burst", "64kb", "latency", "50ms"], capture_output=True)
            if slow.returncode:
                print("skipped: slow cables: no permission to make them, or no tc")
                raise unittest.SkipTest("no slow cable")
        self.nodes()
        # The weights of stage 1, 16 MB in one message, take more than six seconds for the time-out of four.
        run = self.run_on_both(self.app(WIDE + f"checkpoint: {{directory: {self.folder}/saved}}\n"))
        began = time.monotonic()
        result = self.finish(run, 60)
        self.assertEqual(result.code, 0, str(result))
        self.assertGreater(time.monotonic() - began, 5, "the cable is not slow")


if __name__ == "__main__":
    main()
