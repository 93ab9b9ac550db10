"""A noise-free pass of one-vs-all logistic SGD in NumPy: FOLDER BATCH ETA.

FOLDER has x.npy (n x d) and y.npy (n labels 0, 1, ...). Prints, for each of two ways to write it, its
name, the median seconds of a few turns by the clock and of processors, and the norm of all models in the end: the loop over classes
and batches, and the loop over batches that takes all classes at once.
"""

import sys
import time

import numpy as np


def slopes(y, z):
    """The derivative of ln(1 + exp(-y z)) in z, without overflow."""
    e = np.exp(-np.abs(z))
    return -y * np.where(y * z > 0, e, 1.0) / (1.0 + e)


def loop(x, y, classes, b, eta):
    w = np.zeros((classes, x.shape[1]))
    for k in range(classes):
        yk = np.where(y == k, 1.0, -1.0)
        wk = w[k]
        for start in range(0, len(x), b):
            xb = x[start : start + b]
            wk -= eta * (xb.T @ slopes(yk[start : start + b], xb @ wk)) / len(xb)
    return w


def vectorised(x, y, classes, b, eta):
    w = np.zeros((x.shape[1], classes))
    signs = np.where(y[:, None] == np.arange(classes), 1.0, -1.0)
    for start in range(0, len(x), b):
        xb = x[start : start + b]
        w -= eta * (xb.T @ slopes(signs[start : start + b], xb @ w)) / len(xb)
    return w


folder, b, eta = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
x = np.ascontiguousarray(np.load(folder + "/x.npy"))
y = np.load(folder + "/y.npy")
classes = int(y.max()) + 1
for way, turns in ((loop, 5 if b > 1 else 1), (vectorised, 5 if b > 1 else 3)):
    clock, busy = [], []
    for _ in range(turns):
        began = time.perf_counter(), time.process_time()
        w = way(x, y, classes, b, eta)
        clock.append(time.perf_counter() - began[0])
        busy.append(time.process_time() - began[1])
    medians = [sorted(values)[len(values) // 2] for values in (clock, busy)]
    print(way.__name__, *medians, float(np.linalg.norm(w)))
