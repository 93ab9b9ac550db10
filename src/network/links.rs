//! How long messages take and what computing costs: the scenario's laws, ready for use.

use rand::{Rng, RngExt};
use rand_distr::{Distribution, Geometric, LogNormal, Uniform};

use super::config::{Extra, NetworkConfig, Speeds};
use crate::random::{Family, Purpose, Streams};
use crate::topology::Topology;
use crate::units::{PeerId, SimTime};

/// The links and interfaces of a run.
///
/// Every draw is addressed by (sender, message number), so it is the same on every engine and for
/// every number of workers.
#[derive(Clone, Debug)]
pub struct Links {
    least: SimTime,
    /// Whether no link has a least latency of its own.
    alike: bool,
    window: SimTime,
    beyond: Beyond,
    up: f64,
    down: f64,
    loss: Option<Geometric>,
    timeout: SimTime,
    latencies: Family,
    losses: Family,
    seconds_per_sample: f64,
    speeds: Speeds,
    speed_draws: Family,
}

/// What comes to the least latency of a link.
#[derive(Clone, Copy, Debug)]
enum Beyond {
    /// The same for every message.
    Constant(SimTime),
    /// For every message anew.
    Drawn(Extra),
}

impl Links {
    /// The links of `topology` under a checked configuration.
    pub fn new(config: &NetworkConfig, topology: &Topology, streams: &Streams) -> Self {
        let least = SimTime::from_seconds(config.links.latency.min).max(SimTime(1));
        let own = topology.own_latencies();
        let alike = own.is_none_or(|own| [own.least, own.greatest].map(at_least) == [least; 2]);
        let window = match own.map(|own| (at_least(own.least), own.everywhere)) {
            None => least,
            Some((shortest, true)) => shortest,
            Some((shortest, false)) => shortest.min(least),
        };
        let nanoseconds_per_byte = |rate: Option<f64>| rate.map_or(0.0, |rate| 1e9 / rate);
        let loss = config.links.loss.probability;
        Self {
            least,
            alike,
            window,
            beyond: match config.links.latency.extra {
                Extra::Constant(seconds) => Beyond::Constant(SimTime::from_seconds(seconds)),
                drawn => Beyond::Drawn(drawn),
            },
            up: nanoseconds_per_byte(config.links.bandwidth.up),
            down: nanoseconds_per_byte(config.links.bandwidth.down),
            loss: if loss > 0.0 { Geometric::new(1.0 - loss).ok() } else { None },
            timeout: SimTime::from_seconds(config.links.loss.timeout),
            latencies: streams.family(Purpose::Latency, 0),
            losses: streams.family(Purpose::Loss, 0),
            seconds_per_sample: config.compute.seconds_per_sample,
            speeds: config.compute.speeds,
            speed_draws: streams.family(Purpose::Speed, 0),
        }
    }

    /// The least latency of any link: nothing sent within a window of this length arrives in it.
    pub fn window(&self) -> SimTime {
        self.window
    }

    /// Whether a later message could overtake an earlier one if links did not forbid it.
    pub fn reorders(&self) -> bool {
        self.loss.is_some() || matches!(self.beyond, Beyond::Drawn(_))
    }

    /// The latency of every message, where it is the same for all of them and no interface holds any
    /// back: what is sent to all neighbours then reaches all of them at once.
    pub fn common_latency(&self) -> Option<SimTime> {
        let Beyond::Constant(extra) = self.beyond else { return None };
        let alike = self.alike && self.loss.is_none() && self.up == 0.0 && self.down == 0.0;
        alike.then(|| self.least + extra)
    }

    /// Whether no message and no work of a peer holds up another one: what peers do about different
    /// things then has nothing to do with each other.
    pub fn hold_nothing_up(&self) -> bool {
        self.common_latency().is_some() && self.seconds_per_sample == 0.0
    }

    /// Bytes that the simulated engine keeps for a peer with so many neighbours: its desk, its account
    /// with a line, and what it has under way. Of posts, those of the window that runs and of the next, by
    /// its own worker and by another with a neighbour of it; where neighbours post, and where its own
    /// posts go. Without posts an event for each neighbour, in as many buffers.
    pub fn memory(&self, neighbours: usize, vector: usize) -> usize {
        const DESK: usize = 64;
        const ACCOUNT: usize = 64 + 256;
        const EVENT: usize = 56;
        const HEAD: usize = 32 + 4;
        const PLACE: usize = 8;
        let under_way = match self.common_latency() {
            Some(_) => 4 * (HEAD + vector) + PLACE * (neighbours + 4),
            None => 4 * EVENT * neighbours,
        };
        DESK + ACCOUNT + under_way
    }

    /// Latency of a sender's message number `sequence` over the directed link at `position`.
    pub fn latency(
        &self,
        topology: &Topology,
        position: usize,
        sender: PeerId,
        sequence: u64,
    ) -> SimTime {
        let least = own_latency(topology, position).unwrap_or(self.least);
        least
            + match self.beyond {
                Beyond::Constant(extra) => extra,
                Beyond::Drawn(law) => {
                    let mut stream = self.latencies.at(sender.0.into(), sequence);
                    SimTime::from_seconds(draw(law, &mut stream))
                }
            }
    }

    /// How often a sender's message number `sequence` is transmitted until it arrives.
    pub fn transmissions(&self, sender: PeerId, sequence: u64) -> u64 {
        match &self.loss {
            None => 1,
            Some(law) => {
                1 + law.sample(&mut self.losses.at(sender.0.into(), sequence)).min(1 << 20)
            }
        }
    }

    /// Seconds after which a lost transmission is repeated.
    pub fn timeout(&self) -> SimTime {
        self.timeout
    }

    /// Time that `bytes` occupy the sender's interface.
    pub fn up_time(&self, bytes: u64) -> SimTime {
        occupied(self.up, bytes)
    }

    /// Time that `bytes` occupy the receiver's interface.
    pub fn down_time(&self, bytes: u64) -> SimTime {
        occupied(self.down, bytes)
    }

    /// Whether messages queue at the receiver's interface.
    pub fn limits_reception(&self) -> bool {
        self.down > 0.0
    }

    /// Seconds that this peer needs for one sample in one pass.
    pub fn seconds_per_sample(&self, peer: PeerId) -> f64 {
        if self.seconds_per_sample == 0.0 {
            return 0.0;
        }
        let mut stream = self.speed_draws.stream(peer.0.into());
        let speed = match self.speeds {
            Speeds::Equal => 1.0,
            Speeds::Uniform { low, high } => {
                Uniform::new_inclusive(low, high).map_or(low, |law| law.sample(&mut stream))
            }
            Speeds::LogNormal { sigma } => {
                LogNormal::new(0.0, sigma).map_or(1.0, |law| law.sample(&mut stream))
            }
        };
        self.seconds_per_sample / speed
    }
}

/// So many seconds beyond the least.
fn draw(law: Extra, stream: &mut impl Rng) -> f64 {
    match law {
        Extra::Constant(seconds) => seconds,
        Extra::Uniform(seconds) => seconds * stream.random::<f64>(),
        Extra::LogNormal { median, sigma } => {
            LogNormal::new(0.0, sigma).map_or(median, |law| median * law.sample(stream))
        }
    }
}

/// Time that bytes occupy an interface.
fn occupied(nanoseconds_per_byte: f64, bytes: u64) -> SimTime {
    if nanoseconds_per_byte == 0.0 {
        return SimTime::ZERO;
    }
    SimTime((nanoseconds_per_byte * bytes as f64).round() as u64)
}

/// The latency that a graph file gives a link of its own.
fn own_latency(topology: &Topology, position: usize) -> Option<SimTime> {
    topology.link_latency(position).map(at_least)
}

/// So many seconds, but never zero, which would stop time.
fn at_least(seconds: f64) -> SimTime {
    SimTime::from_seconds(seconds).max(SimTime(1))
}
