//! Tries a rule on the calls of a session's log: each is decided with and without it. Rules, modes and calls
//! are all in the log, so this is a pure fold of it.

use agentx_agent::Agent;
use agentx_agent::approval::{ExplainedVerdict, explain_decision};
use agentx_agent::arguments;
use agentx_runtime::{Delivery, RulingKind, Runtime, RuntimeError, View};
use agentx_session::SessionFold;
use agentx_types::{AgentConfig, ApprovalDecision, Envelope, EnvironmentEvent, Rule, SessionId, ToolCallId};
use serde::Serialize;
use serde_json::Value;

/// The most calls of a session that are kept; the others are counted.
const MOST_CHANGES: usize = 1_000;

/// A call that another rule would have decided otherwise.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangedCall {
    /// The `seq` of the event of the call.
    pub seq: u64,
    /// The id of the call.
    pub tool_call_id: ToolCallId,
    /// The name of the tool.
    pub name: String,
    /// The arguments, as JSON.
    pub input: Value,
    /// The decision by the rules of its time.
    pub was: RulingKind,
    /// The rule or default that decided.
    pub was_by: String,
    /// The person's answer, if there was a question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered: Option<ApprovalDecision>,
    /// The decision with the rule on trial.
    pub would_be: RulingKind,
    /// The rule that would decide it.
    pub would_be_by: String,
}

/// The result of a trial in one session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrialReport {
    /// The id of the session.
    pub session_id: SessionId,
    /// The number of calls in it.
    pub calls: u64,
    /// The number of calls with a different decision.
    pub changed: u64,
    /// The first changed calls.
    pub changes: Vec<ChangedCall>,
}

/// A rule on trial in one session.
pub struct RuleTrial {
    rule: Rule,
    fold: SessionFold,
    report: TrialReport,
}

impl RuleTrial {
    /// Creates a trial that has seen no facts yet.
    pub fn new(rule: Rule, session_id: SessionId) -> Self {
        Self {
            rule,
            fold: SessionFold::new(session_id.clone()),
            report: TrialReport {
                session_id,
                calls: 0,
                changed: 0,
                changes: Vec::new(),
            },
        }
    }

    /// Applies the next fact.
    pub fn take(&mut self, fact: &Envelope<EnvironmentEvent>) {
        match &fact.event {
            EnvironmentEvent::ToolCall(call) => {
                let agent = fact.agent_state_id.as_ref().and_then(|id| self.fold.agent(id));
                let config = agent.map(Agent::config).cloned();
                if let Some(config) = config {
                    self.call(fact.seq, &call.tool_call_id, &call.name, &call.input, &config);
                }
            }
            EnvironmentEvent::Approval(approval) => {
                let of_it = |change: &&mut ChangedCall| change.tool_call_id == approval.tool_call_id;
                if let Some(change) = self.report.changes.iter_mut().rev().find(of_it) {
                    change.answered = Some(approval.decision);
                }
            }
            _ => {}
        }
        self.fold.advance(fact);
    }

    fn call(&mut self, seq: u64, id: &ToolCallId, name: &str, input: &Value, config: &AgentConfig) {
        self.report.calls += 1;
        let Some(tool) = config.tools.iter().find(|tool| tool.name == name) else {
            return;
        };
        if arguments::argument_error(tool, input).is_some() {
            // It was answered without a decision.
            return;
        }
        let was = explain_decision(config, tool, input);
        let mut other = config.clone();
        other.rules.push(self.rule.clone());
        let would_be = explain_decision(&other, tool, input);
        let word = |judgement: &ExplainedVerdict| RulingKind::from(&judgement.verdict);
        if word(&was) == word(&would_be) {
            return;
        }
        self.report.changed += 1;
        if self.report.changes.len() < MOST_CHANGES {
            self.report.changes.push(ChangedCall {
                seq,
                tool_call_id: id.clone(),
                name: name.to_owned(),
                input: input.clone(),
                was: word(&was),
                was_by: was.reason,
                answered: None,
                would_be: word(&would_be),
                would_be_by: would_be.reason,
            });
        }
    }

    /// Returns the result so far.
    pub fn report(self) -> TrialReport {
        self.report
    }
}

/// Tries a rule in one session of a runtime.
///
/// # Errors
/// Returns an error if the session cannot be read.
pub async fn try_rule(
    runtime: &dyn Runtime,
    session: &SessionId,
    rule: &Rule,
) -> Result<TrialReport, RuntimeError> {
    let mut trial = RuleTrial::new(rule.clone(), session.clone());
    let mut events = runtime.watch(session, 0, View::Environment, false).await?;
    while let Some(delivery) = events.next().await {
        match delivery {
            Delivery::Environment(fact) => trial.take(&fact),
            Delivery::CaughtUp(_) => break,
            Delivery::CutOff(why) => return Err(RuntimeError::unreadable(session, why)),
            Delivery::Runtime(_) => {}
        }
    }
    Ok(trial.report())
}
