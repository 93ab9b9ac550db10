//! Colours that people with any colour vision can tell apart, in light and dark themes.

use super::super::markup::Element;

/// A colour as a CSS variable, with what to use where the variable is not set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paint {
    variable: &'static str,
    fallback: &'static str,
}

/// Text and axes.
pub(super) const INK: Paint = Paint { variable: "--plot-ink", fallback: "#1b1f24" };
/// Secondary text and reference lines.
pub(super) const MUTED: Paint = Paint { variable: "--plot-muted", fallback: "#59636e" };
/// Grid lines.
pub(super) const GRID: Paint = Paint { variable: "--plot-grid", fallback: "#e3e6ea" };
/// Links of a drawn graph.
pub(super) const LINK: Paint = Paint { variable: "--plot-link", fallback: "#9aa3ad" };
/// The rim of a drawn node: on a dark ground it must lift the dark end of the colour map.
pub(super) const RIM: Paint = Paint { variable: "--plot-rim", fallback: "#ffffff" };
/// What everything is drawn on.
pub(super) const GROUND: Paint = Paint { variable: "--plot-ground", fallback: "#ffffff" };

/// Okabe and Ito's palette without its yellow, which is too faint on white for a line.
const SERIES: [Paint; 7] = [
    Paint { variable: "--series-1", fallback: "#0072b2" },
    Paint { variable: "--series-2", fallback: "#d55e00" },
    Paint { variable: "--series-3", fallback: "#009e73" },
    Paint { variable: "--series-4", fallback: "#cc79a7" },
    Paint { variable: "--series-5", fallback: "#e69f00" },
    Paint { variable: "--series-6", fallback: "#56b4e9" },
    Paint { variable: "--plot-ink", fallback: "#1b1f24" },
];

/// Dash patterns, the cue beside colour. Five and seven share no factor, so 35 series differ.
const DASHES: [&str; 5] = ["none", "7 3.5", "2 3", "9 3 2 3", "14 4"];

pub(super) fn series(index: usize) -> Paint {
    SERIES[index % SERIES.len()]
}

pub(super) fn dashes(index: usize) -> &'static str {
    DASHES[index % DASHES.len()]
}

impl Paint {
    pub(super) fn fill(self, element: Element) -> Element {
        let Self { variable, fallback } = self;
        element.set("fill", fallback).set("style", format!("fill:var({variable},{fallback})"))
    }

    pub(super) fn stroke(self, element: Element) -> Element {
        let Self { variable, fallback } = self;
        element
            .set("fill", "none")
            .set("stroke", fallback)
            .set("style", format!("stroke:var({variable},{fallback})"))
    }
}

/// Viridis at nine even steps; between them linear interpolation is off by less than the eye
/// sees on a node.
pub(super) const VIRIDIS: [[u8; 3]; 9] = [
    [68, 1, 84],
    [71, 44, 122],
    [59, 81, 139],
    [44, 113, 142],
    [33, 144, 141],
    [39, 173, 129],
    [92, 200, 99],
    [170, 220, 50],
    [253, 231, 37],
];

/// A colour in sRGB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Colour([u8; 3]);

impl From<[u8; 3]> for Colour {
    fn from(rgb: [u8; 3]) -> Self {
        Self(rgb)
    }
}

impl Colour {
    /// What a node without a value gets.
    pub(super) const NEUTRAL: Self = Self([184, 192, 200]);

    /// The colour at `fraction` of the map, from dark (0) to light (1).
    pub(super) fn viridis(fraction: f64) -> Self {
        let last = VIRIDIS.len() - 1;
        let place = fraction.clamp(0.0, 1.0) * last as f64;
        let below = (place as usize).min(last - 1);
        let weight = place - below as f64;
        let mix = |c: usize| {
            let (a, b) = (f64::from(VIRIDIS[below][c]), f64::from(VIRIDIS[below + 1][c]));
            (a + weight * (b - a)).round() as u8
        };
        Self([mix(0), mix(1), mix(2)])
    }

    pub(super) fn hex(self) -> String {
        let [r, g, b] = self.0;
        format!("#{r:02x}{g:02x}{b:02x}")
    }

    /// Black or white, whichever stands out more on this colour (WCAG relative luminance).
    pub(super) fn lettering(self) -> &'static str {
        let linear = self.0.map(|c| (f64::from(c) / 255.0).powf(2.2));
        let luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
        if luminance > 0.179 { "#000000" } else { "#ffffff" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn viridis_runs_from_purple_to_yellow_and_grows_lighter() {
        assert_eq!(Colour::viridis(0.0).hex(), "#440154");
        assert_eq!(Colour::viridis(1.0).hex(), "#fde725");
        assert_eq!(Colour::viridis(f64::INFINITY), Colour::viridis(1.0));
        assert_eq!(Colour::viridis(0.0).lettering(), "#ffffff");
        assert_eq!(Colour::viridis(1.0).lettering(), "#000000");
        let green = |i: u32| Colour::viridis(f64::from(i) / 100.0).0[1];
        assert!((0..100).all(|i| green(i) <= green(i + 1)));
    }

    #[test]
    fn series_repeat_only_after_all_pairs_of_colour_and_dash() {
        let look = |i: usize| (series(i).fallback, dashes(i));
        assert!((1..35).all(|i| look(i) != look(0)));
        assert_eq!(look(35), look(0));
    }
}
