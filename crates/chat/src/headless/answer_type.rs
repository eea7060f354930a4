//! Short forms of schemas, which stand on the command line in the place of a file.
//!
//! | written | schema |
//! | --- | --- |
//! | `string`, `number`, `integer`, `boolean`, `null`, `object`, `array` | the type of JSON Schema |
//! | `"yes"` | exactly this text |
//! | `T[]` | a list of T |
//! | `A \| B` | A or B |
//! | `(T)` | T |
//! | `{name: T, note?: U}` | an object with these fields and no others; those with `?` may be missing |

use agentx::config::nearest;
use serde_json::{Map, Value, json};

/// The types of JSON Schema.
const NAMES: [&str; 7] = [
    "string", "number", "integer", "boolean", "null", "object", "array",
];
/// The deepest nesting of a type.
const MOST_DEEP: usize = 32;

/// Returns the schema of a type; `None` if the text names a file.
///
/// # Errors
/// Returns an error if the text begins as a type and is none, with the place of the mistake.
pub(super) fn schema_of_type(text: &str) -> Option<Result<Value, String>> {
    begins_as_type(text).then(|| {
        let mut parser = TypeParser { text, at: 0 };
        let schema = parser.either(0)?;
        match parser.next_char() {
            None => Ok(schema),
            Some(_) => Err(parser.wanted("the end, `|` or `[]`")),
        }
    })
}

/// Returns the text with the name of a type in place of its misspelt first word; `None` if the word is not
/// near one, or the text looks like the path of a file.
pub(super) fn meant_type(text: &str) -> Option<String> {
    let text = text.trim();
    let end = text.find(|letter: char| !is_part_of_name(letter));
    let (word, rest) = text.split_at(end.unwrap_or(text.len()));
    if word.is_empty() || NAMES.contains(&word) || rest.starts_with(['.', '/', '\\']) {
        return None;
    }
    let near = nearest(word, NAMES, 1);
    near.first().map(|near| format!("{near}{rest}"))
}

/// Returns whether the text begins with a bracket, a quotation mark or the name of a type. A file can have
/// the name of a type in its own name: `string.json`, `object-schema`.
fn begins_as_type(text: &str) -> bool {
    let text = text.trim_start();
    let end = text.find(|letter: char| !is_part_of_name(letter));
    let (word, rest) = text.split_at(end.unwrap_or(text.len()));
    text.starts_with(['{', '(', '"']) || NAMES.contains(&word) && !rest.starts_with(['.', '/', '\\'])
}

fn is_part_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '-' | '$')
}

/// Reads a type from left to right.
struct TypeParser<'a> {
    text: &'a str,
    /// The bytes that were read.
    at: usize,
}

impl<'a> TypeParser<'a> {
    /// Reads a type, or several with `|` between them.
    fn either(&mut self, depth: usize) -> Result<Value, String> {
        if depth > MOST_DEEP {
            return Err(format!("the type is nested more than {MOST_DEEP} times"));
        }
        let mut ways = vec![self.list(depth)?];
        while self.takes('|') {
            ways.push(self.list(depth)?);
        }
        Ok(joined(ways))
    }

    /// Reads a type with `[]` behind it any number of times.
    fn list(&mut self, depth: usize) -> Result<Value, String> {
        let mut schema = self.single(depth)?;
        let mut lists = depth;
        while self.takes('[') {
            self.expect(']')?;
            lists += 1;
            if lists > MOST_DEEP {
                return Err(format!("the type is nested more than {MOST_DEEP} times"));
            }
            schema = json!({"type": "array", "items": schema});
        }
        Ok(schema)
    }

    fn single(&mut self, depth: usize) -> Result<Value, String> {
        if self.takes('{') {
            return self.object(depth);
        }
        if self.takes('(') {
            let schema = self.either(depth + 1)?;
            self.expect(')')?;
            return Ok(schema);
        }
        if self.next_char() == Some('"') {
            return self.literal();
        }
        let before = self.at;
        let name = self.name();
        if NAMES.contains(&name.as_str()) {
            return Ok(json!({"type": name}));
        }
        self.at = before;
        self.next_char();
        let types = format!("one of the types {}", NAMES.join(", "));
        if name.is_empty() {
            return Err(self.wanted(&types));
        }
        let wrong = self.wanted_for(&format!("`{name}`"), &types);
        let near = nearest(&name, NAMES, 1);
        let meant = near.first().map(|near| format!("; did you mean `{near}`?"));
        Err(wrong + &meant.unwrap_or_default())
    }

    /// Reads the fields of an object after its `{`.
    fn object(&mut self, depth: usize) -> Result<Value, String> {
        let mut properties = Map::new();
        let mut required = Vec::new();
        loop {
            let before = self.at;
            let name = self.name();
            if name.is_empty() {
                return Err(self.wanted("the name of a field"));
            }
            if properties.contains_key(&name) {
                self.at = before;
                return Err(self.wanted("a field that the object does not have yet"));
            }
            if !self.takes('?') {
                required.push(name.clone());
            }
            self.expect(':')?;
            let schema = self.either(depth + 1)?;
            properties.insert(name, schema);
            if self.takes('}') {
                break;
            }
            if !self.takes(',') {
                return Err(self.wanted("`,` or `}`"));
            }
        }
        Ok(json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        }))
    }

    /// Reads a text between quotation marks, as JSON writes it.
    fn literal(&mut self) -> Result<Value, String> {
        let rest = self.rest();
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        match values.next() {
            Some(Ok(text)) => {
                self.at += values.byte_offset();
                Ok(json!({"type": "string", "enum": [text]}))
            }
            _ => Err(self.wanted("a text that ends with a quotation mark")),
        }
    }

    /// Reads the name of a type or a field; empty if there is none.
    fn name(&mut self) -> String {
        self.next_char();
        let rest = self.rest();
        let end = rest.find(|letter| !is_part_of_name(letter));
        let name = rest[..end.unwrap_or(rest.len())].to_owned();
        self.at += name.len();
        name
    }

    fn expect(&mut self, letter: char) -> Result<(), String> {
        if self.takes(letter) {
            return Ok(());
        }
        Err(self.wanted(&format!("`{letter}`")))
    }

    /// Reads this character if it is the next one.
    fn takes(&mut self, letter: char) -> bool {
        let is_next = self.next_char() == Some(letter);
        if is_next {
            self.at += letter.len_utf8();
        }
        is_next
    }

    /// The next character after white space, which it skips.
    fn next_char(&mut self) -> Option<char> {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
        self.rest().chars().next()
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The error at the place that was reached.
    fn wanted(&mut self, what: &str) -> String {
        let found = match self.next_char() {
            Some('"') => "`\"`".to_owned(),
            Some(letter) => format!("`{}`", letter.escape_debug()),
            None => "the end".to_owned(),
        };
        self.wanted_for(&found, what)
    }

    /// The error at the place that was reached, which has `found`.
    fn wanted_for(&self, found: &str, what: &str) -> String {
        let column = self.text[..self.at].chars().count() + 1;
        format!("not a type: column {column} has {found}, where {what} is expected")
    }
}

/// One schema for a value that fits any of these.
fn joined(mut ways: Vec<Value>) -> Value {
    if ways.len() == 1 {
        return ways.remove(0);
    }
    let texts: Option<Vec<&Value>> = ways.iter().map(|way| way.get("enum")?.get(0)).collect();
    if let Some(texts) = texts {
        return json!({"type": "string", "enum": texts});
    }
    let is_plain = |way: &Value| way.as_object().is_some_and(|fields| fields.len() == 1);
    if ways.iter().all(is_plain) {
        let types: Vec<&Value> = ways.iter().filter_map(|way| way.get("type")).collect();
        if types.len() == ways.len() && types.iter().all(|kind| kind.is_string()) {
            return json!({"type": types});
        }
    }
    json!({"anyOf": ways})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_become_schemas() {
        let object = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "age": {"type": "integer"},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["name", "tags"],
            "additionalProperties": false,
        });
        for (text, schema) in [
            ("string", json!({"type": "string"})),
            (" boolean ", json!({"type": "boolean"})),
            ("object", json!({"type": "object"})),
            (
                "integer[][]",
                json!({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}),
            ),
            ("string | null", json!({"type": ["string", "null"]})),
            (
                "(number|null)[]",
                json!({"type": "array", "items": {"type": ["number", "null"]}}),
            ),
            (
                r#""yes" | "no""#,
                json!({"type": "string", "enum": ["yes", "no"]}),
            ),
            (
                "string[] | null",
                json!({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]}),
            ),
            ("{name: string, age?: integer, tags: string[]}", object.clone()),
            ("{name:string,age?:integer,tags:string[]}", object),
        ] {
            assert_eq!(schema_of_type(text), Some(Ok(schema)), "{text}");
        }
    }

    #[test]
    fn names_of_files_are_not_types() {
        for file in [
            "schema.json",
            "./string",
            "string.json",
            "string-list",
            "number_1",
            "object/a",
            "String",
            "",
        ] {
            assert_eq!(schema_of_type(file), None, "{file}");
        }
    }

    #[test]
    fn a_mistake_is_told_with_its_place() {
        let deep = format!("{}string{}", "(".repeat(40), ")".repeat(40));
        let lists = format!("string{}", "[]".repeat(40));
        for (text, words) in [
            ("string[", "column 8 has the end, where `]` is expected"),
            (
                "string list",
                "column 8 has `l`, where the end, `|` or `[]` is expected",
            ),
            (
                "{name: str}",
                "column 8 has `str`, where one of the types string, number",
            ),
            (
                "{name: string, age?: strin}",
                "column 22 has `strin`, where one of the types string, number, integer, boolean, null, \
                 object, array is expected; did you mean `string`?",
            ),
            ("{name string}", "column 7 has `s`, where `:` is expected"),
            (
                "{name: string",
                "column 14 has the end, where `,` or `}` is expected",
            ),
            (
                "{a: null, a: null}",
                "column 11 has `a`, where a field that the object",
            ),
            ("{a: null, }", "column 11 has `}`, where the name of a field"),
            ("\"yes", "column 1 has `\"`, where a text that ends"),
            ("string |", "column 9 has the end, where one of the types"),
            (&deep, "nested more than 32 times"),
            (&lists, "nested more than 32 times"),
        ] {
            let said = schema_of_type(text).and_then(Result::err).unwrap_or_default();
            assert!(said.contains(words), "{text}: {said}");
        }
    }
}
