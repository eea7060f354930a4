//! Verdicts about answers, and the bounds of schemas that come from outside.

use std::sync::Arc;

use agentx_types::AnswerSchema;
use serde_json::json;

use super::*;

fn problems(schema: Value, text: &str) -> Vec<String> {
    let answer_schema = Arc::new(AnswerSchema::new(schema));
    let (text, attempt) = (text.to_owned(), 1);
    check(&CheckAnswer {
        text,
        answer_schema,
        attempt,
    })
    .problems
}

#[test]
fn what_does_not_fit_is_told_with_its_place() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    assert_eq!(problems(schema.clone(), r#"{"n": 1}"#), Vec::<String>::new());
    assert_eq!(
        problems(schema.clone(), "Here: {\"n\": 3}."),
        Vec::<String>::new()
    );
    assert_eq!(
        problems(schema.clone(), r#"{"n": "x"}"#),
        [r#"at /n: "x" is not of type "integer""#]
    );
    assert_eq!(problems(schema.clone(), "{}"), [r#""n" is a required property"#]);
    assert!(problems(schema, "no")[0].starts_with("the answer is not JSON"));
}

#[test]
fn a_long_value_is_not_repeated() {
    let told = problems(json!({"type": "integer"}), &json!("é".repeat(5_000)).to_string());
    assert!(told[0].chars().count() <= MAX_WORD + 1, "{told:?}");
}

#[test]
fn nothing_is_fetched_for_a_schema() {
    let there = json!({"$ref": "https://example.com/schema.json"});
    assert!(check_json_schema(&there).is_err());
    assert_eq!(
        check_json_schema(&json!({"$ref": "#/$defs/a", "$defs": {"a": {}}})),
        Ok(())
    );
}

/// Definitions of which each refers twice to the next one.
fn doubling(levels: usize, keyword: &str) -> Value {
    let mut defs = serde_json::Map::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/a{}", level + 1)});
        defs.insert(format!("a{level}"), json!({keyword: [next.clone(), next]}));
    }
    defs.insert(format!("a{levels}"), json!({"type": "string"}));
    json!({"$ref": "#/$defs/a0", "$defs": defs})
}

#[test]
fn a_schema_whose_work_doubles_is_refused_at_once() {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        assert!(check_json_schema(&doubling(40, keyword)).is_err());
        let said = check_json_schema(&doubling(20, keyword)).unwrap_err();
        assert!(said.contains("50000 places"), "{said}");
        assert_eq!(
            check_json_schema(&doubling(10, keyword)),
            Ok(()),
            "a few are taken"
        );
    }
    // Each level is checked twice if the schema restricts unevaluated properties.
    let nested = (0..40).fold(
        json!({"type": "object"}),
        |inner, _| json!({"anyOf": [inner], "unevaluatedProperties": false}),
    );
    assert!(check_json_schema(&nested).unwrap_err().contains("50000 places"));
}

#[test]
fn a_schema_that_grows_with_the_value_is_stopped_there() {
    let twice = json!({"$ref": "#"});
    let schema = json!({"allOf": [{"properties": {"x": twice}}, {"properties": {"x": twice}}]});
    let mut value = json!({});
    for _ in 0..40 {
        value = json!({ "x": value });
    }
    assert_eq!(
        problems(schema.clone(), r#"{"x": {"x": {}}}"#),
        Vec::<String>::new()
    );
    let told = problems(schema, &value.to_string());
    assert!(told[0].contains("more than 1000000 steps"), "{told:?}");
}

#[test]
fn a_reference_leads_into_the_value_or_is_refused() {
    let tree = json!({"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}}});
    assert_eq!(
        problems(tree.clone(), r#"{"kids": [{"kids": []}]}"#),
        Vec::<String>::new()
    );
    assert_eq!(problems(tree, r#"{"kids": [{"kids": 1}]}"#).len(), 1);
    let loops = [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}}}),
        // One path to it descends into the value, the other does not.
        json!({"properties": {"x": {"$ref": "#/$defs/b"}}, "allOf": [{"$ref": "#/$defs/b"}],
            "$defs": {"b": {"allOf": [{"$ref": "#"}]}}}),
    ];
    for schema in loops {
        let said = check_json_schema(&schema).unwrap_err();
        assert!(said.contains("leads back to itself"), "{schema}: {said}");
    }
}

#[test]
fn references_by_anchor_id_and_escapes_are_followed() {
    let wanted = json!({"type": "integer"});
    for (reference, extra) in [
        (
            "#whole",
            json!({"$defs": {"a": {"$anchor": "whole", "type": "integer"}}}),
        ),
        (
            "urn:made-up#/$defs/a",
            json!({"$id": "urn:made-up", "$defs": {"a": wanted}}),
        ),
        ("#/$defs/a%20b", json!({"$defs": {"a b": wanted}})),
        ("#/$defs/a~1b", json!({"$defs": {"a/b": wanted}})),
    ] {
        let mut schema = extra;
        schema["properties"] = json!({"n": {"$ref": reference}});
        assert_eq!(
            problems(schema.clone(), r#"{"n": 1}"#),
            Vec::<String>::new(),
            "{reference}"
        );
        assert_eq!(problems(schema, r#"{"n": "x"}"#).len(), 1, "{reference}");
    }
}

#[test]
fn size_depth_and_patterns_have_bounds() {
    let cases = [
        (json!({"enum": ["x".repeat(300 << 10)]}), "larger than 256 KiB"),
        (
            (0..100).fold(json!({}), |inner, _| json!({"items": inner})),
            "deeper than 64",
        ),
        (
            json!({"anyOf": (0..150).map(|n| json!({"pattern": n.to_string()})).collect::<Vec<_>>()}),
            "more than 100 patterns",
        ),
        (json!({"pattern": "(a+)+\\1"}), "at /pattern"),
        (json!({"pattern": "^(?=a)"}), "without look-around"),
        (json!({"pattern": "\\p{L}{9000}"}), "at /pattern"),
        (json!({"$dynamicRef": "#x"}), "`$dynamicRef` is not supported"),
        (
            json!({"properties": {"a": {"$id": "urn:x"}}}),
            "an `$id` below the top",
        ),
        (
            json!({"$ref": "#/$defs/none"}),
            "may only lead to a place in this schema",
        ),
    ];
    for (schema, words) in cases {
        let said = check_json_schema(&schema).unwrap_err();
        assert!(said.contains(words), "{words}: {said}");
    }
    for pattern in [
        r"^[\w.+-]+@[\w-]+\.[\w.]+$",
        r"^\d{4}-\d{2}-\d{2}$",
        r"^\p{L}{1,10}$",
    ] {
        assert_eq!(
            check_json_schema(&json!({"pattern": pattern})),
            Ok(()),
            "{pattern}"
        );
    }
    // The maximum depth within both bounds, on the stack of a server's thread.
    let deep = (0..60).fold(json!({}), |inner, _| json!({"items": inner}));
    assert_eq!(
        problems(deep, &format!("{}{}", "[".repeat(60), "]".repeat(60))),
        Vec::<String>::new()
    );
}

#[test]
fn the_deepest_validation_fits_on_a_stack() {
    let chain = (0..5).fold(
        json!({"items": {"$ref": "#"}}),
        |inner, _| json!({"allOf": [inner]}),
    );
    for depth in [36, 100] {
        let told = problems(
            chain.clone(),
            &format!("{}{}", "[".repeat(depth), "]".repeat(depth)),
        );
        assert_eq!(told.is_empty(), depth == 36, "{told:?}");
    }
}

#[test]
fn a_large_answer_to_a_usual_schema_is_checked() {
    let row = json!({"type": "object", "required": ["id", "kind"], "properties": {
        "id": {"type": "string", "pattern": "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{12}$"},
        "kind": {"enum": ["a", "b", "c"]}, "n": {"type": "integer", "minimum": 0}}});
    let rows: Vec<Value> = (0..2000)
        .map(|n| json!({"id": "0123abcd-0123-0123456789ab", "kind": "b", "n": n}))
        .collect();
    let schema = json!({"type": "array", "items": row});
    assert_eq!(problems(schema, &json!(rows).to_string()), Vec::<String>::new());
}

#[test]
fn a_verdict_says_that_the_schema_cannot_be_used() {
    for schema in [json!({"type": "nonsense"}), doubling(40, "allOf")] {
        for text in ["1", "no JSON"] {
            let checked = check(&CheckAnswer {
                text: text.into(),
                answer_schema: Arc::new(AnswerSchema::new(schema.clone())),
                attempt: 1,
            });
            assert!(
                checked.invalid_schema && checked.problems.len() == 1,
                "{checked:?}"
            );
        }
    }
}

#[test]
fn repairs_have_a_maximum() {
    let with = |repairs| AnswerSchema {
        repairs,
        ..AnswerSchema::new(json!({"type": "object"}))
    };
    assert_eq!(check_answer_schema(&with(MAX_ANSWER_REPAIRS)), Ok(()));
    assert!(
        check_answer_schema(&with(u32::MAX))
            .unwrap_err()
            .contains("at most 10")
    );
}
