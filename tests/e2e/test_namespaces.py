"""Several hosts: network namespaces of this test's own, joined by a virtual cable. Needs root; skipped elsewhere."""

import json
import os
import subprocess
import sys
import time
import unittest

from support import APP, PATIENCE, SOURCE, TROUPE, TroupeTest, main

sys.path.insert(0, str(SOURCE / "tests/support"))
import namespaces

A, B, C = (f"troupe-{os.getpid()}-{end}" for end in "abc")  # so that several of this test do not meet

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


class Namespaces(TroupeTest):
    HOSTS = {A: "10.213.7.1", B: "10.213.7.2"}

    def setUp(self):
        super().setUp()
        try:
            self.hosts = self.enterContext(namespaces.two_hosts(self.HOSTS, PATIENCE))
        except namespaces.Unavailable as reason:
            self.skip(f"network namespaces cannot be made here: {reason}")
        self.key = self.write("cluster.key", "a key that is long enough")
        os.chmod(self.key, 0o600)

    def skip(self, reason):
        print(f"skipped: {reason}")
        raise unittest.SkipTest(reason)

    def start_on(self, host, *arguments):
        return self.start_program(self.hosts.command(host, [TROUPE, *arguments]))

    def start_program(self, command):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                   text=True, cwd=self.folder)
        self.started.append(process)
        return process

    def nodes(self, *options):
        common = ["--key", self.key, "--transport", "tcp", *options]
        a = self.start_on(A, "node", "--listen", "10.213.7.1:4711", "--name", "a", *common)
        self.assert_listens(a)
        b = self.start_on(B, "node", "--listen", "10.213.7.2:4711", "--name", "b", "--join", "10.213.7.1:4711", *common)
        self.assert_listens(b)
        return a, b

    def assert_listens(self, node):
        line = node.stdout.readline()
        self.assertIn("listens on", line, line or node.stderr.read())

    def run_on_both(self, *arguments):
        return self.start_on(A, "run", *arguments, "--cluster", "10.213.7.1:4711", "--key", self.key,
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
        a = self.start_on(A, "node", "--name", "a", *common)
        self.assertIn("troupe inspect HOST:4711 --key", a.stdout.readline())
        self.assert_listens(self.start_on(B, "node", "--name", "b", "--join", "10.213.7.1:4711", *common))
        result = self.finish(self.run_on_both(self.app()))
        self.assertEqual(result.code, 0, str(result))
        self.assertEqual({s["node"] for s in result.event("start")[0]["plan"]["stages"]}, {"a", "b"})
        status = self.finish(self.start_on(B, "status", "10.213.7.1:4711", "--key", self.key, "--json"))
        self.assertEqual({n["name"]: n["address"] for n in json.loads(status.out)["nodes"]},
                         {"a": "10.213.7.1:4711", "b": "10.213.7.2:4711"})

    def test_a_node_that_the_cluster_could_not_reach_is_told_where_to_listen(self):
        self.nodes()
        for listen in ([], ["--listen", "127.0.0.1:4712"]):
            with self.subTest(listen=listen):
                lonely = self.start_on(B, "node", "--key", self.key, "--join", "10.213.7.1:4711", *listen)
                result = self.finish(lonely, 15)
                self.assert_one_line_error(result, 2, "--listen", "10.213.7.1:4711", "127.0.0.1",
                                           "as in --listen 10.213.7.2:0")

    def test_status_and_inspector_reach_nodes_of_other_hosts(self):
        self.nodes()
        for arguments in (["status", "10.213.7.1:4711"], ["inspect", "10.213.7.1:4711", "actors"]):
            with self.subTest(arguments=arguments):
                asked = self.start_on(B, *arguments, "--key", self.key, "--json")
                result = self.finish(asked, 15)
                self.assertEqual(result.code, 0, str(result))
                self.assertEqual({n["name"] for n in json.loads(result.out)["nodes"]}, {"a", "b"})

    def test_nodes_without_names_are_told_apart(self):
        # As on machines that share a host name, and listen on the same port.
        common = ["--key", self.key, "--transport", "tcp"]
        self.assert_listens(self.start_on(A, "node", "--listen", "10.213.7.1:4711", *common))
        self.assert_listens(self.start_on(B, "node", "--listen", "10.213.7.2:4711",
                                          "--join", "10.213.7.1:4711", *common))
        status = self.finish(self.start_on(B, "status", "10.213.7.1:4711", "--json", *common))
        self.assertEqual({n["name"] for n in json.loads(status.out)["nodes"]}, {"10.213.7.1-4711", "10.213.7.2-4711"})

    def test_nodes_of_two_networks_that_a_run_joins_are_not_used_together(self):
        try:
            self.hosts.third_host(C, A, ("10.213.8.1", "10.213.8.3"))
        except namespaces.Unavailable as reason:
            self.skip(str(reason))
        common = ["--key", self.key, "--transport", "tcp"]
        self.assert_listens(self.start_on(A, "node", "--listen", "0.0.0.0:4711", "--name", "a", *common))
        for host, listen, join, name in ((B, "10.213.7.2", "10.213.7.1", "b"), (C, "10.213.8.3", "10.213.8.1", "c")):
            node = self.start_on(host, "node", "--listen", f"{listen}:4711", "--join", f"{join}:4711", "--name", name, *common)
            self.assert_listens(node)
        self.read_line(node, r"node b \(10\.213\.7\.2:4711\) .* cannot be reached from here")
        result = self.finish(self.run_on_both(self.app()))
        self.assertEqual(result.code, 0, str(result))
        start, = result.event("start")
        self.assertEqual({s["node"] for s in start["plan"]["stages"]}, {"a", "b"})
        apart = "node b (10.213.7.2:4711) and node c (10.213.8.3:4711) do not reach each other"
        self.assertIn(f"{apart}, for a reason that their logs name; the run does without node c", "\n".join(start["notes"]))
        # Whichever node is asked, and from where: b does not know of c.
        for host, address in ((A, "10.213.7.1"), (A, "10.213.8.3"), (B, "10.213.7.2")):
            status = self.finish(self.start_on(host, "status", f"{address}:4711", "--key", self.key))
            self.assertIn(apart, status.out, str(status))

    def test_a_cut_cable_ends_the_run_within_five_seconds(self):
        self.nodes()
        run = self.run_on_both(self.app(APP.replace("epochs: 2", "epochs: 100000")))
        self.read_event(run, "epoch")
        self.hosts.cut(B)
        cut = time.monotonic()
        result = self.finish(run, 15)
        self.assert_within(8, since=cut)
        self.assert_one_line_error(result, 3, "b/cpu:0")

    def test_nodes_meet_again_after_a_cut_and_the_next_run_uses_both(self):
        a, b = self.nodes("--heartbeat-ms", 200, "--heartbeat-timeout-ms", 1000)
        for again in range(2):
            with self.subTest(again=again):
                run = self.run_on_both(self.app(APP.replace("epochs: 2", "epochs: 100000")))
                self.read_event(run, "epoch")
                self.hosts.cut(B)
                self.assertEqual(self.finish(run, 15).code, 3)      # it does not wait for the end of the cut
                for node, other in ((a, "b"), (b, "a")):
                    self.read_line(node, rf"node {other} is lost: .*; this node goes on trying to reach it")
                self.hosts.mend(B)
                for node, other in ((a, "b"), (b, "a")):
                    self.read_line(node, rf"node {other} \(\S+\) has joined, over tcp")
                status = self.finish(self.start_on(B, "status", "10.213.7.1:4711", "--key", self.key, "--json"))
                self.assertEqual({n["name"] for n in json.loads(status.out)["nodes"]}, {"a", "b"})
                result = self.finish(self.run_on_both(self.app()))
                self.assertEqual(result.code, 0, str(result))
                self.assertEqual({s["node"] for s in result.event("start")[0]["plan"]["stages"]}, {"a", "b"})

    def test_a_message_that_takes_longer_than_the_heartbeats_time_out_is_no_silence(self):
        try:
            self.hosts.bound("20mbit", burst="64kb")
        except namespaces.Unavailable as reason:
            self.skip(str(reason))
        self.nodes()
        # The weights of stage 1, 16 MB in one message, take more than six seconds for the time-out of four.
        run = self.run_on_both(self.app(WIDE + f"checkpoint: {{directory: {self.folder}/saved}}\n"))
        began = time.monotonic()
        result = self.finish(run, 60)
        self.assertEqual(result.code, 0, str(result))
        self.assertGreater(time.monotonic() - began, 5, "the cable is not slow")

    def test_the_benchmark_of_a_slow_link_tells_what_a_step_sends(self):
        try:
            self.hosts.bound("1gbit")
        except namespaces.Unavailable as reason:
            self.skip(str(reason))
        app, steps = self.app(APP[:APP.index("topology")].replace("linear: {out: 4}", "linear: {out: 1000}")), 8
        received = {}
        for codec in ("none", "one_bit"):
            topology = f"topology={{replicas: 2, sync: {{all_reduce: {{}}, codec: {codec}}}}}"
            run = self.start_program(self.hosts.command(A, [
                sys.executable, SOURCE / "tests/bench/train_on_two_nodes.py", TROUPE, app, "--steps", steps, "--other", B,
                "--addresses", *self.HOSTS.values(), "--device", self.hosts.devices[A], "--set", topology,
                "--set", f"data.synthetic.train_samples={2 * 32 * steps}"]))
            result = self.finish(run)
            self.assertEqual(result.code, 0, str(result))
            told = json.loads(result.out)
            self.assertGreater(told["step_ms"], 0)
            received[codec] = told["mb_received"]
        self.assertGreaterEqual(received["none"], told["gradient_mb"])  # n bytes each way between two
        self.assertLess(received["one_bit"], told["gradient_mb"] / 2)


if __name__ == "__main__":
    main()
