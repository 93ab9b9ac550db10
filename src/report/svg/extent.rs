//! Rectangles: what is drawn where, and what covers what.

/// A rectangle that something fills.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Extent {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl Extent {
    /// The rectangle of a given size around a point.
    pub(super) fn around(x: f64, y: f64, width: f64, height: f64) -> Self {
        let (w, h) = (width / 2.0, height / 2.0);
        Self { left: x - w, top: y - h, right: x + w, bottom: y + h }
    }

    /// The least rectangle that holds both.
    pub(super) fn with(self, other: Self) -> Self {
        Self {
            left: self.left.min(other.left),
            top: self.top.min(other.top),
            right: self.right.max(other.right),
            bottom: self.bottom.max(other.bottom),
        }
    }

    pub(super) fn centre(self) -> (f64, f64) {
        ((self.left + self.right) / 2.0, (self.top + self.bottom) / 2.0)
    }

    /// The area that two rectangles share.
    pub(super) fn overlap(self, other: Self) -> f64 {
        let width = self.right.min(other.right) - self.left.max(other.left);
        let height = self.bottom.min(other.bottom) - self.top.max(other.top);
        width.max(0.0) * height.max(0.0)
    }

    /// The length of the part of a line that lies inside (Liang and Barsky's clipping).
    pub(super) fn length_inside(self, from: (f64, f64), to: (f64, f64)) -> f64 {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let (mut enter, mut leave) = (0.0f64, 1.0f64);
        for (step, low, high) in [
            (dx, self.left - from.0, self.right - from.0),
            (dy, self.top - from.1, self.bottom - from.1),
        ] {
            if step == 0.0 {
                if low > 0.0 || high < 0.0 {
                    return 0.0;
                }
                continue;
            }
            let (a, b) = (low / step, high / step);
            enter = enter.max(a.min(b));
            leave = leave.min(a.max(b));
        }
        (leave - enter).max(0.0) * dx.hypot(dy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_measured_inside_only() {
        let square = Extent::around(0.0, 0.0, 2.0, 2.0);
        for (from, to, length) in [
            ((-5.0, 0.0), (5.0, 0.0), 2.0),
            ((0.0, 0.0), (0.0, 9.0), 1.0),
            ((-5.0, 2.0), (5.0, 2.0), 0.0),
            ((0.0, 2.0), (2.0, 0.0), 0.0),
            ((-3.0, -3.0), (3.0, 3.0), 8f64.sqrt()),
        ] {
            assert!((square.length_inside(from, to) - length).abs() < 1e-12, "{from:?} {to:?}");
        }
    }

    #[test]
    fn overlap_is_an_area() {
        let square = Extent::around(0.0, 0.0, 2.0, 2.0);
        assert_eq!(square.overlap(Extent::around(1.0, 1.0, 2.0, 2.0)), 1.0);
        assert_eq!(square.overlap(Extent::around(3.0, 0.0, 2.0, 2.0)), 0.0);
    }
}
