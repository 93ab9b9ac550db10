//! Sums that do not depend on the order in which they are added up.

use crate::privacy::{Pack, WireError};

/// Bits of a digit.
const BITS: usize = 32;
/// Digits that every sum of numbers fits in: from 2⁻¹⁰⁷⁴, the least of them, to 2¹⁰²⁴, and a few for
/// what is carried beyond that.
const DIGITS: usize = 67;
/// Digits have room for so many additions before something must be carried.
const ADDITIONS: u32 = 1 << 30;
/// What has been added beside finite numbers.
const NAN: u8 = 1;
const HIGH: u8 = 2;
const LOW: u8 = 4;

/// The exact sum of numbers, as an integer of 2,144 binary digits, in units of the least positive number.
/// It is rounded once, when it is asked for, so that its value is the nearest number to the true sum.
///
/// Peers may be added one by one or by shares, in any order, on whichever worker or rank they are: there
/// is one sum. (The way of keeping it is that of Neal, "Fast exact summation using small and large
/// superaccumulators", arXiv 1505.05571.)
#[derive(Clone, Debug)]
pub struct ExactSum {
    /// Σ digits\[k\] 2^(32 k − 1074); digits may be negative, and longer than 32 bits until they are carried.
    digits: [i64; DIGITS],
    /// Additions since anything was carried.
    additions: u32,
    /// Whether NaN, +∞ and −∞ were added.
    odd: u8,
}

impl Default for ExactSum {
    fn default() -> Self {
        Self { digits: [0; DIGITS], additions: 0, odd: 0 }
    }
}

impl ExactSum {
    /// Adds a number.
    #[inline]
    pub fn add(&mut self, value: f64) {
        let bits = value.to_bits();
        let exponent = (bits >> 52 & 0x7ff) as usize;
        if exponent == 0x7ff {
            self.odd |= match value {
                f64::INFINITY => HIGH,
                f64::NEG_INFINITY => LOW,
                _ => NAN,
            };
            return;
        }
        let hidden = u64::from(exponent > 0) << 52;
        let place = exponent.saturating_sub(1);
        let (first, shift) = (place / BITS, place % BITS);
        let wide = u128::from(bits & ((1 << 52) - 1) | hidden) << shift;
        let sign = if value.is_sign_negative() { -1 } else { 1 };
        for (k, digit) in self.digits[first..first + 3].iter_mut().enumerate() {
            *digit += sign * i64::from((wide >> (k * BITS)) as u32);
        }
        self.additions += 1;
        if self.additions >= ADDITIONS {
            self.carry();
        }
    }

    /// Adds all that another one has added.
    pub fn join(&mut self, other: &Self) {
        let mut other = other.clone();
        other.carry();
        if self.additions > 0 {
            self.carry();
        }
        self.digits.iter_mut().zip(other.digits).for_each(|(digit, more)| *digit += more);
        self.additions += 1;
        self.odd |= other.odd;
    }

    /// The number that is nearest to the sum; NaN where there is none.
    pub fn value(&self) -> f64 {
        match self.odd {
            0 => {}
            HIGH => return f64::INFINITY,
            LOW => return f64::NEG_INFINITY,
            _ => return f64::NAN,
        }
        let mut sum = self.clone();
        sum.carry();
        let negative = sum.digits[DIGITS - 1] < 0;
        if negative {
            sum.digits.iter_mut().for_each(|digit| *digit = -*digit);
            sum.carry();
        }
        let Some(top) = sum.digits.iter().rposition(|&digit| digit != 0) else { return 0.0 };
        // The four highest digits hold 97 bits or more, or all there are; what is below them counts only
        // where they lie half way between two numbers.
        let first = top.saturating_sub(3);
        let high = sum.digits[first..=top].iter().rev();
        let high = high.fold(0_u128, |high, &digit| (high << BITS) + digit as u128);
        let rest = u128::from(sum.digits[..first].iter().any(|&digit| digit != 0));
        let unit = power_of_two(BITS * first);
        let value = (high | rest) as f64 * unit;
        if negative { -value } else { value }
    }

    /// Leaves every digit but the highest between 0 and 2³² − 1.
    fn carry(&mut self) {
        let mut over = 0;
        for digit in &mut self.digits[..DIGITS - 1] {
            let whole = *digit + over;
            over = whole >> BITS;
            *digit = whole - (over << BITS);
        }
        self.digits[DIGITS - 1] += over;
        self.additions = 0;
    }
}

/// 2^(place − 1074).
fn power_of_two(place: usize) -> f64 {
    match place {
        0..52 => f64::from_bits(1 << place),
        _ => f64::from_bits(((place - 51) as u64) << 52),
    }
}

impl Extend<f64> for ExactSum {
    fn extend<I: IntoIterator<Item = f64>>(&mut self, values: I) {
        values.into_iter().for_each(|value| self.add(value));
    }
}

impl FromIterator<f64> for ExactSum {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut sum = Self::default();
        sum.extend(values);
        sum
    }
}

/// The digits that are not 0, and where they begin.
impl Pack for ExactSum {
    fn put(&self, bytes: &mut Vec<u8>) {
        let mut sum = self.clone();
        sum.carry();
        let first = sum.digits.iter().position(|&digit| digit != 0).unwrap_or(0);
        let end = sum.digits.iter().rposition(|&digit| digit != 0).map_or(0, |last| last + 1);
        (sum.odd, first, end - first).put(bytes);
        sum.digits[first..end].iter().for_each(|&digit| (digit as u64).put(bytes));
    }
    fn get(bytes: &mut &[u8]) -> Result<Self, WireError> {
        let (odd, first, length) = <(u8, usize, usize)>::get(bytes)?;
        let mut sum = Self { odd, ..Self::default() };
        for digit in sum.digits.iter_mut().skip(first).take(length) {
            *digit = u64::get(bytes)? as i64;
        }
        Ok(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(values: &[f64]) -> f64 {
        values.iter().copied().collect::<ExactSum>().value()
    }

    /// Numbers of all sizes from 2^−widest to 2^widest, positive and negative.
    fn numbers(count: usize, widest: i32) -> Vec<f64> {
        let mut state = 7_u64;
        let mut word = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut number = || {
            let exponent = f64::from(2 * widest + 1) * word();
            (2.0 * word() - 1.0) * 2_f64.powi(exponent as i32 - widest)
        };
        (0..count).map(|_| number()).collect()
    }

    #[test]
    fn one_number_is_itself_and_two_are_rounded_as_by_the_processor() {
        let odd = [0.0, 1.0, -1.0, f64::MIN_POSITIVE, 5e-324, -1e-310, f64::MAX, 0.1, -1e300];
        let values = [numbers(300, 1000), odd.to_vec()].concat();
        for &a in &values {
            assert_eq!(exact(&[a]), a);
            for &b in &values {
                assert_eq!(exact(&[a, b]), a + b, "{a} + {b}");
            }
        }
    }

    #[test]
    fn nothing_is_lost_and_order_does_not_matter() {
        assert_eq!(exact(&[1e300, 1.0, -1e300, 1e-300, -1.0]), 1e-300);
        // Half way between two numbers it goes to the even one; a hair beyond, up.
        assert_eq!(exact(&[1.0, f64::EPSILON / 2.0]), 1.0);
        assert_eq!(exact(&[1.0, f64::EPSILON / 2.0, 1e-300]), 1.0 + f64::EPSILON);
        let mut values = numbers(5000, 400);
        let sum = exact(&values);
        values.reverse();
        assert_eq!(exact(&values), sum);
        values.extend(values.clone().iter().map(|value| -value));
        assert_eq!(exact(&values), 0.0);
    }

    #[test]
    fn shares_add_up_to_the_same_through_bytes() {
        let values = numbers(4000, 300);
        for share in [1, 7, 1024, 4000] {
            let mut sum = ExactSum::default();
            for part in values.chunks(share).rev() {
                let mut bytes = Vec::new();
                part.iter().copied().collect::<ExactSum>().put(&mut bytes);
                sum.join(&ExactSum::get(&mut &bytes[..]).unwrap());
            }
            assert_eq!(sum.value(), exact(&values), "{share}");
        }
    }

    #[test]
    fn it_is_a_plain_sum_but_for_rounding() {
        let values = numbers(100_000, 3);
        let (plain, size) =
            (values.iter().sum::<f64>(), values.iter().map(|v| v.abs()).sum::<f64>());
        assert!((exact(&values) - plain).abs() <= 1e-12 * size);
        let blocks: f64 = values.chunks(1024).map(|block| block.iter().sum::<f64>()).sum();
        assert!((exact(&values) - blocks).abs() <= 1e-12 * size);
    }

    #[test]
    fn what_is_not_finite_shows() {
        let high = f64::INFINITY;
        assert_eq!((exact(&[1.0, high]), exact(&[-high, 1.0])), (high, -high));
        assert!(exact(&[high, -high]).is_nan() && exact(&[f64::NAN, high, 1.0]).is_nan());
        assert_eq!((exact(&[f64::MAX, f64::MAX]), exact(&[])), (high, 0.0));
        assert_eq!(exact(&[f64::MAX, f64::MAX, -f64::MAX]), f64::MAX);
    }
}
