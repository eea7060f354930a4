//! Agents of other programs, once the tools and models that there are here are known. Such a file names what
//! its own program has, so the agent goes without what there is not, instead of failing.

use agentx_agent::ask_user::ASK_USER;
use agentx_agent::remind_me::REMIND_ME;
use agentx_agent::wait::WAIT;
use agentx_agent_files::definition::ForeignChoices;
use agentx_types::{AgentConfig, ModelSpec, ToolSpec};

use crate::agent::Assembly;

impl Assembly<'_> {
    /// Applies the choices of an agent of another program, and returns its tools. The agent gets nothing that
    /// the settings do not offer.
    pub(crate) fn apply_choices(
        &self,
        config: &mut AgentConfig,
        choices: &ForeignChoices,
        depth: u32,
    ) -> Vec<ToolSpec> {
        if let Some(model) = self.chosen_model(choices) {
            config.model = model;
        }
        let is_first = depth == 0;
        config.ask_user = config.ask_user.filter(|_| is_first && choices.admits(ASK_USER));
        config.wait = self.base.wait && is_first && choices.admits(WAIT);
        config.reminders = config
            .reminders
            .take()
            .filter(|_| is_first && choices.admits(REMIND_ME));
        let built_in = self.base.built_in_agents.iter().filter(|_| is_first);
        let chosen = built_in.filter(|name| choices.delegates.contains(name));
        config.built_in_agents = chosen.cloned().collect();
        let offered = self.base.tools.iter();
        let chosen = offered.filter(|tool| {
            let is_named = choices
                .only
                .as_ref()
                .is_some_and(|only| only.contains(&tool.name));
            choices.admits(&tool.name) && (is_named || !tool.only_by_name)
        });
        chosen.cloned().collect()
    }

    /// The named model, if there is one of this name whose server can be asked.
    fn chosen_model(&self, choices: &ForeignChoices) -> Option<ModelSpec> {
        let found = (self.model)(choices.model.as_deref()?).ok();
        found.filter(|model| (self.is_connected)(model))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use agentx_agent_files::{FileOrigin, Library, LibraryOptions, MemoryFiles, Root, RootLayout};
    use agentx_types::Access;
    use serde_json::json;

    use super::*;

    /// The agent of a file of Claude Code, among three tools.
    fn assembled(front: &str) -> AgentConfig {
        let text = format!("---\nname: helper\n{front}---\nYou help.\n");
        let files: MemoryFiles = [("c/helper.md", text)].into_iter().collect();
        let roots = [Root {
            path: "c".into(),
            origin: FileOrigin::Workspace,
            layout: RootLayout::ClaudeCode,
        }];
        let library = Library::load(&roots, &files, LibraryOptions::default());
        assert_eq!(library.check(), []);
        let mut base = agentx_agent::fixtures::config();
        let tool = |name: &str| ToolSpec::new(name, "", json!({"type": "object"}), Access::Run);
        base.tools = ["read", "bash", "docs__find"].map(tool).into();
        base.built_in_agents = vec!["general".into(), "explore".into()];
        let known = |name: &str| match name {
            "opus" | "far" => Ok(ModelSpec {
                id: name.into(),
                ..base.model.clone()
            }),
            _ => Err(Vec::new()),
        };
        let assembly = Assembly {
            library: &library,
            base: &base,
            model: &known,
            address: &|_| None,
            is_connected: &|model| model.id == "opus",
            lookup: &|_| None,
        };
        assembly.agent("helper").unwrap()
    }

    fn tools(config: &AgentConfig) -> Vec<&str> {
        config.tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    #[test]
    fn an_agent_of_claude_code_gets_the_named_tools_that_there_are() {
        for (front, expected) in [
            ("tools: Bash, WebFetch, NotebookEdit\n", &["bash"][..]),
            ("tools: [Read, mcp__docs]\n", &["read", "docs__find"]),
            ("tools: []\n", &[]),
            ("", &["read", "bash", "docs__find"]),
            ("disallowedTools: Bash\n", &["read", "docs__find"]),
        ] {
            let config = assembled(front);
            assert_eq!(tools(&config), expected, "{front}");
            assert!(!config.all_tools, "{front}");
            assert_eq!(&*config.system_prompt, "You help.", "{front}");
        }
    }

    #[test]
    fn a_model_that_there_is_not_is_that_of_the_settings() {
        let own = agentx_agent::fixtures::config().model.id;
        for (front, expected) in [
            ("model: opus\n", "opus"),
            ("model: inherit\n", own.as_str()),
            ("model: sonnet\n", own.as_str()),
            // Its server has no key here.
            ("model: far\n", own.as_str()),
        ] {
            assert_eq!(assembled(front).model.id, expected, "{front}");
        }
    }

    #[test]
    fn it_delegates_only_if_its_file_says_so() {
        assert!(assembled("").built_in_agents.is_empty());
        assert_eq!(
            assembled("tools: Read, Task(Explore)\n").built_in_agents,
            ["explore"]
        );
        assert_eq!(assembled("tools: Task\n").built_in_agents, ["general", "explore"]);
    }
}
