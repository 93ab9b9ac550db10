//! What peers learn of each other from gossip: pairwise.csv and its heat map.

use super::tables::{csv, number};
use crate::privacy::gaussian_epsilon;
use crate::report::svg::heat_map::HeatMap;
use crate::report::svg::plot::Axis;
use crate::theory::pairwise::Pairwise;
use crate::topology::Topology;
use crate::units::Delta;

/// One row per ordered pair of peers: whose record (`u`), who looks (`v`), μ, the least ε at this δ
/// (`inf` where there is none), and whether v can compute u's noisy value.
pub fn pairwise_csv(topology: &Topology, loss: &Pairwise, delta: Delta) -> Vec<u8> {
    let head = ["u", "v", "mu", "epsilon", "reconstructible"].map(str::to_string).to_vec();
    let pairs = topology.ids().flat_map(|u| topology.ids().map(move |v| (u, v)));
    let rows = pairs.filter(|(u, v)| u != v).map(|(u, v)| {
        let mu = loss.mu(u, v);
        vec![
            topology.name(u).into_owned(),
            topology.name(v).into_owned(),
            number(mu),
            number(gaussian_epsilon(mu, delta).0),
            loss.reconstructs(u, v).to_string(),
        ]
    });
    csv(std::iter::once(head).chain(rows))
}

/// μ of all pairs as colours: whose record down, who looks across, a dot where v can compute u's noisy
/// value.
pub fn pairwise_map(topology: &Topology, loss: &Pairwise) -> HeatMap {
    let names: Vec<String> = topology.ids().map(|peer| topology.name(peer).into_owned()).collect();
    HeatMap {
        title: "What each peer learns of each other".to_owned(),
        row_title: "record of peer".to_owned(),
        column_title: "seen by peer".to_owned(),
        rows: names.clone(),
        columns: names,
        values: loss.mu.clone(),
        colours: Axis::log("privacy loss μ"),
        marked: loss.reconstructible.clone(),
        mark: "recovered exactly".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::pairwise::pairwise_mu;
    use crate::topology::path;

    #[test]
    fn every_ordered_pair_has_its_line() {
        let graph = path(3).unwrap();
        let loss = pairwise_mu(&graph, 1, &[2.0; 3], &[2.0, 1.0, 1.0]).unwrap();
        let text = String::from_utf8(pairwise_csv(&graph, &loss, Delta(1e-5))).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 7);
        assert_eq!(lines[0], "u,v,mu,epsilon,reconstructible");
        assert_eq!(lines[2], "0,2,0,0,false");
        // ε of μ = 1 at δ = 10⁻⁵ is 4.3777 (the exact Gaussian profile).
        assert!(lines[1].starts_with("0,1,1,4.37") && lines[1].ends_with(",true"), "{}", lines[1]);
    }

    #[test]
    fn the_map_marks_what_is_recovered() {
        let graph = path(4).unwrap();
        let loss = pairwise_mu(&graph, 2, &[1.0; 4], &[1.0; 4]).unwrap();
        let svg = pairwise_map(&graph, &loss).to_svg().into_string();
        let told = "record of peer 2, seen by peer 0: 1, recovered exactly</title>";
        assert!(svg.contains(told));
        assert!(svg.contains("record of peer 3, seen by peer 0: 0</title>"));
    }
}
