//! Tools that a person runs outside of any session (`agentx tools run`), and processes that outlived such a
//! run.

use agentx::config::Settings;
use agentx::runtime::{Runtime as _, ToolOutcome};
use agentx::types::{AgentConfig, EnvironmentEvent};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{CommandTarget, LocalNode};
use crate::console::Console;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::mcp_changes::tool_of_server;
use crate::render::conversation::ended_commands_notice;
use crate::signals::Signals;

/// A tool by its name, and the settings that have its MCP server if it is of one.
pub(crate) struct TriedTool<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) name: &'a str,
}

impl CommandTarget {
    /// Runs a tool of this machine outside of any session, and passes its output to `hears`. A signal stops
    /// the tool and all processes that it started.
    pub(crate) async fn try_tool(
        &self,
        TriedTool { settings, name }: TriedTool<'_>,
        input: Value,
        agent: AgentConfig,
        allows_asked: bool,
        hears: impl FnMut(&EnvironmentEvent),
        signals: &mut Signals,
    ) -> Result<(ToolOutcome, Option<Exit>), ChatError> {
        let Some(node) = &self.node else {
            return Err(ChatError::usage(
                "`agentx tools run` works on this machine only, not on a server",
                "omit --connect",
            ));
        };
        let stop = CancellationToken::new();
        let foreign = tool_of_server(settings, &node.runtime.tools(), name);
        let call = async {
            let (runtime, stop) = (&node.runtime, stop.clone());
            let Some((server, tool)) = foreign else {
                return runtime
                    .try_tool(name, input, agent, allows_asked, stop, hears)
                    .await;
            };
            let outcome = runtime
                .try_foreign_tool(tool, input, agent, allows_asked, stop, hears)
                .await;
            server.close().await;
            outcome
        };
        tokio::pin!(call);
        tokio::select! {
            outcome = &mut call => Ok((outcome, None)),
            exit = signals.next() => {
                stop.cancel();
                Ok((call.await, Some(exit)))
            }
        }
    }

    /// Ends the commands that a killed `tools run` left running, and returns a note about them.
    pub(crate) async fn end_leftover_commands(&self) -> Option<String> {
        let node = self.node.as_ref()?;
        ended_commands_notice(&node.runtime.end_leftover_commands().await)
    }

    /// Says which killed trials it ended before a session opens; costs nearly nothing if there were none.
    pub(crate) async fn say_ended_trials(&self, console: &mut Console) {
        let may_have = |node: &LocalNode| node.runtime.has_leftover_commands();
        if self.node.as_ref().is_some_and(may_have)
            && let Some(ended) = self.end_leftover_commands().await
        {
            console.say(&format!("· of `agentx tools run`, {ended}\n"));
        }
    }
}
