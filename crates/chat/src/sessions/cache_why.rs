//! `agentx cache why`: explains why a request was not read from the provider's cache.

use agentx::config::Settings;
use agentx::history::cache::{CacheCause, CacheReport, CachedPart, FirstDifference, cache_why};
use agentx::runtime::{Runtime, RuntimeError};
use agentx::types::SessionId;

use crate::error::ChatError;
use crate::exit::Exit;
use crate::render::clean::visible;
use crate::render::units;
use crate::sessions::sessions_here::SessionsHere;
use crate::terminal::console::Console;

/// The request that a person asks about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheQuestion {
    /// The session, or the beginning of its id; the latest of this directory without it.
    pub session: Option<String>,
    /// An event at or after the request.
    pub seq: Option<u64>,
}

/// Explains a request of a session: the one at or before the event `seq`, or the latest that lost something.
/// Without a session, explains the latest one of this directory.
///
/// # Errors
/// Returns an error if the session does not exist or has no model calls.
pub async fn explain(
    runtime: &dyn Runtime,
    settings: &Settings,
    asked: &CacheQuestion,
    json: bool,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let hint = |id: &SessionId| format!("`agentx cache why --session {id}` explains it");
    let id = match asked.session.as_deref() {
        Some(prefix) => runtime.resolve(prefix).await?,
        None => SessionsHere::of(settings).latest(runtime, hint).await?,
    };
    let report = cache_why(runtime, &id, asked.seq)
        .await
        .map_err(|error| match error {
            RuntimeError::Refused(what) => ChatError::usage(
                what,
                format!(
                    "`agentx show {id} --step` steps through its events; `--session` names another session"
                ),
            ),
            other => other.into(),
        })?;
    if json {
        console.out_pretty(&report)?;
    } else {
        console.out(&text(&report))?;
    }
    Ok(Exit::Ok)
}

/// The report as people read it.
fn text(report: &CacheReport) -> String {
    let usage = &report.usage;
    let mut lines = vec![format!(
        "session {}, request of event {} to {}: {} in, {} of them from the cache",
        visible(report.session_id.as_str()),
        report.seq,
        visible(&report.model),
        units::count(usage.read_tokens()),
        units::count(usage.cache_read_tokens),
    )];
    lines.push(match (&report.predecessor, &report.difference) {
        (None, _) => "this is the agent's first request: nothing was cached yet".to_owned(),
        (Some(before), None) => {
            format!("it begins with the exact bytes of the request of event {before}: nothing changed")
        }
        (Some(before), Some(found)) => difference(*before, found),
    });
    lines.extend(
        report
            .causes
            .iter()
            .map(|cause| format!("cause: {}", because(*cause))),
    );
    if report.lost_tokens > 0 {
        let cost = match report.lost_cost {
            Some(cost) => format!("about ${:.4} more than from the cache", cost.as_usd()),
            None => "the price is unknown".to_owned(),
        };
        let tokens = units::count(report.lost_tokens);
        lines.push(format!("cost: {tokens} tokens were read again, {cost}"));
    } else if report.predecessor.is_some() {
        lines.push("cost: none that the provider counted".to_owned());
    }
    lines.join("\n") + "\n"
}

fn difference(before: u64, found: &FirstDifference) -> String {
    let number = found
        .index
        .map(|index| format!(" {}", index + 1))
        .unwrap_or_default();
    let part = match found.part {
        CachedPart::Model => "the model",
        CachedPart::Tools => "tool",
        CachedPart::Instructions => "the instructions",
        CachedPart::Settings => "the settings",
        CachedPart::Messages => "message",
    };
    let side = |text: &str| match text {
        "" => "(nothing)".to_owned(),
        text => visible(text),
    };
    format!(
        "it differs from the request of event {before} from byte {} on, in {part}{number}:\n  before: {}\n  after:  {}",
        found.byte,
        side(&found.before),
        side(&found.after)
    )
}

fn because(cause: CacheCause) -> &'static str {
    match cause {
        CacheCause::ModelSwitch => "another model: a person switched to it",
        CacheCause::Fallback => {
            "another model: a fallback was asked, or the agent's own model again after one"
        }
        CacheCause::ToolList => "the list of tools changed, or how they are described",
        CacheCause::Prompt => "the prompt, the instructions or the facts about where the agent works changed",
        CacheCause::Settings => "settings of the calls changed",
        CacheCause::Condensing => "the conversation was condensed",
        CacheCause::Restoring => "a condensed part was restored",
        CacheCause::Rewind => "the session was rewound or forked",
        CacheCause::Repair => {
            "the provider refused a part of an earlier request, and AgentX has left it out since then"
        }
        CacheCause::Clock => "time: more than 5 minutes passed, and the provider's cache expired",
        CacheCause::Agent => "the agent sends an earlier message in another form, such as a shortened result",
        CacheCause::Provider => "the provider: it did not have the beginning in its cache",
    }
}

#[cfg(test)]
mod tests {
    use agentx::types::{NanoUsd, Usage};

    use super::*;

    /// Made up.
    fn report() -> CacheReport {
        CacheReport {
            session_id: SessionId::new("ses_1"),
            seq: 30,
            model: "anthropic/opus".to_owned(),
            predecessor: Some(12),
            difference: Some(FirstDifference {
                part: CachedPart::Tools,
                index: Some(2),
                byte: 700,
                before: "grep\u{1b}".to_owned(),
                after: String::new(),
            }),
            causes: vec![CacheCause::ToolList],
            usage: Usage {
                input_tokens: 12_000,
                ..Usage::default()
            },
            lost_tokens: 11_000,
            lost_cost: Some(NanoUsd(49_500_000)),
        }
    }

    #[test]
    fn the_place_the_cause_and_the_cost_are_said() {
        let said = text(&report());
        for words in [
            "from byte 700 on, in tool 3",
            "(nothing)",
            "the list of tools",
            "$0.0495",
        ] {
            assert!(said.contains(words), "{words}: {said}");
        }
        assert!(!said.contains('\u{1b}'));
        let first = text(&CacheReport {
            predecessor: None,
            difference: None,
            causes: Vec::new(),
            lost_tokens: 0,
            ..report()
        });
        assert!(
            first.contains("first request") && !first.contains("cost:"),
            "{first}"
        );
    }
}
