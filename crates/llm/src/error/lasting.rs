//! Recognises refusals that last until a person changes something: a model that a server cannot load, a
//! template that fails, a country that a provider does not serve. Servers report them as their own failure
//! (500) or as a bad request, and waiting or another form of the request changes nothing.
//!
//! Sources of the words: Ollama ("model requires more system memory (5.0 GiB) than is available (3.9 GiB)",
//! 500, <https://github.com/continuedev/continue/issues/11715>; "llama runner process has terminated: CUDA
//! error: out of memory", <https://github.com/ollama/ollama/issues/9782>; "unable to load model:
//! /…/sha256-…", 500, of a model that is newer than the server,
//! <https://github.com/ollama/ollama/issues/13194>; "unknown model architecture: 'phi3'",
//! <https://github.com/ollama/ollama/issues/4002>), LM Studio ("Model loading was stopped due to insufficient
//! system resources.", <https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1038>; "Not enough
//! resources to load the model with the current settings",
//! <https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1562>; "Failed to load the model",
//! <https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1584>), Google ("User location is not
//! supported for the API use.", 400 `FAILED_PRECONDITION`,
//! <https://github.com/google-gemini/gemini-cli/issues/24641>), OpenAI ("Country, region, or territory not
//! supported", 403 `unsupported_country_region_territory`,
//! <https://github.com/home-assistant/core/issues/120072>). Words of templates are those of `template.rs`.

use super::{ErrorCode, ModelError, template};

/// Pieces of messages about too little memory for a model, in lower case.
const MEMORY: &[&str] = &[
    "requires more system memory",
    "insufficient system resources",
    "not enough resources to load the model",
    "cuda error: out of memory",
    "cudamalloc failed: out of memory",
];

/// Pieces of messages about a model that cannot be loaded for another reason, in lower case.
const LOADING: &[&str] = &[
    "unable to load model",
    "unknown model architecture",
    "error loading model",
    "failed to load model",
    "failed to load the model",
    "not supported by your version of ollama",
];

/// Pieces of messages about the place of the caller, in lower case.
pub(super) const PLACE: &[&str] = &[
    "location is not supported for the api",
    "country, region, or territory not supported",
];

fn has(message: &str, pieces: &[&str]) -> bool {
    pieces.iter().any(|piece| message.contains(piece))
}

/// Returns whether this message, in lower case, says that the server cannot serve the model at all.
pub(super) fn is_unservable(message: &str) -> bool {
    has(message, MEMORY) || has(message, LOADING)
}

impl ModelError {
    /// Returns what a person can do about a refusal that lasts until then, if its cause is known.
    pub fn advice(&self) -> Option<&'static str> {
        let message = self.message.to_ascii_lowercase();
        if self.takes_no_tools() {
            return Some(
                "choose a model that supports tools, or set `tools.enabled: []` to work without them",
            );
        }
        match self.code {
            ErrorCode::NotFound if has(&message, MEMORY) => {
                Some("free memory there, give the model a smaller window there, or choose a smaller model")
            }
            ErrorCode::NotFound if has(&message, LOADING) => {
                Some("the server cannot load the model: see its log, update it, or choose another model")
            }
            ErrorCode::Forbidden if has(&message, PLACE) => Some(
                "the provider does not serve the region of your address or proxy: choose a model of another provider",
            ),
            ErrorCode::BadRequest if template::has_failed(&message) => Some(
                "the chat template of the model failed at its server: update the server or the model, or choose another model",
            ),
            _ => None,
        }
    }
}
