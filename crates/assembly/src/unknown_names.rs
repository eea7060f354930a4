//! Finds tools that settings name and that do not exist. A rule that denies `Bash` has no effect when the
//! tool is called `bash`, and that is easy to miss: such a rule is an error in the settings.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use agentx_agent::pattern::fits;
use agentx_agent::remind_me::REMIND_ME;
use agentx_agent::unmatchable_rules::{accidental_match, never_about};
use agentx_agent::wait::WAIT;
use agentx_agent::{AGENTS, DELEGATE, MCP, RECALL};
use agentx_config::{
    ConfigMistake, FolderTrust, Loaded, SKILL_TOOL, SettingOrigin, Settings, WrittenRule, nearest, show_rule,
};
use agentx_node_runtime::built_in_tools;
use agentx_types::{Rule, RuleEffect, ToolSpec};

use crate::runtime::whole_library;
use crate::tools::file_tools;

/// The separator between the names of an MCP server and its tool, here and in other programs
/// (`mcp__github__search`). The tools of a server are unknown before its first start, so rules about them
/// only cause warnings.
const OF_SERVER: &str = "__";

/// Tools that settings name and that do not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnknownTools {
    /// A rule that denies or asks, or `tools.disabled`, would let calls through: nothing should start with
    /// it.
    pub mistakes: Vec<ConfigMistake>,
    /// Names in rules that allow nothing, names that may belong to a tool that is missing now, and names in
    /// the file of an untrusted folder: the person did not write that rule, and need not fix it before
    /// anything starts.
    pub warnings: Vec<ConfigMistake>,
}

/// Finds names of tools that do not exist, and rules that cannot apply to any call of a built-in tool, in the
/// rules and the tool lists of these settings. Tools from files count whether the person accepted them or
/// not, and tools that are switched off count too. A rule for another `workspace` is skipped.
pub fn misnamed_tools(loaded: &Loaded) -> UnknownTools {
    let mut names = KnownNames::of(&loaded.settings);
    let mut found = UnknownTools::default();
    // The names of another program's rules are translated, and its files are not ours to correct.
    let rules = loaded.merged.rules().iter();
    for rule in rules.filter(|rule| !rule.origin.is_of_other_program()) {
        names.look_at_rule(rule, &mut found);
    }
    let rows = loaded.merged.rows();
    let tools = &loaded.settings.tools;
    let enabled = tools.enabled.as_deref().unwrap_or_default();
    for (key, listed) in [
        ("tools.disabled", &tools.disabled[..]),
        ("tools.enabled", enabled),
        ("tools.optional", &tools.optional[..]),
    ] {
        let origin = rows.iter().find(|row| row.key == key).map(|row| &row.origin);
        for name in listed {
            names.look_at_name(key, name, origin.unwrap_or(&SettingOrigin::Default), &mut found);
        }
    }
    found
}

/// The names that there are. Files are read only when a name is not built in.
struct KnownNames<'a> {
    settings: &'a Settings,
    known: BTreeSet<String>,
    /// The specs of the built-in tools, with their arguments.
    specs: Arc<[ToolSpec]>,
    with_files: bool,
}

impl<'a> KnownNames<'a> {
    fn of(settings: &'a Settings) -> Self {
        let own = [RECALL, DELEGATE, AGENTS, SKILL_TOOL, REMIND_ME, WAIT].map(str::to_owned);
        let built_in = built_in_tools();
        Self {
            settings,
            known: built_in.iter().map(|tool| tool.name.clone()).chain(own).collect(),
            specs: built_in,
            with_files: false,
        }
    }

    fn has(&mut self, is_it: impl Fn(&str) -> bool) -> bool {
        if self.known.iter().any(|name| is_it(name)) {
            return true;
        }
        self.add_files();
        self.known.iter().any(|name| is_it(name))
    }

    /// Adds tools of files, and files of tools with errors, which are reported elsewhere.
    fn add_files(&mut self) {
        if std::mem::replace(&mut self.with_files, true) {
            return;
        }
        let library = whole_library(self.settings, &built_in_tools());
        self.known.extend(file_tools(&library).into_keys());
        let broken = library.check().iter().map(|mistake| mistake.file.as_path());
        let broken = broken.filter(|file| file.parent().is_some_and(|folder| folder.ends_with("tools")));
        let stems = broken.filter_map(|file| file.file_stem()?.to_str().map(str::to_owned));
        self.known.extend(stems);
    }

    fn nearest(&self, name: &str) -> Option<String> {
        // `Bash(rm *)` is how Claude Code writes a rule.
        let name = name.split('(').next().unwrap_or(name);
        let known = self.known.iter().map(String::as_str);
        nearest(name, known, 1).first().map(|near| (*near).to_owned())
    }

    /// Returns whether a value comes from the file of a folder that is not trusted.
    fn is_of_stranger(&self, origin: &SettingOrigin) -> bool {
        matches!(origin, SettingOrigin::Workspace(_)) && self.settings.folder.trust != FolderTrust::Trusted
    }

    /// Returns the first tool that a rule names with the reason that `mismatch` gives for it; `None` if it
    /// gives none for this or another tool that the rule names.
    fn mismatched(
        &mut self,
        rule: &Rule,
        mismatch: fn(&Rule, &ToolSpec) -> Option<&'static str>,
    ) -> Option<(String, &'static str)> {
        if rule.path.is_none() && rule.argument.is_none() {
            return None;
        }
        let whys = |names: &Self| {
            let named = names.known.iter().filter(|name| fits(rule.tool_name(), name));
            let why = |name: &String| {
                let spec = names.specs.iter().find(|spec| spec.name == *name)?;
                Some((name.clone(), mismatch(rule, spec)?))
            };
            named.map(why).collect::<Option<Vec<_>>>()
        };
        whys(self)?;
        // A tool of a file may be called so, too.
        self.add_files();
        whys(self)?.into_iter().next()
    }

    fn look_at_rule(&mut self, rule: &WrittenRule, found: &mut UnknownTools) {
        let (origin, rule) = (&rule.origin, &rule.value);
        let elsewhere = rule.workspace.as_deref().map(Path::new);
        let is_elsewhere = elsewhere.is_some_and(|place| !self.settings.workspace.starts_with(place));
        if is_elsewhere {
            return;
        }
        if self.look_at_server_rule(rule, origin, found) || self.has(|name| fits(rule.tool_name(), name)) {
            let shown = show_rule(rule);
            let what = match self.mismatched(rule, never_about) {
                Some((name, why)) => Some(format!("`{shown}` can never match a call of `{name}`: {why}")),
                None => self
                    .mismatched(rule, accidental_match)
                    .map(|(name, why)| format!("`{shown}` matches a call of `{name}` only by chance: {why}")),
            };
            found
                .warnings
                .extend(what.map(|what| ConfigMistake::about(origin, "rules", what, None)));
            return;
        }
        let near_case = rule.tool.to_lowercase();
        let is_pattern = rule.tool.contains('*') && !rule.tool.contains('(');
        let may_be_later = (is_pattern || rule.tool.contains(OF_SERVER))
            && !self.known.iter().any(|name| fits(&near_case, name));
        let is_mistake = rule.effect != RuleEffect::Allow && !may_be_later && !self.is_of_stranger(origin);
        let nearest = self.nearest(&rule.tool);
        let mut what = format!("no tool is called `{}`, so this rule has no effect", rule.tool);
        if is_mistake && nearest.is_none() {
            what.push_str(
                "; `agentx tools` lists them; `workspace: DIR` limits a rule to the folder that has the tool",
            );
        }
        let mistake = ConfigMistake::about(origin, "rules", what, nearest);
        if is_mistake {
            found.mistakes.push(mistake)
        } else {
            found.warnings.push(mistake)
        }
    }

    /// Adds a warning if a rule names an MCP server whose name is nearly that of a configured one. Returns
    /// whether the rule is about the tools of MCP servers.
    fn look_at_server_rule(&self, rule: &Rule, origin: &SettingOrigin, found: &mut UnknownTools) -> bool {
        let servers = || self.settings.mcp.iter().map(|server| server.name.as_str());
        if rule.tool != MCP {
            return self.is_of_a_server(rule.tool_name());
        }
        let named = rule
            .argument
            .as_deref()
            .and_then(|argument| argument.split('/').next());
        if let Some(named) = named.filter(|named| !servers().any(|known| fits(named, known)))
            && let Some(near) = nearest(named, servers(), 1).first()
        {
            let what = format!("no MCP server is called `{named}`, so this rule has no effect here");
            let near = Some((*near).to_owned());
            found
                .warnings
                .push(ConfigMistake::about(origin, "rules", what, near));
        }
        true
    }

    /// Returns whether a name may be that of a tool of a configured server.
    fn is_of_a_server(&self, name: &str) -> bool {
        let server = name.split_once(OF_SERVER).map(|(server, _)| server);
        server.is_some_and(|server| self.settings.mcp.iter().any(|known| known.name == server))
    }

    fn look_at_name(&mut self, key: &str, name: &str, origin: &SettingOrigin, found: &mut UnknownTools) {
        if self.is_of_a_server(name) || self.has(|known| known == name) {
            return;
        }
        let only_case = self.known.iter().any(|known| known.eq_ignore_ascii_case(name));
        let what = format!("no tool is called `{name}`");
        let mistake = ConfigMistake::about(origin, key, what, self.nearest(name));
        if key == "tools.disabled" && only_case && !self.is_of_stranger(origin) {
            found.mistakes.push(mistake)
        } else {
            found.warnings.push(mistake)
        }
    }
}
