//! The agents of files to which an agent without a file may delegate work although nobody lists them: those
//! of the person, and those of a folder that the person trusts. Their order is that of their names, so that
//! the description of `delegate` begins alike in every session.

use agentx_agent_files::definition::{AgentDefinition, AgentUse};
use agentx_agent_files::{FileOrigin, LoadedDefinition};
use agentx_types::{AgentConfig, ToolSpec};

use crate::agent::Assembly;

/// The most agents of files that are offered without being listed. Each one's configuration is in the log of
/// the session, and its description in each request.
const MOST_OFFERED: usize = 12;
/// The most names of agents beyond them that the description of `delegate` has.
const MOST_NAMED: usize = 5;
/// The longest description of an agent, in characters.
const LONGEST: usize = 200;

impl Assembly<'_> {
    /// Completes the agents to which an agent without a file may delegate work. Those of the files `replaced`
    /// take the places of the built-in agents of these names: a name whose file cannot be used has no agent,
    /// because the built-in one may do more than the file allows. Those of the files `own` are added, except
    /// for one that cannot be used, and one of a folder that sends the work to another server.
    pub(crate) fn complete_agents(
        &self,
        mut config: AgentConfig,
        replaced: &[String],
        own: &[String],
    ) -> AgentConfig {
        config.built_in_agents.retain(|name| !replaced.contains(name));
        let listed = config.agents.iter();
        let mut uses: Vec<AgentUse> = listed.map(|agent| AgentUse::Ref(agent.name.clone())).collect();
        for name in replaced {
            let used = AgentUse::Ref(name.clone());
            if let Ok(child) = self.child(&used, FileOrigin::User, 0) {
                config.agents.push(child);
                uses.push(used);
            }
        }
        let most = uses.len() + MOST_OFFERED;
        let mut left_out = Vec::new();
        for name in own {
            let used = AgentUse::Ref(name.clone());
            let Ok(child) = self.child(&used, FileOrigin::User, 0) else {
                continue;
            };
            let is_of_folder = self.origin_of(&used, FileOrigin::User) == FileOrigin::Workspace;
            if is_of_folder && !self.hosts_elsewhere(&child, &config).is_empty() {
                continue;
            }
            if uses.len() < most {
                config.agents.push(child);
                uses.push(used);
            } else {
                left_out.push(name.as_str());
            }
        }
        let loaded = |name: &str| self.library.agents().get(name);
        let about = |name: &str| loaded(name).and_then(about_own);
        let mut more = self.delegation_tools(&uses, FileOrigin::User, &config, &about);
        if let Some(delegate) = more.iter_mut().find(|tool| tool.name == agentx_agent::DELEGATE)
            && !left_out.is_empty()
        {
            delegate.description.push_str(&in_words(&left_out));
        }
        let is_new = |tool: &&ToolSpec| more.iter().all(|new| new.name != tool.name);
        config.tools = config.tools.iter().filter(is_new).chain(&more).cloned().collect();
        config
    }
}

/// The description of an agent of a file, if the file has one.
fn about_own(loaded: &LoadedDefinition<AgentDefinition>) -> Option<String> {
    let text = summary_line(&loaded.definition);
    (!text.is_empty()).then(|| shortened(&text))
}

/// Returns the first line of an agent's description, else of its instructions.
pub(crate) fn summary_line(agent: &AgentDefinition) -> String {
    let about = agent.description.as_ref().or(agent.prompt.as_ref());
    let first = about.and_then(|text| text.trim().lines().next());
    first.unwrap_or_default().to_owned()
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// The agents that are not offered, for the model and so for the person who asks it.
fn in_words(left_out: &[&str]) -> String {
    let named = left_out.len().min(MOST_NAMED);
    let more = match left_out.len() - named {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let names = left_out[..named].join(", ");
    format!("\nNot offered, because at most {MOST_OFFERED} agents of files are: {names}{more}.")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use agentx_agent_files::{Library, LibraryOptions, MemoryFiles, Root, RootLayout};
    use agentx_types::{ModelSpec, RULES_VERSION};

    use super::*;

    /// The tool `delegate` of an agent without a file, with agents of these files besides; each has a name,
    /// the origin of its file, and its lines after the name.
    fn delegate(agents: &[(&str, FileOrigin, &str)]) -> ToolSpec {
        let folder = |origin: &FileOrigin| match origin {
            FileOrigin::User => "user",
            FileOrigin::Workspace => "folder",
        };
        let file = |(name, origin, lines): &(&str, FileOrigin, &str)| {
            let path = format!("{}/agents/{name}.yaml", folder(origin));
            (
                path,
                format!("name: {name}\ntype: react\nprompt: You help.\n{lines}"),
            )
        };
        let files: MemoryFiles = agents.iter().map(file).collect();
        let roots = [FileOrigin::Workspace, FileOrigin::User].map(|origin| Root {
            path: folder(&origin).into(),
            origin,
            layout: RootLayout::AgentX,
        });
        let library = Library::load(&roots, &files, LibraryOptions::default());
        let mut base = agentx_agent::fixtures::config();
        base.rules_version = RULES_VERSION;
        base.built_in_agents = vec!["general".into(), "explore".into()];
        let known = |name: &str| match name {
            "far" => Ok(ModelSpec {
                id: name.into(),
                ..base.model.clone()
            }),
            _ => Err(Vec::new()),
        };
        let assembly = Assembly {
            library: &library,
            base: &base,
            model: &known,
            address: &|model| Some(format!("https://{}.example", model.id)),
            is_connected: &|_| true,
            lookup: &|_| None,
        };
        let own: Vec<String> = library.agents().keys().cloned().collect();
        let config = assembly.complete_agents(base.clone(), &[], &own);
        let tool = config
            .tools
            .iter()
            .find(|tool| tool.name == agentx_agent::DELEGATE);
        tool.unwrap().clone()
    }

    #[test]
    fn agents_of_files_stand_before_the_built_in_ones_with_their_descriptions_in_the_order_of_names() {
        let tool = delegate(&[
            ("scout", FileOrigin::User, "description: Looks around.\n"),
            ("baker", FileOrigin::Workspace, ""),
        ]);
        let lines: Vec<&str> = tool.description.lines().skip(1).collect();
        let expected = [
            "- baker: You help.",
            "- scout: Looks around.",
            "- general: does any work with your tools",
            "- explore: reads and searches only",
        ];
        assert_eq!(lines, expected);
        assert_eq!(tool.input_schema["properties"]["agent"]["enum"][0], "baker");
    }

    #[test]
    fn an_agent_that_sends_the_work_elsewhere_is_offered_only_if_it_is_the_persons() {
        let far = "generator: { model: far }\n";
        let tool = delegate(&[
            ("mine", FileOrigin::User, far),
            ("theirs", FileOrigin::Workspace, far),
        ]);
        assert!(tool.description.contains("- mine:"), "{}", tool.description);
        assert!(!tool.description.contains("theirs"), "{}", tool.description);
        assert!(tool.reach.is_none());
    }

    #[test]
    fn their_number_and_length_are_bounded_and_those_left_out_are_named() {
        let names: Vec<String> = (0..20).map(|number| format!("a{number:02}")).collect();
        let long = format!("description: {}\n", "long ".repeat(100));
        let agents = names
            .iter()
            .map(|name| (name.as_str(), FileOrigin::User, long.as_str()));
        let tool = delegate(&agents.collect::<Vec<_>>());
        let offered = tool.description.lines().filter(|line| line.starts_with("- a"));
        assert_eq!(offered.clone().count(), MOST_OFFERED);
        assert!(
            offered
                .clone()
                .all(|line| line.chars().count() < LONGEST + 10 && line.ends_with('…'))
        );
        let told = "Not offered, because at most 12 agents of files are: a12, a13, a14, a15, a16 and 3 more.";
        assert!(tool.description.ends_with(told), "{}", tool.description);
    }
}
