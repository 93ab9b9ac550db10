//! How many hops a token needs for its updates: by simulation, and exactly where that is known.

use rand::RngExt;

use crate::random::{Family, Stream};
use crate::topology::{Routes, Topology, Walk};
use crate::units::PeerId;

/// The moves that all simulated walks together may take, about: a second or two.
const MOST_MOVES: u64 = 100_000_000;

/// The two-sided 95 % quantile of the normal law.
const NORMAL_95: f64 = 1.959_963_984_540_054;

/// The hops of a run, over its walks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hops {
    /// The mean.
    pub mean: f64,
    /// The mean's 95 % interval begins here.
    pub low: f64,
    /// The mean's 95 % interval ends here.
    pub high: f64,
    /// The standard deviation of one run's hops.
    pub deviation: f64,
    /// The mean of the visits that brought no update.
    pub forwards_mean: f64,
    /// How many walks were simulated: as many as were asked for, or fewer where they are long.
    pub samples: u32,
}

/// The expected hops of a token that makes `updates` updates, of which each peer has `batches` to
/// give (fewer where the peers have fewer in all): the mean over simulated walks without data.
///
/// A walk starts at a peer drawn uniformly among those with batches and updates there; it ends with
/// its last update. A Metropolis walk that stays makes no hop. A uniform pick of the peer that holds
/// the token is no hop either; any other costs the length of its route, whose peers in between only
/// forward.
///
/// Walk number k uses stream k of `family`.
///
/// # Errors
/// Fewer than two samples; not one number of batches per peer; a graph that is not connected, or too
/// large for routes; walks that take too long.
pub fn expected_hops(
    topology: &Topology,
    walk: Walk,
    batches: &[u32],
    updates: u64,
    samples: u32,
    family: Family,
) -> Result<Hops, &'static str> {
    if samples < 2 {
        return Err("an interval needs at least two simulated walks");
    }
    if batches.len() != topology.peers() {
        return Err("there is not one number of batches for every peer");
    }
    topology.require_connected().map_err(|_| "the graph is not connected")?;
    let plan = Plan::new(topology, walk, batches, updates)?;
    // A walk of its own says how many the time allows, so that no counted one has a say in it.
    let (_, _, length) = plan.walked(&mut family.stream(u64::MAX), MOST_MOVES / 2)?;
    let affordable = u32::try_from(MOST_MOVES / 2 / length.max(1)).unwrap_or(u32::MAX);
    let samples = samples.min(affordable.max(2));
    let (mut hops, mut forwards) = (Vec::with_capacity(samples as usize), 0.0);
    for sample in 0..samples {
        let (hop, forward, _) = plan.walked(&mut family.stream(u64::from(sample)), MOST_MOVES)?;
        hops.push(hop as f64);
        forwards += forward as f64;
    }
    let count = f64::from(samples);
    let mean = hops.iter().sum::<f64>() / count;
    let squares: f64 = hops.iter().map(|hops| (hops - mean).powi(2)).sum();
    let deviation = (squares / (count - 1.0)).sqrt();
    let half = NORMAL_95 * deviation / count.sqrt();
    Ok(Hops {
        mean,
        low: mean - half,
        high: mean + half,
        deviation,
        forwards_mean: forwards / count,
        samples,
    })
}

/// What all walks of a forecast share.
struct Plan<'a> {
    topology: &'a Topology,
    walk: Walk,
    batches: &'a [u32],
    updates: u64,
    /// The peers that have batches.
    holders: Vec<u32>,
    /// The degree of the peer at every end of a link.
    degrees: Vec<u32>,
    routes: Option<Routes>,
}

impl<'a> Plan<'a> {
    fn new(
        topology: &'a Topology,
        walk: Walk,
        batches: &'a [u32],
        updates: u64,
    ) -> Result<Self, &'static str> {
        let routes = match walk {
            Walk::Uniform => {
                let routes = Routes::of(topology);
                Some(routes.map_err(|_| "the graph is too large for routes")?)
            }
            _ => None,
        };
        let ends = topology.ids().flat_map(|peer| topology.neighbours(peer));
        Ok(Self {
            topology,
            walk,
            batches,
            updates: updates.min(total(batches)),
            holders: holders(batches).collect(),
            degrees: ends.map(|&peer| topology.degree(peer) as u32).collect(),
            routes,
        })
    }

    /// The hops, forwards and moves (stays included) of one walk of at most `most` moves.
    fn walked(&self, stream: &mut Stream, most: u64) -> Result<(u64, u64, u64), &'static str> {
        match &self.routes {
            _ if self.updates == 0 => Ok((0, 0, 0)),
            _ if self.updates > most => Err(TOO_LONG),
            Some(routes) => Ok(self.picked(routes, stream)),
            None => self.wandered(stream, most),
        }
    }

    fn picked(&self, routes: &Routes, stream: &mut Stream) -> (u64, u64, u64) {
        let (mut left, mut holders) = (self.batches.to_vec(), self.holders.clone());
        let (mut at, mut hops, mut forwards) = (None, 0, 0);
        for _ in 0..self.updates {
            let chosen = stream.random_range(0..holders.len() as u32) as usize;
            let to = PeerId(holders[chosen]);
            let way = at.map_or(0, |at| u64::from(routes.distance(at, to)));
            hops += way;
            forwards += way.saturating_sub(1);
            left[to.index()] -= 1;
            if left[to.index()] == 0 {
                holders.swap_remove(chosen);
            }
            at = Some(to);
        }
        (hops, forwards, self.updates)
    }

    fn wandered(&self, stream: &mut Stream, most: u64) -> Result<(u64, u64, u64), &'static str> {
        let mut left = self.batches.to_vec();
        let start = stream.random_range(0..self.holders.len() as u32) as usize;
        let (mut at, mut came_from) = (PeerId(self.holders[start]), None);
        left[at.index()] -= 1;
        let (mut updates, mut hops, mut forwards) = (1, 0, 0);
        for moves in 0..most {
            if updates == self.updates {
                return Ok((hops, forwards, moves));
            }
            let degrees = &self.degrees[self.topology.row(at)];
            let to = self.walk.next(at, came_from, self.topology.neighbours(at), degrees, stream);
            let hopped = to != at;
            if hopped {
                hops += 1;
                (at, came_from) = (to, Some(at));
            }
            if left[at.index()] > 0 {
                left[at.index()] -= 1;
                updates += 1;
            } else if hopped {
                forwards += 1;
            }
        }
        Err(TOO_LONG)
    }
}

const TOO_LONG: &str = "the walks are too long to simulate";

fn total(batches: &[u32]) -> u64 {
    batches.iter().map(|&count| u64::from(count)).sum()
}

fn holders(batches: &[u32]) -> impl Iterator<Item = u32> + '_ {
    (0..).zip(batches).filter(|&(_, &count)| count > 0).map(|(peer, _)| peer)
}

/// The exact expectation of [`expected_hops`], where it is known:
///
/// - a single peer, or no more than one update: 0;
/// - a walk that goes round: without backtracking on a ring, and any walk along the link of two
///   peers, whatever they have;
/// - uniform picks where all peers that have batches have equally many and all of them are used: picks
///   of another peer, of which all pairs are equally likely, times the mean length of the way between
///   two of them.
///
/// # Panics
/// If there is not one number of batches for every peer.
pub fn closed_form_hops(
    topology: &Topology,
    walk: Walk,
    batches: &[u32],
    updates: u64,
) -> Option<f64> {
    assert_eq!(batches.len(), topology.peers());
    let (n, all) = (topology.peers(), total(batches));
    let updates = updates.min(all);
    if n == 1 || updates <= 1 {
        return Some(0.0);
    }
    if walk == Walk::Uniform {
        let mut counts = holders(batches).map(|peer| batches[peer as usize]);
        let first = counts.next()?;
        let equal = counts.all(|count| count == first);
        let peers = holders(batches).count();
        if !equal || updates != all {
            return None;
        }
        return Some(uniform_hops(peers, first) * mean_distance(topology, batches)?);
    }
    let circle = circle(topology, walk)?;
    let there: Vec<u32> = circle.iter().map(|peer| batches[peer.index()]).collect();
    let back: Vec<u32> = there.iter().rev().copied().collect();
    Some(0.5 * (round_hops(&there, updates) + round_hops(&back, updates)))
}

/// The mean length of the shortest way between two different peers that have batches; 0 where there is
/// one alone, and none where the graph is too large for routes.
fn mean_distance(topology: &Topology, batches: &[u32]) -> Option<f64> {
    let routes = Routes::of(topology).ok()?;
    let holders: Vec<PeerId> = holders(batches).map(PeerId).collect();
    let pairs = holders.iter().flat_map(|&a| holders.iter().map(move |&b| (a, b)));
    let sum: u64 = pairs.map(|(a, b)| u64::from(routes.distance(a, b))).sum();
    let count = (holders.len() * (holders.len() - 1)).max(1);
    Some(sum as f64 / count as f64)
}

/// The peers in the order in which the walk goes round, if it does.
fn circle(topology: &Topology, walk: Walk) -> Option<Vec<PeerId>> {
    let n = topology.peers();
    let two = n == 2 && topology.links() == 1;
    let ring = n > 2
        && walk == Walk::NonBacktracking
        && topology.ids().all(|peer| topology.degree(peer) == 2);
    if !two && !ring {
        return None;
    }
    let mut circle = vec![PeerId(0), topology.neighbours(PeerId(0))[0]];
    while circle.len() < n {
        let [.., before, at] = circle[..] else { return None };
        let next = topology.neighbours(at).iter().find(|&&peer| peer != before)?;
        if *next == circle[0] {
            return None; // More than one ring.
        }
        circle.push(*next);
    }
    Some(circle)
}

/// The mean hops of a token that goes round, over its starts.
///
/// In its lap k = 0, 1, … it updates at every peer with more than k batches, wherever it started. So
/// the laps before the last update are the same for all starts; only the way to the last of the
/// `rest` updates of the last lap differs.
fn round_hops(batches: &[u32], updates: u64) -> f64 {
    let n = batches.len();
    let (mut lap, mut rest) = (0_u32, updates);
    let members = loop {
        let members: Vec<usize> = (0..n).filter(|&peer| batches[peer] > lap).collect();
        if rest <= members.len() as u64 {
            break members;
        }
        rest -= members.len() as u64;
        lap += 1;
    };
    let starts: Vec<usize> = holders(batches).map(|peer| peer as usize).collect();
    let ways = starts.iter().map(|&start| {
        let first = members.partition_point(|&peer| peer < start);
        let last = members[(first + rest as usize - 1) % members.len()];
        ((last + n - start) % n) as f64
    });
    f64::from(lap) * n as f64 + ways.sum::<f64>() / starts.len() as f64
}

/// The mean hops of uniform picks among M = `peers` peers with c = `batches` batches each.
///
/// Let every peer's clock tick as a Poisson process of rate 1 until its c-th tick: the next to tick
/// is always uniform among those with batches, so ticks are picks. After a tick at time s of a peer
/// with more to come, the next one is its own with probability 1/(1 + A), A the number of others that
/// still tick, binomial with q(s) = P(Poisson(s) < c). With E 1/(1 + A) = (1 − (1 − q)^M)/(Mq), the
/// expected number of picks of the holder is
///
/// ∫₀^∞ P(Poisson(s) < c − 1) (1 − (1 − q(s))^M)/q(s) ds,
///
/// and each of the other Mc − 1 picks after the first is a hop. The integral is Simpson's, its error
/// far below 10⁻⁶ of a hop.
fn uniform_hops(peers: usize, batches: u32) -> f64 {
    const PANELS: u32 = 4_000;
    let (m, c) = (peers as f64, f64::from(batches));
    let log_factorial: f64 = (2..batches).map(|k| f64::from(k).ln()).sum();
    let integrand = |s: f64| {
        let (below, last) = poisson_below(batches, s, log_factorial);
        let repeats = if below > 0.0 { -(m * (-below).ln_1p()).exp_m1() / below } else { m };
        (below - last).max(0.0) * repeats
    };
    // Well before c nobody is done and the integrand is 1; well after, everybody is and it is 0.
    let reach = 12.0 * c.sqrt() + 60.0;
    let (from, to) = ((c - reach).max(0.0), c + reach);
    let width = (to - from) / f64::from(PANELS);
    let inner: f64 = (1..PANELS)
        .map(|k| f64::from(2 + 2 * (k % 2)) * integrand(from + f64::from(k) * width))
        .sum();
    let held = from + width / 3.0 * (integrand(from) + inner + integrand(to));
    m * c - 1.0 - held
}

/// P(Poisson(s) < c) and P(Poisson(s) = c − 1), given ln (c − 1)!.
fn poisson_below(c: u32, s: f64, log_factorial: f64) -> (f64, f64) {
    if s == 0.0 {
        return (1.0, f64::from(u8::from(c == 1)));
    }
    let last = (f64::from(c - 1) * s.ln() - s - log_factorial).exp();
    // Away from the mode, terms fall: down from c − 1 where s is above, up from c where it is below.
    let (mut sum, mut term, mut k) = (0.0, last, f64::from(c));
    if s < k {
        loop {
            term *= s / k;
            sum += term;
            k += 1.0;
            if term <= 1e-18 * sum || term == 0.0 {
                return ((1.0 - sum).clamp(0.0, 1.0), last);
            }
        }
    }
    while k >= 1.0 && term > 1e-18 * sum {
        sum += term;
        k -= 1.0;
        term *= k / s;
    }
    (sum.clamp(0.0, 1.0), last)
}
