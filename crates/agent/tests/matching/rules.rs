//! Rules to test with.

use agentx_types::{IntentExample, IntentPattern, IntentReference, IntentRule, IntentVar, VarKind};

pub(crate) fn rule(name: &str, vars: &[(&str, &str, VarKind)], patterns: &[&str]) -> IntentRule {
    let var = |(name, label, kind): &(&str, &str, VarKind)| IntentVar {
        name: (*name).into(),
        label: (*label).into(),
        kind: *kind,
    };
    // The text after `=>` is the meaning of the pattern.
    let pattern = |pattern: &&str| {
        let (input, output) = pattern
            .split_once("=>")
            .map_or((*pattern, None), |(i, o)| (i, Some(o)));
        IntentPattern {
            input: input.trim().into(),
            output: output.map(|output| output.trim().into()),
        }
    };
    IntentRule {
        name: name.into(),
        vars: vars.iter().map(var).collect(),
        patterns: patterns.iter().map(pattern).collect(),
        ..IntentRule::default()
    }
}

/// The same with knowledge.
pub(crate) fn knowing(mut rule: IntentRule) -> IntentRule {
    rule.references.push(IntentReference {
        topic: "names".into(),
        text: "in capitals".into(),
    });
    rule
}

/// The same with an example.
pub(crate) fn showing(mut rule: IntentRule, input: &str, output: &str) -> IntentRule {
    rule.examples.push(IntentExample {
        subject: "so".into(),
        input: Some(input.into()),
        output: Some(output.into()),
    });
    rule
}

/// Music and volume.
pub(crate) fn some() -> Vec<IntentRule> {
    let words = [
        ("title", "曲名", VarKind::String),
        ("artist", "音乐家", VarKind::String),
    ];
    let numbers = [
        ("pct", "百分比", VarKind::Int),
        ("gain", "gain", VarKind::Float),
        ("mute", "静音", VarKind::Bool),
    ];
    vec![
        rule(
            "play_music",
            &words,
            &["播放音乐", "play [title] by [artist]", "播放 [artist] 的 [title]"],
        ),
        rule(
            "volume",
            &numbers,
            &[
                "音量 [pct]",
                "大声点 => volume: pct=80",
                "gain [gain]",
                "mute [mute]",
                "[pct] percent",
            ],
        ),
        rule("nothing", &[], &["你好 [其他名字]"]),
    ]
}
