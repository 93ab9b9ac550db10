#!/usr/bin/env python3
"""ADMM on quadratics: hushmesh, decent-bench and plain NumPy at the same work.

    python3 benches/python/compare.py [--peers 100 1000 10000 100000] [--turns 5] [--python python3.13]

Needs cargo, and a Python of at least 3.13 (which decent-bench asks for) on the path or after --python. The
packages of requirements.txt go into a virtual environment under the system's temporary folder, which is
removed in the end; hushmesh needs none of it.

The problem is the same for all: peer i of a random 4-regular graph holds m = 20 rows X_i, y_i in dimension
d = 10 and the cost

    f_i(w) = (1/m) sum_j (x_j'w - y_j)^2 / 2 + (a/n) |w|^2 / 2 = w'A_i w / 2 - c_i'w + const,
    A_i = X_i'X_i / m + (a/n) I,  c_i = X_i'y_i / m,

and all run the same fixed number of rounds of the same recursion from zero (equations (15) to (17) in
src/protocol/admm.rs), after which everybody is within 1e-8 of the optimum:

    w_i <- (A_i + 2 beta N_i I)^-1 (c_i - gamma_i + beta sum_l (w_i + w_l))
    gamma_i <- gamma_i + beta sum_l (w_i - w_l).

decent-bench has a variable z_ij for each end of a link, x_i = prox(sum_j z_ij / (rho N_i)) and
z_ij <- (1 - alpha) z_ij - alpha (z_ji - 2 rho x_j). With alpha = 1/2 and rho = 2 beta these are the same
iterates: z_ij = beta (w_i + w_j) - gamma_ij with gamma_ij = -gamma_ji, the link's part of gamma_i, solves
both, and rho N_i |x|^2 / 2 is beta N_i |w|^2. Its costs are QuadraticCost(A_i, -c_i), whose prox is in closed
form, and it keeps no history but the first and last states.

What is timed is the rounds alone, by the clock: no start of a program, no reading, no making of peers. NumPy's
inverses are made before its clock starts; hushmesh makes its own within the first round, so its clock starts with
the second. Small networks run more rounds, so that there is something to time. There are two programs in NumPy
(see numpy_admm.py): the plain one is the recursion as one would write it, the tuned one passes over memory as
seldom as can be, in whichever of nine ways to write its products is the quickest at that n. Both have as many
threads as they like. The programs take turns; a time is the median over all turns. A peer-update is one
peer in one round. It is checked that all end within 1e-8 of the optimum that one linear solve gives, that
hushmesh and NumPy agree to 1e-9, and that hushmesh ends at the same bits with 1, 2 and 4 workers.

How long a cache line takes from one core to the other and back is printed, too: about 100 ns where cores share a
cache, several times that where they do not. Guests on other machines may be moved from the one to the other while
they run, and two workers are slower then.

On a machine that is busy with other things the clock measures those, and two workers most of all: run it alone.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
D, M, DEGREE = 10, 20, 4
SHARE, PENALTY = 0.01, 0.35
INSIDE = "HUSHMESH_COMPARE_FOLDER"


def rounds_of(n):
    """Enough to be within 1e-8 of the optimum, and for a million updates."""
    return max(120, 1_000_000 // n)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--peers", type=int, nargs="+", default=[100, 1_000, 10_000, 100_000])
    arguments.add_argument("--turns", type=int, default=5)
    arguments.add_argument("--python", help="a Python of at least 3.13")
    asked = arguments.parse_args()
    if INSIDE in os.environ:
        compare(asked, Path(os.environ[INSIDE]))
    else:
        outside(asked)


def outside(asked):
    """Makes the virtual environment and starts this file again in it."""
    folder = Path(tempfile.mkdtemp(prefix="hushmesh-compare-"))
    try:
        subprocess.run([newest(asked.python), "-m", "venv", folder / "venv"], check=True)
        python = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
        packages = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([python, *packages, "-r", HERE / "requirements.txt"], check=True)
        again = subprocess.run([python, __file__, *sys.argv[1:]], env=os.environ | {INSIDE: str(folder)})
        sys.exit(again.returncode)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def newest(asked):
    """The first Python that is new enough."""
    for python in [asked] if asked else [sys.executable, "python3.14", "python3.13", "python3"]:
        found = shutil.which(python)
        query = "import sys; sys.exit(sys.version_info < (3, 13))"
        if found and subprocess.run([found, "-c", query], capture_output=True).returncode == 0:
            return found
    sys.exit("expected a Python of at least 3.13, found none; say where it is with --python")


def compare(asked, folder):
    # Nothing is left beside these files.
    sys.dont_write_bytecode = True
    import decent_admm
    import numpy as np
    import numpy_admm

    program = build()
    lines = []
    for n in asked.peers:
        x, y, near = problem(n, folder)
        a = x.transpose(0, 2, 1) @ x / M + SHARE * np.eye(D)
        c = np.einsum("nmd,nm->nd", x, y) / M
        del x, y
        optimum = np.linalg.solve(a.sum(0), c.sum(0))
        numpys = {"NumPy, plain": numpy_admm.Plain(a, c, near, PENALTY)}
        tuned = numpys["NumPy, tuned"] = numpy_admm.Tuned(a, c, near, PENALTY)
        theirs = decent_admm.Admm(a, c, near, PENALTY) if n <= 100 else None
        rounds = rounds_of(n)
        times = {"hushmesh, 1 worker": [], "hushmesh, 2 workers": []} | {who: [] for who in numpys}
        ends, trips = {}, []
        for turn in range(asked.turns):
            workers = [1, 2] + ([4] if turn == 0 else [])
            for worker, seconds in ours(program, folder, rounds, workers):
                if worker == "apart":
                    trips.append(seconds)
                elif worker != "4":
                    times[f"hushmesh, {worker} worker{'s' if worker != '1' else ''}"].append(seconds)
            for who, rival in numpys.items():
                seconds, ends[who] = rival.run(rounds)
                times[who].append(seconds * (rounds - 1) / rounds)
            if theirs:
                seconds, ends["decent-bench"] = theirs.run(120)
                seconds *= (rounds - 1) / 120
                times.setdefault("decent-bench", []).append(seconds)
        ends["hushmesh"] = np.load(folder / "models.npy")
        off = {who: float(np.abs(end - optimum).max()) for who, end in ends.items()}
        assert max(off.values()) < 1e-8, f"away from the optimum: {off}"
        apart = {who: float(np.abs(end - ends["hushmesh"]).max()) for who, end in ends.items()}
        assert all(apart[who] < 1e-9 for who in numpys), f"hushmesh and NumPy are {apart} apart"
        medians = {who: statistics.median(seconds) for who, seconds in times.items()}
        for who, seconds in times.items():
            others = ("decent-bench", *numpys)
            who_else = {name: medians.get(name, float("nan")) / medians[who] for name in others}
            lines.append(
                [f"{n:,}", who, f"{1e3 * medians[who]:.3g}", f"{1e3 * min(seconds):.3g} to {1e3 * max(seconds):.3g}"]
                + [f"{n * (rounds - 1) / medians[who]:,.0f}"]
                + ["" if ratio != ratio else f"{ratio:,.3g}" for ratio in who_else.values()]
            )
        print(f"n = {n:,}: from the optimum", ", ".join(f"{who} {value:.1e}" for who, value in off.items()), end="")
        print("; from hushmesh", ", ".join(f"{who} {value:.1e}" for who, value in apart.items() if who != "hushmesh"))
        trips = ", ".join(f"{1e9 * trip:.0f}" for trip in trips)
        print(f"  a cache line from core to core and back, before and after each turn (ns): {trips}")
        print(f"  NumPy's quickest: {tuned.way}; others: {tuned.others}", flush=True)
    print()
    print(f"120 rounds or a million updates (decent-bench 120 rounds, the rest by proportion), d = {D}, {M} rows per peer, {DEGREE}-regular, beta = {PENALTY}")
    print()
    head = ["peers", "who", "median (ms)", "least to most (ms)", "peer-updates per second"]
    head += ["/ decent-bench", "/ NumPy, plain", "/ NumPy, tuned"]
    for line in [head, ["---:", "---", *["---:"] * 6], *lines]:
        print("| " + " | ".join(line) + " |")


def problem(n, folder):
    """Rows, targets and neighbours of n peers, left in the folder for hushmesh too."""
    import networkx as nx
    import numpy as np

    draws = np.random.default_rng(n)
    x = draws.standard_normal((n, M, D))
    y = x @ draws.standard_normal(D) + 0.5 * draws.standard_normal((n, M))
    graph = nx.random_regular_graph(DEGREE, n, seed=1)
    assert nx.is_connected(graph)
    np.save(folder / "x.npy", x.reshape(n * M, D))
    np.save(folder / "y.npy", y.reshape(n * M))
    (folder / "graph.edges").write_text("".join(f"{a} {b}\n" for a, b in graph.edges()))
    return x, y, np.array([sorted(graph[i]) for i in range(n)])


def build():
    """The benchmark's program, built for release."""
    command = ["cargo", "bench", "--bench", "quadratics", "--no-run", "--message-format=json"]
    output = subprocess.run(command, cwd=HERE.parents[1], check=True, stdout=subprocess.PIPE, text=True).stdout
    messages = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    built = [message for message in messages if message.get("target", {}).get("name") == "quadratics"]
    return next(message["executable"] for message in built if message.get("executable"))


def ours(program, folder, rounds, workers):
    """(workers, seconds) of runs of hushmesh in this order, and between them how far apart cores are."""
    (folder / "run.txt").write_text(" ".join(map(str, [SHARE, PENALTY, rounds, *workers])))
    environment = os.environ | {"HUSHMESH_QUADRATICS": str(folder)}
    output = subprocess.run([program], env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [(worker, float(seconds)) for worker, seconds in map(str.split, output.splitlines())]


if __name__ == "__main__":
    main()
