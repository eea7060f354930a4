//! Near misses: what a model most likely meant when the text to replace is not in the file.

use std::collections::HashSet;

use crate::text;

/// Lines of a file that are compared; a bigger file is compared as far as that.
const COMPARED: usize = 50_000;
/// Places that are shown.
const SHOWN: usize = 3;
/// Lines of a place that are shown.
const SHOWN_LINES: usize = 12;
/// The smallest similarity of two lines, from 0 to 1.
const ALIKE: f64 = 0.6;

/// Explains why `old` was not found in `file`, and lists similar text.
pub(crate) fn explain(file: &str, old: &str) -> String {
    let file = file.strip_prefix('\u{FEFF}').unwrap_or(file);
    if file.is_empty() {
        return "the file is empty; use write.".into();
    }
    if has_line_numbers(old) {
        return "old_string was not found: it has the line numbers that read shows, which are not in the file. Leave them \
                out."
            .into();
    }
    let lines: Vec<&str> = file.lines().take(COMPARED).collect();
    let wanted: Vec<&str> = old.lines().collect();
    let spaced = same_but_for_space(&lines, &wanted);
    if !spaced.is_empty() {
        return format!(
            "old_string was not found, but the same words with other white space or line ends are there. The file has:\n{}",
            show(&lines, &spaced, wanted.len())
        );
    }
    let alike = most_alike(&lines, &wanted);
    if alike.is_empty() {
        return "old_string was not found. Nothing like it is in the file; read it again.".into();
    }
    format!(
        "old_string was not found. What is most like it:\n{}",
        show(&lines, &alike, wanted.len())
    )
}

fn has_line_numbers(old: &str) -> bool {
    let numbered = |line: &str| {
        line.split_once('\t').is_some_and(|(number, _)| {
            let number = number.trim_start();
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    !old.is_empty() && old.lines().all(numbered)
}

/// Returns the words of a line, one space between them.
fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Finds the lines with other white space; indices of first lines.
fn same_but_for_space(lines: &[&str], wanted: &[&str]) -> Vec<usize> {
    let wanted: Vec<String> = wanted.iter().map(|line| squeezed(line)).collect();
    if wanted.is_empty() || wanted.iter().all(String::is_empty) {
        return Vec::new();
    }
    let lines: Vec<String> = lines.iter().map(|line| squeezed(line)).collect();
    lines
        .windows(wanted.len())
        .enumerate()
        .filter(|(_, window)| *window == wanted)
        .map(|(at, _)| at)
        .take(SHOWN)
        .collect()
}

/// Finds lines similar to the longest line; indices of first lines, best first.
fn most_alike(lines: &[&str], wanted: &[&str]) -> Vec<usize> {
    let Some((position, longest)) = wanted
        .iter()
        .enumerate()
        .max_by_key(|(_, line)| line.trim().len())
    else {
        return Vec::new();
    };
    let wanted = Bigrams::of(longest);
    let mut alike: Vec<(f64, usize)> = lines
        .iter()
        .enumerate()
        .map(|(at, line)| (wanted.likeness(line), at))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .collect();
    alike.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    alike
        .into_iter()
        .take(SHOWN)
        .map(|(_, at)| at.saturating_sub(position))
        .collect()
}

/// The pairs of neighbouring characters in a line: cheap to compare, and not misled by a word more or less.
struct Bigrams {
    pairs: HashSet<(char, char)>,
}

impl Bigrams {
    const LONGEST: usize = 400;

    fn of(line: &str) -> Self {
        let letters = line.trim().chars().take(Self::LONGEST);
        Self {
            pairs: letters.clone().zip(letters.skip(1)).collect(),
        }
    }

    /// Returns the share of pairs that both have (Dice's coefficient).
    fn likeness(&self, line: &str) -> f64 {
        let other = line.trim().len().min(Self::LONGEST);
        // Lines of very different length are not alike; most lines of a file end here.
        if self.pairs.is_empty() || other > 4 * (self.pairs.len() + 1) || other * 8 < self.pairs.len() {
            return 0.0;
        }
        let other = Self::of(line);
        let common = self.pairs.intersection(&other.pairs).count();
        2.0 * common as f64 / (self.pairs.len() + other.pairs.len()).max(1) as f64
    }
}

fn show(lines: &[&str], places: &[usize], length: usize) -> String {
    let length = length.clamp(1, SHOWN_LINES);
    let places: Vec<String> = places
        .iter()
        .map(|from| {
            let to = (from + length).min(lines.len());
            let heading = if to - from == 1 {
                format!("line {to}:")
            } else {
                format!("lines {}-{to}:", from + 1)
            };
            let shown = (*from..to).map(|at| format!("{:>6}\t{}", at + 1, text::cut_line(lines[at], 300)));
            std::iter::once(heading)
                .chain(shown)
                .collect::<Vec<_>>()
                .join("\n")
        })
        .collect();
    places.join("\n")
}
