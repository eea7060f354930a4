//! Rules that others wrote for the same format: they can be used unchanged, and their literal inputs are
//! found.

use std::path::{Path, PathBuf};

use agentx_agent::matching::{AnswerParser, FastPath, Finding, Intent, mistakes, prompt};
use agentx_types::{IntentExample, IntentPattern, IntentReference, IntentRule, IntentVar};
use serde_json::Value;

/// Returns the folder of the rules; `None` if it is missing. In CI, a missing folder panics.
fn folder() -> Option<PathBuf> {
    let root = std::env::var_os("AGENTX_TEST_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let rules = root.join("genx-match/rules");
    if rules.is_dir() {
        return Some(rules);
    }
    assert!(
        std::env::var_os("CI").is_none(),
        "CI needs the rules: set AGENTX_TEST_DATA"
    );
    println!("not run: rules of others (no rules at {})", rules.display());
    None
}

/// A rule and its test inputs, each with the expected values.
struct Sample {
    rule: IntentRule,
    tests: Vec<(String, Vec<(String, String)>)>,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn entries(value: &Value) -> Vec<(String, &Value)> {
    let entries = value.as_object().into_iter().flatten();
    entries.map(|(key, value)| (key.clone(), value)).collect()
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn sample(value: &Value) -> Sample {
    let var = |(name, var): (String, &Value)| IntentVar {
        name,
        label: text(&var["label"]),
        kind: serde_json::from_value(var["type"].clone()).unwrap(),
    };
    let pattern = |pattern: &Value| IntentPattern {
        input: text(pattern.get(0).unwrap_or(pattern)),
        output: pattern.get(1).map(text),
    };
    let example = |example: &Value| IntentExample {
        subject: text(&example[0]),
        input: example.get(1).map(text),
        output: example.get(2).map(text),
    };
    let reference = |(topic, said): (String, &Value)| IntentReference {
        topic,
        text: text(said),
    };
    let args = |test: &Value| {
        entries(&test["args"])
            .into_iter()
            .map(|(key, value)| (key, text(value)))
            .collect()
    };
    Sample {
        rule: IntentRule {
            name: text(&value["name"]),
            references: entries(&value["references"]).into_iter().map(reference).collect(),
            vars: entries(&value["vars"]).into_iter().map(var).collect(),
            patterns: items(&value["patterns"]).iter().map(pattern).collect(),
            examples: items(&value["examples"]).iter().map(example).collect(),
        },
        tests: items(&value["tests"])
            .iter()
            .map(|test| (text(&test["input"]), args(test)))
            .collect(),
    }
}

fn samples() -> Vec<Sample> {
    let Some(folder) = folder() else { return Vec::new() };
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let read = |path: &PathBuf| {
        // JSON is YAML.
        let value: Value = serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        sample(&value)
    };
    files.iter().map(read).collect()
}

fn rules(samples: &[Sample]) -> Vec<IntentRule> {
    samples.iter().map(|sample| sample.rule.clone()).collect()
}

/// Returns the meaning of lines if all of them match these rules and there are no notes.
fn meaning(rules: &[IntentRule], lines: &str) -> Option<Vec<Intent>> {
    let (mut parser, mut found) = (AnswerParser::default(), Vec::new());
    parser.feed(rules, lines, &mut found);
    parser.finish(rules, &mut found);
    let intent = |finding| match finding {
        Finding::Intent(intent) if intent.notes.is_empty() => Some(intent),
        _ => None,
    };
    found.into_iter().map(intent).collect()
}

#[test]
fn the_rules_can_be_used_as_they_are() {
    let samples = samples();
    let rules = rules(&samples);
    assert_eq!(mistakes(&rules), []);
    let prompt = prompt(&rules);
    for rule in &rules {
        assert!(prompt.contains(&format!("\n# {}\n", rule.name)));
        for var in &rule.vars {
            assert!(prompt.contains(&var.label), "{}", var.label);
        }
    }
}

#[test]
fn what_they_say_word_for_word_is_found() {
    let samples = samples();
    let all = rules(&samples);
    let path = FastPath::new(&all);
    for rule in &all {
        let alone = FastPath::new(std::slice::from_ref(rule));
        for pattern in rule
            .patterns
            .iter()
            .filter(|pattern| !pattern.input.contains('['))
        {
            let output = pattern.output.as_deref().unwrap_or(&rule.name);
            let expected = meaning(&all, output);
            assert!(expected.is_some(), "{output}");
            assert_eq!(alone.find(&pattern.input), expected, "{}", pattern.input);
            assert_eq!(path.find(&pattern.input), expected, "{}", pattern.input);
        }
        for example in &rule.examples {
            let (input, output) = (
                example.input.as_deref().unwrap(),
                example.output.as_deref().unwrap(),
            );
            assert_eq!(path.find(input), meaning(&all, output), "{input}");
        }
    }
}

/// The fast path may leave an input to a model, but its result never differs from the expected one.
#[test]
fn nothing_is_found_that_a_model_would_say_otherwise() {
    let samples = samples();
    let all = rules(&samples);
    let path = FastPath::new(&all);
    let mut found = 0;
    for Sample { rule, tests } in &samples {
        let alone = FastPath::new(std::slice::from_ref(rule));
        for (input, args) in tests {
            for path in [&path, &alone] {
                let Some(intents) = path.find(input) else { continue };
                found += 1;
                let written = intents.iter().map(|intent| {
                    let args = intent.args.iter();
                    let args = args.map(|(key, value)| {
                        (
                            key.clone(),
                            value.as_str().map_or(value.to_string(), str::to_owned),
                        )
                    });
                    (intent.rule.clone(), args.collect::<Vec<_>>())
                });
                assert_eq!(
                    written.collect::<Vec<_>>(),
                    [(rule.name.clone(), args.clone())],
                    "{input}"
                );
            }
        }
    }
    let inputs: usize = samples.iter().map(|sample| sample.tests.len()).sum();
    println!("{found} of {} found without a model", inputs * 2);
    assert!(samples.is_empty() || found > 20, "{found}");
}
