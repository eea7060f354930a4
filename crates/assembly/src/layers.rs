//! The standing instructions of an agent: its prompt, or the layers of its context in their order.

use agentx_agent_files::definition::{AgentDefinition, ContextLayer};

/// Returns the value of an environment variable, if it is set.
pub(crate) type VariableLookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Returns the text of all layers; `None` if the file has none. The error names the missing part of a layer.
pub(crate) fn instructions(
    agent: &AgentDefinition,
    text_of: &dyn Fn(&str) -> Option<String>,
    lookup: VariableLookup<'_>,
) -> Result<Option<String>, String> {
    if agent.context_layers.is_empty() {
        return Ok(agent.prompt.clone());
    }
    let mut parts = Vec::new();
    for layer in &agent.context_layers {
        match layer {
            ContextLayer::Text(text) => parts.push(text.clone()),
            ContextLayer::This(key) => match (key.trim_start_matches('.'), &agent.prompt) {
                ("prompt", Some(prompt)) => parts.push(prompt.clone()),
                ("name", _) => parts.push(agent.name.clone()),
                ("description", _) => parts.extend(agent.description.clone()),
                _ => return Err(format!("`$this: {key}` is not in the file")),
            },
            ContextLayer::Ref(name) => {
                parts.push(text_of(name).ok_or_else(|| format!("there is no context {name:?}"))?);
            }
            ContextLayer::Env(name) => {
                parts.push(lookup(name).ok_or_else(|| format!("the variable {name} is not set"))?);
            }
        }
    }
    Ok(Some(parts.join("\n\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_stand_in_their_order() {
        let agent = AgentDefinition {
            name: "guide".into(),
            prompt: Some("You guide.".into()),
            context_layers: vec![
                ContextLayer::Text("First.".into()),
                ContextLayer::This(".prompt".into()),
                ContextLayer::Ref("house".into()),
                ContextLayer::Env("MOOD".into()),
            ],
            ..AgentDefinition::default()
        };
        let text_of = |name: &str| (name == "house").then(|| "A house.".to_owned());
        let mood = |name: &str| (name == "MOOD").then(|| "glad".to_owned());
        assert_eq!(
            instructions(&agent, &text_of, &mood),
            Ok(Some("First.\n\nYou guide.\n\nA house.\n\nglad".into()))
        );
        let nothing = |_: &str| None;
        assert_eq!(
            instructions(&agent, &text_of, &nothing),
            Err("the variable MOOD is not set".into())
        );
    }
}
