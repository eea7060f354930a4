//! Reads the verdict of a judge: a JSON object, alone or within other text.
//!
//! | field | values | if it is missing or another |
//! | --- | --- | --- |
//! | `risk` | `low`, `medium`, `high`, `unknown` | `unknown` |
//! | `decision` | `allow`, `ask`, `refuse` | none; another word counts as `ask` |
//! | `reason` | text | a word that there is none |

use agentx_types::{JudgeDecision, RiskVerdict, SecurityRisk};
use serde_json::Value;

/// Returns the verdict in the answer of the judge with this name. An answer that cannot be read gives an
/// unknown risk.
pub fn verdict_in(name: &str, answer: &str) -> RiskVerdict {
    let Some(fields) = object_in(answer) else {
        return RiskVerdict::unknown(name, "the answer of the analyzer has no JSON object");
    };
    let word = |field: &str| {
        let value = fields.get(field).and_then(Value::as_str);
        value.map(|word| word.trim().to_ascii_lowercase())
    };
    let risk = match word("risk").as_deref() {
        Some("low") => SecurityRisk::Low,
        Some("medium") => SecurityRisk::Medium,
        Some("high") => SecurityRisk::High,
        _ => SecurityRisk::Unknown,
    };
    let decision = word("decision").map(|word| match word.as_str() {
        "allow" => JudgeDecision::Allow,
        "refuse" | "deny" => JudgeDecision::Refuse,
        _ => JudgeDecision::Ask,
    });
    let reason = fields
        .get("reason")
        .and_then(Value::as_str)
        .unwrap_or("it gave no reason");
    RiskVerdict {
        analyzer: name.to_owned(),
        risk,
        reason: reason.to_owned(),
        decision,
    }
}

/// The JSON object in a text: from its first `{` to its last `}`.
fn object_in(text: &str) -> Option<serde_json::Map<String, Value>> {
    let (from, to) = (text.find('{')?, text.rfind('}')?);
    match serde_json::from_str(text.get(from..=to)?) {
        Ok(Value::Object(fields)) => Some(fields),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_read_and_nothing_unreadable_allows() {
        use JudgeDecision::{Allow, Ask, Refuse};
        use SecurityRisk::{High, Low, Unknown};
        for (answer, risk, decision) in [
            (
                r#"{"risk": "low", "decision": "allow", "reason": "r"}"#,
                Low,
                Some(Allow),
            ),
            (
                "```json\n{\"risk\": \"HIGH\", \"decision\": \"refuse\"}\n```",
                High,
                Some(Refuse),
            ),
            (r#"{"risk": "low"}"#, Low, None),
            (r#"{"risk": "tiny", "decision": "permit"}"#, Unknown, Some(Ask)),
            ("ALLOW", Unknown, None),
            ("} {", Unknown, None),
            ("{\"risk\": \"low\", \"decision\": \"allow\"", Unknown, None),
            (r#"{"risk": "low"} {"decision": "allow"}"#, Unknown, None),
            ("", Unknown, None),
        ] {
            let verdict = verdict_in("model", answer);
            assert_eq!((verdict.risk, verdict.decision), (risk, decision), "{answer}");
        }
    }
}
