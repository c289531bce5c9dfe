"""Factors of ratings by LIBMF or cmfrec, on files of lines USER ITEM RATING.

    factors.py libmf|cmfrec TRAIN TEST [--rank 40] [--penalty 0.05] [--rate 0.1] [--sweeps 20] [--threads 1]

LIBMF: stochastic gradient descent; its held-out RMSE of every sweep is in what it prints, of which the times are taken here,
from the header, which comes when its data are shuffled and laid out. cmfrec: alternating least squares with biases and a
penalty for each rating; what is timed is fit() on arrays in memory, and its RMSE is computed afterwards. Prints {"event":
"loaded", "version": ..., "ratings": ...}, then {"event": "swept", "sweep": ..., "seconds": ..., "rmse": ...}.
"""
import argparse
import importlib.metadata
import json
import os
import sys
import time

import numpy


def say(event, **more):
    print(json.dumps({"event": event, **more}), flush=True)


def version(package):
    return f"{package} {importlib.metadata.version(package)}"


def libmf(train, test, options):
    """Its library prints on the file 1, so that it runs in a child whose file 1 is a pipe."""
    sys.stdout.flush()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writing, 1)
        os.close(reading)
        os.close(writing)
        from libmf import mf
        model = mf.MF(k=options.rank, nr_threads=options.threads, nr_bins=max(20, 2 * options.threads + 1),
                      nr_iters=options.sweeps, lambda_p1=0, lambda_q1=0, lambda_p2=options.penalty, lambda_q2=options.penalty,
                      eta=options.rate)
        model.mf_train_test(train, test)
        sys.stdout.flush()
        os._exit(0)
    os.close(writing)
    begun = None
    with os.fdopen(reading) as lines:
        for line in lines:
            fields = line.split()
            if fields[:1] == ["iter"]:
                begun = time.perf_counter()
            elif begun and len(fields) == 4 and fields[0].isdigit():
                say("swept", sweep=int(fields[0]) + 1, seconds=time.perf_counter() - begun, rmse=float(fields[2]))
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def cmfrec(train, test, options):
    from cmfrec import CMF
    import pandas
    frame = pandas.DataFrame({"UserId": train[:, 0].astype("i4"), "ItemId": train[:, 1].astype("i4"), "Rating": train[:, 2]})
    model = CMF(k=options.rank, lambda_=options.penalty, method="als", scale_lam=True, scale_bias_const=True,
                niter=options.sweeps, nthreads=options.threads, use_float=True, verbose=False, precompute_for_predictions=False,
                random_state=1)
    before = time.perf_counter()
    model.fit(frame)
    seconds = time.perf_counter() - before
    predicted = model.predict(test[:, 0].astype("i4"), test[:, 1].astype("i4"))
    error = numpy.sqrt(numpy.square(numpy.nan_to_num(predicted, nan=float(train[:, 2].mean())) - test[:, 2]).mean())
    say("swept", sweep=options.sweeps, seconds=seconds, rmse=float(error))
    return 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("solver", choices=["libmf", "cmfrec"])
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--rank", type=int, default=40)
    parser.add_argument("--penalty", type=float, default=0.05)
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--sweeps", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def main():
    options = arguments()
    train, test = (numpy.loadtxt(path, dtype="f4") for path in (options.train, options.test))
    say("loaded", version=version(options.solver), ratings=len(train), held_out=len(test))
    return {"libmf": libmf, "cmfrec": cmfrec}[options.solver](train, test, options)


if __name__ == "__main__":
    sys.exit(main())
