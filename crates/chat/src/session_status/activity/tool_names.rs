//! The names of the tools that run, for the row of the status: each once, with the number of its calls.

use super::Activity;

impl Activity {
    /// Names the tools that run: `bash ×2, grep`.
    pub(super) fn names(&self) -> String {
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for (_, name) in &self.tools {
            match counts.iter_mut().find(|(known, _)| known == name) {
                Some((_, count)) => *count += 1,
                None => counts.push((name.as_str(), 1)),
            }
        }
        let names = counts.iter().map(|(name, count)| match count {
            1 => (*name).to_owned(),
            count => format!("{name} ×{count}"),
        });
        names.collect::<Vec<_>>().join(", ")
    }
}
