//! Finds content of a newer version in a log. This version can read such a log but must not continue it,
//! because it would decide without knowing that content. The fold asks for each fact.
//!
//! An unknown word that only names something (a status, a medium) is read as the least specific one and
//! prevents nothing (decision 036 in `issues/`). The content listed here could be a rule or an agent, on
//! which permissions depend.

use agentx_types::{AgentConfig, AgentKind, EnvironmentEvent, Vocabulary as _};

/// Returns whether this version must not continue a session that has this event.
///
/// An event with an unknown tag prevents nothing. One with a known tag that had to be kept unchanged has
/// content that this version does not know.
pub(crate) fn is_beyond(event: &EnvironmentEvent) -> bool {
    match event {
        EnvironmentEvent::SessionOpened(opened) => is_of_another_kind(&opened.config),
        EnvironmentEvent::AgentSpawned(spawned) => is_of_another_kind(&spawned.config),
        // A known tag that this version could not read completely: it may be a rule.
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
