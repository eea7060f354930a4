//! Tools whose description a provider refuses: a name or a parameter with a forbidden spelling, an
//! unsupported schema, or too many tools.
//!
//! Such a provider refuses every request with these tools. So the agent stops offering the tools that the
//! refusal names, until they change or the model does. It reads the names from the message of the refusal
//! when `attempt_failed` comes, and uses them when the call has ended.

use agentx_types::{AgentConfig, ToolSpec, since};

use super::Conversation;
use super::repairs::Repairs;

/// Maximum number of refusals in a row to follow. Each usually names one tool.
const MOST_AT_ONCE: usize = 16;

impl Repairs {
    /// Offers a tool again after its description changed. A tool that is gone counts as changed.
    pub(super) fn tools_changed(&mut self, before: &[ToolSpec], now: &[ToolSpec]) {
        self.tools.retain(|name| {
            let find = |tools: &[ToolSpec]| tools.iter().find(|tool| tool.name == *name).cloned();
            let old = find(before);
            old.is_none() || find(now) == old
        });
    }
}

impl Conversation {
    /// The names of the tools that a refusal of the last request is about: those beyond the number that it
    /// allows, otherwise the one that it quotes, otherwise the one at the place that it gives. Empty if none
    /// is recognized.
    pub(crate) fn tools_named(&mut self, message: &str, config: &AgentConfig) -> Vec<String> {
        let tools = self.prefix(config).tools.clone();
        let name = |tool: &ToolSpec| tool.name.clone();
        if let Some(most) = most_tools(message).or_else(|| most_declarations(message, config)) {
            return tools.iter().skip(most).map(name).collect();
        }
        let by_place = place(message).and_then(|place| tools.get(place));
        let quoted = |tool: &&ToolSpec| {
            let is_there = |(open, close)| message.contains(&format!("{open}{}{close}", tool.name));
            [("'", "'"), ("\"", "\""), ("`", "`")].into_iter().any(is_there)
        };
        let by_name = tools.iter().find(quoted);
        let by_word = || {
            let counts = config.rules_version >= since::REFUSED_TOOLS_ARE_NAMED_BY_WORD;
            counts.then(|| named_by_word(message, &tools)).flatten()
        };
        let found = by_name.or(by_place).or_else(by_word);
        found.map(name).into_iter().collect()
    }

    /// Stops offering these tools. Returns `false` if nothing changes, or after 16 removals since the last
    /// answer of a model.
    pub(crate) fn leave_out_tools(&mut self, tools: &[String], config: &AgentConfig) -> bool {
        let before = self.before_repairs.get_or_insert_with(|| self.repairs.clone());
        let in_vain = self.repairs.tools.len().saturating_sub(before.tools.len());
        let is_new = tools.iter().any(|name| !self.repairs.tools.contains(name));
        if !is_new || in_vain >= MOST_AT_ONCE {
            return false;
        }
        for name in tools {
            if !self.repairs.tools.contains(name) {
                self.repairs.tools.push(name.clone());
            }
        }
        self.prefix.clear();
        self.counted = None;
        self.beginning_changed(config);
        true
    }
}

/// The number of tools that a provider allows: "Invalid 'tools': array too long. Expected an array with
/// maximum length 128, but got an array with length 140 instead."
fn most_tools(message: &str) -> Option<usize> {
    let (_, rest) = message.split_once("'tools': array too long")?;
    let (_, most) = rest.split_once("maximum length ")?;
    number(most).filter(|most| *most > 0)
}

/// The number of tools that Gemini allows: "tools[0].function_declarations: [FIELD_INVALID] At most 512
/// function declarations can be specified." (<https://github.com/google-gemini/gemini-cli/issues/19083>).
fn most_declarations(message: &str, config: &AgentConfig) -> Option<usize> {
    let (before, _) = message.split_once(" function declarations can be specified")?;
    let (_, most) = before.rsplit_once(' ')?;
    let most = most.parse().ok().filter(|most| *most > 0);
    most.filter(|_| config.rules_version >= since::TOO_MANY_DECLARATIONS_ARE_COUNTED)
}

/// The place of a tool in the list: `tools.14.custom.input_schema`, `'tools[3].function.name'`. Gemini has
/// one list of declarations in a list of tools: `tools[0].function_declarations[3]`.
fn place(message: &str) -> Option<usize> {
    let behind = |start: &str| {
        message
            .match_indices(start)
            .find_map(|(at, _)| number(&message[at + start.len()..]))
    };
    ["function_declarations[", "tools[", "tools."]
        .into_iter()
        .find_map(behind)
}

/// The tool whose name is a separate word in a message about a schema (made up: "Invalid schema for function
/// todo: …", "tool todo has unsupported JSON schema keyword: anyOf"). A name after "function" or "tool" takes
/// precedence over other words, because tools may be called `read` or `edit`.
fn named_by_word<'a>(message: &str, tools: &'a [ToolSpec]) -> Option<&'a ToolSpec> {
    if !message.to_ascii_lowercase().contains("schema") {
        return None;
    }
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let words: Vec<&str> = message
        .split(|c| !is_part(c))
        .filter(|word| !word.is_empty())
        .collect();
    let find = |word: &str| tools.iter().find(|tool| tool.name == word);
    let introduces = |word: &str| matches!(word.to_ascii_lowercase().as_str(), "function" | "tool");
    let behind = words.windows(2).filter(|pair| introduces(pair[0]));
    let behind = behind.filter_map(|pair| find(pair[1])).next();
    behind.or_else(|| words.iter().find_map(|word| find(word)))
}

/// The number that a text begins with.
fn number(text: &str) -> Option<usize> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}
