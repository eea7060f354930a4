//! Replaces a transformer of the older API: a tool from a file that works on text, or a model. The script's
//! side joins the pieces and sends each text, so every step of it is recorded like any other. Sound is
//! refused, because no tool handles it.

use agentx_luau_tools::{EffectError, Outcome};
use serde_json::{Value, json};

use super::file_tool_call::FileToolCall;
use super::prompt;
use super::request_text::text;

/// Words in the names of transformers for sound, and the missing part for each.
const SOUND: [(&[&str], &str); 3] = [
    (
        &["realtime", "duplex"],
        "no realtime model (speech in, speech out)",
    ),
    (&["tts", "speech", "voice", "synthesis"], "no speech synthesis"),
    (
        &[
            "asr",
            "stt",
            "transcribe",
            "transcription",
            "recognition",
            "whisper",
        ],
        "no speech recognition",
    ),
];

/// `{transformer, config: {model?, prompt?}}` → `{tool}` or `{model, system?}`.
pub(crate) fn transformer(call: &FileToolCall, asked: &Value) -> Outcome {
    let name = text(asked, "transformer");
    let config = asked.get("config").unwrap_or(&Value::Null);
    if call.shared.tool(name).is_some() {
        call.grants.tool(name)?;
        return Ok(json!({"tool": name}));
    }
    let named = text(config, "model");
    if let Some(missing) = [name, named].into_iter().find_map(missing_for) {
        return Err(EffectError::new(
            "unavailable",
            format!(
                "the transformer {:?} works on sound, and this program has {missing}: no provider here offers it. {TEXT_ONLY}",
                shown(name)
            ),
        ));
    }
    let model = match named {
        "" if call.shared.parts.known.model(name).is_some() => name,
        "" => {
            return Err(EffectError::new(
                "not_found",
                format!("there is no transformer {:?}. {TEXT_ONLY}", shown(name)),
            ));
        }
        named => named,
    };
    prompt::model(call, model)?;
    let mut made = json!({"model": model});
    let system = ["prompt", "system"]
        .into_iter()
        .find_map(|key| config.get(key)?.as_str());
    if let Some(system) = system {
        made["system"] = system.into();
    }
    Ok(made)
}

const TEXT_ONLY: &str = "Transformers work on text here: name a tool of type text_processor or generator, or a model in the \
                         configuration, `{model = \"…\", prompt = \"…\"}`";

fn shown(name: &str) -> String {
    name.chars().take(100).collect()
}

/// Returns the feature that a name needs and that is missing here.
fn missing_for(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    let words: Vec<&str> = name.split(|c: char| !c.is_alphanumeric()).collect();
    let (_, missing) = SOUND
        .iter()
        .find(|(names, _)| names.iter().any(|name| words.contains(name)))?;
    Some(missing)
}
