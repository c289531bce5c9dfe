"""What links between nodes go over: as it is chosen, as it is asked for, and as node, status and inspector say it."""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest

from support import APP, PATIENCE, SOURCE, TROUPE, TroupeTest, main

sys.path.insert(0, str(SOURCE / "tests/support"))
import namespaces

A, B = (f"troupe-{os.getpid()}-{end}" for end in "cd")      # so that several of this test do not meet
MEMORY = "shared memory"
SEALED = "tcp, sealed"
LONG = APP.replace("epochs: 2", "epochs: 100000")


class Transports(TroupeTest):
    def assert_all_say(self, way, status, actors):
        """What a cluster of a, asked, and b says of the links between them."""
        self.assertEqual(status.code, 0, str(status))
        self.assertEqual({n["name"]: n["over"] for n in json.loads(status.out)["nodes"]}, {"a": None, "b": way})
        self.assertEqual(actors.code, 0, str(actors))
        self.assertEqual({n["name"]: [(link["name"], link["over"]) for link in n["links"]]
                          for n in json.loads(actors.out)["nodes"]}, {"a": [("b", way)], "b": [("a", way)]})


class Loopback(Transports):
    def assert_joined_over(self, way, *options):
        a, address = self.node("--transport", options[0], name="a")
        self.node("--join", address, "--transport", options[1], name="b")
        self.assertRegex(a.stderr.readline(), rf"node b \(127\.0\.0\.1:\d+\) has joined, over {way}\n$")
        self.assert_all_say(way, self.troupe("status", address, "--json"), self.troupe("inspect", address, "--json"))
        result = self.troupe("run", self.app(), "--cluster", address, "--json")
        self.assertEqual(result.code, 0, str(result))
        self.assertEqual({s["node"] for s in result.event("start")[0]["plan"]["stages"]}, {"a", "b"})
        return address

    def test_nodes_of_one_machine_share_memory(self):
        address = self.assert_joined_over(MEMORY, "auto", "auto")
        self.assertRegex(self.troupe("status", address).out, r"(?m)^b  node  127\.0\.0\.1:\d+  cpu:0  over shared memory$")
        self.assertRegex(self.troupe("inspect", address).out,
                         r"node +sends to +over *\na +b +shared memory *\nb +a +shared memory *\n$")

    def test_the_row_of_a_node_that_is_stopped_says_so(self):
        _, address = self.node(name="a")
        node, _ = self.node("--join", address, name="b")
        _, last = self.node("--join", address, name="c")
        self.assertNotIn("answers nothing", self.troupe("status", address).out)
        node.send_signal(signal.SIGSTOP)                     # the others have not lost it yet
        status = self.troupe("status", address)
        node.send_signal(signal.SIGCONT)
        self.assertEqual(status.code, 0, str(status))
        self.assertRegex(status.out, r"(?m)^b  node  127\.0\.0\.1:\d+  cpu:0.*  over shared memory  answers nothing for 3 s$")
        self.assertRegex(status.out, rf"(?m)^c  node  {last}  cpu:0.*  over shared memory$")

    def test_tcp_is_used_by_whom_is_told_to_and_by_who_talks_to_that(self):
        self.assert_joined_over("tcp", "tcp", "auto")
        self.assert_joined_over("tcp", "auto", "tcp")

    def test_nodes_that_may_use_nothing_in_common_are_told_so(self):
        _, tcp = self.node("--transport", "tcp")
        _, shm = self.node("--transport", "shm")
        for command in (["run", self.app(), "--cluster"], ["node", "--join"]):
            with self.subTest(command=command[0]):
                self.assert_one_line_error(self.troupe(*command, tcp, "--transport", "shm"), 3,
                                           "it sends over tcp, this node over shared memory; give --transport auto to both")
                self.assert_one_line_error(self.troupe(*command, shm, "--transport", "tcp"), 3,
                                           "it sends over shared memory, this node over tcp")

    def test_whoever_looks_at_nodes_does_so_over_tcp_whatever_they_use(self):
        _, address = self.node("--transport", "shm")
        for command in (["status"], ["inspect"], ["status", "--transport", "shm"]):
            with self.subTest(command=command):
                looked = self.troupe(*command, address)
                self.assertEqual(looked.code, 0, str(looked))

    def test_a_run_says_which_node_it_does_without(self):
        a, address = self.node(name="a")
        self.node("--join", address, "--transport", "shm", name="b")
        self.read_line(a, "node b ")
        run = self.troupe("run", self.app(), "--cluster", address, "--transport", "tcp", "--json")
        self.assertEqual(run.code, 0, str(run))
        start, = run.event("start")
        self.assertEqual({s["node"] for s in start["plan"]["stages"]}, {"a"})
        note, = (n for n in start["notes"] if n.startswith("node b "))
        self.assertRegex(note, r"^node b \(127\.0\.0\.1:\d+\) is a member of the cluster, but cannot be reached from here: "
                               r".*give --transport auto to both; the run does without it$")
        c, _ = self.node("--join", address, "--transport", "tcp", name="c")
        self.read_line(c, r"node b .* cannot be reached from here: .*; this node goes on trying for a day$")
        time.sleep(2)                                        # it has tried once more
        c.terminate()
        self.assertNotIn("cannot be reached", c.communicate()[1])

    def test_nodes_that_reach_the_run_and_not_each_other_are_not_used_together(self):
        a, address = self.node(name="a")
        self.node("--join", address, "--transport", "tcp", name="b")
        self.node("--join", address, "--transport", "shm", name="c")
        self.read_line(a, "node c ")
        apart = r"node b \(127\.0\.0\.1:\d+\) and node c \(127\.0\.0\.1:\d+\) do not reach each other"
        left = apart + r", for a reason that their logs name; the run does without node c; give each a --listen address"
        run = self.troupe("run", self.app(), "--cluster", address, "--json")
        self.assertEqual(run.code, 0, str(run))
        start, = run.event("start")
        self.assertEqual({s["node"] for s in start["plan"]["stages"]}, {"a", "b"})
        note, = (n for n in start["notes"] if " reach " in n)
        self.assertRegex(note, f"^{left}")
        plan = self.troupe("plan", self.app(), "--cluster", address)
        self.assertEqual(plan.code, 0, str(plan))
        self.assertRegex(plan.err, rf"(?m)^troupe: note: {left}")
        self.assertRegex(self.troupe("status", address).out, rf"\n{apart}\n$")
        self.assertEqual(json.loads(self.troupe("status", address, "--json").out)["apart"], [["b", "c"]])
        three = self.troupe("run", self.app(), "--cluster", address, "--set", "topology={replicas: 3, sync: {all_reduce: {}}}")
        self.assert_one_line_error(three, 2, "replicas", "do not reach each other", "does without node c")

    def test_rdma_without_a_device_is_one_line(self):
        devices = pathlib.Path("/sys/class/infiniband")
        if devices.is_dir() and any(devices.iterdir()):
            print("skipped: this machine has RDMA devices")
            return
        _, address = self.node()
        for command in (["node"], ["run", self.app(), "--nodes", 2], ["run", self.app(), "--cluster", address],
                        ["status", address], ["inspect", address]):
            with self.subTest(command=command[0]):
                self.assert_one_line_error(self.troupe(*command, "--transport", "rdma"), 2,
                                           "--transport rdma: this machine has no RDMA device", "or give --transport auto")


class TwoHosts(Transports):
    """Network namespaces of this test's own, joined by a virtual cable; what else the hosts share a test says."""

    HOSTS = {A: "10.213.8.1", B: "10.213.8.2"}

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

    def start_on(self, host, command):
        process = subprocess.Popen(self.hosts.command(host, command), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   stdin=subprocess.DEVNULL, text=True, cwd=self.folder)
        self.started.append(process)
        return process

    def troupe_on(self, host, *arguments, **options):
        return self.finish(self.start_on(host, [TROUPE, *arguments, "--key", self.key]), **options)

    def node_on(self, host, name, *arguments, port=4711, through=()):
        node = self.start_on(host, [*through, TROUPE, "node", "--listen", f"{self.HOSTS[host]}:{port}", "--name", name,
                                    "--key", self.key, *arguments])
        line = node.stdout.readline()
        self.assertIn("listens on", line, line or node.stderr.read())
        return node

    def nodes(self, *options, host=A, through=()):
        """Node a, and b on a host, as it is put there."""
        a = self.node_on(A, "a", *options)
        return a, self.node_on(host, "b", "--join", "10.213.8.1:4711", *options, port=4712, through=through)

    def assert_trains_over(self, way, *options, host=A, through=()):
        a, _ = self.nodes(*options, host=host, through=through)
        self.assertIn(f"has joined, over {way}\n", a.stderr.readline())
        self.assert_all_say(way, self.troupe_on(A, "status", "10.213.8.1:4711", "--json"),
                            self.troupe_on(A, "inspect", "10.213.8.1:4711", "--json"))
        result = self.troupe_on(A, "run", self.app(), "--cluster", "10.213.8.1:4711", "--json")
        self.assertEqual(result.code, 0, str(result))
        self.assertEqual({s["node"] for s in result.event("start")[0]["plan"]["stages"]}, {"a", "b"})
        alone = self.troupe("run", self.app(), "--json")
        self.assertEqual([e["test_loss"] for e in alone.event("epoch")], [e["test_loss"] for e in result.event("epoch")])

    def unshared(self, *arguments, first="true"):
        """A command that runs another one in namespaces of its own, after `first`."""
        through = ["unshare", *arguments, "sh", "-c", f'{first} && exec "$@"', "sh"]
        with contextlib.suppress(FileNotFoundError):
            if subprocess.run([*through, "true"], capture_output=True, check=False).returncode == 0:
                return through
        self.skip(f"unshare {' '.join(arguments)} is not allowed here")

    def test_nodes_of_one_host_share_memory_though_others_reach_them(self):
        self.assert_trains_over(MEMORY)

    def test_tcp_is_used_by_whom_is_told_to(self):
        self.assert_trains_over(SEALED, "--transport", "tcp")

    def test_hosts_use_tcp_though_they_see_the_same_memory(self):
        # UCX would find the other's, but not wake who sleeps there.
        self.assert_trains_over(SEALED, host=B)

    def test_nodes_with_memory_of_their_own_use_tcp(self):
        self.assert_trains_over(SEALED, through=self.unshared("--mount", "--ipc", first="mount -t tmpfs none /dev/shm"))

    def test_nodes_that_do_not_see_each_others_processes_use_tcp(self):
        self.assert_trains_over(SEALED, through=self.unshared("--pid", "--fork", "--kill-child", "--mount-proc"))

    def test_shared_memory_needs_no_common_folder_for_it(self):
        self.assert_trains_over(MEMORY, through=self.unshared("--mount", first="mount -t tmpfs none /dev/shm"))

    def test_shared_memory_alone_is_refused_by_who_has_none(self):
        self.node_on(A, "a", "--transport", "shm")
        other = self.start_on(B, [TROUPE, "node", "--listen", "10.213.8.2:4711", "--key", self.key,
                                  "--join", "10.213.8.1:4711", "--transport", "shm"])
        self.assert_one_line_error(self.finish(other), 3, "it shares no memory with this node", "--transport auto")

    def test_a_killed_node_is_noticed_at_once_whatever_its_links_go_over(self):
        for options in ([], ["--transport", "tcp"]):
            with self.subTest(options=options):
                patient = ["--heartbeat-timeout-ms", "600000", *options]    # the connection's end tells, no silence
                a, b = self.nodes(*patient)
                run = self.start_on(A, [TROUPE, "run", self.app(LONG), "--cluster", "10.213.8.1:4711", "--key", self.key,
                                        "--json"])
                self.read_event(run, "epoch")
                b.send_signal(signal.SIGKILL)
                killed = time.monotonic()
                self.assert_one_line_error(self.finish(run, 15), 3, "b/cpu:0")
                self.assert_within(5, since=killed)
                a.send_signal(signal.SIGTERM)
                self.assertTrue(re.search(r"node b is lost: its process at \S+ is gone", self.finish(a).err))


if __name__ == "__main__":
    main()
