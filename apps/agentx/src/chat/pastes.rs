//! Long pastes: in the line they stand by their size, and what is sent is their text.

/// Up to so many lines and bytes a paste is shown as it is.
const SHOWN_LINES: usize = 8;
const SHOWN_BYTES: usize = 800;
/// So many wait for a line to be sent.
const MOST: usize = 16;

/// What was pasted, and what stands for it.
#[derive(Debug, Default)]
pub(crate) struct Pastes {
    kept: Vec<(String, String)>,
    count: usize,
}

impl Pastes {
    /// What is shown for a text.
    pub(crate) fn fold(&mut self, text: String) -> String {
        let lines = text.lines().count();
        if lines <= SHOWN_LINES && text.len() <= SHOWN_BYTES {
            return text;
        }
        self.count += 1;
        let size = match text.len() {
            bytes @ 0..=999 => format!("{bytes} B"),
            bytes => format!("{:.1} kB", bytes as f64 / 1e3),
        };
        let what = if lines == 1 { "line" } else { "lines" };
        let sign = format!("[pasted {}: {lines} {what}, {size}]", self.count);
        if self.kept.len() == MOST {
            self.kept.remove(0);
        }
        self.kept.push((sign.clone(), text));
        sign
    }

    /// The line with the texts in it. Those are not kept any longer.
    pub(crate) fn unfold(&mut self, line: &str) -> String {
        let mut whole = line.to_owned();
        self.kept.retain(|(sign, text)| {
            let is_here = line.contains(sign);
            if is_here {
                whole = whole.replace(sign, text);
            }
            !is_here
        });
        whole
    }
}
