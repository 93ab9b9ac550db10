//! Numbers that go through every operation together: four, and eight.

/// How many numbers go together.
pub const LANES: usize = 4;

/// Four numbers that go through every operation together.
pub(crate) trait Four: Copy {
    /// Two of them.
    type Two: Eight<Four = Self>;
    /// Rows whose dot products fit into the registers together.
    const ROWS: usize;

    /// The same number four times.
    fn splat(x: f64) -> Self;
    /// Four that stand one after the other.
    fn load(x: &[f64; 4]) -> Self;
    /// Puts them back.
    fn store(self, x: &mut [f64; 4]);
    /// The sum, lane by lane.
    fn plus(self, other: Self) -> Self;
    /// The product, lane by lane.
    fn times(self, other: Self) -> Self;
    /// The quotient, lane by lane.
    fn over(self, other: Self) -> Self;
    /// The square root, lane by lane.
    fn root(self) -> Self;
    /// The sum over the lanes of each of four: first and second, third and fourth, then both.
    fn sums(of: [Self; 4]) -> Self;

    /// The four themselves.
    #[inline(always)]
    fn array(self) -> [f64; 4] {
        let mut x = [0.0; 4];
        self.store(&mut x);
        x
    }
}

/// Eight numbers that go through every operation together: two fours.
pub(crate) trait Eight: Copy {
    /// Half of it.
    type Four: Four;

    /// The same number eight times.
    fn splat(x: f64) -> Self;
    /// Eight that stand one after the other.
    fn load(x: &[[f64; 4]; 2]) -> Self;
    /// Puts them back.
    fn store(self, x: &mut [[f64; 4]; 2]);
    /// The sum, lane by lane.
    fn plus(self, other: Self) -> Self;
    /// The product, lane by lane.
    fn times(self, other: Self) -> Self;
    /// The quotient, lane by lane.
    fn over(self, other: Self) -> Self;
    /// The square root, lane by lane.
    fn root(self) -> Self;
    /// Its halves.
    fn halves(self) -> [Self::Four; 2];

    /// The sum of its halves.
    #[inline(always)]
    fn folded(self) -> Self::Four {
        let [low, high] = self.halves();
        low.plus(high)
    }
}

impl<F: Four> Eight for [F; 2] {
    type Four = F;

    #[inline(always)]
    fn splat(x: f64) -> Self {
        [F::splat(x); 2]
    }

    #[inline(always)]
    fn load([low, high]: &[[f64; 4]; 2]) -> Self {
        [F::load(low), F::load(high)]
    }

    #[inline(always)]
    fn store(self, [low, high]: &mut [[f64; 4]; 2]) {
        self[0].store(low);
        self[1].store(high);
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        [self[0].plus(other[0]), self[1].plus(other[1])]
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        [self[0].times(other[0]), self[1].times(other[1])]
    }

    #[inline(always)]
    fn over(self, other: Self) -> Self {
        [self[0].over(other[0]), self[1].over(other[1])]
    }

    #[inline(always)]
    fn root(self) -> Self {
        [self[0].root(), self[1].root()]
    }

    #[inline(always)]
    fn halves(self) -> [F; 2] {
        self
    }
}

/// What the others must agree with, and what other architectures take.
#[cfg(any(test, not(target_arch = "x86_64")))]
impl Four for [f64; 4] {
    type Two = [Self; 2];
    const ROWS: usize = 2;

    #[inline(always)]
    fn splat(x: f64) -> Self {
        [x; 4]
    }

    #[inline(always)]
    fn load(x: &[f64; 4]) -> Self {
        *x
    }

    #[inline(always)]
    fn store(self, x: &mut [f64; 4]) {
        *x = self;
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        std::array::from_fn(|lane| self[lane] + other[lane])
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        std::array::from_fn(|lane| self[lane] * other[lane])
    }

    #[inline(always)]
    fn over(self, other: Self) -> Self {
        std::array::from_fn(|lane| self[lane] / other[lane])
    }

    #[inline(always)]
    fn root(self) -> Self {
        self.map(f64::sqrt)
    }

    #[inline(always)]
    fn sums(of: [Self; 4]) -> Self {
        of.map(|[a, b, c, d]| (a + b) + (c + d))
    }
}
