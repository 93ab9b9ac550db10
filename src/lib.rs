//! Peers that learn together over a graph without showing each other their data.
//!
//! Each peer holds samples of its own and talks to its neighbours in a graph. By a distributed
//! algorithm they all arrive at the model that a central solver, given everybody's samples, would
//! find. This crate simulates them, from one peer to a million, in virtual time, and says how many
//! rounds, messages, bytes and simulated seconds it took on which graph. The `hushmesh` program
//! runs scenarios written in YAML; this library is what it is made of.
//!
//! # The way of a run
//!
//! ```text
//! scenario ─▶ topology + data ─▶ protocol: one Peer per node ─▶ network ─▶ measure ─▶ report
//!                                      └─ every message passes privacy, which books it
//! ```
//!
//! | module | what lives there |
//! | --- | --- |
//! | [`units`], [`random`] | types that carry meaning; random streams in which every draw has an address |
//! | [`topology`] | graphs: generators, files, layout |
//! | [`data`] | sources of samples, the held-out part, preprocessing, who gets which rows |
//! | [`learn`] | losses, gradients, local solvers, the central optimum |
//! | [`privacy`] | [`Released`](privacy::Released), the only thing that can be sent, and the books |
//! | [`network`] | [`Peer`](network::Peer), [`Context`](network::Context), links, and the engines |
//! | [`policy`] | whether a visited peer trains its own model or the global one |
//! | [`protocol`] | the algorithms, one file each: ADMM, gradient methods, random walks |
//! | [`theory`] | rates, bounds and hops predicted before a run, and the parameter that makes them best |
//! | [`measure`] | from peers' states to rows of figures, and intervals over repeats |
//! | [`scenario`] | scenario files: read, overridden, checked, every complaint at its line |
//! | [`experiment`] | a run from its checked scenario to its results, repeated and resumable |
//! | [`report`], [`cli`] | tables, files, figures, the page; the command line |
//!
//! # A run by hand
//!
//! What [`experiment`] does for a scenario, in one screen: ten peers on a ring, a hundred samples
//! each, and the distance of the worst of them to the central optimum after 200 rounds.
//!
//! ```
//! use std::path::Path;
//! use std::sync::Arc;
//! use std::sync::atomic::AtomicBool;
//!
//! use hushmesh::data::{DataConfig, LocalData, Samples, Source, prepare};
//! use hushmesh::learn::{Loss, Regulariser, central_optimum, distance};
//! use hushmesh::measure::{MeasureConfig, Scorer};
//! use hushmesh::network::{self, Engine, Flow, Links, NetworkConfig, Schedule};
//! use hushmesh::protocol::admm::{AdmmParameters, AdmmPeer};
//! use hushmesh::random::Streams;
//! use hushmesh::topology::ring;
//! use hushmesh::units::{Round, Seed};
//!
//! // Everything random comes from one seed.
//! let streams = Streams::new(Seed(1), 0);
//! let topology = ring(10)?;
//! let config =
//!     DataConfig { samples: Some(Samples::PerPeer(100)), ..DataConfig::from(Source::Twonorm) };
//! let data = prepare(&config, 10, false, &streams, Path::new("."))?;
//!
//! // One state machine per node. It can reach its own rows and nobody else's.
//! let (ridge, penalty, rounds) = (0.1, 0.2, Round(200));
//! let parameters =
//!     Arc::new(AdmmParameters::plain(Loss::Logistic, 10, ridge, penalty, rounds));
//! let peers = topology.ids().map(|peer| {
//!     let own = LocalData::new(data.train.clone(), peer);
//!     AdmmPeer::new(peer, own, topology.neighbours(peer), 1.0, Arc::clone(&parameters))
//! });
//!
//! // Measuring sees everything, and so can solve the pooled problem: regularisation 10 × 0.1.
//! let train = data.train.clone();
//! let share = Regulariser::ridge(ridge);
//! let scorer =
//!     Scorer::new(&MeasureConfig::default(), train, None, None, Loss::Logistic, share);
//! let optimum = central_optimum(&scorer.objectives(), 1.0, &vec![0.0; data.train.dimension()])?.w;
//!
//! let mut worst = f64::INFINITY;
//! network::run(
//!     Engine::Simulated { workers: 2 },
//!     &topology,
//!     &Links::new(&NetworkConfig::default(), &topology, &streams),
//!     peers.collect(),
//!     (&scorer, Schedule::of_peers(10, rounds)),
//!     &AtomicBool::new(false),
//!     &mut |row| {
//!         let errors = topology.ids().map(|peer| distance(row.state(peer), &optimum));
//!         worst = errors.fold(0.0, f64::max);
//!         Flow::Continue
//!     },
//! )?;
//! assert!(worst < 1e-8, "all peers are at the central optimum: {worst}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What holds it together
//!
//! - **A peer is a state machine** that sees its own data and its neighbours' messages, nothing
//!   else. The same peer runs unchanged on every engine.
//! - **Nothing leaves a peer unless it was released**: [`privacy`] makes the only type that a
//!   message can have, and sending books it.
//! - **One seed, one result**, to the last bit, for any number of workers.
//! - **Time is simulated**: latency, bandwidth, loss and slow peers change seconds, never models.

pub mod cli;
pub mod data;
pub mod experiment;
pub mod learn;
pub mod measure;
pub mod network;
pub mod policy;
pub mod privacy;
pub mod protocol;
pub mod random;
pub mod report;
pub mod scenario;
pub mod theory;
pub mod topology;
pub mod units;
