//! Values that a person marks as secret, so that they are replaced from then on: `agentx secrets`, and
//! `/secret` in a chat. A value is typed unseen or comes from standard input; it is never an argument, which
//! others could read.

pub(crate) mod kept_files;

use std::io::{IsTerminal as _, Read as _};
use std::path::PathBuf;
use std::time::Duration;

use agentx::config::Settings;
use agentx::llm::Secret;
use agentx::node::{MARKED_SECRETS, MarkedSecret, known_secrets, marked_secrets, marked_text};
use agentx::runtime::Redactor;
use agentx::secrets::{MIN_SECRET_BYTES, Origin, SecretSet};
use agentx_files::{FileLock, ReplaceOptions, make_private_directory, replace_locked};
use clap::Subcommand;
use serde_json::json;

pub use kept_files::{FoundInFile, UnreadFile};

use crate::error::ChatError;
use crate::exit::Exit;
use crate::render::clean::visible;
use crate::render::table::table;
use crate::terminal::console::Console;
use crate::terminal::passphrase;

/// The longest value, in bytes.
const MOST_BYTES: u64 = 64 << 10;
/// The longest name, in bytes.
const MOST_NAME_BYTES: usize = 64;
/// The most values that are kept.
const MOST_SECRETS: usize = 1_000;
/// The time to type a value.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// The time to wait for another process that changes the file.
const LOCKED: Duration = Duration::from_secs(10);

/// `agentx secrets`
#[derive(Debug, Subcommand)]
pub enum SecretsCommand {
    /// List the names of the values that you marked
    #[command(alias = "ls")]
    List {
        /// Also those that AgentX knows from settings, variables and files, with where from
        #[arg(long)]
        all: bool,
    },
    /// Mark a value as secret: it is replaced by `[secret NAME]` from now on
    Add {
        /// The name that replaces it
        name: String,
        /// Read the value from standard input instead of asking for it
        #[arg(long)]
        value_from_stdin: bool,
    },
    /// Forget a value that you marked
    #[command(alias = "rm")]
    Remove {
        /// Its name
        name: String,
    },
}

/// Performs a command about marked values.
///
/// # Errors
/// Returns an error if the value or the name is unusable, or the file cannot be changed.
pub fn run(
    command: Option<SecretsCommand>,
    settings: &Settings,
    as_json: bool,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    match command.unwrap_or(SecretsCommand::List { all: false }) {
        SecretsCommand::List { all } => list(settings, all, as_json, console)?,
        SecretsCommand::Add {
            name,
            value_from_stdin,
        } => {
            // A command that was interrupted is repeated with the same value; a person at a terminal learns
            // of a taken name before they type one.
            if value_from_stdin {
                check_name(&name)?;
            } else {
                check_new_name(settings, &name)?;
            }
            let value = value(&format!("Value of {name}: "), value_from_stdin)?;
            let is_new = mark(settings, &name, &value)?;
            console.say(&said_of_mark(&name, is_new, settings.secrets.redact));
            // What is not replaced from now on need not be replaced in what was typed before.
            if settings.secrets.redact {
                let redactor = Redactor::of_values(&set_of(&name, &value)?);
                console.say(&kept_files::take_out(settings, &redactor).notes());
            }
        }
        SecretsCommand::Remove { name } => {
            forget(settings, &name)?;
            console.say(&format!("forgotten: {}\n", visible(&name)));
        }
    }
    Ok(Exit::Ok)
}

/// The words for a person after a value was marked, or was found to be marked already.
fn said_of_mark(name: &str, is_new: bool, is_taken_out: bool) -> String {
    let marked = match (is_new, is_taken_out) {
        (true, _) => "marked; running programs take it up when they start again".to_owned(),
        (false, true) => {
            format!("{name} is marked already with this value; it is taken out of files once more")
        }
        (false, false) => format!("{name} is marked already with this value"),
    };
    format!("{marked}\nhint: `agentx sessions scan` finds where {name} is recorded already\n")
}

fn list(settings: &Settings, all: bool, as_json: bool, console: &mut Console) -> Result<(), ChatError> {
    let mut rows: Vec<[String; 2]> = if all {
        let known = known_secrets(settings);
        let row = |name: &str, origin: Origin| [name.to_owned(), origin.describe().to_owned()];
        known
            .iter()
            .map(|secret| row(secret.name(), secret.origin()))
            .collect()
    } else {
        let origin = Origin::Person.describe();
        let marked = marked_secrets(&settings.data_dir).into_iter();
        marked.map(|secret| [secret.name, origin.to_owned()]).collect()
    };
    rows.sort();
    rows.dedup();
    if as_json {
        let entry = |[name, origin]: &[String; 2]| json!({"name": name, "origin": origin});
        return console.out_pretty(&rows.iter().map(entry).collect::<Vec<_>>());
    }
    if rows.is_empty() {
        console.say("nothing is marked; `agentx secrets add NAME` marks a value\n");
        return Ok(());
    }
    let mut shown = vec![vec!["NAME".to_owned(), "KNOWN FROM".to_owned()]];
    shown.extend(
        rows.iter()
            .map(|[name, origin]| vec![visible(name), origin.clone()]),
    );
    console.out(&table(&shown, console.out_width()))
}

/// The names of the marked values, as `/secret` shows them.
pub(crate) fn names(settings: &Settings) -> Vec<String> {
    let marked = marked_secrets(&settings.data_dir).into_iter();
    marked.map(|secret| secret.name).collect()
}

/// A value from standard input, or from the terminal without showing it.
///
/// # Errors
/// Returns an error if there is no terminal to ask at, the person cancels, or the value is too long or no
/// text.
pub(crate) fn value(prompt: &str, from_stdin: bool) -> Result<Secret, ChatError> {
    let input = std::io::stdin();
    let is_terminal = input.is_terminal();
    if is_terminal {
        let typed = passphrase::ask_hidden(prompt, PATIENCE).map_err(|what| ChatError::Input { what })?;
        let cancelled = || ChatError::Input {
            what: "no value was given; nothing was changed".to_owned(),
        };
        return typed.map(Secret::new).ok_or_else(cancelled);
    }
    if !from_stdin {
        return Err(ChatError::usage(
            "without a terminal, AgentX cannot ask for the value",
            "give it on standard input: --value-from-stdin",
        ));
    }
    let mut text = String::new();
    let read = input.lock().take(MOST_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| ChatError::Input {
        what: format!("the value cannot be read from standard input: {error}"),
    })?;
    if text.len() as u64 > MOST_BYTES {
        return Err(ChatError::Input {
            what: format!("the value on standard input has more than {MOST_BYTES} bytes"),
        });
    }
    let end = text.trim_end_matches(['\n', '\r']).len();
    text.truncate(end);
    Ok(Secret::new(text))
}

/// The set with one value.
///
/// # Errors
/// Returns an error if the value is too short or too common.
pub(crate) fn set_of(name: &str, value: &Secret) -> Result<SecretSet, ChatError> {
    let mut set = SecretSet::default();
    if set.add(name, Origin::Person, value.expose()) {
        return Ok(set);
    }
    Err(ChatError::usage(
        format!(
            "the value has fewer than {MIN_SECRET_BYTES} bytes or fewer than 4 different characters, or is an \
             ordinary word: to replace it would replace ordinary text"
        ),
        "use a longer value",
    ))
}

/// Refuses a name before anybody types its value: one that would not be shown as it is, or that is taken.
///
/// # Errors
/// Returns an error if the name is unusable or marked already.
pub(crate) fn check_new_name(settings: &Settings, name: &str) -> Result<(), ChatError> {
    check_name(name)?;
    if names(settings).iter().any(|known| known == name) {
        return Err(already_marked(name));
    }
    Ok(())
}

/// The error about a name that is taken.
fn already_marked(name: &str) -> ChatError {
    ChatError::usage(
        format!("{name} is marked already"),
        format!(
            "`agentx secrets remove {name}` forgets that value; or choose another name. If the command that marked it \
             was interrupted, repeat it with `--value-from-stdin`"
        ),
    )
}

/// Refuses a name that would not be shown as it is.
///
/// # Errors
/// Returns an error if the name is empty, too long, or has other characters.
pub(crate) fn check_name(name: &str) -> Result<(), ChatError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !name.is_empty() && name.len() <= MOST_NAME_BYTES && name.chars().all(fits) {
        return Ok(());
    }
    Err(ChatError::usage(
        format!(
            "{} cannot name a secret: a name may have letters, digits, `_`, `-` and `.`, and at most \
             {MOST_NAME_BYTES} characters",
            visible(name)
        ),
        "agentx secrets add WIFI_PASSWORD",
    ))
}

/// Keeps a value. Returns `false` if the name has this value already: a command that was killed while it took
/// the value out of files can be repeated.
///
/// # Errors
/// Returns an error if the value is unusable, the name has another value, or the file cannot be written.
pub(crate) fn mark(settings: &Settings, name: &str, value: &Secret) -> Result<bool, ChatError> {
    set_of(name, value)?;
    change(settings, |marked| {
        if let Some(known) = marked.iter().find(|known| known.name == name) {
            if known.value == *value {
                return Ok(false);
            }
            return Err(ChatError::usage(
                format!("{name} is marked already, with another value"),
                format!(
                    "`agentx secrets remove {name}` forgets that value; or choose another name. If the command \
                     that marked it was interrupted, files may still have that value: repeat it with that one"
                ),
            ));
        }
        if marked.len() >= MOST_SECRETS {
            return Err(ChatError::usage(
                format!("{MOST_SECRETS} values are marked already"),
                "`agentx secrets remove NAME` forgets one",
            ));
        }
        marked.push(MarkedSecret {
            name: name.to_owned(),
            value: value.clone(),
        });
        Ok(true)
    })
}

/// Forgets a value.
///
/// # Errors
/// Returns an error if no value has this name, or the file cannot be written.
pub(crate) fn forget(settings: &Settings, name: &str) -> Result<(), ChatError> {
    change(settings, |marked| {
        let before = marked.len();
        marked.retain(|known| known.name != name);
        if marked.len() == before {
            return Err(ChatError::usage(
                format!("no value is marked as {}", visible(name)),
                "`agentx secrets list` lists the names",
            ));
        }
        Ok(())
    })
}

/// Changes the file while no other process does. Returns what `change` returns.
fn change<R>(
    settings: &Settings,
    change: impl FnOnce(&mut Vec<MarkedSecret>) -> Result<R, ChatError>,
) -> Result<R, ChatError> {
    let path: PathBuf = settings.data_dir.join(MARKED_SECRETS);
    let failed = |error: std::io::Error| ChatError::File {
        path: path.display().to_string(),
        what: error.to_string(),
    };
    make_private_directory(&settings.data_dir).map_err(failed)?;
    let lock = FileLock::wait(&FileLock::path_for(&path), LOCKED).map_err(failed)?;
    let Some(lock) = lock else {
        return Err(failed(std::io::Error::other(
            "another process is changing it; try again",
        )));
    };
    let mut marked = marked_secrets(&settings.data_dir);
    if marked.is_empty()
        && path
            .metadata()
            .is_ok_and(|file| file.len() > marked_text(&[]).len() as u64)
    {
        // An unreadable file is not overwritten.
        return Err(failed(std::io::Error::other(
            "it cannot be read, so it is not changed; move it away to start again",
        )));
    }
    let done = change(&mut marked)?;
    let options = ReplaceOptions {
        durable: true,
        ..ReplaceOptions::default()
    };
    replace_locked(&path, marked_text(&marked).as_bytes(), options, &lock).map_err(failed)?;
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_as_they_are() {
        for name in ["WIFI_PASSWORD", "a.b-c"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in ["", "with blank", "x]y", "kö", &"x".repeat(65)] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn an_ordinary_value_is_refused_without_showing_it() {
        let refused = set_of("WIFI", &Secret::new("password")).unwrap_err();
        let said = refused.to_string();
        assert!(said.contains("ordinary") && !said.contains("password"), "{said}");
        assert!(set_of("WIFI", &Secret::new("q8Zr-made-up")).is_ok());
    }
}
