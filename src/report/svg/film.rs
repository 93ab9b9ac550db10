//! A graph that changes from round to round: what each node was like, coarsely enough to be small.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::json;

use super::super::base64;
use super::Svg;
use super::axis::{Axis, Range, Scale};
use super::graph::{Graph, Shades};
use super::palette::{Colour, VIRIDIS};
use crate::measure::Numbers;

/// The highest level; one more stands for no value.
const TOP: u8 = 254;
/// No value.
const NONE: u8 = 255;
/// On a logarithmic scale the range goes no further below the greatest value than this.
const DEEPEST: f64 = 1e-16;

/// What is shown of every node, round after round, each number in one of 255 levels of one range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    name: String,
    scale: Scale,
    /// The numbers of the lowest and of the highest level, or their logarithms to base ten.
    ends: [f64; 2],
    levels: Levels,
}

/// The level of every node, frame after frame.
#[derive(Clone, Debug, PartialEq)]
struct Levels(Vec<u8>);

impl Serialize for Levels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&base64::encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Levels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = || de::Error::custom("expected bytes in base 64");
        base64::decode(&text).map(Self).ok_or_else(wrong)
    }
}

impl Measure {
    /// What is measured, and the number of each of `peers` nodes in each frame.
    ///
    /// The range is that of all the finite numbers of all frames, so that a colour means the same in
    /// each. On a logarithmic scale, with v the greatest number, it begins at the least that is not
    /// below v·10⁻¹⁶, and what lies below, zero among it, has the lowest level. What is not finite
    /// has none.
    pub fn new(name: impl Into<String>, scale: Scale, peers: usize, frames: &[Numbers]) -> Self {
        let values = || {
            let each = frames.iter().map(|Numbers(values)| values);
            each.flat_map(|values| (0..peers).map(|i| values.get(i).copied().unwrap_or(f64::NAN)))
        };
        let places = || values().filter_map(|value| scale.place(value));
        let lowest = match scale {
            Scale::Linear => f64::NEG_INFINITY,
            Scale::Log => places().fold(f64::NEG_INFINITY, f64::max) + DEEPEST.log10(),
        };
        let range = Range::around(places().filter(|&place| place >= lowest));
        let level = |value: f64| match scale.place(value) {
            Some(place) => (range.fraction(place).clamp(0.0, 1.0) * f64::from(TOP)).round() as u8,
            None if scale == Scale::Log && value <= 0.0 && value.is_finite() => 0,
            None => NONE,
        };
        Self {
            name: name.into(),
            scale,
            ends: [range.low, range.high],
            levels: Levels(values().map(level).collect()),
        }
    }

    fn places(&self) -> Range {
        Range::around(self.ends)
    }

    /// The numbers of one frame, as their levels tell them.
    fn frame(&self, frame: usize, peers: usize) -> Vec<f64> {
        let range = self.places();
        let value = |level: u8| {
            let place = range.low + range.span() * f64::from(level) / f64::from(TOP);
            match (level, self.scale) {
                (NONE, _) => f64::NAN,
                (_, Scale::Linear) => place,
                (_, Scale::Log) => 10f64.powf(place),
            }
        };
        let levels = self.levels.0.iter().skip(frame * peers).take(peers);
        levels.map(|&level| value(level)).collect()
    }

    fn shades(&self, frame: usize, peers: usize) -> Shades {
        let axis = Axis { label: self.name.clone(), unit: None, scale: self.scale };
        Shades { values: self.frame(frame, peers), axis, range: self.places() }
    }
}

/// A graph whose nodes change their colours from round to round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Film {
    /// What does not change.
    pub graph: Graph,
    /// The rounds that are shown.
    pub rounds: Vec<u32>,
    /// How many rounds were measured.
    pub measured: usize,
    /// What is shown of the nodes: one at a time, the first at first.
    pub measures: Vec<Measure>,
}

impl Film {
    /// The last frame as SVG: what one sees on paper, and where no script runs.
    pub fn to_svg(&self) -> Svg {
        self.last_frame(0)
    }

    /// The last frame in each measure, with its name.
    pub fn last_frames(&self) -> Vec<(&str, Svg)> {
        let measures = self.measures.iter().enumerate();
        measures.map(|(at, measure)| (measure.name.as_str(), self.last_frame(at))).collect()
    }

    fn last_frame(&self, shown: usize) -> Svg {
        let (last, peers) = (self.rounds.len().saturating_sub(1), self.graph.peers());
        let shades: Vec<Shades> = self.measures.iter().map(|m| m.shades(last, peers)).collect();
        self.graph.draw(&shades, shown)
    }

    /// What the script of a page needs to play it, as JSON.
    pub(in crate::report) fn reel(&self) -> String {
        let measures = self.measures.iter().map(|measure| {
            let Range { low, high } = measure.places();
            json!({
                "name": measure.name,
                "log": measure.scale == Scale::Log,
                "places": [low, high],
                "levels": measure.levels,
            })
        });
        json!({
            "rounds": self.rounds,
            "labels": self.graph.labels(),
            "measures": measures.collect::<Vec<_>>(),
            "colours": VIRIDIS.map(Colour::from).map(Colour::hex),
            "neutral": Colour::NEUTRAL.hex(),
        })
        .to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::markup::check_well_formed;
    use super::*;

    fn numbers(values: &[f64]) -> Numbers {
        values.iter().copied().collect()
    }

    #[test]
    fn levels_tell_numbers_to_half_a_step_of_the_range() {
        let frames = [numbers(&[1.0, 10.0, 0.3]), numbers(&[1e-6, 3.3e-3, 2e-5])];
        for scale in [Scale::Linear, Scale::Log] {
            let measure = Measure::new("d", scale, 3, &frames);
            let place = |value: f64| scale.place(value).unwrap();
            let step = (place(10.0) - place(1e-6)) / 254.0;
            for (at, Numbers(values)) in frames.iter().enumerate() {
                for (&value, back) in values.iter().zip(measure.frame(at, 3)) {
                    assert!((place(value) - place(back)).abs() <= 0.501 * step, "{value} {back}");
                }
            }
        }
    }

    #[test]
    fn zero_and_what_is_next_to_it_is_lowest_and_no_number_is_none() {
        let odd = [1.0, 0.0, 1e-300, f64::NAN, f64::INFINITY, 1e-8];
        let measure = Measure::new("d", Scale::Log, 6, &[numbers(&odd)]);
        assert_eq!(measure.levels.0, [254, 0, 0, NONE, NONE, 0]);
        assert_eq!(measure.ends, [-8.0, 0.0]);
        let none = Measure::new("d", Scale::Log, 2, &[numbers(&[f64::NAN]), numbers(&[])]);
        assert_eq!(none.levels.0, [NONE; 4]);
    }

    #[test]
    fn a_film_comes_back_from_json_and_draws_the_same() {
        let positions = vec![[0.0, 0.0], [1.0, 0.0]];
        let graph = Graph::new(&[(0, 1)], positions, vec!["a".into(), "<b>".into()]);
        let frames = [numbers(&[1.0, 0.1]), numbers(&[0.01, f64::NAN])];
        let measures = vec![
            Measure::new("distance", Scale::Log, 2, &frames),
            Measure::new("accuracy", Scale::Linear, 2, &frames),
        ];
        let film = Film { graph, rounds: vec![1, 5], measured: 5, measures };
        let json = serde_json::to_string(&film).unwrap();
        let back: Film = serde_json::from_str(&json).unwrap();
        assert_eq!(back, film);
        assert_eq!((back.to_svg(), back.reel()), (film.to_svg(), film.reel()));
        let svg = film.to_svg().into_string();
        check_well_formed(&svg).unwrap();
        // The last frame: the lowest level of all, and none.
        assert!(svg.contains("fill=\"#440154\" data-peer=\"0\""), "{svg}");
        assert!(svg.contains("fill=\"#b8c0c8\" data-peer=\"1\""));
        assert_eq!(svg.matches("data-bar=").count(), 2);
        assert!(
            serde_json::from_str::<Film>(&json.replace("\"levels\":\"", "\"levels\":\"?")).is_err()
        );
    }
}
