//! Completion with Tab: commands and their words, models, sessions, and files where a path is written or `@` begins one.

use std::path::Path;

use agentx::runtime::SessionQuery;

use super::slash::NAMES;
use super::{Chat, Face};
use crate::render::clean::visible;

/// So many names are looked at in a directory.
const LOOKED_AT: usize = 5_000;
/// So many of the latest sessions are looked through.
const KNOWN_SESSIONS: usize = 200;
/// So many are shown.
const SHOWN: usize = 24;

/// What may stand from `from` to the cursor.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Completion {
    pub(crate) from: usize,
    pub(crate) options: Vec<String>,
}

impl Completion {
    /// What all options begin with; a single one that is complete has a blank after it.
    fn shared(&self) -> Option<String> {
        let (first, rest) = self.options.split_first()?;
        if rest.is_empty() {
            let open = first.ends_with('/');
            return Some(if open { first.clone() } else { format!("{first} ") });
        }
        let mut shared = first.as_str();
        for option in rest {
            let same = shared
                .char_indices()
                .zip(option.chars())
                .find(|((_, a), b)| a != b)
                .map_or(shared.len().min(option.len()), |((at, _), _)| at);
            shared = &shared[..same];
        }
        Some(shared.to_owned())
    }
}

impl Chat<'_> {
    /// Completes what stands before the cursor as far as there is one way, and shows the ways where there are several.
    pub(super) async fn complete(&mut self) {
        let before = self.editor.text()[..self.editor.cursor()].to_owned();
        let known = if before.starts_with("/diff ") {
            self.known_sessions().await
        } else if before.starts_with("/model ") {
            let models = self.place.runtime().models();
            models.into_iter().map(|model| model.spec.id).collect()
        } else {
            Vec::new()
        };
        let Some(found) = completion(&before, known, &self.settings.workspace) else {
            return;
        };
        let written = before[found.from..].to_owned();
        if let Some(shared) = found.shared().filter(|shared| shared.len() > written.len()) {
            return self.editor.complete(found.from, &shared);
        }
        let Face::Editor { screen, .. } = &mut self.face else {
            return;
        };
        let mut hint: Vec<String> = found
            .options
            .iter()
            .take(SHOWN)
            .map(|option| {
                visible(
                    option
                        .rsplit_once('/')
                        .filter(|(_, name)| !name.is_empty())
                        .map_or(option, |(_, name)| name),
                )
            })
            .collect();
        if found.options.len() > SHOWN {
            hint.push(format!("… {} more", found.options.len() - SHOWN));
        }
        screen.set_hint(hint.join("  "));
    }

    /// The ids of the latest sessions; none where they cannot be had now.
    async fn known_sessions(&mut self) -> Vec<String> {
        let runtime = self.place.shared();
        let query = SessionQuery {
            owner: runtime.owner().clone(),
            workspace: None,
            limit: KNOWN_SESSIONS,
            before: None,
        };
        let list = self.wait_for(async { runtime.sessions(query).await }).await;
        let ids = list.unwrap_or_default().into_iter();
        ids.map(|info| info.session_id.to_string()).collect()
    }
}

/// `known` are the models or sessions that the command before the cursor may name.
fn completion(before: &str, known: Vec<String>, workspace: &Path) -> Option<Completion> {
    let begins = |names: Vec<String>, from: usize| {
        let options: Vec<String> = names
            .into_iter()
            .filter(|name| name.starts_with(&before[from..]))
            .collect();
        (!options.is_empty()).then_some(Completion { from, options })
    };
    if let Some(command) = before
        .strip_prefix('/')
        .filter(|rest| !rest.contains(['/', '\n']))
    {
        return match command.split_once(' ') {
            None => begins(NAMES.iter().map(|name| (*name).to_owned()).collect(), 1),
            Some((name @ ("model" | "diff"), argument)) if !argument.contains(' ') => {
                begins(known, name.len() + 2)
            }
            Some((name, argument)) if !argument.contains(' ') => {
                let words = words_of(name).iter().map(|word| (*word).to_owned());
                begins(words.collect(), name.len() + 2)
            }
            Some(_) => None,
        };
    }
    let word = before.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    let from = word + usize::from(before[word..].starts_with('@'));
    let written = &before[from..];
    if from == word && !written.contains('/') {
        return None;
    }
    begins(files(written, workspace), from)
}

/// What may follow a command.
fn words_of(command: &str) -> &'static [&'static str] {
    match command {
        "approve-mode" => &["ask", "auto", "deny"],
        "approvals" => &["remove", "test"],
        "compact" | "rewind" => &["undo"],
        "context" => &["exact"],
        "queue" => &["edit", "remove", "steer"],
        "usage" => &["session", "day", "model", "cause"],
        "wheel" => &["take", "ask", "give", "release"],
        _ => &[],
    }
}

/// The files whose path may be meant; a directory ends with a slash.
fn files(written: &str, workspace: &Path) -> Vec<String> {
    let (directory, name) = written
        .rsplit_once('/')
        .map_or(("", written), |(directory, name)| (directory, name));
    let prefix = &written[..written.len() - name.len()];
    let home = std::env::var("HOME").unwrap_or_default();
    let place = match (directory.strip_prefix('~'), prefix) {
        (Some(rest), _) => Path::new(&home).join(rest.trim_start_matches('/')),
        (None, "/") => Path::new("/").to_owned(),
        (None, _) => workspace.join(directory),
    };
    let Ok(entries) = std::fs::read_dir(place) else {
        return Vec::new();
    };
    let mut found: Vec<String> = entries
        .take(LOOKED_AT)
        .flatten()
        .filter_map(|entry| {
            let found = entry.file_name().into_string().ok()?;
            let is_hidden = found.starts_with('.') && !name.starts_with('.');
            let slash = if entry.path().is_dir() { "/" } else { "" };
            (found.starts_with(name) && !is_hidden).then(|| format!("{prefix}{found}{slash}"))
        })
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(before: &str, workspace: &Path) -> Option<(usize, Vec<String>, String)> {
        let known = ["opus-1", "opus-2", "tiny", "ses_a"].map(str::to_owned).to_vec();
        let found = completion(before, known, workspace)?;
        let shared = found.shared().unwrap();
        Some((found.from, found.options, shared))
    }

    #[test]
    fn commands_models_and_files() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("src")).unwrap();
        for file in ["src/main.rs", "src/mode.rs", "README.md", ".hidden"] {
            std::fs::write(place.path().join(file), "").unwrap();
        }
        let of = |before| of(before, place.path());
        assert_eq!(of("/sta"), Some((1, vec!["status".into()], "status ".into())));
        assert_eq!(of("/model op").unwrap().2, "opus-");
        assert_eq!(of("/diff s").unwrap().2, "ses_a ");
        assert_eq!(of("/title x"), None);
        assert_eq!(of("/queue st").unwrap().2, "steer ");
        assert_eq!(of("/approve-mode a").unwrap().1, ["ask", "auto"]);
        assert_eq!(of("/queue steer "), None);
        assert_eq!(of("/context ").unwrap().2, "exact ");
        assert_eq!(of("/approvals ").unwrap().1, ["remove", "test"]);
        assert_eq!(
            of("look at @REA"),
            Some((9, vec!["README.md".into()], "README.md ".into()))
        );
        assert_eq!(of("@s").unwrap().2, "src/");
        assert_eq!(of("read src/m").unwrap().1, ["src/main.rs", "src/mode.rs"]);
        assert_eq!(of("read src/ma").unwrap().2, "src/main.rs ");
        assert_eq!(of("@.h").unwrap().2, ".hidden ");
        assert_eq!(of("a word"), None);
        assert_eq!(of("@no-such"), None);
    }
}
