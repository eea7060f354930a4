//! The random numbers of a run: from one seed, equal on every machine.
//!
//! A run asks its host for a seed once, as an effect ([`EffectKind::Random`](crate::EffectKind::Random)); a
//! host that replays returns the same seed, and so the run has the same numbers. They are not fit for
//! secrets.

/// xoshiro256**, seeded by splitmix64: fast, and the same numbers on every machine and in every version.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: [u64; 4],
}

impl Random {
    /// The numbers that follow from this seed.
    pub(crate) fn new(seed: u64) -> Self {
        let mut x = seed;
        let mut next = || {
            x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = x;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        Self {
            state: [next(), next(), next(), next()],
        }
    }

    /// The next 64 bits.
    fn next(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.state;
        let result = b.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        result
    }

    /// From 0 to below 1.
    #[allow(clippy::cast_precision_loss, reason = "53 bits fit into a double")]
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// From `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = high.wrapping_sub(low).cast_unsigned().wrapping_add(1);
        if span == 0 {
            return self.next().cast_signed();
        }
        let scaled = (u128::from(self.next()) * u128::from(span)) >> 64;
        #[allow(clippy::cast_possible_truncation, reason = "below the span, which is a u64")]
        low.wrapping_add((scaled as u64).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn a_seed_gives_the_same_numbers_within_bounds() {
        let (mut a, mut b) = (Random::new(7), Random::new(7));
        for _ in 0..1000 {
            let (x, y) = (a.between(-3, 9), a.unit());
            assert!((-3..=9).contains(&x) && (0.0..1.0).contains(&y));
            assert_eq!((b.between(-3, 9), b.unit()), (x, y));
        }
        assert_ne!(Random::new(8).unit().to_bits(), Random::new(7).unit().to_bits());
    }
}
