//! A scenario written by the program is read back as it was, and is what the schema says.

use hushmesh::data::{
    Categories, Clip, Clusters, CsvFile, DataConfig, Dirichlet, Divide, IdxFiles, IdxPair,
    LabelShards, LibsvmFile, LinearLogistic, LinearRegression, Missing, NormOrder, NpyFiles,
    Partition, Pca, RandomSizes, Samples, Scaled, Source, Step, Task, TwoGroups, WithRepetition,
};
use hushmesh::learn::{Loss, ModelConfig};
use hushmesh::measure::{MeasureConfig, StopConfig, What};
use hushmesh::network::{
    BandwidthConfig, ComputeConfig, EngineKind, Extra, LatencyConfig, LinksConfig, LossConfig,
    NetworkConfig, Speeds,
};
use hushmesh::policy::{
    Activation, Adam, Bandit, DeepQ, Exploration, Fade, LinearQ, Periodic, PolicyConfig, Random,
    Reward, Threshold,
};
use hushmesh::privacy::randomized_response::{Law, Levels, Span};
use hushmesh::privacy::{
    Calibration, Composition, Correction, Deviation, LabelsConfig, ObjectiveNoise, PrivacyConfig,
    Radius, Rate, ReleaseNoise, Share,
};
use hushmesh::protocol::admm::{AdmmConfig, Inexact, PrimalNoise};
use hushmesh::protocol::federated::{FederatedConfig, FederatedVariant};
use hushmesh::protocol::gradient_descent::{GradientDescentConfig, GradientTrackingConfig};
use hushmesh::protocol::gradient_queries::{
    Algorithm, GradientQueriesConfig, QueryMechanism, QueryNoise, QueryStep, QueryWeights,
    Trajectory,
};
use hushmesh::protocol::party::{GossipConfig, MasksConfig, SumConfig, Way};
use hushmesh::protocol::walk_sgd::{StepSize, WalkSgdConfig};
use hushmesh::protocol::weighted_erm::{ErmVariant, WeightNoise, WeightedErmConfig};
use hushmesh::protocol::{Automatic, LearnerNoise, PerPeer, ProtocolConfig, Weights};
use hushmesh::scenario::{Document, Range, Scenario, SweepConfig, Values, to_yaml};
use hushmesh::topology::{TopologyConfig, Walk};
use hushmesh::units::{Delta, Epsilon, Seed};
use proptest::prelude::*;
use serde_json::Value as Json;

use crate::schema::valid;

/// Texts that YAML would take for something else, and any other.
fn text() -> impl Strategy<Value = String> {
    let odd = [
        "yes",
        "no",
        "null",
        "~",
        "1",
        "1e3",
        "0x10",
        ".inf",
        "true",
        "-",
        "- a",
        "a: b",
        "#",
        "'",
        "\"",
        "{",
        "[a]",
        "&a",
        "*a",
        "!t",
        "|",
        ">",
        "a\nb",
        "a\n\nb\n",
        " a ",
        "é",
        "\t",
        "%",
        "1_0",
        "2024-01-01",
        "auto",
        "<<",
        "=",
    ];
    prop_oneof![prop::sample::select(odd.to_vec()).prop_map(str::to_string), "\\PC{1,20}"]
}

/// Numbers from `low` to `high`, over the orders of magnitude, whole ones and the ends included.
fn number(low: f64, high: f64) -> impl Strategy<Value = f64> {
    let magnitude = (low.max(1e-12).log10()..high.log10()).prop_map(|x| 10_f64.powf(x));
    prop_oneof![Just(low), Just(high), low..high, magnitude, (low..high).prop_map(f64::ceil)]
        .prop_map(move |x| x.clamp(low, high))
}

fn topology() -> impl Strategy<Value = TopologyConfig> {
    let peers = || 1_usize..=16_777_216;
    prop_oneof![
        peers().prop_map(|peers| TopologyConfig::Path { peers }),
        peers().prop_map(|peers| TopologyConfig::Ring { peers }),
        peers().prop_map(|peers| TopologyConfig::Star { peers }),
        (1_usize..=16_384).prop_map(|peers| TopologyConfig::Complete { peers }),
        (1_usize..=4096, 1_usize..=4096)
            .prop_map(|(rows, columns)| TopologyConfig::Grid { rows, columns }),
        (peers(), number(1e-9, 1.0), any::<bool>()).prop_map(|(peers, p, resample)| {
            TopologyConfig::ErdosRenyi { peers, probability: Some(p), links: None, resample }
        }),
        (peers(), 0_usize..1 << 30, any::<bool>()).prop_map(|(peers, links, resample)| {
            TopologyConfig::ErdosRenyi { peers, probability: None, links: Some(links), resample }
        }),
        (peers(), 0_usize..100, any::<bool>()).prop_map(|(peers, degree, resample)| {
            TopologyConfig::RandomRegular { peers, degree, resample }
        }),
        (1_usize..=4096, 1_usize..=4096)
            .prop_map(|(rows, columns)| TopologyConfig::Torus { rows, columns }),
        (0_usize..=23).prop_map(|dimension| TopologyConfig::Hypercube { dimension }),
        peers().prop_map(|peers| TopologyConfig::BinaryTree { peers }),
        (peers(), 1_usize..100, number(0.0, 1.0), any::<bool>()).prop_map(
            |(peers, degree, rewiring, resample)| TopologyConfig::WattsStrogatz {
                peers,
                degree,
                rewiring,
                resample
            }
        ),
        (peers(), 1_usize..100, any::<bool>()).prop_map(|(peers, links, resample)| {
            TopologyConfig::BarabasiAlbert { peers, links, resample }
        }),
        (peers(), number(1e-6, 1.4), any::<bool>()).prop_map(|(peers, radius, resample)| {
            TopologyConfig::RandomGeometric { peers, radius, resample }
        }),
        (2_usize..99, 1_usize..99, 1_usize..9, any::<bool>()).prop_map(
            |(cliques, clique_size, bridges, closed)| TopologyConfig::Barbell {
                cliques,
                clique_size,
                bridges,
                closed
            }
        ),
        peers().prop_map(|peers| TopologyConfig::Exponential { peers }),
        peers().prop_map(|peers| TopologyConfig::OnePeerExponential { peers }),
        (
            prop::collection::vec(1_usize..99, 1..5),
            number(0.0, 1.0),
            number(1e-9, 1.0),
            any::<bool>()
        )
            .prop_map(|(sizes, within, between, resample)| {
                TopologyConfig::StochasticBlock { sizes, within, between, resample }
            }),
        text().prop_map(|path| TopologyConfig::File(path.into())),
    ]
}

fn source() -> impl Strategy<Value = Source> {
    let values = prop::collection::vec(text(), 1..4).prop_map(Categories::Values);
    let categories = prop_oneof![Just(Categories::Found), values];
    let categorical = prop::collection::btree_map(text(), categories, 0..3);
    let dimension = || 1_usize..=1_000_000;
    let features = prop::option::of(prop::collection::vec(text(), 1..4));
    prop_oneof![
        Just(Source::Twonorm),
        Just(Source::Ringnorm),
        Just(Source::Waveform),
        prop::sample::select(vec![
            Source::Adult,
            Source::Mnist,
            Source::Covertype,
            Source::Bank,
            Source::German,
            Source::Image,
            Source::Twonorm7400,
            Source::Banana,
            Source::CreditCardFraud,
            Source::BreastCancer,
        ]),
        (dimension(), number(0.0, 1e6)).prop_map(|(dimension, norm)| {
            Source::LinearLogistic(LinearLogistic { dimension, norm })
        }),
        (dimension(), number(0.0, 1e6), number(0.0, 1e6), number(1e-9, 1e6)).prop_map(
            |(dimension, norm, noise, bound)| {
                Source::LinearRegression(LinearRegression { dimension, norm, noise, bound })
            }
        ),
        (2_usize..=1000, 1_usize..=100_000, number(0.0, 1e6)).prop_map(
            |(classes, dimension, separation)| {
                Source::Clusters(Clusters { classes, dimension, separation })
            }
        ),
        (text(), text(), features, prop::option::of(text()), categorical, any::<bool>()).prop_map(
            |(path, label, features, positive, categorical, odd)| {
                let task = if odd { Task::Regression } else { Task::Classification };
                let missing = if odd { Missing::DropRow } else { Missing::Error };
                let file = CsvFile::new(path, label);
                Source::Csv(CsvFile { features, positive, task, categorical, missing, ..file })
            }
        ),
        (text(), prop::option::of(dimension()), prop::option::of(number(-9.0, 9.0))).prop_map(
            |(path, dimension, positive)| {
                let task = if positive.is_some() { Task::Classification } else { Task::MultiClass };
                Source::Libsvm(LibsvmFile { path: path.into(), dimension, positive, task })
            }
        ),
        (
            text(),
            text(),
            prop::option::of(prop::collection::vec(any::<u8>(), 1..4)),
            prop::option::of((text(), text()))
        )
            .prop_map(|(images, labels, positive, test)| {
                let (images, labels) = (images.into(), labels.into());
                let test = test.map(|(images, labels)| IdxPair {
                    images: images.into(),
                    labels: labels.into(),
                });
                Source::Idx(IdxFiles { images, labels, positive, test })
            }),
        (text(), text(), prop::option::of(number(-9.0, 9.0))).prop_map(|(x, y, positive)| {
            let task = Task::Regression;
            Source::Npy(NpyFiles { x: x.into(), y: y.into(), positive, task })
        }),
    ]
}

fn data() -> impl Strategy<Value = DataConfig> {
    let samples = prop_oneof![
        Just(None),
        (1_u32..).prop_map(|rows| Some(Samples::Total(rows))),
        (1_u32..).prop_map(|rows| Some(Samples::PerPeer(rows))),
    ];
    let columns = prop::collection::vec(text(), 1..3);
    let steps = prop_oneof![
        Just(Step::Standardise),
        Just(Step::UnitBall),
        Just(Step::UnitSphere),
        Just(Step::Intercept),
        Just(Step::MaxScale(Scaled::All)),
        columns.prop_map(|columns| Step::MaxScale(Scaled::Columns(columns))),
        number(1e-9, 1e9).prop_map(|by| Step::Divide(Divide { by })),
        number(1e-9, 1e9).prop_map(|norm| Step::Clip(Clip::to(norm))),
        number(1e-9, 1e9).prop_map(|norm| Step::Clip(Clip { norm, order: NormOrder::L1 })),
        (1_usize..4096, any::<bool>())
            .prop_map(|(dimension, centre)| Step::Pca(Pca { dimension, centre })),
    ];
    let weights = prop::collection::vec(number(0.0, 1e9), 1..5);
    let partition = prop_oneof![
        Just(Partition::Even),
        Just(Partition::Blocks),
        Just(Partition::Replicated),
        weights.prop_map(Partition::Ratio),
        number(1e-3, 1e6).prop_map(|alpha| Partition::DirichletSizes(Dirichlet { alpha })),
        number(1e-3, 1e6).prop_map(|alpha| Partition::DirichletLabels(Dirichlet { alpha })),
        number(0.0, 1.0).prop_map(|floor| Partition::RandomSizes(RandomSizes { floor })),
        number(1.0, 1e9).prop_map(|unevenness| Partition::TwoGroups(TwoGroups { unevenness })),
        (1_u32..=10_000).prop_map(|per_peer| Partition::LabelShards(LabelShards { per_peer })),
        (1_u32..).prop_map(|rows| Partition::WithRepetition(WithRepetition { rows })),
    ];
    let steps = prop::collection::vec(steps, 0..3);
    let without = prop::collection::vec(any::<u32>(), 0..3);
    let switches = any::<[bool; 2]>();
    (source(), samples, 0.0..1.0, steps, partition, without, switches).prop_map(
        |(source, samples, test_share, preprocess, partition, without, [fixed, keep])| DataConfig {
            source,
            samples,
            test_share,
            preprocess,
            partition,
            without,
            fixed,
            keep,
        },
    )
}

fn network() -> impl Strategy<Value = NetworkConfig> {
    let seconds = || number(0.0, 1e6);
    let extra = prop_oneof![
        seconds().prop_map(Extra::Constant),
        seconds().prop_map(Extra::Uniform),
        (seconds(), number(0.0, 10.0))
            .prop_map(|(median, sigma)| Extra::LogNormal { median, sigma }),
    ];
    let bandwidth = || prop::option::of(number(1e-3, 1e300));
    let links = (number(1e-9, 1e6), extra, bandwidth(), bandwidth(), number(0.0, 0.99), seconds())
        .prop_map(|(min, extra, up, down, probability, timeout)| LinksConfig {
            latency: LatencyConfig { min, extra },
            bandwidth: BandwidthConfig { up, down },
            loss: LossConfig { probability, timeout },
        });
    let speeds = prop_oneof![
        Just(Speeds::Equal),
        (number(1e-6, 1.0), number(1.0, 1e6)).prop_map(|(low, high)| Speeds::Uniform { low, high }),
        number(0.0, 10.0).prop_map(|sigma| Speeds::LogNormal { sigma }),
    ];
    let compute = (seconds(), speeds)
        .prop_map(|(seconds_per_sample, speeds)| ComputeConfig { seconds_per_sample, speeds });
    let engine = prop_oneof![Just(EngineKind::Simulated), Just(EngineKind::Threads)];
    (engine, prop::option::of(1_usize..=1024), links, compute).prop_map(
        |(engine, workers, links, compute)| NetworkConfig { engine, workers, links, compute },
    )
}

fn objective_noise() -> impl Strategy<Value = Option<ObjectiveNoise>> {
    let radius = || number(0.0, 1e3).prop_map(|radius| Radius { radius });
    prop::option::of(prop_oneof![
        radius().prop_map(ObjectiveNoise::Sphere),
        radius().prop_map(ObjectiveNoise::Ball),
        number(1e-6, 1e6).prop_map(|rate| ObjectiveNoise::Exponential(Rate { rate })),
        number(1e-6, 1e6).prop_map(|deviation| ObjectiveNoise::Gaussian(Deviation { deviation })),
    ])
}

fn primal_noise() -> impl Strategy<Value = Option<PrimalNoise>> {
    let deviation = prop_oneof![
        number(0.0, 1e6).prop_map(PerPeer::Same),
        prop::collection::vec(number(0.0, 1e6), 0..4).prop_map(PerPeer::Each),
    ];
    prop::option::of(
        (deviation, number(1e-6, 1.0))
            .prop_map(|(deviation, decay)| PrimalNoise { deviation, decay }),
    )
}

fn policy() -> impl Strategy<Value = PolicyConfig> {
    let share = || number(0.0, 1.0);
    let rate = || number(1e-9, 1.0);
    let reward = || prop::sample::select(vec![Reward::Before, Reward::After, Reward::Gain]);
    let exploration = || {
        prop_oneof![
            share().prop_map(Exploration::Constant),
            (share(), share(), share()).prop_map(|(from, to, over)| Exploration::Fade(Fade {
                from,
                to,
                over
            })),
        ]
    };
    let adam = (rate(), 0.0..1.0, 0.0..1.0, number(1e-12, 1.0)).prop_map(
        |(learning_rate, mean_decay, square_decay, floor)| Adam {
            learning_rate,
            mean_decay,
            square_decay,
            floor,
        },
    );
    let activation = prop::sample::select(vec![Activation::Linear, Activation::Relu]);
    let sizes = (1_u32..=10_000, 1_u32..=100_000, 1_u32..=10_000, 1_u32..);
    prop_oneof![
        Just(PolicyConfig::AlwaysGlobal),
        Just(PolicyConfig::AlwaysLocal),
        Just(PolicyConfig::FinalGlobal),
        share().prop_map(|global| PolicyConfig::Random(Random { global })),
        (1_u32..).prop_map(|every| PolicyConfig::Periodic(Periodic { every })),
        share().prop_map(|exploration| PolicyConfig::Threshold(Threshold { exploration })),
        (reward(), prop::option::of(rate()), exploration()).prop_map(
            |(reward, step, exploration)| PolicyConfig::Bandit(Bandit {
                reward,
                step,
                exploration
            })
        ),
        (reward(), rate(), share(), exploration()).prop_map(
            |(reward, learning_rate, discount, exploration)| {
                PolicyConfig::LinearQ(LinearQ { reward, learning_rate, discount, exploration })
            }
        ),
        (reward(), sizes, activation, adam, share(), exploration()).prop_map(
            |(
                reward,
                (hidden, replay, batch, target_every),
                activation,
                adam,
                discount,
                explore,
            )| {
                PolicyConfig::DeepQ(DeepQ {
                    reward,
                    hidden,
                    activation,
                    adam,
                    replay,
                    batch,
                    target_every,
                    discount,
                    exploration: explore,
                })
            }
        ),
    ]
}

fn walk_sgd() -> impl Strategy<Value = WalkSgdConfig> {
    let noise =
        (number(1e-9, 1e3), any::<[bool; 3]>()).prop_map(|(epsilon, [a, b, c])| ReleaseNoise {
            epsilon: Epsilon(epsilon),
            calibration: if a { Calibration::Exact } else { Calibration::Classic },
            budget: if b { Share::PerTask } else { Share::Total },
            passes: if c { Composition::Composed } else { Composition::Split },
        });
    let walks = vec![Walk::Uniform, Walk::Simple, Walk::Metropolis, Walk::NonBacktracking];
    let step = prop_oneof![
        number(1e-12, 1e12).prop_map(StepSize::Constant),
        number(1e-12, 1e12).prop_map(StepSize::InverseSqrt),
        Just(StepSize::StronglyConvex),
    ];
    let shape = (1_u32.., 1_u32..=1_000_000, prop::option::of(1_u32..));
    let radius = prop::option::of(number(1e-12, 1e12));
    let walk = prop::sample::select(walks);
    (walk, shape, step, radius, prop::option::of(noise), prop::option::of(policy())).prop_map(
        |(walk, (batch, passes, updates), step, radius, noise, decision)| WalkSgdConfig {
            walk,
            batch,
            step,
            passes,
            updates,
            radius,
            noise,
            decision,
        },
    )
}

fn sum() -> impl Strategy<Value = SumConfig> {
    let over = prop_oneof![
        Just(Way::Tree),
        (1_u32..).prop_map(|exchanges| Way::Gossip(GossipConfig { exchanges })),
    ];
    let masks = prop::option::of(prop_oneof![
        Just(MasksConfig::None),
        Just(MasksConfig::Wires),
        Just(MasksConfig::AllPairs),
        topology().prop_map(MasksConfig::Graph).boxed(),
    ]);
    (over, any::<u32>(), masks, any::<u32>()).prop_map(|(over, root, masks, colluders)| SumConfig {
        over,
        root,
        masks,
        colluders,
    })
}

fn learner_noise() -> impl Strategy<Value = Option<LearnerNoise>> {
    let constant = prop::option::of(number(1e-9, 1e9));
    prop::option::of((number(1e-9, 1e3), constant, any::<bool>()).prop_map(
        |(epsilon, constant, shared)| LearnerNoise { epsilon: Epsilon(epsilon), constant, shared },
    ))
}

fn weights() -> impl Strategy<Value = Weights> {
    prop::sample::select(vec![Weights::Samples, Weights::Uniform])
}

fn weighted_erm() -> impl Strategy<Value = WeightedErmConfig> {
    let variant = prop::sample::select(vec![
        ErmVariant::Published,
        ErmVariant::Local,
        ErmVariant::LocalOutput,
        ErmVariant::MaskedOutput,
        ErmVariant::MaskedGradient,
        ErmVariant::Jayaraman,
        ErmVariant::Central,
    ]);
    let on_weights = (number(1e-9, 1e3), number(1e-9, 1e9), any::<bool>()).prop_map(
        |(epsilon, constant, shared)| WeightNoise { epsilon: Epsilon(epsilon), constant, shared },
    );
    let shape = (1_u32.., number(1e-12, 1e12), prop::option::of(number(1e-12, 1e12)));
    let noises = (learner_noise(), prop::option::of(on_weights));
    (variant, shape, noises, weights(), sum()).prop_map(
        |(variant, (steps, step, clip), (noise, weight_noise), weights, sum)| WeightedErmConfig {
            variant,
            steps,
            step,
            clip,
            noise,
            weight_noise,
            weights,
            sum,
        },
    )
}

fn federated() -> impl Strategy<Value = FederatedConfig> {
    let variant = prop::sample::select(vec![FederatedVariant::Published, FederatedVariant::Masked]);
    let steps = prop_oneof![
        Just(Automatic::Auto),
        (1_u32..=1_000_000).prop_map(|steps| Automatic::Value(steps.into())),
    ];
    let shape = (steps, 1_u32.., prop::option::of(1_u32..));
    let clip = prop::option::of(number(1e-12, 1e12));
    (variant, shape, clip, learner_noise(), weights(), sum()).prop_map(
        |(variant, (steps, communications, total_steps), clip, noise, weights, sum)| {
            FederatedConfig {
                variant,
                steps,
                communications,
                total_steps,
                clip,
                noise,
                weights,
                sum,
            }
        },
    )
}

fn gradient_queries() -> impl Strategy<Value = GradientQueriesConfig> {
    let step = || number(1e-12, 1e12);
    let algorithm = prop_oneof![
        step().prop_map(Algorithm::Averaged),
        step().prop_map(|s| Algorithm::Descent(QueryStep::Constant(s))),
        step().prop_map(|s| Algorithm::Descent(QueryStep::Inverse(s))),
        step().prop_map(|s| Algorithm::Descent(QueryStep::Published(s))),
    ];
    let epsilon = prop_oneof![
        number(1e-9, 1e9).prop_map(PerPeer::Same),
        prop::collection::vec(number(1e-9, 1e9), 0..4).prop_map(PerPeer::Each),
    ];
    let mechanism = prop::sample::select(vec![QueryMechanism::Laplace, QueryMechanism::Gaussian]);
    let noise =
        (mechanism, epsilon).prop_map(|(mechanism, epsilon)| QueryNoise { mechanism, epsilon });
    let bounds = (prop::option::of(step()), prop::option::of(step()));
    let switches = (any::<[bool; 4]>(), 1_u32..=1000);
    (1_u32.., algorithm, prop::option::of(noise), bounds, switches, sum()).prop_map(
        |(updates, algorithm, noise, (side, residual), ([a, b, c, d], learners), sum)| {
            GradientQueriesConfig {
                updates,
                algorithm,
                noise,
                spare_query: a,
                side,
                residual,
                weights: if b { QueryWeights::Samples } else { QueryWeights::Precision },
                learner_noise: c,
                learners,
                trajectory: if d { Trajectory::Shared } else { Trajectory::Separate },
                sum,
            }
        },
    )
}

fn privacy() -> impl Strategy<Value = PrivacyConfig> {
    let level = || number(1e-6, 50.0);
    let levels = || prop::collection::vec(level(), 1..4);
    let span = || (level(), level()).prop_map(|(low, high)| Span { low, high });
    let epsilon = prop_oneof![
        level().prop_map(Levels::Same),
        levels().prop_map(Levels::PerPeer),
        levels().prop_map(Levels::PerUser),
        levels().prop_map(|levels| Levels::Drawn(Law::Choice(levels))),
        span().prop_map(|span| Levels::Drawn(Law::Uniform(span))),
        span().prop_map(|span| Levels::Drawn(Law::LogUniform(span))),
    ];
    let loss = prop_oneof![Just(Correction::Unbiased), Just(Correction::Plain)];
    let labels = (epsilon, loss).prop_map(|(epsilon, loss)| LabelsConfig { epsilon, loss });
    (number(1e-12, 0.5), prop::option::of(labels))
        .prop_map(|(delta, labels)| PrivacyConfig { delta: Delta(delta), labels })
}

fn scenario() -> impl Strategy<Value = Scenario> {
    let loss = prop_oneof![Just(Loss::Logistic), Just(Loss::Squared), Just(Loss::Hinge)];
    let sine = prop_oneof![Just(0.0), number(1e-12, 1e12)];
    let model = (loss, number(1e-12, 1e12), sine, any::<bool>()).prop_map(
        |(loss, regularisation, sine, intercept)| ModelConfig {
            loss,
            regularisation,
            sine,
            intercept,
        },
    );
    let auto_or = |low, high| {
        prop_oneof![Just(Automatic::Auto), number(low, high).prop_map(Automatic::Value)]
    };
    let inexact = (number(1e-12, 1.0), number(1e-14, 1.0))
        .prop_map(|(share, first)| Inexact { share, first });
    let solving = (number(1e-14, 1.0), number(0.0, 0.1), prop::option::of(inexact).boxed()).boxed();
    let protocol = prop_oneof![
        (auto_or(1e-12, 1e12), 1_u32.., solving, objective_noise(), primal_noise()).prop_map(
            |(penalty, rounds, (tolerance, slack, inexact), objective_noise, primal_noise)| {
                ProtocolConfig::Admm(AdmmConfig {
                    penalty,
                    rounds,
                    tolerance,
                    slack,
                    inexact,
                    objective_noise,
                    primal_noise,
                })
            }
        ),
        (number(1e-12, 1e3), 1_u32..).prop_map(|(step, rounds)| {
            ProtocolConfig::GradientDescent(GradientDescentConfig { step, rounds })
        }),
        (auto_or(1e-12, 1e3), 1_u32..).prop_map(|(step, rounds)| {
            ProtocolConfig::GradientTracking(GradientTrackingConfig { step, rounds })
        }),
        walk_sgd().prop_map(ProtocolConfig::WalkSgd).boxed(),
        // In boxes: all strategies by value do not fit on the stack of a test.
        weighted_erm().prop_map(ProtocolConfig::WeightedErm).boxed(),
        federated().prop_map(ProtocolConfig::Federated).boxed(),
        gradient_queries().prop_map(ProtocolConfig::GradientQueries).boxed(),
    ];
    let what = vec![
        What::Consensus,
        What::Optimum,
        What::Risk,
        What::Train,
        What::Test,
        What::Privacy,
        What::Average,
        What::Walk,
    ];
    let rarely = || prop::option::of(1_u32..);
    let maybe = || prop::option::of(number(1e-15, 1e3));
    let stop = (maybe(), maybe(), maybe()).prop_map(|(consensus_gap, dual_residual, epsilon)| {
        StopConfig { consensus_gap, dual_residual, epsilon }
    });
    let measure =
        (prop::sample::subsequence(what, 0..=8), [rarely(), rarely()], prop::option::of(stop))
            .prop_map(|(what, [every, test_peers], stop)| MeasureConfig {
                what,
                every,
                test_peers,
                stop,
            });
    let head = (text(), any::<u64>(), 1_u32..=100_000, prop::option::of(sweep()).boxed());
    (head, topology().boxed(), data().boxed(), model, privacy(), protocol, network(), measure)
        .prop_map(
            |(
                (name, seed, repeat, sweep),
                topology,
                data,
                model,
                privacy,
                protocol,
                network,
                measure,
            )| {
                Scenario {
                    name,
                    seed: Seed(seed),
                    repeat,
                    topology,
                    data,
                    model,
                    privacy,
                    protocol,
                    network,
                    measure,
                    sweep,
                }
            },
        )
}

fn sweep() -> impl Strategy<Value = SweepConfig> {
    let range = (number(1e-9, 1e9), number(1e-9, 1e9), 2_u32..1000)
        .prop_map(|(from, to, points)| Range { from, to, points })
        .boxed();
    let value = prop_oneof![
        any::<bool>().prop_map(Json::from),
        any::<u64>().prop_map(Json::from),
        number(-1e9, 1e9).prop_map(Json::from),
        text().prop_map(Json::from),
        (2_u32..100).prop_map(|peers| serde_json::json!({ "ring": { "peers": peers } })),
    ];
    let values = prop_oneof![
        prop::collection::vec(value, 1..4).prop_map(Values::List),
        range.clone().prop_map(Values::Linear),
        range.prop_map(Values::Log),
    ]
    .boxed();
    let fields =
        || prop::collection::vec(("[a-z]{1,8}(\\.[a-z-]{1,8}){0,3}", values.clone()), 0..3);
    (fields(), fields()).prop_map(|(grid, zip)| SweepConfig {
        grid: grid.into_iter().collect(),
        zip: zip.into_iter().collect(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 500, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn a_scenario_reads_back_equal(scenario in scenario()) {
        let yaml = to_yaml(&scenario);
        let read = Document::from_text("x.yaml", &yaml).and_then(|text| text.parse::<Scenario>());
        match read {
            Ok(read) => prop_assert_eq!(read.value, scenario, "{}", yaml),
            Err(problems) => return Err(TestCaseError::fail(format!("{problems}\n{yaml}"))),
        }
        prop_assert_eq!(valid(&yaml), Ok(()), "{}", yaml);
    }
}
