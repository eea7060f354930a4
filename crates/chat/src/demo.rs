//! The built-in demo: a script that answers if no model is connected. It is in no catalog.

use agentx::config::{SCRIPTED_MODEL, Settings};
use agentx::types::{Api, ModelSpec};

/// Returns whether this is the name of the offline demo.
pub fn is_demo(model: &str) -> bool {
    model == SCRIPTED_MODEL || model == "demo"
}

/// A note for a person who gets the demo without asking for it.
pub fn note_of_demo(settings: &Settings, model: &ModelSpec) -> Option<&'static str> {
    let is_wanted = settings.model.as_ref().is_some_and(|model| is_demo(&model.value));
    let is_demo = model.api == Api::Scripted && settings.scripted_answers.is_empty();
    (is_demo && !is_wanted).then_some(
        "note: the offline demo answers, which is a script, not a model; set ANTHROPIC_API_KEY or \
         OPENAI_API_KEY, or configure a server (`agentx help settings`)\n",
    )
}
