//! The beginning of requests: standing instructions and tools. Providers cache it, and signatures of thinking
//! depend on it, so it changes only if necessary, and then at its end.

use std::sync::Arc;

use agentx_types::{AgentConfig, Api, ToolSpec, since};

use super::given_context::GivenContext;
use crate::built_in_agents;
use crate::token_estimate::{estimate_text, estimate_tool};
use crate::tools::{ask_user, plan_mode, recall, remind_me, tool_search, wait};

/// The beginning of every request, until the configuration changes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RequestPrefix {
    pub(super) system: Vec<Arc<str>>,
    pub(super) tools: Arc<[ToolSpec]>,
    /// The estimated size in tokens, including the tools on offer.
    pub(super) tokens: u64,
}

impl RequestPrefix {
    /// Makes the beginning of requests; the machine's own tools are among the tools if they are offered.
    /// `found` are tools of MCP servers that the model has found, `given` the instructions of services.
    pub(super) fn of(
        config: &AgentConfig,
        condensed: bool,
        left_out: &[String],
        found: &[String],
        given: &GivenContext,
    ) -> Self {
        let system = system_parts(config, given);
        let recall = recall::offered(config, condensed);
        let find = tool_search::offered(config);
        let ask = ask_user::offered(config);
        let plan = plan_mode::offered(config);
        let wait = wait::offered(config);
        let remind = remind_me::offered(config);
        let delegate = built_in_agents::offered(config);
        let own = [&recall, &find, &ask, &plan, &wait, &remind, &delegate];
        let tools: Arc<[ToolSpec]> = if left_out.is_empty() && own.iter().all(|tool| tool.is_none()) {
            config.tools.clone()
        } else {
            let searches = find.is_some();
            let listed = config.tools.iter();
            let listed = listed.filter(|tool| !(searches && tool_search::is_of_server(tool)));
            let by_name = |name: &String| config.tools.iter().find(|tool| tool.name == *name);
            let found = found.iter().filter(|_| searches).filter_map(by_name);
            let all = listed
                .cloned()
                .chain(ask)
                .chain(delegate)
                .chain(find)
                .chain(recall)
                .chain(plan)
                .chain(wait)
                .chain(remind)
                .chain(found.cloned());
            all.filter(|tool| !left_out.contains(&tool.name)).collect()
        };
        let tokens = system.iter().map(|part| estimate_text(part)).sum::<u64>()
            + tools.iter().map(estimate_tool).sum::<u64>();
        Self {
            system,
            tools,
            tokens,
        }
    }
}

/// Standing instructions: the same in every call of a session, unless a service gives other ones.
fn system_parts(config: &AgentConfig, given: &GivenContext) -> Vec<Arc<str>> {
    let mut parts = vec![config.system_prompt.clone()];
    parts.extend(given.instructions(config));
    let is_new = config.rules_version >= since::ENVIRONMENT_IS_TOLD;
    parts.extend(config.instructions.iter().filter_map(|file| {
        if is_new && file.is_environment_context() {
            let is_demo = config.model.api == Api::Scripted;
            return (!is_demo).then(|| file.text.clone());
        }
        let heading = ["Instructions of the workspace, from", "Instructions from"][usize::from(is_new)];
        Some(Arc::from(format!("{heading} {}:\n\n{}", file.path, file.text)))
    }));
    parts.retain(|part| !part.trim().is_empty());
    parts
}
