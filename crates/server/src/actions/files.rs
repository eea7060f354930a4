//! The files that an agent works on, for remote callers: the file that a call would change, before a person
//! decides about it, and files to restore. Callers never read or change more of the server's disk than the
//! agent could.

use std::path::Path;
use std::sync::Arc;

use agentx_node_runtime::{DiskPreview, NodeRuntime};
use agentx_runtime::{
    FileChangePreview, PlannedFile, RestorePlan, RestoreReport, RestoreRequest, Ruling, Runtime as _,
    RuntimeError, Session, describe,
};
use agentx_types::{AgentConfig, FileFailed, RuleEffect, SessionId, ToolCallId, ToolSpec};
use serde_json::json;

use crate::actions::authorized_session::AuthorizedSession;
use crate::actions::earlier_restore;
use crate::actions::request_terms::{RequestTerms, with_key};
use crate::actions::session_actions::whole;
use crate::auth::caller::Caller;
use crate::state::{ServerState, SessionAccess};

/// A text of a file for another person than the operator, whose secrets may be in it.
fn without_secrets(runtime: &NodeRuntime, text: &str) -> String {
    match runtime.redactor() {
        Some(redactor) => redactor.redact(text).into_owned(),
        None => text.to_owned(),
    }
}

/// The tool whose rules are about reading files.
const READ: &str = "read";
/// The reason why a file with secrets is not restored.
const GUARDED: &str = "it may hold secrets: only the server's operator may restore it";
/// The reason why a file outside of the workspace is not restored.
const OUTSIDE: &str = "it is outside the workspace: only the server's operator may restore it";

impl ServerState {
    /// Returns the current content of the file that a waiting call would change.
    ///
    /// # Errors
    /// Returns an error if no decision is awaited for this call.
    pub async fn preview_file_change(
        &self,
        (caller, access): (&Caller, &SessionAccess),
        session: &SessionId,
        call: &ToolCallId,
    ) -> Result<FileChangePreview, RuntimeError> {
        let open = self.open_already(session).await;
        let shown = if caller.operator {
            DiskPreview::All
        } else {
            DiskPreview::ToTheAgent
        };
        let mut file = access.runtime.file_now(session, open, call, shown).await?;
        if !caller.operator {
            file.text = file.text.map(|text| without_secrets(&access.runtime, &text));
        }
        Ok(file)
    }

    /// Previews restoring files to their state before an event.
    ///
    /// # Errors
    /// Returns an error if the session cannot be read.
    pub async fn plan_restore(
        &self,
        (caller, access): (&Caller, &SessionAccess),
        session: &SessionId,
        to_seq: u64,
    ) -> Result<RestorePlan, RuntimeError> {
        let mut plan = access.runtime.plan_restore(session, to_seq).await?;
        if !caller.operator {
            let open = self.open_already(session).await;
            let config = config(access, session, open).await?;
            let tools = tools_for_files(access, &config);
            for file in &mut plan.files {
                if let Some(why) = self.keeps(&config, &tools, &file.path) {
                    withhold(file, why);
                }
                file.diff = without_secrets(&access.runtime, &file.diff);
            }
        }
        Ok(plan)
    }

    /// Restores files to their state before an event, and records that. No run may be active at the same
    /// time.
    ///
    /// # Errors
    /// Returns an error if the caller may not, or does not drive, a run is active, or nothing can be
    /// recorded.
    pub async fn restore(
        self: &Arc<Self>,
        caller: &Caller,
        session: &SessionId,
        wish: RestoreRequest,
        terms: RequestTerms,
    ) -> Result<RestoreReport, RuntimeError> {
        let (state, caller, session) = (self.clone(), caller.clone(), session.clone());
        whole(async move {
            let hand = AuthorizedSession::new(&state, &caller, &session).await?;
            if let Some(seq) = hand.done_before(&terms).await? {
                // It may still be at work, with the gate.
                let _gate = hand.room.gate.lock().await;
                return earlier_restore::report_of(&*hand.access.runtime, &session, seq, &wish).await;
            }
            let access = hand.access.clone();
            hand.check_storage().await?;
            let key = hand.stored_key(&terms)?;
            let sent = terms.clone();
            hand.drive(terms.wheel_epoch, |open| async {
                // Two equal requests may have come at once.
                if let Some(seq) = hand.done_before(&sent).await? {
                    return earlier_restore::report_of(&*access.runtime, &session, seq, &wish).await;
                }
                let open = with_key(open, key.as_ref());
                let now = open.state().await?;
                if now.run.is_some_and(|run| !run.status.is_final()) {
                    return Err(RuntimeError::Refused(
                        "the agent is running; stop it first, then restore files".into(),
                    ));
                }
                let tools = tools_for_files(&access, &now.config);
                let (mut mine, mut refused) = (Vec::new(), Vec::new());
                for file in wish.files {
                    let kept = (!caller.operator).then(|| state.keeps(&now.config, &tools, &file.path));
                    match kept.flatten() {
                        Some(what) => refused.push(FileFailed {
                            path: file.path,
                            what,
                        }),
                        None => mine.push(file),
                    }
                }
                let wish = RestoreRequest {
                    to_seq: wish.to_seq,
                    files: mine,
                };
                let mut report = access.runtime.restore(&session, Some(open), wish).await?;
                report.failed.extend(refused);
                Ok(report)
            })
            .await
        })
        .await
    }

    /// Returns why a file is not shown to or restored for callers other than the operator.
    fn keeps(&self, config: &AgentConfig, tools: &[ToolSpec], path: &str) -> Option<String> {
        let root = std::fs::canonicalize(&config.workspace).ok();
        let inside = root.and_then(|root| Some(Path::new(path).strip_prefix(root).ok()?.to_owned()));
        let Some(inside) = inside else {
            return Some(OUTSIDE.to_owned());
        };
        if self.settings().is_guarded(Path::new(path)) {
            return Some(GUARDED.to_owned());
        }
        // The workspace may be reached through a link: rules name the file by its given path, or by its real
        // path.
        let ruled = [&*inside.to_string_lossy(), path]
            .into_iter()
            .find_map(|name| tools.iter().find_map(|tool| forbids(config, tool, name)));
        ruled.map(|rule| format!("the rule {rule} applies to it: only the server's operator may restore it"))
    }

    /// Returns the session if it is already open here.
    async fn open_already(&self, session: &SessionId) -> Option<Arc<dyn Session>> {
        let room = self.rooms().find(session).await?;
        room.session().cloned()
    }
}

async fn config(
    access: &SessionAccess,
    session: &SessionId,
    open: Option<Arc<dyn Session>>,
) -> Result<AgentConfig, RuntimeError> {
    let state = match open {
        Some(open) => open.state().await?,
        None => access.runtime.state(session).await?,
    };
    Ok(state.config)
}

/// Returns the tools that read or change the one file that a call names: showing or restoring a file follows
/// their rules.
fn tools_for_files(access: &SessionAccess, config: &AgentConfig) -> Vec<ToolSpec> {
    let offered = access.runtime.tools();
    let all = config.tools.iter().cloned().chain(offered);
    let is_about_files = |tool: &ToolSpec| {
        tool.path_argument.is_some() && (tool.access == agentx_types::Access::Change || tool.name == READ)
    };
    all.filter(is_about_files).collect()
}

/// Returns the rule that denies or asks about a call of this tool for this file, as text.
fn forbids(config: &AgentConfig, tool: &ToolSpec, path: &str) -> Option<String> {
    let input = json!({ tool.path_argument.as_deref()?: path });
    let rules = Ruling::of(config, tool, &input).rules;
    let rule = rules.iter().find(|rule| rule.effect != RuleEffect::Allow)?;
    Some(describe(rule))
}

fn withhold(file: &mut PlannedFile, why: String) {
    file.blocked = Some(why);
    file.seen = None;
    file.diff.clear();
    (file.added, file.removed) = (0, 0);
}
