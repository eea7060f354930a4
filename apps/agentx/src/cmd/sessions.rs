//! `agentx sessions`: lists, searches, checks, exports and deletes sessions.

mod export;
mod share;
mod stats;

use std::io::BufRead as _;

use agentx::config::Loaded;
use agentx::runtime::{Runtime, SessionInfo, SessionQuery};
use agentx::types::{RunStatus, SessionId};
use serde_json::json;

use crate::args::SessionsCommand;

use crate::compose::CommandTarget;
use crate::console::Console;
use crate::error::{ChatError, operator_only_error};
use crate::exit::Exit;
use crate::render::clean::visible;
use crate::render::sessions::render_list;
use crate::render::{conversation, search_hits, units};
use crate::{secret_scan, session_opening, show};

/// Runs one of the commands.
pub(crate) async fn run(
    place: &CommandTarget,
    loaded: &Loaded,
    command: &SessionsCommand,
    json: bool,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let runtime = place.runtime();
    match command {
        SessionsCommand::List { here, waiting, limit } => {
            let workspace = if *here {
                Some(session_opening::workspace(place, &loaded.settings).await?)
            } else {
                None
            };
            let sessions = listed(place, workspace, *waiting, *limit).await?;
            if json {
                console.out_pretty(&sessions)?
            } else if sessions.is_empty() && *waiting {
                console.out("no call waits for a decision\n")?
            } else {
                let (me, names) = (place.runtime().owner(), place.names());
                console.out(&render_list(&sessions, me, names, console.out_width()))?
            }
        }
        SessionsCommand::Show(args) => {
            let id = args.session.find(place, &loaded.settings).await?;
            return show::run(place, args.wanted(id), json, console).await;
        }
        SessionsCommand::Search { words, limit } => {
            search(runtime, words.join(" ").trim(), *limit, json, console).await?
        }
        SessionsCommand::Delete { id, yes } => delete(runtime, id, *yes, json, console).await?,
        SessionsCommand::Verify(args) => {
            let id = args.find(place, &loaded.settings).await?;
            verify(runtime, &id, json, console).await?
        }
        SessionsCommand::Rename(args) => {
            let id = runtime.resolve(&args.id).await?;
            rename(runtime, &id, &args.title.join(" "), json, console).await?
        }
        SessionsCommand::Export(args) => export::export(place, args, &loaded.settings, console).await?,
        SessionsCommand::Import(args) => export::import(place, args, &loaded.settings, json, console).await?,
        SessionsCommand::Stats(args) => stats::run(runtime, args, json, console).await?,
        SessionsCommand::Scan { id } => {
            let found = secret_scan::scan(runtime, &loaded.settings, id.as_deref()).await?;
            if json {
                console.out_pretty(&found)?
            } else {
                console.out(&secret_scan::describe(&found))?
            }
        }
        SessionsCommand::Gc => {
            let freed = runtime.collect_garbage().await.map_err(operator_only_error)?;
            if json {
                console.out_pretty(&json!({ "freed_bytes": freed }))?
            } else {
                console.out(&format!("reclaimed {}\n", units::bytes(freed)))?
            }
        }
        SessionsCommand::Share(args) => share::run(place, loaded, args, json, console).await?,
    }
    Ok(Exit::Ok)
}

/// Returns the sessions to list. On a server, a person who decides about members' calls also sees members'
/// sessions.
async fn listed(
    place: &CommandTarget,
    workspace: Option<String>,
    waiting: bool,
    limit: usize,
) -> Result<Vec<SessionInfo>, ChatError> {
    let query = SessionQuery {
        owner: place.runtime().owner().clone(),
        workspace,
        limit,
        before: None,
    };
    if let Some(server) = place.remote() {
        return Ok(server.sessions_with_members(query, waiting).await?);
    }
    if !waiting {
        return Ok(place.runtime().sessions(query).await?);
    }
    let all = SessionQuery { limit: ALL, ..query };
    let mut found = place.runtime().sessions(all).await?;
    found.retain(|info| info.status == Some(RunStatus::AwaitingApproval));
    found.truncate(limit);
    Ok(found)
}

/// Maximum number of sessions of this machine to search for waiting calls.
const ALL: usize = 100_000;
async fn search(
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

async fn rename(
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

async fn delete(
    runtime: &dyn Runtime,
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

async fn verify(
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
        console.out(&format!("{id}: {all}\nhead {}\n", report.head))?;
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
