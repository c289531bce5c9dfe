"""The benchmark "accuracy": what each app of apps/fashion_mnist comes to on the test images, over several seeds, beside `single`;
and the table of these figures in the app's README, which --write makes anew."""
import json
import pathlib
import re
import shlex
import subprocess
import sys

import contenders
from measuring import Contender, Figures, Skip, interleave
from tables import Row, Table, facts

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from shipped_apps import place_of  # noqa: E402

FOLDER = pathlib.Path(contenders.APP)
README = FOLDER / "README.md"
BESIDE = "single"
SEEDS = 3
PORT = 47811        # of the first node where the program does not start its own
ROW = re.compile(r"^\| `(?P<name>\w+)\.yaml` \| (?P<topology>.*?) \|.*$", re.MULTILINE)
MADE = re.compile(r"^Accuracies are .*\n(?:.+\n)*", re.MULTILINE)     # the paragraph that says how
HEAD = "| file | topology | test accuracy | range | beside `single` |\n|---|---|---|---|---|"
HEADING = re.compile(r"^\| file \| topology \|.*\n\|[-|]*\|$", re.MULTILINE)


def name_of(file, seed):
    return f"{file.stem}, seed {seed}"


def app_files(part):
    """The app files of apps/fashion_mnist with this in their names, `single` first; Skip where there is none."""
    files = [file for file in sorted(FOLDER.glob("*.yaml")) if not part or part in file.stem]
    if not files:
        raise Skip(f"no app file of {FOLDER} has {part!r} in its name")
    return sorted(files, key=lambda file: file.stem != BESIDE)


def run_of(build, name, file, settings):
    """One run of an app file on the nodes that it is for: its figures are those of the last epoch."""
    program = contenders.program(build, "tools/troupe/troupe")
    place = place_of(file)
    command = [program, "run", str(file), "--json", *contenders.setting_options(settings)]
    cluster, is_up = None, None
    if place.words() is not None:
        command += place.words()
    else:
        first = f"127.0.0.1:{PORT}"
        node = [program, "node", "--quiet", "--devices", f"cpu:{place.devices}", "--listen"]
        joined = [shlex.join([*node, "127.0.0.1:0", "--join", first])] * (place.nodes - 1)
        # The first one listens by the time that the others look for it.
        cluster = ["sh", "-c", f"{shlex.join([*node, first])} & sleep 0.1; {' & '.join(joined)} & wait"]
        command += ["--cluster", first]

        def is_up():
            status = subprocess.run([program, "status", first, "--json"], capture_output=True, text=True, check=False)
            return status.returncode == 0 and len(json.loads(status.stdout)["nodes"]) == place.nodes

    def read(output):
        epochs = [line for line in contenders.json_lines(output) if line.get("event") == "epoch"]
        if not epochs:
            raise Skip("printed no epoch line")
        return {"test_accuracy": 100 * epochs[-1]["test_accuracy"], "samples_per_second": epochs[-1]["samples_per_second"]}
    return Contender(name, command, read, server=cluster, is_up=is_up, timeout_s=1800)


def trained(options, files, seeds):
    """The outcome of all runs, and the figures by app file of those whose runs have all ended: the others' would flatter."""
    outcome = interleave([run_of(options.build, name_of(file, seed), file, [f"train.seed={seed}", *options.set])
                          for seed in seeds for file in files], 1)
    figures = {}
    for file in files:
        found = [outcome.figures.get(name_of(file, seed), {}).get("test_accuracy") for seed in seeds]
        if all(found):
            figures[file.stem] = Figures([value for figure in found for value in figure.values])
    return outcome, figures


def percent(figures):
    return f"{figures.median:.1f}%", f"{figures.low:.1f} to {figures.high:.1f}"


def beside(figures, single):
    return f"{figures.median - single.median:+.1f}" if single else ""


def with_figures(text, figures, about, seeds):
    """The README's text with these figures in its table. ValueError where an app has no row, or a row no app."""
    rows = {match["name"] for match in ROW.finditer(text)}
    if rows != set(figures):
        raise ValueError("its table and the figures are not of the same app files: "
                         + ", ".join(sorted(rows.symmetric_difference(figures))))

    def row(match):
        median, spread = percent(figures[match["name"]])
        apart = beside(figures[match["name"]], figures[BESIDE])
        return f"| `{match['name']}.yaml` | {match['topology']} | {median} | {spread} | {apart} |"
    made = (f"Accuracies are those after the last epoch, the median and the range of {len(seeds)} seeds, and by how many points the median\n"
            f"differs from that of `{BESIDE}`: made by `troupe bench accuracy --write` on {about['date'][:10]},\n"
            f"{about['processor']}. Where replicas do not wait for each other they differ from run to run, too.\n")
    return MADE.sub(lambda _: made, HEADING.sub(HEAD, ROW.sub(row, text)))


def accuracy(options):
    files = app_files(options.model)
    if options.write and (options.model or options.set):
        raise Skip("--write makes the whole table, of the app files as they are; leave out --model and --set")
    seeds = range(1, options.repetitions + 1)
    outcome, figures = trained(options, files, seeds)
    single = figures.get(BESIDE)
    rows = []
    for name, found in figures.items():
        row = Row(name, found, "%")
        row.extra["beside single"] = beside(found, single)
        rows.append(row)
    table = Table("accuracy", f"Test accuracy of the apps of apps/fashion_mnist over {len(seeds)} seeds", rows, outcome.skipped,
                  outcome.others_busy)
    if options.write:
        try:
            README.write_text(with_figures(README.read_text(encoding="utf-8"), figures, facts(table), seeds), encoding="utf-8")
        except ValueError as why:
            table.notes.append(f"{README} is left as it was: {why}")
    return table
