"""Two hosts on one machine: network namespaces joined by a virtual cable, whose rate can be bounded. Linux; needs root."""

import contextlib
import os
import subprocess
import time


class Unavailable(Exception):
    """They cannot be made here; the text says why."""


def _ip(*arguments):
    return subprocess.run(["ip", *arguments], capture_output=True, text=True)


class TwoHosts:
    """Made by two_hosts(). Hosts are named as there, in its order; each has one device beside its loopback,
    and a second one after second_cable()."""

    def __init__(self, addresses):
        self.addresses = addresses                                                  # host: address
        self.devices = dict(zip(addresses, ("tr-a", "tr-b")))                       # host: device
        self._made = []

    def command(self, host, command):
        """The command that runs `command` on a host."""
        return ["ip", "netns", "exec", host, *map(str, command)]

    def second_cable(self, addresses):
        """Joins the hosts a second time, in another network of 24 bits. The devices of its ends, by host."""
        (a, b), devices = addresses, dict(zip(addresses, ("tr-c", "tr-d")))
        made = _ip("link", "add", devices[a], "netns", a, "type", "veth", "peer", "name", devices[b], "netns", b)
        if made.returncode:
            raise Unavailable(f"network namespaces cannot be joined: {made.stderr.strip()}")
        for host, address in addresses.items():
            _ip("-n", host, "addr", "add", f"{address}/24", "dev", devices[host])
            _ip("-n", host, "link", "set", devices[host], "up")
        return devices

    def third_host(self, name, neighbour, addresses):
        """Joins one more host to `neighbour` alone, which forwards nothing, in another network of 24 bits. `addresses`: those of
        the neighbour's end and of the third host's."""
        made = _ip("netns", "add", name)
        if not made.returncode:
            self._made.append(name)
            made = _ip("link", "add", "tr-e", "netns", neighbour, "type", "veth", "peer", "name", "tr-f", "netns", name)
        if made.returncode:
            raise Unavailable(f"a third host cannot be made: {made.stderr.strip()}")
        for host, device, address in zip((neighbour, name), ("tr-e", "tr-f"), addresses):
            _ip("-n", host, "addr", "add", f"{address}/24", "dev", device)
            _ip("-n", host, "link", "set", device, "up")
        _ip("-n", name, "link", "set", "lo", "up")

    def cut(self, host):
        """Takes the host's end of the cable down."""
        _ip("-n", host, "link", "set", self.devices[host], "down")

    def mend(self, host):
        """Takes the host's end of the cable up again."""
        _ip("-n", host, "link", "set", self.devices[host], "up")

    def bound(self, rate, burst="256kb"):
        """Bounds both directions of the cable, each by itself; rate as tc(8) takes it. May raise Unavailable."""
        for host, device in self.devices.items():
            shaping = self.command(host, ["tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", rate, "burst", burst,
                                          "latency", "50ms"])
            try:
                done = subprocess.run(shaping, capture_output=True, text=True)
            except OSError as failure:
                raise Unavailable(f"a cable cannot be slowed down: {failure.strerror}") from failure
            if done.returncode:
                raise Unavailable(f"a cable cannot be slowed down: {done.stderr.strip()}")

    def _make(self, patience):
        (a, b), devices = self.addresses, self.devices
        for host in self.addresses:
            made = _ip("netns", "add", host)
            if made.returncode:
                raise Unavailable(f"no network namespace can be made (needs root): {made.stderr.strip()}")
            self._made.append(host)
        works = _ip("-n", a, "link", "show", "lo")      # not in a root folder that is no mount point
        if works.returncode == 0:
            works = _ip("link", "add", devices[a], "netns", a, "type", "veth", "peer", "name", devices[b], "netns", b)
        if works.returncode:
            raise Unavailable(f"network namespaces cannot be joined: {works.stderr.strip()}")
        for host, address in self.addresses.items():
            _ip("-n", host, "addr", "add", f"{address}/24", "dev", devices[host])
            _ip("-n", host, "link", "set", devices[host], "up")
            _ip("-n", host, "link", "set", "lo", "up")
        # The kernel takes up to a second to call a new cable running, and UCX uses only what runs.
        deadline = time.monotonic() + 10 * patience
        for host, device in devices.items():
            while "state UP" not in _ip("-n", host, "link", "show", device).stdout:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{device} of {host} is not up")
                time.sleep(0.02)


@contextlib.contextmanager
def two_hosts(addresses, patience=1):
    """`addresses`: of each of two hosts by its name, which no namespace has yet, in one network of 24 bits. Gives
    TwoHosts or raises Unavailable. At the end the namespaces go; what still runs in them loses the cable."""
    hosts = TwoHosts(addresses)
    try:
        hosts._make(patience)
        yield hosts
    except FileNotFoundError as failure:
        if failure.filename != "ip":
            raise
        raise Unavailable("ip is not installed (Debian: iproute2)") from None
    finally:
        for host in hosts._made:
            _ip("netns", "del", host)


def carried_bytes(device):
    """(sent, received) by a device of this process's own namespace since it was made: TCP's payload, and the headers of
    segments before the kernel cuts them for the cable."""
    with open("/proc/self/net/dev") as counters:
        for line in counters:
            name, _, fields = line.partition(":")
            if name.strip() == device:
                return int(fields.split()[8]), int(fields.split()[0])
    raise KeyError(f"no device {device} in this network namespace (process {os.getpid()})")
