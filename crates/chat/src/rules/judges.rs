//! `agentx approvals score` and `agentx approvals overrule`: how analyzers of risk agreed with people, and
//! the decision of a person about a call that a judge refused.

use std::collections::BTreeMap;

use agentx::history::{AnalyzerScore, JudgeDisagreement, JudgeScore, judge_score};
use agentx::runtime::{ApprovalInput, OpenRequest, PendingApproval, Runtime, Session};
use agentx::types::{ApprovalDecision, SessionId, ToolCallId};
use serde_json::json;

use super::arguments::{OverruleArgs, ScoreArgs};
use super::past_sessions::sessions_to_read;
use crate::error::ChatError;
use crate::render::call_summary::call_summary;
use crate::render::clean::visible;
use crate::render::table::table;
use crate::render::units;
use crate::terminal::console::Console;

/// Prints how often each analyzer agreed with people in past sessions, and each disagreement.
pub async fn print_score(
    runtime: &dyn Runtime,
    args: &ScoreArgs,
    as_json: bool,
    console: &mut Console,
) -> Result<(), ChatError> {
    let sessions = sessions_to_read(runtime, args.session.as_deref(), args.sessions, console).await?;
    let mut scores = Vec::new();
    for session in &sessions {
        scores.push(judge_score(runtime, session).await?);
    }
    let mut all: BTreeMap<String, AnalyzerScore> = BTreeMap::new();
    for (name, numbers) in scores.iter().flat_map(|score| &score.analyzers) {
        all.entry(name.clone()).or_default().add(numbers);
    }
    if as_json {
        for score in &mut scores {
            score.disagreements.truncate(args.limit);
        }
        scores.retain(|score| !score.analyzers.is_empty());
        return console.out_pretty(&json!({"analyzers": all, "sessions": scores}));
    }
    console.out(&render_score(&all, &scores, args.limit, console.out_width()))
}

/// Renders the numbers of each analyzer, and the disagreements.
fn render_score(
    all: &BTreeMap<String, AnalyzerScore>,
    scores: &[JudgeScore],
    limit: usize,
    width: usize,
) -> String {
    if all.is_empty() {
        return format!(
            "no call was assessed in {}\n",
            units::counted(scores.len(), "session")
        );
    }
    let heads = ["ANALYZER", "VERDICTS", "UNKNOWN", "DECIDED", "AGREED", "COST"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    for (name, numbers) in all {
        let agreed = match numbers.decided {
            0 => "–".to_owned(),
            decided => format!("{} ({} %)", numbers.agreed, numbers.agreed * 100 / decided),
        };
        rows.push(vec![
            visible(name),
            numbers.verdicts.to_string(),
            numbers.unknown.to_string(),
            numbers.decided.to_string(),
            agreed,
            units::money(numbers.cost),
        ]);
    }
    let mut text = table(&rows, width);
    let each = |score: &JudgeScore| -> Vec<(SessionId, JudgeDisagreement)> {
        let of_session = score.disagreements.iter().cloned();
        of_session.map(|one| (score.session_id.clone(), one)).collect()
    };
    let heads = ["SESSION", "EVENT", "ANALYZER", "RISK", "PERSON", "CALL"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    for (session, one) in scores.iter().flat_map(each).take(limit) {
        let person = match one.decision {
            ApprovalDecision::Deny => "refused",
            _ => "allowed",
        };
        rows.push(vec![
            session.to_string(),
            one.seq.to_string(),
            visible(&one.verdict.analyzer),
            one.verdict.risk.as_str().to_owned(),
            person.to_owned(),
            format!("{}  {}", visible(&one.name), call_summary(&one.name, &one.input)),
        ]);
    }
    let (shown, disagreed) = (
        rows.len() as u64 - 1,
        scores.iter().map(|score| score.disagreed).sum::<u64>(),
    );
    if shown > 0 {
        text.push_str(&format!("\n{}", table(&rows, width)));
    }
    if shown < disagreed {
        text.push_str(&format!("… and {} more\n", disagreed - shown));
    }
    text
}

/// Lists the calls that a judge refused in a session, or decides about one of them.
pub async fn overrule(
    runtime: &dyn Runtime,
    args: &OverruleArgs,
    as_json: bool,
    console: &mut Console,
) -> Result<(), ChatError> {
    let id = runtime.resolve(&args.session).await?;
    let session = runtime.open(OpenRequest::Resume(id.clone(), Vec::new())).await?;
    let done = decide(&*session, args).await;
    session.close().await;
    let (refused, decided) = done?;
    if as_json {
        return console.out_pretty(&json!({"session_id": id, "refused_calls": refused, "decided": decided}));
    }
    match (decided, args.refuse) {
        (Some(call), false) => console.out(&format!(
            "{} is allowed; it runs when the model makes it again: `agentx resume {id}`\n",
            visible(call.as_str())
        )),
        (Some(call), true) => console.out(&format!("{} stays refused\n", visible(call.as_str()))),
        (None, _) => console.out(&list(&refused, &id, console.out_width())),
    }
}

/// Decides about the named call, if one is named. Returns the refused calls before, and the decided one.
async fn decide(
    session: &dyn Session,
    args: &OverruleArgs,
) -> Result<(Vec<PendingApproval>, Option<ToolCallId>), ChatError> {
    let refused = session.state().await?.refused_calls;
    let Some(name) = &args.call else {
        return Ok((refused, None));
    };
    let Some(call) = refused.iter().find(|call| call.tool_call_id.as_str() == name) else {
        let message = format!("no judge refused the call {name:?} in this session, or it is decided");
        let hint = format!(
            "`agentx approvals overrule {}` lists those that are open",
            args.session
        );
        return Err(ChatError::usage(message, hint));
    };
    let call = call.tool_call_id.clone();
    let decision = if args.refuse {
        ApprovalDecision::Deny
    } else {
        ApprovalDecision::Once
    };
    session
        .approve(ApprovalInput::new(call.clone(), decision))
        .await?;
    Ok((refused, Some(call)))
}

/// Renders the refused calls of a session in a chat, each with the number by which it is allowed.
pub(crate) fn numbered_refusals(refused: &[PendingApproval]) -> String {
    if refused.is_empty() {
        return "no refusal of a judge is open".to_owned();
    }
    let line = |(index, call): (usize, &PendingApproval)| {
        let (number, name, reason) = (index + 1, visible(&call.name), visible(&call.reason));
        format!(
            "{number}  {name}  {}\n   {reason}",
            call_summary(&call.name, &call.input)
        )
    };
    let lines: Vec<String> = refused.iter().enumerate().map(line).collect();
    lines.join("\n")
}

/// Renders the refused calls of a session.
fn list(refused: &[PendingApproval], session: &SessionId, width: usize) -> String {
    if refused.is_empty() {
        return format!("no refusal of a judge is open in {session}\n");
    }
    let mut rows = vec![["CALL", "REASON", "TOOL"].map(str::to_owned).to_vec()];
    for call in refused {
        rows.push(vec![
            visible(call.tool_call_id.as_str()),
            visible(&call.reason),
            format!(
                "{}  {}",
                visible(&call.name),
                call_summary(&call.name, &call.input)
            ),
        ]);
    }
    table(&rows, width)
}
