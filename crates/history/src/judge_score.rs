//! The agreement of analyzers with people: for each call that an analyzer assessed and a person decided
//! about, whether both said the same. Everything is in the log, so this is a fold of it.

use std::collections::BTreeMap;

use agentx_runtime::{Delivery, Runtime, RuntimeError, View};
use agentx_types::{
    ApprovalDecision, Envelope, EnvironmentEvent, JudgeDecision, NanoUsd, RiskAssessed, RiskVerdict,
    SecurityRisk, SessionId, ToolCallId,
};
use serde::Serialize;
use serde_json::Value;

/// The most disagreements of a session that are kept; the others are counted.
const MOST_DISAGREEMENTS: usize = 1_000;

/// The verdicts of one analyzer, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AnalyzerScore {
    /// The number of verdicts.
    pub verdicts: u64,
    /// The number of verdicts with an unknown risk.
    pub unknown: u64,
    /// The number of verdicts with an opinion about calls that a person decided about.
    pub decided: u64,
    /// The number of those that agree with the person.
    pub agreed: u64,
    /// The cost.
    pub cost: NanoUsd,
}

impl AnalyzerScore {
    /// Adds the numbers of another session.
    pub fn add(&mut self, other: &Self) {
        self.verdicts += other.verdicts;
        self.unknown += other.unknown;
        self.decided += other.decided;
        self.agreed += other.agreed;
        self.cost += other.cost;
    }
}

/// A call about which an analyzer and a person disagreed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgeDisagreement {
    /// The `seq` of the person's decision.
    pub seq: u64,
    /// The id of the call.
    pub tool_call_id: ToolCallId,
    /// The name of the tool; empty if the log does not have the call.
    pub name: String,
    /// The arguments, as JSON.
    pub input: Value,
    /// The verdict.
    pub verdict: RiskVerdict,
    /// The person's decision.
    pub decision: ApprovalDecision,
}

/// The verdicts of all analyzers in one session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgeScore {
    /// The id of the session.
    pub session_id: SessionId,
    /// The numbers of each analyzer, by its name.
    pub analyzers: BTreeMap<String, AnalyzerScore>,
    /// The number of disagreements.
    pub disagreed: u64,
    /// The first disagreements.
    pub disagreements: Vec<JudgeDisagreement>,
}

/// Collects the verdicts of one session and the decisions of people about the same calls.
pub struct JudgeScoring {
    /// The calls without a decision, with their names, arguments and verdicts.
    calls: BTreeMap<ToolCallId, ScoredCall>,
    score: JudgeScore,
}

/// A call, with the verdicts about it.
#[derive(Default)]
struct ScoredCall {
    name: String,
    input: Value,
    verdicts: Vec<RiskVerdict>,
}

impl JudgeScoring {
    /// A scoring that has seen no facts yet.
    pub fn new(session_id: SessionId) -> Self {
        Self {
            calls: BTreeMap::new(),
            score: JudgeScore {
                session_id,
                analyzers: BTreeMap::new(),
                disagreed: 0,
                disagreements: Vec::new(),
            },
        }
    }

    /// Applies the next fact.
    pub fn take(&mut self, fact: &Envelope<EnvironmentEvent>) {
        match &fact.event {
            EnvironmentEvent::ToolCall(call) => {
                self.note_call(&call.tool_call_id, &call.name, &call.input);
            }
            EnvironmentEvent::InnerCallAsked(asked) => {
                self.note_call(&asked.tool_call_id, &asked.tool.name, &asked.input);
            }
            EnvironmentEvent::RiskAssessed(said) => self.note_verdict(said),
            EnvironmentEvent::Approval(approval) => {
                self.decide(fact.seq, &approval.tool_call_id, approval.decision);
            }
            _ => {}
        }
    }

    fn note_call(&mut self, id: &ToolCallId, name: &str, input: &Value) {
        let call = self.calls.entry(id.clone()).or_default();
        (call.name, call.input) = (name.to_owned(), input.clone());
    }

    fn note_verdict(&mut self, said: &RiskAssessed) {
        let numbers = self.score.analyzers.entry(said.analyzer.clone()).or_default();
        numbers.verdicts += 1;
        numbers.unknown += u64::from(said.risk == SecurityRisk::Unknown);
        if let Some(bill) = &said.bill {
            numbers.cost += bill.cost;
        }
        let call = self.calls.entry(said.tool_call_id.clone()).or_default();
        // A verdict that was asked for again replaces the first one.
        call.verdicts.retain(|verdict| verdict.analyzer != said.analyzer);
        call.verdicts.push(said.verdict());
    }

    fn decide(&mut self, seq: u64, id: &ToolCallId, decision: ApprovalDecision) {
        let Some(call) = self.calls.remove(id) else {
            return;
        };
        let person_allows = decision != ApprovalDecision::Deny;
        for verdict in call.verdicts {
            let Some(allows) = opinion(&verdict) else {
                continue;
            };
            let numbers = self.score.analyzers.entry(verdict.analyzer.clone()).or_default();
            numbers.decided += 1;
            if allows == person_allows {
                numbers.agreed += 1;
                continue;
            }
            self.score.disagreed += 1;
            if self.score.disagreements.len() < MOST_DISAGREEMENTS {
                self.score.disagreements.push(JudgeDisagreement {
                    seq,
                    tool_call_id: id.clone(),
                    name: call.name.clone(),
                    input: call.input.clone(),
                    verdict,
                    decision,
                });
            }
        }
    }

    /// Returns the result so far.
    pub fn score(self) -> JudgeScore {
        self.score
    }
}

/// Returns whether an analyzer would allow a call: by its decision, else by its risk. `None` if it has no
/// opinion: it asks, or the risk is neither low nor high.
fn opinion(verdict: &RiskVerdict) -> Option<bool> {
    match (verdict.decision, verdict.risk) {
        (Some(JudgeDecision::Allow), _) => Some(true),
        (Some(JudgeDecision::Refuse), _) => Some(false),
        (Some(JudgeDecision::Ask), _) => None,
        (None, SecurityRisk::Low) => Some(true),
        (None, SecurityRisk::High) => Some(false),
        (None, SecurityRisk::Medium | SecurityRisk::Unknown) => None,
    }
}

/// Scores the analyzers of one session of a runtime.
///
/// # Errors
/// Returns an error if the session cannot be read.
pub async fn judge_score(runtime: &dyn Runtime, session: &SessionId) -> Result<JudgeScore, RuntimeError> {
    let mut scoring = JudgeScoring::new(session.clone());
    let mut events = runtime.watch(session, 0, View::Environment, false).await?;
    while let Some(delivery) = events.next().await {
        match delivery {
            Delivery::Environment(fact) => scoring.take(&fact),
            Delivery::CaughtUp(_) => break,
            Delivery::CutOff(why) => return Err(RuntimeError::unreadable(session, why)),
            Delivery::Runtime(_) => {}
        }
    }
    Ok(scoring.score())
}

#[cfg(test)]
mod tests {
    use agentx_types::{Approval, EventDraft, Source, Timestamp, ToolCall};
    use serde_json::json;

    use super::*;

    fn verdict(risk: SecurityRisk, decision: Option<JudgeDecision>) -> RiskVerdict {
        RiskVerdict {
            risk,
            decision,
            ..RiskVerdict::unknown("model", "made up")
        }
    }

    #[test]
    fn each_decision_of_a_person_is_compared_with_each_opinion() {
        use ApprovalDecision::{Deny, Once};
        use JudgeDecision::{Allow, Ask, Refuse};
        use SecurityRisk::{High, Low, Medium, Unknown};
        let calls = [
            (verdict(Low, Some(Allow)), Once),
            (verdict(Low, None), Deny),
            (verdict(High, Some(Refuse)), Once),
            (verdict(High, None), Deny),
            (verdict(Medium, Some(Ask)), Deny),
            (verdict(Medium, None), Once),
            (verdict(Unknown, None), Once),
        ];
        let mut scoring = JudgeScoring::new("ses_1".into());
        let mut seq = 0;
        let mut take = |event: EnvironmentEvent| {
            seq += 1;
            let draft = EventDraft::new(Source::Environment, None, event);
            scoring.take(&draft.into_envelope("ses_1".into(), seq, Timestamp(0)));
        };
        for (number, (verdict, decision)) in calls.into_iter().enumerate() {
            let id = ToolCallId::new(format!("c{number}"));
            let call = ToolCall {
                tool_call_id: id.clone(),
                name: "bash".into(),
                input: json!({"command": number}),
                invalid: None,
            };
            take(call.into());
            take(RiskAssessed::of(id.clone(), verdict, None).into());
            for _ in 0..2 {
                let approval = Approval {
                    tool_call_id: id.clone(),
                    decision,
                    note: None,
                    rule: None,
                    by: None,
                    limited: false,
                };
                take(approval.into());
            }
        }
        let score = scoring.score();
        let numbers = score.analyzers["model"];
        assert_eq!((numbers.verdicts, numbers.unknown), (7, 1));
        assert_eq!((numbers.decided, numbers.agreed, score.disagreed), (4, 2, 2));
        let ids: Vec<&str> = score
            .disagreements
            .iter()
            .map(|one| one.tool_call_id.as_str())
            .collect();
        assert_eq!(ids, ["c1", "c2"]);
    }
}
