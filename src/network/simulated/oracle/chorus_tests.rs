//! Peers that speak all at once, heard one by one and together.

use std::collections::BTreeMap;

use super::*;

/// A vector of a round.
#[derive(Clone, Debug, PartialEq)]
struct Note {
    round: Round,
    vector: Arc<[f64]>,
}

impl Wire for Note {
    fn size(&self) -> usize {
        self.round.size() + self.vector.size()
    }
    fn encode(&self, bytes: &mut Vec<u8>) {
        self.round.encode(bytes);
        self.vector.encode(bytes);
    }
    fn decode(bytes: &mut &[u8]) -> Result<Self, WireError> {
        Ok(Self { round: Wire::decode(bytes)?, vector: Wire::decode(bytes)? })
    }
    fn of_round(round: Round, vector: Arc<[f64]>) -> Self {
        Self { round, vector }
    }
}

const ROUNDS: Round = Round(12);

/// Says a vector in every round that depends, bit by bit, on all that it has heard, in the order of its
/// neighbours. Now and then it will not take its turn, answers by the long way, or says a vector of another
/// length, so that others cannot be posted beside it.
#[derive(Clone)]
struct Singer {
    me: PeerId,
    round: Round,
    voice: f64,
    heard: BTreeMap<(Round, PeerId), Vec<f64>>,
    /// How often it took its turn.
    turns: Arc<Mutex<usize>>,
    /// (peer, round, voice) of every round that it has ended.
    sung: Arc<Mutex<Vec<(PeerId, Round, u64)>>>,
}

impl Singer {
    fn choir(n: usize, seed: u64) -> Vec<Self> {
        let (turns, sung) = (Arc::default(), Arc::default());
        let voice = |peer: usize| (seed % 1000) as f64 + (peer as f64).sin();
        let one = |peer| Self {
            me: PeerId::new(peer),
            round: Round(0),
            voice: voice(peer),
            heard: BTreeMap::new(),
            turns: Arc::clone(&turns),
            sung: Arc::clone(&sung),
        };
        (0..n).map(one).collect()
    }

    fn whim(&self) -> u64 {
        (self.voice.to_bits() ^ u64::from(self.me.0)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40
    }

    fn song(&self) -> [[f64; 4]; 2] {
        [[self.voice, 1.0, self.voice.cos(), -0.0], [f64::from(self.round.0), 0.0, 0.0, 0.0]]
    }

    /// Ends a round in which it has heard these.
    fn hear<'v>(&mut self, vectors: impl Iterator<Item = &'v [f64]>) {
        let heard = vectors.fold(0.0, |sum: f64, vector| 0.7 * sum + vector[0] + vector[2]);
        self.voice = (0.3 * self.voice + heard).sin();
        self.sung.lock().unwrap().push((self.me, self.round, self.voice.to_bits()));
        self.round = self.round.next();
    }

    fn sing(&self, out: &mut impl Announce) {
        let song = self.song();
        let length = if self.whim().is_multiple_of(101) { 4 } else { 5 };
        out.announce(public((self.round, &song.as_flattened()[..length])));
    }
}

impl Peer for Singer {
    type Message = Note;

    fn start(&mut self, context: &mut Context<'_, Note>) {
        self.round = Round(1);
        self.sing(context);
    }

    fn receive(&mut self, from: PeerId, note: Received<'_, Note>, context: &mut Context<'_, Note>) {
        let Note { round, vector } = note.value();
        self.heard.insert((*round, from), vector.to_vec());
        let round = self.round;
        if self.heard.keys().filter(|(of, _)| *of == round).count() == context.neighbours().len() {
            let heard = std::mem::take(&mut self.heard);
            let (now, later) = heard.into_iter().partition(|((of, _), _)| *of == round);
            self.heard = later;
            let now: BTreeMap<_, Vec<f64>> = now;
            self.hear(now.values().map(Vec::as_slice));
            if self.round <= ROUNDS {
                self.sing(context);
            }
        }
    }

    fn receive_together(turns: &mut Turns<'_, '_, Self>) {
        while let Some((singer, mut together)) = turns.next() {
            if singer.whim().is_multiple_of(7) || singer.round != together.round() {
                turns.put_back();
                return;
            }
            assert_eq!((together.me(), singer.heard.len()), (singer.me, 0));
            let rounds = [singer.round, singer.round.next()];
            assert_eq!(together.measured(), rounds.map(|round| SCHEDULE.measures(round)));
            *singer.turns.lock().unwrap() += 1;
            singer.hear(together.vectors().map(<[[f64; 4]]>::as_flattened));
            if singer.round <= ROUNDS {
                let plain = ![3, 101].iter().any(|&k| singer.whim().is_multiple_of(k));
                // What is heard together is of one length, which may be the rare one.
                if plain && together.vectors().all(|vector| vector.len() == 2) {
                    together.answer(public((singer.round, &singer.song()[..])));
                } else {
                    singer.sing(&mut together);
                }
            }
        }
    }

    fn waiting_for(&self) -> Vec<PeerId> {
        Vec::new()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn whoever_takes_its_turn_hears_and_says_what_it_would_have_one_by_one(
        n in 2usize..40,
        chords in prop::collection::vec((0usize..40, 0usize..40), 0..60),
        alone in any::<bool>(),
        seed in any::<u64>(),
    ) {
        // A ring with chords; perhaps somebody beside it whom nobody talks to.
        let ring = (0..n).map(|i| (i, (i + 1) % n));
        let edges: Vec<_> = ring.chain(chords.into_iter().map(|(a, b)| (a % n, b % n))).collect();
        let n = n + usize::from(alone);
        let topology = graph(n, &edges, &[]);
        let links = Links::new(&NetworkConfig::default(), &topology, &Streams::new(Seed(1), 0));
        let song = |choir: &[Singer]| {
            let mut sung = choir[0].sung.lock().unwrap().clone();
            sung.sort_unstable();
            (sung, *choir[0].turns.lock().unwrap())
        };
        let mut alone = Singer::choir(n, seed);
        run_oracle(&topology, &links, &mut alone);
        let (expected, _) = song(&alone);
        prop_assert!(expected.len() >= 12 * (n - 1));
        let mut counts = Vec::new();
        for workers in 1..=4 {
            let choir = Singer::choir(n, seed);
            counts.push(totals(workers, &topology, &links, choir.clone()));
            let (sung, turns) = song(&choir);
            prop_assert_eq!(&sung, &expected, "{} workers", workers);
            prop_assert!(turns > 0, "{} workers: nobody had a turn", workers);
        }
        prop_assert!(counts.iter().all(|count| *count == counts[0]));
        for home in [(2, 1), (3, 2)] {
            let choir = Singer::choir(n, seed);
            let ending = run_ranked(home, &topology, &links, &choir, SCHEDULE, &|_| Flow::Continue);
            prop_assert_eq!(ending, Ok(Ending::Finished));
            prop_assert_eq!(song(&choir).0, expected.clone(), "ranks, workers: {:?}", home);
        }
        let choir = Singer::choir(n, seed);
        cut_anywhere(seed, || run_parallel(3, &topology, &links, choir.clone()));
        prop_assert_eq!(song(&choir).0, expected, "cut");
    }
}

/// Messages and bytes of a run.
fn totals(workers: usize, topology: &Topology, links: &Links, peers: Vec<Singer>) -> (u64, u64) {
    let outcome = run(
        Engine::Simulated { workers },
        topology,
        links,
        peers,
        (&Nothing, SCHEDULE),
        &AtomicBool::new(false),
        &mut |_| Flow::Continue,
    );
    let totals = outcome.unwrap().totals;
    (totals.messages, totals.bytes)
}
