//! The fold of a session for going back: its inputs, its changes of files, and other effects that cannot be
//! undone.

use std::collections::{BTreeMap, BTreeSet};

use agentx_agent::reading_commands::reading_line;
use agentx_runtime::{Delivery, Runtime, RuntimeError, View};
use agentx_types::{
    Access, ActionKind, AgentConfig, AgentStateId, ConfigChange, ContentPart, EffectEnded, Envelope,
    EnvironmentEvent, FileFailed, FileImage, FilesRestoring, MessageId, RULES_VERSION, SessionId, Source,
    Timestamp, ToolCallId, ToolResult, ToolStatus,
};
use serde_json::Value;

use super::file_history::{COMMANDS, FileChange, FileHistory, FileVersion, RESTORE, change_of};
use super::past::{IrreversibleEffect, IrreversibleEffects, PastInput};
use super::restorings::Restoring;

/// The tools whose outcome describes their changes of files. Names of tools are unique, so no other tool can
/// have these.
const CHANGERS: [&str; 3] = ["write", "edit", "browser_download"];
/// The tools that the agent's machine answers itself, which change nothing; a reminder belongs to the session
/// in which it was set. They are not among an agent's tools unless one of another kind has taken the name.
const OF_MACHINE: [&str; 7] = [
    "ask_user",
    "delegate",
    "find_tools",
    "present_plan",
    "recall",
    "remind_me",
    "wait",
];

/// A call that runs.
struct StartedCall {
    name: String,
    input: Value,
    from: Timestamp,
}

/// The messages, file changes and irreversible effects of a session.
#[derive(Default)]
pub struct SessionHistory {
    workspace: String,
    root: Option<AgentStateId>,
    access: BTreeMap<String, Access>,
    inputs: Vec<PastInput>,
    commands: Vec<(u64, Timestamp, String)>,
    messages: Vec<u64>,
    restorings: Vec<Restoring>,
    beyond: Vec<IrreversibleEffect>,
    files: BTreeMap<String, FileHistory>,
    running: BTreeMap<ToolCallId, StartedCall>,
    /// Whether a call of the root's model is in progress.
    asks: bool,
    /// Whether its answer has begun with words.
    received: bool,
    last_seq: u64,
}

impl SessionHistory {
    /// Applies the next fact.
    pub fn take(&mut self, fact: &Envelope<EnvironmentEvent>) {
        use EnvironmentEvent as E;
        self.last_seq = fact.seq;
        if self.is_of_root(fact) {
            self.asks = match &fact.event {
                E::ActionStarted(started) => self.asks || started.kind == ActionKind::CallModel,
                E::StreamStart(_) => true,
                E::StreamEnd(_) | E::Interrupted(_) | E::ErrorOccurred(_) => false,
                _ => self.asks,
            };
            self.received = match &fact.event {
                E::StreamStart(_) | E::StreamEnd(_) => false,
                E::TextChunk(_) => true,
                _ => self.received,
            };
        }
        match &fact.event {
            E::SessionOpened(opened) => {
                self.root.clone_from(&fact.agent_state_id);
                self.workspace.clone_from(&opened.config.workspace);
                self.add_tools(&opened.config);
            }
            E::AgentSpawned(spawned) => self.add_tools(&spawned.config),
            E::ConfigChanged(changed) => {
                if let ConfigChange::Tools(tools) = &changed.change {
                    self.access
                        .extend(tools.iter().map(|tool| (tool.name.clone(), tool.access)));
                }
            }
            E::UserMessage(message) if self.is_of_root(fact) => {
                self.messages.push(fact.seq);
                if fact.source == Source::User {
                    let texts = message.content.iter().filter_map(ContentPart::as_text);
                    self.inputs.push(PastInput {
                        number: self.inputs.len() + 1,
                        seq: fact.seq,
                        message_id: message.message_id.clone(),
                        at: fact.at,
                        texts: texts.map(str::to_owned).collect(),
                        retry: message.content.is_empty(),
                        amid: self.is_at_work(),
                        received: self.asks && self.received,
                    });
                }
            }
            E::CommandRan(ran) => self.commands.push((fact.seq, fact.at, ran.command.clone())),
            // An input that was withdrawn while it was queued does not count.
            E::InputRevised(revised) if revised.mode.is_none() => self.taken_back(&revised.message_id),
            E::StreamEnd(_) if self.is_of_root(fact) => self.messages.push(fact.seq),
            E::ToolCall(call) => {
                let running = StartedCall {
                    name: call.name.clone(),
                    input: call.input.clone(),
                    from: fact.at,
                };
                self.running.insert(call.tool_call_id.clone(), running);
            }
            E::ActionStarted(started) => {
                let id = started.tool_call_id.as_ref();
                if let Some(running) = id.and_then(|id| self.running.get_mut(id)) {
                    running.from = fact.at;
                }
            }
            E::ToolResult(result) => self.ended(result, fact),
            E::EffectEnded(ended) => self.stepped(ended, fact),
            E::FilesRestoring(restoring) => self.restoring(restoring, fact),
            E::FilesRestored(restored) => self.restored(restored.restoring, &restored.failed),
            _ => {}
        }
    }

    /// Returns whether a model answers or a call is not answered yet.
    fn is_at_work(&self) -> bool {
        self.asks || !self.running.is_empty()
    }

    fn taken_back(&mut self, message: &MessageId) {
        let Some(at) = self.inputs.iter().position(|input| input.message_id == *message) else {
            return;
        };
        let taken = self.inputs.remove(at);
        self.messages.retain(|seq| *seq != taken.seq);
        for (index, input) in self.inputs.iter_mut().enumerate() {
            input.number = index + 1;
        }
    }

    fn is_of_root(&self, fact: &Envelope<EnvironmentEvent>) -> bool {
        fact.agent_state_id.is_none() || fact.agent_state_id == self.root
    }

    fn add_tools(&mut self, config: &AgentConfig) {
        let known = config.tools.iter().map(|tool| (tool.name.clone(), tool.access));
        self.access.extend(known);
    }

    fn ended(&mut self, result: &ToolResult, fact: &Envelope<EnvironmentEvent>) {
        let Some(call) = self.running.remove(&result.tool_call_id) else {
            return;
        };
        if CHANGERS.contains(&call.name.as_str()) {
            if let Some(details) = &result.details {
                self.changed(details, &call.name, fact);
            }
            return;
        }
        if let (COMMANDS, Some(details)) = (call.name.as_str(), &result.details) {
            self.changed_by_command(details, fact);
        }
        let was_run = !matches!(
            result.status,
            ToolStatus::Denied | ToolStatus::Refused | ToolStatus::Invalid
        );
        let harmless = match self.access.get(&call.name) {
            Some(access) => matches!(access, Access::Internal | Access::Read),
            None => OF_MACHINE.contains(&call.name.as_str()),
        };
        if was_run && !harmless && !self.only_reads(&call) {
            let watched = result.details.as_ref().filter(|_| call.name == COMMANDS);
            self.beyond.push(IrreversibleEffect {
                seq: fact.seq,
                tool: call.name,
                input: call.input,
                from: call.from,
                until: fact.at,
                files: watched.and_then(|details| Some(details.get("changes")?.as_array()?.len())),
                files_not_kept: watched
                    .and_then(|details| details.get("changes_not_kept")?.as_u64())
                    .unwrap_or_default(),
            });
        }
    }

    /// Returns whether a call ran a command line that certainly only reads the workspace.
    fn only_reads(&self, call: &StartedCall) -> bool {
        let line = call.input.get("command").and_then(Value::as_str);
        call.name == COMMANDS
            && line.is_some_and(|line| reading_line(line, &self.workspace, RULES_VERSION).is_some())
    }

    /// A step of a script's call, which may have called one of the tools that change files.
    fn stepped(&mut self, ended: &EffectEnded, fact: &Envelope<EnvironmentEvent>) {
        let Some(details) = ended.details.as_deref() else {
            return;
        };
        let tool = details.get("tool").and_then(Value::as_str).unwrap_or_default();
        if CHANGERS.contains(&tool) {
            self.changed(details, tool, fact);
        }
        if tool == COMMANDS {
            self.changed_by_command(details, fact);
        }
    }

    /// The files that a command changed. One that is as the latest change left it was changed by that: a tool
    /// that ran at the same time.
    fn changed_by_command(&mut self, details: &Value, fact: &Envelope<EnvironmentEvent>) {
        let changes = details.get("changes").and_then(Value::as_array);
        for details in changes.into_iter().flatten() {
            let Some((path, change)) = change_of(details, COMMANDS, fact) else {
                continue;
            };
            let trail = self.files.entry(path).or_default();
            let is_known = trail.changes.last().is_some_and(|last| {
                last.confirmed
                    && ![&last.after, &change.after].contains(&&FileVersion::Unknown)
                    && last.after.blob() == change.after.blob()
            });
            if !is_known {
                trail.changes.push(change);
            }
        }
    }

    fn changed(&mut self, details: &Value, tool: &str, fact: &Envelope<EnvironmentEvent>) {
        if let Some((path, change)) = change_of(details, tool, fact) {
            self.files.entry(path).or_default().changes.push(change);
        }
    }

    fn restoring(&mut self, restoring: &FilesRestoring, fact: &Envelope<EnvironmentEvent>) {
        let image = |image: &Option<FileImage>| image.clone().map_or(FileVersion::Absent, FileVersion::File);
        let changed_since = |seq: u64| self.files.values().any(|trail| trail.is_touched_since(seq + 1));
        let begun = Restoring::begun(fact, restoring, &self.restorings, changed_since);
        self.restorings.push(begun);
        for file in &restoring.files {
            let change = FileChange {
                seq: fact.seq,
                at: fact.at,
                by: RESTORE.into(),
                before: image(&file.was),
                after: image(&file.becomes),
                confirmed: false,
                // A file that comes back brings those with it that the session made for it.
                made: match (&file.was, &file.becomes) {
                    (None, Some(_)) => self.made_for(&file.path),
                    _ => Vec::new(),
                },
            };
            self.files
                .entry(file.path.clone())
                .or_default()
                .changes
                .push(change);
        }
    }

    fn made_for(&self, path: &str) -> Vec<String> {
        let changes = self.files.get(path).into_iter().flat_map(FileHistory::changes);
        let made: BTreeSet<&String> = changes.flat_map(|change| &change.made).collect();
        made.into_iter().cloned().collect()
    }

    /// The directories that the session made at this event or later, to have a place for a file.
    pub fn made_since(&self, seq: u64) -> BTreeSet<&str> {
        let changes = self.files.values().flat_map(FileHistory::changes);
        let since = changes.filter(|change| change.seq >= seq);
        since
            .flat_map(|change| &change.made)
            .map(String::as_str)
            .collect()
    }

    fn restored(&mut self, seq: u64, failed: &[FileFailed]) {
        let failed: BTreeSet<&str> = failed.iter().map(|file| file.path.as_str()).collect();
        for (path, trail) in &mut self.files {
            let Some(change) = trail.changes.iter_mut().rev().find(|change| change.seq == seq) else {
                continue;
            };
            change.confirmed = true;
            if failed.contains(path.as_str()) {
                change.after = change.before.clone();
            }
        }
        if let Some(restoring) = self.restorings.iter_mut().find(|restoring| restoring.seq == seq) {
            restoring.files.retain(|path| !failed.contains(path.as_str()));
            restoring.unfinished = false;
        }
        self.restorings.retain(|restoring| !restoring.files.is_empty());
    }

    /// Returns the working directory of the session.
    pub fn workspace(&self) -> &str {
        &self.workspace
    }

    /// Returns the inputs of people, in order.
    pub fn inputs(&self) -> &[PastInput] {
        &self.inputs
    }

    /// The input with this number.
    pub fn input(&self, number: usize) -> Option<&PastInput> {
        number.checked_sub(1).and_then(|index| self.inputs.get(index))
    }

    /// Returns the commands that people ran beside the conversation, in order, each with the event that
    /// recorded its end and the time of that.
    pub fn commands(&self) -> &[(u64, Timestamp, String)] {
        &self.commands
    }

    /// Returns the restores of files, in order.
    pub fn restorings(&self) -> &[Restoring] {
        &self.restorings
    }

    /// The latest restoring of files, if its end is not recorded: the process died, or could not record it.
    pub fn unfinished(&self) -> Option<&Restoring> {
        self.restorings.last().filter(|last| last.unfinished)
    }

    /// The files that were changed, by their paths.
    pub fn files(&self) -> &BTreeMap<String, FileHistory> {
        &self.files
    }

    /// The `seq` of the last fact.
    pub fn last_seq(&self) -> u64 {
        self.last_seq
    }

    /// Returns the effects at this event or later that a rewind does not undo.
    pub fn irreversible_since(&self, seq: u64) -> impl Iterator<Item = &IrreversibleEffect> {
        self.beyond.iter().filter(move |done| done.seq >= seq)
    }

    /// Returns the effects that a rewind to before this event would not undo.
    pub fn undone(&self, seq: u64) -> IrreversibleEffects {
        let touched = self.files.iter().filter(|(_, trail)| trail.is_touched_since(seq));
        IrreversibleEffects {
            inputs: self.inputs.iter().filter(|input| input.seq >= seq).count(),
            messages: self.messages.iter().filter(|message| **message >= seq).count(),
            files: touched.map(|(path, _)| path.clone()).collect(),
            beyond: self.irreversible_since(seq).count(),
        }
    }

    /// A path as people write it: relative to the workspace if it is inside.
    pub fn show<'a>(&self, path: &'a str) -> &'a str {
        let inside = path.strip_prefix(self.workspace.trim_end_matches('/'));
        inside.and_then(|rest| rest.strip_prefix('/')).unwrap_or(path)
    }
}

/// Reads the history of a session, local or of a server.
///
/// # Errors
/// Returns an error if it cannot be read.
pub async fn history_of(runtime: &dyn Runtime, session: &SessionId) -> Result<SessionHistory, RuntimeError> {
    let mut history = SessionHistory::default();
    let mut events = runtime.watch(session, 0, View::Environment, false).await?;
    while let Some(delivery) = events.next().await {
        match delivery {
            Delivery::Environment(fact) => history.take(&fact),
            Delivery::CaughtUp(_) => break,
            Delivery::CutOff(why) => return Err(RuntimeError::unreadable(session, why)),
            Delivery::Runtime(_) => {}
        }
    }
    Ok(history)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_of_the_machine_is_known() {
        for tool in agentx_agent::own_tools() {
            assert!(OF_MACHINE.contains(&tool.name.as_str()), "{}", tool.name);
        }
    }
}
