//! Checks whether a model accepts images before a request is sent. Otherwise its provider would refuse the
//! request and each later call of the conversation. If the model of a conversation changes,
//! `agentx_llm::build` omits the images that the conversation already has, and mentions them to the model.

use agentx_types::{AgentConfig, AgentKind, ContentPart, InputMedium, PictureLimits};

use crate::api::ModelInfo;

/// Maximum number of models with image input that a message names.
const NAMED: usize = 4;

/// The reason why the agent's model cannot read this content; `None` if it can, or if that is unknown.
/// `known` are the models that could be used instead.
pub fn cannot_see(config: &AgentConfig, content: &[ContentPart], known: &[ModelInfo]) -> Option<String> {
    let has_picture = content.iter().any(|part| matches!(part, ContentPart::Image(_)));
    has_picture.then(|| takes_no_pictures(config, known)).flatten()
}

/// The reason why a request to the agent's model holds not even the pictures of this message alone; `None` if
/// it does.
pub fn do_not_fit(config: &AgentConfig, content: &[ContentPart]) -> Option<String> {
    // Another model than a router's own answers.
    let is_asked = config.kind == AgentKind::React;
    is_asked
        .then(|| PictureLimits::of(&config.model).excess(content))
        .flatten()
}

/// The reason if the agent's model is known to take no pictures, with the `known` models that do.
pub fn takes_no_pictures(config: &AgentConfig, known: &[ModelInfo]) -> Option<String> {
    // A router's own model only chooses; another one answers.
    if config.kind != AgentKind::React || !config.model.refuses(InputMedium::Image) {
        return None;
    }
    let sees = |info: &&ModelInfo| {
        let input = info.spec.input.as_ref();
        info.missing.is_none() && input.is_some_and(|media| media.contains(&InputMedium::Image))
    };
    let names: Vec<&str> = known.iter().filter(sees).map(|info| &*info.spec.id).collect();
    let who = match names.len() {
        0 => String::new(),
        n if n > NAMED => format!("; {} and {} more do", names[..NAMED].join(", "), n - NAMED),
        _ => format!("; {} would", names.join(", ")),
    };
    Some(format!("{} does not accept images{who}", config.model.id))
}

#[cfg(test)]
mod tests {
    use agentx_types::{MediaPart, MediaSource, ModelSpec};

    use super::*;

    fn model(id: &str, input: Option<Vec<InputMedium>>, missing: Option<&str>) -> ModelInfo {
        let spec = ModelSpec {
            id: id.into(),
            input,
            ..agentx_agent::fixtures::config().model
        };
        ModelInfo {
            spec,
            aliases: Vec::new(),
            missing: missing.map(str::to_owned),
        }
    }

    #[test]
    fn who_sees_is_named_and_what_nobody_knows_is_allowed() {
        let sees = || Some(vec![InputMedium::Image]);
        let known = [
            model("eye", sees(), None),
            model("keyless", sees(), Some("set KEY")),
            model("blind", Some(Vec::new()), None),
            model("unknown", None, None),
        ];
        let picture = [ContentPart::Image(MediaPart {
            media_type: "image/png".into(),
            source: MediaSource::Base64(String::new()),
            name: None,
        })];
        let told = |info: &ModelInfo, content: &[ContentPart]| {
            let config = AgentConfig {
                model: info.spec.clone(),
                ..agentx_agent::fixtures::config()
            };
            cannot_see(&config, content, &known)
        };
        assert_eq!(
            told(&known[2], &picture).as_deref(),
            Some("blind does not accept images; eye would")
        );
        assert_eq!(told(&known[2], &[ContentPart::text("words")]), None);
        assert_eq!(
            (told(&known[0], &picture), told(&known[3], &picture)),
            (None, None)
        );
    }
}
