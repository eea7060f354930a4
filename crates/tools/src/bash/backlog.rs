//! The output of a job that has not been read yet: the newest, up to a limit.

use crate::text;

/// Keeps output until it is taken.
#[derive(Debug)]
pub(super) struct OutputBacklog {
    most: usize,
    text: String,
    lost: u64,
}

impl OutputBacklog {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most: most.max(4),
            text: String::new(),
            lost: 0,
        }
    }

    pub(super) fn push(&mut self, output: &str) {
        let kept = &output[text::ceil_char(output, output.len().saturating_sub(self.most))..];
        if kept.len() < output.len() {
            // Its beginning is lost, so nothing before it may stay.
            self.lost += (self.text.len() + output.len() - kept.len()) as u64;
            self.text.clear();
        }
        self.text.push_str(kept);
        // The oldest half is dropped at twice the limit, so that each byte is moved at most once.
        if self.text.len() >= 2 * self.most {
            self.cut();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Takes the output since the last call, and the number of bytes before it that were lost.
    pub(super) fn take(&mut self) -> (String, u64) {
        self.cut();
        (std::mem::take(&mut self.text), std::mem::take(&mut self.lost))
    }

    fn cut(&mut self) {
        let cut = text::ceil_char(&self.text, self.text.len().saturating_sub(self.most));
        self.text.drain(..cut);
        self.lost += cut as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keeps_the_newest(pieces in prop::collection::vec("[a你]{0,12}", 0..20), most in 4usize..30) {
            let mut backlog = OutputBacklog::new(most);
            for piece in &pieces {
                backlog.push(piece);
                prop_assert!(backlog.text.len() <= 3 * most);
            }
            let (text, lost) = backlog.take();
            let all = pieces.concat();
            prop_assert!(text.len() <= most && all.ends_with(&text));
            prop_assert_eq!(text.len() + lost as usize, all.len());
            prop_assert!(lost == 0 || text.len() + 4 > most);
        }
    }
}
