//! The scenario's `network:` section.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What runs the peers and what their links are like.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NetworkConfig {
    /// `simulated` (default): virtual time, from one peer to a million. `threads`: a thread and a
    /// channel per peer, in real time.
    pub engine: EngineKind,
    /// Worker threads of the simulated engine; default: one per core. Results do not depend on it.
    pub workers: Option<usize>,
    /// Delays, bandwidth and loss.
    pub links: LinksConfig,
    /// What computing costs in simulated time.
    pub compute: ComputeConfig,
}

/// Which engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EngineKind {
    /// A parallel discrete-event simulation.
    #[default]
    Simulated,
    /// A thread per peer.
    Threads,
}

/// Delays, bandwidth and loss: the same law for every link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LinksConfig {
    /// Time from one interface to the other.
    pub latency: LatencyConfig,
    /// Bytes per second of every peer's interface.
    pub bandwidth: BandwidthConfig,
    /// Lost transmissions.
    pub loss: LossConfig,
}

/// Latency = `min` + a draw of `extra`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LatencyConfig {
    /// Least latency in seconds, at least 1e-9; default 0.001. A graph file may set it per link.
    pub min: f64,
    /// What comes on top; default nothing.
    pub extra: Extra,
}

impl Default for LatencyConfig {
    fn default() -> Self {
        Self { min: 1e-3, extra: Extra::Constant(0.0) }
    }
}

/// The law of the delay beyond the least.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Extra {
    /// Always this many seconds.
    Constant(f64),
    /// Uniform between 0 and this many seconds.
    Uniform(f64),
    /// Log-normal.
    LogNormal {
        /// Median in seconds.
        median: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
}

/// Bytes per second of every peer's interface; messages queue for it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BandwidthConfig {
    /// Sending; default unlimited.
    pub up: Option<f64>,
    /// Receiving; default unlimited.
    pub down: Option<f64>,
}

/// A lost transmission is sent again after a time-out: it costs time, messages and bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LossConfig {
    /// Probability that a transmission is lost, from 0 (default) to 0.99.
    pub probability: f64,
    /// Seconds until it is sent again; default 0.2.
    pub timeout: f64,
}

impl Default for LossConfig {
    fn default() -> Self {
        Self { probability: 0.0, timeout: 0.2 }
    }
}

/// What computing costs in simulated time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ComputeConfig {
    /// Seconds that a peer of speed 1 needs for one sample in one pass; default 0: computing is
    /// free.
    pub seconds_per_sample: f64,
    /// How speeds are spread among peers; default `equal`.
    pub speeds: Speeds,
}

/// The law of peers' speeds, drawn once per peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Speeds {
    /// All 1.
    #[default]
    Equal,
    /// Uniform.
    Uniform {
        /// The slowest.
        low: f64,
        /// The fastest.
        high: f64,
    },
    /// Log-normal with median 1: stragglers.
    LogNormal {
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
}

impl NetworkConfig {
    /// Everything that is wrong with it: (field, what was expected).
    pub fn check(&self) -> Vec<(String, String)> {
        let mut problems = Vec::new();
        let mut need = |holds: bool, field: &str, expected: &str, found: f64| {
            if !holds {
                problems.push((field.to_string(), format!("expected {expected}, found {found}")));
            }
        };
        let seconds = |x: f64| (0.0..=1e6).contains(&x);
        let speed = |x: f64| x.is_finite() && x > 0.0;
        let sigma = |x: f64| (0.0..=10.0).contains(&x);

        if let Some(workers) = self.workers {
            need((1..=1024).contains(&workers), "workers", "1 to 1024", workers as f64);
        }
        let latency = &self.links.latency;
        need(
            (1e-9..=1e6).contains(&latency.min),
            "links.latency.min",
            "seconds from 1e-9 to 1e6",
            latency.min,
        );
        let span = "seconds from 0 to 1e6";
        match latency.extra {
            Extra::Constant(x) => need(seconds(x), "links.latency.extra.constant", span, x),
            Extra::Uniform(x) => need(seconds(x), "links.latency.extra.uniform", span, x),
            Extra::LogNormal { median, sigma: s } => {
                let field = "links.latency.extra.log-normal";
                need(seconds(median), &format!("{field}.median"), span, median);
                need(sigma(s), &format!("{field}.sigma"), "0 to 10", s);
            }
        }
        for (field, value) in [
            ("links.bandwidth.up", self.links.bandwidth.up),
            ("links.bandwidth.down", self.links.bandwidth.down),
        ] {
            if let Some(value) = value {
                need(speed(value), field, "more than 0 bytes per second", value);
            }
        }
        let loss = &self.links.loss;
        need(
            (0.0..=0.99).contains(&loss.probability),
            "links.loss.probability",
            "a probability from 0 to 0.99",
            loss.probability,
        );
        need(seconds(loss.timeout), "links.loss.timeout", span, loss.timeout);
        let compute = &self.compute;
        need(
            seconds(compute.seconds_per_sample),
            "compute.seconds_per_sample",
            span,
            compute.seconds_per_sample,
        );
        match compute.speeds {
            Speeds::Equal => {}
            Speeds::Uniform { low, high } => {
                let field = "compute.speeds.uniform";
                need(speed(low), &format!("{field}.low"), "a speed above 0", low);
                need(
                    speed(high) && high >= low,
                    &format!("{field}.high"),
                    "a speed of at least `low`",
                    high,
                );
            }
            Speeds::LogNormal { sigma: s } => {
                need(sigma(s), "compute.speeds.log-normal.sigma", "0 to 10", s);
            }
        }
        problems
    }
}
