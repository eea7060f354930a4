//! The settings of one person, and what follows from them within the operator's bounds.

use std::collections::BTreeMap;

use agentx_types::{AgentConfig, ApprovalMode, stricter_limit};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::bounds::OperatorBounds;
use super::field::{SettingField, fields};

/// The settings of one person: only what they changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PersonSettings {
    /// Values by the names of their fields.
    pub config: BTreeMap<String, Value>,
    /// Prompts by the names of their modules.
    pub prompts: BTreeMap<String, String>,
}

impl PersonSettings {
    /// The values that count: those of fields that exist, as far as the operator's bounds still allow them.
    pub fn values(&self, operator: &OperatorBounds) -> PersonValues {
        let fields = fields(operator);
        let counts = |field: &&SettingField| {
            let own = self.config.get(field.key);
            own.is_some_and(|value| field.check(value).is_ok())
        };
        let own = fields.iter().filter(counts);
        PersonValues(
            own.filter_map(|field| Some((field.key, self.config.get(field.key)?.clone())))
                .collect(),
        )
    }

    /// The name that the person gave themselves.
    pub fn name(&self) -> Option<&str> {
        let name = self.config.get("name")?.as_str()?.trim();
        (!name.is_empty()).then_some(name)
    }

    /// The time zone that the person chose.
    pub fn time_zone(&self) -> Option<&str> {
        self.config.get("time_zone")?.as_str()
    }
}

/// The values of a person that count.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PersonValues(pub BTreeMap<&'static str, Value>);

impl PersonValues {
    /// The model that the person chose.
    pub fn model(&self) -> Option<&str> {
        self.0.get("model")?.as_str()
    }

    /// Applies the values to the agent of a new session, except the model, which the caller resolves. Limits
    /// and the approval mode only become stricter.
    pub fn apply(&self, config: &mut AgentConfig) {
        let count = |key: &str| self.0.get(key).and_then(whole);
        let small = |key: &str| count(key).and_then(|count| u32::try_from(count).ok());
        if let Some(temperature) = self.0.get("temperature").and_then(Value::as_f64) {
            config.params.temperature = Some(temperature);
        }
        config.params.max_output_tokens = count("max_tokens").or(config.params.max_output_tokens);
        config.limits.max_iterations = stricter_limit(config.limits.max_iterations, small("max_iterations"));
        config.history_messages = small("history_context_size").or(config.history_messages);
        let mode = self
            .0
            .get("approval")
            .and_then(|mode| serde_json::from_value(mode.clone()).ok());
        config.approval = config.approval.stricter(mode.unwrap_or(ApprovalMode::Auto));
    }
}

/// A whole number; pages may write it as `5.0`.
fn whole(value: &Value) -> Option<u64> {
    let number = value
        .as_f64()
        .filter(|number| number.fract() == 0.0 && *number >= 0.0)?;
    value.as_u64().or(Some(number as u64))
}

#[cfg(test)]
mod tests {
    use agentx_types::{Api, Limits, ModelSpec, Prices};
    use serde_json::json;

    use super::*;

    fn config() -> AgentConfig {
        let mut config = AgentConfig::react(ModelSpec {
            id: "big".into(),
            provider: "mock".into(),
            api: Api::Scripted,
            context_window: 100_000,
            max_output_tokens: 1_000,
            prices: Prices::default(),
            input: None,
            server: None,
            assumes_output: false,
            name: None,
        });
        config.limits.max_iterations = Some(5);
        config.history_messages = Some(20);
        config
    }

    fn applied(operator: &OperatorBounds, config_of_person: Value) -> AgentConfig {
        let person = PersonSettings {
            config: serde_json::from_value(config_of_person).unwrap(),
            prompts: BTreeMap::new(),
        };
        let mut config = config();
        person.values(operator).apply(&mut config);
        config
    }

    #[test]
    fn nexus_2_the_history_context_size_of_a_person_is_applied() {
        let operator = OperatorBounds::default();
        let changed = applied(&operator, json!({"history_context_size": 8, "temperature": 0.5}));
        assert_eq!(changed.history_messages, Some(8));
        assert_eq!(changed.params.temperature, Some(0.5));
        assert_eq!(applied(&operator, json!({})), config(), "nothing of their own");
    }

    #[test]
    fn a_value_from_before_the_operator_became_stricter_does_not_count() {
        let operator = OperatorBounds {
            limits: Limits {
                max_iterations: Some(3),
                ..Limits::default()
            },
            approval: ApprovalMode::Deny,
            ..OperatorBounds::default()
        };
        let changed = applied(
            &operator,
            json!({"max_iterations": 4, "approval": "auto", "unknown": 1}),
        );
        assert_eq!(changed, config());
    }

    #[test]
    fn limits_and_modes_only_become_stricter() {
        let operator = OperatorBounds {
            approval: ApprovalMode::Auto,
            ..OperatorBounds::default()
        };
        let changed = applied(&operator, json!({"max_iterations": 900, "approval": "auto"}));
        assert_eq!(changed.limits.max_iterations, Some(5), "that of the agent itself");
        assert_eq!(changed.approval, ApprovalMode::Ask);
        let changed = applied(&operator, json!({"max_iterations": 2.0, "approval": "deny"}));
        assert_eq!(changed.limits.max_iterations, Some(2));
        assert_eq!(changed.approval, ApprovalMode::Deny);
    }
}
