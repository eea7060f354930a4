//! Agents and tools in files that the person has not trusted: notes and errors that name them, so that a
//! missing agent or tool does not look like a misspelt one.

use std::collections::BTreeSet;

use agentx::agent_files::Library;
use agentx::assembly::whole_library;
use agentx::config::Settings;
use agentx::node::built_in_tools;
use agentx::runtime::RuntimeError;

use crate::error::ChatError;
use crate::render::clean::visible;

/// Returns the names of the agents of a library.
pub fn agent_names(library: &Library) -> BTreeSet<String> {
    library.agents().keys().cloned().collect()
}

/// Returns the names that the folder's files describe and that are not used, because the person has not
/// trusted these files. `names` takes the names out of a library.
fn untrusted_names(
    library: Option<&Library>,
    settings: &Settings,
    names: impl Fn(&Library) -> BTreeSet<String>,
) -> BTreeSet<String> {
    let Some(library) = library else {
        return BTreeSet::new();
    };
    let all = names(&whole_library(settings, &built_in_tools()));
    all.difference(&names(library)).cloned().collect()
}

/// Returns the error for an agent or tool that exists only in files that the person has not trusted, or
/// `None` if `name` is not one of them.
pub fn untrusted_error(
    kind: &str,
    name: &str,
    library: Option<&Library>,
    settings: &Settings,
    names: impl Fn(&Library) -> BTreeSet<String>,
) -> Option<ChatError> {
    let is_untrusted = untrusted_names(library, settings, names).contains(name);
    is_untrusted.then(|| {
        ChatError::usage(
            format!("the {kind} {name:?} is in a file of this folder that you have not trusted"),
            "`agentx config trust --show` lists what the folder contains, `agentx config trust` trusts all of it",
        )
    })
}

/// Replaces the error about an unknown agent if a file that is not trusted describes the agent.
pub fn unless_untrusted(error: ChatError, library: Option<&Library>, settings: &Settings) -> ChatError {
    let untrusted = match &error {
        ChatError::Runtime(RuntimeError::UnknownAgent { agent, .. }) => {
            untrusted_error("agent", agent, library, settings, agent_names)
        }
        _ => None,
    };
    untrusted.unwrap_or(error)
}

/// Returns a note for the person that names the parts that are not used because their files are untrusted.
/// `names` takes the names out of a library.
pub fn not_trusted(
    library: Option<&Library>,
    settings: &Settings,
    names: impl Fn(&Library) -> BTreeSet<String>,
) -> String {
    let left: Vec<String> = untrusted_names(library, settings, names)
        .iter()
        .map(|name| visible(name))
        .collect();
    if left.is_empty() {
        String::new()
    } else {
        format!(
            "note: not used, because the files are not trusted: {}\n\
             hint: `agentx config trust --show` lists what the folder contains, `agentx config trust` trusts all of it\n",
            left.join(", ")
        )
    }
}
