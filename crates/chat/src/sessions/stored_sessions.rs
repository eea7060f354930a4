//! Lists, searches, renames, checks and deletes stored sessions, for `agentx sessions`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead as _;
use std::path::Path;

use agentx::runtime::{LogError, Runtime, RuntimeError, SessionInfo};
use agentx::types::{OwnerId, RunStatus, SessionId};
use serde_json::json;

use super::refused_calls::with_refused_calls;
use crate::error::ChatError;
use crate::render::clean::visible;
use crate::render::sessions::render_list;
use crate::render::wait_times::SessionWaitTimes;
use crate::render::{conversation, search_hits, units};
use crate::terminal::console::Console;
use crate::terminal::{draft, unfinished_drafts};

/// Returns sessions as a list for the person of this runtime, of so many columns, with the names that the
/// person gave to people at the server, if the sessions are a server's.
pub async fn list_text(
    runtime: &dyn Runtime,
    sessions: &[SessionInfo],
    names: Option<&BTreeMap<OwnerId, String>>,
    width: usize,
) -> String {
    let is_stopped =
        |info: &SessionInfo| info.writer.is_none() && !info.status.is_none_or(RunStatus::is_final);
    // What the others wait for is not shown.
    let waits = if sessions.iter().any(is_stopped) {
        wait_times(runtime).await
    } else {
        SessionWaitTimes::default()
    };
    // A server would have to send the logs of its sessions.
    let refused = match names {
        Some(_) => BTreeSet::new(),
        None => with_refused_calls(runtime, sessions).await,
    };
    render_list(sessions, runtime.owner(), names, &waits, &refused, width)
}

/// Reads which sessions wait for a time. There are none if the runtime does not tell or cannot read them: a
/// list shows its sessions all the same.
pub(crate) async fn wait_times(runtime: &dyn Runtime) -> SessionWaitTimes {
    match runtime.waits().await {
        Ok(found) => found.iter().collect(),
        Err(error) => {
            tracing::debug!(%error, "a list does not show which sessions wait");
            SessionWaitTimes::default()
        }
    }
}

/// Prints the messages of sessions that contain the words.
///
/// # Errors
/// Returns an error if there are no words, or the sessions cannot be read.
pub async fn search(
    runtime: &dyn Runtime,
    words: &str,
    limit: usize,
    json: bool,
    console: &mut Console,
) -> Result<(), ChatError> {
    if words.is_empty() {
        return Err(ChatError::usage(
            "there are no words to search for",
            "give words of a message: agentx sessions search parser",
        ));
    }
    if !words.contains(char::is_alphanumeric) {
        return Err(ChatError::usage(
            format!("{words} has no letter and no digit; only words can be searched"),
            "give words that stand near it: agentx sessions search parser",
        ));
    }
    let hits = runtime.search(words, limit).await?;
    if json {
        return console.out_pretty(&hits);
    }
    if hits.is_empty() {
        console.say("nothing was found\n");
    }
    console.out(&search_hits::render(&hits, words, console.out_width()))?;
    if let (Some(hit), true) = (hits.first(), console.terminal.output) {
        let place = format!("agentx show {} --at {}", hit.session_id, hit.seq);
        let hint = console
            .err_style()
            .dim(&format!("hint: {place} shows the first match in context\n"));
        console.say(&hint);
    }
    Ok(())
}

/// Changes the title of a session.
///
/// # Errors
/// Returns an error if the title is empty or too long, or cannot be recorded.
pub async fn rename(
    runtime: &dyn Runtime,
    id: &SessionId,
    title: &str,
    json: bool,
    console: &mut Console,
) -> Result<(), ChatError> {
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    if title.is_empty() {
        return Err(ChatError::usage("a title needs at least one letter", ""));
    }
    runtime.rename(id, title.clone()).await?;
    if json {
        console.out_pretty(&json!({ "session_id": id, "title": title }))
    } else {
        console.out(&format!("renamed {id} to {}\n", visible(&title)))
    }
}

/// Deletes a session, after a question unless `yes` answers it.
///
/// # Errors
/// Returns an error if nobody can be asked, or the session is open or cannot be deleted.
pub async fn delete(
    runtime: &dyn Runtime,
    data_dir: &Path,
    id: &str,
    yes: bool,
    json: bool,
    console: &mut Console,
) -> Result<(), ChatError> {
    let id = runtime.resolve(id).await?;
    let spent = usage_warning(&runtime.info(&id).await?);
    if !yes && !confirmed(&id, spent.as_deref(), console)? {
        console.say("nothing was deleted\n");
        return Ok(());
    }
    let left = runtime.left_running(&id).await?;
    runtime.delete(&id).await?;
    draft::forget_drafts(data_dir, id.as_str());
    unfinished_drafts::remove(data_dir);
    if json {
        console.out_pretty(&json!({ "deleted": id, "ended": left }))
    } else {
        if let Some(ended) = conversation::ended_commands_notice(&left) {
            console.say(&format!("{ended}\n"));
        }
        if let Some(spent) = spent.filter(|_| yes) {
            console.say(&format!("{spent}\n"));
        }
        console.out(&format!("deleted {id}\n"))
    }
}

/// Frees the space of deleted data, and deletes the drafts of sessions that are gone. Returns the number of
/// freed bytes.
///
/// # Errors
/// Returns an error if the runtime cannot do that.
pub async fn collect(runtime: &dyn Runtime, data_dir: &Path) -> Result<u64, RuntimeError> {
    let freed = runtime.collect_garbage().await?;
    unfinished_drafts::remove(data_dir);
    for session in draft::sessions_with_drafts(data_dir) {
        let found = runtime.info(&SessionId::new(&session)).await;
        if matches!(found, Err(RuntimeError::Log(LogError::NotFound(_)))) {
            draft::forget_drafts(data_dir, &session);
        }
    }
    Ok(freed)
}

/// Returns the warning before a session with costs is deleted: no total will contain them any more.
fn usage_warning(info: &SessionInfo) -> Option<String> {
    let tokens = info.usage.context_tokens();
    // Without a cost, the price of its model is usually unknown.
    let cost = (info.cost.0 > 0).then(|| format!(", {}", units::cost(info.cost, &info.usage)));
    (tokens > 0).then(|| {
        let (tokens, cost) = (units::count(tokens), cost.unwrap_or_default());
        format!("its usage ({tokens} tokens{cost}) is deleted too; `agentx usage` no longer counts it")
    })
}

fn confirmed(id: &SessionId, spent: Option<&str>, console: &mut Console) -> Result<bool, ChatError> {
    if !console.terminal.input {
        return Err(ChatError::usage(
            format!("deleting {id} needs a confirmation"),
            "add --yes",
        ));
    }
    if let Some(spent) = spent {
        console.say(&format!("{spent}\n"));
    }
    console.say(&format!("delete {id} permanently? y/n › "));
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "yes"))
}

/// Checks every stored byte of a session.
///
/// # Errors
/// Returns an error if the session is damaged or cannot be read.
pub async fn verify(
    runtime: &dyn Runtime,
    id: &SessionId,
    json: bool,
    console: &mut Console,
) -> Result<(), ChatError> {
    let report = runtime.verify(id).await?;
    if json {
        console.out_pretty(&report)?;
    } else if report.problems.is_empty() {
        let all = match report.last_seq {
            1 => "its 1 event is intact".to_owned(),
            count => format!("all {count} events are intact"),
        };
        let redacted = match report.redacted_events {
            0 => String::new(),
            count => format!("; texts were taken out of {}", units::counted(count, "event")),
        };
        console.out(&format!("{id}: {all}{redacted}\nhead {}\n", report.head))?;
    }
    if report.problems.is_empty() {
        return Ok(());
    }
    Err(ChatError::Damaged {
        session: id.to_string(),
        problems: report.problems,
        good_events: report.good_events,
    })
}
