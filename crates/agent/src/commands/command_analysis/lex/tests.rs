//! Tables of lines and the words into which bash splits them.

use super::*;

fn words(line: &str) -> Vec<String> {
    let lexed = lex(line, true);
    let join = |command: &Vec<Word>| {
        let words = command.iter().map(|word| {
            let sign = if word.dynamic { "~" } else { "" };
            format!("{sign}{}", word.text)
        });
        words.collect::<Vec<_>>().join("|")
    };
    let targets = lexed.targets.iter().map(|word| format!("> {}", word.text));
    let inner = lexed.inner.iter().map(|inner| format!("( {}", inner.text));
    let input = lexed.input.iter().map(|text| format!("< {text}"));
    let open = lexed.unclosed.then(|| "open".to_owned());
    let commands = lexed.commands.iter().map(join);
    commands
        .chain(targets)
        .chain(inner)
        .chain(input)
        .chain(open)
        .collect()
}

#[test]
fn words_are_those_of_a_shell() {
    let cases: &[(&str, &[&str])] = &[
        (r"r\m -rf 'a b'", &["rm|-rf|a b"]),
        ("\"r\"'m' \"a\\\"b\\c\"", &[r#"rm|a"b\c"#]),
        ("r\\\nm x", &["rm|x"]),
        (r"$'\x72\155' x", &["rm|x"]),
        ("a;b&&c|d&e\nf", &["a", "b", "c", "d", "e", "f"]),
        ("a # b; c", &["a"]),
        ("a#b", &["a#b"]),
        ("a >x 2>&1 b <y", &["a|b", "> x", "> 1", "> y"]),
        ("a &>x b", &["a|b", "> x"]),
        ("a $(b \"$(c ')')\" d) e", &["a|~|e", "( b \"$(c ')')\" d"]),
        ("a `b \\`c\\``", &["a|~", "( b `c`"]),
        (
            "a <(b) $HOME \"${x:-y}\"",
            &["a|~|~$HOME|~${x:-y}", "( b", "( x:-y"],
        ),
        ("a ${x:-${y}} b", &["a|~${x:-${y}}|b", "( x:-${y}"]),
        (
            "a \"${x:-$(b }; c)${y%${z}}}\" d",
            &["a|~${x:-$(b }; c)${y%${z}}}|d", "( x:-$(b }; c)${y%${z}}"],
        ),
        // Whether a quote counts there depends on more.
        ("a \"${x:-'}\"; b", &["a|~${x:-'}", "b", "( x:-'"]),
        ("a ${x:-${y}", &["a|~${x:-${y}}", "( x:-${y}", "open"]),
        ("r{m,} *.rs [ a ]", &["~r{m,}|~*.rs|[|a|]"]),
        ("a 'b", &["a|b", "open"]),
        ("a $(b", &["a|~", "( b", "open"]),
        ("a \\", &["a"]),
        (
            "a <<E b\ndon't $(c)\nE\nd",
            &["a|b", "d", "( c", "< don't $(c)\n"],
        ),
        ("a <<-'E F'\nx\n\tE F\nb <<< 'y z'", &["a", "b", "< x\n", "< y z"]),
        ("a '' b", &["a||b"]),
    ];
    for (line, expected) in cases {
        assert_eq!(words(line), *expected, "{line:?}");
    }
}

#[test]
fn older_rules_end_an_expansion_at_its_first_brace() {
    let lexed = lex("a ${x:-${y}}", false);
    assert_eq!(lexed.commands[0][1].text, "${x:-${y}}");
    assert_eq!(lexed.inner[0].text, "x:-${y");
}
