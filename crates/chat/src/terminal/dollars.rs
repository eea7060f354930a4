//! The name and the unit of money in JSON for programs: `cost_usd`, a number of dollars, as in the results of
//! runs. Stored values have `cost`, an integer of billionths of a dollar, which stays beside it.

use agentx::types::NanoUsd;
use serde_json::Value;

/// Adds `cost_usd` to an object with a `cost`, or to each object of a list.
pub(crate) fn add_dollars(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(add_dollars),
        Value::Object(object) => {
            if let Some(cost) = object.get("cost").and_then(Value::as_u64) {
                object.insert("cost_usd".to_owned(), NanoUsd(cost).as_usd().into());
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cost_stands_beside_its_dollars() {
        let mut list = json!([{"cost": 345_853_000, "title": "a"}, {"title": "b"}, "c"]);
        add_dollars(&mut list);
        assert_eq!(
            list,
            json!([{"cost": 345_853_000, "cost_usd": 0.345_853, "title": "a"}, {"title": "b"}, "c"])
        );
        let mut free = json!({"cost": 0});
        add_dollars(&mut free);
        assert_eq!(free, json!({"cost": 0, "cost_usd": 0.0}));
    }
}
