//! Inputs that need no model.

use agentx_agent::matching::{FastPath, Intent};
use agentx_types::VarKind;
use proptest::prelude::*;
use proptest::test_runner::Config;

use crate::rules::{knowing, rule, showing, some};

fn check(rules: &[agentx_types::IntentRule], cases: &[(&str, Option<Intent>)]) {
    let path = FastPath::new(rules);
    for (input, intent) in cases {
        assert_eq!(
            path.find(input),
            intent.clone().map(|intent| vec![intent]),
            "{input:?}"
        );
    }
}

#[test]
fn words_that_mean_the_same_are_found() {
    let music = || Some(Intent::new("play_music"));
    let loud = || Some(Intent::new("volume").with("pct", 80));
    check(
        &some(),
        &[
            ("播放音乐", music()),
            (" 播放 音乐！ ", music()),
            ("「播放音乐」。", music()),
            ("大声点", loud()),
            ("播放音乐吧", None),
            ("放音乐", None),
            ("", None),
            ("！！", None),
        ],
    );
}

#[test]
fn variables_take_what_is_of_their_kind() {
    let volume = |pct| Some(Intent::new("volume").with("pct", pct));
    check(
        &some(),
        &[
            ("音量50", volume(50)),
            ("音量 ５０。", volume(50)),
            ("音量 -5", volume(-5)),
            ("音量很大", None),
            ("音量", None),
            ("30 Percent", volume(30)),
            ("percent", None),
            ("gain 1.5", Some(Intent::new("volume").with("gain", 1.5))),
            ("gain nan", None),
            ("gain1.5", None),
            ("Mute  YES!", Some(Intent::new("volume").with("mute", true))),
            ("mute maybe", None),
        ],
    );
}

#[test]
fn words_are_taken_where_there_is_one_way_to_read_them() {
    let music = |title: &str, artist: &str| {
        Some(
            Intent::new("play_music")
                .with("title", title)
                .with("artist", artist),
        )
    };
    check(
        &some(),
        &[
            (
                "Play Let It Go by Idina Menzel.",
                music("Let It Go", "Idina Menzel"),
            ),
            ("播放 贝多芬 的 《月光》", music("月光", "贝多芬")),
            ("播放贝多芬的月光", music("月光", "贝多芬")),
            // Whose moonlight of what?
            ("播放我的朋友的月光", None),
            ("play Stand by Me by Ben E. King", None),
            ("play  by ", None),
            ("playground by me", None),
        ],
    );
}

#[test]
fn two_readings_are_for_a_model() {
    let title = [("title", "曲名", VarKind::String)];
    let rules = [
        rule("a", &title, &["我想听 [title]", "同样"]),
        rule("b", &title, &["我想听 [title]", "[title] 的歌", "同样", "只有 b"]),
    ];
    let b = Intent::new("b").with("title", "猫");
    check(
        &rules,
        &[
            ("我想听猫", None),
            ("同样", None),
            ("猫的歌", Some(b)),
            ("我想听猫的歌", None),
            ("只有B", Some(Intent::new("b"))),
        ],
    );
}

#[test]
fn words_in_place_of_a_variable_count_before_it() {
    let vars = [
        ("title", "t", VarKind::String),
        ("artist", "a", VarKind::String),
        ("n", "n", VarKind::Int),
    ];
    let rules = [
        rule(
            "play",
            &vars,
            &[
                "play [title] by [artist]",
                "play something by [artist]",
                "play anything loud by [artist]",
                "放[artist]的[title]",
                "放[artist]的歌",
                "放一首[title]",
                "say [title] to [artist]",
            ],
        ),
        rule(
            "quiz",
            &vars,
            &["play [title] by heart", "say [n] to me", "say it to [n]"],
        ),
        rule("stop", &vars, &["play nothing by [artist]", "say it to [artist]"]),
    ];
    let play = |name, value: &str| Some(Intent::new("play").with(name, value));
    check(
        &rules,
        &[
            ("Play something by Satie.", play("artist", "Satie")),
            ("play anything loud by Satie", play("artist", "Satie")),
            // Of another rule too.
            (
                "play nothing by Satie",
                Some(Intent::new("stop").with("artist", "Satie")),
            ),
            ("play it by heart", Some(Intent::new("quiz").with("title", "it"))),
            ("放小明的歌", play("artist", "小明")),
            // Each has words where the other has a variable.
            ("play something by heart", None),
            // The words of one overlap the variable of the other.
            ("放一首我的歌", None),
            // Whose is it, something or Stand?
            ("play something by Stand by Me", None),
            // The same place, but not the same kind.
            ("say 5 to me", None),
            ("say it to 5", None),
            ("say it to you", Some(Intent::new("stop").with("artist", "you"))),
        ],
    );
}

#[test]
fn what_asks_for_something_else_besides_is_left_to_a_model() {
    let vars = [
        ("x", "x", VarKind::String),
        ("y", "y", VarKind::String),
        ("n", "n", VarKind::Int),
    ];
    let patterns = ["play [x] by [y]", "play [x]", "播放[x]", "来[x]"];
    let rules = [
        rule("play", &vars, &patterns),
        rule(
            "tell",
            &vars,
            &["tell me a story about [x]", "讲一个关于[x]的故事"],
        ),
        rule(
            "volume",
            &vars,
            &["volume [n]", "louder", "stop the music", "大声点", "weather"],
        ),
    ];
    let path = FastPath::new(&rules);
    for input in [
        "tell me a story about cats and play something",
        "play Clair de lune, tell me a story about cats",
        "play Clair de lune and volume 20",
        "play Clair de lune, louder",
        "play Clair de lune then stop the music",
        "播放月光，讲一个关于猫的故事",
        "播放月光然后讲一个关于猫的故事",
        "播放月光大声点",
    ] {
        assert_eq!(path.find(input), None, "{input:?}");
    }
    let play = |x: &str| Some(Intent::new("play").with("x", x));
    check(
        &rules,
        &[
            ("play Stormy Weather", play("Stormy Weather")),
            ("play a story about cats", play("a story about cats")),
            ("play the volume up", play("the volume up")),
            ("播放未来世界", play("未来世界")),
            (
                "tell me a story about Playboys",
                Some(Intent::new("tell").with("x", "Playboys")),
            ),
        ],
    );
}

#[test]
fn what_only_a_model_can_read_is_left_to_it() {
    let vars = [("title", "曲名", VarKind::String), ("n", "n", VarKind::Int)];
    let patterns = [
        "说 [title]",
        "[title]",
        "[n] [title]",
        "[n][n]",
        "第 [n] 首",
        "你好 [小明]",
        "x \u{E000} [n]",
    ];
    let rules = [knowing(rule("a", &vars, &patterns))];
    check(
        &rules,
        &[
            ("说什么", None),
            ("什么", None),
            ("你好 [小明]", None),
            ("3 什么", None),
            ("33", None),
            ("x \u{E000} 3", None),
            ("第三首", None),
            ("第3首", Some(Intent::new("a").with("n", 3))),
        ],
    );
    let long = format!("第{}首", " ".repeat(5_000));
    assert_eq!(FastPath::new(&rules).find(&long), None);
}

#[test]
fn outputs_say_what_is_filled_in() {
    let vars = [("n", "几", VarKind::Int), ("m", "m", VarKind::Int)];
    let rules = [
        rule(
            "a",
            &vars,
            &[
                "第 [n] => a: n=[几], m=7",
                "换 [n] 到 [m] => b: to=[m], from=[n]",
                "错 [n] => a: n=[别的]",
                "坏 [n] => c: n=[几]",
                "差 [n] => a: x=1",
            ],
        ),
        rule(
            "b",
            &[("from", "f", VarKind::Int), ("to", "t", VarKind::Int)],
            &[],
        ),
    ];
    check(
        &rules,
        &[
            ("第5", Some(Intent::new("a").with("n", 5).with("m", 7))),
            ("换1到2", Some(Intent::new("b").with("from", 1).with("to", 2))),
            ("错1", None),
            ("坏1", None),
            ("差1", None),
        ],
    );
}

#[test]
fn an_example_means_what_it_says() {
    let rules = [
        showing(rule("a", &[], &["同样"]), "Both, please!", "a\nb"),
        showing(rule("b", &[], &[]), "同样", "b"),
        showing(rule("c", &[], &[]), "unknown", "nobody: x=1"),
    ];
    let path = FastPath::new(&rules);
    assert_eq!(
        path.find("both,please").unwrap(),
        [Intent::new("a"), Intent::new("b")]
    );
    assert_eq!(path.find("同样"), None);
    assert_eq!(path.find("unknown"), None);
}

proptest! {
    #![proptest_config(Config { cases: 1_024, failure_persistence: None, ..Config::default() })]

    #[test]
    fn nothing_panics(pattern in "\\PC{0,20}", input in "\\PC{0,40}") {
        let vars = [("a", "甲", VarKind::String), ("n", "n", VarKind::Int)];
        let patterns = [format!("{pattern} [a] 的 [n]"), format!("[n]{pattern}[a]"), pattern.clone()];
        let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
        let path = FastPath::new(&[rule("r", &vars, &patterns)]);
        path.find(&input);
        path.find(&format!("{pattern}{input}的5"));
        path.find(&pattern);
    }

    #[test]
    fn what_is_filled_in_is_found(title in "[a-z]{1,8}( [a-z]{1,8}){0,2}", n in any::<i64>()) {
        let vars = [("title", "曲名", VarKind::String), ("n", "n", VarKind::Int)];
        let path = FastPath::new(&[rule("r", &vars, &["第 [n] 首：[title]。"])]);
        let found = path.find(&format!("第{n}首: {title}"));
        prop_assert_eq!(found.unwrap(), [Intent::new("r").with("title", title.as_str()).with("n", n)]);
    }
}
