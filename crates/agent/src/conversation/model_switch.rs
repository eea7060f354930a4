//! The repairs for one model only. A request to another model contains the parts that its predecessor
//! refused, because the new one may read pictures, or its template may support tools. The agent remembers
//! which pictures a model refused, because it would refuse them again.
//!
//! The parts return, and the refused pictures are remembered, when `config_changed` names another model or
//! provider (`another_model`).

use agentx_types::{AgentConfig, ModelSpec, since};

use super::Conversation;
use super::repairs::{ALL, MediaOf, Repairs};

/// The maximum number of models to remember; the latest stay.
const MOST: usize = 8;

impl Conversation {
    /// Switches to another model: requests again contain parts that only the former server refused.
    ///
    /// From version 8 of the rules on, repairs that no answer has confirmed are dropped as well; from version
    /// 7 on, the left-out pictures are remembered for each model separately.
    pub(super) fn another_model(&mut self, before: &ModelSpec, config: &AgentConfig) {
        if config.rules_version >= since::OTHER_MODELS_ARE_ASKED_ANEW {
            if let Some(confirmed) = self.before_repairs.take() {
                self.repairs = confirmed;
                self.prefix.clear();
            }
            self.repairs.plain = false;
        }
        self.send_in_full_again(config);
        self.repairs.another_model();
        let latest = self.latest();
        self.repairs.forget_refused_kinds(latest);
        if config.rules_version >= since::PICTURES_BY_MODEL {
            self.repairs.keep_media_of(before);
            self.repairs.take_media_of(&config.model);
            // The requests from before the repairs were made for the former model.
            self.before_repairs = None;
        }
    }
}

impl Repairs {
    /// Drops the repairs of one server. Thinking stays left out, and repairs of pictures are kept elsewhere.
    fn another_model(&mut self) {
        self.roles = false;
        self.answer = None;
        self.without.clear();
        self.tools.clear();
        if self.tool_calls == ALL {
            self.tool_calls = 0;
        }
    }

    /// Remembers the pictures that this model refused, and sends all of them again. The oldest of more than
    /// eight models is forgotten.
    fn keep_media_of(&mut self, model: &ModelSpec) {
        let (media, media_of, most_media) = (
            std::mem::take(&mut self.media),
            std::mem::take(&mut self.media_of),
            self.most_media.take(),
        );
        self.media_of_others.retain(|other| !other.is_of(model));
        if media == 0 && media_of.is_empty() && most_media.is_none() {
            return;
        }
        if self.media_of_others.len() >= MOST {
            self.media_of_others.remove(0);
        }
        self.media_of_others.push(MediaOf {
            provider: model.provider.clone(),
            model: model.id.clone(),
            media,
            media_of,
            most_media,
        });
    }

    /// Leaves out the pictures that this model is known to refuse.
    fn take_media_of(&mut self, model: &ModelSpec) {
        if let Some(at) = self.media_of_others.iter().position(|other| other.is_of(model)) {
            let other = self.media_of_others.remove(at);
            (self.media, self.media_of, self.most_media) = (other.media, other.media_of, other.most_media);
        }
    }
}
