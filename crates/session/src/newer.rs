//! Finds content of a newer version in a log that this version can read and must not continue from: it would
//! decide without what it cannot know. The fold asks it for each fact.
//!
//! Reading on is allowed, going on is not. A word that only names something (a status, a medium) is read as
//! the least specific one and stops nobody (decision 036 in `issues/`); what is listed here could be a rule,
//! or an agent, that decides what may be done.

use agentx_types::{AgentConfig, AgentKind, EnvironmentEvent, Vocabulary as _};

/// Returns whether nobody may continue with a session here that has this event.
///
/// An event whose tag is not known at all stops nobody. One with a known tag that had to be kept unchanged
/// has more in it than this version knows.
pub(crate) fn is_beyond(event: &EnvironmentEvent) -> bool {
    match event {
        EnvironmentEvent::SessionOpened(opened) => is_of_another_kind(&opened.config),
        EnvironmentEvent::AgentSpawned(spawned) => is_of_another_kind(&spawned.config),
        // One that this version knows, and could not read to its end: it may be a rule.
        EnvironmentEvent::Unknown(event) => EnvironmentEvent::TAGS.contains(&event.tag.as_str()),
        _ => false,
    }
}

/// Returns whether it is an agent that no machine here drives, or may make one.
fn is_of_another_kind(config: &AgentConfig) -> bool {
    let routing = config.routing.iter();
    let mut routed = routing.flat_map(|routing| {
        let routes = routing.routes.iter().map(|route| &route.agent);
        routes.chain(routing.default.as_deref())
    });
    config.kind == AgentKind::Unknown
        || config.agents.iter().any(is_of_another_kind)
        || routed.any(is_of_another_kind)
}
