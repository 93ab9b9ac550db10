use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;

use super::super::per_peer::PerPeer;
use super::super::three_peers::{ENGINES, rows_and_moments};
use super::*;
use crate::data::{self, DataConfig, LinearLogistic, Partition, Source};
use crate::learn::distance;
use crate::network::{
    ComputeConfig, Ending, Engine, Flow, Links, NetworkConfig, Probe, Received, Row, Schedule, run,
};
use crate::privacy::{Deviation, Exposure, Radius, Rate};
use crate::random::{Purpose, Streams};
use crate::topology::{Density, Topology, complete, erdos_renyi, path, ring, star};
use crate::units::Seed;

#[test]
fn every_round_is_the_recursion_written_in_scalars() {
    let (beta, ridge) = (0.37, 0.2);
    let plain = AdmmParameters::plain(Loss::Squared, 3, ridge, beta, Round(40));
    let parameters = Arc::new(AdmmParameters { tolerance: 1e-14, ..plain });
    for engine in ENGINES {
        // The one in the middle has nothing.
        let partition = Partition::Ratio(vec![1.0, 0.0, 3.0]);
        let (rows, moments) =
            rows_and_moments(engine, partition, parameters.rounds, |me, data, near| {
                AdmmPeer::new(me, data, near, 1.0, Arc::clone(&parameters))
            });
        assert_eq!(rows.len(), 40);
        let neighbours: [&[usize]; 3] = [&[1], &[0, 2], &[1]];
        let (mut w, mut gamma) = ([0.0; 3], [0.0; 3]);
        for row in rows {
            // argmin of ½ E[x²] w² − E[xy] w + ½ (a/n) w² + γw + β Σ_l (w − (w_i + w_l)/2)²
            let next = [0, 1, 2].map(|i| {
                let sum: f64 = neighbours[i].iter().map(|&l| w[i] + w[l]).sum();
                let degree = neighbours[i].len() as f64;
                let (xx, xy) = moments[i];
                (xy - gamma[i] + beta * sum) / (xx + ridge + 2.0 * beta * degree)
            });
            w = next;
            let own_gradient = |i: usize| moments[i].0 * w[i] - moments[i].1 + ridge * w[i];
            for i in 0..3 {
                gamma[i] += beta * neighbours[i].iter().map(|&l| w[i] - w[l]).sum::<f64>();
                assert!((row.scored[i] - w[i]).abs() < 1e-13, "{:?} {i}", row.round);
                let residual = (own_gradient(i) + gamma[i]).abs();
                assert!((row.residuals[i] - residual).abs() < 1e-12, "{:?} {i}", row.round);
            }
            assert!(gamma.iter().sum::<f64>().abs() < 1e-14, "Σγ = 0");
            assert_eq!(row.messages, 4 * u64::from(row.round.0), "two per link and round");
            assert_eq!(row.bytes, row.messages * AdmmPeer::message_bytes(1) as u64);
            let clear: u64 = row.exposures.iter().map(|peer| peer.clear).sum();
            assert_eq!(clear, 2 * u64::from(row.round.0), "one per peer with samples and round");
        }
    }
}

#[test]
fn a_message_survives_the_wire() {
    let message = Exchange { round: Round(7), model: vec![1.5, -2.0, f64::MIN].into() };
    let mut bytes = Vec::new();
    message.encode(&mut bytes);
    assert_eq!(bytes.len(), message.size());
    assert_eq!(bytes.len(), AdmmPeer::message_bytes(3));
    assert_eq!(Exchange::decode(&mut bytes.as_slice()), Ok(message));
}

proptest! {
    #[test]
    fn a_message_survives_the_way_to_another_process(
        round: u32,
        words in prop::collection::vec(any::<u64>(), 0..6),
    ) {
        let model = words.iter().map(|&word| f64::from_bits(word)).collect();
        let mut bytes = Vec::new();
        Exchange { round: Round(round), model }.pack(&mut bytes);
        let back = Exchange::unpack(&mut bytes.as_slice()).unwrap();
        prop_assert_eq!(back.round, Round(round));
        prop_assert_eq!(back.model.iter().map(|value| value.to_bits()).collect::<Vec<_>>(), words);
    }
}

/// What a peer held after a call: w of the round that it is in, w~ as sent, and γ of the one before.
struct Trace {
    peer: PeerId,
    round: Round,
    w: Vec<f64>,
    sent: Vec<f64>,
    gamma: Vec<f64>,
}

type Traces = Arc<Mutex<Vec<Trace>>>;

/// A peer that does what it does, and writes down what it holds whenever it has gone on.
struct Watched {
    peer: AdmmPeer,
    traces: Traces,
    seen: Round,
}

impl Watched {
    fn write_down(&mut self, me: PeerId) {
        let round = self.peer.round;
        if round == self.seen {
            return;
        }
        assert_eq!(round, self.seen.next(), "one call ends one round at most");
        self.seen = round;
        // Behind the last round nothing is sent.
        let sent = if self.peer.done() { &[][..] } else { self.peer.numbers.sent() };
        self.traces.lock().unwrap().push(Trace {
            peer: me,
            round,
            w: self.peer.numbers.w().to_vec(),
            sent: sent.to_vec(),
            gamma: self.peer.numbers.gamma().to_vec(),
        });
    }
}

impl Peer for Watched {
    type Message = Exchange;

    fn start(&mut self, context: &mut Context<'_, Exchange>) {
        self.peer.start(context);
        self.write_down(context.me());
    }

    fn receive(
        &mut self,
        from: PeerId,
        message: Received<'_, Exchange>,
        context: &mut Context<'_, Exchange>,
    ) {
        self.peer.receive(from, message, context);
        self.write_down(context.me());
    }

    fn timer(&mut self, context: &mut Context<'_, Exchange>) {
        self.peer.timer(context);
        self.write_down(context.me());
    }

    fn waiting_for(&self) -> Vec<PeerId> {
        self.peer.waiting_for()
    }

    fn retired(&self) -> bool {
        self.peer.retired()
    }
}

struct Nothing;

impl Probe for Nothing {
    type Local = ();
    type Found = ();
    fn local(&self, _: PeerId, _: &Snapshot<'_>) {}
}

/// Runs watched peers on logistic data of this dimension; what they held, by (round, peer).
fn watched(
    engine: Engine,
    topology: &Topology,
    dimension: usize,
    partition: Partition,
    parameters: &Arc<AdmmParameters>,
) -> Vec<Trace> {
    watched_and_booked(engine, topology, dimension, partition, parameters).0
}

/// The same, and what had been booked for each peer in the end.
fn watched_and_booked(
    engine: Engine,
    topology: &Topology,
    dimension: usize,
    partition: Partition,
    parameters: &Arc<AdmmParameters>,
) -> (Vec<Trace>, Vec<Exposure>) {
    let source = Source::LinearLogistic(LinearLogistic { dimension, norm: 3.0 });
    let config = DataConfig {
        samples: Some(data::Samples::PerPeer(5)),
        partition,
        ..DataConfig::from(source)
    };
    let streams = Streams::new(Seed(11), 0);
    let data = data::prepare(&config, topology.peers(), false, &streams, Path::new("")).unwrap();
    let traces = Traces::default();
    let peer = |id| Watched {
        peer: AdmmPeer::new(
            id,
            LocalData::new(Arc::clone(&data.train), id),
            topology.neighbours(id),
            1.0,
            Arc::clone(parameters),
        ),
        traces: Arc::clone(&traces),
        seen: Round(0),
    };
    let peers: Vec<Watched> = topology.ids().map(peer).collect();
    let links = Links::new(&NetworkConfig::default(), topology, &streams);
    let schedule = Schedule::of_peers(1, parameters.rounds);
    let idle = AtomicBool::new(false);
    let observation = (&Nothing, schedule);
    let mut exposures = Vec::new();
    let ending = run(engine, topology, &links, peers, observation, &idle, &mut |row| {
        exposures = row.exposures;
        Flow::Continue
    });
    assert_eq!(ending.unwrap().ending, Ending::Finished);
    let mut traces = std::mem::take(&mut *traces.lock().unwrap());
    traces.sort_by_key(|trace| (trace.round, trace.peer));
    assert_eq!(traces.len(), topology.peers() * (parameters.rounds.0 as usize + 1));
    (traces, exposures)
}

fn noisy_parameters(
    n: usize,
    beta: f64,
    rounds: u32,
    objective: Option<ObjectiveNoise>,
    primal: Option<PrimalNoise>,
) -> Arc<AdmmParameters> {
    let streams = Streams::new(Seed(23), 0);
    let from = |purpose| Draws::Streams(streams.family(purpose, 0));
    Arc::new(AdmmParameters {
        objective_noise: objective.map(|law| (law, from(Purpose::ObjectiveNoise))),
        primal_noise: primal.map(|law| (law, from(Purpose::PrimalNoise))),
        reach: 1.0,
        ..AdmmParameters::plain(Loss::Logistic, n, 0.2, beta, Round(rounds))
    })
}

fn graph() -> impl Strategy<Value = Topology> {
    prop_oneof![
        (2_usize..9).prop_map(|n| path(n).unwrap()),
        (3_usize..9).prop_map(|n| ring(n).unwrap()),
        (2_usize..9).prop_map(|n| star(n).unwrap()),
        (2_usize..7).prop_map(|n| complete(n).unwrap()),
        (4_usize..9, 0_u64..1000).prop_map(|(n, seed)| {
            erdos_renyi(n, Density::Probability(0.6), &Streams::new(Seed(seed), 0)).unwrap()
        }),
    ]
}

fn objective_noise() -> impl Strategy<Value = Option<ObjectiveNoise>> {
    let law = prop_oneof![
        (0.0..9.0).prop_map(|radius| ObjectiveNoise::Sphere(Radius { radius })),
        (0.0..9.0).prop_map(|radius| ObjectiveNoise::Ball(Radius { radius })),
        (0.1..9.0).prop_map(|rate| ObjectiveNoise::Exponential(Rate { rate })),
        (0.1..9.0).prop_map(|deviation| ObjectiveNoise::Gaussian(Deviation { deviation })),
    ];
    prop::option::of(law)
}

fn primal_noise() -> impl Strategy<Value = PrimalNoise> {
    let each = || prop::collection::vec(0.01..4.0, 9);
    let deviation =
        prop_oneof![(0.01..4.0).prop_map(PerPeer::Same), each().prop_map(PerPeer::Each)];
    (deviation, 0.5..=1.0).prop_map(|(deviation, decay)| PrimalNoise { deviation, decay })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 40, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn multipliers_sum_to_zero_in_every_round_whatever_the_noise(
        topology in graph(),
        dimension in 1_usize..6,
        beta in 0.01..3.0,
        rounds in 1_u32..25,
        objective in objective_noise(),
        primal in prop::option::of(primal_noise()),
        empty in any::<bool>(),
    ) {
        let n = topology.peers();
        let parameters = noisy_parameters(n, beta, rounds, objective, primal.clone());
        let partition = if empty {
            Partition::Ratio((0..n).map(|i| i as f64).collect())
        } else {
            Partition::Even
        };
        let mut first: Option<Vec<Vec<f64>>> = None;
        for engine in ENGINES {
            let traces = watched(engine, &topology, dimension, partition.clone(), &parameters);
            for round in traces.chunks_exact(n) {
                for k in 0..dimension {
                    let sum: f64 = round.iter().map(|trace| trace.gamma[k]).sum();
                    let size: f64 = round.iter().map(|trace| trace.gamma[k].abs()).sum();
                    prop_assert!(sum.abs() <= 1e-12 * size, "{:?}: {sum} {size}", round[0].round);
                }
            }
            // There is something to sum wherever there is noise.
            let moved = traces.iter().any(|trace| trace.gamma.iter().any(|&gamma| gamma != 0.0));
            prop_assert!(moved || primal.is_none());
            let states = traces.into_iter().map(|trace| trace.gamma).collect();
            match &first {
                None => first = Some(states),
                Some(first) => prop_assert!(*first == states, "engines differ"),
            }
        }
    }
}

/// z = θ_i(t)/(V_i ρ^{(t−1)/2}), rebuilt from what real peers computed and what they sent: moments
/// and correlations within five standard errors.
#[test]
fn what_is_added_to_sent_models_is_normal_and_independent_between_peers_rounds_and_coordinates() {
    let (n, d, rounds, decay): (usize, usize, u32, f64) = (6, 8, 200, 0.85);
    let deviations = [0.5, 1.0, 2.0, 0.25, 3.0, 0.7];
    let noise = PrimalNoise { deviation: PerPeer::Each(deviations.to_vec()), decay };
    let parameters = noisy_parameters(n, 0.3, rounds, None, Some(noise));
    let topology = ring(n).unwrap();
    let traces = watched(ENGINES[0], &topology, d, Partition::Even, &parameters);
    let z: Vec<Vec<f64>> = traces
        .iter()
        .filter(|trace| !trace.sent.is_empty())
        .map(|trace| {
            let age = f64::from(trace.round.0 - 1);
            let deviation = deviations[trace.peer.index()] * decay.powf(0.5 * age);
            trace.sent.iter().zip(&trace.w).map(|(sent, w)| (sent - w) / deviation).collect()
        })
        .collect();
    assert_eq!(z.len(), n * rounds as usize);
    let all = z.concat();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let near = |values: &[f64], expected: f64, variance: f64, what: &str| {
        let error = 5.0 * (variance / values.len() as f64).sqrt();
        let found = mean(values);
        assert!((found - expected).abs() < error, "{what}: {found}, not {expected} ± {error}");
    };
    // The variances are those of the standard normal law: of z, z², z⁴ and a product of two.
    let power = |values: &[f64], p: i32| values.iter().map(|z| z.powi(p)).collect::<Vec<_>>();
    near(&all, 0.0, 1.0, "mean");
    near(&power(&all, 2), 1.0, 2.0, "variance");
    near(&power(&all, 4), 3.0, 96.0, "fourth moment");
    for (i, deviation) in deviations.iter().enumerate() {
        let own: Vec<f64> = z.iter().skip(i).step_by(n).flatten().copied().collect();
        near(&own, 0.0, 1.0, &format!("mean at V = {deviation}"));
        near(&power(&own, 2), 1.0, 2.0, &format!("variance at V = {deviation}"));
    }
    let late = &all[all.len() / 2..];
    near(&power(late, 2), 1.0, 2.0, "variance in the second half of the rounds");
    let products = |pairs: &mut dyn Iterator<Item = (f64, f64)>| {
        pairs.map(|(a, b)| a * b).collect::<Vec<f64>>()
    };
    for lag in 1..=3 {
        // Rows are ordered by (round, peer): a step of n is a round, one of 1 the next peer.
        let rounds = z.iter().zip(&z[lag * n..]);
        let mut pairs = rounds.flat_map(|(a, b)| a.iter().copied().zip(b.iter().copied()));
        near(&products(&mut pairs), 0.0, 1.0, &format!("peers' own, {lag} rounds apart"));
        let peers = z.chunks_exact(n).flat_map(|row| row.iter().zip(&row[lag..]));
        let mut pairs = peers.flat_map(|(a, b)| a.iter().copied().zip(b.iter().copied()));
        near(&products(&mut pairs), 0.0, 1.0, &format!("{lag} peers apart"));
        let mut pairs = z.iter().flat_map(|z| z.iter().copied().zip(z[lag..].iter().copied()));
        near(&products(&mut pairs), 0.0, 1.0, &format!("{lag} coordinates apart"));
    }
}

#[test]
fn a_peer_without_samples_has_nothing_to_protect() {
    // Noise at the peers with samples alone, and a middle one that has none of either.
    let deviation = PerPeer::Each(vec![1.0, 0.0, 1.0]);
    let noise = PrimalNoise { deviation, decay: 1.0 };
    let streams = Streams::new(Seed(3), 0);
    let draws = Draws::Streams(streams.family(Purpose::PrimalNoise, 0));
    for loss in [Loss::Logistic, Loss::Squared] {
        let parameters = Arc::new(AdmmParameters {
            primal_noise: Some((noise.clone(), draws.clone())),
            reach: 5.0,
            ..AdmmParameters::plain(loss, 3, 0.2, 0.5, Round(4))
        });
        let partition = Partition::Ratio(vec![1.0, 0.0, 3.0]);
        let (rows, _) = rows_and_moments(ENGINES[0], partition, Round(4), |me, data, near| {
            AdmmPeer::new(me, data, near, 1.0, Arc::clone(&parameters))
        });
        for row in rows {
            assert_eq!(row.exposures[1], Exposure::default(), "{loss:?} {:?}", row.round);
            let spent = &row.exposures[0].record;
            assert!(spent.mu_squared() > 0.0, "{loss:?}: the others release something");
            assert_eq!(spent.is_unbounded(), loss == Loss::Squared);
        }
    }
}

/// The sensitivity that is booked, against what a replaced record really does to the minimiser: for
/// records at the edge of the ball, and for the worst that one dimension has to offer.
#[test]
fn a_replaced_record_moves_the_argmin_no_further_than_is_booked_and_nearly_as_far() {
    let (reach, k, m) = (1.5, 3.0, 4);
    let plain = AdmmParameters::plain(Loss::Logistic, 3, 0.2, 0.4, Round(1));
    let parameters = AdmmParameters { reach, ..plain };
    let quadratic = parameters.quadratic(2);
    let gradients = parameters.gradient_moves(m, k);
    let [of_label, of_record] =
        [gradients.label, gradients.record].map(|gradient| gradient / quadratic);
    let minimiser = |x: &[f64], y: &[f64], b: &[f64]| {
        let x = ndarray::ArrayView2::from_shape((m, b.len()), x).unwrap();
        let objective = Objective::mean(Samples::new(x, y), Loss::Logistic);
        let mut w = vec![0.0; b.len()];
        let problem = Subproblem { objective, quadratic, linear: b };
        let mut numbers = vec![0.0; ChordNewton::numbers(m, b.len(), Loss::Logistic)];
        let solved =
            ChordNewton::new().solve(&problem, &mut w, &mut numbers, 1e-13, &mut Vec::new());
        assert!(solved.converged);
        w
    };
    let mut stream = Streams::new(Seed(8), 0).single(Purpose::Rows);
    let mut farthest: f64 = 0.0;
    for case in 0..4000 {
        let d = 1 + case % 3;
        let mut row = || {
            let mut x: Vec<f64> = (0..d).map(|_| stream.random_range(-1.0..1.0)).collect();
            let length = reach / norm(&x).max(1e-9);
            x.iter_mut().for_each(|x| *x *= length);
            (x, if stream.random::<bool>() { k } else { -k })
        };
        let rows: Vec<_> = (0..m).map(|_| row()).collect();
        let (other, label) = row();
        let b: Vec<f64> = (0..d).map(|_| stream.random_range(-30.0..30.0)).collect();
        let x: Vec<f64> = rows.iter().flat_map(|(x, _)| x.clone()).collect();
        let y: Vec<f64> = rows.iter().map(|(_, y)| *y).collect();
        let w = minimiser(&x, &y, &b);
        let (mut x_else, mut y_else) = (x.clone(), y.clone());
        y_else[0] = -y[0];
        let moved = distance(&w, &minimiser(&x, &y_else, &b));
        assert!(moved <= of_label * (1.0 + 1e-9), "a label: {moved}, booked {of_label}");
        x_else[..d].copy_from_slice(&other);
        y_else[0] = label;
        let moved = distance(&w, &minimiser(&x_else, &y_else, &b));
        assert!(moved <= of_record * (1.0 + 1e-9), "a record: {moved}, booked {of_record}");
        farthest = farthest.max(moved / of_record);
    }
    assert!(farthest > 0.95, "only {farthest} of what is booked is ever used");
}

/// Real peers on a ring, logistic loss on five features; every row, by a clock that
/// ticks once per sample and pass.
fn rows_of(engine: Engine, parameters: &AdmmParameters) -> Vec<Row<()>> {
    let rows = measured_rows_of(engine, parameters, 5, 1);
    assert_eq!(rows.len(), parameters.rounds.0 as usize);
    rows
}

/// The same on so many features, measured every so many rounds.
fn measured_rows_of(
    engine: Engine,
    parameters: &AdmmParameters,
    dimension: usize,
    every: u32,
) -> Vec<Row<()>> {
    let topology = ring(6).unwrap();
    let source = Source::LinearLogistic(LinearLogistic { dimension, norm: 3.0 });
    let samples = Some(data::Samples::PerPeer(30));
    let config = DataConfig { samples, ..DataConfig::from(source) };
    let streams = Streams::new(Seed(17), 0);
    let data = data::prepare(&config, 6, false, &streams, Path::new("")).unwrap();
    let parameters = Arc::new(parameters.clone());
    let peer = |id| {
        let own = LocalData::new(Arc::clone(&data.train), id);
        AdmmPeer::new(id, own, topology.neighbours(id), 1.0, Arc::clone(&parameters))
    };
    let compute = ComputeConfig { seconds_per_sample: 1.0, ..ComputeConfig::default() };
    let network = NetworkConfig { compute, ..NetworkConfig::default() };
    let links = Links::new(&network, &topology, &streams);
    let observation = (&Nothing, Schedule::of_peers(every, parameters.rounds));
    let (peers, idle) = (topology.ids().map(peer).collect(), AtomicBool::new(false));
    let mut rows = Vec::new();
    run(engine, &topology, &links, peers, observation, &idle, &mut |row| {
        rows.push(row);
        Flow::Continue
    })
    .unwrap();
    rows
}

/// Where nobody looks, a round in closed form is one pass over the vectors on the simulated engine; on threads,
/// and wherever every round is measured, it is one step after the other.
#[test]
fn rounds_in_closed_form_are_the_same_at_once_and_step_by_step() {
    let objective = ObjectiveNoise::Sphere(Radius { radius: 0.5 });
    let primal = PrimalNoise { deviation: PerPeer::Same(0.3), decay: 0.9 };
    for dimension in [1, 4, 5, 10, 17] {
        for (objective, primal) in [
            (None, None),
            (Some(objective), None),
            (None, Some(primal.clone())),
            (Some(objective), Some(primal.clone())),
        ] {
            let noisy = noisy_parameters(6, 0.2, 43, objective, primal);
            let parameters = AdmmParameters { loss: Loss::Squared, ..(*noisy).clone() };
            let rows = |engine, every| measured_rows_of(engine, &parameters, dimension, every);
            let every: Vec<_> = rows(Engine::Threads, 1);
            for (engine, between) in [
                (Engine::Threads, 5),
                (Engine::Simulated { workers: 1 }, 5),
                (Engine::Simulated { workers: 3 }, 5),
                (Engine::Simulated { workers: 2 }, 43),
            ] {
                let some = rows(engine, between);
                assert!(some.len() >= 2, "the first and the last at least");
                for row in some {
                    let all = &every[row.round.0 as usize - 1];
                    assert_eq!(all.round, row.round);
                    assert_eq!((&all.scored, &all.residuals), (&row.scored, &row.residuals));
                    assert_eq!((&all.exposures, all.messages), (&row.exposures, row.messages));
                    assert_eq!(all.bytes, row.bytes, "d = {dimension}, {engine:?}");
                }
            }
        }
    }
}

#[test]
fn inexact_argmins_reach_the_same_end_with_fewer_passes() {
    let exact = AdmmParameters::plain(Loss::Logistic, 6, 0.05, 0.1, Round(600));
    let inexact = Some(Inexact { share: 0.1, first: 1e-3 });
    let inexact = AdmmParameters { inexact, ..exact.clone() };
    let ends = [&exact, &inexact].map(|parameters| rows_of(ENGINES[0], parameters).pop().unwrap());
    let apart = distance(&ends[0].scored, &ends[1].scored);
    assert!(apart < 1e-8, "{apart}");
    let gap = distance(ends[0].state(PeerId(0)), ends[0].state(PeerId(3)));
    assert!(gap < 1e-8, "it has not converged: {gap}");
    let [all, fewer] = ends.map(|row| row.time.seconds() / 30.0);
    assert!(fewer < 0.95 * all, "{fewer} passes, {all} to solve exactly");
}

#[test]
fn engines_agree_on_inexact_argmins_with_noise_and_without() {
    for deviation in [None, Some(0.3)] {
        let noise = deviation.map(|v| PrimalNoise { deviation: PerPeer::Same(v), decay: 0.9 });
        let exact = noisy_parameters(6, 0.2, 40, None, noise);
        let inexact = Some(Inexact { share: 0.3, first: 1e-2 });
        let parameters = AdmmParameters { inexact, slack: 0.01, ..(*exact).clone() };
        let [simulated, threads] = ENGINES.map(|engine| rows_of(engine, &parameters));
        for (a, b) in simulated.iter().zip(&threads) {
            assert_eq!((&a.scored, &a.exposures), (&b.scored, &b.exposures), "{:?}", a.round);
        }
    }
}

/// μ of every release from nothing but the messages: Δ = ((1 + k)B/m + 2g)/q with
/// g = max(tolerance, min(max(slack · qσ, share · q|w~_i − mean_l w~_l|), (1 + k)B/(200m))).
#[test]
fn the_ledger_books_the_inexactness_that_the_messages_decided() {
    let (beta, decay, v, rounds, m): (f64, f64, f64, u32, f64) = (0.4, 0.8, 1e-3, 30, 5.0);
    let (share, first, slack, tolerance) = (0.1, 1e-4, 0.01, 1e-10);
    let noise = PrimalNoise { deviation: PerPeer::Same(v), decay };
    let inexact = Some(Inexact { share, first });
    let base = noisy_parameters(6, beta, rounds, None, Some(noise));
    let parameters = Arc::new(AdmmParameters { inexact, slack, ..(*base).clone() });
    let topology = ring(6).unwrap();
    let (traces, exposures) =
        watched_and_booked(ENGINES[0], &topology, 4, Partition::Even, &parameters);
    let q = 0.2 + 2.0 * beta * 2.0;
    let record = 2.0 / m;
    let (mut capped, mut between, mut below) = (0, 0, 0);
    for (peer, exposure) in exposures.iter().enumerate() {
        let (mut by_record, mut by_label) = (0.0, 0.0);
        for t in 1..=rounds as usize {
            let deviation = v * decay.powf(0.5 * (t as f64 - 1.0));
            let sent = |i: usize| &traces[(t - 2) * 6 + i].sent;
            let wish: f64 = if t == 1 {
                first
            } else {
                let (left, right) = (sent((peer + 5) % 6), sent((peer + 1) % 6));
                let apart = (0..4).map(|k| sent(peer)[k] - 0.5 * (left[k] + right[k]));
                share * q * apart.map(|apart| apart * apart).sum::<f64>().sqrt()
            };
            let wish = wish.max(slack * q * deviation);
            capped += usize::from(wish > record / 200.0);
            between += usize::from(wish <= record / 200.0 && wish > slack * q * deviation);
            below += usize::from(wish == slack * q * deviation);
            let g = wish.min(record / 200.0).max(tolerance);
            by_record += ((record + 2.0 * g) / (q * deviation)).powi(2);
            by_label += ((1.0 / m + 2.0 * g) / (q * deviation)).powi(2);
        }
        let Exposure { record, label, .. } = &exposure;
        let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-9;
        assert!(near(record.mu_squared(), by_record), "{} {by_record}", record.mu_squared());
        assert!(near(label.mu_squared(), by_label), "{} {by_label}", label.mu_squared());
    }
    assert!(capped > 0 && between > 0, "{capped} {between} {below}: every branch is to be seen");
}

#[test]
fn a_peer_of_a_million_takes_well_below_two_kilobytes() {
    let memory = |loss, more| AdmmPeer::memory(2, 20, 5, loss, more);
    for loss in [Loss::Logistic, Loss::Squared] {
        assert!(memory(loss, 0) < 1400, "{}", memory(loss, 0));
        assert_eq!(memory(loss, 3), memory(loss, 0) + 3 * 8 * 20);
    }
}
