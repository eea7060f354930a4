//! `agentx sessions`: lists, searches, checks, exports and deletes sessions.

mod export;
mod share;
mod stats;

use agentx::config::Loaded;
use agentx::runtime::{SessionInfo, SessionQuery};
use agentx::types::RunStatus;
use serde_json::json;

use crate::anchors::VerifyArguments;
use crate::args::SessionsCommand;

use crate::compose::CommandTarget;
use crate::console::Console;
use crate::error::{ChatError, operator_only_error};
use crate::exit::Exit;
use crate::render::units;
use crate::session_opening::Target;
use crate::stored_sessions::{collect, delete, list_text, rename, search, verify};
use crate::{anchors, redacting, secret_scan, session_opening, show};

/// Runs one of the commands.
pub(crate) async fn run(
    place: &CommandTarget,
    loaded: &Loaded,
    command: &SessionsCommand,
    json: bool,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let (runtime, data_dir) = (place.runtime(), &loaded.settings.data_dir);
    match command {
        SessionsCommand::List { here, waiting, limit } => {
            let workspace = if *here {
                Some(session_opening::workspace(place, &loaded.settings).await?)
            } else {
                None
            };
            let sessions = listed(place, workspace, *waiting, *limit).await?;
            if json {
                console.out_with_dollars(&sessions)?
            } else if sessions.is_empty() && *waiting {
                console.out("no call waits for a decision\n")?
            } else {
                let width = console.out_width();
                console.out(&list_text(runtime, &sessions, place.names(), width).await)?
            }
        }
        SessionsCommand::Show(args) => {
            let id = args.session.find(place, &loaded.settings).await?;
            return show::run(place, args.wanted(id), json, console).await;
        }
        SessionsCommand::Search { words, limit } => {
            search(runtime, words.join(" ").trim(), *limit, json, console).await?
        }
        SessionsCommand::Delete { id, yes } => delete(runtime, data_dir, id, *yes, json, console).await?,
        SessionsCommand::Verify(args) => verify_stored(place, loaded, args, json, console).await?,
        SessionsCommand::Anchor(args) => anchors::write(runtime, args, json, console).await?,
        SessionsCommand::Rename(args) => {
            let (target, title) = args.parts();
            let id = session_opening::find_existing(place, &loaded.settings, &target).await?;
            rename(runtime, &id, &title, json, console).await?
        }
        SessionsCommand::Export(args) => export::export(place, args, &loaded.settings, json, console).await?,
        SessionsCommand::Import(args) => export::import(place, args, &loaded.settings, json, console).await?,
        SessionsCommand::Stats(args) => stats::run(runtime, args, json, console).await?,
        SessionsCommand::Scan { id, all: _ } => {
            let found = secret_scan::scan(runtime, &loaded.settings, id.as_deref()).await?;
            if json {
                console.out_pretty(&found)?
            } else {
                console.out(&secret_scan::describe(&found))?
            }
        }
        SessionsCommand::Redact(args) => {
            redacting::redact(place, &loaded.settings, args, json, console).await?
        }
        SessionsCommand::Gc => {
            let freed = collect(runtime, data_dir).await.map_err(operator_only_error)?;
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

/// Checks a session, or all sessions against an anchor.
async fn verify_stored(
    place: &CommandTarget,
    loaded: &Loaded,
    args: &VerifyArguments,
    json: bool,
    console: &mut Console,
) -> Result<(), ChatError> {
    if let Some(file) = &args.anchor {
        return anchors::compare(place.runtime(), file, json, console).await;
    }
    let target = args.id.clone().map_or(Target::Last, Target::Id);
    let id = session_opening::find_existing(place, &loaded.settings, &target).await?;
    verify(place.runtime(), &id, json, console).await
}

/// Returns the sessions to list. On a server, who decides about members' calls also sees their sessions.
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
