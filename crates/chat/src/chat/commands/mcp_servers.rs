//! `/mcp`: the MCP servers of the settings as they are now. A folder may have been trusted, or a server
//! added, in another terminal since the chat began. `/mcp` attaches such a server if its tools are known
//! already, and `/mcp try` starts it first: the agent has its tools from its next run on. The change of its
//! tools is a fact of the session.

use agentx::config::{LoadRequest, Settings, load};
use agentx::node::known_secrets;
use agentx::types::ToolSpec;

use crate::chat::{Chat, ConversationSite};
use crate::configuration::lookup;
use crate::error::ChatError;
use crate::mcp;
use crate::render::clean::visible;
use crate::render::units::counted;

/// The answer in a session on a server.
const REMOTE: &str =
    "this session uses the MCP servers of its AgentX server; run `agentx mcp` on that machine to list them";
/// The note about tools that a running chat cannot offer.
const LATER: &str = "leave and continue with `agentx resume --last` to use them";
/// The note about tools that the agent has already.
const HAS: &str = "the agent has them";
/// The note about tools that it offers.
const NOW: &str = "the agent has them from its next run on";

impl Chat<'_> {
    /// Runs `/mcp try`: starts a server once, so that its tools are known, and attaches it.
    pub(super) async fn try_mcp_server(&mut self, name: &str) -> Result<String, ChatError> {
        if self.place.remote().is_some() {
            return self.mcp_servers().await;
        }
        let settings = self.settings_with_servers();
        let server = mcp::servers::find(&mcp::changes::servers(&settings, &[]), name)?;
        let connected = self
            .wait_for(async {
                let connected = server.connect().await;
                server.close().await;
                Ok(connected)
            })
            .await?;
        if let Err(failure) = connected {
            return Ok(format!(
                "MCP server {}: {}",
                visible(name),
                visible(&failure.to_string())
            ));
        }
        let specs = server.specs();
        let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
        let how = self.offer_server(&settings, name).await?;
        Ok(format!(
            "{} of {} {} known now: {}; {how}",
            counted(specs.len(), "tool"),
            visible(name),
            if specs.len() == 1 { "is" } else { "are" },
            names.join(", ")
        ))
    }

    /// Attaches a server to this process unless the agent has its tools. Returns how they can be used.
    async fn offer_server(&mut self, settings: &Settings, name: &str) -> Result<String, ChatError> {
        let tools = match (&self.connection.site, self.connection.state().await?) {
            (_, Some(state)) => state.config.tools.clone(),
            (ConversationSite::New(agent), None) => agent.config.tools.clone(),
            (ConversationSite::Open { .. }, None) => return Ok(LATER.to_owned()),
        };
        if tools.iter().any(|tool| is_tool_of(tool, name)) {
            return Ok(HAS.to_owned());
        }
        let server = mcp::servers::find(&mcp::changes::servers(settings, &tools), name)?;
        // From now on, the values of its variables and headers are replaced in what is recorded and drawn.
        let known = known_secrets(settings);
        self.display.hidden.learn(&known);
        let is_learnt = self.place.runtime().learn_secrets(&known);
        if settings.secrets.redact && !is_learnt && !server.server().values().is_empty() {
            return Ok(LATER.to_owned());
        }
        let attached = self.place.attach_server(server).await;
        Ok(match attached {
            Some(Ok(())) => NOW.to_owned(),
            Some(Err(why)) => format!("they are not offered: {}", visible(&why)),
            None => LATER.to_owned(),
        })
    }

    /// Runs `/mcp`. Attaches the servers that have come since the chat began, if their tools are known.
    pub(super) async fn mcp_servers(&mut self) -> Result<String, ChatError> {
        if self.place.remote().is_some() {
            return Ok(REMOTE.to_owned());
        }
        let settings = self.settings_with_servers();
        let servers = mcp::changes::servers(&settings, &[]);
        if servers.iter().next().is_none() {
            return Ok(format!("there are no MCP servers; {}", mcp::servers::HOW_TO_ADD));
        }
        let list = mcp::servers::table_of(&servers, self.display.width());
        let mut notes = String::new();
        let known = |name: &str| self.settings.mcp.iter().any(|server| server.name == name);
        let names = servers.iter().filter(|server| !server.specs().is_empty());
        let names = names.map(|server| server.server().name.clone());
        let new: Vec<String> = names.filter(|name| !known(name)).collect();
        for name in new {
            let how = self.offer_server(&settings, &name).await?;
            if how != HAS {
                notes.push_str(&format!("tools of {}: {how}\n", visible(&name)));
            }
        }
        Ok(format!(
            "{list}{notes}`agentx mcp show NAME` shows the tools of one, `/mcp try NAME` starts it once"
        ))
    }

    /// Returns the settings of the chat with the servers that the files name now; with those of its start if
    /// the files cannot be read.
    fn settings_with_servers(&self) -> Settings {
        let read = self.start.loaded.and_then(|loaded| {
            let places = loaded.places.clone();
            let request = LoadRequest {
                places,
                lookup: &lookup,
                flags: Vec::new(),
            };
            load(request).ok()
        });
        let mcp = read.map_or_else(|| self.settings.mcp.clone(), |read| read.settings.mcp);
        Settings {
            mcp,
            ..self.settings.clone()
        }
    }
}

/// Returns whether a tool is one of this server.
fn is_tool_of(tool: &ToolSpec, server: &str) -> bool {
    let name = tool.reach.as_ref().and_then(|reach| reach.mcp.as_deref());
    name.and_then(|name| name.split('/').next()) == Some(server)
}

#[cfg(test)]
mod tests {
    use agentx::types::{Access, ToolReach};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_is_of_the_server_that_its_description_names() {
        let plain = ToolSpec::new("harbour__echo", "", json!({"type": "object"}), Access::Run);
        assert!(!is_tool_of(&plain, "harbour"), "a name alone says nothing");
        let reach = ToolReach {
            mcp: Some("harbour/echo".into()),
            ..ToolReach::default()
        };
        let tool = plain.with_reach(reach);
        assert!(is_tool_of(&tool, "harbour") && !is_tool_of(&tool, "harb"));
    }
}
