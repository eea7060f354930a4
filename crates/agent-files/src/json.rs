//! Reads JSON to the same tree with positions as YAML. serde_json reads strings and numbers; this module
//! reads only the structure, because every key and value needs its line and column.

use agentx_config::yaml::{MAX_BYTES, TextPosition, Yaml, YamlError, YamlKey, YamlNode};

/// The largest nesting, the same as for YAML.
const MAX_DEPTH: usize = 40;

/// Reads a whole file.
pub(crate) fn parse(text: &str) -> Result<YamlNode, YamlError> {
    let mut reader = JsonReader {
        text,
        offset: 0,
        at: TextPosition { line: 1, column: 1 },
    };
    if text.len() > MAX_BYTES {
        return Err(reader.broken(format!(
            "the file has {} bytes; at most {MAX_BYTES} are read",
            text.len()
        )));
    }
    let node = reader.value(0)?;
    reader.space();
    match reader.peek() {
        None => Ok(node),
        Some(c) => Err(reader.broken(format!("expected the end of the file, found `{c}`"))),
    }
}

struct JsonReader<'a> {
    text: &'a str,
    offset: usize,
    at: TextPosition,
}

impl JsonReader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.offset..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.offset += c.len_utf8();
        if c == '\n' {
            self.at.line += 1;
            self.at.column = 1;
        } else {
            self.at.column += 1;
        }
        Some(c)
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t' | '\r' | '\n')) {
            self.next();
        }
    }

    fn broken(&self, what: impl Into<String>) -> YamlError {
        YamlError {
            at: self.at,
            what: what.into(),
        }
    }

    fn expected(&self, what: &str) -> YamlError {
        let found = self
            .peek()
            .map_or_else(|| "the end of the file".into(), |c| format!("`{c}`"));
        self.broken(format!("expected {what}, found {found}"))
    }

    fn value(&mut self, depth: usize) -> Result<YamlNode, YamlError> {
        self.space();
        if depth > MAX_DEPTH {
            return Err(self.broken(format!("nested more than {MAX_DEPTH} deep")));
        }
        let at = self.at;
        let value = match self.peek() {
            Some('{') => self.map(depth)?,
            Some('[') => self.list(depth)?,
            Some('"') => Yaml::Text(self.string()?),
            Some('-' | '0'..='9') => self.number()?,
            Some('a'..='z') => self.word()?,
            _ => return Err(self.expected("a value")),
        };
        Ok(YamlNode { at, value })
    }

    fn map(&mut self, depth: usize) -> Result<Yaml, YamlError> {
        let mut map: Vec<(YamlKey, YamlNode)> = Vec::new();
        let mut names = std::collections::BTreeSet::new();
        self.next();
        loop {
            self.space();
            match self.peek() {
                Some('}') if map.is_empty() => break,
                Some('"') => {}
                _ => return Err(self.expected("a key in quotes")),
            }
            let at = self.at;
            let name = self.string()?;
            if !names.insert(name.clone()) {
                let what = format!("duplicate mapping key: {name}");
                return Err(YamlError { at, what });
            }
            self.space();
            if self.peek() != Some(':') {
                return Err(self.expected("`:`"));
            }
            self.next();
            map.push((YamlKey { at, name }, self.value(depth + 1)?));
            if !self.more('}')? {
                return Ok(Yaml::Map(map));
            }
        }
        self.next();
        Ok(Yaml::Map(map))
    }

    fn list(&mut self, depth: usize) -> Result<Yaml, YamlError> {
        let mut list = Vec::new();
        self.next();
        self.space();
        if self.peek() == Some(']') {
            self.next();
            return Ok(Yaml::List(list));
        }
        loop {
            list.push(self.value(depth + 1)?);
            if !self.more(']')? {
                return Ok(Yaml::List(list));
            }
        }
    }

    /// Takes a comma or the end.
    fn more(&mut self, end: char) -> Result<bool, YamlError> {
        self.space();
        match self.peek() {
            Some(',') => {
                self.next();
                Ok(true)
            }
            Some(c) if c == end => {
                self.next();
                Ok(false)
            }
            _ => Err(self.expected(&format!("`,` or `{end}`"))),
        }
    }

    fn string(&mut self) -> Result<String, YamlError> {
        let (start, at) = (self.offset, self.at);
        self.next();
        loop {
            match self.next() {
                Some('"') => break,
                Some('\\') => {
                    self.next();
                }
                Some(_) => {}
                None => {
                    let what = "unclosed string".into();
                    return Err(YamlError { at, what });
                }
            }
        }
        let quoted = self.text.get(start..self.offset).unwrap_or_default();
        serde_json::from_str(quoted).map_err(|error| YamlError {
            at,
            what: message_of(&error),
        })
    }

    fn number(&mut self) -> Result<Yaml, YamlError> {
        let (start, at) = (self.offset, self.at);
        while matches!(self.peek(), Some('-' | '+' | '.' | '0'..='9' | 'e' | 'E')) {
            self.next();
        }
        let text = self.text.get(start..self.offset).unwrap_or_default();
        let number: serde_json::Number = serde_json::from_str(text).map_err(|error| YamlError {
            at,
            what: message_of(&error),
        })?;
        Ok(match number.as_i64() {
            Some(int) => Yaml::Int(int),
            None => Yaml::Float(number.as_f64().unwrap_or_default()),
        })
    }

    fn word(&mut self) -> Result<Yaml, YamlError> {
        let words = [
            ("true", Yaml::Bool(true)),
            ("false", Yaml::Bool(false)),
            ("null", Yaml::Null),
        ];
        for (word, value) in words {
            if self.rest().starts_with(word) {
                for _ in word.chars() {
                    self.next();
                }
                return Ok(value);
            }
        }
        Err(self.expected("a value"))
    }
}

/// Returns the words of serde_json without its own place.
fn message_of(error: &serde_json::Error) -> String {
    let words = error.to_string();
    match words.find(" at line ") {
        Some(end) => words.get(..end).unwrap_or_default().to_owned(),
        None => words,
    }
}
