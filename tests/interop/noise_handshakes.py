#!/usr/bin/env python3
"""The handshake between nodes as transport/handshake/handshake.md has it, with the Noise library "dissononce" on the other side.

    tests/interop/noise_handshakes.py PROGRAM      PROGRAM: handshake_bytes of the build folder

Skipped (exit code 77) where the library is not installed.
"""
import hashlib
import os
import struct
import subprocess
import sys

try:
    from dissononce.cipher.chachapoly import ChaChaPolyCipher
    from dissononce.dh.x25519.x25519 import X25519DH
    from dissononce.hash.blake2b import Blake2bHash
    from dissononce.processing.handshakepatterns.interactive.NN import NNHandshakePattern
    from dissononce.processing.impl.cipherstate import CipherState
    from dissononce.processing.impl.handshakestate import HandshakeState
    from dissononce.processing.impl.symmetricstate import SymmetricState
    from dissononce.processing.modifiers.psk import PSKPatternModifier
except ImportError:
    print("skipped: dissononce is not installed (Debian: python3-dissononce)")
    sys.exit(77)

PROGRAM = sys.argv[1]
PREFIX = b"TRPH" + struct.pack("<HBB", 3, 0, 0)
MESSAGE = 8 + 32 + 16
KEY = "a key for the tests"


def noise(initiator, key):
    state = HandshakeState(SymmetricState(CipherState(ChaChaPolyCipher()), Blake2bHash()), X25519DH())
    psk = hashlib.blake2b(key.encode(), digest_size=32, key=b"troupe cluster key").digest()
    state.initialize(PSKPatternModifier(0).modify(NNHandshakePattern()), initiator, PREFIX, psks=(psk,))
    assert state.protocol_name == "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2b", state.protocol_name
    return state


class Side:
    """The program, as the other side of a connection."""
    def __init__(self, side, key=KEY):
        self.process = subprocess.Popen([PROGRAM, side, key], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def read(self, size):
        data = self.process.stdout.read(size)
        assert len(data) == size, (len(data), size, self.process.stderr.read())
        return data

    def message(self):
        data = self.read(MESSAGE)
        assert data[:8] == PREFIX, data[:8]
        return data[8:]

    def end(self):
        out, errors = self.process.communicate(timeout=30)
        return self.process.returncode, out, errors.decode()


def exchanged(side, sending, receiving):
    """Texts of many sizes go there sealed and come back reversed."""
    for number, size in enumerate([1, 15, 16, 17, 1000, 1 << 14] * 50):
        text = bytes((number + i) % 256 for i in range(size))
        sealed = sending.encrypt_with_ad(b"", text)
        side.write(struct.pack("<I", len(sealed)) + sealed)
        length, = struct.unpack("<I", side.read(4))
        assert length == size + 16, (length, size)
        assert receiving.decrypt_with_ad(b"", side.read(length)) == text[::-1], size
    code, out, errors = side.end()
    assert (code, out, errors) == (0, b"", ""), (code, out, errors)


def with_our_acceptor():
    side, state, out = Side("acceptor"), noise(True, KEY), bytearray()
    state.write_message(b"", out)
    side.write(PREFIX + bytes(out))
    text = bytearray()
    sending, receiving = state.read_message(side.message(), text)
    assert text == b""
    exchanged(side, sending, receiving)


def with_our_connector():
    side, state, text = Side("connector"), noise(False, KEY), bytearray()
    state.read_message(side.message(), text)
    assert text == b""
    out = bytearray()
    receiving, sending = state.write_message(b"", out)      # those of the initiator's and of the responder's direction
    side.write(PREFIX + bytes(out))
    exchanged(side, sending, receiving)


def with_other_keys():
    side, state, out = Side("acceptor"), noise(True, KEY + "?"), bytearray()
    state.write_message(b"", out)
    side.write(PREFIX + bytes(out))
    code, said, errors = side.end()
    assert code == 1 and "the keys differ" in errors, (code, errors)
    assert said == b"TRPH" + struct.pack("<HBB", 3, 1, 0) + bytes(48), said
    side = Side("connector")
    assert side.message()
    side.write(said)
    code, _, errors = side.end()
    assert code == 1 and "the keys differ" in errors, (code, errors)


def with_another_version():
    side = Side("connector")
    assert side.message()
    side.write(b"TRPH" + struct.pack("<HH", 1, 0) + os.urandom(32))     # how an acceptor of version 1 begins
    code, _, errors = side.end()
    assert code == 1 and "speaks version 1 of the handshake, this build version 3" in errors, (code, errors)


for check in (with_our_acceptor, with_our_connector, with_other_keys, with_another_version):
    check()
    print(f"{check.__name__.replace('_', ' ')}: ok")
