"""One aligned table per benchmark, or the same as JSON: every figure as a median with its range, beside its peer."""
import dataclasses
import datetime
import json
import os
import shlex
import sys


@dataclasses.dataclass
class Row:
    name: str
    figures: object = None          # measuring.Figures
    unit: str = ""
    peer: object = None             # measuring.Figures of what it is compared with
    peer_name: str = ""
    aim: str = ""                   # the limit, in words: "<= 1.3 x peer"
    extra: dict = dataclasses.field(default_factory=dict)       # further columns by heading


@dataclasses.dataclass
class Table:
    benchmark: str
    title: str
    rows: list
    skipped: list
    others_busy: float
    notes: list = dataclasses.field(default_factory=list)


def processor():
    with open("/proc/cpuinfo") as info:
        fields = dict(line.split(":", 1) for line in info if ":" in line and line.split()[0] in ("model", "cpu"))
    names = {key.strip(): value.strip() for key, value in fields.items()}
    return f"{names.get('model name', 'unknown processor')} (model {names.get('model', '?')}), {os.cpu_count()} cores"


def facts(table):
    return {"benchmark": table.benchmark, "date": datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %z"),
            "processor": processor(), "command": shlex.join(["python3", *sys.argv]),
            "others_busy": round(table.others_busy, 3)}


def number(value):
    """Three significant digits at least, no exponents."""
    magnitude = abs(value)
    return f"{value:.0f}" if magnitude >= 100 else f"{value:.1f}" if magnitude >= 10 else f"{value:.3g}"


def cells(row):
    if row.figures is None:
        return {"": row.name}
    peer = {}
    if row.peer is not None:
        peer = {"peer": f"{number(row.peer.median)} ({number(row.peer.low)}..{number(row.peer.high)})",
                "ratio": f"{row.figures.median / row.peer.median:.2f}"}
    return {"": row.name, "median": number(row.figures.median),
            "range": f"{number(row.figures.low)}..{number(row.figures.high)}", "unit": row.unit, **peer,
            "against": row.peer_name, "aim": row.aim, **row.extra}


def print_text(table):
    about = facts(table)
    print(f"{table.title}\n{about['date']}, {about['processor']}\n{about['command']}")
    print(f"other programs used {100 * table.others_busy:.0f}% of the processors meanwhile\n")
    shown = [cells(row) for row in table.rows]
    headings = [key for key in dict.fromkeys(key for row in shown for key in row) if any(row.get(key) for row in shown)]
    widths = {key: max(len(key), *(len(row.get(key, "")) for row in shown)) for key in headings}
    left = {"", "unit", "against", "aim"}
    for row in [{key: key for key in headings}, *shown]:
        print("  ".join(row.get(k, "").ljust(widths[k]) if k in left else row.get(k, "").rjust(widths[k])
                        for k in headings).rstrip())
    for line in [*table.notes, *table.skipped]:
        print(line)
    print(flush=True)


def print_json(table):
    def plain(row):
        values = {"name": row.name, "unit": row.unit, "median": row.figures.median, "min": row.figures.low,
                  "max": row.figures.high, "values": row.figures.values, "aim": row.aim, **row.extra}
        if row.peer is not None:
            values.update(peer=row.peer_name, peer_median=row.peer.median, peer_min=row.peer.low,
                          peer_max=row.peer.high, ratio=row.figures.median / row.peer.median)
        return values
    print(json.dumps({**facts(table), "rows": [plain(row) for row in table.rows if row.figures is not None],
                      "notes": table.notes, "skipped": table.skipped}), flush=True)
