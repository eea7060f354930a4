//! The end of a run, collected from its events.

use agentx::runtime::Session;
use agentx::types::{
    Eof, INPUT_TOO_LARGE, NanoUsd, RunFinished, RunId, RunStatus, RuntimeEvent, StopReason, Timestamp,
    ToolCallId, ToolFailed, host_name, shell_word,
};
use serde_json::Value;

use super::run_error::RunError;
use crate::chat::programs::jobs::{JobList, ended_jobs_text, jobs_at_server};
use crate::error::ChatError;
use crate::exit::Exit;
use crate::exit::http_status::with_status;
use crate::exit::run_failure::{CUT_OFF, EMPTY, exit_of};
use crate::place::Place;
use crate::render::units;
use crate::render::written_call::{WRITTEN_CALL, is_written_call};
use crate::run_result::RunResult;
use crate::sessions::refused_calls::nobody_was_asked;
use crate::terminal::console::Console;

/// The longest argument that a hint repeats.
const MOST_SHOWN: usize = 200;

/// Watches the events of one run for its end.
#[derive(Debug)]
pub(crate) struct RunOutcomeCollector {
    run_id: RunId,
    /// The answer, the cost and the outcome of the run so far.
    pub(crate) result: RunResult,
    last_error: Option<RunError>,
    reason: Option<String>,
    /// The reason why the last attempt of a model call failed, until another attempt succeeds.
    attempt: Option<String>,
    refused: u32,
    /// The command that allows the first call that was refused.
    allow: Option<String>,
    /// Calls that have no result yet, and the command that allows each.
    called: Vec<(ToolCallId, String)>,
    /// Whether a call succeeded.
    worked: bool,
    /// The text of the last message so far.
    partial: String,
    /// The model of the last message, as its server names it.
    model: String,
    /// The reason why the last message ended, if no other one follows it.
    ended: Option<StopReason>,
    finished: bool,
    cut_off: bool,
    /// The result of the runs before this one.
    before: Option<RunResult>,
    /// The commands that were left in the background.
    jobs: JobList,
    /// The reason for leaving the run before its end: it waits for somebody, or its session cannot continue.
    left: Option<ChatError>,
    /// The number of answers of the model, which a run that is left does not report.
    answers: u32,
}

impl RunOutcomeCollector {
    /// Returns a collector for this run.
    pub(crate) fn new(run_id: RunId) -> Self {
        let result = RunResult {
            run_id: Some(run_id.clone()),
            ..RunResult::default()
        };
        Self {
            run_id,
            result,
            last_error: None,
            reason: None,
            attempt: None,
            refused: 0,
            allow: None,
            called: Vec::new(),
            worked: false,
            partial: String::new(),
            model: String::new(),
            ended: None,
            finished: false,
            cut_off: false,
            before: None,
            jobs: JobList::default(),
            left: None,
            answers: 0,
        }
    }

    /// Notes that all current work is asked to stop.
    pub(crate) fn stopping(&mut self) {
        self.cut_off = self.finished;
    }

    /// Continues with another run after this one: the cost and the refusals of both count, and the answer is
    /// that of the other run. Returns the text of this one.
    pub(crate) fn continue_as(&mut self, run_id: RunId) -> String {
        let mut before = std::mem::replace(self, Self::new(run_id));
        self.refused = before.refused;
        self.allow = before.allow.take();
        self.jobs = std::mem::take(&mut before.jobs);
        let spent = before.into_result(None);
        let said = spent.text.clone();
        self.before = Some(spent);
        said
    }

    /// The run never began: its input was withdrawn.
    pub(crate) fn taken_back(&mut self) {
        self.result.status = Some(RunStatus::Interrupted);
        self.finished = true;
    }

    /// The run is left before its end: it waits for somebody, or its session cannot continue.
    pub(crate) fn left(&mut self, why: ChatError) {
        self.left = Some(why);
    }

    /// Returns whether the run was left before its end.
    pub(crate) fn is_left(&self) -> bool {
        self.left.is_some()
    }

    /// Returns whether the run is over.
    pub(crate) fn is_over(&self) -> bool {
        self.finished
    }

    /// Handles an event of this run.
    pub(crate) fn event(&mut self, event: &RuntimeEvent) {
        // A run only counts jobs; it does not print the notices of a chat.
        let _ = self.jobs.event(event, Timestamp::default());
        match event {
            RuntimeEvent::MessageStart(start) => {
                self.partial.clear();
                self.model.clone_from(&start.model);
                self.attempt = None;
            }
            RuntimeEvent::FallbackAnswers(fallback) => self.model.clone_from(&fallback.model),
            RuntimeEvent::TextDelta(delta) => self.partial.push_str(&delta.text),
            RuntimeEvent::ToolCallRequested(call) => {
                let allow = command_that_allows(&call.name, &call.input);
                self.called.push((call.tool_call_id.clone(), allow));
            }
            RuntimeEvent::MessageStop(stop) => {
                self.answers = self.answers.saturating_add(1);
                self.result.answered += stop.usage;
                self.result.stop_reason = Some(stop.stop_reason);
                if stop.stop_reason != StopReason::Broken && !self.model.is_empty() {
                    self.result.model = Some(self.model.clone());
                }
                self.ended = self.result.stop_reason;
            }
            RuntimeEvent::ToolCompleted(_) => self.worked = true,
            RuntimeEvent::RunStatusChanged(_) => self.ended = None,
            RuntimeEvent::ErrorRaised(error) if error.retry_in_ms.is_none() => {
                self.last_error = Some(RunError::new(error, self.last_error.as_ref()));
            }
            RuntimeEvent::ErrorRaised(error) => {
                self.attempt = Some(with_status(&error.message, error.status))
            }
            RuntimeEvent::TurnResponse(turn) if turn.run_id == self.run_id => {
                self.result.text.clone_from(&turn.text);
                self.result.usage = turn.usage;
                self.result.cost = turn.cost;
                self.result.model_calls = turn.model_calls;
                self.result.duration_ms = turn.duration_ms;
            }
            RuntimeEvent::RunFinished(RunFinished {
                run_id,
                status,
                reason,
                ..
            }) if *run_id == self.run_id => {
                self.result.status = Some(*status);
                self.reason.clone_from(reason);
                self.finished = true;
            }
            RuntimeEvent::Eof(Eof { run_id }) if *run_id == self.run_id => {}
            _ => {}
        }
    }

    /// Notes that a call failed in a run without an approver. The reason says whether that is the cause. A
    /// call that a rule denies would have been refused anyway.
    pub(crate) fn tool_failed(&mut self, failed: &ToolFailed) {
        if nobody_was_asked(failed) {
            self.refused += 1;
            let called = self.called.iter().find(|(id, _)| *id == failed.tool_call_id);
            let allow = called.map_or_else(
                || command_that_allows(&failed.name, &Value::Null),
                |(_, allow)| allow.clone(),
            );
            self.allow.get_or_insert(allow);
        }
    }

    /// The result; `signal` is how the program was asked to stop, if it was.
    pub(crate) fn into_result(mut self, signal: Option<Exit>) -> RunResult {
        if self.result.text.is_empty() {
            self.result.text = std::mem::take(&mut self.partial);
        }
        if self.left.is_some() || !self.finished {
            self.result.model_calls = self.answers;
        }
        let is_left = self.left.is_some();
        self.result.error = self.left.take().or_else(|| self.error(signal));
        if !is_left && self.result.status == Some(RunStatus::Failed) {
            self.result.http_status = self.last_error.as_ref().and_then(|error| error.status);
        }
        self.result.jobs = self.jobs.commands();
        if let Some(before) = &self.before {
            self.result.usage += before.usage;
            self.result.cost += before.cost;
            self.result.model_calls += before.model_calls;
            self.result.duration_ms += before.duration_ms;
        }
        self.result
    }

    fn error(&self, signal: Option<Exit>) -> Option<ChatError> {
        let stopped = |exit| error(exit, "interrupted", "the run was stopped");
        Some(match (self.result.status, signal) {
            (Some(RunStatus::Completed), _) if self.refused > 0 => {
                let (calls, allow) = (self.refused, self.allow.clone().unwrap_or_default());
                ChatError::NobodyAsked { calls, allow }
            }
            // A run that continued after it was stopped.
            (Some(RunStatus::Completed), Some(exit)) if self.cut_off => stopped(exit),
            (Some(RunStatus::Completed), _) => return self.lack(),
            (Some(RunStatus::TimedOut), _) => {
                let mut message = self.failure_message("a limit of the run was reached").to_owned();
                if let Some(attempt) = &self.attempt {
                    message.push_str(&format!("; the last attempt to ask the model failed: {attempt}"));
                }
                error(Exit::Limit, self.code("limit"), &message)
            }
            (Some(RunStatus::Interrupted), signal) => stopped(signal.unwrap_or(Exit::Interrupted)),
            (Some(_), _) => {
                let (exit, code) = (exit_of(self.code("failed")), self.code("failed").to_owned());
                let message = self.failure_message("the run failed").to_owned();
                if self.partial.trim().is_empty() && !self.worked {
                    ChatError::Unanswered { exit, code, message }
                } else {
                    ChatError::Run { exit, code, message }
                }
            }
            (None, Some(signal)) => stopped(signal),
            (None, None) => error(
                Exit::Storage,
                "session_gone",
                "the session ended before the run did",
            ),
        })
    }

    /// Returns an error if a completed run has no usable answer: it was cut off, or is empty although no call
    /// worked.
    fn lack(&self) -> Option<ChatError> {
        // A model may have nothing to add after its calls did the work.
        let is_empty = self.partial.trim().is_empty() && !self.worked;
        match self.ended? {
            StopReason::MaxTokens => Some(error(
                exit_of(CUT_OFF),
                CUT_OFF,
                "the answer is cut off: it reached the maximum length",
            )),
            // An answer that ends in order to use tools but has no call is empty as well.
            StopReason::EndTurn | StopReason::StopSequence | StopReason::ToolUse | StopReason::Other
                if is_empty =>
            {
                Some(error(
                    exit_of(EMPTY),
                    EMPTY,
                    "the model ended its turn without an answer",
                ))
            }
            _ => None,
        }
    }

    fn code<'a>(&'a self, otherwise: &'a str) -> &'a str {
        self.last_error.as_ref().map_or(otherwise, |error| &error.code)
    }

    fn failure_message<'a>(&'a self, otherwise: &'a str) -> &'a str {
        let last = self.last_error.as_ref().map(|error| error.message.as_str());
        let reason = self.reason.as_deref();
        let explained = reason.filter(|reason| reason.ends_with(INPUT_TOO_LARGE));
        explained.or(last).or(reason).unwrap_or(otherwise)
    }
}

/// The command that adds a rule for this call and this folder, as it is typed into a shell.
pub(crate) fn command_that_allows(tool: &str, input: &Value) -> String {
    let text = |key: &str| {
        input
            .get(key)
            .and_then(Value::as_str)
            .filter(|text| fits_in_a_line(text))
    };
    let rest = match (tool, text("command"), text("path")) {
        ("bash" | "shell", Some(command), _) => format!(" {}", shell_word(command)),
        ("bash" | "shell", None, _) => " 'COMMAND'".to_owned(),
        ("web_extract", ..) => {
            let host = only_host(input).unwrap_or_else(|| "HOST".to_owned());
            format!(" {}", shell_word(&format!("to {host}")))
        }
        ("browser_navigate", ..) => {
            let host = text("url")
                .and_then(host_name)
                .unwrap_or_else(|| "HOST".to_owned());
            format!(" {}", shell_word(&format!("to {host}")))
        }
        ("browser_click" | "browser_type" | "browser_select" | "browser_dialog", ..) => {
            let host = text("page")
                .and_then(host_name)
                .unwrap_or_else(|| "HOST".to_owned());
            format!(" {}", shell_word(&format!("to {host}")))
        }
        // Only the author of another tool knows what its arguments mean; their names do not tell.
        ("read" | "edit" | "write" | "grep" | "glob" | "query" | "query_write", _, Some(path)) => {
            format!(" --path {}", shell_word(path))
        }
        _ => String::new(),
    };
    format!("agentx approvals add allow {}{rest} --here", shell_word(tool))
}

/// The host of the pages that a call fetches, if they are of one.
fn only_host(input: &Value) -> Option<String> {
    let urls = input.get("urls")?.as_array()?;
    let mut hosts = urls.iter().map(|url| url.as_str().and_then(host_name));
    let first = hosts.next()??;
    hosts.all(|host| host.as_ref() == Some(&first)).then_some(first)
}

/// Returns whether a person can read it at a glance and paste it.
fn fits_in_a_line(text: &str) -> bool {
    text.chars().count() <= MOST_SHOWN && !text.chars().any(char::is_control)
}

/// Leaves a session. On a server nothing ends with this program; on this machine the background commands end.
pub async fn leave(
    place: &Place,
    session: &dyn Session,
    result: &Result<RunResult, ChatError>,
    console: &mut Console,
) {
    match (result, place.address()) {
        // Stop its run, as on this machine. A server that does not answer notices by itself.
        (Err(ChatError::ClosedOutput), Some(_)) => {
            let stopped = session.halt(Some("nobody reads its output any more".into()));
            let _ = tokio::time::timeout(STOPPING, stopped).await;
        }
        (Ok(result), Some(address)) => {
            if let Some(jobs) = jobs_at_server(&result.jobs) {
                let id = session.id();
                console.say(&format!(
                    "note: {jobs}; to see it: agentx --connect {address} resume {id}\n"
                ));
            }
        }
        (Ok(result), None) => {
            if let Some(jobs) = ended_jobs_text(&result.jobs) {
                console.say(&format!("note: {jobs}; a chat or a server lets them run\n"));
            }
        }
        (Err(_), _) => {}
    }
}

/// Maximum time that a server may take to stop the run.
const STOPPING: std::time::Duration = std::time::Duration::from_secs(2);

/// Prints notes about a run: if it ended by itself, that its answer is a call written as text, or that it has
/// reached its cost limit; for any run, that the limit did not count all calls.
pub(super) fn notes(result: &RunResult, max_cost: Option<NanoUsd>, console: &mut Console) {
    if max_cost.is_some() && result.usage.is_unpriced() {
        console.say("note: the prices of some calls are unknown, so max_cost did not count them\n");
    }
    if result.status != Some(RunStatus::Completed) {
        return;
    }
    if is_written_call(&result.text) {
        console.say(&format!("note: {WRITTEN_CALL}\n"));
    }
    if let Some(note) = units::over_limit(result.cost, max_cost) {
        console.say(&format!("note: {note}\n"));
    }
}

fn error(exit: Exit, code: &str, message: &str) -> ChatError {
    ChatError::Run {
        exit,
        code: code.to_owned(),
        message: message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use agentx::types::ToolStatus;

    use super::*;
    use agentx::types::{ErrorRaised, FallbackAnswers, MessageStart, MessageStop, Usage};
    use serde_json::json;

    #[test]
    fn a_call_that_was_refused_is_allowed_by_a_command_that_can_be_pasted() {
        for (tool, input, command) in [
            ("bash", json!({"command": "touch x"}), "bash 'touch x'"),
            ("bash", json!({"command": "echo 'a'"}), r"bash 'echo '\''a'\'''"),
            ("bash", json!({"command": "a\nb"}), "bash 'COMMAND'"),
            (
                "read",
                json!({"path": "/etc/hostname"}),
                "read --path /etc/hostname",
            ),
            (
                "write",
                json!({"path": "a b", "content": ""}),
                "write --path 'a b'",
            ),
            ("weather", json!({}), "weather"),
            (
                "web_extract",
                json!({"urls": ["https://docs.rs/a", "http://DOCS.rs"]}),
                "web_extract 'to docs.rs'",
            ),
            (
                "web_extract",
                json!({"urls": ["https://a.example", "https://b.example"]}),
                "web_extract 'to HOST'",
            ),
            (
                "browser_navigate",
                json!({"url": "https://docs.rs/a"}),
                "browser_navigate 'to docs.rs'",
            ),
            (
                "browser_click",
                json!({"page": "https://docs.rs/a", "element": "e1"}),
                "browser_click 'to docs.rs'",
            ),
            ("browser_type", json!({"page": "x y"}), "browser_type 'to HOST'"),
            ("wordcount", json!({"path": "README.md"}), "wordcount"),
        ] {
            let expected = format!("agentx approvals add allow {command} --here");
            assert_eq!(command_that_allows(tool, &input), expected);
        }
    }

    #[test]
    fn the_result_names_the_model_that_answered() {
        let start = |model: &str| {
            RuntimeEvent::from(MessageStart {
                message_id: "msg_1".into(),
                model: model.into(),
                attempt: 1,
            })
        };
        let stop = |stop_reason| {
            RuntimeEvent::from(MessageStop {
                message_id: "msg_1".into(),
                stop_reason,
                usage: Usage::default(),
            })
        };
        let continues = RuntimeEvent::from(FallbackAnswers {
            message_id: "msg_1".into(),
            model: "slate".into(),
            prices: None,
        });
        let model = |events: &[RuntimeEvent]| {
            let mut ending = RunOutcomeCollector::new("run_1".into());
            events.iter().for_each(|event| ending.event(event));
            ending.into_result(None).to_json(None)["model"].clone()
        };
        let broken = [start("opal"), stop(StopReason::Broken)];
        assert_eq!(model(&broken), Value::Null, "it did not answer");
        let answered = [&broken[..], &[start("flint"), stop(StopReason::EndTurn)]].concat();
        assert_eq!(model(&answered), "flint");
        let continued = [start("opal"), continues, stop(StopReason::EndTurn)];
        assert_eq!(model(&continued), "slate");
        let unnamed = [start(""), stop(StopReason::EndTurn)];
        assert_eq!(model(&unnamed), Value::Null);
    }

    #[test]
    fn what_was_refused_before_another_run_went_on_counts_at_its_end() {
        let finished = |run: &str| {
            RuntimeEvent::from(RunFinished {
                run_id: run.into(),
                status: RunStatus::Completed,
                reason: None,
                iterations: 1,
            })
        };
        let mut ending = RunOutcomeCollector::new("run_1".into());
        ending.tool_failed(&ToolFailed {
            tool_call_id: "call_1".into(),
            name: "bash".into(),
            status: ToolStatus::Denied,
            error: crate::sessions::refused_calls::NOBODY[1].into(),
            duration_ms: 0,
            details: None,
        });
        ending.result.cost = NanoUsd(5);
        ending.partial = "I cannot.".into();
        ending.event(&finished("run_1"));
        assert_eq!(ending.continue_as("run_2".into()), "I cannot.");
        assert!(!ending.is_over());
        ending.result.cost = NanoUsd(2);
        ending.event(&finished("run_2"));
        let result = ending.into_result(None);
        assert_eq!((result.exit(), result.cost.0), (Exit::Denied, 7));
        assert_eq!(result.text, "");
    }

    fn answer(output_tokens: u64) -> RuntimeEvent {
        let usage = Usage {
            output_tokens,
            ..Usage::default()
        };
        let stop_reason = StopReason::ToolUse;
        RuntimeEvent::from(MessageStop {
            message_id: "msg_1".into(),
            stop_reason,
            usage,
        })
    }

    #[test]
    fn a_failed_run_names_the_http_status_of_its_server() {
        let error = |message: &str, status| {
            RuntimeEvent::from(ErrorRaised {
                code: "rate_limited".into(),
                message: message.into(),
                recoverable: true,
                retry_in_ms: None,
                gives_up_in_ms: None,
                status,
            })
        };
        let mut ending = RunOutcomeCollector::new("run_1".into());
        ending.event(&error("no", Some(429)));
        ending.event(&error("no (gave up after 3 attempts)", None));
        ending.event(&RuntimeEvent::from(RunFinished {
            run_id: "run_1".into(),
            status: RunStatus::Failed,
            reason: None,
            iterations: 1,
        }));
        let shown = ending.into_result(None).to_json(None);
        let message = "no (HTTP 429, rate limited; gave up after 3 attempts)";
        assert_eq!(
            (&shown["error"]["message"], &shown["error"]["status"]),
            (&json!(message), &json!(429))
        );
        assert_eq!(shown["error"]["kind"], "rate_limited");
    }

    fn failed_attempt(message: &str, retry_in_ms: Option<u64>) -> RuntimeEvent {
        RuntimeEvent::from(ErrorRaised {
            code: "overloaded".into(),
            message: message.into(),
            recoverable: true,
            retry_in_ms,
            gives_up_in_ms: None,
            status: None,
        })
    }

    #[test]
    fn a_run_whose_session_is_gone_has_the_calls_that_were_committed() {
        let mut ending = RunOutcomeCollector::new("run_1".into());
        ending.event(&answer(3));
        ending.event(&answer(4));
        ending.left(error(Exit::Storage, "disk_full", "no space left"));
        let result = ending.into_result(None);
        assert_eq!((result.model_calls, result.answered.output_tokens), (2, 7));
        let shown = result.to_json(None);
        assert_eq!(
            (&shown["status"], &shown["model_calls"]),
            (&json!("failed"), &json!(2))
        );
    }

    #[test]
    fn a_time_limit_during_retries_says_what_the_last_attempt_failed_with() {
        let said = |events: &[RuntimeEvent]| {
            let mut ending = RunOutcomeCollector::new("run_1".into());
            events.iter().for_each(|event| ending.event(event));
            ending.event(&RuntimeEvent::from(RunFinished {
                run_id: "run_1".into(),
                status: RunStatus::TimedOut,
                reason: Some("the time is over".into()),
                iterations: 1,
            }));
            ending.into_result(None).error.map(|error| error.to_string())
        };
        let failed = failed_attempt("503 no capacity", Some(1_000));
        let start = RuntimeEvent::from(MessageStart {
            message_id: "msg_1".into(),
            model: "m".into(),
            attempt: 2,
        });
        let cause = "the time is over; the last attempt to ask the model failed: 503 no capacity";
        assert_eq!(said(std::slice::from_ref(&failed)).as_deref(), Some(cause));
        assert_eq!(
            said(&[failed, start]).as_deref(),
            Some("the time is over"),
            "it answered"
        );
    }
}
