//! Describes an event in words, on one line.

use agentx::types::{
    ActionKind, AnswerChecked, ApprovalDecision, AttemptFailed, CommandRan, ConfigChange, ContentPart,
    ContextBuilt, EffectEnded, EffectOutcome, EnvironmentEvent, FallbackAsked, InnerCallAsked, JudgeDecision,
    MemoriesProposed, OwnerId, RiskAssessed, SessionOpened, SessionRedacted, Vocabulary as _, is_unanswered,
};

use crate::render::call_summary::call_summary;
use crate::render::clean::visible;
use crate::render::units;

/// Maximum number of characters that are shown of an event without a description.
const MOST: usize = 400;

/// Describes an event in a line.
pub(super) fn describe(event: &EnvironmentEvent) -> String {
    use EnvironmentEvent as E;
    match event {
        E::UserMessage(message) => {
            let who = person_or_owner(message.by.as_ref());
            format!("{who} says: {}", text_in(&message.content))
        }
        E::InterruptRequested(stop) => format!("{} stops the run", person_or_owner(stop.by.as_ref())),
        E::Approval(approval) => {
            let who = person_or_owner(approval.by.as_ref());
            format!("{who} decides about a call: {}", decision(approval.decision))
        }
        E::StreamStart(start) => begins(&visible(&start.model), start.attempt),
        E::TextChunk(chunk) => short(&chunk.text),
        E::ThinkingChunk(chunk) => format!("(thinks) {}", short(&chunk.text)),
        E::FallbackAsked(asked) => fallback(asked),
        E::ModelFellBack(fallback) => format!("{} continues the answer", visible(&fallback.model)),
        E::PartEnd(_) => "the part ends".into(),
        E::ToolCallStart(call) => format!("the model starts a call of {}", visible(&call.name)),
        E::ToolCallChunk(chunk) => short(&chunk.json),
        E::ToolCall(call) => format!(
            "the model asks for {}  {}",
            visible(&call.name),
            call_summary(&call.name, &call.input)
        ),
        E::UsageReport(report) => units::usage(&report.usage),
        E::StreamEnd(_) => "the answer ends".into(),
        E::AttemptFailed(failed) => attempt(failed),
        E::ActionStarted(started) => format!("about to {}", action(started.kind)),
        E::ToolOutputChunk(chunk) => format!("output: {}", short(&chunk.text)),
        E::InnerCallAsked(asked) => inner_call(asked),
        E::EffectStarted(effect) => format!("step {} begins: {}", effect.step, visible(&effect.kind)),
        E::EffectEnded(effect) => step_ended(effect),
        E::ToolResult(result) => {
            let sign = if result.is_error {
                "✗"
            } else if is_unanswered(&result.result) {
                "–"
            } else {
                "✓"
            };
            format!("{sign} the tool answers: {}", text_in(&result.result))
        }
        E::SessionOpened(opened) => opening(opened),
        E::WriterAttached(attached) => format!(
            "process {} takes over writing ({})",
            attached.process,
            visible(&attached.program)
        ),
        E::SessionForked(forked) => {
            format!("forked from {} at event {}", forked.parent, forked.at_seq)
        }
        E::SessionImported(_) => "imported: what was in progress is not continued".to_owned(),
        E::AnswerChecked(verdict) => checked(verdict),
        E::ContextBuilt(context) => built(context),
        E::RiskAssessed(said) => assessed(said),
        E::MemoriesProposed(said) => proposed(said),
        E::JobEnded(ended) => format!("{} has ended: {}", visible(&ended.job), visible(&ended.how)),
        E::CommandRan(ran) => command(ran),
        E::RequestRecorded(done) => format!("the request of event {} is remembered", done.seq),
        E::SessionTitled(titled) => {
            let by = by(titled.by.as_ref());
            format!("renamed{by}: {}", short(&titled.title))
        }
        E::SessionRedacted(redacted) => redaction(redacted),
        E::ConfigChanged(changed) => config(&changed.change) + &by(changed.by.as_ref()),
        other => agent(other),
    }
}

/// Describes an event about agents, the end of a run, or a summary.
fn agent(event: &EnvironmentEvent) -> String {
    use EnvironmentEvent as E;
    match event {
        E::AgentSpawned(spawned) => format!("an agent starts: {}", spawned.agent_state_id),
        E::SessionClosed(closed) => format!("the session ends: {}", short(&closed.reason)),
        E::AgentClosed(closed) => format!("an agent ends: {}", short(&closed.reason)),
        E::Interrupted(interrupted) => format!("the run is stopped: {}", short(&interrupted.reason)),
        E::ErrorOccurred(error) => format!("{}: {}", visible(&error.code), short(&error.message)),
        other => condensing(other),
    }
}

fn inner_call(asked: &InnerCallAsked) -> String {
    let (by, tool) = (visible(&asked.by), visible(&asked.tool.name));
    if asked.form.is_some() {
        return format!("{by} asks  {}", call_summary(&asked.tool.name, &asked.input));
    }
    format!(
        "{by} wants to call {tool}  {}",
        call_summary(&asked.tool.name, &asked.input)
    )
}

fn opening(opened: &SessionOpened) -> String {
    let config = &opened.config;
    let (model, workspace) = (visible(&config.model.id), visible(&config.workspace));
    format!("the session begins, with {model} in {workspace}")
}

fn redaction(redacted: &SessionRedacted) -> String {
    let events = units::counted(redacted.events().count(), "event");
    format!("taken out of {events}: {}", short(&redacted.names.join(", ")))
}

fn step_ended(effect: &EffectEnded) -> String {
    let how = match &*effect.outcome {
        EffectOutcome::Done(_) => "is done".to_owned(),
        EffectOutcome::Failed(failure) => format!("failed: {}", short(&failure.message)),
    };
    format!("step {} ({}) {how}", effect.step, visible(&effect.kind))
}

fn command(ran: &CommandRan) -> String {
    let who = person_or_owner(ran.by.as_ref());
    format!("{who} ran {} ({})", visible(&ran.command), visible(&ran.how))
}

/// The owner of the session, or who else it was.
fn person_or_owner(by: Option<&OwnerId>) -> String {
    by.map_or_else(|| "a person".to_owned(), |by| visible(by.as_str()))
}

/// Returns the person who caused an event, as text behind its description; nothing for the owner of the
/// session.
fn by(person: Option<&OwnerId>) -> String {
    person.map_or_else(String::new, |person| {
        format!(" (by {})", visible(person.as_str()))
    })
}

fn begins(model: &str, attempt: u32) -> String {
    match attempt {
        0 | 1 => format!("{model} starts to answer"),
        _ => format!("{model} starts to answer, attempt {attempt}"),
    }
}

fn attempt(failed: &AttemptFailed) -> String {
    let again = failed
        .retry_in_ms
        .map(|ms| format!("; again in {}", units::duration(ms)));
    let again = again.unwrap_or_default();
    let most = failed
        .gives_up_in_ms
        .map(|ms| format!(" (up to {})", units::short_limit(u64::from(ms))));
    let most = most.unwrap_or_default();
    format!(
        "attempt {} failed: {}{again}{most}",
        failed.attempt,
        short(&failed.message)
    )
}

fn decision(decision: ApprovalDecision) -> &'static str {
    match decision {
        ApprovalDecision::Once => "yes, once",
        ApprovalDecision::Session => "yes, and similar calls in this session",
        ApprovalDecision::Always => "yes, and similar calls always",
        ApprovalDecision::Deny => "no",
    }
}

/// Describes the events of condensing; an event without a description is shown as JSON.
fn condensing(event: &EnvironmentEvent) -> String {
    use EnvironmentEvent as E;
    match event {
        E::InputPinned(pin) => {
            let what = if pin.pinned {
                "stays in every summary"
            } else {
                "may be condensed"
            };
            format!("{} {what}{}", pin.message_id, by(pin.by.as_ref()))
        }
        E::CondenseRequested(wish) => format!(
            "{} asks to condense the conversation",
            person_or_owner(wish.by.as_ref())
        ),
        E::ContextCondensed(condensed) if !condensed.masked.is_empty() => format!(
            "the results of {} in events {} to {} are masked",
            condensed.masked.join(", "),
            condensed.from_seq,
            condensed.to_seq
        ),
        E::ContextCondensed(condensed) => format!(
            "a summary replaces events {} to {}: {}",
            condensed.from_seq,
            condensed.to_seq,
            short(&condensed.summary)
        ),
        E::CondensingFailed(failed) => format!("no summary: {}", short(&failed.message)),
        E::ContextRestored(restored) => format!(
            "events {} to {} are restored in full{}",
            restored.from_seq,
            restored.to_seq,
            by(restored.by.as_ref())
        ),
        other => short(&String::from_utf8_lossy(&other.payload_json())),
    }
}

fn action(kind: ActionKind) -> &'static str {
    match kind {
        ActionKind::CallModel => "ask the model",
        ActionKind::Condense => "write a summary of earlier messages",
        ActionKind::BuildContext => "collect context for the run",
        ActionKind::AssessRisk => "assess the risk of a call",
        ActionKind::ProposeMemories => "ask what to remember",
        ActionKind::CallTool => "run a tool",
        ActionKind::AnswerCall => "answer a call without running it",
        ActionKind::CheckAnswer => "hold an answer against its schema",
        ActionKind::StartTimer => "wait for a time",
        ActionKind::Cancel => "stop what runs",
        _ => "do something",
    }
}

fn checked(verdict: &AnswerChecked) -> String {
    match verdict.problems.as_slice() {
        [] => format!("answer {} fits the schema", verdict.attempt),
        problems => format!(
            "answer {} does not fit the schema: {}",
            verdict.attempt,
            short(&problems.join("; "))
        ),
    }
}

fn built(context: &ContextBuilt) -> String {
    let source = visible(&context.source);
    match &context.problem {
        Some(problem) => format!("no context from {source}: {}", short(problem)),
        None if context.text.is_empty() => format!("{source} has nothing for this input"),
        None => format!("context from {source}: {}", short(&context.text)),
    }
}

fn proposed(said: &MemoriesProposed) -> String {
    let ids: Vec<&str> = said.items.iter().map(|item| item.id.as_str()).collect();
    let ids = visible(&ids.join(", "));
    match (&said.problem, said.items.len()) {
        (Some(problem), 0) => format!("no memory proposed: {}", short(problem)),
        (Some(problem), _) => format!("memories proposed: {ids}; {}", short(problem)),
        (None, 0) => "nothing to remember".to_owned(),
        (None, _) => format!("memories proposed: {ids}"),
    }
}

fn assessed(said: &RiskAssessed) -> String {
    let advice = match said.decision {
        Some(JudgeDecision::Allow) => ", allow it",
        Some(JudgeDecision::Ask) => ", ask a person",
        Some(JudgeDecision::Refuse) => ", refuse it",
        None => "",
    };
    let (analyzer, risk) = (visible(&said.analyzer), said.risk.as_str());
    format!("{analyzer}: risk {risk}{advice}: {}", short(&said.reason))
}

fn fallback(asked: &FallbackAsked) -> String {
    let [from, code, to] = [&asked.from, &asked.code, &asked.to].map(|text| visible(text));
    format!("{from} did not answer ({code}): {to} is asked")
}

fn config(change: &ConfigChange) -> String {
    match change {
        ConfigChange::Model(model) => format!("new model: {}", visible(&model.id)),
        ConfigChange::Fallbacks(models) if models.is_empty() => "no fallbacks".into(),
        ConfigChange::Fallbacks(models) => {
            let names: Vec<String> = models.iter().map(|model| visible(&model.id)).collect();
            format!("new fallbacks: {}", names.join(", "))
        }
        ConfigChange::Limits(_) => "new limits".into(),
        ConfigChange::Approval(mode) => format!("approval mode: {mode:?}").to_lowercase(),
        ConfigChange::PlanMode(true) => "plan mode is on".into(),
        ConfigChange::PlanMode(false) => "plan mode is off".into(),
        ConfigChange::RuleAdded(rule) => format!("new rule for {}", visible(&rule.tool)),
        ConfigChange::Condensing(_) => "new settings for condensing".into(),
        ConfigChange::ServerRules(Some(_)) => "the server's rules now apply".into(),
        ConfigChange::ServerRules(None) => {
            "the server's rules no longer apply: the session continues without a server".into()
        }
        ConfigChange::Guard(_) => "files with secrets and AgentX's own files are now guarded".into(),
        ConfigChange::Tools(tools) => format!("new tools: {}", tools.len()),
        _ => "the configuration changes".into(),
    }
}

/// Returns the text of a message, with the kind of each part that is not text.
pub(super) fn text_in(content: &[ContentPart]) -> String {
    let mut text = String::new();
    for part in content {
        match part {
            ContentPart::Text(part) => text.push_str(&part.text),
            ContentPart::Image(media) | ContentPart::Audio(media) | ContentPart::File(media) => {
                text.push_str(&format!("[{}]", media.name.as_ref().unwrap_or(&media.media_type)));
            }
            _ => {}
        }
    }
    short(&text)
}

fn short(text: &str) -> String {
    let cut: String = text.chars().take(MOST).collect();
    visible(&cut)
}
