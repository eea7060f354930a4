//! Completion with Tab: commands and their arguments, models, sessions, and files after the beginning of a
//! path or after `@`.

use std::path::Path;
use std::time::Duration;

use agentx::runtime::SessionQuery;

use crate::attach::files::{files, named_so};
use crate::attach::{escaped, last_word, unescaped};
use crate::chat::commands::session_change::EVERYWHERE;
use crate::chat::slash::about;
use crate::chat::{Chat, ConversationSite};
use crate::picker;
use crate::render::clean::visible;
use crate::render::table::cut;
use crate::render::units;
use crate::session_opening;
use crate::slash_names::NAMES;

/// Maximum number of the latest sessions of a directory to offer.
const KNOWN_SESSIONS: usize = 200;
/// Maximum time for which Tab waits for a disk. A search has shorter bounds, but a call of the system may not
/// return.
const LONGEST: Duration = Duration::from_millis(500);
/// Maximum number of completions to show beside each other.
const SHOWN: usize = 24;
/// Maximum number of completions to show in a row each.
const ROWS: usize = 8;

/// The candidates for the text from `from` to the cursor.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Completion {
    pub(crate) from: usize,
    pub(crate) options: Vec<String>,
    /// Whether the options only contain the typed text, and do not begin with it.
    is_elsewhere: bool,
}

impl Completion {
    /// Returns the common beginning of all options; a single complete one has a blank after it.
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

    /// Lists the options: a few that have descriptions in a row each, others side by side.
    fn hint(&self, known: &NameDescriptions, width: usize) -> String {
        let about = |option: &String| {
            let found = known
                .iter()
                .find(|(name, about)| name == option && !about.is_empty());
            found.map(|(_, about)| about.as_str())
        };
        let wide = self.options.iter().map(String::len).max().unwrap_or(0);
        let are_told = self.options.first().is_some_and(|first| about(first).is_some());
        let in_rows = are_told && (self.options.len() <= ROWS || self.options[0].starts_with("ses_"));
        let most = if in_rows { ROWS } else { SHOWN };
        let mut told: Vec<String> = if in_rows {
            (self.options.iter().take(most))
                .map(|option| {
                    let row = format!("{option:wide$}  {}", about(option).unwrap_or_default());
                    cut(row.trim_end(), width.saturating_sub(1))
                })
                .collect()
        } else {
            self.options
                .iter()
                .take(most)
                .map(|option| self.short(option))
                .collect()
        };
        if self.options.len() > most {
            told.push(format!("… {} more", self.options.len() - most));
        }
        told.join(if in_rows { "\n" } else { "  " })
    }

    /// An option beside others of its directory.
    fn short(&self, option: &str) -> String {
        let name = option
            .rsplit_once('/')
            .filter(|(_, name)| !name.is_empty() && !self.is_elsewhere);
        visible(name.map_or(option, |(_, name)| name))
    }
}

/// The names that a command takes, each with a description.
type NameDescriptions = Vec<(String, String)>;

impl Chat<'_> {
    /// Completes the text before the cursor as far as all options agree, and lists them if there are several.
    pub(in crate::chat) async fn complete(&mut self) {
        let before = self.composer.editor.text()[..self.composer.editor.cursor()].to_owned();
        let known = self.names_after(&before).await;
        let workspace = self.settings.workspace.clone();
        let searched = before.clone();
        let search = tokio::task::spawn_blocking(move || {
            let found = completion(&searched, &known, &workspace);
            found.map(|found| (found, known))
        });
        let (found, known) = match tokio::time::timeout(LONGEST, search).await {
            Ok(Ok(Some(found))) => found,
            Ok(_) => return,
            Err(_) => {
                return self
                    .display
                    .set_hint("the disk does not answer in time; try Tab again");
            }
        };
        let written = before[found.from..].to_owned();
        let longer = |shared: &String| shared.len() > written.len() && !found.is_elsewhere;
        match found
            .shared()
            .filter(|shared| found.options.len() == 1 || longer(shared))
        {
            Some(shared) => self.composer.editor.complete(found.from, &shared),
            None if found.options.len() == 1 => return,
            None => {}
        }
        if found.options.len() > 1 {
            let hint = found.hint(&known, self.display.width());
            self.display.set_hint(&hint);
        }
    }

    /// Returns the names that the command before the cursor takes, or the commands themselves.
    async fn names_after(&mut self, before: &str) -> NameDescriptions {
        if before.starts_with("/diff ") {
            self.sessions_to_compare().await
        } else if before.starts_with("/resume ") {
            self.sessions_to_continue().await
        } else if before.starts_with("/model ") {
            self.known_models()
        } else if before.starts_with('/') && !before.contains(' ') {
            let told = |name: &&str| ((*name).to_owned(), about(name).unwrap_or_default().to_owned());
            let of_files = self.prompt_command_names().into_iter();
            let of_files = of_files.map(|(name, about, _)| (name, about));
            NAMES.iter().map(told).chain(of_files).collect()
        } else {
            NameDescriptions::new()
        }
    }

    /// The models, those first that can be asked.
    fn known_models(&self) -> NameDescriptions {
        let mut models = self.place.runtime().models();
        models.sort_by_key(|model| model.missing.is_some());
        models
            .into_iter()
            .map(|model| (model.spec.called().to_owned(), String::new()))
            .collect()
    }

    /// Returns the candidates after `/resume`: the latest sessions of this directory, as `agentx resume`
    /// lists them, and the word for all others.
    pub(in crate::chat) async fn sessions_to_continue(&mut self) -> NameDescriptions {
        let mut known = self.sessions_to_compare().await;
        let everywhere = "choose from the sessions of all directories";
        known.push((EVERYWHERE.to_owned(), everywhere.to_owned()));
        known
    }

    /// Returns the candidates after `/diff`: the latest sessions of this directory but this one, none if they
    /// cannot be had now.
    pub(in crate::chat) async fn sessions_to_compare(&mut self) -> NameDescriptions {
        let (place, settings) = (self.place, self.settings);
        let here = self
            .wait_for(async { Ok(session_opening::workspace(place, settings).await) })
            .await;
        let Ok(Ok(workspace)) = here else {
            return NameDescriptions::new();
        };
        let runtime = self.place.shared();
        let own = match &self.connection.site {
            ConversationSite::Open { session, .. } => Some(session.id().clone()),
            ConversationSite::New(_) => None,
        };
        let query = SessionQuery {
            owner: runtime.owner().clone(),
            workspace: Some(workspace),
            limit: KNOWN_SESSIONS,
            before: None,
        };
        let list = self.wait_for(async { runtime.sessions(query).await }).await;
        let now = units::now();
        let others = list.unwrap_or_default().into_iter();
        others
            .filter(|info| Some(&info.session_id) != own.as_ref())
            .map(|info| {
                let ago = units::ago(info.updated_at, now);
                (
                    info.session_id.to_string(),
                    format!("{ago}  {}", picker::view::marked_title(&info)),
                )
            })
            .collect()
    }
}

/// Completes the text before the cursor. `known` has the names that its command takes, or the commands
/// themselves.
fn completion(before: &str, known: &NameDescriptions, workspace: &Path) -> Option<Completion> {
    let begins = |names: Vec<String>, from: usize| {
        let options: Vec<String> = names
            .into_iter()
            .filter(|name| name.starts_with(&before[from..]))
            .collect();
        let found = Completion {
            from,
            options,
            is_elsewhere: false,
        };
        (!found.options.is_empty()).then_some(found)
    };
    let known = || known.iter().map(|(name, _)| name.clone()).collect();
    if let Some(command) = before
        .strip_prefix('/')
        .filter(|rest| !rest.contains(['/', '\n']))
    {
        return match command.split_once(' ') {
            None => begins(known(), 1),
            Some((name @ ("model" | "diff" | "resume"), argument)) if !argument.contains(' ') => {
                begins(known(), name.len() + 2)
            }
            Some((name, argument)) if !argument.contains(' ') => {
                let words = words_of(name).iter().map(|word| (*word).to_owned());
                begins(words.collect(), name.len() + 2)
            }
            Some(_) => None,
        };
    }
    let word = last_word(before);
    let is_named = before[word..].starts_with('@');
    let from = word + usize::from(is_named);
    if !is_named && !before[from..].contains('/') {
        return None;
    }
    if !is_named {
        return begins(files(&before[from..], workspace), from);
    }
    let written = unescaped(&before[from..]);
    let escaped_all = |names: Vec<String>| names.iter().map(|name| escaped(name)).collect();
    begins(escaped_all(files(&written, workspace)), from).or_else(|| {
        let options = if written.len() > 1 && !written.contains('/') {
            escaped_all(named_so(&written.to_lowercase(), workspace))
        } else {
            Vec::new()
        };
        let found = Completion {
            from,
            options,
            is_elsewhere: true,
        };
        (!found.options.is_empty()).then_some(found)
    })
}

/// Returns the words that may follow a command.
fn words_of(command: &str) -> &'static [&'static str] {
    match command {
        "approve-mode" => &["ask", "plan", "auto", "deny"],
        "approvals" => &["overrule", "remove", "test"],
        "compact" | "rewind" => &["undo"],
        "config" => &["all"],
        "context" => &["exact"],
        "help" => NAMES,
        "plan" => &["off"],
        "queue" => &["edit", "remove", "steer"],
        "usage" => &["session", "day", "model", "cause"],
        "wheel" => &["take", "ask", "give", "release"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attach::files::LOOKED_AT;

    fn of(before: &str, workspace: &Path) -> Option<(usize, Vec<String>, String)> {
        let known = if before.contains(' ') {
            &["opus-1", "opus-2", "tiny", "ses_a"]
        } else {
            NAMES
        };
        let known: NameDescriptions = known
            .iter()
            .map(|name| ((*name).to_owned(), String::new()))
            .collect();
        let found = completion(before, &known, workspace)?;
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
        assert_eq!(of("/approvals ").unwrap().1, ["overrule", "remove", "test"]);
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

    #[test]
    fn a_blank_in_a_name_is_written_with_a_backslash() {
        let place = tempfile::tempdir().unwrap();
        for file in ["my sky.png", "my sea.png"] {
            std::fs::write(place.path().join(file), "").unwrap();
        }
        let of = |before| of(before, place.path());
        assert_eq!(of("see @my").unwrap().2, "my\\ s");
        assert_eq!(
            of("see @my\\ sk"),
            Some((5, vec!["my\\ sky.png".into()], "my\\ sky.png ".into()))
        );
        assert_eq!(of("@sea").unwrap().2, "my\\ sea.png ");
        assert_eq!(of("见\u{3000}@my\\ sk").unwrap().0, 7, "wide blanks are blanks");
    }

    #[test]
    fn a_file_is_found_by_its_name_wherever_it_is() {
        let place = tempfile::tempdir().unwrap();
        for dir in ["src/deep", "target/deep", ".git"] {
            std::fs::create_dir_all(place.path().join(dir)).unwrap();
        }
        for file in [
            "src/Parser.rs",
            "src/deep/parsing.rs",
            "target/deep/parser.d",
            ".git/parser",
            "notes.md",
        ] {
            std::fs::write(place.path().join(file), "").unwrap();
        }
        let of = |before| of(before, place.path());
        assert_eq!(
            of("see @pars").unwrap().1,
            ["src/Parser.rs", "src/deep/parsing.rs"]
        );
        assert_eq!(of("see @parser").unwrap().2, "src/Parser.rs ");
        assert_eq!(
            of("see @no").unwrap().1,
            ["notes.md"],
            "what begins so comes first"
        );
        assert_eq!(of("see pars"), None, "words are not files");
    }

    #[test]
    fn of_a_directory_with_very_many_files_not_all_are_looked_at() {
        let place = tempfile::tempdir().unwrap();
        for n in 0..LOOKED_AT + 10 {
            std::fs::write(place.path().join(format!("x{n}.rs")), "").unwrap();
        }
        let (_, options, _) = of("see @.rs", place.path()).unwrap();
        assert!(options.len() <= LOOKED_AT, "{}", options.len());
    }

    #[test]
    fn ways_about_which_something_is_said_have_a_row_each() {
        let known = |names: &[(&str, &str)]| -> NameDescriptions {
            let known = names
                .iter()
                .map(|(name, about)| ((*name).to_owned(), (*about).to_owned()));
            known.collect()
        };
        let told = |before: &str, known: &NameDescriptions, width| {
            let found = completion(before, known, Path::new("/nowhere")).unwrap();
            found.hint(known, width)
        };
        let commands: NameDescriptions = NAMES
            .iter()
            .map(|name| ((*name).to_owned(), about(name).unwrap_or_default().to_owned()))
            .collect();
        assert_eq!(
            told("/t", &commands, 60),
            "thinking  show the last reasoning in full, or the Nth from…\n\
             todo      show the to-do list of the agent\n\
             title     set the title of this session"
        );
        assert!(
            told("/", &commands, 80).starts_with("help  model"),
            "many stand beside each other"
        );
        let many: Vec<String> = (0..12).map(|n| format!("ses_{n:02}")).collect();
        let many: Vec<(&str, &str)> = many.iter().map(|id| (id.as_str(), "just now  a title")).collect();
        let shown = told("/diff ", &known(&many), 80);
        assert_eq!(shown.lines().count(), ROWS + 1);
        assert!(shown.starts_with("ses_00  just now  a title\n") && shown.ends_with("… 4 more"));
    }
}
