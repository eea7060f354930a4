//! Finds agents of other programs that name a model which cannot be asked here. Such an agent uses the model
//! of the settings; `agentx agents check` says so, because its file does not.

use agentx::agent_files::Library;
use agentx::config::Settings;

use crate::render::clean::visible;

/// Returns a note, one a line, about each agent that another model answers for than the one that it names.
pub fn replaced_models(library: &Library, settings: &Settings) -> String {
    let agents = library.agents().values();
    let note = |file: &str, name: &str| {
        let why = match settings.choose_model(name, &[]) {
            Ok(model) if settings.is_connected(&model) => return String::new(),
            Ok(_) => "has no key here",
            Err(_) => "is not known here",
        };
        format!(
            "note: {}: the model `{}` {why}, so the agent uses that of the settings, {}\n",
            visible(file),
            visible(name),
            visible(&settings.model_or_default().value)
        )
    };
    agents
        .filter_map(|agent| {
            let name = agent.definition.foreign.as_ref()?.model.as_ref()?;
            Some(note(&agent.file.to_string_lossy(), name))
        })
        .collect()
}
