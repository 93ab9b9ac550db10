//! Line plots with intervals.

use serde::{Deserialize, Serialize};

use super::Svg;
pub use super::axis::{Axis, Scale};
use super::curve::Curve;
pub(in crate::report) use super::curve::{MOST_POINTS, THINNING};
use super::frame::Frame;
use super::palette::{self, Paint};

/// How a series' line is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Line {
    /// Solid for the first series, then a different dash for each.
    #[default]
    Automatic,
    /// Without gaps.
    Solid,
    /// Long dashes, as one draws a prediction.
    Dashed,
    /// Dots, as one draws a bound.
    Dotted,
    /// Points without a line.
    None,
}

/// How a series looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Style {
    /// The colour's place in the palette; by default the series' own place in the plot. Two
    /// series that belong together, such as a measurement and its prediction, can share one.
    pub colour: Option<usize>,
    /// The line.
    pub line: Line,
}

/// Points that belong together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// What the legend says.
    pub label: String,
    /// The points in the order in which they are joined. A y that is not finite cuts the line.
    #[serde(with = "crate::measure::nan::any_pairs")]
    pub points: Vec<(f64, f64)>,
    /// The interval (low, high) around each point, in the order of `points`.
    #[serde(with = "crate::measure::nan::maybe_pairs")]
    pub band: Option<Vec<(f64, f64)>>,
    /// How many points there were, if `points` are what [`LinePlot::thinned`] left of them.
    pub thinned_from: Option<usize>,
    /// How it looks.
    pub style: Style,
}

impl Series {
    /// A series in the automatic style, without a band.
    pub fn new(label: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self { label: label.into(), points: points.into_iter().collect(), ..Self::default() }
    }

    /// The same series with an interval around each point.
    pub fn band(mut self, band: impl IntoIterator<Item = (f64, f64)>) -> Self {
        self.band = Some(band.into_iter().collect());
        self
    }

    /// The same series in another style.
    pub fn style(mut self, style: Style) -> Self {
        self.style = style;
        self
    }
}

/// A horizontal line to compare with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// Its height, in the unit of the y axis.
    #[serde(with = "crate::measure::nan::any_number")]
    pub value: f64,
    /// What it is.
    pub label: String,
}

/// A plot of y over x.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinePlot {
    /// What it shows.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The curves.
    pub series: Vec<Series>,
    /// Horizontal lines to compare with.
    pub references: Vec<Reference>,
}

impl LinePlot {
    /// The plot as SVG.
    pub fn to_svg(&self) -> Svg {
        self.under_rows(0)
    }

    /// The same plots as SVG, all of one height.
    pub fn side_by_side(plots: &[Self]) -> Vec<Svg> {
        let rows = |plot: &Self| Frame::new(plot, &plot.curves(), 0).rows_above();
        let most = plots.iter().map(rows).max().unwrap_or(0);
        plots.iter().map(|plot| plot.under_rows(most)).collect()
    }

    /// The same plot without the points that are not drawn where a series has too many: what it
    /// shows takes no more room than it needs.
    pub fn thinned(mut self) -> Self {
        let mut curves = self.curves();
        let range = Frame::new(&self, &curves, 0).x_range();
        curves.iter_mut().for_each(|curve| curve.thin(range));
        for (series, curve) in self.series.iter_mut().zip(curves) {
            let Some((_, all)) = curve.thinned else { continue };
            let drawn = curve.points().map(|point| point.index);
            let mut kept: Vec<usize> =
                drawn.chain(curve.cuts.iter().map(|cut| cut.index)).collect();
            kept.sort_unstable();
            series.points = kept.iter().map(|&i| series.points[i]).collect();
            if let Some(band) = &mut series.band {
                let none = (f64::NAN, f64::NAN);
                *band = kept.iter().map(|&i| band.get(i).copied().unwrap_or(none)).collect();
            }
            series.thinned_from = Some(series.thinned_from.unwrap_or(all));
        }
        self
    }

    /// The plot with room for so many rows of title and legend.
    fn under_rows(&self, rows: usize) -> Svg {
        let mut curves = self.curves();
        let frame = Frame::new(self, &curves, rows);
        curves.iter_mut().for_each(|curve| curve.thin(frame.x_range()));
        let (view, content) = frame.draw(self, &curves);
        let scales = ("data-scales", frame.scales(self));
        Svg::drawn(view, &self.title, &self.description(&curves), &[scales], content)
    }

    fn curves(&self) -> Vec<Curve> {
        self.series.iter().map(|s| Curve::new(s, self.x.scale, self.y.scale)).collect()
    }

    pub(super) fn paint(&self, index: usize) -> Paint {
        palette::series(self.series[index].style.colour.unwrap_or(index))
    }

    pub(super) fn dashes(&self, index: usize) -> &'static str {
        match self.series[index].style.line {
            Line::Automatic => palette::dashes(index),
            Line::Solid | Line::None => "none",
            Line::Dashed => "7 3.5",
            Line::Dotted => "1.5 3",
        }
    }

    /// What the plot shows in words, with everything that was left out.
    fn description(&self, curves: &[Curve]) -> String {
        let mut notes =
            vec![format!("{} over {}, {} series", self.y.title(0), self.x.title(0), curves.len())];
        for (series, curve) in self.series.iter().zip(curves) {
            let mut note = |text: String| notes.push(format!("{}: {text}", series.label));
            if curve.points().next().is_none() {
                note("nothing to draw".to_owned());
            }
            if curve.non_positive > 0 {
                let count = curve.non_positive;
                note(format!("not positive and so left out on a log axis: {count}"));
            }
            if !curve.cuts.is_empty() {
                note("cut where it was not finite".to_owned());
            }
            let before = series.thinned_from.map(|all| (curve.points().count(), all));
            if let Some((drawn, all)) = before.or(curve.thinned) {
                note(format!("{drawn} of {all} points drawn ({THINNING})"));
            }
        }
        notes.join(". ") + "."
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::markup::check_well_formed;
    use super::*;
    use proptest::prelude::*;

    fn plot(series: Vec<Series>) -> LinePlot {
        LinePlot { title: "a plot".to_owned(), series, ..LinePlot::default() }
    }

    #[test]
    fn hostile_text_stays_text() {
        let hostile = "</script><script>";
        let mut plot = plot(vec![Series::new(hostile, [(0.0, 1.0), (1.0, 2.0), (2.0, f64::NAN)])]);
        plot.title = hostile.to_owned();
        plot.x = Axis::linear(hostile).unit(hostile);
        plot.y = Axis::log(hostile).unit(hostile);
        plot.references.push(Reference { value: 1.5, label: hostile.to_owned() });
        let svg = plot.to_svg().into_string();
        check_well_formed(&svg).unwrap();
        assert!(!svg.contains("<script"));
    }

    #[test]
    fn the_description_says_what_was_left_out() {
        let many = Series::new("many", (0..5000).map(|i| (f64::from(i), 1.0 + f64::from(i % 7))));
        let zero = Series::new("zero", [(1.0, 0.0), (2.0, 1.0), (3.0, f64::INFINITY)]);
        let mut plot = plot(vec![many, zero, Series::new("void", [])]);
        plot.y.scale = Scale::Log;
        let svg = plot.to_svg().into_string();
        for note in [
            "of 5000 points drawn (first, lowest, highest and last of 250 buckets along x)",
            "zero: not positive and so left out on a log axis: 1",
            "zero: cut where it was not finite",
            "void: nothing to draw",
        ] {
            assert!(svg.contains(note), "{note}");
        }
    }

    #[test]
    fn a_plot_without_anything_is_still_a_plot() {
        check_well_formed(LinePlot::default().to_svg().as_str()).unwrap();
    }

    proptest! {
        #[test]
        fn no_number_in_a_drawing_is_other_than_finite(
            points in proptest::collection::vec((any::<f64>(), any::<f64>()), 0..60),
            band in proptest::collection::vec((any::<f64>(), any::<f64>()), 0..60),
            value: f64, log_x: bool, log_y: bool, label in ".*",
        ) {
            let scale = |log| if log { Scale::Log } else { Scale::Linear };
            let mut plot = plot(vec![Series::new(label, points).band(band)]);
            plot.x.scale = scale(log_x);
            plot.y.scale = scale(log_y);
            plot.references.push(Reference { value, label: "reference".to_owned() });
            let svg = plot.to_svg().into_string();
            prop_assert_eq!(check_well_formed(&svg), Ok(()));
            prop_assert_eq!(plot.to_svg().into_string(), svg);
        }
    }
}
