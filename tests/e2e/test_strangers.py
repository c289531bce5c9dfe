"""Crowds of strangers at the port of a node that has a key: it answers others meanwhile, and grows by nothing.

TROUPE_STRANGERS=1000000 has so many of them."""

import concurrent.futures
import os
import pathlib
import random
import re
import select
import socket
import struct
import threading
import time

from support import TroupeTest, main

STRANGERS = int(os.environ.get("TROUPE_STRANGERS", 4000))
AT_ONCE = 48                    # fewer than a node lets wait, so that the last ones are looked at as well
CROWD = "127.0.0.2"             # another address than that of who asks meanwhile
PAUSE = 0.002                   # between the pieces of those that are slow, in seconds
MAGIC = 0xCAFEBABE12345678      # with which UCX 1.13 greets over TCP


def connected(address, origin="127.0.0.1"):
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_BIND_ADDRESS_NO_PORT, 1)
    s.bind((origin, 0))
    s.connect(address)
    return s


class Recorder(threading.Thread):
    """Stands between a command and a node, and keeps what the command has sent first."""

    def __init__(self, node):
        super().__init__(daemon=True)
        self.node, self.opening = node, b""
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.address = "%s:%d" % self.listening.getsockname()

    def run(self):
        while True:
            near, _ = self.listening.accept()
            threading.Thread(target=self.relay, args=(near, connected(self.node)), daemon=True).start()

    def relay(self, near, far):
        while True:
            for s in select.select([near, far], [], [])[0]:
                data = s.recv(65536)
                if not data:
                    near.close(), far.close()
                    return
                if s is near and not self.opening:
                    self.opening = data
                (far if s is near else near).sendall(data)


class Strangers(TroupeTest):
    def state(self, node):
        """Memory in kB, and open files."""
        status = pathlib.Path(f"/proc/{node.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]), len(os.listdir(f"/proc/{node.pid}/fd"))

    def kinds(self, opening):
        """What strangers say, by the name of the kind."""
        draw = random.Random(7)
        altered = bytearray(opening)
        altered[draw.randrange(8, len(altered))] ^= 1 << draw.randrange(8)
        put = struct.pack("<QBQQ", MAGIC, 5, 0x7f0000000000, 8) + b"\xff" * 8
        return {
            "nothing": lambda: b"",
            "garbage": lambda: draw.randbytes(draw.randrange(1, 400)),
            "UCX's magic and a put": lambda: put,
            "UCX's magic and garbage": lambda: struct.pack("<Q", MAGIC) + draw.randbytes(64),
            "half an opening": lambda: opening[:draw.randrange(1, len(opening))],
            "an altered opening": lambda: bytes(altered),
            "a recorded opening": lambda: opening,
            "a recorded opening and more": lambda: opening + draw.randbytes(200),
            "another program": lambda: b"GET / HTTP/1.1\r\nHost: node\r\n\r\n",
        }

    def crowd(self, address, said, slow):
        strangers = [connected(address, CROWD) for _ in said]
        for s in strangers:
            s.setblocking(False)
        for piece in (slice(0, 1), slice(1, 2), slice(2, None)) if slow else (slice(None),):
            for s, data in zip(strangers, said):
                try:
                    s.send(data[piece])
                except OSError:
                    pass  # it has been closed already
            time.sleep(PAUSE if slow else 0)
        for s in strangers:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # no port is left waiting
            s.close()

    def test_no_number_of_them_changes_a_node(self):
        key = self.write("key", "a key that is long enough\n")
        os.chmod(key, 0o600)
        node, address = self.node("--key", key)
        host, port = address.rsplit(":", 1)
        recorder = Recorder((host, int(port)))
        recorder.start()
        self.assertEqual(self.troupe("status", recorder.address, "--key", key).code, 0)
        kinds = list(self.kinds(recorder.opening).values())
        draw = random.Random(11)

        def come(count):
            for _ in range(0, count, AT_ONCE):
                self.crowd((host, int(port)), [draw.choice(kinds)() for _ in range(AT_ONCE)], draw.random() < 0.2)

        come(2000)  # until what is kept for later has its size
        self.eventually(lambda: self.state(node)[1] < 60, "connections are closed")
        memory, files = self.state(node)
        begun, asked, slowest = time.monotonic(), 0, 0.0
        with concurrent.futures.ThreadPoolExecutor() as others:
            coming = others.submit(come, STRANGERS)
            while not coming.done():
                before = time.monotonic()
                status = self.troupe("status", address, "--key", key)
                self.assertEqual(status.code, 0, str(status))
                asked, slowest = asked + 1, max(slowest, time.monotonic() - before)
                concurrent.futures.wait([coming], 0.5)
            coming.result()
        rate = STRANGERS / (time.monotonic() - begun)
        self.eventually(lambda: self.state(node)[1] <= files, "connections are closed")
        self.assertLess(self.state(node)[0], memory + 2048)
        print(f"{STRANGERS} strangers, {rate:.0f} a second: {memory} kB and {files} files before, {self.state(node)[0]} kB "
              f"and {self.state(node)[1]} files after; {asked} times status meanwhile, in {slowest:.2f} s at most")
        status = self.troupe("status", address, "--key", key)
        self.assertEqual(status.code, 0, str(status))
        self.assertIsNone(node.poll())


if __name__ == "__main__":
    main()
