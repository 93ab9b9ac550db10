//! What the published noise of weighted private learning gives.

/// Parties that take noisy steps alone, and average their models after every block of them:
///
/// θ_j ← θ_j − η_t(∇L_j(θ_j) + z_t) for t = 1 … T; θ_j ← Σ_i p_i θ_i after each block, with z_t ~ N(0, σ²I).
///
/// What a reader of the averages learns of one record is that of a Gaussian release with a certain μ;
/// the claim is the μ of T weighted mean gradients with noise σ. The noise of the weights is left out: it
/// multiplies Σ_j θ_j and hides nothing where that is near 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublishedNoise<'a> {
    /// n_j, the records of each party.
    pub sizes: &'a [u64],
    /// p_j, its weight in the average; they sum to 1.
    pub weights: &'a [f64],
    /// G: no record's gradient is longer.
    pub lipschitz: f64,
    /// η_1 … η_T.
    pub etas: &'a [f64],
    /// Steps between two averages: T where there is one, at the end.
    pub block: u32,
    /// The least curvature of the losses, λ; 0 where nothing keeps them from being flat.
    pub flat: f64,
    /// The largest curvature that the losses may have, L: no step is above 1/L.
    pub steep: f64,
    /// σ, per coordinate and step, of every party.
    pub deviation: f64,
}

/// Sums over the steps of a block, with F_t = Π_{s>t}(1 − η_s·flat) and H_t = Π_{s>t}(1 − η_s h) within
/// it.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    /// Σ η_t F_t.
    way: f64,
    /// Σ η_t² F_t².
    own: f64,
    /// Σ η_t² F_t H_t.
    both: f64,
    /// Σ η_t² H_t².
    others: f64,
}

impl Block {
    fn of(etas: &[f64], flat: f64, h: f64) -> Self {
        let (mut sums, mut f_t, mut h_t) = (Self::default(), 1.0, 1.0);
        for eta in etas.iter().rev() {
            let (own, others) = (eta * f_t, eta * h_t);
            sums.way += own;
            sums.own += own * own;
            sums.both += own * others;
            sums.others += others * others;
            f_t *= 1.0 - eta * flat;
            h_t *= 1.0 - eta * h;
        }
        sums
    }
}

impl PublishedNoise<'_> {
    /// m_eff = 1/Σ_j p_j²: as many parties of equal weight average noise as well.
    pub fn effective_parties(&self) -> f64 {
        1.0 / self.weights.iter().map(|weight| weight * weight).sum::<f64>()
    }

    /// √T D/σ, D the most that a record moves the weighted mean of the gradients: T releases of it, each
    /// with noise σ.
    pub fn claimed_mu(&self) -> f64 {
        let moves = self.parties().map(|(_, moves)| moves).fold(0.0, f64::max);
        self.root_of_steps() * moves / self.deviation
    }

    /// What party j's own model gives away to who sees it: its gradients move by 2G/n_j, n/n_j times as
    /// far as the mean by sizes. 0 for a party without records. Exact for a linear loss, otherwise a
    /// bound. With independent noise it bounds what the average gives away of j's records too.
    pub fn local_mu(&self, party: usize) -> f64 {
        let size = self.sizes[party];
        if size == 0 {
            return 0.0;
        }
        self.root_of_steps() * 2.0 * self.lipschitz / size as f64 / self.deviation
    }

    /// What the average gives away where all parties' losses have the same Hessian: then the mean of
    /// their models moves as one model would, with the mean of their noise.
    ///
    /// With `shared` noise, the same z_t at every party, it is the claim. With independent noise
    /// that mean has variance σ²/m_eff, and μ is √m_eff times the claim. So it is with equal steps and no
    /// curvature, or with an average after every step; otherwise it is a bound.
    pub fn equal_curvature_mu(&self, shared: bool) -> f64 {
        self.claimed_mu() * if shared { 1.0 } else { self.effective_parties().sqrt() }
    }

    /// The most that the averages are known to give away, in the worst case we have: a lower bound on
    /// what the noise really costs.
    ///
    /// Party j's loss has the least curvature, `flat`, and the others' have h, `flat` or `steep`. With F_t =
    /// Π_{s>t}(1 − η_s·flat) and H_t = Π_{s>t}(1 − η_s h) over the steps of a block, a record moves its
    /// average by D_j Σ_t η_t F_t, D_j = p_j·2G/n_j, and the variance that is left in it is
    ///
    /// σ² \[p_j² Σ_t η_t² F_t² + Σ_{i≠j} p_i² Σ_t η_t² H_t²\] with independent noise,
    /// σ² Σ_t η_t² (p_j F_t + (1 − p_j) H_t)² with `shared` noise.
    ///
    /// Curved losses forget noise that a flat one keeps with the record. Averages compose; the greatest
    /// over j and h. Steps between 1/L and 2/L turn the sign of old noise; shared, it may then cancel,
    /// which is not looked for here.
    ///
    /// For m equal parties, one block, equal steps η, `flat` = 0 and `steep` = 1/η it is m√(T/(T + m − 1))
    /// and √(T/(1 + (T − 1)/m²)) times the claim; with an average after every step it is what equal
    /// curvature gives.
    pub fn worst_known_mu(&self, shared: bool) -> f64 {
        let all = 1.0 / self.effective_parties();
        let mut kinds: Vec<(f64, f64)> = self.parties().collect();
        kinds.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        kinds.dedup();
        let mut worst = 0.0_f64;
        for h in [self.flat, self.steep] {
            let blocks: Vec<Block> = self
                .etas
                .chunks(self.block.max(1) as usize)
                .map(|etas| Block::of(etas, self.flat, h))
                .collect();
            for &(p, moves) in &kinds {
                let of_block = |block: &Block| {
                    let left = if shared {
                        let rest = 1.0 - p;
                        p * p * block.own + 2.0 * p * rest * block.both + rest * rest * block.others
                    } else {
                        p * p * block.own + (all - p * p).max(0.0) * block.others
                    };
                    (moves * block.way / self.deviation).powi(2) / left
                };
                worst = worst.max(blocks.iter().map(of_block).sum());
            }
        }
        worst.sqrt()
    }

    /// √T.
    fn root_of_steps(&self) -> f64 {
        (self.etas.len() as f64).sqrt()
    }

    /// The parties that have records: p_j, and how far a record moves the weighted mean.
    fn parties(&self) -> impl Iterator<Item = (f64, f64)> {
        let sized = self.sizes.iter().zip(self.weights).filter(|(size, _)| **size > 0);
        sized.map(|(&size, &weight)| (weight, weight * 2.0 * self.lipschitz / size as f64))
    }
}
