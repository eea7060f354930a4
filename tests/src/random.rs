//! Random numbers for tests: a small generator, the same on every machine. A failure names its seed.

/// Numbers that follow from a seed.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of this seed.
    pub fn new(seed: u64) -> Self {
        // Seeds are small and near to each other; the first numbers must not be.
        let mut random = Self(seed ^ 0x9e37_79b9_7f4a_7c15);
        random.below(1);
        random.below(1);
        random
    }

    /// The seed that the environment variable `name` gives, else one of this process; it is printed.
    pub fn seed(name: &str) -> u64 {
        let given = std::env::var(name).ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(|| u64::from(std::process::id()));
        eprintln!("{name}={seed}");
        seed
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound.max(1)
    }

    /// A number of this range.
    pub fn within(&mut self, range: &std::ops::Range<u64>) -> u64 {
        range.start + self.below(range.end.saturating_sub(range.start))
    }

    /// One of these.
    pub fn one_of<T: Clone>(&mut self, choices: &[T]) -> Option<T> {
        let bound = u64::try_from(choices.len()).ok()?;
        choices.get(usize::try_from(self.below(bound)).ok()?).cloned()
    }
}
