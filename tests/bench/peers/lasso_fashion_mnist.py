"""The Lasso on Fashion-MNIST, one label against the rest, by what Python and R have for it: one penalty, or a path of them.

    lasso_fashion_mnist.py SOLVER [--label 6] [--share 0.01 | --path 100] [--dtype float64] [--tol 5e-7]

SOLVER: "gram" (scikit-learn with the products of all columns), "columns" (scikit-learn without), "celer", "skglm" (its
coordinate descent on the products of all columns, greedy; one penalty), "glmnet-covariance" and "glmnet-naive" (of R; a path),
"adelie" (by columns). Penalties are shares of the
smallest one at which all coefficients are 0. What is timed is the fit on arrays in memory, in the order and of the type that it
wants, which it may overwrite. Prints {"event": "fitted", "seconds": ...}, and then, computed afterwards, {"event": "judged",
"gap": ...}: the largest duality gap, as a share of the objective without coefficients, in float64.

--tol is the solver's own. 5e-7 of scikit-learn and celer is a gap of 1e-6 of that objective.
"""
import argparse
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings

from pytorch_common import DATA_FOLDER, has_avx512, read_idx

if sys.prefix == "/usr":
    if has_avx512():    # Debian 12's OpenBLAS takes a newer processor than it knows for one of 2004
        os.environ.setdefault("OPENBLAS_CORETYPE", "SKYLAKEX")
else:
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):      # the release knows the processor
        os.environ.pop(name, None)

import numpy


class Problem:
    def __init__(self, label):
        self.pixels = read_idx(f"{DATA_FOLDER}/train-images-idx3-ubyte.gz").reshape(60000, -1)
        self.targets = (read_idx(f"{DATA_FOLDER}/train-labels-idx1-ubyte.gz") == label).astype("f8")
        self.rows = len(self.targets)
        self.x = self.columns()
        y = self.targets - self.targets.mean()
        self.products = self.x.T @ y            # of centred columns, too, as y is centred
        self.null = y @ y / 2
        self.size_max = abs(self.products).max() / self.rows

    def columns(self):
        return numpy.asfortranarray(self.pixels.astype("f8") / 255)

    def take(self, dtype, is_centred):
        """The columns and the targets, for the fit to overwrite."""
        x, y = self.x, self.targets
        del self.x
        if is_centred:
            x -= x.mean(axis=0)
            y = y - y.mean()
        return x.astype(dtype, order="F", copy=False), y.astype(dtype)

    def gaps(self, sizes, coefficients):
        x = self.columns()
        x -= x.mean(axis=0)
        gram = x.T @ x
        for size, b in zip(sizes, coefficients):
            gradient = self.products - gram @ b
            l1 = self.rows * size
            c = min(1, l1 / abs(gradient).max())
            square = 2 * self.null - b @ self.products - b @ gradient
            yield (square / 2 * (1 - c) ** 2 + l1 * abs(b).sum() - c * b @ gradient) / self.null


class Fit:
    """fit(): what is timed, unless it returns the seconds by a clock of its own. coefficients(): a row for each size."""

    def __init__(self, problem, sizes, options):
        self.problem, self.sizes, self.options = problem, sizes, options
        self.x, self.y = problem.take(options.dtype, self.is_centred())

    def is_centred(self):
        return len(self.sizes) > 1      # paths know no intercept

    def warm_up(self):
        pass


class ScikitLearn(Fit):
    version = staticmethod(lambda: "scikit-learn " + __import__("sklearn").__version__)

    def fit(self):
        from sklearn.linear_model import Lasso, lasso_path
        gram = self.options.solver == "gram"
        if len(self.sizes) > 1:
            _, self.found, _ = lasso_path(self.x, self.y, alphas=self.sizes, precompute=gram, tol=self.options.tol,
                                          max_iter=self.options.passes, copy_X=False)
            return
        self.model = Lasso(alpha=self.sizes[0], precompute=gram, tol=self.options.tol, max_iter=self.options.passes,
                           copy_X=False)
        self.model.fit(self.x, self.y)

    def warm_up(self):
        import sklearn.linear_model     # noqa: F401

    def coefficients(self):
        return self.found.T if len(self.sizes) > 1 else self.model.coef_[None]


class Celer(Fit):
    version = staticmethod(lambda: "celer " + __import__("celer").__version__)

    def fit(self):
        import celer
        if len(self.sizes) > 1:
            _, self.found, _ = celer.celer_path(self.x, self.y, "lasso", alphas=self.sizes, tol=self.options.tol)
            return
        self.found = celer.Lasso(alpha=self.sizes[0], tol=self.options.tol).fit(self.x, self.y).coef_[:, None]

    def warm_up(self):
        import celer
        celer.Lasso(alpha=self.sizes[0]).fit(numpy.asfortranarray(self.x[:500]), self.y[:500])

    def coefficients(self):
        return self.found.T


class Skglm(Fit):
    version = staticmethod(lambda: "skglm " + __import__("skglm").__version__)

    def is_centred(self):
        return True                     # its solver with products knows no intercept

    def fit_to(self, x, y, size):
        from skglm.penalties import L1
        from skglm.solvers import GramCD
        solver = GramCD(tol=self.options.tol, max_iter=self.options.passes, fit_intercept=False)
        self.found, _, _ = solver.solve(x, y, None, L1(size))

    def fit(self):
        self.fit_to(self.x, self.y, self.sizes[0])

    def warm_up(self):
        self.fit_to(numpy.asfortranarray(self.x[:2000]), self.y[:2000], self.problem.size_max / 2)

    def coefficients(self):
        return self.found[None]


class Glmnet(Fit):
    version = staticmethod(lambda: "glmnet " + subprocess.run(
        ["Rscript", "-e", "cat(as.character(packageVersion('glmnet')))"], capture_output=True, text=True, check=True).stdout)
    SCRIPT = """
        suppressMessages(library(glmnet))
        at <- commandArgs(trailingOnly = TRUE)
        read <- function(name, n) readBin(file.path(at[1], name), "double", n)
        x <- matrix(read("x", 60000 * 784), 60000, 784); y <- read("y", 60000); sizes <- read("sizes", as.integer(at[2]))
        seconds <- system.time(fit <- glmnet(x, y, lambda = sizes, standardize = FALSE, type.gaussian = at[4],
                                             thresh = as.double(at[3]), maxit = 1e7))["elapsed"]
        found <- as.matrix(fit$beta)
        writeBin(as.vector(found), file.path(at[1], "found"))
        cat(seconds, ncol(found))
    """

    def is_centred(self):
        return False

    def fit(self):
        with tempfile.TemporaryDirectory() as folder:
            self.x.T.tofile(f"{folder}/x")
            self.y.tofile(f"{folder}/y")
            numpy.asarray(self.sizes, "f8").tofile(f"{folder}/sizes")
            done = subprocess.run(["Rscript", "-e", self.SCRIPT, folder, str(len(self.sizes)), str(self.options.tol),
                                   self.options.solver.removeprefix("glmnet-")],
                                  capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(done.stderr.strip())
            seconds, found = done.stdout.split()
            self.found = numpy.fromfile(f"{folder}/found", "f8").reshape(int(found), 784)
        return float(seconds)           # its own clock: without the files

    def coefficients(self):
        return self.found


class Adelie(Fit):
    version = staticmethod(lambda: "adelie " + importlib.metadata.version("adelie"))

    def is_centred(self):
        return False

    def fit_to(self, x, y, sizes):
        import adelie
        self.found = adelie.grpnet(x, adelie.glm.gaussian(y, dtype=x.dtype.type), lmda_path=numpy.asarray(sizes, x.dtype),
                                   tol=self.options.tol, adev_tol=1, early_exit=False, progress_bar=False,
                                   n_threads=os.cpu_count()).betas

    def fit(self):
        self.fit_to(self.x, self.y, self.sizes)

    def warm_up(self):
        self.fit_to(numpy.asfortranarray(self.x[:500]), self.y[:500], [self.problem.size_max / 2])

    def coefficients(self):
        return self.found.toarray()


SOLVERS = {"gram": ScikitLearn, "columns": ScikitLearn, "celer": Celer, "skglm": Skglm, "glmnet-covariance": Glmnet,
           "glmnet-naive": Glmnet, "adelie": Adelie}


def blas():
    """What NumPy computes products with: its kernels and threads."""
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return ""
    return ", ".join(sorted({f"{i['internal_api']} {i.get('architecture', '')}, {i['num_threads']} threads"
                             for i in threadpool_info() if i["user_api"] == "blas"}))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("solver", choices=sorted(SOLVERS))
    parser.add_argument("--label", type=int, default=6)
    parser.add_argument("--share", type=float, default=0.01)
    parser.add_argument("--path", type=int, default=1, help="so many penalties, down to a thousandth")
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float64")
    parser.add_argument("--tol", type=float, default=5e-7)
    parser.add_argument("--passes", type=int, default=1000000)
    return parser.parse_args()


def main():
    options = arguments()
    problem = Problem(options.label)
    shares = numpy.geomspace(1, 0.001, options.path) if options.path > 1 else numpy.array([options.share])
    fit = SOLVERS[options.solver](problem, problem.size_max * shares, options)
    fit.warm_up()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        before = time.perf_counter()
        seconds = fit.fit()
        seconds = time.perf_counter() - before if seconds is None else seconds
    print(json.dumps({"event": "fitted", "seconds": seconds, "version": fit.version(), "blas": blas(),
                      "warnings": [str(w.message).split(".")[0] for w in warned][:1]}), flush=True)
    found = numpy.asarray(fit.coefficients(), "f8")
    print(json.dumps({"event": "judged", "gap": max(problem.gaps(fit.sizes, found)), "penalties": len(found),
                      "nonzeros": int(numpy.count_nonzero(found[-1]))}))


if __name__ == "__main__":
    main()
