//! Topics: the dotted names by which subscribers on a bus select events.

use crate::{ActionKind, EnvironmentEvent, RuntimeEvent};

/// The topic of an action that is about to be performed.
pub fn of_action(kind: ActionKind) -> &'static str {
    match kind {
        ActionKind::CallModel => "llm.requests",
        ActionKind::Condense => "context.condense",
        ActionKind::BuildContext => "context.build.request",
        ActionKind::AssessRisk => "security.requests",
        ActionKind::ProposeMemories => "memories.requests",
        ActionKind::CallTool | ActionKind::AnswerCall => "tools.requests",
        ActionKind::StartTimer => "timers.requests",
        ActionKind::Cancel => "actions.cancel",
        ActionKind::DecideInnerCall => "tools.decisions",
        ActionKind::Report | ActionKind::CheckAnswer => "runs.report",
        ActionKind::SpawnAgent | ActionKind::CloseAgent => "agents.requests",
        ActionKind::SendInput | ActionKind::InterruptAgent => "agents.inputs",
        ActionKind::Unknown => "actions.unknown",
    }
}

/// The topic of a fact.
pub fn of_environment(event: &EnvironmentEvent) -> &'static str {
    use EnvironmentEvent as E;
    match event {
        E::UserMessage(_) => "runs.new",
        E::InterruptRequested(_) | E::InputRevised(_) | E::Approval(_) => "runs.control",
        E::SystemCommand(_) | E::RequestRecorded(_) => "system.command",
        E::CommandRan(_) => "command.result",
        E::StreamStart(_)
        | E::TextChunk(_)
        | E::ThinkingChunk(_)
        | E::PartEnd(_)
        | E::ToolCallStart(_)
        | E::ToolCallChunk(_)
        | E::ToolCall(_)
        | E::ProviderPart(_)
        | E::UsageReport(_)
        | E::ModelFellBack(_)
        | E::StreamEnd(_)
        | E::FallbackAsked(_)
        | E::AttemptFailed(_) => "llm.results",
        E::AnswerChecked(_) => "runs.control",
        E::ActionStarted(_) => "actions.started",
        E::ToolOutputChunk(_) | E::EffectStarted(_) | E::EffectEnded(_) | E::InnerCallAsked(_) => {
            "tools.output"
        }
        E::ToolResult(_) | E::JobEnded(_) => "tools.results",
        E::Connected(_) | E::Disconnected(_) => "transport",
        E::TimerFired(_) => "timers.fired",
        E::SessionOpened(_)
        | E::WriterAttached(_)
        | E::SessionForked(_)
        | E::SessionImported(_)
        | E::SessionTitled(_)
        | E::SessionRedacted(_)
        | E::WheelChanged(_)
        | E::AccessChanged(_)
        | E::FilesRestoring(_)
        | E::FilesRestored(_)
        | E::SessionClosed(_) => "sessions.lifecycle",
        E::CondenseRequested(_) => "context.condense",
        E::ContextBuilt(_) => "context.build.response",
        E::RiskAssessed(_) => "security.results",
        E::MemoriesProposed(_) => "memories.results",
        E::ConfigChanged(_)
        | E::InputPinned(_)
        | E::ContextCondensed(_)
        | E::CondensingFailed(_)
        | E::ContextRestored(_) => "context.changed",
        E::AgentSpawned(_) | E::AgentClosed(_) => "agents.lifecycle",
        E::Interrupted(_) | E::ErrorOccurred(_) => "runs.ended",
        E::Unknown(_) => "unknown",
    }
}

/// The topic of a derived event.
pub fn of_runtime(event: &RuntimeEvent) -> &'static str {
    match event {
        RuntimeEvent::Unknown(_) => "unknown",
        _ => "ui.events",
    }
}
