//! Answers that the scripted environment gives before its own: a file of them makes an agent or a flow run
//! the same way every time, without a model and without a key. It is a list; the first matching entry is the
//! answer.

use std::path::Path;

use agentx_types::{ScriptedAnswer, nearest};
use serde_json::{Map, Value};

use crate::mistake::{ConfigMistake, MistakeLocation};
use crate::origin::SourceLocation;
use crate::yaml::{Yaml, YamlNode, parse};

const KEYS: &[&str] = &["system", "input", "result", "nth", "say", "call", "calls"];

pub(crate) fn read(file: &Path, text: &str) -> Result<Vec<ScriptedAnswer>, ConfigMistake> {
    let reader = AnswerReader { file };
    let root = parse(text).map_err(|broken| reader.mistake(broken.at.line, broken.at.column, broken.what))?;
    let Yaml::List(entries) = &root.value else {
        return Err(reader.wrong(&root, "a list of answers"));
    };
    entries.iter().map(|entry| reader.answer(entry)).collect()
}

struct AnswerReader<'a> {
    file: &'a Path,
}

impl AnswerReader<'_> {
    fn answer(&self, entry: &YamlNode) -> Result<ScriptedAnswer, ConfigMistake> {
        let Yaml::Map(fields) = &entry.value else {
            return Err(self.wrong(entry, "an answer (`say`, `call`, and when it is given)"));
        };
        let mut answer = ScriptedAnswer::default();
        for (key, value) in fields {
            match key.name.as_str() {
                "system" => answer.system = Some(self.text(value)?),
                "input" => answer.input = Some(self.text(value)?),
                "result" => answer.result = Some(self.text(value)?),
                "nth" => match value.value {
                    Yaml::Int(nth) if nth > 0 => answer.nth = u64::try_from(nth).ok(),
                    _ => return Err(self.wrong(value, "a whole number from 1")),
                },
                "say" => answer.say = self.text(value)?,
                "call" => answer.calls.push(self.call(value)?),
                "calls" => match &value.value {
                    Yaml::List(calls) => {
                        for call in calls {
                            answer.calls.push(self.call(call)?);
                        }
                    }
                    _ => return Err(self.wrong(value, "a list of calls")),
                },
                other => {
                    let mut mistake =
                        self.mistake(key.at.line, key.at.column, format!("there is no key `{other}`"));
                    mistake.nearest = nearest(other, KEYS.iter().copied(), 1)
                        .first()
                        .map(|near| (*near).to_owned());
                    return Err(mistake);
                }
            }
        }
        Ok(answer)
    }

    fn call(&self, node: &YamlNode) -> Result<(String, Value), ConfigMistake> {
        let Yaml::Map(fields) = &node.value else {
            return Err(self.wrong(node, "a call (`tool` and `input`)"));
        };
        let field = |name: &str| {
            fields
                .iter()
                .find(|(key, _)| key.name == name)
                .map(|(_, value)| value)
        };
        let Some(tool) = field("tool") else {
            return Err(self.wrong(node, "a call with its `tool`"));
        };
        let input = field("input").map_or_else(|| Value::Object(Map::new()), YamlNode::to_json);
        Ok((self.text(tool)?, input))
    }

    fn text(&self, node: &YamlNode) -> Result<String, ConfigMistake> {
        match &node.value {
            Yaml::Text(text) => Ok(text.clone()),
            _ => Err(self.wrong(node, "text")),
        }
    }

    fn wrong(&self, node: &YamlNode, expected: &str) -> ConfigMistake {
        let what = format!("expected {expected}, found {}", node.value.kind());
        self.mistake(node.at.line, node.at.column, what)
    }

    fn mistake(&self, line: u64, column: u64, what: String) -> ConfigMistake {
        ConfigMistake {
            at: MistakeLocation::File(SourceLocation {
                file: self.file.into(),
                line,
                column,
            }),
            key: String::new(),
            what,
            nearest: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Vec<ScriptedAnswer>, String> {
        read(Path::new("script.yaml"), text).map_err(|mistake| mistake.to_string())
    }

    #[test]
    fn answers_are_read_in_order() {
        let read = read_text(
            "- input: '*weather*'\n  call: {tool: get_weather, input: {city: 北京, days: 2}}\n- result: '*'\n  nth: 2\n  say: Fine.\n",
        );
        let expected = vec![
            ScriptedAnswer {
                input: Some("*weather*".into()),
                calls: vec![(
                    "get_weather".into(),
                    serde_json::json!({"city": "北京", "days": 2}),
                )],
                ..ScriptedAnswer::default()
            },
            ScriptedAnswer {
                result: Some("*".into()),
                nth: Some(2),
                say: "Fine.".into(),
                ..ScriptedAnswer::default()
            },
        ];
        assert_eq!(read, Ok(expected));
    }

    #[test]
    fn mistakes_have_their_place() {
        for (text, said) in [
            (
                "say: x",
                "script.yaml:1:1: expected a list of answers, found a mapping",
            ),
            (
                "- sya: x",
                "script.yaml:1:3: there is no key `sya`; did you mean `say`?",
            ),
            ("- nth: 0", "script.yaml:1:8: expected a whole number from 1"),
            (
                "- call: {input: 1}",
                "script.yaml:1:9: expected a call with its `tool`",
            ),
        ] {
            let mistake = read_text(text).err().unwrap_or_default();
            assert!(mistake.starts_with(said), "{mistake}");
        }
    }
}
