#!/usr/bin/env python3
"""Checks a trace file against what Perfetto's JSON importer and Chrome's viewer expect.

    validate_trace.py [--may-be-empty] FILE.json

The rules, from Perfetto's json_trace_parser and the Trace Event Format:
  - every event has the fields that its phase needs; ts and dur are microseconds, not negative;
  - only four metadata names are honoured;
  - slices (X) of one thread are apart or inside each other; the importer cuts at nanoseconds, so they must be after that;
  - an arrow has one start (s) and one end (f) with the same id, name and category, its start not after its end;
  - both lie inside a slice of their thread, and the end says "bp": "e", or it would bind to the next slice;
  - a counter (C) has numbers;
  - every process and thread with slices has a name.
Prints one line per offence, at most 20, and a summary. Exits 0 if the file keeps all rules.
"""

import bisect
import collections
import json
import sys

METADATA = {"process_name", "thread_name", "process_sort_index", "thread_sort_index"}
NEEDED = {
    "X": ("name", "cat", "ts", "dur", "pid", "tid"),
    "s": ("name", "cat", "ts", "pid", "tid", "id"),
    "f": ("name", "cat", "ts", "pid", "tid", "id", "bp"),
    "M": ("name", "pid", "tid", "args"),
    "C": ("name", "ts", "pid", "tid", "args"),
}


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def check_fields(event):
    phase = event.get("ph")
    if phase not in NEEDED:
        return f"unknown phase {phase!r}"
    for field in NEEDED[phase]:
        if field not in event:
            return f"phase {phase} without {field}"
    for field in ("ts", "dur"):
        if field in event and (not is_number(event[field]) or event[field] < 0):
            return f"{field} is {event[field]!r}"
    for field in ("pid", "tid"):
        if not isinstance(event[field], int) or not 0 <= event[field] < 2**31:
            return f"{field} is {event[field]!r}"
    if phase == "M" and event["name"] not in METADATA:
        return f"metadata {event['name']!r} is not honoured by the importer"
    if phase == "C" and not all(is_number(value) for value in event["args"].values()):
        return f"a counter shows {event['args']!r}"
    if phase == "f" and event["bp"] != "e":
        return "an arrow's end would bind to the next slice"
    return None


def nanoseconds(microseconds):
    return int(microseconds * 1000.0)  # as the importer does


def check_nesting(slices):
    """Slices of one thread as (start, end); yields the pairs that overlap without nesting."""
    open_slices = []
    for start, end in sorted(slices, key=lambda s: (s[0], -s[1])):
        while open_slices and open_slices[-1][1] <= start:
            open_slices.pop()
        if open_slices and end > open_slices[-1][1]:
            yield open_slices[-1], (start, end)
        open_slices.append((start, end))


class Track:
    def __init__(self, slices):
        self.slices = sorted(slices)
        self.ends = []  # largest end so far
        for _, end in self.slices:
            self.ends.append(max(end, self.ends[-1]) if self.ends else end)

    def encloses(self, ts):
        last = bisect.bisect_right(self.slices, (ts, float("inf"))) - 1
        return last >= 0 and ts < self.ends[last]


def check_arrows(events, tracks):
    ends = collections.defaultdict(list)
    for event in events:
        if event["ph"] in "sf":
            ends[(str(event["id"]), event["cat"], event["name"])].append(event)
            track = tracks.get((event["pid"], event["tid"]))
            if track is None or not track.encloses(nanoseconds(event["ts"])):
                yield f"arrow {event['id']} {event['ph']} at {event['ts']} lies in no slice of its thread"
    for key, both in ends.items():
        phases = sorted(e["ph"] for e in both)
        if phases != ["f", "s"]:
            yield f"arrow {key} has {phases} instead of one start and one end"
            continue
        start, end = sorted(both, key=lambda e: e["ph"], reverse=True)
        if nanoseconds(start["ts"]) > nanoseconds(end["ts"]):
            yield f"arrow {key} points backwards"


def check_names(events):
    named = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    processes = {e["pid"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    for pid, tid in {(e["pid"], e["tid"]) for e in events if e["ph"] == "X"}:
        if (pid, tid) not in named:
            yield f"thread {tid} of process {pid} has no name"
        if pid not in processes:
            yield f"process {pid} has no name"


def check(trace, may_be_empty):
    if not isinstance(trace, dict) or not isinstance(trace.get("traceEvents"), list):
        yield "there is no list traceEvents"
        return
    events = []
    for event in trace["traceEvents"]:
        problem = check_fields(event) if isinstance(event, dict) else "an event is no object"
        if problem:
            yield f"{problem}: {json.dumps(event)[:200]}"
        else:
            events.append(event)
    slices = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            start = nanoseconds(event["ts"])
            slices[(event["pid"], event["tid"])].append((start, start + nanoseconds(event["dur"])))
    if not slices and not may_be_empty:
        yield "there is not one slice"
    for thread, list_of_slices in slices.items():
        for one, other in check_nesting(list_of_slices):
            yield f"slices {one} and {other} of thread {thread} overlap"
    yield from check_arrows(events, {thread: Track(s) for thread, s in slices.items()})
    yield from check_names(events)


def main():
    arguments = sys.argv[1:]
    may_be_empty = "--may-be-empty" in arguments
    files = [a for a in arguments if not a.startswith("--")]
    if len(files) != 1:
        print(__doc__)
        return 2
    try:
        with open(files[0], encoding="utf-8") as file:
            trace = json.load(file)
    except (OSError, ValueError) as problem:
        print(f"{files[0]}: {problem}")
        return 1
    offences = list(check(trace, may_be_empty))
    print("\n".join(offences[:20]))
    phases = collections.Counter(e.get("ph") for e in trace["traceEvents"]) if not offences else {}
    print(f"{files[0]}: {len(offences)} offences" if offences else
          f"{files[0]}: {phases['X']} slices and {phases['s']} arrows keep the rules; {trace.get('otherData')}")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
