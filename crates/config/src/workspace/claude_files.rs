//! Files of Claude Code in a folder. Its commands, skills, agents, `CLAUDE.md` and the servers of `.mcp.json`
//! are read elsewhere. Of its settings, rules that deny or ask count here as those of an untrusted folder do:
//! they can only make things stricter. What has no effect is named, so that a person who comes from there
//! does not look for it in vain.

use std::path::{Path, PathBuf};

use agentx_types::{Rule, RuleEffect, shell_word};
use serde_json::Value as Json;

use crate::folders::folder::{Folder, FolderTrust};
use crate::layers::MergedSettings;
use crate::layers::keys::SettingPath;
use crate::layers::read::SettingsLayer;
use crate::layers::value::Value;
use crate::layers::written_rule::WrittenRule;
use crate::origin::{SettingOrigin, SourceLocation, Sourced};
use crate::rules::claude_rules::claude_rules_of;
use crate::symlinks::leads_out;
use crate::text_file::read_text;

/// The files with settings.
const FILES: [&str; 2] = [".claude/settings.json", ".claude/settings.local.json"];
/// Rules of one effect in one file that are looked at.
const MOST_RULES: usize = 500;
/// Rules that are named one by one.
const MOST_NAMED: usize = 5;
/// The way to have the effect of the rest.
const INSTEAD: &str = "`agentx config set` sets a setting; hooks do not run";

/// A file of another program of which a part is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaudeFile {
    /// The path.
    pub path: PathBuf,
    /// The parts of it that have no effect.
    pub what: String,
    /// The way to have the same effect.
    pub instead: String,
}

/// Adds the rules of the folder that deny or ask. Those of a folder that the person ignores do not count.
pub(crate) fn with_rules(mut below: MergedSettings, folder: &Folder, root: &Path) -> MergedSettings {
    if folder.trust == FolderTrust::Restricted {
        return below;
    }
    let files = FILES
        .into_iter()
        .filter_map(|name| ClaudeSettings::of(root, name)?.ok());
    let rules: Vec<WrittenRule> = files.flat_map(|file| file.strict_rules(root)).collect();
    if let Some(origin) = rules.first().map(|rule| rule.origin.clone()) {
        let rules = Sourced::new(Value::Rules(rules), origin);
        below.lay(SettingsLayer {
            entries: vec![(SettingPath::dotted("rules"), rules)],
        });
    }
    below
}

/// Returns the files of Claude Code in the folder `root` of which a part is left out.
pub fn claude_files(root: &Path) -> Vec<ClaudeFile> {
    let files = FILES
        .into_iter()
        .filter_map(|name| ClaudeSettings::of(root, name));
    files
        .filter_map(|file| match file {
            Ok(file) => file.left_out(root),
            Err(unread) => Some(unread),
        })
        .collect()
}

/// A file of settings.
struct ClaudeSettings {
    path: PathBuf,
    text: String,
    settings: Json,
}

impl ClaudeSettings {
    /// Reads a file; `None` if there is none. One that cannot be read is an error, because its rules are
    /// lost. Behind a link out of the folder is a file that is not the folder's.
    fn of(root: &Path, name: &str) -> Option<Result<Self, ClaudeFile>> {
        let path = root.join(name);
        if leads_out(root, &path) || path.symlink_metadata().is_err() {
            return None;
        }
        let read = read_text(&path).and_then(|text| match serde_json::from_str::<Json>(&text) {
            Ok(settings) => Ok((text, settings)),
            Err(error) => Err(format!("it is not JSON: {error}")),
        });
        Some(match read {
            Ok((text, settings)) => Ok(Self { path, text, settings }),
            Err(why) => Err(ClaudeFile {
                path,
                what: format!("its rules ({why})"),
                instead: "correct the file".to_owned(),
            }),
        })
    }

    /// The texts of all rules with this effect.
    fn listed(&self, effect: RuleEffect) -> impl Iterator<Item = &str> {
        let listed = self.settings["permissions"][word(effect)].as_array();
        listed.into_iter().flatten().filter_map(Json::as_str)
    }

    /// The texts of the rules with this effect that are looked at.
    fn texts(&self, effect: RuleEffect) -> impl Iterator<Item = &str> {
        self.listed(effect).take(MOST_RULES)
    }

    /// The rules that deny or ask, as far as they can be expressed.
    fn strict_rules(&self, root: &Path) -> Vec<WrittenRule> {
        let mut rules = Vec::new();
        for effect in [RuleEffect::Deny, RuleEffect::Ask] {
            for text in self.texts(effect) {
                let origin = SettingOrigin::Workspace(self.place_of(text));
                let translated = claude_rules_of(root, effect, text).unwrap_or_default();
                rules.extend(translated.into_iter().map(|value| WrittenRule {
                    value,
                    origin: origin.clone(),
                    folder: None,
                }));
            }
        }
        rules
    }

    /// The place of a rule: the first line that has its text, as a rule is hardly written twice.
    fn place_of(&self, text: &str) -> SourceLocation {
        let written = Json::from(text).to_string();
        let index = self.text.lines().position(|line| line.contains(&written));
        SourceLocation {
            file: self.path.as_path().into(),
            line: index.map_or(1, |index| index as u64 + 1),
            column: 1,
        }
    }

    /// The parts without an effect; `None` if there are none.
    fn left_out(&self, root: &Path) -> Option<ClaudeFile> {
        let (mut whats, mut instead) = (Vec::new(), Vec::new());
        let allowed: Vec<&str> = self.texts(RuleEffect::Allow).collect();
        if !allowed.is_empty() {
            whats.push("permissions.allow".to_owned());
            let rules = allowed.iter();
            let rules = rules.filter_map(|text| claude_rules_of(root, RuleEffect::Allow, text).ok());
            let commands: Vec<String> = rules.take(MOST_NAMED).map(|rules| commands(&rules)).collect();
            let commands = if commands.is_empty() {
                vec!["`agentx approvals add allow TOOL`".to_owned()]
            } else {
                commands
            };
            instead.push(format!("{} allows it", commands.join(", ")));
        }
        for effect in [RuleEffect::Ask, RuleEffect::Deny] {
            let texts = self.texts(effect);
            let lost = texts
                .filter_map(|text| Some((text, claude_rules_of(root, effect, text).err()?)))
                .take(MOST_NAMED);
            whats.extend(lost.map(|(text, why)| format!("permissions.{} {text:?} ({why})", word(effect))));
            if self.listed(effect).nth(MOST_RULES).is_some() {
                whats.push(format!(
                    "permissions.{} after the first {MOST_RULES} rules",
                    word(effect)
                ));
            }
        }
        let mode = &self.settings["permissions"]["defaultMode"];
        let others = ["hooks", "env", "model"].map(|key| (key, &self.settings[key]));
        let others: Vec<String> = [("permissions.defaultMode", mode)]
            .into_iter()
            .chain(others)
            .filter(|(_, value)| is_filled(value))
            .map(|(key, _)| key.to_owned())
            .collect();
        if !others.is_empty() {
            instead.push(INSTEAD.to_owned());
        }
        whats.extend(others);
        if !whats.is_empty() && instead.is_empty() {
            instead.push("`agentx approvals add deny TOOL` adds a rule of your own".to_owned());
        }
        (!whats.is_empty()).then(|| ClaudeFile {
            path: self.path.clone(),
            what: whats.join(", "),
            instead: instead.join("; "),
        })
    }
}

/// The commands that add rules, each in backticks.
fn commands(rules: &[Rule]) -> String {
    let command = |rule: &Rule| {
        let argument = rule.argument.as_deref().map(shell_word);
        let argument = argument.map(|argument| match rule.tool.as_str() {
            "bash" | "mcp" => format!(" {argument}"),
            _ => format!(" --argument {argument}"),
        });
        let path = rule
            .path
            .as_deref()
            .map(|path| format!(" --path {}", shell_word(path)));
        format!(
            "`agentx approvals add allow {}{}{} --here`",
            rule.tool,
            argument.unwrap_or_default(),
            path.unwrap_or_default()
        )
    };
    // The second rule about a path is about the directory of this name.
    let names_directory = |rule: &Rule| rule.path.as_ref().is_some_and(|path| path.ends_with("/**"));
    let has_others = rules.iter().any(|rule| !names_directory(rule));
    let named = rules.iter().filter(|rule| !has_others || !names_directory(rule));
    named.map(command).collect::<Vec<_>>().join(", ")
}

fn word(effect: RuleEffect) -> &'static str {
    match effect {
        RuleEffect::Allow => "allow",
        RuleEffect::Ask => "ask",
        RuleEffect::Deny => "deny",
    }
}

/// Returns whether a value says something.
fn is_filled(value: &Json) -> bool {
    match value {
        Json::Array(items) => !items.is_empty(),
        Json::Object(fields) => !fields.is_empty(),
        Json::Null => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;
    use crate::layers::shown_rule::show_rule;

    const SETTINGS: &str = r#"{
  "permissions": {
    "allow": ["Bash(npm run test:*)", "Read(src/x.rs)", "Odd"],
    "deny": ["Bash(rm:*)",
      "Read(./.env)", "Read(a?)"],
    "ask": ["WebFetch(domain:example.org)"],
    "defaultMode": "acceptEdits"
  },
  "hooks": {"Stop": []}
}"#;

    fn folder_with(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let file = folder.path().join(".claude").join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        folder
    }

    fn rules(trust: FolderTrust, root: &Path) -> Vec<String> {
        let folder = Folder {
            trust,
            ..Folder::default()
        };
        let merged = with_rules(MergedSettings::default(), &folder, root);
        let rules = merged.rules().iter();
        rules
            .map(|rule| match &rule.origin {
                SettingOrigin::Workspace(place) => format!("{} at {}", show_rule(&rule.value), place.line),
                other => format!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn rules_that_deny_or_ask_count_and_none_that_allows() {
        let folder = folder_with(&[("settings.json", SETTINGS)]);
        let strict = [
            "deny bash \"rm *\" at 4",
            "deny read in .env at 5",
            "deny read in .env/** at 5",
            "ask web_extract \"to example.org\" at 6",
        ];
        for trust in [FolderTrust::Unknown, FolderTrust::ReadOnly, FolderTrust::Trusted] {
            assert_eq!(rules(trust, folder.path()), strict, "{trust:?}");
        }
        assert_eq!(rules(FolderTrust::Restricted, folder.path()), [""; 0]);
    }

    #[test]
    fn what_has_no_effect_is_named_with_what_to_do_instead() {
        let folder = folder_with(&[
            ("settings.json", SETTINGS),
            ("settings.local.json", "not JSON"),
            ("agents/a.md", "An agent, which is read."),
        ]);
        let found = claude_files(folder.path());
        assert_eq!(found.len(), 2);
        assert!(found[0].path.ends_with(".claude/settings.json"));
        assert_eq!(
            found[0].what,
            "permissions.allow, permissions.deny \"Read(a?)\" (its path has more than names, `*` and `**`), \
             permissions.defaultMode, hooks"
        );
        assert_eq!(
            found[0].instead,
            "`agentx approvals add allow bash 'npm run test *' --here`, \
             `agentx approvals add allow read --path src/x.rs --here` allows it; \
             `agentx config set` sets a setting; hooks do not run"
        );
        let strict = folder_with(&[("settings.json", r#"{"permissions": {"deny": ["Bash(rm:*)"]}}"#)]);
        assert_eq!(claude_files(strict.path()), []);
    }

    /// A person who wrote a rule there has to know that it does not hold.
    #[test]
    fn rules_that_are_lost_with_their_file_or_by_their_number_are_named() {
        let local = r#"{"permissions": {"deny": ["Bash(rm:*)"],}}"#;
        let folder = folder_with(&[("settings.local.json", local)]);
        assert_eq!(rules(FolderTrust::Trusted, folder.path()), [""; 0]);
        let found = claude_files(folder.path());
        assert!(found[0].path.ends_with(".claude/settings.local.json"));
        assert!(
            found[0].what.starts_with("its rules (it is not JSON: ") && found[0].what.contains("line 1"),
            "{}",
            found[0].what
        );
        assert_eq!(found[0].instead, "correct the file");
        for (number, lost) in [(MOST_RULES, 0), (MOST_RULES + 1, 1)] {
            let deny: Vec<String> = (0..number).map(|number| format!("Bash(x{number})")).collect();
            let text = serde_json::json!({"permissions": {"deny": deny}}).to_string();
            let folder = folder_with(&[("settings.json", &text)]);
            assert_eq!(rules(FolderTrust::Trusted, folder.path()).len(), MOST_RULES);
            let found = claude_files(folder.path());
            let whats: Vec<&str> = found.iter().map(|file| file.what.as_str()).collect();
            let expected = ["permissions.deny after the first 500 rules"];
            assert_eq!(whats, expected[..lost], "{number}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_out_of_the_folder_is_not_followed() {
        let elsewhere = folder_with(&[("settings.json", SETTINGS)]);
        let folder = folder_with(&[("agents/a.md", "x")]);
        let target = elsewhere.path().join(".claude/settings.json");
        std::os::unix::fs::symlink(target, folder.path().join(".claude/settings.json")).unwrap();
        assert_eq!(rules(FolderTrust::Trusted, folder.path()), [""; 0]);
        assert_eq!(claude_files(folder.path()), []);
    }
}
