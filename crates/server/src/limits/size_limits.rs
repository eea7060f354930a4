//! Size limits of input: heads of requests, queued inputs, configurations, names, and the details of errors.

use std::collections::BTreeSet;

use agentx_config::{Quotas, check_condensing, check_params};
use agentx_runtime::{InputBacklog, RuntimeError, apply, check_depth};
use agentx_types::{AgentConfig, ConfigChange, ContextSource, Limits, RULES_VERSION, RuleEffect};
use serde::Serialize;

use crate::problems::remote;

/// The largest size of a request's head, in bytes; it is read before the caller is known.
pub(crate) const HEAD_BYTES: usize = 16 * 1024;
/// The largest length of a title, in characters.
pub(crate) const TITLE_CHARS: usize = 200;
const _: () = assert!(TITLE_CHARS == agentx_runtime::MAX_TITLE_CHARS);
/// The largest length of a reason for an interrupt or a denial, in characters.
pub(crate) const WORD_CHARS: usize = 4096;
/// The largest length of an idempotency key, in characters.
pub(crate) const KEY_CHARS: usize = 255;
/// The largest length of an agent's name, in characters.
pub(crate) const NAME_CHARS: usize = 200;
/// The largest length of an id in a request, in bytes.
pub(crate) const ID_BYTES: usize = 200;
/// The largest length of an error's detail, in characters; it may repeat input.
pub(crate) const REFUSAL_CHARS: usize = 2000;
/// The largest number of context sources of an agent.
const CONTEXT_SOURCES: usize = 32;
/// The largest number of rules of a session whose owner's quota of bytes is used up.
const STRICT_RULES: usize = 1000;
/// The largest size of its configuration then, in bytes.
const STRICT_BYTES: u64 = 256 << 10;

/// Checks the length of a text in a request.
///
/// # Errors
/// Returns `bad_request` if it has more than `most` characters: it stays in the log, and is shown in lists.
pub(crate) fn bounded(what: &str, text: Option<&str>, most: usize) -> Result<(), RuntimeError> {
    match text.map_or(0, |text| text.chars().count()) {
        count if count > most => Err(remote(
            "bad_request",
            &format!("{what} has {count} characters; it may have {most}"),
        )),
        _ => Ok(()),
    }
}

/// Checks the length of an id in a request.
///
/// # Errors
/// Returns `bad_request` if the id is too long.
pub(crate) fn bounded_id(what: &str, id: &str) -> Result<(), RuntimeError> {
    match id.len() {
        bytes if bytes > ID_BYTES => Err(remote(
            "bad_request",
            &format!("the id of {what} has {bytes} bytes; ids have at most {ID_BYTES}"),
        )),
        _ => Ok(()),
    }
}

/// Cuts the detail of an error, which may repeat input.
pub(crate) fn shortened(mut detail: String) -> String {
    if let Some((end, _)) = detail.char_indices().nth(REFUSAL_CHARS) {
        detail.truncate(end);
        detail.push('…');
    }
    detail
}

/// Checks that the queue of a session has room. One message may exceed the bytes, so that every message fits
/// into an empty queue. A message that `interrupts` the run is accepted however many wait.
///
/// # Errors
/// Returns `queue_full` if the queue is full.
pub(crate) fn check_backlog(
    quotas: &Quotas,
    backlog: InputBacklog,
    interrupts: bool,
) -> Result<(), RuntimeError> {
    let InputBacklog { messages, bytes } = backlog;
    let (which, most) = if messages as u64 >= quotas.queued && !interrupts {
        ("messages (`quotas.queued_messages`)", quotas.queued)
    } else if messages > 0 && bytes as u64 >= quotas.queued_bytes {
        ("bytes of messages (`quotas.queued_bytes`)", quotas.queued_bytes)
    } else {
        return Ok(());
    };
    let what = format!(
        "{messages} messages with {bytes} bytes are queued in this session, and this server's limit is {most} {which}: send it again after the agent has handled some, or remove some; an interrupt still works"
    );
    Err(remote("queue_full", &what))
}

/// Checks the size of the agent of a new session.
///
/// # Errors
/// Returns `too_large` if it has too many agents or bytes, or nests too deep; `bad_request` if a name is too
/// long, rules are of a newer program, or a value is invalid.
pub(crate) fn check_size(quotas: &Quotas, config: &AgentConfig) -> Result<(), RuntimeError> {
    check_depth(config).map_err(|what| remote("too_large", &what))?;
    let (mut waiting, mut agents) = (vec![config], 0);
    while let Some(agent) = waiting.pop() {
        agents += 1;
        if agents > quotas.agents {
            let what = format!(
                "the configuration has more than {} agents, which is this server's limit (`quotas.agents`)",
                quotas.agents
            );
            return Err(remote("too_large", &what));
        }
        bounded("the name of an agent", Some(&agent.name), NAME_CHARS)?;
        check_rules_version(agent.rules_version)?;
        check_params(&agent.params).map_err(|what| remote("bad_request", &what))?;
        check_condensing(agent.condensing.as_deref()).map_err(|what| remote("bad_request", &what))?;
        check_sources(&agent.context_sources).map_err(|what| remote("bad_request", &what))?;
        waiting.extend(&agent.agents);
        if let Some(routing) = &agent.routing {
            waiting.extend(routing.routes.iter().map(|route| &route.agent));
            waiting.extend(routing.default.as_deref());
        }
    }
    check_bytes(quotas, json_len(config))
}

/// Checks the context sources of an agent: each is asked before each run, and adds events.
fn check_sources(sources: &[ContextSource]) -> Result<(), String> {
    let names: BTreeSet<&str> = sources.iter().map(|source| source.name.as_str()).collect();
    if sources.len() > CONTEXT_SOURCES || names.len() < sources.len() {
        return Err(format!(
            "`context_sources` has {} entries; at most {CONTEXT_SOURCES} with different names are allowed",
            sources.len()
        ));
    }
    Ok(())
}

/// Checks that the standing instructions of a request are not larger than a configuration may be.
///
/// # Errors
/// Returns `too_large` if the prompt is too long.
pub(crate) fn check_prompt(quotas: &Quotas, prompt: Option<&str>) -> Result<(), RuntimeError> {
    check_bytes(quotas, prompt.map_or(0, |prompt| prompt.len() as u64))
}

fn check_bytes(quotas: &Quotas, bytes: u64) -> Result<(), RuntimeError> {
    if bytes <= quotas.config_bytes {
        return Ok(());
    }
    let what = format!(
        "the configuration has {bytes} bytes as JSON; this server's limit is {} (`quotas.config_bytes`)",
        quotas.config_bytes
    );
    Err(remote("too_large", &what))
}

fn check_rules_version(version: u32) -> Result<(), RuntimeError> {
    if version <= RULES_VERSION {
        return Ok(());
    }
    let what = format!("this server supports rules up to version {RULES_VERSION}, not {version}");
    Err(remote("bad_request", &what))
}

/// Checks the size of a configuration after a change; one that is already too large may shrink.
///
/// # Errors
/// Returns an error if [`check_size`] does. An invalid value is refused even if the configuration was already
/// invalid.
pub(crate) fn check_change(
    quotas: &Quotas,
    before: &AgentConfig,
    change: &ConfigChange,
) -> Result<(), RuntimeError> {
    match change {
        ConfigChange::RulesVersion(version) => check_rules_version(*version)?,
        ConfigChange::Params(params) => {
            check_params(params).map_err(|what| remote("bad_request", &what))?;
        }
        ConfigChange::Condensing(condensing) => {
            check_condensing(condensing.as_deref()).map_err(|what| remote("bad_request", &what))?;
        }
        _ => {}
    }
    let (had, has) = (json_len(before), json_len(&changed(before, change)));
    if has > had {
        check_bytes(quotas, has)
    } else {
        Ok(())
    }
}

/// Returns whether a change makes a session stricter and at most a little larger: it is allowed even if
/// nothing else may be stored. Each such change leaves fewer possible ones, so they cannot fill the log.
pub(crate) fn only_makes_stricter(before: &AgentConfig, change: &ConfigChange) -> bool {
    let is_stricter = match change {
        ConfigChange::RuleAdded(rule) => rule.effect != RuleEffect::Allow && !before.rules.contains(rule),
        ConfigChange::Approval(mode) => mode.strictness() > before.approval.strictness(),
        ConfigChange::Limits(limits) => narrows(before.limits, *limits),
        _ => false,
    };
    let after = || changed(before, change);
    is_stricter && before.rules.len() < STRICT_RULES && json_len(&after()) <= STRICT_BYTES
}

/// Returns whether no limit is wider than before, and one is narrower by a hundredth at least: smaller steps
/// are too many.
fn narrows(before: Limits, after: Limits) -> bool {
    let of = |limits: Limits| {
        [
            limits.max_iterations.map(u64::from),
            limits.max_tokens,
            limits.max_cost.map(|cost| cost.0),
            limits.max_wall_ms,
        ]
    };
    let pairs = || of(before).into_iter().zip(of(after));
    let is_wider = |(before, after): (Option<u64>, Option<u64>)| match (before, after) {
        (Some(before), Some(after)) => after > before,
        (before, None) => before.is_some(),
        (None, Some(_)) => false,
    };
    let is_narrower = |(before, after): (Option<u64>, Option<u64>)| match (before, after) {
        (Some(before), Some(after)) => before.saturating_sub(after) >= (before / 100).max(1),
        (None, after) => after.is_some(),
        (Some(_), None) => false,
    };
    !pairs().any(is_wider) && pairs().any(is_narrower)
}

fn changed(before: &AgentConfig, change: &ConfigChange) -> AgentConfig {
    let mut after = before.clone();
    apply(&mut after, change);
    after
}

/// Returns the length of a value as JSON, in bytes; the largest number if it cannot be written.
pub(crate) fn json_len<T: Serialize>(value: &T) -> u64 {
    agentx_types::json_len(value, usize::MAX).map_or(u64::MAX, |len| len as u64)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    #[test]
    fn there_is_room_for_what_is_below_both_bounds_and_for_one_message_at_least() {
        let quotas = Quotas {
            queued: 2,
            queued_bytes: 10,
            ..Quotas::default()
        };
        let check = |messages, bytes, stops| check_backlog(&quotas, InputBacklog { messages, bytes }, stops);
        assert!(check(0, 0, false).is_ok() && check(1, 9, false).is_ok());
        assert!(check(2, 9, true).is_ok(), "stopping is possible");
        for (messages, bytes, stops, named) in [
            (2, 0, false, "quotas.queued_messages`"),
            (1, 10, false, "quotas.queued_bytes`"),
            (2, 10, true, "quotas.queued_bytes`"),
        ] {
            let refused = check(messages, bytes, stops).unwrap_err().to_string();
            assert!(refused.contains(named), "{refused}");
        }
    }

    #[test]
    fn limits_are_narrower_where_none_is_wider_and_one_is_much_lower() {
        let limits = |tokens, wall| Limits {
            max_tokens: tokens,
            max_wall_ms: wall,
            ..Limits::default()
        };
        let before = limits(Some(1000), None);
        for (after, is) in [
            (limits(Some(990), None), true),
            (limits(Some(1000), Some(5)), true),
            (limits(Some(0), Some(5)), true),
            (limits(Some(991), None), false),
            (before, false),
            (limits(Some(1001), Some(5)), false),
            (limits(None, Some(5)), false),
        ] {
            assert_eq!(narrows(before, after), is, "{after:?}");
        }
        assert!(narrows(limits(Some(2), None), limits(Some(1), None)));
    }

    #[test]
    fn a_refusal_says_no_more_than_fits() {
        let long = shortened("ä".repeat(1 << 20));
        assert_eq!(long.chars().count(), REFUSAL_CHARS + 1);
        assert_eq!(shortened("short".into()), "short");
    }
}
