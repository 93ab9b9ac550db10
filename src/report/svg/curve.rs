//! From a series' points to what can be drawn of them: placed, cut where they diverge, thinned.

use super::axis::{Range, Scale};
use super::plot::Series;

/// A series with more points than this in one piece is thinned to at most this many.
pub(in crate::report) const MOST_POINTS: usize = 1000;
/// The rule, in words.
pub(in crate::report) const THINNING: &str =
    "first, lowest, highest and last of 250 buckets along x";
/// Thinning keeps four points of each bucket.
const BUCKETS: usize = MOST_POINTS / 4;

/// A point in places of its axes, with the band around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) band: Option<(f64, f64)>,
    /// Its position in the series, to name it.
    pub(super) index: usize,
}

/// What can be drawn of a series.
#[derive(Debug, Default)]
pub(super) struct Curve {
    /// Runs of points without a divergence between them.
    pub(super) pieces: Vec<Vec<Point>>,
    /// Where a value was not finite: its own x place.
    pub(super) cuts: Vec<Cut>,
    /// How many points had no place on a log axis.
    pub(super) non_positive: usize,
    /// How many points are drawn for how many there were, if fewer.
    pub(super) thinned: Option<(usize, usize)>,
}

/// A place where a curve ends because the next value was not finite.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    /// The x place of the value that was not finite.
    pub(super) x: f64,
    /// That value's position in the series.
    pub(super) index: usize,
    /// The last point before it, if there is one.
    pub(super) last: Option<Point>,
}

impl Curve {
    pub(super) fn new(series: &Series, x_scale: Scale, y_scale: Scale) -> Self {
        let mut curve = Self::default();
        let mut piece: Vec<Point> = Vec::new();
        for (index, &(x, y)) in series.points.iter().enumerate() {
            // Without a place along x there is nothing to cut at.
            let Some(x) = x_scale.place(x) else {
                curve.non_positive += usize::from(x <= 0.0);
                continue;
            };
            match y_scale.place(y) {
                Some(y) => piece.push(Point { x, y, band: band_at(series, index, y_scale), index }),
                None if y <= 0.0 && y.is_finite() => curve.non_positive += 1,
                None => {
                    let last = piece.last().copied();
                    if last.is_some() || curve.cuts.is_empty() {
                        curve.cuts.push(Cut { x, index, last });
                    }
                    curve.end_piece(&mut piece);
                }
            }
        }
        curve.end_piece(&mut piece);
        curve
    }

    fn end_piece(&mut self, piece: &mut Vec<Point>) {
        if !piece.is_empty() {
            self.pieces.push(std::mem::take(piece));
        }
    }

    pub(super) fn points(&self) -> impl Iterator<Item = &Point> + Clone {
        self.pieces.iter().flatten()
    }

    /// Thins every piece that has too many points.
    pub(super) fn thin(&mut self, x_range: Range) {
        let before = self.points().count();
        for piece in &mut self.pieces {
            *piece = thinned(std::mem::take(piece), x_range);
        }
        let after = self.points().count();
        self.thinned = (after < before).then_some((after, before));
    }
}

/// The band at a point, as (low, high); a low end that a log axis cannot show is below all of it.
fn band_at(series: &Series, index: usize, scale: Scale) -> Option<(f64, f64)> {
    let &(low, high) = series.band.as_ref()?.get(index)?;
    let top = scale.place(high)?;
    match scale.place(low) {
        Some(bottom) => Some((bottom.min(top), bottom.max(top))),
        None if scale == Scale::Log && low <= 0.0 && low.is_finite() => Some((f64::MIN, top)),
        None => None,
    }
}

/// Of each of 250 buckets the first, the lowest, the highest and the last point.
///
/// Buckets are equal lengths of the x axis as drawn, so a log axis keeps its first decades; where
/// x does not grow, they are equal numbers of points.
fn thinned(points: Vec<Point>, x_range: Range) -> Vec<Point> {
    if points.len() <= MOST_POINTS {
        return points;
    }
    let grows = points.windows(2).all(|pair| pair[0].x <= pair[1].x);
    let bucket = |i: usize| {
        let fraction =
            if grows { x_range.fraction(points[i].x) } else { i as f64 / points.len() as f64 };
        ((fraction * BUCKETS as f64) as usize).min(BUCKETS - 1)
    };
    let mut kept: Vec<usize> = Vec::with_capacity(MOST_POINTS);
    let mut start = 0;
    while start < points.len() {
        let mut end = start + 1;
        let (mut lowest, mut highest) = (start, start);
        while end < points.len() && bucket(end) == bucket(start) {
            if points[end].y < points[lowest].y {
                lowest = end;
            }
            if points[end].y > points[highest].y {
                highest = end;
            }
            end += 1;
        }
        let mut of_bucket = [start, lowest, highest, end - 1];
        of_bucket.sort_unstable();
        kept.extend(of_bucket);
        start = end;
    }
    kept.dedup();
    kept.into_iter().map(|i| points[i]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(y: impl IntoIterator<Item = f64>) -> Series {
        Series::new("", y.into_iter().enumerate().map(|(i, y)| (i as f64, y)))
    }

    #[test]
    fn a_divergence_cuts_and_is_marked() {
        let nan = f64::NAN;
        let series = line([1.0, 2.0, f64::INFINITY, nan, 3.0, 1e301]);
        let curve = Curve::new(&series, Scale::Linear, Scale::Linear);
        let sizes: Vec<usize> = curve.pieces.iter().map(Vec::len).collect();
        assert_eq!(sizes, [2, 1]);
        let cuts: Vec<f64> = curve.cuts.iter().map(|cut| cut.x).collect();
        assert_eq!(cuts, [2.0, 5.0]);
    }

    #[test]
    fn a_log_axis_drops_what_is_not_positive_and_joins_the_rest() {
        let curve = Curve::new(&line([1.0, 0.0, -3.0, 10.0]), Scale::Linear, Scale::Log);
        assert_eq!((curve.pieces.len(), curve.non_positive), (1, 2));
        let y: Vec<f64> = curve.points().map(|p| p.y).collect();
        assert_eq!(y, [0.0, 1.0]);
    }

    proptest! {
        #[test]
        fn thinning_keeps_ends_and_extremes(
            y in proptest::collection::vec(-1e3..1e3, 1001..4000), log: bool, back: bool,
        ) {
            let mut series = line(y);
            series.points.iter_mut().for_each(|p| p.0 += 1.0);
            if back {
                series.points.swap(3, 700);
            }
            let scale = if log { Scale::Log } else { Scale::Linear };
            let mut curve = Curve::new(&series, scale, Scale::Linear);
            let whole: Vec<Point> = curve.points().copied().collect();
            let range = Range::around(whole.iter().map(|p| p.x));
            curve.thin(range);
            let kept: Vec<Point> = curve.points().copied().collect();
            prop_assert!(kept.len() <= MOST_POINTS);
            prop_assert_eq!(kept.first(), whole.first());
            prop_assert_eq!(kept.last(), whole.last());
            let y_range = |points: &[Point]| Range::around(points.iter().map(|p| p.y));
            prop_assert_eq!(y_range(&kept), y_range(&whole));
            prop_assert!(kept.windows(2).all(|pair| pair[0].index < pair[1].index));
        }
    }
}
