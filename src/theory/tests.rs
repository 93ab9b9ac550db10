//! Rates against closed forms, dense linear algebra, simulation and measured runs.

use std::path::Path;

use proptest::prelude::*;

use super::error_map::{ErrorMap, start};
use super::hessenberg::Square;
use super::*;
use crate::data::{DataConfig, Samples, Source, prepare};
use crate::learn::{self, Loss, Objective, Packed, central_optimum, norm};
use crate::topology::{Link, Topology, complete, path, ring, star};
use crate::units::Seed;

/// The 13 links of the paper's experiments, as we chose them.
const THIRTEEN: [(u32, u32); 13] = [
    (0, 3),
    (0, 4),
    (0, 9),
    (1, 6),
    (1, 8),
    (2, 8),
    (3, 9),
    (5, 7),
    (5, 8),
    (5, 9),
    (6, 8),
    (6, 9),
    (7, 9),
];

fn graph(peers: usize, links: &[(u32, u32)]) -> Topology {
    let mut graph = petgraph::graph::UnGraph::default();
    (0..peers).for_each(|_| drop(graph.add_node(())));
    links.iter().for_each(|&(a, b)| drop(graph.add_edge(a.into(), b.into(), Link::default())));
    Topology::new(&graph, None).unwrap()
}

/// Each of n peers on a circle linked to the next and the one after: 4-regular.
fn circulant(n: u32) -> Topology {
    let links: Vec<_> = (0..n).flat_map(|i| [(i, (i + 1) % n), (i, (i + 2) % n)]).collect();
    graph(n as usize, &links)
}

/// Corners of the 4-dimensional cube.
fn hypercube() -> Topology {
    let links: Vec<_> = (0..16_u32)
        .flat_map(|i| (0..4).map(move |bit| (i, i ^ (1 << bit))))
        .filter(|(a, b)| a < b)
        .collect();
    graph(16, &links)
}

/// Hessians of twonorm samples at the pooled optimum.
fn twonorm(peers: usize, seed: u64) -> Vec<Packed> {
    let config =
        DataConfig { samples: Some(Samples::PerPeer(70)), ..DataConfig::from(Source::Twonorm) };
    let data =
        prepare(&config, peers, false, &config.streams(Seed(seed), 0), Path::new(".")).unwrap();
    let parts: Vec<_> = (0..peers)
        .map(|i| {
            let local = data.train.local(crate::units::PeerId::new(i));
            Objective::mean(learn::Samples::new(local.x, local.y), Loss::Logistic)
        })
        .collect();
    let w = central_optimum(&parts, 0.1 * peers as f64, 20).unwrap().w;
    let hessian = |part: &Objective<'_>| {
        let mut hessian = Packed::identity(20, 0.1);
        part.add_hessian(&w, &mut hessian);
        hessian
    };
    parts.iter().map(hessian).collect()
}

#[test]
fn probe() {
    for n in [10, 50] {
        let hessians = twonorm(n, 1);
        let curvature = Curvature::Hessians(hessians);
        let mut graphs = vec![
            ("complete", complete(n).unwrap()),
            ("star", star(n).unwrap()),
            ("ring", ring(n).unwrap()),
            ("path", path(n).unwrap()),
        ];
        if n == 10 {
            graphs.insert(2, ("13", graph(10, &THIRTEEN)));
        } else {
            graphs.insert(2, ("circ", circulant(50)));
        }
        for (name, g) in graphs {
            let t = std::time::Instant::now();
            let best = best_penalty(&g, &curvature);
            let took = t.elapsed();
            let r = best.rate.value;
            eprintln!(
                "{n} {name} {:?} rounds {:.1} {:?} mean {:?}",
                best,
                (1e-6f64).ln() / r.ln(),
                took,
                {
                    let e = curvature.extremes();
                    let b = best_penalty(&g, &Curvature::Bounds { low: e.0, high: e.1 });
                    (b.beta, b.rate.value, b.rate.iterations, b.rate.converged)
                }
            );
        }
    }
}
