//! Delays in microseconds, counted in steps of at most a hundredth of their size, so that millions of them
//! cost nothing.

/// Below this each microsecond has a step of its own; above, each power of two has so many.
const STEPS: u64 = 128;

/// The count of each delay.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histogram {
    counts: Vec<u64>,
    count: u64,
    most: u64,
}

impl Histogram {
    /// Counts a delay.
    pub(crate) fn add(&mut self, micros: u64) {
        let step = step_of(micros);
        if step >= self.counts.len() {
            self.counts.resize(step + 1, 0);
        }
        self.counts[step] += 1;
        self.count += 1;
        self.most = self.most.max(micros);
    }

    /// The delay in milliseconds that so many of a thousand did not exceed.
    pub(crate) fn per_mille(&self, per_mille: u64) -> f64 {
        let wanted = (self.count * per_mille).div_ceil(1_000);
        let mut seen = 0;
        for (step, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted && seen > 0 {
                return micros_of(step) as f64 / 1e3;
            }
        }
        f64::NAN
    }

    /// The longest in milliseconds.
    pub(crate) fn most(&self) -> f64 {
        self.most as f64 / 1e3
    }
}

fn step_of(micros: u64) -> usize {
    let doublings = (micros / STEPS)
        .checked_ilog2()
        .map_or(0, |log| u64::from(log) + 1);
    let step = if doublings == 0 {
        micros
    } else {
        doublings * STEPS + (micros >> (doublings - 1)) - STEPS
    };
    usize::try_from(step).unwrap_or(usize::MAX)
}

/// The upper end of a step.
fn micros_of(step: usize) -> u64 {
    let step = step as u64;
    let doublings = step / STEPS;
    if doublings == 0 {
        return step;
    }
    ((step % STEPS + STEPS + 1) << (doublings - 1)) - 1
}
