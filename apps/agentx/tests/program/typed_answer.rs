//! `agentx run --schema`: standard output is one JSON document that fits, or nothing.

use crate::common::Sandbox;

/// A demo that says these words in turn, and a schema that wants a number.
fn sandbox(said: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    let rules = said.iter().enumerate();
    let answers: String = rules
        .map(|(index, words)| format!("- nth: {}\n  say: '{words}'\n", index + 1))
        .collect();
    sandbox.write(
        "ws/schema.json",
        r#"{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}"#,
    );
    sandbox.demo(&answers, "");
    sandbox
}

#[test]
fn two_answers_that_do_not_fit_are_asked_again_and_the_third_is_printed() {
    let sandbox = sandbox(&["three", r#"{"n": "three"}"#, r#"Here you are: {"n": 3}"#]);
    let ran = sandbox.run(&["run", "--schema", "schema.json", "count"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(ran.stdout, "{\"n\":3}\n", "{ran}");
}

#[test]
fn an_answer_that_never_fits_prints_nothing_and_fails() {
    let sandbox = sandbox(&["one", "two", "three", "four"]);
    let ran = sandbox.run(&["run", "--schema", "schema.json", "count"]);
    assert_eq!(ran.code, Some(1), "{ran}");
    assert_eq!(ran.stdout, "", "{ran}");
    assert!(ran.stderr.contains("is not JSON"), "{ran}");
}

#[test]
fn a_file_that_is_not_a_schema_is_refused_before_a_model_is_asked() {
    let sandbox = sandbox(&["one"]);
    sandbox.write("ws/broken.json", "{");
    sandbox.write("ws/nonsense.json", r#"{"type": "nonsense"}"#);
    for file in ["broken.json", "nonsense.json", "missing.json"] {
        let ran = sandbox.run(&["run", "--schema", file, "count"]);
        assert_eq!(ran.code, Some(2), "{ran}");
        assert!(ran.stdout.is_empty() && ran.stderr.contains(file), "{ran}");
    }
}

#[test]
fn a_type_holds_the_answer_without_a_file() {
    let sandbox = sandbox(&[r#"{"n": 3}"#, r#"[{"n": 3}]"#]);
    let ran = sandbox.run(&["run", "--schema", "{n: integer}[]", "count"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(ran.stdout, "[{\"n\":3}]\n", "{ran}");
}

#[test]
fn a_type_with_a_mistake_is_refused_before_a_model_is_asked() {
    let sandbox = sandbox(&["one"]);
    for (kind, words) in [
        (
            "{n: int}",
            "column 5 has `int`, where one of the types string, number, integer",
        ),
        ("strings", "did you mean the type `string`?"),
        ("nonesuch", "No such file"),
    ] {
        let ran = sandbox.run(&["run", "--schema", kind, "count"]);
        assert_eq!(ran.code, Some(2), "{ran}");
        assert!(ran.stdout.is_empty() && ran.stderr.contains(words), "{ran}");
        let names_type = ["or a type, for example string[]", "the type `string`"];
        assert!(names_type.iter().any(|words| ran.stderr.contains(words)), "{ran}");
    }
}
