"""The recursion of compare.py by decent-bench's ADMM: see there for the two penalties."""

import time

import networkx as nx
import numpy as np
from decent_array import interoperability as iop
from decent_array.types import Devices, Frameworks
from decent_bench.agents import Agent
from decent_bench.algorithms.p2p import ADMM
from decent_bench.costs import QuadraticCost
from decent_bench.networks import P2PNetwork

iop.set_backend(Frameworks.NUMPY, Devices.CPU)


class Admm:
    def __init__(self, a, c, near, beta):
        self.a, self.c, self.beta = a, c, beta
        self.graph = nx.Graph()
        self.graph.add_nodes_from(range(len(c)))
        self.graph.add_edges_from((i, int(j)) for i, others in enumerate(near) for j in others)

    def run(self, rounds):
        """Seconds, and the models in the end. Making the agents is not timed."""
        costs = [QuadraticCost(iop.from_numpy(a), iop.from_numpy(-c)) for a, c in zip(self.a, self.c)]
        agents = [Agent(cost, state_snapshot_period=rounds) for cost in costs]
        network = P2PNetwork(self.graph, agents)
        admm = ADMM(penalty=2 * self.beta, relaxation=0.5)
        began = time.perf_counter()
        admm.run(network, rounds)
        seconds = time.perf_counter() - began
        return seconds, np.array([iop.to_numpy(agent.x) for agent in agents])
