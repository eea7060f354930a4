//! The files that an agent works on, for those who are elsewhere: the one that a call would change, before somebody decides about
//! it, and those that go back to how they were. Of the server's disk nobody learns or changes more than the agent could.

use std::path::Path;
use std::sync::Arc;

use agentx_node_runtime::DiskPreview;
use agentx_runtime::{
    FileInQuestion, PlannedFile, RestorePlan, RestoreReport, RestoreWish, Ruling, Runtime as _, RuntimeError,
    Session, describe,
};
use agentx_types::{AgentConfig, FileFailed, RuleEffect, SessionId, ToolCallId, ToolSpec};
use serde_json::json;

use crate::control::whole;
use crate::session_caller::SessionCaller;
use crate::state::{Admission, Caller, ServerState};

/// The tool whose rules are about what files say.
const READ: &str = "read";
/// Why a file with secrets stays as it is.
const GUARDED: &str = "it may hold secrets: only the server's operator may restore it";
/// Why a file stays as it is.
const OUTSIDE: &str = "it is outside the workspace: only the server's operator may restore it";

impl ServerState {
    /// The current content of the file that a waiting call would change.
    ///
    /// # Errors
    /// Returns an error if no decision is awaited for this call.
    pub async fn file_in_question(
        &self,
        (caller, access): (&Caller, &Admission),
        session: &SessionId,
        call: &ToolCallId,
    ) -> Result<FileInQuestion, RuntimeError> {
        let open = self.open_already(session).await;
        let shown = if caller.operator {
            DiskPreview::All
        } else {
            DiskPreview::ToTheAgent
        };
        access.runtime.file_now(session, open, call, shown).await
    }

    /// Previews restoring files to their state before an event.
    ///
    /// # Errors
    /// Returns an error if the session cannot be read.
    pub async fn plan_restore(
        &self,
        (caller, access): (&Caller, &Admission),
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
            }
        }
        Ok(plan)
    }

    /// Puts files back to how they were before an event, and puts that on record. Nothing may run meanwhile.
    ///
    /// # Errors
    /// Returns an error if the caller may not, or does not drive, something runs, or nothing can be put on
    /// record.
    pub async fn restore(
        self: &Arc<Self>,
        caller: &Caller,
        session: &SessionId,
        wish: RestoreWish,
        wheel_epoch: Option<u64>,
    ) -> Result<RestoreReport, RuntimeError> {
        let (state, caller, session) = (self.clone(), caller.clone(), session.clone());
        whole(async move {
            let hand = SessionCaller::new(&state, &caller, &session).await?;
            let access = hand.access.clone();
            hand.may_keep().await?;
            hand.drive(wheel_epoch, |open| async move {
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
                let wish = RestoreWish {
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

    /// Why a file is not shown or put back for those who do not run the server.
    fn keeps(&self, config: &AgentConfig, tools: &[ToolSpec], path: &str) -> Option<String> {
        let root = std::fs::canonicalize(&config.workspace).ok();
        let inside = root.and_then(|root| Some(Path::new(path).strip_prefix(root).ok()?.to_owned()));
        let Some(inside) = inside else {
            return Some(OUTSIDE.to_owned());
        };
        if self.settings().is_guarded(Path::new(path)) {
            return Some(GUARDED.to_owned());
        }
        // The workspace may be reached through a link: rules name the file as it is written, or where it really is.
        let ruled = [&*inside.to_string_lossy(), path]
            .into_iter()
            .find_map(|name| tools.iter().find_map(|tool| forbids(config, tool, name)));
        ruled.map(|rule| format!("the rule {rule} applies to it: only the server's operator may restore it"))
    }

    /// The session, where somebody has opened it here.
    async fn open_already(&self, session: &SessionId) -> Option<Arc<dyn Session>> {
        let room = self.rooms().there(session).await?;
        room.session().cloned()
    }
}

async fn config(
    access: &Admission,
    session: &SessionId,
    open: Option<Arc<dyn Session>>,
) -> Result<AgentConfig, RuntimeError> {
    let state = match open {
        Some(open) => open.state().await?,
        None => access.runtime.state(session).await?,
    };
    Ok(state.config)
}

/// The tools that read or change the one file that a call names: who sees a file or puts it back does what they do.
fn tools_for_files(access: &Admission, config: &AgentConfig) -> Vec<ToolSpec> {
    let offered = access.runtime.tools();
    let all = config.tools.iter().cloned().chain(offered);
    let is_about_files = |tool: &ToolSpec| {
        tool.path_argument.is_some() && (tool.access == agentx_types::Access::Change || tool.name == READ)
    };
    all.filter(is_about_files).collect()
}

/// The rule, in words, that denies or asks about a call of this tool for this file.
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
