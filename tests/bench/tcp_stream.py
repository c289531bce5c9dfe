#!/usr/bin/env python3
"""How many bytes a second plain TCP carries between two hosts, both ways at once; standard library only.

    tcp_stream.py listen ADDRESS                waits for the other and takes part
    tcp_stream.py measure ADDRESS               prints one line of JSON: mb_per_s, of the slower way
"""
import json
import socket
import sys
import threading
import time

PORT = 5201
SECONDS = 1.5
WARM_UP_S = 0.3     # TCP finds its rate, and what the link lets pass at once is used up
BLOCK = 1 << 18


def send(connection):
    block = bytes(BLOCK)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        connection.sendall(block)
    connection.shutdown(socket.SHUT_WR)


def receive(connection):
    """Bytes a second, without the warm-up."""
    block, count, began = bytearray(BLOCK), 0, time.monotonic()
    warm_at, warm_count = began, 0
    while size := connection.recv_into(block):
        count += size
        if warm_at == began and time.monotonic() - began > WARM_UP_S:
            warm_at, warm_count = time.monotonic(), count
    return (count - warm_count) / (time.monotonic() - warm_at)


def both_ways(connection):
    """Bytes a second of the slower way."""
    sender = threading.Thread(target=send, args=[connection])
    sender.start()
    here = receive(connection)
    sender.join()
    return here


def listen(address):
    with socket.create_server((address, PORT)) as server:
        connection, _ = server.accept()
        with connection:
            rate = both_ways(connection)
    with socket.create_server((address, PORT + 1)) as server:       # one more connection, for what was received here
        connection, _ = server.accept()
        with connection:
            connection.sendall(json.dumps(rate).encode())


def connect(address, port, patience_s=10):
    """Waits for the other to listen."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            return socket.create_connection((address, port))
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def measure(address):
    with connect(address, PORT) as connection:
        here = both_ways(connection)
    with connect(address, PORT + 1) as connection, connection.makefile() as answer:
        there = json.load(answer)
    print(json.dumps({"mb_per_s": min(here, there) / 1e6}))


if __name__ == "__main__":
    {"listen": listen, "measure": measure}[sys.argv[1]](sys.argv[2])
