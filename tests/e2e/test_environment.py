"""What the environment and the machine around a run may be, and what it makes of them: settings of UCX, little shared memory."""

import contextlib
import json
import os
import subprocess
import unittest

from support import APP, TROUPE, TroupeTest, main

# Synchronous, with a tensor that is sent in one piece and some that are announced first.
WIDE = """\
troupe: 1
data: {synthetic: {train_samples: 256, test_samples: 64, classes: 3}, target: input}
model:
  input: [8]
  layers:
    - linear: {out: 512}
    - relu
    - linear: {out: 8}
  loss: mean_squared_error
train: {batch: 64, epochs: 1, optimizer: {sgd: {learning_rate: 0.01}}}
topology: {pipeline: {schedule: gpipe, microbatches: 2, stages: 2}}
"""
TRANSPORTS = ("auto", "tcp")
# Settings that change how bytes travel, with values that UCX 1.13 by itself answers by a hang, a crash, lost frames or an
# error, and others.
BYTES = [
    *(f"RNDV_THRESH={n}" for n in (0, 1, 64, 256, "inf", "nonsense")), "RNDV_SCHEME=am", "RNDV_SCHEME=nonsense",
    "ZCOPY_THRESH=0", "BCOPY_THRESH=0", "PROTO_ENABLE=y", "MAX_EAGER_LANES=4", "MAX_RNDV_LANES=0", "TLS=nonsense",
    "SHM_DEVICES=nonsense", "MM_SEG_SIZE=256", "MM_FIFO_SIZE=2", "POSIX_SEG_SIZE=256", "POSIX_DIR=/nonexistent",
    "SYSV_SEG_SIZE=1m", "CMA_MAX_IOV=1", "TCP_TX_SEG_SIZE=64", "TCP_TX_SEG_SIZE=1m", "TCP_RX_SEG_SIZE=256",
    "TCP_MAX_CONN_RETRIES=0", "TCP_SNDBUF=1k", "TCP_RCVBUF=1k", "TCP_SYN_CNT=1", "TCP_RX_MAX_BUFS=1", "TCP_PORT_RANGE=1-2",
    "KEEPALIVE_INTERVAL=1ms", "ADDRESS_VERSION=v2", "SOCKADDR_TLS_PRIORITY=nonsense", "MEMTYPE_CACHE=y", "RCACHE_ENABLE=y",
    "USE_MT_MUTEX=y", "UNIFIED_MODE=y", "WARN_UNUSED_ENV_VARS=y", "MEM_MMAP_HOOK_MODE=reloc", "ASYNC_MAX_EVENTS=1",
    "LOG_FILE=/nonexistent/file", "NET_DEVICES=nonsense",
]


class Environment(TroupeTest):
    def trained(self, app, *options, **variables):
        """The result of a run on local nodes with these variables of the environment."""
        result = self.troupe("run", app, "--json", *options, env={**os.environ, **variables})
        self.assertEqual(result.code, 0, str(result))
        for line in result.out.splitlines():
            json.loads(line)
        return result

    def test_settings_of_how_ucx_sends_change_nothing(self):
        app = self.app(WIDE)
        expected = self.trained(app, "--nodes", 2).event("epoch")[0]["test_loss"]
        for setting in BYTES:
            name, value = setting.split("=")
            for transport in TRANSPORTS:
                with self.subTest(setting=setting, transport=transport):
                    result = self.trained(app, "--nodes", 2, "--transport", transport, **{f"UCX_{name}": value})
                    self.assertEqual(result.event("epoch")[0]["test_loss"], expected)
                    noted = any(f"does not use UCX_{name} of the environment" in note for note in result.event("start")[0]["notes"])
                    self.assertEqual(noted, name != "NET_DEVICES")

    def test_what_libraries_print_goes_to_standard_error(self):
        app = self.app()
        for name, value, line in (("UCX_LOG_LEVEL", "info", "UCX  INFO"), ("UCX_LOG_LEVEL", "debug", "UCX  DEBUG"),
                                  ("UCX_LOG_LEVEL", "data", "UCX  DEBUG"), ("ONEDNN_VERBOSE", "1", "onednn_verbose")):
            with self.subTest(name=name, value=value):
                self.assertIn(line, self.trained(app, "--nodes", 2, **{name: value}).err)
        self.assertIn("UCX  INFO", self.trained(app, "--nodes", 2, UCX_LOG_LEVEL="info", UCX_LOG_FILE="stdout").err)

    def test_a_node_says_where_it_listens_whatever_libraries_print(self):
        node = self.start("node", "--listen", "127.0.0.1:0", "--json", env={**os.environ, "UCX_LOG_LEVEL": "debug"})
        self.assertEqual(json.loads(node.stdout.readline())["event"], "listening")


class SharedMemory(TroupeTest):
    def with_shared_memory(self, size, *words):
        """The words of a command in whose /dev/shm so much fits."""
        through = ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs -o size={size} none /dev/shm && exec "$@"', "sh"]
        with contextlib.suppress(FileNotFoundError):
            if subprocess.run([*through, "true"], capture_output=True, check=False).returncode == 0:
                return [*through, *map(str, words)]
        print("skipped: a small /dev/shm: no permission to mount one")
        raise unittest.SkipTest("no permission to mount")

    def start_with(self, size, *words):
        process = subprocess.Popen(self.with_shared_memory(size, TROUPE, *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   stdin=subprocess.DEVNULL, text=True, cwd=self.folder)
        self.started.append(process)
        return process

    def test_a_run_whose_nodes_find_little_goes_on_over_tcp(self):
        app = self.app(WIDE)
        expected = self.troupe("run", app, "--nodes", 2, "--json").event("epoch")[0]["test_loss"]
        for size in ("4k", "1m", "6m", "10m", "16m", "30m"):
            with self.subTest(size=size):
                result = self.finish(self.start_with(size, "run", app, "--nodes", 2, "--json"))
                self.assertEqual(result.code, 0, str(result))
                self.assertEqual(result.event("epoch")[0]["test_loss"], expected)
                self.assertEqual(result.err, "")

    def test_a_node_says_that_it_has_none_and_how_it_gets_more(self):
        _, address = self.node(name="a")
        node = self.start_with("1m", "node", "--listen", "127.0.0.1:0", "--name", "b", "--join", address)
        node.stdout.readline()
        line = node.stderr.readline()
        for part in ("go over TCP", "/dev/shm", "--shm-size"):
            self.assertIn(part, line)

    def test_who_may_use_nothing_else_is_told_what_is_missing(self):
        result = self.finish(self.start_with("1m", "run", self.app(APP), "--nodes", 2, "--transport", "shm"))
        self.assertEqual(result.code, 2, str(result))
        for part in ("no shared memory for a link", "/dev/shm, which has", "--transport tcp"):
            self.assertIn(part, result.err)


if __name__ == "__main__":
    main()
