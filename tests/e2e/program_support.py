"""A table whose Lasso is known, for the tests of programs of scheduled parameters."""

import math
import random
import re

from support import TroupeTest

ROWS, COLUMNS = 120, 12
LAMBDA = 0.05
APP = f"""\
troupe: 1
data: {{matrix: {{features: x.csv, target_column: y}}}}
program: {{lasso: {{penalty: {{lambda: {LAMBDA}}}, intercept: false}}}}
schedule: {{dynamic: {{window: 2}}}}
stop: {{gap: 1e-9}}
result: {{directory: result}}
"""


def made_table():
    """Rows of correlated columns, and targets of some of them with noise."""
    draw = random.Random(5)
    rows, targets = [], []
    for _ in range(ROWS):
        common = draw.gauss(0, 1)
        row = [round(draw.gauss(0, 1) + 0.5 * common, 4) for _ in range(COLUMNS)]
        rows.append(row)
        targets.append(round(2 * row[1] - row[4] + 0.5 * row[9] + draw.gauss(0, 0.3), 4))
    return rows, targets


def write_table(folder, rows, targets):
    lines = [",".join([*(f"x{j}" for j in range(COLUMNS)), "y"])]
    lines += [",".join(map(str, [*row, y])) for row, y in zip(rows, targets)]
    (folder / "x.csv").write_text("\n".join(lines) + "\n")


def objective(rows, targets, b):
    errors = [y - sum(x * c for x, c in zip(row, b)) for row, y in zip(rows, targets)]
    return sum(e * e for e in errors) / (2 * len(rows)) + LAMBDA * sum(map(abs, b))


def solved(rows, targets):
    """By plain coordinate descent, far beyond what is asked for."""
    n = len(rows)
    b = [0.0] * COLUMNS
    r = list(targets)
    squares = [sum(row[j] ** 2 for row in rows) for j in range(COLUMNS)]
    for _ in range(500):
        for j in range(COLUMNS):
            z = sum(row[j] * e for row, e in zip(rows, r)) + squares[j] * b[j]
            new = math.copysign(max(abs(z) - n * LAMBDA, 0), z) / squares[j]
            if new != b[j]:
                r = [e + (b[j] - new) * row[j] for row, e in zip(rows, r)]
                b[j] = new
    return b


class ProgramTest(TroupeTest):
    def setUp(self):
        super().setUp()
        self.rows, self.targets = made_table()
        write_table(self.folder, self.rows, self.targets)

    def coefficients(self, folder="result"):
        b = [0.0] * COLUMNS
        lines = (self.folder / folder / "coefficients.csv").read_text().splitlines()
        header = lines[0].split(",")
        for line in lines[1:]:
            fields = dict(zip(header, line.split(",")))
            name = next(v for v in fields.values() if re.fullmatch(r"x\d+", v))
            b[int(name[1:])] = float(line.split(",")[-1])
        return b

    def trained(self, text):
        run = self.troupe("run", self.app(text), "--devices", "cpu:1", "--json")
        self.assertEqual(run.code, 0, str(run))
