//! The text that was typed into a program and that it may still join with what is typed next.
//!
//! A call is decided about by its own text, so a line that is typed in pieces (`r`, then `m x`) would be
//! judged piece by piece. Before a piece is typed, the rules are asked about the whole line. If they are
//! stricter about it, the piece is not typed.

use agentx_runtime::{Ruling, ToolContext};
use agentx_types::{AgentConfig, ApprovalMode, ToolSpec};
use serde_json::json;

use super::SHELL_INPUT;
use super::standing_place::severity;

/// The maximum number of bytes to keep. A terminal joins no more into one line, but a program that reads keys
/// may.
const LONGEST: usize = 4_096;
/// The character of C-c, for which programs drop the line.
const INTERRUPT: char = '\u{3}';

/// The end of what was typed since a program began, from the last line that has not ended.
#[derive(Debug, Default)]
pub(super) struct TypedLine {
    text: String,
    /// Whether the beginning of the line was dropped, because the line is too long.
    is_cut: bool,
}

impl TypedLine {
    /// Forgets the text, because another program reads the next one.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Notes text that was typed. A line that ends in a backslash continues, and C-c drops it. Other keys are
    /// left out: a text with such keys is decided about by itself.
    pub(super) fn push(&mut self, keys: &str) {
        let kept = match keys.rsplit_once(INTERRUPT) {
            Some((_, rest)) => {
                self.clear();
                rest
            }
            None => keys,
        };
        let kept = kept.replace('\r', "\n");
        self.text
            .extend(kept.chars().filter(|c| *c == '\n' || !c.is_control()));
        let mut ends = self.text.rmatch_indices('\n').map(|(at, _)| at);
        let last = ends.find(|at| !self.text[..*at].ends_with('\\'));
        if let Some(at) = last {
            self.text.drain(..=at);
            self.is_cut = false;
        }
        let surplus = self.text.len().saturating_sub(LONGEST);
        let cut = (surplus..=self.text.len()).find(|at| self.text.is_char_boundary(*at));
        self.text.drain(..cut.unwrap_or_default());
        self.is_cut |= surplus > 0;
    }

    /// Returns why a text may not be typed behind the unfinished line although it may be typed alone.
    pub(super) fn refusal(&self, text: &str, context: &ToolContext) -> Option<String> {
        if self.text.is_empty() {
            return None;
        }
        let config = context.journal.config_now()?;
        let spec = config.tools.iter().find(|spec| spec.name == SHELL_INPUT)?;
        self.refused_by(&config, spec, text)
    }

    fn refused_by(&self, config: &AgentConfig, spec: &ToolSpec, text: &str) -> Option<String> {
        if self.is_cut {
            return Some(format!(
                "it would continue a line of more than {LONGEST} bytes, whose beginning is not known any \
                 more; drop that line by the key C-c of shell_wait"
            ));
        }
        // What the mode asks about is decided by the text alone: single keys of a pager are not a line.
        let mut config = config.clone();
        config.approval = ApprovalMode::Auto;
        let ruling = |text: &str| Ruling::of(&config, spec, &json!({ "text": text }));
        let (alone, whole) = (ruling(text), ruling(&format!("{}{text}", self.text)));
        (severity(whole.decision) > severity(alone.decision)).then(|| {
            format!(
                "it would end the line that begins with {:?}, and {}; type the whole line in one call, so that it can \
                 be decided about",
                self.text, whole.because
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use agentx_types::Access;
    use serde_json::Value;

    use super::*;

    fn refusal(approval: &str, rules: Value, typed: &[&str], text: &str) -> Option<String> {
        let spec = ToolSpec::new(SHELL_INPUT, "", json!({"type": "object"}), Access::Run)
            .with_command_argument("text");
        let prices = json!({ "input": 0, "output": 0, "cache_read": 0, "cache_write": 0 });
        let model = json!({ "id": "opal", "provider": "stone", "api": "anthropic", "context_window": 9, "max_output_tokens": 9,
            "prices": prices });
        let config = json!({ "kind": "react", "name": "main", "model": model, "params": {}, "system_prompt": "", "instructions": [],
            "workspace": "/ws", "tools": [spec], "approval": approval, "rules": rules, "limits": {},
            "rules_version": agentx_types::RULES_VERSION });
        let config: AgentConfig = serde_json::from_value(config).unwrap();
        let mut line = TypedLine::default();
        typed.iter().for_each(|keys| line.push(keys));
        let spec = config.tools[0].clone();
        line.refused_by(&config, &spec, text)
    }

    #[test]
    fn a_line_in_pieces_is_judged_as_a_whole() {
        let denied = json!([{ "effect": "deny", "tool": "bash", "argument": "rm *" }]);
        for typed in [
            &["r"][..],
            &["y\nr"],
            &["y\rr"],
            &["r\\\n"],
            &["", "r", ""],
            &["r", "\u{1a}"],
        ] {
            let told = refusal("auto", denied.clone(), typed, "m x").unwrap();
            assert!(told.contains("in one call") && told.contains("rm *"), "{told}");
        }
        for typed in [&["r\n"][..], &["r", "\r"], &["r", "\u{3}"], &["q"], &[]] {
            assert_eq!(refusal("auto", denied.clone(), typed, "m x"), None, "{typed:?}");
        }
        let asked = json!([{ "effect": "ask", "tool": "bash", "argument": "rm *" }]);
        for approval in ["ask", "auto"] {
            assert!(refusal(approval, asked.clone(), &["r"], "m x").is_some());
        }
    }

    /// A program that reads keys joins more than a terminal does.
    #[test]
    fn a_line_whose_beginning_is_forgotten_is_not_continued() {
        let denied = json!([{ "effect": "deny", "tool": "bash", "argument": "git push --force*" }]);
        let blanks = " ".repeat(LONGEST);
        let typed = ["git push", blanks.as_str()];
        let told = refusal("auto", denied.clone(), &typed, "--force").unwrap();
        assert!(told.contains("C-c"), "{told}");
        assert!(
            refusal("auto", denied.clone(), &typed, "").is_some(),
            "Enter ends it"
        );
        for end in ["\n", "\u{3}"] {
            let typed = ["git push", blanks.as_str(), end];
            assert_eq!(refusal("auto", denied.clone(), &typed, "--force"), None);
        }
        let short = refusal("auto", denied, &["git push "], "--force").unwrap();
        assert!(short.contains("in one call"), "{short}");
    }

    #[test]
    fn single_keys_of_a_pager_are_typed() {
        let key = json!([{ "effect": "allow", "tool": "shell_input", "argument": "j" }]);
        for approval in ["ask", "auto", "deny"] {
            assert_eq!(
                refusal(approval, key.clone(), &["j", "j", "j"], "j"),
                None,
                "{approval}"
            );
        }
        let mut line = TypedLine::default();
        line.push(&"ä".repeat(LONGEST));
        assert!(line.text.len() <= LONGEST && line.text.ends_with('ä'));
        line.clear();
        assert_eq!((line.text.as_str(), line.is_cut), ("", false));
    }
}
