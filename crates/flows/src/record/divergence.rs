//! The report of a run that does not repeat its recorded steps.

use std::fmt;

use serde_json::{Value, json};

/// The number of characters of a request that are shown.
const SHOWN_CHARS: usize = 300;

/// A repeated run differs from its record. It ends with this, because any guess might repeat an effect.
#[derive(Clone, Debug, PartialEq)]
pub struct Divergence {
    /// The first step that differs.
    pub step: u64,
    /// The recorded step: kind and request.
    pub recorded: (String, Value),
    /// The requested step; `None` if the run ended before it.
    pub asked: Option<(String, Value)>,
}

impl Divergence {
    /// Returns the divergence as JSON, for programs.
    pub fn to_value(&self) -> Value {
        let side = |(kind, request): &(String, Value)| json!({"kind": kind, "request": request});
        json!({
            "code": "diverged",
            "step": self.step,
            "recorded": side(&self.recorded),
            "asked": self.asked.as_ref().map(side),
        })
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.step == 0 {
            return f.write_str(
                "The script was changed after this call began. What it did is recorded, but a changed \
                 script cannot continue from there; put the old script back and resume, or call the tool again.",
            );
        }
        write!(
            f,
            "The script did not repeat what it did before. Step {} is recorded as ",
            self.step
        )?;
        shown(f, &self.recorded)?;
        match &self.asked {
            Some(asked) => {
                f.write_str("; now it is ")?;
                shown(f, asked)?;
            }
            None => f.write_str("; now the script ended before it")?,
        }
        f.write_str(". A script may decide only by its arguments and the results of its effects.")
    }
}

fn shown(f: &mut fmt::Formatter<'_>, (kind, request): &(String, Value)) -> fmt::Result {
    let text = request.to_string();
    let short: String = text.chars().take(SHOWN_CHARS).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    write!(f, "`{kind}` {short}{more}")
}
