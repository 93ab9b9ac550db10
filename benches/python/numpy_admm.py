"""The recursion of compare.py in NumPy, all peers at once, twice: as one would write it, and as quick as can be.

The plain one has the recursion's own variables in flat arrays, precomputed inverses and a sparse product:

    R = C - G + beta (N W + Q),   W = inverses R,   Q = adjacency W,   G <- G + beta (N W - Q).

The tuned one has fewer passes over memory. With P = c - gamma and Q the neighbours' sum of W, a round is

    W = inverses R,   Q = adjacency W,   R <- P + 2 beta Q,   P <- P - beta (N W - Q),

R being the right-hand side c - gamma + beta sum_l (w_i + w_l). There are several ways to write its two products,
and which one is the quickest depends on n: each is tried, and the quickest kept.
"""

import time

import numpy as np
import scipy.sparse as sparse


class Plain:
    def __init__(self, a, c, near, beta):
        n, d = c.shape
        degree = near.shape[1]
        self.c, self.beta, self.degree = c, beta, degree
        self.inverses = np.linalg.inv(a + 2 * beta * degree * np.eye(d))
        self.links = sparse.csr_array((np.ones(near.size), near.ravel(), np.arange(0, near.size + 1, degree)))

    def run(self, rounds):
        """Seconds, and the models in the end."""
        c, beta, degree, inverses, links = self.c, self.beta, self.degree, self.inverses, self.links
        w, q, gamma = np.zeros_like(c), np.zeros_like(c), np.zeros_like(c)
        began = time.perf_counter()
        for _ in range(rounds):
            r = c - gamma + beta * (degree * w + q)
            w = np.einsum("nij,nj->ni", inverses, r)
            q = links @ w
            gamma = gamma + beta * (degree * w - q)
        return time.perf_counter() - began, w


class Tuned:
    def __init__(self, a, c, near, beta):
        n, d = c.shape
        degree = near.shape[1]
        self.c, self.beta, self.degree = c, beta, degree
        inverses = np.linalg.inv(a + 2 * beta * degree * np.eye(d))
        blocks = sparse.bsr_array((inverses, np.arange(n), np.arange(n + 1)), shape=(n * d, n * d))
        links = sparse.csr_array((np.ones(near.size), near.ravel(), np.arange(0, near.size + 1, degree)))
        columns = [np.ascontiguousarray(column) for column in near.T]
        rows = np.ascontiguousarray(inverses.transpose(0, 2, 1))

        def by_columns(r, w):
            np.multiply(rows[:, 0], r[:, :1], out=w)
            for j in range(1, d):
                w += rows[:, j] * r[:, j : j + 1]
            return w

        def gathered(w, q):
            np.take(w, columns[0], axis=0, out=q, mode="clip")
            for column in columns[1:]:
                q += w[column]
            return q

        solves = {
            "matmul": lambda r, w: np.matmul(inverses, r[:, :, None], out=w[:, :, None])[:, :, 0],
            "matvec": lambda r, w: np.matvec(inverses, r, out=w),
            "einsum": lambda r, w: np.einsum("nij,nj->ni", inverses, r, out=w),
            "columns": by_columns,
            "scipy block-diagonal": lambda r, w: (blocks @ r.ravel()).reshape(n, d),
        }
        sums = {
            "scipy sparse": lambda w, q: links @ w,
            "gather and add": gathered,
            "gather and sum": lambda w, q: np.sum(w[near], axis=1, out=q),
            "take and einsum": lambda w, q: np.einsum("nkd->nd", w[near], out=q),
        }
        w, q = np.empty_like(c), np.empty_like(c)
        turns = max(3, 20_000 // n)
        timed = {name: quickest(way, c, w, turns) for name, way in (solves | sums).items()}
        self.solve, self.sum = (min(ways, key=timed.get) for ways in (solves, sums))
        self.way = f"{self.solve}, {self.sum}"
        self.others = ", ".join(f"{name} {1e6 * seconds:.0f} us" for name, seconds in timed.items())
        self.solve, self.sum = solves[self.solve], sums[self.sum]

    def run(self, rounds):
        """Seconds, and the models in the end."""
        solve, total, beta, degree = self.solve, self.sum, self.beta, self.degree
        r, p = self.c.copy(), self.c.copy()
        w, q = np.empty_like(p), np.empty_like(p)
        began = time.perf_counter()
        for _ in range(rounds):
            w = solve(r, w)
            q = total(w, q)
            q *= beta
            # P + 2 beta Q, then P - beta (N W - Q): each array is passed over as seldom as can be.
            np.add(p, q, out=p)
            np.add(p, q, out=r)
            p -= (beta * degree) * w
        return time.perf_counter() - began, w


def quickest(way, given, out, turns):
    """The least seconds of some turns."""
    times = []
    for _ in range(turns):
        began = time.perf_counter()
        way(given, out)
        times.append(time.perf_counter() - began)
    return min(times)
