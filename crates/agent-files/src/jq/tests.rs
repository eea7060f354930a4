//! Filters give what jq gives, see nothing but their input, and always end.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{JqFilter, JqLimits};

fn all(text: &str, input: Value) -> Vec<Value> {
    let filter = JqFilter::compile(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    filter
        .run_all(&input, JqLimits::default())
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn filters_give_what_jq_gives() {
    let cases = [
        (".a", json!({"a": 1}), json!([1])),
        ("(1,2) + (10,20)", json!(null), json!([11, 12, 21, 22])),
        (
            ".a += 1 | .b *= 2",
            json!({"a": 1, "b": 2}),
            json!([{"a": 2, "b": 4}]),
        ),
        (".[] += 1", json!([1, 2]), json!([[2, 3]])),
        (
            r#"{input: .steps.search.results | join("\n")}"#,
            json!({"steps": {"search": {"results": ["a", "b"]}}}),
            json!([{"input": "a\nb"}]),
        ),
        ("[range(3)] | add", json!(null), json!([3])),
        ("[recurse] | length", json!([1, [2]]), json!([4])),
        ("[limit(3; repeat(.))]", json!(1), json!([[1, 1, 1]])),
        (". as [$a, {b: $c}] | $a + $c", json!([1, {"b": 2}]), json!([3])),
        (r#""\(.a)-\(.b)""#, json!({"a": 1, "b": "x"}), json!(["1-x"])),
        (
            "{a, \"b\", (.c): 1}",
            json!({"a": 1, "b": 2, "c": "k"}),
            json!([{"a": 1, "b": 2, "k": 1}]),
        ),
        ("[paths]", json!({"a": [1]}), json!([[["a"], ["a", 0]]])),
        ("del(.a)", json!({"a": 1, "b": 2}), json!([{"b": 2}])),
        ("map(select(. > 1))", json!([1, 2, 3]), json!([[2, 3]])),
        ("def f(x): x * 2; f(.)", json!(4), json!([8])),
        ("try error(\"x\") catch .", json!(null), json!(["x"])),
        ("to_entries | from_entries", json!({"a": 1}), json!([{"a": 1}])),
        ("@base64 | @base64d", json!("北京"), json!(["北京"])),
        ("gsub(\"a\"; \"b\")", json!("banana"), json!(["bbnbnb"])),
        (".x // \"none\"", json!({}), json!(["none"])),
        (
            "123456789012345678901234567890",
            json!(null),
            json!([1.2345678901234568e29]),
        ),
        (
            "[.[] | tostring]",
            json!([1, "a", null]),
            json!([["1", "a", "null"]]),
        ),
        ("reduce .[] as $x (0; . + $x)", json!([1, 2, 3]), json!([6])),
        ("\"ab\" * 2", json!(null), json!(["abab"])),
        (
            "walk(if type == \"number\" then . + 1 else . end)",
            json!([1, [2]]),
            json!([[2, [3]]]),
        ),
    ];
    for (text, input, wanted) in cases {
        assert_eq!(Value::Array(all(text, input)), wanted, "{text}");
    }
}

#[test]
fn mistakes_say_where_they_are() {
    let cases = [
        (".a | nonsense", 5),
        (".a | map(.b", 8),
        ("{a: }", 4),
        ("", 0),
        (".a | $nothing", 5),
        ("1 + \"\\q\"", 6),
        ("include \"x\"; .", 8),
        ("env.HOME", 0),
        ("$ENV", 0),
        (". | now", 4),
        ("halt", 0),
        ("input", 0),
        ("foo(1)", 0),
    ];
    for (text, offset) in cases {
        let error = JqFilter::compile(text).expect_err(text);
        assert_eq!(error.offset, Some(offset), "{text}: {error}");
        assert!(!error.message.contains("agentx_"), "{text}: {error}");
    }
}

#[test]
fn whatever_runs_away_is_stopped() {
    let cases = [
        "def f: f; f",
        "def f: 1 + f; f",
        "def f: try f catch f; f",
        "def f: try error catch f; f",
        "[range(1000000000000)]",
        "last(range(1000000000000))",
        "reduce range(1000) as $_ (\"x\"; . + .)",
        "reduce range(1000) as $_ (\"x\"; . += .)",
        "reduce range(1000) as $_ (\"x\"; \"\\(.)\\(.)\")",
        "reduce range(1000) as $_ ([0]; [.[], .[]])",
        "reduce range(1000) as $_ ([0]; . + .)",
        "\"x\" * 1000000000",
        "[repeat(1)]",
        "repeat(1)",
        "[recurse(.)]",
        "until(false; .)",
        "[limit(100000000; repeat(1))]",
        "reduce range(60) as $_ (1; [., .])",
        "reduce range(100000) as $_ (1; [.])",
        "def f($n): if $n == 0 then 1 else f($n - 1), f($n - 1) end; last(f(60))",
        "[range(100)] as $r | [$r[] as $a | $r[] as $b | $r[] as $c | $r[] as $d | $r[] as $e | 1]",
    ];
    for text in cases {
        let filter = JqFilter::compile(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let start = Instant::now();
        let limits = JqLimits {
            time: Duration::from_millis(200),
            ..JqLimits::default()
        };
        let ended = filter.run_all(&json!(null), limits);
        assert!(ended.is_err(), "{text}: {ended:?}");
        assert!(start.elapsed().as_secs() < 10, "{text}: {:?}", start.elapsed());
    }
}

#[test]
fn a_filter_that_is_too_much_is_refused() {
    let deep = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
    let texts = [
        deep,
        "-".repeat(5_000) + "1",
        "1+".repeat(5_000) + "1",
        "1|".repeat(5_000) + "1",
        "if ".repeat(3_000),
        " ".repeat(100_000),
    ];
    for text in texts {
        assert!(JqFilter::compile(&text).is_err());
    }
    // A text just within the bounds compiles on the stack of a test.
    for text in [
        "-".repeat(1_900) + "1",
        "1+".repeat(900) + "1",
        "try ".repeat(900) + ".",
        ". as $x|".repeat(300) + ".",
    ] {
        let _ = JqFilter::compile(&text);
    }
}

#[test]
fn several_values_are_no_result_and_none_is_null() {
    let filter = JqFilter::compile(".[]").unwrap();
    assert_eq!(filter.run(&json!([])).unwrap(), json!(null));
    assert!(
        filter
            .run(&json!([1, 2]))
            .unwrap_err()
            .message
            .contains("2 values")
    );
    assert!(filter.run(&json!(1)).unwrap_err().offset.is_none());
}

#[test]
fn what_a_filter_reads_of_its_input_is_known() {
    let reads = |text: &str| {
        let filter = JqFilter::compile(text).unwrap();
        let reads = filter.reads().iter();
        reads
            .map(|read| (read.keys.join("."), read.offset))
            .collect::<Vec<_>>()
    };
    let one = |path: &str, offset| vec![(path.to_owned(), offset)];
    assert_eq!(reads(".steps.a.text"), one("steps.a.text", 7));
    assert_eq!(reads(".steps[\"a\"][0].b"), one("steps.a", 8));
    assert_eq!(reads("{input}"), one("input", 1));
    assert_eq!(reads("[\"x\\(.steps.b // .input)\"]").len(), 2);
    assert_eq!(
        reads("if .input.a then .steps.b else {c: -.steps.d} end").len(),
        3
    );
    assert_eq!(reads(".input as $x | .steps.b").len(), 2);
    // Behind a pipe and in a call, `.` is something else.
    assert_eq!(reads(".steps.a | .text | map(.b)"), one("steps.a", 7));
    assert_eq!(reads(".input.list | map(.steps.b)"), one("input.list", 7));
    assert_eq!(reads(".steps.a |= .b"), one("steps.a", 7));
    assert_eq!(reads(".[0].a, .., .[1:]"), []);
}
