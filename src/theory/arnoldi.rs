//! The spectral radius of a linear map that is known by its action.

use super::hessenberg::{Eigenvalue, Pair, Square};
use crate::learn::{axpy, dot, norm};

/// What was found of a spectral radius.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Radius {
    pub(super) value: f64,
    /// How far the span of the dominant eigenvectors is from being mapped into itself, as an error of
    /// `value`.
    pub(super) residual: f64,
    pub(super) converged: bool,
    pub(super) applications: usize,
}

/// Vectors of the basis before a restart.
pub(super) const BASIS: usize = 24;
/// Vectors that a restart keeps, or a few more.
const KEPT: usize = 10;

/// The largest modulus ρ among the eigenvalues, by Arnoldi's method with implicit restarts (Sorensen
/// 1992). `apply(x, out)` sets out ← Mx, at most about `most` times.
///
/// The power method would need ever more steps the closer two moduli are, and at the best penalty
/// they are equal. A basis of [`BASIS`] vectors, filtered at each restart of the lesser eigenvalues,
/// separates real, complex and nearly equal ones alike. The basis is that of M^`stride`: about
/// 1/(1 − ρ) steps at a time spread a spectrum that crowds below 1, and cost no orthogonalisation.
pub(super) fn spectral_radius(
    mut apply: impl FnMut(&[f64], &mut [f64]),
    start: Vec<f64>,
    stride: usize,
    tolerance: f64,
    most: usize,
) -> Radius {
    let mut spare = vec![0.0; start.len()];
    let mut apply_stride = |x: &[f64], out: &mut Vec<f64>| {
        apply(x, out);
        for _ in 1..stride {
            std::mem::swap(&mut spare, out);
            apply(&spare, out);
        }
    };
    let mut factorisation = Factorisation::new(start);
    let mut applications = 0;
    loop {
        applications += stride * factorisation.extend(&mut apply_stride);
        let Some(mut eigenvalues) = factorisation.eigenvalues() else {
            return Radius { value: f64::NAN, residual: f64::NAN, converged: false, applications };
        };
        eigenvalues.sort_by(|a, b| b.modulus().total_cmp(&a.modulus()));
        let power = eigenvalues[0].modulus();
        let value = power.powf(1.0 / stride as f64);
        // d ρ = ρ/(s ρ^s) d ρ^s
        let slope = if power > 0.0 { value / (stride as f64 * power) } else { 1.0 };
        let residual = slope * factorisation.residual(eigenvalues[0]);
        let converged = residual <= tolerance;
        if converged || applications >= most {
            return Radius { value, residual, converged, applications };
        }
        factorisation.restart(&eigenvalues);
    }
}

/// MV = VH + rest · v eᵀ with orthonormal V and H of Hessenberg form; v is the vector after V, eᵀ
/// takes the last coordinate.
struct Factorisation {
    basis: Vec<Vec<f64>>,
    projected: Square,
    rest: f64,
    size: usize,
}

impl Factorisation {
    fn new(mut start: Vec<f64>) -> Self {
        let length = norm(&start);
        start.iter_mut().for_each(|v| *v /= length);
        Self { basis: vec![start], projected: Square::zeros(BASIS), rest: 0.0, size: 0 }
    }

    /// Completes the basis, unless an invariant subspace is found first. Returns the applications.
    fn extend(&mut self, apply: &mut impl FnMut(&[f64], &mut Vec<f64>)) -> usize {
        let before = self.size;
        while self.size < BASIS {
            let column = self.size;
            if column > 0 {
                self.projected.set(column, column - 1, self.rest);
            }
            let mut next = vec![0.0; self.basis[0].len()];
            apply(&self.basis[column], &mut next);
            let length = norm(&next);
            self.rest = length;
            // What cancellation left of a vector is orthogonal only after a second pass.
            for _ in 0..2 {
                for (i, v) in self.basis.iter().enumerate() {
                    let along = dot(v, &next);
                    axpy(-along, v, &mut next);
                    self.projected.add(i, column, along);
                }
                let reduced = norm(&next);
                let cancelled = reduced < 0.5 * self.rest;
                self.rest = reduced;
                if !cancelled {
                    break;
                }
            }
            self.size += 1;
            if self.rest <= 1e-13 * length {
                self.rest = 0.0;
                break;
            }
            next.iter_mut().for_each(|v| *v /= self.rest);
            self.basis.push(next);
        }
        self.size - before
    }

    fn eigenvalues(&self) -> Option<Vec<Eigenvalue>> {
        self.projected.leading(self.size).hessenberg_eigenvalues()
    }

    /// |Mx − λx| of the unit vector x that belongs to a real λ; for a pair, the same of the plane.
    fn residual(&self, eigenvalue: Eigenvalue) -> f64 {
        let projected = self.projected.leading(self.size);
        let y = projected.eigenvector(eigenvalue);
        let outside = |y: &[f64]| self.rest * y[self.size - 1].abs() / norm(y);
        match eigenvalue {
            Eigenvalue::Real(_) => outside(&y),
            Eigenvalue::Conjugate(_) => outside(&y).max(outside(&projected.product(&y))),
        }
    }

    /// Filters all but the first eigenvalues out of the space: a QR step on H for each pair of them.
    fn restart(&mut self, eigenvalues: &[Eigenvalue]) {
        let mut kept = 0;
        let mut shifts = Vec::new();
        let mut single = None;
        for &eigenvalue in eigenvalues {
            match (eigenvalue, single) {
                (Eigenvalue::Real(_), _) if kept < KEPT => kept += 1,
                (Eigenvalue::Conjugate(_), _) if kept < KEPT => kept += 2,
                (Eigenvalue::Conjugate(pair), _) => shifts.push(pair),
                (Eigenvalue::Real(a), Some(b)) => {
                    shifts.push(Pair { sum: a + b, product: a * b });
                    single = None;
                }
                (Eigenvalue::Real(a), None) => single = Some(a),
            }
        }
        kept += usize::from(single.is_some());

        let mut turn = Square::zeros(BASIS);
        (0..BASIS).for_each(|i| turn.set(i, i, 1.0));
        for pair in shifts {
            self.projected.francis_step(pair, 0..BASIS, Some(&mut turn));
        }
        let turned = |j: usize| {
            let mut vector = vec![0.0; self.basis[0].len()];
            for (i, v) in self.basis.iter().take(BASIS).enumerate() {
                axpy(turn.at(i, j), v, &mut vector);
            }
            vector
        };
        let mut basis: Vec<_> = (0..kept).map(turned).collect();
        let mut next = turned(kept);
        let along = self.projected.at(kept, kept - 1);
        next.iter_mut().for_each(|v| *v *= along);
        axpy(self.rest * turn.at(BASIS - 1, kept - 1), &self.basis[BASIS], &mut next);
        self.rest = norm(&next);
        next.iter_mut().for_each(|v| *v /= self.rest);
        basis.push(next);
        self.basis = basis;
        self.size = kept;
        for i in 0..BASIS {
            for j in 0..BASIS {
                if i >= kept || j >= kept {
                    self.projected.set(i, j, 0.0);
                }
            }
        }
    }
}
