"""Writes what passes a network device of this process's own namespace, as tcpdump would: capture.py DEVICE FILE. Prints a line
once it listens; ends with its standard input. Linux; needs root."""

import selectors
import socket
import sys

ALL_PROTOCOLS = 3


def main():
    device, path = sys.argv[1:]
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS)) as wire, open(path, "wb") as out, \
            selectors.DefaultSelector() as ready:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 20)
        wire.bind((device, 0))
        ready.register(wire, selectors.EVENT_READ)
        ready.register(sys.stdin, selectors.EVENT_READ)
        print("listening", flush=True)
        while True:
            for key, _ in ready.select():
                if key.fileobj is sys.stdin:
                    return
                out.write(wire.recv(1 << 18))


main()
