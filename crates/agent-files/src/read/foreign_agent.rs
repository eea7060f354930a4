//! An agent of another program, in our terms. Its file becomes the tree of an agent file, which is read and
//! checked like one of our own; what it says in the terms of that program is kept beside it, because only a
//! running program knows the tools and models that there are.
//!
//! A translation never makes an agent freer than its file says: what cannot be expressed is left out, or the
//! whole tool goes. Each such part is remarked on.

use std::path::Path;

use agentx_config::MarkdownParts;
use agentx_config::yaml::{TextPosition, Yaml, YamlError, YamlKey, YamlNode};
use agentx_types::{Rule, RuleEffect};

use crate::definition::ForeignChoices;
use crate::mistake::{DefinitionMistake, START};
use crate::read::findings::LocatedText;
use crate::source::FileSource;

/// The keys and values of a mapping that is being made or taken apart.
type OwnedEntries = Vec<(YamlKey, YamlNode)>;

/// A translated agent.
pub(crate) struct TranslatedAgent<'s> {
    file: &'s Path,
    entries: OwnedEntries,
    rules: Vec<YamlNode>,
    agents: Vec<YamlNode>,
    pub(crate) choices: ForeignChoices,
    /// The tools that it names, by their names here.
    pub(crate) tools: Vec<LocatedText>,
    pub(crate) remarks: Vec<DefinitionMistake>,
    /// Whether the file does not describe an agent.
    pub(crate) is_none: bool,
}

impl<'s> TranslatedAgent<'s> {
    /// Takes the text of a file apart: an agent with the text as its prompt, and the front matter.
    ///
    /// # Errors
    /// Returns an error if the front matter cannot be read, or the text is empty.
    pub(crate) fn of(source: &'s FileSource) -> Result<(Self, OwnedEntries), YamlError> {
        let parts = MarkdownParts::of(&source.text).map_err(|error| YamlError {
            at: TextPosition {
                line: error.line,
                column: 1,
            },
            what: error.what,
        })?;
        let mut agent = Self {
            file: &source.file,
            entries: Vec::new(),
            rules: Vec::new(),
            agents: Vec::new(),
            choices: ForeignChoices::default(),
            tools: Vec::new(),
            remarks: Vec::new(),
            is_none: parts.front.is_none(),
        };
        if agent.is_none {
            agent.remark(START, "it has no front matter, so it is not read as an agent");
            return Ok((agent, Vec::new()));
        }
        let prompt = parts.body.trim();
        if prompt.is_empty() {
            return Err(YamlError {
                at: START,
                what: "it has no instructions: write them below its front matter".to_owned(),
            });
        }
        agent.set("prompt", text_node(START, prompt));
        Ok((agent, parts.front.unwrap_or_default()))
    }

    /// Sets a key of the agent file.
    pub(crate) fn set(&mut self, key: &str, node: YamlNode) {
        self.entries.push((key_at(node.at, key), node));
    }

    /// Limits the rounds of a run.
    pub(crate) fn set_rounds(&mut self, rounds: YamlNode) {
        let at = rounds.at;
        let limits = mapping(at, vec![(key_at(at, "max_iterations"), rounds)]);
        self.set("limits", limits);
    }

    /// Adds a part that is left out.
    pub(crate) fn remark(&mut self, at: TextPosition, what: impl Into<String>) {
        self.remarks.push(DefinitionMistake::new(self.file, at, what));
    }

    /// Adds a key that has no effect here.
    pub(crate) fn without_effect(&mut self, key: &YamlKey) {
        self.remark(key.at, format!("`{}` has no effect here", key.name));
    }

    /// Adds a tool to those that the agent may use.
    pub(crate) fn give(&mut self, at: TextPosition, tool: String) {
        self.tools.push(LocatedText {
            at,
            text: tool.clone(),
            owner: String::new(),
        });
        let only = self.choices.only.get_or_insert_default();
        if !only.contains(&tool) {
            only.push(tool);
        }
    }

    /// Takes a tool from the agent.
    pub(crate) fn take(&mut self, tool: String) {
        if !self.choices.without.contains(&tool) {
            self.choices.without.push(tool);
        }
    }

    /// Lets the agent delegate work to an agent with a file.
    pub(crate) fn delegate_to(&mut self, at: TextPosition, name: &str) {
        let reference = text_node(at, &format!("agent:{name}"));
        self.agents
            .push(mapping(at, vec![(key_at(at, "$ref"), reference)]));
    }

    /// Takes all agents from the agent.
    pub(crate) fn delegate_to_none(&mut self) {
        self.agents.clear();
        self.choices.delegates.clear();
    }

    /// Adds a rule that asks or denies.
    pub(crate) fn add_rule(&mut self, at: TextPosition, rule: &Rule) {
        let effect = if rule.effect == RuleEffect::Deny {
            "deny"
        } else {
            "ask"
        };
        let fields = [
            ("effect", Some(effect)),
            ("tool", Some(rule.tool.as_str())),
            ("argument", rule.argument.as_deref()),
            ("path", rule.path.as_deref()),
        ];
        let fields = fields
            .into_iter()
            .filter_map(|(key, value)| Some((key_at(at, key), text_node(at, value?))));
        self.rules.push(mapping(at, fields.collect()));
    }

    /// Returns the tree of the agent file.
    pub(crate) fn tree(&mut self, stem: &str) -> YamlNode {
        let mut entries = std::mem::take(&mut self.entries);
        if !entries.iter().any(|(key, _)| key.name == "name") {
            entries.push((key_at(START, "name"), text_node(START, stem)));
        }
        if !self.agents.is_empty() {
            entries.push((key_at(START, "agents"), list(std::mem::take(&mut self.agents))));
        }
        if !self.rules.is_empty() {
            let rules = list(std::mem::take(&mut self.rules));
            let approval = mapping(START, vec![(key_at(START, "rules"), rules)]);
            entries.push((key_at(START, "approval"), approval));
        }
        mapping(START, entries)
    }
}

fn key_at(at: TextPosition, name: &str) -> YamlKey {
    YamlKey {
        at,
        name: name.to_owned(),
    }
}

fn text_node(at: TextPosition, text: &str) -> YamlNode {
    let value = Yaml::Text(text.to_owned());
    YamlNode { at, value }
}

fn mapping(at: TextPosition, entries: OwnedEntries) -> YamlNode {
    let value = Yaml::Map(entries);
    YamlNode { at, value }
}

fn list(items: Vec<YamlNode>) -> YamlNode {
    let value = Yaml::List(items);
    YamlNode { at: START, value }
}
