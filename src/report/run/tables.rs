//! metrics.csv and peers.csv.

pub(super) use super::super::number::exact as number;
use crate::experiment::{DirectoryError, EachPeer, RunResult, listed_every};
use crate::learn::{axpy, distance, norm};
use crate::units::PeerId;

/// Lines of fields, quoted where they must be.
pub(super) fn csv(lines: impl Iterator<Item = Vec<String>>) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for line in lines {
        writer.write_record(&line).expect("memory takes lines of equal length");
    }
    writer.into_inner().expect("memory can be flushed")
}

/// A peer's number of something.
fn count(all: &EachPeer<u32>, peer: PeerId) -> String {
    all.get(peer.index()).unwrap_or_default().to_string()
}

/// One row per repeat and measured round.
pub fn metrics_csv(result: &RunResult) -> Vec<u8> {
    let names = result.metrics.iter().map(|metric| metric.name());
    let head = ["repeat", "round"].into_iter().chain(names).map(str::to_string).collect();
    let rows = result.repeats.iter().flat_map(|repeat| {
        repeat.rows.iter().map(move |row| {
            let mut line = vec![repeat.repeat.to_string(), row.round.to_string()];
            line.extend(row.values.iter().map(|&value| number(value)));
            line
        })
    });
    csv(std::iter::once(head).chain(rows))
}

/// One row per repeat, measured round and task, where there were tokens.
pub fn tasks_csv(result: &RunResult) -> Option<Vec<u8>> {
    result.repeats.first()?.tokens.as_ref()?;
    let head = [
        "repeat",
        "round",
        "task",
        "class",
        "global_steps",
        "global_share",
        "hops",
        "forwards",
        "bytes",
    ];
    let rows = result.repeats.iter().flat_map(|repeat| {
        repeat.tokens.iter().flat_map(move |tokens| {
            let rows = repeat.rows.iter().zip(&tokens.rows);
            rows.flat_map(move |(row, journeys)| {
                journeys.iter().enumerate().map(move |(task, journey)| {
                    let share = journey.releases as f64 / f64::from(row.round.0);
                    vec![
                        repeat.repeat.to_string(),
                        row.round.to_string(),
                        task.to_string(),
                        tokens.name(task),
                        journey.releases.to_string(),
                        number(share),
                        journey.hops.to_string(),
                        journey.forwards.to_string(),
                        journey.bytes.to_string(),
                    ]
                })
            })
        })
    });
    Some(csv(std::iter::once(head.map(str::to_string).to_vec()).chain(rows)))
}

/// One row per repeat and peer, at the end of a run with tokens.
fn token_peers_csv(result: &RunResult) -> Vec<u8> {
    let head = [
        "repeat",
        "peer",
        "name",
        "neighbours",
        "samples",
        "updates",
        "global_steps",
        "forwards",
        "local_test_accuracy",
        "epsilon",
    ];
    let rows = result.repeats.iter().flat_map(|repeat| {
        let work = repeat.tokens.iter().flat_map(|tokens| &tokens.work);
        let every = listed_every(result.topology.peers());
        let peers = result.topology.ids().zip(work).step_by(every).zip(&repeat.locals);
        peers.map(move |((peer, work), local)| {
            vec![
                repeat.repeat.to_string(),
                peer.to_string(),
                result.topology.name(peer).into_owned(),
                count(&repeat.degrees, peer),
                count(&repeat.samples, peer),
                work.updates.to_string(),
                work.releases.to_string(),
                work.forwards.to_string(),
                number(local.test),
                number(repeat.epsilons.get(peer.index()).unwrap_or(f64::NAN)),
            ]
        })
    });
    csv(std::iter::once(head.map(str::to_string).to_vec()).chain(rows))
}

/// One row per repeat and peer, at the end of the run; of more than 100,000 peers, of every k-th.
///
/// # Errors
/// A file of models that cannot be read.
pub fn peers_csv(result: &RunResult) -> Result<Vec<u8>, DirectoryError> {
    if result.repeats.iter().any(|repeat| repeat.tokens.is_some()) {
        return Ok(token_peers_csv(result));
    }
    let score = if result.scenario.model.loss.is_classification() { "accuracy" } else { "mse" };
    let [train, test] = ["train", "test"].map(|part| format!("{part}_{score}"));
    let head = [
        "repeat",
        "peer",
        "name",
        "neighbours",
        "samples",
        "model_norm",
        "mean_distance",
        "optimum_distance",
        "empirical_risk",
        &train,
        &test,
        "epsilon",
    ];
    // Line by line: there may be many.
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(head).expect("memory takes lines of equal length");
    let every = listed_every(result.topology.peers());
    for repeat in &result.repeats {
        let d = repeat.dimension.max(1);
        let mut mean = vec![0.0; repeat.dimension];
        repeat.each_states(|states| {
            states.chunks_exact(d).for_each(|w| axpy(1.0, w, &mut mean));
        })?;
        let models = (repeat.numbers() / d) as f64;
        mean.iter_mut().for_each(|c| *c /= models);
        let (mut peers, mut locals) = (result.topology.ids(), repeat.locals.iter());
        repeat.each_states(|states| {
            let some = states.chunks_exact(d).zip(&mut peers);
            let listed = some.filter(|(_, peer)| peer.index().is_multiple_of(every));
            for ((w, peer), local) in listed.zip(&mut locals) {
                let mut line = vec![
                    repeat.repeat.to_string(),
                    peer.to_string(),
                    result.topology.name(peer).into_owned(),
                    count(&repeat.degrees, peer),
                    count(&repeat.samples, peer),
                ];
                let figures = [
                    norm(w),
                    distance(w, &mean),
                    repeat.optimum.as_ref().map_or(f64::NAN, |best| distance(w, best)),
                    local.risk,
                    local.train,
                    local.test,
                    repeat.epsilons.get(peer.index()).unwrap_or(f64::NAN),
                ];
                line.extend(figures.map(number));
                writer.write_record(&line).expect("memory takes lines of equal length");
            }
        })?;
    }
    Ok(writer.into_inner().expect("memory can be flushed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_read_back_exactly() {
        for (value, text) in [
            (0.0, "0"),
            (0.25, "0.25"),
            (5.349e-10, "5.349e-10"),
            (-1.5e300, "-1.5e300"),
            (416_416.0, "416416"),
        ] {
            assert_eq!(number(value), text);
            assert_eq!(text.parse(), Ok(value));
        }
        assert_eq!(number(f64::NAN), "");
        assert_eq!(number(f64::INFINITY), "inf");
    }
}
