//! A change of an agent as a client sends it. Its limits have to be an object: a list would be read as limits
//! without names, and an empty one as no limits. Fields that do not exist are refused where the request is
//! read ([`check_fields`](crate::known_fields::check_fields)).

use agentx_runtime::RuntimeError;
use agentx_types::ConfigChange;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::problems::remote;

/// The limits of a run.
const LIMITS: [&str; 4] = ["max_iterations", "max_tokens", "max_cost", "max_wall_ms"];

/// A change whose limits may be none.
pub(crate) struct SentChange {
    change: ConfigChange,
    /// The mistake in its limits.
    wrong: Option<String>,
}

impl SentChange {
    /// Returns the change.
    ///
    /// # Errors
    /// Returns `bad_request` with the mistake in the limits.
    pub(crate) fn known(self) -> Result<ConfigChange, RuntimeError> {
        match self.wrong {
            None => Ok(self.change),
            Some(what) => Err(remote("bad_request", &what)),
        }
    }
}

/// Returns the mistake in the limits of a change, which are an object.
fn wrong_limits(limits: &Value) -> Option<String> {
    let what = || format!("`limits` must be an object; the limits are {}", LIMITS.join(", "));
    (!limits.is_object()).then(what)
}

impl<'de> Deserialize<'de> for SentChange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let sent = Value::deserialize(deserializer)?;
        let wrong = sent.get("limits").and_then(wrong_limits);
        let change =
            serde_path_to_error::deserialize(sent).map_err(|error| match error.path().to_string() {
                path if path == "." => D::Error::custom(error.inner()),
                path => D::Error::custom(format!("{path}: {}", error.inner())),
            })?;
        Ok(Self { change, wrong })
    }
}

#[cfg(test)]
mod tests {
    use agentx_types::Limits;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_limits_that_are_known_are_those_that_there_are() {
        let all = json!({"max_iterations": 1, "max_tokens": 1, "max_cost": 1, "max_wall_ms": 1});
        let limits: Limits = serde_json::from_value(all.clone()).unwrap();
        assert_eq!(serde_json::to_value(limits).unwrap(), all);
        let mut names: Vec<&String> = all.as_object().unwrap().keys().collect();
        let mut known = LIMITS;
        names.sort();
        known.sort_unstable();
        assert_eq!(names, known);
    }

    #[test]
    fn limits_that_are_no_object_are_refused() {
        let read = |sent: Value| serde_json::from_value::<SentChange>(sent).unwrap().known();
        for list in [json!([]), json!([5]), json!([5, 1, 1, 1])] {
            let refused = read(json!({ "limits": list })).unwrap_err();
            assert!(refused.to_string().contains("must be an object"), "{refused}");
        }
        assert!(read(json!({"limits": {"max_cost": 1}})).is_ok());
        let wrong = serde_json::from_value::<SentChange>(json!({"limits": {"max_cost": "much"}}));
        assert!(wrong.is_err_and(|wrong| wrong.to_string().starts_with("limits.max_cost: ")));
    }
}
