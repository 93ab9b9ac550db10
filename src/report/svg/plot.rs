//! Line plots with intervals.

use super::Svg;
pub use super::axis::{Axis, Scale};
use super::curve::Curve;
use super::frame::Frame;
use super::palette::{self, Paint};

/// How a series' line is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// The colour's place in the palette; by default the series' own place in the plot. Two
    /// series that belong together, such as a measurement and its prediction, can share one.
    pub colour: Option<usize>,
    /// The line.
    pub line: Line,
}

/// Points that belong together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// What the legend says.
    pub label: String,
    /// The points in the order in which they are joined. A y that is not finite cuts the line.
    pub points: Vec<(f64, f64)>,
    /// The interval (low, high) around each point, in the order of `points`.
    pub band: Option<Vec<(f64, f64)>>,
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
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// Its height, in the unit of the y axis.
    pub value: f64,
    /// What it is.
    pub label: String,
}

/// A plot of y over x.
#[derive(Clone, Debug, Default, PartialEq)]
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
        let mut curves: Vec<Curve> =
            self.series.iter().map(|s| Curve::new(s, self.x.scale, self.y.scale)).collect();
        let frame = Frame::new(self, &curves);
        curves.iter_mut().for_each(|curve| curve.thin(frame.x_range()));

        let (view, content) = frame.draw(self, &curves);
        Svg::drawn(view, &self.title, &self.description(&curves), content)
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
            if let Some((drawn, all)) = curve.thinned {
                let rule = "first, lowest, highest and last of 250 buckets along x";
                note(format!("{drawn} of {all} points drawn ({rule})"));
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
