"""The inspector attached to a run on two node processes, without a restart."""

import json
import signal
import subprocess
import sys

from support import APP, SOURCE, TroupeTest, main

LONG = APP.replace("epochs: 2", "epochs: 100000")


SERVER = APP[:APP.index("topology:")].replace("epochs: 2", "epochs: 100000") + """topology:
  replicas: 3
  sync: {parameter_server: {consistency: {ssp: {staleness: 2}}}}
  devices: [{device: node-2/cpu:0, slow_down: 20}]
"""


class Staleness(TroupeTest):
    def run_that_waits_for_the_slow_replica(self, app):
        run = self.start("run", self.app(app), "--nodes", 3, "--json")
        address = self.read_event(run, "start")["inspect"]
        self.read_event(run, "epoch")

        def servers():
            return json.loads(self.troupe("inspect", address, "staleness", "--json").out)["servers"]

        def held():
            return [(w["worker"], w["waits_for"]) for s in servers() for w in s["workers"] if w["waits_for"] is not None]
        self.eventually(lambda: any(waits_for == 2 and worker != 2 for worker, waits_for in held()), "a worker that waits for 2")
        return run, address, servers

    def test_replicas_that_all_wait_for_one_say_for_which(self):
        ssp = "{parameter_server: {consistency: {ssp: {staleness: 2}}}}"
        for sync in ("{parameter_server: {consistency: bsp}}", "{elastic_averaging: {period: 2, synchronous: true}}"):
            with self.subTest(sync=sync):
                run, _, _ = self.run_that_waits_for_the_slow_replica(SERVER.replace(ssp, sync))
                run.terminate()
                self.assertEqual(self.finish(run, 15).code, 143)

    def test_a_read_that_is_held_says_which_worker_it_waits_for(self):
        _, address, servers = self.run_that_waits_for_the_slow_replica(SERVER)
        for server in servers():
            self.assertEqual([w["worker"] for w in server["workers"]], [0, 1, 2])
            self.assertGreater(sum(sum(w["versions_late"]) for w in server["workers"]), 16)
        text = self.troupe("inspect", address, "staleness").out
        self.assertIn("shard-0.2", text)
        followed = self.troupe("inspect", address, "follow", "minibatch=next")
        self.assertEqual(followed.code, 0, str(followed))
        self.assertNotIn("not complete", followed.err)
        self.assertIn("then fetched version", followed.out)

    def test_the_path_of_a_replicas_minibatch_is_whole(self):
        app = SERVER[:SERVER.index("  sync")] + "  sync: all_reduce\n"
        run = self.start("run", self.app(app), "--nodes", 3, "--json")
        address = self.read_event(run, "start")["inspect"]
        self.read_event(run, "epoch")
        for _ in range(4):      # of several replicas, most likely
            followed = self.troupe("inspect", address, "follow", "minibatch=next", "--json")
            self.assertEqual(followed.code, 0, str(followed))
            self.assertTrue(json.loads(followed.out)["complete"], followed.out)


class Inspect(TroupeTest):
    def setUp(self):
        super().setUp()
        self.run_process = self.start("run", self.app(LONG), "--nodes", 2, "--json")
        start = self.read_event(self.run_process, "start")
        self.address, self.run_name = start["inspect"], start["run"].removeprefix("0x")
        self.read_event(self.run_process, "epoch")

    def inspect(self, *words):
        result = self.troupe("inspect", self.address, *words)
        self.assertEqual(result.code, 0, str(result))
        return result

    def name(self, role):
        return f"{self.run_name}/{role}"

    def lines(self, *words):
        events = [json.loads(line) for line in self.inspect(*words, "--json").out.splitlines()]
        return [event for event in events if event["event"] == "message"]

    def test_actors_of_all_nodes_are_listed(self):
        text = self.inspect("actors").out
        for name in (*map(self.name, ("trainer", "data-source", "stage-0", "stage-1")), "node-0", "node-1"):
            self.assertIn(name, text)

    def test_the_devices_of_stages_are_seen_to_work(self):
        nodes = json.loads(self.inspect("actors", "--json").out)["nodes"]
        shares = {actor["name"]: actor["device_busy_share"] for node in nodes for actor in node["actors"]}
        for stage in ("stage-0", "stage-1"):
            self.assertGreater(shares[self.name(stage)], 0.001, shares)
        self.assertEqual(shares[self.name("trainer")], 0)
        pools = [pool for node in nodes if node["name"] == "node-1" for pool in node["memory"]]
        self.assertEqual([pool["name"] for pool in pools], ["cpu:0", "io", "network"])
        self.assertGreater(pools[0]["system_allocations"], 0)
        self.assertGreaterEqual(pools[0]["bytes_reserved"], pools[0]["bytes_in_use_peak"])

    def test_tail_shows_only_what_the_filter_wants(self):
        whole = self.name("stage-1")
        for actor in ("stage-1", whole, "node-1/stage-1", f"node-1/{whole}"):
            with self.subTest(actor=actor):
                messages = self.lines("tail", "type=Activation", f"actor={actor}", "--count", 20)
                self.assertEqual(len(messages), 20)
                for message in messages:
                    self.assertEqual((message["type"], message["to"]["name"]), ("Activation", whole), message)

    def test_tail_filters_by_any_field_of_the_body(self):
        messages = self.lines("tail", "type=EvaluationBatch", "batch=2", "--count", 3)  # one of each epoch
        self.assertEqual(len(messages), 3)
        for message in messages:
            self.assertIn("batch = 2", message["body"])

    def test_tail_filters_by_minibatch(self):
        _, address = self.node()
        tail = self.start("inspect", address, "tail", "type=Activation", "actor=stage-0", "minibatch=5", "--count", 1, "--json")
        self.assertIn("no run is active", tail.stderr.readline())  # it is open
        self.start("run", self.app(LONG), "--cluster", address)
        self.assertEqual(json.loads(self.finish(tail).out.splitlines()[0])["minibatch"], 5)

    def test_tail_filters_by_sender_and_node(self):
        for message in self.lines("tail", "from=stage-0", "node=node-1", "--count", 5):
            self.assertEqual((message["from"]["name"], message["to"]["name"]), (self.name("stage-0"), self.name("stage-1")), message)

    def test_tail_shows_a_weight_version_only_where_there_is_one(self):
        for sender, shown in (("data-source", False), ("stage-0", True)):
            message = self.lines("tail", "type=Activation", f"from={sender}", "--count", 1)[0]
            self.assertEqual("weightVersion" in message["body"], shown, message)

    def test_help_lists_the_conditions_of_tail(self):
        shown = self.troupe("inspect", "--help").out
        for part in ("type=", "actor=", "node=", "from=", "minibatch=", "FIELD=VALUE", "follow minibatch=N"):
            self.assertIn(part, shown)

    def test_follow_shows_equal_weight_versions_forward_and_backward(self):
        text = self.inspect("follow", "minibatch=next").out
        for part in ("stage-0", "stage-1", "forward", "backward", "equal"):
            self.assertIn(part, text)

    def test_follow_work_shows_all_messages_and_device_work_of_a_minibatch_in_order(self):
        path = json.loads(self.inspect("follow", "work=next", f"run={self.run_name}", "--json").out)
        what = [step["what"] for step in path["steps"]]
        for stage in ("stage-0", "stage-1"):
            done = [step["what"] for step in path["steps"] if step["kind"] == "device" and step["to"]["name"] == self.name(stage)]
            self.assertEqual(done, ["forward", "backward", "update"], path)
        self.assertLess(what.index("Activation"), what.index("Gradient"), what)
        self.assertLess(path["total_ns"], 60e9)    # of one minibatch, not since the start of the machine

    def interrupt_when_it_waits(self, *words):
        process = self.start("inspect", self.address, *words, "--json")
        line = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        result = self.finish(process, 10)
        self.assertIn("stop with Ctrl-C", line)
        return line, result.out

    def test_a_view_that_waits_says_for_what(self):
        line, out = self.interrupt_when_it_waits("follow", "minibatch=99999999")
        self.assertRegex(line, r"waiting for minibatch 99999999; the run is at minibatch \d+; ")
        self.assertEqual(out, "")
        line, out = self.interrupt_when_it_waits("tail", "minibatch=0")
        self.assertRegex(line, "waiting for messages with minibatch=0; .*: follow minibatch=0$")
        self.assertEqual([json.loads(event)["event"] for event in out.splitlines()], ["end"])

    def test_without_a_run_a_view_says_so(self):
        _, address = self.node()
        self.assert_one_line_error(self.troupe("inspect", address, "follow", "minibatch=3"), 1, "no run is active")
        self.assert_one_line_error(self.troupe("inspect", address, "follow", "minibatch=next"), 1, "no run is active")
        self.address = address
        self.assertIn("no run is active", self.interrupt_when_it_waits("tail", "type=Activation")[0])

    def test_a_tail_looks_at_the_nodes_of_the_next_run(self):
        _, address = self.node()
        tail = self.start("inspect", address, "tail", "type=MinibatchDone", "--count", 1, "--json")
        self.assertIn("no run is active", tail.stderr.readline())
        self.start("run", self.app(LONG), "--cluster", address)
        shown = json.loads(self.finish(tail, 20).out.splitlines()[0])
        self.assertRegex(shown["to"]["name"], "^[0-9a-f]{8}/trainer$")

    def test_an_exported_trace_obeys_the_viewers_rules(self):
        self.inspect("export", "trace.json", "--seconds", "0.5")
        checked = subprocess.run([sys.executable, SOURCE / "tests/interop/validate_trace.py",
                                  self.folder / "trace.json"], capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_the_trace_of_a_run_that_is_over_names_its_actors(self):
        result = self.troupe("run", self.app(), "--nodes", 2, "--trace", "t.json")
        self.assertEqual(result.code, 0, str(result))
        events = json.loads((self.folder / "t.json").read_text())["traceEvents"]
        names = {e["args"]["name"] for e in events if e["name"] == "thread_name"}
        self.assertLessEqual({"trainer", "data-source", "stage-0", "stage-1"}, {name.split("/")[-1] for name in names})

    def test_a_run_over_tcp_is_traced_over_tcp(self):
        result = self.troupe("run", self.app(), "--nodes", 2, "--transport", "tcp", "--trace", "t.json")
        self.assertEqual(result.code, 0, str(result))
        self.assertTrue(json.loads((self.folder / "t.json").read_text())["traceEvents"])

    def test_an_unknown_view_type_or_field_is_a_one_line_error(self):
        for words, named in ((["fly"], "fly"), (["tail", "type=Pigeon"], "Pigeon"), (["follow"], "follow"),
                             (["tail", "type=Activation", "wings=2"], "wings"), (["tail", "wings=2"], "wings"),
                             (["tail", "weightVersoin=2"], "weightVersion"), (["tail", "microbatch=x"], "microbatch"),
                             (["tail", "type=Activatoin"], 'did you mean "Activation"'),
                             (["tail", "from=stage-9"], "stage-0"), (["tail", "node=node-9"], "node-1")):
            with self.subTest(words=words):
                self.assert_one_line_error(self.troupe("inspect", self.address, *words), 2, named)


if __name__ == "__main__":
    main()
