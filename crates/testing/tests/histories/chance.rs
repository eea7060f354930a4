//! Pseudorandom numbers from a seed, the same on every machine.

/// A generator of pseudorandom numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// Creates the generator for this seed.
    pub(crate) fn new(seed: u64) -> Self {
        // Seeds are small and near to each other; the first numbers must not be.
        let mut random = Self(seed ^ 0x9e37_79b9_7f4a_7c15);
        random.below(1);
        random.below(1);
        random
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound.max(1)
    }

    /// Returns a random one of these.
    pub(crate) fn one_of<T: Clone>(&mut self, choices: &[T]) -> Option<T> {
        choices.get(self.below(choices.len() as u64) as usize).cloned()
    }
}
