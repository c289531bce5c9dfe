"""The table "sparse" of the benchmark "scheduled": the Lasso on a made sparse matrix with a million columns, beside skglm and
scikit-learn: seconds, and the memory of all processes."""
import os
import tempfile

import contenders
from measuring import Contender, Skip, interleave
from rotations import made
from scheduled import GAP, WHERE, between, clocked, python_with
from tables import Row, Table, number

AIM, MEMORY_AIM = 0.5, 1.3
WHOLE = {"rows": 100000, "columns": 1000000}
QUICK = {"rows": 10000, "columns": 100000}
# By lambda as a share of the largest: loose powers of ten that reach the gap.
SKGLM_TOL = {0.1: 1e-6, 0.02: 1e-9, 0.005: 1e-9}
SCIKIT_LEARN_TOL = 5e-7
SLOW = ("scikit-learn", "celer")    # at the smaller two lambdas: minutes


def troupe_sparse(name, build, files, share, where, folder):
    settings = [f"data.matrix={{features: {files[0]}, targets: {files[1]}}}",
                f"program.lasso={{penalty: {{share: {share}}}, intercept: false}}", f"stop.gap={GAP}",
                f"result.directory={os.path.join(folder, 'result')}"]

    def read(output):
        events = {line["event"]: line for line in contenders.json_lines(output)}
        return {**between(output), "gap": events["done"]["gap"], "bytes": events["exit"]["memory_bytes"]}
    app = os.path.join(folder, "sparse.json")
    with open(app, "w") as file:
        file.write('{"troupe": 1, "data": {"matrix": {"features": "x"}}, "program": {"lasso": {"penalty": {"share": 1}}}}')
    command = [contenders.program(build, "tools/troupe/troupe"), "run", app, "--json", *where,
               *contenders.setting_options(settings)]
    timed = clocked(command)
    return Contender(name, [*timed[:2], "--memory", *timed[2:]], read, timeout_s=600)


def peer_sparse(name, python, solver, files, share, tol):
    def read(output):
        events = {line["event"]: line for line in contenders.json_lines(output)}
        return {"seconds": events["fitted"]["seconds"], "gap": events["judged"]["gap"]}
    script = os.path.join(contenders.PEERS, "lasso_sparse.py")
    return Contender(name, [python, script, solver, *files, "--share", str(share), "--tol", str(tol)], read, timeout_s=900)


def peers_of(share, files, options, skipped):
    found = []
    for name, module, solver, tol in (("skglm", "skglm", "skglm", SKGLM_TOL[share]),
                                      ("scikit-learn", "sklearn", "columns", SCIKIT_LEARN_TOL),
                                      ("celer", "celer", "celer", SCIKIT_LEARN_TOL)):
        if name in SLOW and (name == "celer" or share < max(SKGLM_TOL)) and not options.full:
            continue
        title = f"lambda {share}, {name}"
        try:
            found.append(peer_sparse(title, python_with(module, options.lasso_venv), solver, files, share, tol))
        except Skip as reason:
            skipped.append(f"{title}: skipped, {reason}")
    return found


def rows_of(figures, data_bytes):
    rows = []
    for name, keys in figures.items():
        row = Row(name, keys["seconds"], "s")
        peer = figures.get(f"{name.split(', ')[0]}, skglm")
        if "bytes" in keys:
            if peer:
                row.peer, row.peer_name, row.aim = peer["seconds"], "skglm", f"<= {AIM}"
            row.extra["memory of data"] = f"{keys['bytes'].median / data_bytes:.2f} (<= {MEMORY_AIM})"
            row.extra["until it starts"] = f"{number(keys['before'].median)} s"
        row.extra["gap"] = f"{keys['gap'].median:.1e}" + (" (!)" if keys["gap"].high > GAP else "")
        rows.append(row)
    return sorted(rows, key=lambda row: list(SKGLM_TOL).index(float(row.name.split(",")[0].split()[1])))


def sparse(options):
    skipped, parts = [], []
    size = QUICK if options.quick else WHOLE
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, name) for name in ("x.npz", "y.npy")]
        facts = made("columns", options, *files, *(word for key, n in size.items() for word in (f"--{key}", str(n))))
        for share in SKGLM_TOL:
            for name, where in WHERE.items():
                parts.append(troupe_sparse(f"lambda {share}, {name}", options.build, files, share, where, folder))
            parts += peers_of(share, files, options, skipped)
        outcome = interleave(parts, options.repetitions)
    return Table("scheduled", f"Lasso on {facts['entries'] / 1e6:.0f} million entries, {facts['rows']} x {facts['columns']}, to a gap "
                 f"of {GAP:g} of the objective without coefficients; lambda as a share of the largest",
                 rows_of(outcome.figures, facts["bytes"]), skipped + outcome.skipped, outcome.others_busy,
                 ["ours: from the start event to the done event, data read and dealt before; peers: the fit on arrays in memory",
                  "memory: of all processes at once, at most, as a share of the values and column numbers; (!): above the gap"])
