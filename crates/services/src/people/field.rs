//! The fields that a person may set, as data for pages: their kinds, their bounds, and the check of a value.

use std::ops::RangeInclusive;

use agentx_types::ApprovalMode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::bounds::OperatorBounds;

/// The most messages that a person may ask for.
const MOST_MESSAGES: f64 = 200.0;
/// The most rounds of tools that a person may ask for if the operator sets no limit.
const MOST_ROUNDS: f64 = 1_000.0;
/// The longest answer that a person may ask for if the operator sets none.
const MOST_TOKENS: f64 = 128_000.0;
/// The highest temperature that a provider takes.
const MOST_TEMPERATURE: f64 = 2.0;
/// The longest name of a person, in characters.
const NAME_CHARS: usize = 80;

/// The way in which a page shows a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FieldKind {
    /// A choice of `options`.
    Select,
    /// A number from `min` to `max` in steps of `step`.
    Slider,
    /// A line of text.
    Text,
}

/// A field that a person may set.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SettingField {
    /// The name.
    #[serde(skip)]
    pub key: &'static str,
    /// The way in which it is shown.
    #[serde(rename = "type")]
    pub kind: FieldKind,
    /// The description for people.
    pub about: &'static str,
    /// The words of a `select`. Left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// The smallest number of a `slider`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// The largest number of a `slider`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// The distance between two numbers of a `slider`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<f64>,
    /// The value without a person's own; `null` if there is none.
    pub default: Value,
}

impl SettingField {
    fn select(key: &'static str, about: &'static str, options: Vec<String>, default: Value) -> Self {
        Self {
            key,
            kind: FieldKind::Select,
            about,
            options,
            min: None,
            max: None,
            step: None,
            default,
        }
    }

    fn slider(
        key: &'static str,
        about: &'static str,
        range: RangeInclusive<f64>,
        step: f64,
        default: Value,
    ) -> Self {
        Self {
            kind: FieldKind::Slider,
            min: Some(*range.start()),
            max: Some(*range.end()),
            step: Some(step),
            ..Self::select(key, about, Vec::new(), default)
        }
    }

    fn text(key: &'static str, about: &'static str, default: Value) -> Self {
        Self {
            kind: FieldKind::Text,
            ..Self::select(key, about, Vec::new(), default)
        }
    }

    /// Checks a value that a person wants.
    ///
    /// # Errors
    /// Returns what is wrong and what would be right, for the person.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        match self.kind {
            FieldKind::Select => self.check_choice(value),
            FieldKind::Slider => self.check_number(value),
            FieldKind::Text => self.check_text(value),
        }
    }

    fn check_choice(&self, value: &Value) -> Result<(), String> {
        let chosen = value.as_str();
        if chosen.is_some_and(|chosen| self.options.iter().any(|option| option == chosen)) {
            return Ok(());
        }
        let many = self.options.len() > 10;
        let options = if many {
            "its `options`".to_owned()
        } else {
            self.options.join(", ")
        };
        Err(format!("`{}` takes one of {options}, not {value}", self.key))
    }

    fn check_number(&self, value: &Value) -> Result<(), String> {
        let (min, max) = (self.min.unwrap_or(f64::MIN), self.max.unwrap_or(f64::MAX));
        let is_whole = self.step.is_some_and(|step| step.fract() == 0.0);
        let kind = if is_whole { "a whole number" } else { "a number" };
        let fits = |number: f64| number >= min && number <= max && (!is_whole || number.fract() == 0.0);
        if value.as_f64().is_some_and(fits) {
            return Ok(());
        }
        Err(format!(
            "`{}` takes {kind} from {min} to {max}, not {value}",
            self.key
        ))
    }

    fn check_text(&self, value: &Value) -> Result<(), String> {
        let Some(text) = value.as_str() else {
            return Err(format!("`{}` takes a text, not {value}", self.key));
        };
        if text.chars().count() > NAME_CHARS || text.chars().any(char::is_control) {
            return Err(format!(
                "`{}` takes one line of at most {NAME_CHARS} characters",
                self.key
            ));
        }
        if self.key == "time_zone" && jiff::tz::TimeZone::get(text).is_err() {
            return Err(format!(
                "there is no time zone {text:?}; use a name such as Europe/Berlin"
            ));
        }
        Ok(())
    }
}

/// The fields of a person, with the bounds that the operator's settings leave.
pub fn fields(operator: &OperatorBounds) -> Vec<SettingField> {
    let most_rounds = operator.limits.max_iterations.map_or(MOST_ROUNDS, f64::from);
    let most_tokens = operator.max_tokens.map_or(MOST_TOKENS, |tokens| tokens as f64);
    vec![
        SettingField::text("name", "the name by which the agent knows you", Value::Null),
        SettingField::select(
            "model",
            "the model of new sessions",
            operator.models.clone(),
            json!(operator.model),
        ),
        SettingField::slider(
            "temperature",
            "how varied answers are",
            0.0..=MOST_TEMPERATURE,
            0.1,
            json!(operator.temperature),
        ),
        SettingField::slider(
            "max_tokens",
            "the longest answer, in tokens",
            1.0..=most_tokens,
            1.0,
            json!(operator.max_tokens),
        ),
        SettingField::slider(
            "history_context_size",
            "how many earlier messages the model gets",
            0.0..=MOST_MESSAGES,
            1.0,
            json!(operator.history_context_size),
        ),
        SettingField::slider(
            "max_iterations",
            "how many rounds of tools a run may have",
            1.0..=most_rounds,
            1.0,
            json!(operator.limits.max_iterations),
        ),
        SettingField::select(
            "approval",
            "what happens to calls that no rule covers",
            modes(operator.approval),
            json!(operator.approval),
        ),
        SettingField::text("time_zone", "your time zone", json!(operator.time_zone)),
    ]
}

/// The modes that are at least as strict as the operator's.
fn modes(operator: ApprovalMode) -> Vec<String> {
    let all = [
        (ApprovalMode::Auto, "auto"),
        (ApprovalMode::AcceptEdits, "accept_edits"),
        (ApprovalMode::Ask, "ask"),
        (ApprovalMode::Deny, "deny"),
    ];
    let allowed = all.iter().filter(|(mode, _)| mode.stricter(operator) == *mode);
    allowed.map(|(_, word)| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use agentx_types::Limits;

    use super::*;

    fn operator() -> OperatorBounds {
        OperatorBounds {
            models: vec!["big".into(), "small".into()],
            model: "big".into(),
            max_tokens: Some(4_096),
            limits: Limits {
                max_iterations: Some(5),
                ..Limits::default()
            },
            approval: ApprovalMode::Ask,
            ..OperatorBounds::default()
        }
    }

    fn check(key: &str, value: Value) -> Result<(), String> {
        let fields = fields(&operator());
        fields
            .iter()
            .find(|field| field.key == key)
            .unwrap()
            .check(&value)
    }

    #[test]
    fn a_person_sets_what_is_within_the_operators_bounds() {
        for (key, value) in [
            ("model", json!("small")),
            ("temperature", json!(0.8)),
            ("max_tokens", json!(4_096)),
            ("max_iterations", json!(5)),
            ("history_context_size", json!(0)),
            ("approval", json!("deny")),
            ("name", json!("Ada")),
        ] {
            assert_eq!(check(key, value.clone()), Ok(()), "{key} {value}");
        }
    }

    #[test]
    fn nothing_is_freer_than_the_operators_settings() {
        for (key, value) in [
            ("model", json!("huge")),
            ("temperature", json!(2.1)),
            ("max_tokens", json!(4_097)),
            ("max_tokens", json!(0)),
            ("max_iterations", json!(6)),
            ("max_iterations", json!(1.5)),
            ("max_iterations", Value::Null),
            ("approval", json!("auto")),
            ("name", json!("a\nb")),
            ("name", json!(1)),
            ("time_zone", json!("Nowhere/Atlantis")),
        ] {
            let refused = check(key, value.clone()).unwrap_err();
            assert!(refused.contains(key) || key == "time_zone", "{refused}");
        }
    }

    #[test]
    fn modes_are_those_that_are_as_strict_as_the_operators() {
        for (mode, words) in [
            (ApprovalMode::Auto, &["auto", "accept_edits", "ask", "deny"][..]),
            (ApprovalMode::AcceptEdits, &["accept_edits", "ask", "deny"]),
            (ApprovalMode::Ask, &["ask", "deny"]),
            (ApprovalMode::Deny, &["deny"]),
        ] {
            assert_eq!(modes(mode), words, "{mode:?}");
            assert_eq!(json!(mode), words[0], "the operator's own is the freest");
        }
    }

    #[test]
    fn a_page_gets_the_kind_and_the_bounds_of_each_field() {
        let fields = fields(&operator());
        let field = fields.iter().find(|field| field.key == "max_iterations").unwrap();
        assert_eq!(
            serde_json::to_value(field).unwrap(),
            json!({
                "type": "slider", "about": "how many rounds of tools a run may have",
                "min": 1.0, "max": 5.0, "step": 1.0, "default": 5,
            })
        );
    }

    #[test]
    fn each_field_has_what_its_schema_requires() {
        let schema = serde_json::to_value(schemars::schema_for!(SettingField)).unwrap();
        let required = schema["required"].as_array().unwrap();
        assert!(required.contains(&json!("about")), "{required:?}");
        for field in fields(&operator()) {
            let shown = serde_json::to_value(&field).unwrap();
            for name in required {
                let name = name.as_str().unwrap();
                assert!(shown.get(name).is_some(), "`{name}` is missing in {shown}");
            }
        }
    }
}
