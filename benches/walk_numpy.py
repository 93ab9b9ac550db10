"""A pass of one-vs-all logistic SGD in NumPy: FOLDER KIND BATCH ETA DEVIATION.

FOLDER has x.npy (n x d) and y.npy (n labels 0, 1, ...). Prints, for each way to write it, its name, the median
seconds of a few turns by the clock and of processors, and the norm of all models in the end. Of the kinds `plain`
and `private` (the same with normal noise of that deviation on each update) there are two ways: the loop over
classes and batches, and the loop over batches that takes all classes at once. Of `deep-q` there is one: ten nodes,
each with a model, a net, Adam, a replay memory and epsilon-greedy decisions of its own for each class.
"""

import sys
import time

import numpy as np

NODES, HIDDEN, REPLAY, SAMPLE, TARGET_EVERY, DISCOUNT, RATE = 10, 128, 20, 10, 10, 0.9, 0.01


def slopes(y, z):
    """The derivative of ln(1 + exp(-y z)) in z, without overflow."""
    e = np.exp(-np.abs(z))
    return -y * np.where(y * z > 0, e, 1.0) / (1.0 + e)


def loop(x, y, classes, b, eta, deviation):
    w = np.zeros((classes, x.shape[1]))
    draws = np.random.default_rng(1)
    for k in range(classes):
        yk = np.where(y == k, 1.0, -1.0)
        wk = w[k]
        for start in range(0, len(x), b):
            xb = x[start : start + b]
            wk -= eta * (xb.T @ slopes(yk[start : start + b], xb @ wk)) / len(xb)
            if deviation:
                wk -= deviation * draws.standard_normal(len(wk))
    return w


def vectorised(x, y, classes, b, eta, deviation):
    w = np.zeros((x.shape[1], classes))
    draws = np.random.default_rng(1)
    signs = np.where(y[:, None] == np.arange(classes), 1.0, -1.0)
    for start in range(0, len(x), b):
        xb = x[start : start + b]
        w -= eta * (xb.T @ slopes(signs[start : start + b], xb @ w)) / len(xb)
        if deviation:
            w -= deviation * draws.standard_normal(w.shape)
    return w


class Net:
    """inputs -> HIDDEN -> 2 without activation, in one vector with views, so that Adam is one pass."""

    def __init__(self, inputs, draws):
        self.sizes = [(inputs, HIDDEN), (HIDDEN,), (HIDDEN, 2), (2,)]
        lengths = [int(np.prod(size)) for size in self.sizes]
        self.ends = np.cumsum(lengths)
        self.weights = np.zeros(self.ends[-1])
        self.w1, self.b1, self.w2, self.b2 = self.views(self.weights)
        for layer, fans in ((self.w1, inputs + HIDDEN), (self.w2, HIDDEN + 2)):
            layer[:] = draws.uniform(-1, 1, layer.shape) * np.sqrt(6 / fans)
        self.gradient = np.zeros_like(self.weights)
        self.parts = self.views(self.gradient)
        self.mean, self.square, self.steps = np.zeros_like(self.weights), np.zeros_like(self.weights), 0

    def views(self, vector):
        return [part.reshape(size) for part, size in zip(np.split(vector, self.ends[:-1]), self.sizes)]

    def values(self, states):
        self.units = states @ self.w1 + self.b1
        return self.units @ self.w2 + self.b2

    def fit(self, states, actions, targets):
        """One step of Adam down the mean of (Q(s, a) - target)^2."""
        rows = np.arange(len(states))
        values = self.values(states)
        errors = np.zeros_like(values)
        errors[rows, actions] = 2 * (values[rows, actions] - targets) / len(states)
        back = errors @ self.w2.T
        np.matmul(states.T, back, out=self.parts[0])
        np.sum(back, axis=0, out=self.parts[1])
        np.matmul(self.units.T, errors, out=self.parts[2])
        np.sum(errors, axis=0, out=self.parts[3])
        self.steps += 1
        g = self.gradient
        self.mean *= 0.9
        self.mean += 0.1 * g
        self.square *= 0.999
        self.square += 0.001 * (g * g)
        rate = RATE * np.sqrt(1 - 0.999**self.steps) / (1 - 0.9**self.steps)
        self.weights -= rate * self.mean / (np.sqrt(self.square) + 1e-8)


class Learner:
    def __init__(self, d, draws):
        self.net, self.target = Net(d + 1, draws), Net(d + 1, draws)
        self.target.weights[:] = self.net.weights
        self.states = np.zeros((REPLAY, d + 1))
        self.nexts = np.zeros((REPLAY, d + 1))
        self.actions = np.zeros(REPLAY, dtype=int)
        self.rewards = np.zeros(REPLAY)
        self.held, self.last = 0, None

    def decide(self, state, share, draws):
        """The action, 0 for local and 1 for global; `share` of the visits are over."""
        if self.last is not None:
            slot = self.held % REPLAY
            self.states[slot], self.actions[slot], self.rewards[slot] = self.last
            self.nexts[slot] = state
            self.held += 1
            held = min(self.held, REPLAY)
            chosen = draws.permutation(held)[:SAMPLE]
            targets = self.rewards[chosen] + DISCOUNT * self.target.values(self.nexts[chosen]).max(axis=1)
            self.net.fit(self.states[chosen], self.actions[chosen], targets)
            if self.held % TARGET_EVERY == 0:
                self.target.weights[:] = self.net.weights
        explore = max(0.1, 1 - 1.8 * share)
        if draws.random() < explore:
            action = int(draws.integers(2))
        else:
            values = self.net.values(state)
            action = int(values[1] > values[0])
        self.last = (state, action, -state[-1])
        return action


def deep_q(x, y, classes, b, eta, deviation, learners):
    d = x.shape[1]
    draws = np.random.default_rng(1)
    parts = np.array_split(np.arange(len(x)), NODES)
    w = np.zeros((classes, d))
    for k in range(classes):
        yk = np.where(y == k, 1.0, -1.0)
        own = np.zeros((NODES, d))
        used = [0] * NODES
        batches = [len(part) // b for part in parts]
        wk = w[k]
        left = list(range(NODES))
        while left:
            node = left[draws.integers(len(left))]
            start = parts[node][0] + used[node] * b
            xb, yb = x[start : start + b], yk[start : start + b]
            wl = own[node]
            loss = np.logaddexp(0, -yb * (xb @ wl)).mean()
            state = np.append(wl, loss)
            action = learners[k][node].decide(state, used[node] / batches[node], draws)
            if action == 0:
                wl -= 2 * eta * (xb.T @ slopes(yb, xb @ wl)) / b
            else:
                step = eta * (xb.T @ slopes(yb, xb @ wk)) / b
                wk[:] = 0.5 * (wk + wl) - step - deviation * draws.standard_normal(d)
                wl[:] = wk
            used[node] += 1
            if used[node] == batches[node]:
                left.remove(node)
    return w


folder, kind, b, eta, deviation = sys.argv[1], sys.argv[2], *map(float, sys.argv[3:])
b = int(b)
x = np.ascontiguousarray(np.load(folder + "/x.npy"))
y = np.load(folder + "/y.npy")
classes = int(y.max()) + 1
ways = ((deep_q, 1),) if kind == "deep-q" else ((loop, 5 if b > 1 else 1), (vectorised, 5 if b > 1 else 3))
for way, turns in ways:
    clock, busy = [], []
    for _ in range(turns):
        more = []
        if kind == "deep-q":
            start = np.random.default_rng(2)
            more = [[[Learner(x.shape[1], start) for _ in range(NODES)] for _ in range(classes)]]
        began = time.perf_counter(), time.process_time()
        w = way(x, y, classes, b, eta, deviation, *more)
        clock.append(time.perf_counter() - began[0])
        busy.append(time.process_time() - began[1])
    medians = [sorted(values)[len(values) // 2] for values in (clock, busy)]
    print(way.__name__, *medians, float(np.linalg.norm(w)))
