"""What nodes with GPUs send to each other when UCX reads and writes in their memory (--gpu-direct).

Needs a UCX that is built with CUDA, which Debian's is not: the folder of its libucp.so.0 in TROUPE_UCX, or what
    python3 -m venv ~/.cache/troupe/ucx && ~/.cache/troupe/ucx/bin/pip install libucx-cu13==1.22.0
leaves. On a machine without a GPU it finds the emulated driver, whose memory nobody else reaches.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys

from support import APP, TroupeTest, main
from test_gpus import EMULATED, missing

CACHED = sorted(pathlib.Path("~/.cache/troupe/ucx").expanduser().glob("lib/python3*/site-packages/libucx/lib"))
UCX = os.environ.get("TROUPE_UCX", str(CACHED[-1]) if CACHED else "")
DRIVER = os.environ.get("TROUPE_EMULATED_DRIVER", "")
PROGRAM = os.environ.get("TROUPE_GPU_TRANSPORT", "")
# Activations of 64 KiB go between the stages.
LARGE = APP.replace("input: [1, 8, 8]", "input: [1, 16, 16]").replace("batch: 32", "batch: 64").replace(
    "{layers: 3}, {layers: 1}", "{layers: 1}, {layers: 3}")


class GpuDirect(TroupeTest):
    def nodes(self, *devices, transport, direct=True):
        """Nodes a, b, ..., a device each; the address of the first."""
        first = ""
        self.processes = []
        for name, device in zip("abc", devices):
            process, address = self.node(
                "--devices", device, "--transport", transport, *(["--join", first] if first else []),
                *(["--gpu-direct"] if direct and device.startswith("cuda") else []), name=name)
            first = first or address
            self.processes.append(process)
        return first

    def end_nodes(self):
        for process in self.processes:
            process.send_signal(signal.SIGINT)
            self.finish(process)

    def losses(self, address, transport):
        run = self.troupe("run", self.app(LARGE), "--cluster", address, "--transport", transport, "--json")
        self.assertEqual(run.code, 0, str(run))
        return [(epoch["train_loss"], epoch["test_loss"]) for epoch in run.event("epoch")]

    def network_memory(self, address, transport):
        """By node: the most bytes that were in use of GPUs' memory for the network."""
        actors = self.troupe("inspect", address, "actors", "--transport", transport, "--json")
        self.assertEqual(actors.code, 0, str(actors))
        return {node["name"]: pool["bytes_in_use_peak"]
                for line in actors.out.splitlines() for node in json.loads(line)["nodes"]
                for pool in node["memory"] if pool["name"] == "cuda:0 network"}

    def test_ucx_keeps_the_contract_with_memory_of_gpus(self):
        if not DRIVER:
            self.skipTest("the machine has a GPU: this is for the emulated driver")
        result = subprocess.run([PROGRAM], capture_output=True, text=True, check=False, timeout=200)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_stages_of_two_nodes_train_the_same_as_by_way_of_the_host(self):
        address = self.nodes("cuda:0", "cuda:0", transport="shm", direct=False)
        expected = self.losses(address, "shm")
        self.assertEqual(self.network_memory(address, "shm"), {})
        self.end_nodes()
        for transport in ("shm", "tcp"):
            with self.subTest(transport=transport):
                address = self.nodes("cuda:0", "cuda:0", transport=transport)
                self.assertEqual(self.losses(address, transport), expected)
                used = self.network_memory(address, transport)
                self.assertEqual(sorted(used), ["a", "b"])
                for node, most in used.items():
                    self.assertGreaterEqual(most, 64 << 10, node)
                self.end_nodes()

    def test_a_stage_on_a_gpu_and_one_on_a_processor_train_the_same(self):
        for devices in (("cuda:0", "cpu:1"), ("cpu:1", "cuda:0")):
            with self.subTest(devices=devices):
                address = self.nodes(*devices, transport="tcp", direct=False)
                expected = self.losses(address, "tcp")
                self.end_nodes()
                address = self.nodes(*devices, transport="tcp")
                self.assertEqual(self.losses(address, "tcp"), expected)
                self.assertEqual(list(self.network_memory(address, "tcp").values()), [0])
                self.end_nodes()

    def test_who_finds_another_ucx_is_told_so(self):
        address = self.nodes("cpu:1", transport="tcp")
        alien = self.troupe("status", address, "--transport", "tcp", env={**os.environ, "LD_LIBRARY_PATH": ""})
        self.end_nodes()
        if alien.code == 0:
            self.skipTest("the system's UCX is of the same version")
        self.assert_one_line_error(alien, alien.code, "it runs UCX 1.", "this side 1.", "LD_LIBRARY_PATH")

    def test_a_node_that_is_killed_takes_no_other_with_it(self):
        for transport in ("shm", "tcp"):
            with self.subTest(transport=transport):
                address = self.nodes("cuda:0", "cuda:0", transport=transport)
                run = self.start("run", self.app(LARGE), "--cluster", address, "--transport", transport, "--json",
                                 "--set", "train.epochs=10000")
                self.read_event(run, "epoch")
                self.processes[1].kill()
                ended = self.finish(run)
                self.assertEqual(ended.code, 3, str(ended))
                self.assertIn("node b is lost: ", ended.err)
                self.assertIn("a  node", self.troupe("status", address, "--transport", transport).out)
                self.processes.pop().wait()
                self.end_nodes()


if __name__ == "__main__":
    if not UCX:
        print("skipped: there is no UCX that is built with CUDA; name the folder of its libucp.so.0 in TROUPE_UCX")
        sys.exit(77)
    if WHY := missing():
        if not (EMULATED and DRIVER):
            print(f"skipped: {WHY}")
            sys.exit(77)
        print(f"on the emulated GPU: {WHY}")
        os.environ["TROUPE_CUDA_MODULE"] = EMULATED
    else:
        DRIVER = ""
    os.environ["LD_LIBRARY_PATH"] = ":".join(p for p in (DRIVER, UCX, os.environ.get("LD_LIBRARY_PATH", "")) if p)
    main()
