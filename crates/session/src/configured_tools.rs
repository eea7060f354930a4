//! The agent's choice of tools (names, order, quit flag). Their descriptions always come from this program,
//! not from the log or a client.

use std::sync::Arc;

use agentx_types::{ConfigChange, Envelope, EnvironmentEvent, Source, ToolSpec};

use crate::ToolsChange;

/// The tools of `wanted` that are among `offered`, as they are offered.
///
/// ```
/// # use agentx_types::{Access, ToolSpec};
/// let tool = |name: &str, quit| ToolSpec::new(name, "", serde_json::json!({}), Access::Read).with_quit(quit);
/// let offered = [tool("look", false), tool("report", false)];
/// let tools = agentx_session::as_offered(&[tool("report", true), tool("gone", false)], &offered);
/// assert_eq!(tools, [tool("report", true)]);
/// ```
pub fn as_offered(wanted: &[ToolSpec], offered: &[ToolSpec]) -> Vec<ToolSpec> {
    let own = |wanted: &ToolSpec| {
        let tool = offered.iter().find(|tool| tool.name == wanted.name)?;
        Some(tool.clone().with_quit(tool.quit || wanted.quit))
    };
    wanted.iter().filter_map(own).collect()
}

/// The tools that the configuration gives a session's agent, independent of what later programs offer: a tool
/// that is missing today comes back with a program that has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ConfiguredTools {
    configured: Arc<[ToolSpec]>,
    /// Whether it also has all other tools that are offered.
    all: bool,
    change: ToolsChange,
}

impl ConfiguredTools {
    /// Returns the tools of the agent among those that are `offered`.
    pub(crate) fn of(&self, offered: &[ToolSpec]) -> Vec<ToolSpec> {
        let mut tools = as_offered(&self.configured, offered);
        if self.all {
            let is_new = |tool: &&ToolSpec| {
                !tool.only_by_name && !self.configured.iter().any(|known| known.name == tool.name)
            };
            tools.extend(offered.iter().filter(is_new).cloned());
        }
        tools
    }

    /// Returns the change of tools by the last program that opened the session.
    pub(crate) fn change(&self) -> &ToolsChange {
        &self.change
    }

    /// Applies the next fact about the session's own agent, which has the tools `before`.
    pub(crate) fn apply(&mut self, fact: &Envelope<EnvironmentEvent>, before: &[ToolSpec]) {
        match &fact.event {
            EnvironmentEvent::SessionOpened(opened) => {
                (self.configured, self.all) = (opened.config.tools.clone(), opened.config.all_tools);
            }
            EnvironmentEvent::ConfigChanged(changed) => {
                let ConfigChange::Tools(now) = &changed.change else {
                    return;
                };
                if fact.source == Source::System {
                    self.change = ToolsChange {
                        gone: only_in(before, now),
                        back: only_in(now, before),
                    };
                } else {
                    (self.configured, self.all) = (now.clone(), false);
                    self.change = ToolsChange::default();
                }
            }
            EnvironmentEvent::UserMessage(_) => self.change = ToolsChange::default(),
            _ => {}
        }
    }
}

/// The names of tools that `these` have and `those` do not.
fn only_in(these: &[ToolSpec], those: &[ToolSpec]) -> Vec<String> {
    let is_there = |tool: &&ToolSpec| those.iter().any(|other| other.name == tool.name);
    let only = these.iter().filter(|tool| !is_there(tool));
    only.map(|tool| tool.name.clone()).collect()
}
