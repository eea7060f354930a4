//! The model that answers, apart from the one that is chosen for the next call: a person can choose another
//! one in the middle of an answer, and a provider can let another one continue with it.

use crate::render::clean::visible;

/// The names of both models, as a person reads them.
#[derive(Clone, Debug, Default)]
pub(super) struct AnsweringModel {
    /// The model that the next call asks.
    chosen: String,
    /// The model that was asked, or that answers, during a call.
    current: Option<String>,
    /// Whether a person chose another model during that call.
    is_next_other: bool,
}

impl AnsweringModel {
    /// Takes the model that calls ask from now on. `is_asked` if a call has begun that asks the one before.
    pub(super) fn choose(&mut self, model: &str, is_asked: bool) {
        let before = std::mem::replace(&mut self.chosen, visible(model));
        if is_asked && before != self.chosen {
            self.current.get_or_insert(before);
            self.is_next_other = true;
        }
    }

    /// Takes the name of the model that answers. If its provider only says more, such as a date, it keeps the
    /// name by which it was asked.
    pub(super) fn answers(&mut self, model: &str) {
        let (asked, answers) = (self.current.as_ref().unwrap_or(&self.chosen), visible(model));
        let is_same = answers.contains(asked.as_str()) || asked.contains(&answers);
        self.current = Some(if is_same { asked.clone() } else { answers });
    }

    /// The call has ended.
    pub(super) fn ended(&mut self) {
        (self.current, self.is_next_other) = (None, false);
    }

    /// The model that is waited for.
    pub(super) fn name(&self) -> &str {
        self.current.as_ref().unwrap_or(&self.chosen)
    }

    /// The model that the next call asks, if that is another one because a person chose it meanwhile.
    pub(super) fn next(&self) -> Option<&str> {
        (self.is_next_other && self.chosen != self.name()).then_some(&self.chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_is_chosen_during_an_answer_is_the_next_one() {
        let mut model = AnsweringModel::default();
        model.choose("opus", false);
        assert_eq!((model.name(), model.next()), ("opus", None));
        model.choose("haiku", true);
        model.answers("opus-20260101");
        assert_eq!((model.name(), model.next()), ("opus", Some("haiku")));
        model.choose("haiku", true);
        assert_eq!(model.next(), Some("haiku"), "the same settings again");
        model.choose("opus", true);
        assert_eq!(model.next(), None, "the choice was taken back");
        model.choose("haiku", true);
        model.ended();
        assert_eq!((model.name(), model.next()), ("haiku", None));
        model.answers("sonnet");
        assert_eq!(
            (model.name(), model.next()),
            ("sonnet", None),
            "a fallback was not chosen"
        );
    }
}
