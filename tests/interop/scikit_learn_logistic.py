#!/usr/bin/env python3
"""What `troupe run` makes of logistic regression with L1 penalties is as good as what scikit-learn makes of it: 1e-6.

    tests/interop/scikit_learn_logistic.py TROUPE       TROUPE: the program

scikit-learn's C is 1 / (lambda n). Objectives are computed here, in float64, from the coefficients and the intercept that
both have found. liblinear would penalise the intercept, so it is the peer of models without one, and saga of the others.
Log losses and accuracies of `troupe evaluate` and probabilities of `troupe predict` are those of the same model here.
Skipped (exit code 77) where python3-sklearn is not installed.
"""
import csv
import dataclasses
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

try:
    import numpy
    import scipy.sparse
    import sklearn.datasets
    from sklearn.linear_model import LogisticRegression
except ImportError as missing:
    print(f"skipped: {missing} (Debian: python3-sklearn)")
    sys.exit(77)

TOLERANCE = 1e-6
GAP = 1e-8              # as a share of the objective without coefficients
DEVICES = ["--devices", "cpu:2"]
NODES = ["--nodes", "2"]


@dataclasses.dataclass
class Problem:
    features: numpy.ndarray         # as in the file: float32
    targets: numpy.ndarray          # 0 and 1
    file: str = "x.npy"
    intercept: bool = True
    ratio: float = 1.0
    classes: tuple = (0, 1)         # in the file

    def lambda_max(self):
        x = self.features.astype("f8")
        errors = self.targets - (self.targets.mean() if self.intercept else 0.5)
        return abs(x.T @ errors).max() / len(x) / self.ratio

    def margins(self, coefficients, intercept):
        return self.features.astype("f8") @ coefficients + intercept

    def log_loss(self, coefficients, intercept):
        signs = 2 * self.targets - 1
        return numpy.logaddexp(0, -signs * self.margins(coefficients, intercept)).mean()

    def objective(self, size, coefficients, intercept):
        penalty = self.ratio * abs(coefficients).sum() + (1 - self.ratio) / 2 * coefficients @ coefficients
        return self.log_loss(coefficients, intercept) + size * penalty

    def peer(self, size):
        """The objective that scikit-learn reaches."""
        x = self.features.astype("f8")
        strength = 1 / (size * len(x))
        if self.ratio == 1 and not self.intercept:
            model = LogisticRegression(penalty="l1", solver="liblinear", C=strength, tol=1e-10, max_iter=100000,
                                       fit_intercept=False)
        else:
            kind = {"penalty": "l1"} if self.ratio == 1 else {"penalty": "elasticnet", "l1_ratio": self.ratio}
            model = LogisticRegression(solver="saga", C=strength, tol=1e-10, max_iter=20000, fit_intercept=self.intercept,
                                       random_state=1, **kind)
        # Not sparse: saga's steps of the intercept would be smaller, and it would not come to the end.
        model.fit(x, self.targets)
        return self.objective(size, model.coef_[0], model.intercept_[0] if self.intercept else 0.0)

    def write(self, folder):
        numpy.save(folder / "y.npy", numpy.where(self.targets == 1, self.classes[1], self.classes[0]).astype("f8"))
        if self.file == "x.npz":
            scipy.sparse.save_npz(folder / self.file, scipy.sparse.csr_matrix(self.features))
        else:
            numpy.save(folder / self.file, self.features)

    def app(self, penalty, schedule):
        return {"troupe": 1, "data": {"matrix": {"features": self.file, "targets": "y.npy"}},
                "program": {"lasso": {"loss": "logistic", "penalty": penalty, "ratio": self.ratio,
                                      "intercept": self.intercept}},
                "schedule": schedule, "stop": {"gap": GAP}, "result": {"directory": "result"}}


def drawn(margins, draw):
    return (draw.random(len(margins)) < 1 / (1 + numpy.exp(-margins))).astype("f8")


def diabetes():
    """442 patients: which are worse than most after a year."""
    x, y = sklearn.datasets.load_diabetes(return_X_y=True)
    return Problem((20 * x).astype("f4"), (y > 200).astype("f8"))


def dense(**more):
    """Correlated columns, of which a tenth count."""
    draw = numpy.random.default_rng(3)
    x = (draw.normal(size=(300, 60)) + 0.7 * draw.normal(size=(300, 1)) + 0.3).astype("f4")
    return Problem(x, drawn(x[:, :6] @ draw.normal(size=6) + 0.5, draw), **more)


def sparse(**more):
    """More columns than rows, one entry of thirty."""
    draw = numpy.random.default_rng(4)
    x = scipy.sparse.random(300, 500, density=0.03, random_state=4, dtype="f4",
                            data_rvs=lambda n: draw.normal(size=n) + 1).toarray().astype("f4")
    return Problem(x, drawn(3 * x[:, ::40] @ draw.normal(size=13) - 0.3, draw), file="x.npz", **more)


def schedule(window=2, workers=2, shards=1, **more):
    return {"dynamic": {"window": window, **more}, "workers": workers, "shards": shards}


class Runs:
    """Runs of one problem in a folder of its own; scikit-learn's objective of each lambda is computed once."""

    def __init__(self, program, folder, name, problem):
        self.program, self.folder, self.name, self.problem = program, folder, name, problem
        self.best = {}
        self.seconds = 0.0
        problem.write(folder)

    def troupe(self, *arguments):
        before = time.monotonic()
        done = subprocess.run([self.program, *arguments], cwd=self.folder, capture_output=True, text=True)
        self.seconds += time.monotonic() - before
        assert done.returncode == 0, f"{self.name}: {arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def run(self, penalty, division, where):
        """The rows of path.csv and of coefficients.npy."""
        (self.folder / "app.yaml").write_text(json.dumps(self.problem.app(penalty, division)))
        self.troupe("run", "app.yaml", "--json", *where)
        with open(self.folder / "result/path.csv", newline="") as file:
            rows = [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]
        return rows, numpy.load(self.folder / "result/coefficients.npy")

    def are_as_good(self, rows, coefficients, what):
        """One line for each that is not, and for each that says another objective than it has."""
        wrong = []
        for row, b in zip(rows, coefficients):
            size = row["lambda"]
            if size not in self.best:
                self.best[size] = self.problem.peer(size)
            best = self.best[size]
            found = self.problem.objective(size, b, row["intercept"])
            # Where scikit-learn has not come to the end, ours is the better one.
            if not (found - best <= TOLERANCE * best and best - found <= 10 * TOLERANCE * best
                    and abs(row["objective"] - found) <= 1e-9 * found
                    and row["nonzeros"] == numpy.count_nonzero(b) and row["gap"] <= GAP):
                wrong.append(f"{self.name}, {what}: {row}: objective {found:.12g}, scikit-learn's {best:.12g}")
        print("\n".join(wrong), end="\n" * bool(wrong), flush=True)
        return not wrong

    def one(self, share, division, where=DEVICES):
        size = share * self.problem.lambda_max()
        rows, coefficients = self.run({"lambda": size}, division, where)
        assert len(rows) == 1 and abs(rows[0]["lambda"] - size) <= 1e-12 * size, rows
        return self.are_as_good([{**rows[0], "lambda": size}], coefficients, f"{division} {' '.join(where)}")

    def path(self, last, division, values=5, where=DEVICES):
        rows, coefficients = self.run({"path": {"count": values, "ratio": last}}, division, where)
        sizes = numpy.array([row["lambda"] for row in rows])
        expected = self.problem.lambda_max() * numpy.geomspace(1, last, values)
        assert sizes.shape == expected.shape and numpy.allclose(sizes, expected, rtol=1e-6), f"{self.name}: {sizes}"
        assert not coefficients[0].any(), coefficients[0]
        return self.are_as_good(rows, coefficients, f"path to {last}, {division} {' '.join(where)}")

    def is_scored(self):
        """Of the run before."""
        with open(self.folder / "result/path.csv", newline="") as file:
            intercept = float(list(csv.DictReader(file))[-1]["intercept"])
        b = numpy.load(self.folder / "result/coefficients.npy")[-1]
        margins = self.problem.margins(b, intercept)
        said = json.loads(self.troupe("evaluate", "app.yaml", "--json").splitlines()[-1])
        self.troupe("predict", "app.yaml", "--out", "predictions.csv", "--force")
        predicted = numpy.loadtxt(self.folder / "predictions.csv", delimiter=",", skiprows=1, ndmin=2)[:, -1]
        good = (abs(said["log_loss"] - self.problem.log_loss(b, intercept)) <= 1e-9
                and abs(said["accuracy"] - ((margins > 0) == (self.problem.targets == 1)).mean()) <= 1e-12
                and numpy.allclose(predicted, 1 / (1 + numpy.exp(-margins)), atol=1e-9))
        if not good:
            print(f"{self.name}: evaluate says {said}", flush=True)
        return good


def of_diabetes(runs):
    yield from (runs.one(share, schedule(window, workers))
                for share in (0.3, 0.01) for window, workers in ((0, 1), (2, 2), (8, 4)))
    yield runs.one(0.1, schedule(shards=3))
    yield runs.is_scored()
    yield runs.path(0.01, schedule(), where=NODES)


def of_others(runs):
    yield from (runs.one(share, schedule(window, workers, shards))
                for share, window, workers, shards in ((0.3, 2, 2, 1), (0.05, 0, 1, 1), (0.05, 2, 4, 1), (0.05, 8, 2, 1),
                                                       (0.1, 2, 2, 3)))
    yield runs.is_scored()
    yield runs.path(0.1, schedule())


CASES = {
    "diabetes": (diabetes(), of_diabetes),
    "dense": (dense(classes=(-1, 1)), of_others),
    "dense, elastic net": (dense(ratio=0.5), of_others),
    "dense, no intercept": (dense(intercept=False), of_others),
    "sparse": (sparse(), of_others),
    "sparse, no intercept, elastic net": (sparse(intercept=False, ratio=0.7), of_others),
}


def main():
    warnings.simplefilter("ignore")     # saga says where it stops before its tolerance
    program = pathlib.Path(sys.argv[1]).resolve()
    all_good = True
    for name, (problem, cases) in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            runs = Runs(program, pathlib.Path(folder), name, problem)
            before = time.monotonic()
            good = list(cases(runs))
            print(f"{'ok' if all(good) else 'WRONG'} {name}: {len(good)} runs, {good.count(False)} wrong; "
                  f"{time.monotonic() - before:.1f} s, of which troupe {runs.seconds:.1f} s", flush=True)
            all_good &= all(good)
    return 0 if all_good else 1


if __name__ == "__main__":
    sys.exit(main())
