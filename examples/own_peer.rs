//! A protocol of your own: peers on a ring find the mean of their numbers by averaging with their
//! neighbours.
//!
//! ```text
//! cargo run --release --example own_peer
//!
//!    ┌─ 0 ── 1 ── 2 ─┐        round t: x_i ← (x_left + x_i + x_right)/3
//!    9 …           … 3
//! ```
//!
//! A protocol is a [`Peer`]: what to do at the start, what to do with a message, and whom it still
//! waits for. It cannot reach a thread, a clock or another peer, so it runs on every engine as it
//! is. A message must be [`Released`](hushmesh::privacy::Released): the first number of each peer leaves in the clear, and says so.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hushmesh::network::{
    Context, Engine, Flow, Links, NetworkConfig, Peer, Probe, Received, Schedule, Snapshot, run,
};
use hushmesh::privacy::{Pieces, Wire, WireError, in_the_clear, public};
use hushmesh::random::Streams;
use hushmesh::topology::ring;
use hushmesh::units::{PeerId, Round, Seed};

const ROUNDS: Round = Round(40);

/// What peers say: a number, and the round it belongs to.
#[derive(Clone)]
struct Say(Round, Arc<[f64]>);

impl Wire for Say {
    fn size(&self) -> usize {
        self.0.size() + self.1.size()
    }
    fn encode(&self, bytes: &mut Vec<u8>) {
        self.0.encode(bytes);
        self.1.encode(bytes);
    }
    fn decode(bytes: &mut &[u8]) -> Result<Self, WireError> {
        Ok(Self(Wire::decode(bytes)?, Wire::decode(bytes)?))
    }
}

/// Knows its number and what it has heard, sorted so that sums have one order.
struct Averager {
    number: f64,
    round: Round,
    heard: Vec<(Round, PeerId, f64)>,
}

impl Averager {
    fn tell(&self, context: &mut Context<'_, Say>) {
        let number = in_the_clear(Arc::from([self.number]), Pieces::FEATURES);
        let message = public(self.round).zip(number);
        context.broadcast(message.map(|(round, number)| Say(round, number)));
    }
}

impl Peer for Averager {
    type Message = Say;

    fn start(&mut self, context: &mut Context<'_, Say>) {
        self.tell(context);
    }

    fn receive(&mut self, from: PeerId, said: Received<'_, Say>, context: &mut Context<'_, Say>) {
        let Say(round, number) = said.into_value();
        self.heard.push((round, from, number[0]));
        self.heard.sort_by_key(|&(round, from, _)| (round, from));
        let ready = self.heard.iter().take_while(|(round, ..)| *round == self.round).count();
        if ready == context.neighbours().len() && self.round <= ROUNDS {
            let sum: f64 = self.heard.drain(..ready).map(|(_, _, number)| number).sum();
            self.number = (self.number + sum) / (1 + ready) as f64;
            // Measuring sees all states; it is no message and nobody's neighbour.
            context.deposit(self.round, &Snapshot::of(&[self.number]));
            self.round = self.round.next();
            self.tell(context);
        }
    }

    fn waiting_for(&self) -> Vec<PeerId> {
        Vec::new()
    }
}

/// What is measured beside each peer: nothing but its state.
struct Plain;

impl Probe for Plain {
    type Local = ();
    type Found = ();
    fn local(&self, _: PeerId, _: &Snapshot<'_>) {}
}

fn main() -> Result<(), Box<dyn Error>> {
    let topology = ring(10)?;
    let links = Links::new(&NetworkConfig::default(), &topology, &Streams::new(Seed(1), 0));
    for engine in [Engine::Simulated { workers: 2 }, Engine::Threads] {
        println!("{engine:?}");
        let peer = |i| Averager { number: f64::from(i), round: Round(1), heard: Vec::new() };
        let peers = (0..10).map(peer).collect();
        let schedule = Schedule::of_peers(10, ROUNDS);
        let never = AtomicBool::new(false);
        run(engine, &topology, &links, peers, (&Plain, schedule), &never, &mut |row| {
            let numbers: Vec<String> = row.scored.iter().map(|x| format!("{x:.3}")).collect();
            println!("  round {:2}: {}", row.round.0, numbers.join(" "));
            Flow::Continue
        })?;
    }
    Ok(())
}
