//! A script that is a complete tool: `tools/NAME.luau`. Its first comment, if it is a block, has the other
//! keys:
//!
//! ```luau
//! --!strict
//! --[[
//! description: The weather of a city
//! params:
//!   city: {type: string, description: 北京, for example}
//! capabilities:
//!   http: [api.weather.com]
//! ]]
//! function invoke(ctx, args) … end
//! ```
//!
//! The keys are those of a tool file of `type: luau`, without `lua` and `lua_file`; `name` is the file's name
//! without its ending. A comment of plain text is the description. Lines that begin with `--` may come before
//! the block.

use agentx_config::yaml::{self, TextPosition, Yaml, YamlError, YamlKey, YamlNode};

use crate::mistake::START;
use crate::source::FileSource;

/// Returns the tree of the equivalent tool file.
pub(crate) fn tree(source: &FileSource, stem: &str) -> Result<YamlNode, YamlError> {
    let mut entries = match comment(&source.text) {
        Some(comment) => front_matter(comment)?,
        None => Vec::new(),
    };
    for key in ["lua", "lua_file"] {
        if let Some((key, _)) = entries.iter().find(|(present, _)| present.name == key) {
            let what = format!("`{}`: the script is this file", key.name);
            return Err(YamlError { at: key.at, what });
        }
    }
    let is_luau = |node: &YamlNode| matches!(&node.value, Yaml::Text(kind) if kind == "luau");
    if let Some((_, node)) = entries
        .iter()
        .find(|(key, node)| key.name == "type" && !is_luau(node))
    {
        let what = "`type`: a script has `type: luau`".into();
        return Err(YamlError { at: node.at, what });
    }
    if !entries.iter().any(|(key, _)| key.name == "name") {
        entries.push(entry("name", stem));
    }
    entries.push(entry("lua", &source.text));
    Ok(YamlNode {
        at: START,
        value: Yaml::Map(entries),
    })
}

fn entry(name: &str, text: &str) -> (YamlKey, YamlNode) {
    let key = YamlKey {
        at: START,
        name: name.to_owned(),
    };
    let value = Yaml::Text(text.to_owned());
    (key, YamlNode { at: START, value })
}

/// The text of the first block comment, with its line and column.
struct Comment<'a> {
    text: &'a str,
    line: usize,
    column: u64,
}

fn comment(text: &str) -> Option<Comment<'_>> {
    let mut offset = 0;
    for (line, words) in text.split_inclusive('\n').enumerate() {
        let bare = words.trim_start();
        let begins = offset + (words.len() - bare.len());
        if let Some(level) = long_bracket(bare) {
            // `--`, `[`, the signs between, `[`.
            let start = begins + 4 + level;
            let body = text.get(start..)?;
            let end = body.find(&format!("]{}]", "=".repeat(level)))?;
            let column = text.get(offset..start)?.chars().count() as u64;
            let text = body.get(..end)?;
            return Some(Comment { text, line, column });
        }
        if !bare.trim_end().is_empty() && !bare.starts_with("--") {
            return None;
        }
        offset += words.len();
    }
    None
}

/// For `--[==[`: how many `=`.
fn long_bracket(line: &str) -> Option<usize> {
    let rest = line.strip_prefix("--[")?;
    let level = rest.len() - rest.trim_start_matches('=').len();
    rest.get(level..)?.starts_with('[').then_some(level)
}

fn front_matter(comment: Comment<'_>) -> Result<Vec<(YamlKey, YamlNode)>, YamlError> {
    let words = comment.text.trim();
    let padded = format!("{}{}", "\n".repeat(comment.line), comment.text);
    let first_line = comment.line as u64 + 1;
    let moved = |mut at: TextPosition| {
        if at.line == first_line {
            at.column += comment.column;
        }
        at
    };
    match yaml::parse(&padded) {
        Ok(YamlNode {
            value: Yaml::Map(entries),
            ..
        }) if looks_like_keys(words) || entries.iter().all(|(key, _)| !key.name.contains(' ')) => Ok(entries
            .into_iter()
            .map(|(key, node)| {
                (
                    YamlKey {
                        at: moved(key.at),
                        ..key
                    },
                    node,
                )
            })
            .collect()),
        Err(broken) if looks_like_keys(words) => Err(YamlError {
            at: moved(broken.at),
            ..broken
        }),
        Ok(_) | Err(_) => Ok(vec![entry("description", words)]),
    }
}

/// Returns whether a text is likely meant to be YAML: words may be read as such by chance, and YAML may be
/// broken.
fn looks_like_keys(words: &str) -> bool {
    let known = [
        "name",
        "description",
        "params",
        "capabilities",
        "limits",
        "type",
        "access",
        "quit",
        "idempotent",
        "idempotency_key",
        "unknown",
    ];
    words.lines().any(|line| {
        let key = line.split_once(':').map(|(key, _)| key.trim());
        key.is_some_and(|key| known.contains(&key))
    })
}
