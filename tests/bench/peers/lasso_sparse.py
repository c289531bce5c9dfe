"""The Lasso on a sparse matrix (made_data.py columns), by what Python has for it: one penalty.

    lasso_sparse.py SOLVER FEATURES.npz TARGETS.npy [--share 0.1] [--tol 1e-6]

SOLVER: "skglm", "celer" or "columns" (scikit-learn). Without intercept. The penalty is a share of the smallest one at which all
coefficients are 0. What is timed is the fit on arrays in memory, by columns and in float64; compiling is not. Prints {"event":
"fitted", "seconds": ...}, and then, computed afterwards, {"event": "judged", "gap": ...}: the duality gap, as a share of the
objective without coefficients, in float64.

--tol is the solver's own.
"""
import argparse
import json
import time
import warnings

import numpy
import scipy.sparse


def scikit_learn(size, tol):
    from sklearn.linear_model import Lasso
    return Lasso(alpha=size, fit_intercept=False, tol=tol, max_iter=1000000, copy_X=False)


def skglm(size, tol):
    from skglm import Lasso
    return Lasso(alpha=size, fit_intercept=False, tol=tol, max_iter=1000)


def celer(size, tol):
    import celer
    return celer.Lasso(alpha=size, fit_intercept=False, tol=tol, max_iter=1000)


SOLVERS = {"columns": scikit_learn, "skglm": skglm, "celer": celer}


def largest(x, y):
    return abs(x.T @ y).max() / len(y)


def gap(x, y, size, b):
    r = y - x @ b
    gradient = x.T @ r
    l1 = len(y) * size
    c = min(1, l1 / abs(gradient).max())
    return (r @ r / 2 * (1 - c) ** 2 + l1 * abs(b).sum() - c * (b @ gradient)) / (y @ y / 2)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("solver", choices=sorted(SOLVERS))
    parser.add_argument("features")
    parser.add_argument("targets")
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--tol", type=float, default=1e-6)
    return parser.parse_args()


def main():
    options = arguments()
    make = SOLVERS[options.solver]
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        few = scipy.sparse.random(200, 100, 0.1, "csc", "f8", 1)
        target = few.sum(axis=1).A1
        make(largest(few, target) / 5, options.tol).fit(few, target)
        x = scipy.sparse.load_npz(options.features).tocsc().astype("f8")
        y = numpy.load(options.targets)
        size = options.share * largest(x, y)
        model = make(size, options.tol)
        before = time.perf_counter(), time.process_time()
        model.fit(x, y)
        seconds, user = time.perf_counter() - before[0], time.process_time() - before[1]
    print(json.dumps({"event": "fitted", "seconds": seconds, "user": user,
                      "warnings": [str(w.message).split(".")[0] for w in warned][:1]}), flush=True)
    print(json.dumps({"event": "judged", "gap": gap(x, y, size, model.coef_), "lambda": size,
                      "nonzeros": int(numpy.count_nonzero(model.coef_))}))


if __name__ == "__main__":
    main()
