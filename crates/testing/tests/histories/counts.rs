//! Counts of events in histories: a test that plays nothing finds nothing.

use std::collections::BTreeMap;
use std::fmt;

use agentx_runtime::Derived;
use agentx_types::*;

/// The events that histories must contain, and the lowest average number of histories of a hundred with each.
const NEEDED: &[(&str, u64)] = &[
    ("prompts", 500),
    ("prompts that steer", 100),
    ("prompts that interrupt", 100),
    ("pictures of people", 50),
    ("pictures of tools", 20),
    ("documents", 20),
    ("answers with a schema", 20),
    ("answers that do not fit", 5),
    ("texts refused by place", 10),
    ("stops", 100),
    ("answers interrupted or broken", 20),
    ("answers interrupted in the middle", 10),
    ("parallel tools", 25),
    ("approvals", 20),
    ("kills", 100),
    ("rewinds and forks", 50),
    ("summaries", 20),
    ("summaries undone", 4),
    ("pins", 20),
    ("windows slid", 10),
    ("models changed", 50),
    ("protocols changed", 20),
    ("tool sets changed", 50),
    ("instructions changed", 10),
    ("limits changed", 5),
    ("runs ended by a limit", 2),
    ("requests", 500),
    ("requests too long", 1),
    ("requests repaired", 2),
    ("requests cut by the server", 1),
    ("thinking dropped by the vendor", 20),
];

/// Counts by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts(BTreeMap<&'static str, u64>);

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self
            .0
            .iter()
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        f.write_str(&lines.join(", "))
    }
}

impl Counts {
    /// Adds `times` to a count.
    pub(crate) fn add(&mut self, name: &'static str, times: u64) {
        *self.0.entry(name).or_default() += times;
    }

    /// Adds the counts of another history.
    pub(crate) fn add_all(&mut self, other: &Self) {
        for (name, times) in &other.0 {
            self.add(name, *times);
        }
    }

    /// Returns the events that were too rare in so many histories.
    pub(crate) fn missing(&self, histories: u64) -> Vec<String> {
        let protocols = protocols().map(|api| (api.as_str(), 10));
        let seldom = NEEDED
            .iter()
            .copied()
            .chain(protocols)
            .filter_map(|(name, percent)| {
                let (found, needed) = (self.0.get(name).copied().unwrap_or(0), histories * percent / 100);
                (found < needed).then(|| format!("{name}: {found} of {needed}"))
            });
        seldom.collect()
    }

    /// Counts a fact and its consequences. `api` is the protocol in use before it.
    pub(crate) fn fact(&mut self, event: &EnvironmentEvent, derived: &Derived, api: Api) {
        use EnvironmentEvent as E;
        match event {
            E::UserMessage(input) => {
                self.add("prompts", 1);
                match input.mode {
                    InputMode::Steer => self.add("prompts that steer", 1),
                    InputMode::Interrupt => self.add("prompts that interrupt", 1),
                    _ => {}
                }
                self.add("pictures of people", pictures(&input.content));
                self.add("documents", documents(&input.content));
            }
            E::ToolResult(result) => {
                self.add("pictures of tools", pictures(&result.result));
                self.add("documents", documents(&result.result));
            }
            E::AnswerChecked(checked) => {
                self.add("answers with a schema", 1);
                self.add("answers that do not fit", u64::from(!checked.problems.is_empty()));
            }
            E::InterruptRequested(_) => self.add("stops", 1),
            E::Approval(_) => self.add("approvals", 1),
            E::WriterAttached(_) => self.add("kills", 1),
            E::SessionForked(_) => self.add("rewinds and forks", 1),
            E::ContextCondensed(_) => self.add("summaries", 1),
            E::ContextRestored(_) => self.add("summaries undone", 1),
            E::InputPinned(pin) => self.add("pins", u64::from(pin.pinned)),
            E::StreamEnd(end) => {
                let cut = matches!(end.stop_reason, StopReason::Interrupted | StopReason::Broken);
                self.add("answers interrupted or broken", u64::from(cut));
            }
            E::ConfigChanged(changed) => self.change(&changed.change, api),
            _ => {}
        }
        let finished = derived.events.iter().filter(|event| {
            matches!(&event.event, RuntimeEvent::RunFinished(finished) if finished.status == RunStatus::TimedOut)
        });
        self.add("runs ended by a limit", finished.count() as u64);
    }

    fn change(&mut self, change: &ConfigChange, api: Api) {
        match change {
            ConfigChange::Model(model) => {
                self.add("models changed", 1);
                self.add("protocols changed", u64::from(model.api != api));
            }
            ConfigChange::Tools(_) => self.add("tool sets changed", 1),
            ConfigChange::Instructions(_) => self.add("instructions changed", 1),
            ConfigChange::Limits(limits) => {
                self.add("limits changed", u64::from(*limits != Limits::default()));
            }
            _ => {}
        }
    }
}

/// The protocols of vendors: all but those without a server.
fn protocols() -> impl Iterator<Item = Api> {
    // Exhaustive: a new protocol does not compile until it has a line here, and a vendor in the shop.
    let next = |api: &Api| {
        Some(match api {
            Api::Anthropic => Api::OpenaiChat,
            Api::OpenaiChat => Api::OpenaiResponses,
            Api::OpenaiResponses => Api::Gemini,
            Api::Gemini => Api::GeminiInteractions,
            Api::GeminiInteractions => Api::Bedrock,
            Api::Bedrock => Api::BedrockConverse,
            Api::BedrockConverse => Api::VertexAnthropic,
            Api::VertexAnthropic | Api::Scripted | Api::Unknown => return None,
        })
    };
    std::iter::successors(Some(Api::Anthropic), next)
}

fn documents(content: &[ContentPart]) -> u64 {
    let is_document = |part: &&ContentPart| matches!(part, ContentPart::File(_));
    content.iter().filter(is_document).count() as u64
}

fn pictures(content: &[ContentPart]) -> u64 {
    let is_picture = |part: &&ContentPart| matches!(part, ContentPart::Image(_));
    content.iter().filter(is_picture).count() as u64
}
