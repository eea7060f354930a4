//! The limits that flags set. They last as long as the program.

use agentx::config::{DEFAULT_AGENT_NAME, Settings};
use agentx::runtime::{NamedAgent, NamedLimits, Session};
use agentx::types::{AgentConfig, ConfigChange, Limits};

use super::leaving::LEAVING;
use crate::error::ChatError;
use crate::place::Place;
use crate::session_opening::CommandLineOverrides;

/// Applies the limits that flags name, which last as long as this program: without flags, the limits of the
/// settings apply again. In the sessions of a server, the server's settings decide.
pub(super) async fn limit(
    place: &Place,
    settings: &Settings,
    agent: &CommandLineOverrides,
    session: &dyn Session,
) -> Result<(), ChatError> {
    let config = session.state().await?.config;
    let usual = match place.remote() {
        None => usual_limits(place, settings, &config).await,
        Some(_) => None,
    };
    let limits = limits(settings, agent).merged_into(usual.unwrap_or(config.limits));
    if limits != config.limits {
        session.change(ConfigChange::Limits(limits)).await?;
    }
    Ok(())
}

/// Returns the limits of an agent of this machine if no flag names any: those of its file, or of the
/// settings. `None` for one that neither describes.
async fn usual_limits(place: &Place, settings: &Settings, config: &AgentConfig) -> Option<Limits> {
    let agents = place.runtime().agents().await.ok()?;
    if agents.iter().any(|agent| agent.name == config.name) {
        let named = NamedAgent::new(&config.name);
        return Some(place.runtime().agent(&named).await.ok()?.limits);
    }
    (config.name == DEFAULT_AGENT_NAME).then_some(settings.limits)
}

/// Ends the limits that flags name: in a session of a server, the limits of its agent apply again. On this
/// machine, the next opening of the session does that.
pub async fn limits_again(place: &Place, agent: &CommandLineOverrides, session: &dyn Session) {
    let is_given = agent.max_iterations || agent.max_cost || agent.timeout;
    if !is_given || place.remote().is_none() {
        return;
    }
    let again = async {
        let Ok(state) = session.state().await else {
            return;
        };
        let name = &state.config.name;
        let usual = match place.default_agent().await {
            Ok(Some(usual)) if usual.name == *name => Some(usual),
            _ => place.runtime().agent(&NamedAgent::new(name)).await.ok(),
        };
        if let Some(usual) = usual.filter(|usual| usual.limits != state.config.limits) {
            let _ = session.change(ConfigChange::Limits(usual.limits)).await;
        }
    };
    // If the server is gone, they stay in its session until others are set.
    let _ = tokio::time::timeout(LEAVING, again).await;
}

/// The limits that flags name.
pub(super) fn limits(settings: &Settings, agent: &CommandLineOverrides) -> NamedLimits {
    let given = &settings.limits;
    NamedLimits {
        max_iterations: agent.max_iterations.then_some(given.max_iterations),
        max_cost: agent.max_cost.then_some(given.max_cost),
        max_wall_ms: agent.timeout.then_some(given.max_wall_ms),
        ..NamedLimits::default()
    }
}
