//! What workers tell each other between two windows, within a process and beyond it.

use std::cell::Cell;
use std::ops::Range;

use crossbeam_channel::{Receiver, RecvError, Sender, TryRecvError, bounded};

use super::balance::Work;
use super::cores;
use super::event::{Batch, Pending, Verdict, take_packed};
use super::keeping::Keeping;
use super::layout::Layout;
use super::shard::Shard;
use crate::network::error::NetworkError;
use crate::network::observe::{Part, Probe};
use crate::network::peer::Peer;
use crate::network::ranks::{Ranks, Words, garbled};
use crate::privacy::WireError;

/// A worker's channels to and from every other of its process, in the order of workers, and its way to
/// other ranks, where there are any.
pub(super) struct Exchange<'a, M, R: Probe> {
    within: Within<M>,
    beyond: Beyond<'a, R>,
}

/// The channels to and from the others of a process.
struct Within<M> {
    to: Vec<(usize, Sender<Batch<M>>)>,
    from: Vec<Receiver<Batch<M>>>,
    /// The core that each of the others was on when it last said so.
    cores: Vec<Option<usize>>,
    patience: Patience,
}

/// How a worker reaches other ranks.
enum Beyond<'a, R: Probe> {
    /// There are none.
    Nobody,
    /// By its own hand: it speaks for all workers of its rank.
    Lead(Lead<'a, R>),
    /// Through the worker that speaks for all: it takes the bytes for each rank, and says what came.
    Through(Sender<Vec<Vec<u8>>>, Receiver<Arrived>),
}

/// What other ranks have for one worker, and what all have agreed on.
struct Arrived {
    packed: Vec<Vec<u8>>,
    agreed: Agreed,
}

/// What all workers of all ranks agree on between two windows.
#[derive(Clone)]
pub(super) struct Agreed {
    pub(super) verdict: Verdict,
    /// The next window: none if nothing is under way anywhere.
    pub(super) next: Option<u64>,
    /// Who runs whom from then on, where that changes.
    pub(super) layout: Option<Layout>,
}

impl Agreed {
    /// It ends here.
    const FAILED: Self = Self { verdict: Verdict::Failed, next: None, layout: None };

    /// Whether there will be another window.
    fn goes_on(&self) -> bool {
        self.verdict == Verdict::Go && self.next.is_some()
    }
}

impl<'a, M, R: Probe> Exchange<'a, M, R> {
    /// A channel for each ordered pair of the workers of a process, and one of them that speaks to other
    /// ranks.
    pub(super) fn between(shards: Range<usize>, mut lead: Option<Lead<'a, R>>) -> Vec<Self> {
        let workers = shards.len();
        let mut all: Vec<Self> = (0..workers)
            .map(|worker| {
                let beyond = match &mut lead {
                    Some(lead) if worker > 0 => {
                        let (give, given) = bounded(2);
                        let (tell, told) = bounded(2);
                        lead.members.push((given, tell));
                        Beyond::Through(give, told)
                    }
                    _ => Beyond::Nobody,
                };
                Self { within: Within::new(workers - 1), beyond }
            })
            .collect();
        if let (Some(first), Some(lead)) = (all.first_mut(), lead) {
            first.beyond = Beyond::Lead(lead);
        }
        for a in 0..workers {
            for b in (0..workers).filter(|&b| b != a) {
                // A worker is at most one window ahead of another.
                let (sender, receiver) = bounded(2);
                all[a].within.to.push((shards.start + b, sender));
                all[b].within.from.push(receiver);
            }
        }
        all
    }

    /// Ends a window. What goes to other ranks is on its way while the shard does the `rest` of the
    /// window's work and says how it stands; then every other worker of this process gets its events and
    /// gives its own; and all workers of all ranks agree on what comes next.
    pub(super) fn swap<P: Peer<Message = M>>(
        &mut self,
        shard: &mut Shard<'_, P, R>,
        rest: &mut dyn FnMut(&mut Shard<'_, P, R>) -> Verdict,
    ) -> Agreed {
        let Self { within, beyond } = self;
        match beyond {
            Beyond::Nobody => {
                let own = rest(shard);
                let (mut agreed, works) = within.swap(shard, own);
                if agreed.goes_on() {
                    let bounds = works.map(|works| vec![moved(shard.layout(), 0, &works)]);
                    agreed.layout = bounds.and_then(|bounds| shard.layout().cut_at(&bounds));
                }
                agreed
            }
            Beyond::Lead(lead) => {
                let used = std::mem::take(&mut lead.used);
                let outgoing = lead.outgoing(shard, used, &within.patience);
                let mut own = (Agreed::FAILED, None);
                let come = lead.ranks.exchange(&lead.partners, outgoing, &mut || {
                    let verdict = rest(shard);
                    own = within.swap(shard, verdict);
                    Some(lead.words(&own.0))
                });
                let taken = come.and_then(|(come, words)| {
                    let agreed = lead.arrived(shard, &come, words, own.1)?;
                    Ok((come, agreed))
                });
                match taken {
                    Ok((come, agreed)) => {
                        lead.used = come;
                        agreed
                    }
                    // What is the matter shows again when all ranks tell how they ended.
                    Err(_) => Agreed::FAILED,
                }
            }
            Beyond::Through(give, told) => {
                let _ = give.send(shard.packed(Vec::new()));
                let own = rest(shard);
                let (here, _) = within.swap(shard, own);
                if here.verdict == Verdict::Failed {
                    return here;
                }
                let Ok(Arrived { packed, agreed }) = within.patience.wait(told, None, false) else {
                    return Agreed::FAILED;
                };
                let taken = packed.iter().try_for_each(|bytes| shard.accept_packed(bytes));
                if taken.is_ok() { agreed } else { Agreed::FAILED }
            }
        }
    }
}

impl<M> Within<M> {
    /// The way to so many others, of whom there are none yet.
    fn new(others: usize) -> Self {
        let cores = vec![None; others];
        Self { to: Vec::new(), from: Vec::new(), cores, patience: Patience::default() }
    }

    /// Gives every other worker its events, takes theirs, and agrees with them on the next window; and what
    /// all of them measured, in their order, when it is time to look. A worker that has failed only says so.
    fn swap<P: Peer<Message = M>, R: Probe>(
        &mut self,
        shard: &mut Shard<'_, P, R>,
        own: Verdict,
    ) -> (Agreed, Option<Vec<Work>>) {
        let failed = own == Verdict::Failed;
        let mut verdict = own;
        let mut next = shard.next_window();
        let told = next;
        let work = shard.work();
        for (worker, sender) in &self.to {
            let (pending, posts) = if failed {
                (Pending::of(*worker), None)
            } else {
                (shard.take_outgoing(*worker), shard.posted_for(*worker))
            };
            let (work, core) = (work.clone(), cores::here());
            let _ = sender.send(Batch { pending, posts, next: told, verdict: own, work, core });
        }
        if failed {
            return (Agreed::FAILED, None);
        }
        let before = self.to.iter().filter(|(worker, _)| *worker < shard.worker()).count();
        let mut works: Vec<Work> = Vec::new();
        for (other, (receiver, core)) in self.from.iter().zip(&mut self.cores).enumerate() {
            match self.patience.wait(receiver, *core, other < before) {
                Ok(batch) => {
                    *core = batch.core;
                    shard.accept(batch.pending, batch.posts);
                    works.extend(batch.work);
                    next = [next, batch.next].into_iter().flatten().min();
                    verdict = verdict.max(batch.verdict);
                }
                // The other worker failed; its own end says how.
                Err(_) => verdict = Verdict::Failed,
            }
        }
        let works = work.filter(|_| works.len() == self.from.len()).map(|own| {
            works.insert(before, own);
            works
        });
        (Agreed { verdict, next, layout: None }, works)
    }
}

/// Where measured parts go.
pub(super) enum Parts<'a, R: Probe> {
    /// To the thread that measures.
    Measured(Sender<Part<R::Local>>),
    /// To rank 0, with what else goes there.
    Sent(Receiver<Part<R::Local>>),
    /// Nowhere: what is found in them goes to rank 0.
    Kept(Keeping<'a, R>),
}

/// Another worker of the rank: what it has for each other rank, and where it hears what came.
type Member = (Receiver<Vec<Vec<u8>>>, Sender<Arrived>);

/// Speaks with other ranks for all workers of its own.
pub(super) struct Lead<'a, R: Probe> {
    ranks: &'a dyn Ranks,
    /// The ranks that run neighbours of its peers: with others it has nothing to exchange.
    partners: Vec<usize>,
    probe: &'a R,
    parts: Parts<'a, R>,
    members: Vec<Member>,
    /// What came last, by rank: its memory is used again.
    used: Vec<Vec<u8>>,
}

impl<'a, R: Probe> Lead<'a, R> {
    pub(super) fn new(
        ranks: &'a dyn Ranks,
        partners: Vec<usize>,
        probe: &'a R,
        parts: Parts<'a, R>,
    ) -> Self {
        Self { ranks, partners, probe, parts, members: Vec::new(), used: Vec::new() }
    }

    /// What the workers of this rank have for each other one.
    fn outgoing<P: Peer>(
        &self,
        shard: &mut Shard<'_, P, R>,
        used: Vec<Vec<u8>>,
        patience: &Patience,
    ) -> Vec<Vec<u8>> {
        let mut outgoing = shard.packed(used);
        for given in
            self.members.iter().filter_map(|(given, _)| patience.wait(given, None, false).ok())
        {
            outgoing.iter_mut().zip(given).for_each(|(bytes, more)| bytes.extend(more));
        }
        outgoing
    }

    /// How this rank stands: the worst verdict of all, the earliest of their windows, and whether any has
    /// measured something, are the greatest of these words.
    fn words(&self, own: &Agreed) -> Words {
        let measured = match &self.parts {
            Parts::Measured(_) => false,
            Parts::Sent(parts) => !parts.is_empty(),
            Parts::Kept(keeping) => keeping.has_more(),
        };
        let soon = own.next.map_or(0, |window| u64::MAX - window);
        [own.verdict as u64, soon, measured.into()]
    }

    /// Takes what other ranks sent, and hands it on, with what all have agreed on. When it is time to look at
    /// what was measured, every rank says where its workers begin and end from now on.
    fn arrived<P: Peer>(
        &mut self,
        shard: &mut Shard<'_, P, R>,
        come: &[Vec<u8>],
        [verdict, soon, measured]: Words,
        works: Option<Vec<Work>>,
    ) -> Result<Agreed, NetworkError> {
        let next = (soon > 0).then(|| u64::MAX - soon);
        let mut agreed = Agreed { verdict: Verdict::of(verdict), next, layout: None };
        let mut packed = vec![Vec::new(); self.members.len()];
        for &rank in &self.partners {
            let taken = self.take(shard, &come[rank], &mut packed);
            taken.map_err(|error| garbled(rank, &error))?;
        }
        // Before any worker goes on: what it measures in the next window comes behind this.
        if measured > 0 {
            self.hand_over()?;
        }
        if let Some(works) = works.filter(|_| agreed.goes_on()) {
            let own = moved(shard.layout(), self.ranks.rank(), &works);
            agreed.layout = shard.layout().cut_at(&self.ranks.all_of(&own)?);
        }
        for ((_, tell), packed) in self.members.iter().zip(packed) {
            let _ = tell.send(Arrived { packed, agreed: agreed.clone() });
        }
        Ok(agreed)
    }

    /// Takes what one rank sent: one after the other, each of its workers has something for each of ours.
    fn take<P: Peer>(
        &self,
        shard: &mut Shard<'_, P, R>,
        mut bytes: &[u8],
        packed: &mut [Vec<Vec<u8>>],
    ) -> Result<(), WireError> {
        let bytes = &mut bytes;
        while !bytes.is_empty() {
            shard.accept_packed(take_packed(bytes)?)?;
            for packed in &mut *packed {
                let more = take_packed(bytes)?;
                if !more.is_empty() {
                    packed.push(more.to_vec());
                }
            }
        }
        Ok(())
    }

    /// Hands what was measured to rank 0, which takes it from one rank after the other; or what was found in
    /// it.
    fn hand_over(&mut self) -> Result<(), NetworkError> {
        let Self { ranks, probe, parts, .. } = self;
        match parts {
            Parts::Kept(keeping) => keeping.measure(*ranks, probe),
            Parts::Sent(parts) => ranks.each_taken(parts.try_iter().collect::<Vec<_>>(), drop),
            Parts::Measured(rows) => ranks.each_taken(Vec::new(), |parts| {
                for part in parts {
                    // The receiver is gone only when the run is ending anyway.
                    let _ = rows.send(Part::with_tokens_scored(part, *probe));
                }
            }),
        }
    }
}

/// Where the shards of a rank should begin and end, by what its workers measured.
fn moved(layout: &Layout, rank: usize, works: &[Work]) -> Vec<usize> {
    let bounds = layout.bounds_of(rank);
    layout.cuts().moved(bounds, works).unwrap_or_else(|| bounds.to_vec())
}

/// How a worker waits for others.
#[derive(Default)]
struct Patience {
    /// How many times running it has looked in vain.
    in_vain: Cell<u32>,
}

impl Patience {
    /// Looks for what is due any moment before going to sleep for it: a window may be microseconds of work,
    /// and to be woken takes longer. If it does not come because the other is on the same core, one of them
    /// goes away: the one that is `yielding`, or else the one that has looked in vain for some time.
    fn wait<T>(
        &self,
        receiver: &Receiver<T>,
        other: Option<usize>,
        yielding: bool,
    ) -> Result<T, RecvError> {
        const LOOKS: u32 = 2000;
        const SOME: u32 = 4;
        for _ in 0..LOOKS {
            match receiver.try_recv() {
                Ok(batch) => {
                    self.in_vain.set(0);
                    return Ok(batch);
                }
                Err(TryRecvError::Disconnected) => return Err(RecvError),
                Err(TryRecvError::Empty) => std::hint::spin_loop(),
            }
        }
        self.in_vain.set(self.in_vain.get().saturating_add(1));
        if let Some(core) = cores::here()
            && other == Some(core)
            && (yielding || self.in_vain.get() >= SOME)
        {
            cores::leave(core);
        }
        receiver.recv()
    }
}
