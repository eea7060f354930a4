//! The requests in plain words. A table of phrases finds them, not a model: the result is deterministic, and
//! unknown words are reported as unknown.
//!
//! # Reading an input
//!
//! Only the first line that is not empty counts. It is split at "then" into steps, one model call each, and a
//! step at "and" into parallel calls, if each piece asks for a tool. If one piece is not understood, the
//! whole line is read as one: `write salt and pepper to a.txt` is a single file.
//!
//! Within a piece, polite words are removed, and the readers are tried in the order of their certainty: run,
//! write, replace, search, list, read. Each returns `None` for other requests.

use super::demo_intent::{DemoIntent, MAX_COUNT, ToolWish};
use super::phrase::{
    after_any, after_prefix, file_name, has_any, looks_like_path, split_last, unquoted, without_end,
    without_prefixes,
};
use super::tour;

/// Words anywhere in a text, with their intent; the first match counts. ASCII words have to be complete.
const TALK: &[(&[&str], DemoIntent)] = &[
    (
        &["api key", "apikey", "connect", "real model"],
        DemoIntent::Connect,
    ),
    (
        &["密钥", "真实模型", "真正的模型", "连接", "接入"],
        DemoIntent::Connect,
    ),
    (&["story", "故事"], DemoIntent::Story),
    (
        &["who are you", "what are you", "are you an ai", "are you real"],
        DemoIntent::Identity,
    ),
    (&["你是谁", "你是什么"], DemoIntent::Identity),
    (
        &["help", "what can you do", "what do you do", "/help"],
        DemoIntent::Help,
    ),
    (&["帮助", "能做什么", "会什么", "会做什么"], DemoIntent::Help),
    (&["thanks", "thank", "谢谢", "多谢"], DemoIntent::Thanks),
    (&["bye", "goodbye", "再见", "拜拜"], DemoIntent::Bye),
    (
        &["hello", "hi", "hey", "good morning", "good evening"],
        DemoIntent::Greet,
    ),
    (&["你好", "您好", "嗨", "早上好"], DemoIntent::Greet),
];

/// Returns the intents of an input: successive steps, each a group of parallel intents. Never empty.
pub(super) fn plan(input: &str) -> Vec<Vec<DemoIntent>> {
    let line = input
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    if let Some(steps) = tour::steps(line) {
        return steps;
    }
    let marks = [
        ", and then ",
        " and then ",
        ", then ",
        "; then ",
        " then ",
        "，然后",
        "然后",
        "，再",
    ];
    pieces(line, &marks)
        .map(|steps| steps.into_iter().map(group).collect::<Vec<_>>())
        .filter(|steps| {
            steps
                .iter()
                .all(|group| group.iter().all(|intent| *intent != DemoIntent::Unclear))
        })
        .unwrap_or_else(|| vec![group(line)])
}

/// `text` cut at `marks`; `None` if there is nothing to cut.
fn pieces<'a>(text: &'a str, marks: &[&str]) -> Option<Vec<&'a str>> {
    let cut = |text: &'a str| {
        marks
            .iter()
            .filter_map(|mark| Some((text.find(mark)?, mark.len())))
            .min()
    };
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((at, len)) = cut(rest) {
        found.push(rest[..at].trim());
        rest = &rest[at + len..];
    }
    found.push(rest.trim());
    (found.len() > 1).then_some(found)
}

/// Returns the parallel intents: several tools if every piece between "and" is a tool, else one intent.
fn group(text: &str) -> Vec<DemoIntent> {
    let together =
        pieces(text, &[" and ", "和", "并"]).map(|pieces| pieces.into_iter().map(parse).collect::<Vec<_>>());
    match together {
        Some(mut intents) => {
            let reads = matches!(intents.first(), Some(DemoIntent::Tool(ToolWish::Read { .. })));
            let names = pieces(text, &[" and ", "和", "并"]).unwrap_or_default();
            for (intent, name) in intents.iter_mut().zip(names) {
                if reads && *intent == DemoIntent::Unclear && looks_like_path(name) {
                    *intent = DemoIntent::Tool(ToolWish::Read {
                        path: name.to_owned(),
                    });
                }
            }
            let whole = parse(text);
            let takes_all = matches!(
                whole,
                DemoIntent::Tool(ToolWish::Write { .. } | ToolWish::Replace { .. }) | DemoIntent::Echo(_)
            );
            if !takes_all && intents.iter().all(|intent| matches!(intent, DemoIntent::Tool(_))) {
                return intents;
            }
            vec![whole]
        }
        None => vec![parse(text)],
    }
}

/// Returns the intent of one piece.
pub(super) fn parse(text: &str) -> DemoIntent {
    let polite = [
        "please",
        "can you",
        "could you",
        "would you",
        "now",
        "请你",
        "请",
        "麻烦你",
        "麻烦",
        "帮我",
        "你能帮我",
    ];
    let text = without_prefixes(text.trim(), &polite);
    let lower = text.to_lowercase();
    tool(text, &lower)
        .map(DemoIntent::Tool)
        .or_else(|| talk(text, &lower))
        .unwrap_or(DemoIntent::Unclear)
}

/// The tool that a piece requests. The most reliable readers are tried first.
fn tool(text: &str, lower: &str) -> Option<ToolWish> {
    run(text, lower)
        .or_else(|| write(text))
        .or_else(|| replace(text))
        .or_else(|| search(text))
        .or_else(|| list(text, lower))
        .or_else(|| read(text))
}

/// `run uname -a`, `execute the command ls`, `$ ls`, `what time is it`, `运行 ls`. The command is everything
/// that follows.
fn run(text: &str, lower: &str) -> Option<ToolWish> {
    if has_any(lower, &["what time", "what day", "几点", "星期几", "几号"]) {
        return Some(ToolWish::Run {
            command: "date".into(),
        });
    }
    let rest = after_any(text, &["run", "execute", "$", "运行", "执行"])?;
    let command = unquoted(after_any(rest, &["the command", "command", "命令", "一下"]).unwrap_or(rest));
    (!command.is_empty()).then(|| ToolWish::Run {
        command: command.to_owned(),
    })
}

/// `read a.md`, `cat a.md`, `读取 a.md`; with weaker words such as `show` or `open` only something that looks
/// like a path.
fn read(text: &str) -> Option<ToolWish> {
    let sure = after_any(text, &["read", "cat", "读取", "读一下", "读"]).and_then(file_name);
    let perhaps = after_any(
        text,
        &["show me", "show", "open", "print", "打开", "查看", "看看", "显示"],
    )
    .and_then(file_name)
    .filter(|name| looks_like_path(name));
    sure.or(perhaps).map(|path| ToolWish::Read {
        path: path.to_owned(),
    })
}

/// `list the files here`, `what files are in src`, `list *.rs files`, `ls`, `列出 src 里的文件`.
fn list(text: &str, lower: &str) -> Option<ToolWish> {
    let english = has_any(lower, &["files", "directory", "folder", "directories"])
        && has_any(lower, &["list", "what", "which", "show"]);
    let chinese =
        has_any(lower, &["文件", "目录"]) && has_any(lower, &["列出", "列一下", "有哪些", "有什么"]);
    if !(english || chinese || lower == "ls" || lower == "list") {
        return None;
    }
    let glob = text
        .split_whitespace()
        .map(|word| unquoted(without_end(word)))
        .find(|word| word.contains('*'));
    let place = split_last(text, &[" in ", " under ", " inside "])
        .and_then(|(_, place)| file_name(place))
        .filter(|place| !has_any(place, &["here", "this", "."]) && !place.contains('*'));
    let pattern = match (glob, place) {
        (Some(glob), Some(place)) => format!("{}/{glob}", place.trim_end_matches('/')),
        (Some(glob), None) => glob.to_owned(),
        (None, Some(place)) => format!("{}/*", place.trim_end_matches('/')),
        // Files here, and one level into each directory, so that directories are seen.
        (None, None) => "{*,*/*}".to_owned(),
    };
    Some(ToolWish::List { pattern })
}

/// `search for main in src`, `grep "a b"`, `在 src 里搜索 main`. A place such as `the files` is everywhere.
fn search(text: &str) -> Option<ToolWish> {
    let chinese = after_prefix(text, "在").and_then(|rest| {
        let (place, pattern) = split_last(rest, &["里搜索", "中搜索", "里查找", "中查找", "搜索", "查找"])?;
        Some((pattern, Some(place)))
    });
    let (pattern, place) = chinese.or_else(|| {
        let rest = after_any(
            text,
            &["search for", "search", "grep for", "grep", "find", "搜索", "查找"],
        )?;
        let split = split_last(rest, &[" in ", " under "]).map(|(pattern, place)| (pattern, Some(place)));
        Some(split.unwrap_or((rest, None)))
    })?;
    let pattern = unquoted(without_end(without_prefixes(
        pattern,
        &["the word", "the text", "一下"],
    )));
    let everywhere = [
        "the files",
        "all files",
        "files",
        "here",
        "this directory",
        "this folder",
        "文件",
        "这里",
        "所有文件",
    ];
    let path = place
        .filter(|place| !everywhere.contains(&without_end(place)))
        .and_then(file_name)
        .map(str::to_owned);
    (!pattern.is_empty()).then(|| ToolWish::Search {
        pattern: pattern.to_owned(),
        path,
    })
}

/// `write hello to a.txt`, `create a file a.txt with hello`, `把 你好 写到 a.txt`. The last "to" parts them.
fn write(text: &str) -> Option<ToolWish> {
    let (content, path) = if let Some(rest) = after_any(text, &["把", "将"]) {
        split_last(rest, &["写到", "写入", "写进", "保存到", "存到"])?
    } else if let Some(rest) = after_any(text, &["write", "save", "put"]) {
        split_last(rest, &[" to ", " into ", " in ", " as "])?
    } else if let Some(rest) = after_any(text, &["create", "make"]) {
        let rest = without_prefixes(rest, &["a", "the", "file", "new", "called", "named"]);
        let (path, content) = split_last(
            rest,
            &[" with the text ", " with the content ", " containing ", " with "],
        )?;
        (content, path)
    } else {
        split_last(after_prefix(text, "写")?, &["到", "进"])?
    };
    let content = unquoted(without_prefixes(content, &["the text", "文字", "文本"]));
    let path = file_name(path)?.to_owned();
    Some(ToolWish::Write {
        path,
        content: format!("{content}\n"),
    })
}

/// `replace a with b in c.txt`, `change a to b in c.txt`, `把 c.txt 里的 a 改成 b`.
fn replace(text: &str) -> Option<ToolWish> {
    let (path, old, new) = if let Some(rest) = after_any(text, &["replace", "change"]) {
        let (change, path) = split_last(rest, &[" in "])?;
        let (old, new) = split_last(change, &[" with ", " by ", " to "])?;
        (path, old, new)
    } else {
        let rest = after_any(text, &["把", "将"])?;
        let (rest, new) = split_last(rest, &["替换成", "替换为", "改成", "改为", "换成"])?;
        let (path, old) = split_last(rest, &["里面的", "里的", "中的"])?;
        (path, old, new)
    };
    let path = file_name(path)?.to_owned();
    Some(ToolWish::Replace {
        path,
        old: unquoted(old).to_owned(),
        new: unquoted(without_end(new)).to_owned(),
    })
}

/// Returns the request that needs no tool: `echo x`, `think about x`, `count to 100`, and the words of
/// [`TALK`].
fn talk(text: &str, lower: &str) -> Option<DemoIntent> {
    if let Some(rest) = after_any(
        text,
        &[
            "repeat after me",
            "echo",
            "say",
            "repeat",
            "重复",
            "复述",
            "回显",
            "说",
        ],
    ) {
        return (!rest.is_empty()).then(|| DemoIntent::Echo(unquoted(rest).to_owned()));
    }
    if let Some(rest) = after_any(
        text,
        &[
            "think about",
            "think of",
            "think",
            "想想",
            "想一想",
            "思考一下",
            "思考",
        ],
    ) {
        return Some(DemoIntent::Think(without_end(rest).to_owned()));
    }
    let count = after_any(text, &["count", "从 1 数到", "从1数到", "从一数到", "数到"]);
    if let Some(last) = count.and_then(last_number) {
        return Some(DemoIntent::Count(last.min(MAX_COUNT)));
    }
    TALK.iter()
        .find_map(|(needles, intent)| has_any(lower, needles).then(|| intent.clone()))
}

/// The last number in a text: `count from 1 to 20` counts to 20.
fn last_number(text: &str) -> Option<u32> {
    text.split(|c: char| !c.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .next_back()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(text: &str) -> ToolWish {
        match parse(text) {
            DemoIntent::Tool(wish) => wish,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn plain_words_become_tool_calls() {
        let list = |pattern: &str| ToolWish::List {
            pattern: pattern.into(),
        };
        let read = |path: &str| ToolWish::Read { path: path.into() };
        let run = |command: &str| ToolWish::Run {
            command: command.into(),
        };
        let write = |content: &str, path: &str| ToolWish::Write {
            path: path.into(),
            content: format!("{content}\n"),
        };
        let search = |pattern: &str, path: Option<&str>| ToolWish::Search {
            pattern: pattern.into(),
            path: path.map(str::to_owned),
        };
        let replace = |old: &str, new: &str, path: &str| ToolWish::Replace {
            path: path.into(),
            old: old.into(),
            new: new.into(),
        };
        let cases = [
            ("list the files here", list("{*,*/*}")),
            ("What files are in src?", list("src/*")),
            ("list *.rs files in src/", list("src/*.rs")),
            ("列出这里的文件", list("{*,*/*}")),
            ("当前目录有哪些文件？", list("{*,*/*}")),
            ("read README.md", read("README.md")),
            ("Please read the file `my notes.txt`.", read("my notes.txt")),
            ("show me Cargo.toml", read("Cargo.toml")),
            ("读取 README.md", read("README.md")),
            ("请读一下README.md", read("README.md")),
            ("run uname -a", run("uname -a")),
            ("run `echo a and b`", run("echo a and b")),
            ("运行 uname -a", run("uname -a")),
            ("what time is it?", run("date")),
            (
                "write hello world to notes.txt",
                write("hello world", "notes.txt"),
            ),
            ("create a file called a.txt with \"x y\"", write("x y", "a.txt")),
            ("把 你好 写到 a.txt", write("你好", "a.txt")),
            ("replace foo with bar in a.txt", replace("foo", "bar", "a.txt")),
            ("把 a.txt 里的 foo 改成 bar", replace("foo", "bar", "a.txt")),
            ("search for fn main in src", search("fn main", Some("src"))),
            ("grep TODO", search("TODO", None)),
            ("find \"a b\" in the files", search("a b", None)),
            ("在 src 里搜索 main", search("main", Some("src"))),
            ("搜索 main", search("main", None)),
        ];
        for (text, expected) in cases {
            assert_eq!(wish(text), expected, "{text}");
        }
    }

    #[test]
    fn talk_is_recognised() {
        let cases = [
            ("Hello!", DemoIntent::Greet),
            ("hi", DemoIntent::Greet),
            ("你好", DemoIntent::Greet),
            ("what can you do?", DemoIntent::Help),
            ("你能做什么？", DemoIntent::Help),
            ("who are you", DemoIntent::Identity),
            ("how do I connect a real model?", DemoIntent::Connect),
            ("怎么接入真实模型", DemoIntent::Connect),
            ("echo one and two", DemoIntent::Echo("one and two".into())),
            ("说 早安", DemoIntent::Echo("早安".into())),
            ("count to 500", DemoIntent::Count(500)),
            ("count from 1 to 99999999", DemoIntent::Count(MAX_COUNT)),
            ("从1数到20", DemoIntent::Count(20)),
            ("tell a long story", DemoIntent::Story),
            ("讲一个长故事", DemoIntent::Story),
            ("think about rain", DemoIntent::Think("rain".into())),
            ("thank you", DemoIntent::Thanks),
            ("bye", DemoIntent::Bye),
            ("why is the sky blue", DemoIntent::Unclear),
            ("", DemoIntent::Unclear),
        ];
        for (text, expected) in cases {
            assert_eq!(plan(text), vec![vec![expected]], "{text}");
        }
    }

    #[test]
    fn steps_and_groups_are_kept_apart() {
        let read = |path: &str| DemoIntent::Tool(ToolWish::Read { path: path.into() });
        let run = |command: &str| {
            DemoIntent::Tool(ToolWish::Run {
                command: command.into(),
            })
        };
        assert_eq!(plan("read a.md and b.md"), vec![vec![read("a.md"), read("b.md")]]);
        assert_eq!(plan("read a.md and run ls"), vec![vec![read("a.md"), run("ls")]]);
        assert_eq!(
            plan("read a.md, then run ls then say hi"),
            vec![
                vec![read("a.md")],
                vec![run("ls")],
                vec![DemoIntent::Echo("hi".into())]
            ]
        );
        assert_eq!(
            plan("读取 a.md，然后运行 ls"),
            vec![vec![read("a.md")], vec![run("ls")]]
        );
        let whole = plan("write now and then to a.txt");
        assert_eq!(
            whole,
            vec![vec![DemoIntent::Tool(ToolWish::Write {
                path: "a.txt".into(),
                content: "now and then\n".into()
            })]]
        );
    }
}
