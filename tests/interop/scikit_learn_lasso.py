#!/usr/bin/env python3
"""What `troupe run` makes of a Lasso or an elastic net is as good as what scikit-learn makes of it: objectives within 1e-6.

    tests/interop/scikit_learn_lasso.py TROUPE      TROUPE: the program

Objectives are computed here, in float64, from the coefficients and the intercept that both have found, for the columns that
the model sees: with `data.scale: unit_norm` divided by their norms, of the centred ones if there is an intercept.
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

try:
    import numpy
    import scipy.sparse
    import sklearn.datasets
    from sklearn.linear_model import ElasticNet, enet_path
except ImportError as missing:
    print(f"skipped: {missing} (Debian: python3-sklearn)")
    sys.exit(77)

TOLERANCE = 1e-6
TOL = 1e-10             # scikit-learn's: the duality gap as a share of |y|^2
GAP = 1e-9              # ours: as a share of the objective without coefficients
VALUES = 12             # of lambda, in a path
DEVICES = ["--devices", "cpu:2"]
NODES = ["--nodes", "2"]


@dataclasses.dataclass
class Problem:
    features: numpy.ndarray         # as in the file: float32
    targets: numpy.ndarray
    file: str = "x.npy"
    is_scaled: bool = False
    intercept: bool = True
    ratio: float = 1.0

    def columns(self):
        """Those that the model sees, but for the means, which the intercept makes good."""
        x = self.features.astype("f8")
        norms = numpy.linalg.norm(x - x.mean(axis=0) if self.intercept else x, axis=0)
        return x / norms if self.is_scaled else x

    def lambda_max(self):
        x = self.columns()
        centred = (x - x.mean(axis=0), self.targets - self.targets.mean()) if self.intercept else (x, self.targets)
        return abs(centred[0].T @ centred[1]).max() / len(x) / self.ratio

    def objective(self, size, coefficients, intercept):
        errors = self.targets - self.columns() @ coefficients - intercept
        penalty = self.ratio * abs(coefficients).sum() + (1 - self.ratio) / 2 * coefficients @ coefficients
        return errors @ errors / 2 / len(errors) + size * penalty

    def peer(self, size):
        """The objective that scikit-learn reaches."""
        model = ElasticNet(alpha=size, l1_ratio=self.ratio, fit_intercept=self.intercept, tol=TOL, max_iter=1000000)
        x = self.columns()
        model.fit(scipy.sparse.csc_matrix(x) if self.file == "x.npz" else x, self.targets)
        return self.objective(size, model.coef_, model.intercept_)

    def peer_path(self, sizes):
        x = self.columns()
        centred = (x - x.mean(axis=0), self.targets - self.targets.mean()) if self.intercept else (x, self.targets)
        _, coefficients, _ = enet_path(*centred, l1_ratio=self.ratio, alphas=sizes, tol=TOL, max_iter=1000000)
        means = (x.mean(axis=0), self.targets.mean()) if self.intercept else (0 * x[0], 0)
        return [self.objective(size, b, means[1] - means[0] @ b) for size, b in zip(sizes, coefficients.T)]

    def write(self, folder):
        numpy.save(folder / "y.npy", self.targets)
        if self.file == "x.npz":
            scipy.sparse.save_npz(folder / self.file, scipy.sparse.csr_matrix(self.features))
        else:
            numpy.save(folder / self.file, self.features)

    def app(self, penalty, schedule):
        return {"troupe": 1,
                "data": {"matrix": {"features": self.file, "targets": "y.npy"},
                         "scale": "unit_norm" if self.is_scaled else "none"},
                "program": {"lasso": {"penalty": penalty, "ratio": self.ratio, "intercept": self.intercept}},
                "schedule": schedule, "stop": {"gap": GAP}, "result": {"directory": "result"}}


def diabetes():
    """442 patients; columns of very different sizes and means."""
    x, y = sklearn.datasets.load_diabetes(return_X_y=True, scaled=False)
    return Problem(x.astype("f4"), y, is_scaled=True)


def dense(**more):
    """Correlated columns far from 0, of which a tenth count."""
    draw = numpy.random.default_rng(3)
    common = draw.normal(size=(400, 1))
    x = (draw.normal(size=(400, 120)) + 0.7 * common + 3 * draw.random(120)).astype("f4")
    y = x[:, :12] @ draw.normal(size=12) + 0.5 * draw.normal(size=400) + 4
    return Problem(x, y, **more)


def sparse(**more):
    """More columns than rows, one entry of fifty."""
    draw = numpy.random.default_rng(4)
    x = scipy.sparse.random(500, 900, density=0.02, random_state=4, dtype="f4", data_rvs=lambda n: draw.normal(size=n) + 1)
    x = x.toarray().astype("f4")
    x[0, ~x.any(axis=0)] = 1
    y = x[:, ::60] @ draw.normal(size=15) + 0.1 * draw.normal(size=500) + 1
    return Problem(x, y, file="x.npz", **more)


def schedule(window=2, workers=2, shards=1, **more):
    return {"dynamic": {"window": window, **more}, "workers": workers, "shards": shards}


class Runs:
    """Runs of one problem in a folder of its own; scikit-learn's objective of each lambda is computed once."""

    def __init__(self, program, folder, name, problem):
        self.program, self.folder, self.name, self.problem = program, folder, name, problem
        self.best = {}
        self.seconds = 0.0
        problem.write(folder)

    def run(self, penalty, division, where):
        """The rows of path.csv and of coefficients.npy."""
        (self.folder / "app.yaml").write_text(json.dumps(self.problem.app(penalty, division)))
        before = time.monotonic()
        done = subprocess.run([self.program, "run", "app.yaml", "--json", *where], cwd=self.folder, capture_output=True,
                              text=True)
        self.seconds += time.monotonic() - before
        assert done.returncode == 0, \
            f"{self.name}: {penalty} {division} {where}: {done.returncode}\n{done.stdout}{done.stderr}"
        with open(self.folder / "result/path.csv", newline="") as file:
            rows = [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]
        coefficients = numpy.load(self.folder / "result/coefficients.npy")
        assert coefficients.shape == (len(rows), self.problem.features.shape[1]), coefficients.shape
        return rows, coefficients

    def are_as_good(self, rows, coefficients, peers, what):
        """One line for each that is not, and for each that says another objective than it has."""
        wrong = []
        for row, b, best in zip(rows, coefficients, peers):
            found = self.problem.objective(row["lambda"], b, row["intercept"])
            if not (abs(found - best) <= TOLERANCE * best and abs(row["objective"] - found) <= TOLERANCE * found
                    and row["nonzeros"] == numpy.count_nonzero(b) and row["gap"] <= GAP):
                wrong.append(f"{self.name}, {what}: {row}: objective {found:.12g}, scikit-learn's {best:.12g}")
        print("\n".join(wrong), end="\n" * bool(wrong), flush=True)
        return not wrong

    def one(self, share, division, where=DEVICES):
        size = share * self.problem.lambda_max()
        if size not in self.best:
            self.best[size] = self.problem.peer(size)
        rows, coefficients = self.run({"lambda": size}, division, where)
        assert len(rows) == 1 and abs(rows[0]["lambda"] - size) <= 1e-12 * size, rows
        return self.are_as_good(rows, coefficients, [self.best[size]], f"{division} {' '.join(where)}")

    def path(self, last, division, where=DEVICES):
        rows, coefficients = self.run({"path": {"count": VALUES, "ratio": last}}, division, where)
        sizes = numpy.array([row["lambda"] for row in rows])
        expected = self.problem.lambda_max() * numpy.geomspace(1, last, VALUES)
        assert sizes.shape == expected.shape and numpy.allclose(sizes, expected, rtol=1e-6), f"{self.name}: {sizes}"
        what = f"path to {last}, {division} {' '.join(where)}"
        return self.are_as_good(rows, coefficients, self.problem.peer_path(sizes), what)


def of_diabetes(runs):
    yield from (runs.one(share, schedule(window=window)) for share in (0.5, 0.05, 0.002) for window in (0, 2, 8))
    yield from (runs.one(0.02, schedule(workers=workers, shards=shards)) for workers in (1, 2, 4) for shards in (1, 3))
    yield runs.path(0.001, schedule())
    yield runs.path(0.01, schedule(window=8, shards=3), NODES)


def of_dense(runs):
    yield from (runs.one(0.1, schedule(window, workers, shards))
                for window, workers, shards in ((0, 1, 1), (2, 1, 3), (8, 2, 1), (0, 2, 3), (2, 4, 1), (8, 4, 3)))
    yield from (runs.one(0.005, schedule(window, workers=4, shards=3)) for window in (0, 2, 8))
    yield runs.one(0.1, schedule(couple="check", window=0))
    yield runs.one(0.1, {"cyclic": {"window": 2}, "workers": 2})
    yield runs.path(0.001, schedule(shards=3))


def of_sparse(runs):
    yield from (runs.one(share, schedule(window, workers, shards))
                for share, window, workers, shards in ((0.3, 2, 2, 1), (0.05, 0, 1, 3), (0.05, 8, 4, 3), (0.01, 2, 4, 1)))
    yield runs.one(0.05, schedule(shards=3), NODES)
    yield runs.path(0.01, schedule())


def few(runs):
    yield from (runs.one(share, schedule(window, workers=2, shards=shards))
                for share, window, shards in ((0.2, 0, 1), (0.02, 2, 3), (0.02, 8, 1)))
    yield runs.path(0.05, schedule(shards=3))


CASES = {
    "diabetes": (diabetes(), of_diabetes),
    "dense": (dense(), of_dense),
    "dense, no intercept, elastic net": (dense(intercept=False, ratio=0.5), few),
    "dense, unit norm, elastic net": (dense(is_scaled=True, ratio=0.5), few),
    "sparse": (sparse(), of_sparse),
    "sparse, unit norm, elastic net": (sparse(is_scaled=True, ratio=0.5), few),
    "sparse, no intercept": (sparse(intercept=False), few),
}


def main():
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
