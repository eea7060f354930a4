//! The JSON Schemas (2020-12) of the files, generated from the same tables that the reader uses.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::keys::key_tables::{MappingShape, Shape};
use crate::keys::tables::{AGENTS, GENERATOR, MATCH_STATE, MESSAGE, REACT_STATE, RULE, TOOLS};
use crate::read::json_schema::TYPES;
use crate::read::rules;

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The kind of file that a schema describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaOf {
    /// Agent files.
    Agent,
    /// Tool files.
    Tool,
    /// Rule files.
    Rule,
    /// Generator files.
    Generator,
}

impl SchemaOf {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Agent, Self::Tool, Self::Rule, Self::Generator];

    /// Returns the name of the file that the scaffold writes it to.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Agent => "agent.schema.json",
            Self::Tool => "tool.schema.json",
            Self::Rule => "rule.schema.json",
            Self::Generator => "generator.schema.json",
        }
    }
}

/// Returns the schema of a kind of file.
///
/// ```
/// use agentx_agent_files::{SchemaOf, schema};
/// let schema = schema(SchemaOf::Agent);
/// assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
/// ```
pub fn schema(of: SchemaOf) -> Value {
    let (title, shape) = match of {
        SchemaOf::Agent => ("An agent of AgentX", Shape::Agent),
        SchemaOf::Tool => ("A tool of AgentX", Shape::Tool),
        SchemaOf::Rule => ("A rule of AgentX", Shape::Map(&RULE)),
        SchemaOf::Generator => ("A model and its parameters", Shape::Map(&GENERATOR)),
    };
    let mut writer = SchemaWriter::default();
    let root = writer.shape(shape);
    let mut schema = json!({"$schema": DIALECT, "title": title});
    if let (Some(map), Value::Object(root)) = (schema.as_object_mut(), root) {
        map.extend(root);
        map.insert("$defs".into(), Value::Object(writer.defs));
    }
    schema
}

#[derive(Default)]
struct SchemaWriter {
    defs: Map<String, Value>,
    begun: BTreeSet<&'static str>,
}

impl SchemaWriter {
    /// Returns a definition, written once.
    fn def(&mut self, name: &'static str, make: impl FnOnce(&mut Self) -> Value) -> Value {
        if self.begun.insert(name) {
            let value = make(self);
            self.defs.insert(name.to_owned(), value);
        }
        json!({"$ref": format!("#/$defs/{name}")})
    }

    fn shape(&mut self, shape: Shape) -> Value {
        match shape {
            Shape::Map(table) => self.def(table.name, |writer| writer.table(table)),
            Shape::MapOf(shape) => json!({"type": "object", "additionalProperties": self.shape(*shape)}),
            Shape::List(shape) => json!({"type": "array", "items": self.shape(*shape)}),
            Shape::Some(shape) => json!({"type": "array", "items": self.shape(*shape), "minItems": 1}),
            Shape::Either(shapes) => self.either(shapes),
            Shape::Tool => self.def("tool", Self::tool),
            Shape::Agent => self.def("agent", |writer| writer.kinds("type", AGENTS, "react")),
            Shape::State => self.def("state", |writer| {
                writer.kinds(
                    "state_type",
                    &[("react", &REACT_STATE), ("match", &MATCH_STATE)],
                    "react",
                )
            }),
            Shape::Message => self.shape(Shape::Map(&MESSAGE)),
            _ => scalar(shape),
        }
    }

    fn table(&mut self, table: &'static MappingShape) -> Value {
        let mut properties = Map::new();
        for key in table.keys {
            let mut schema = self.shape(key.shape);
            if !key.required {
                schema = or_null(schema);
            }
            if let Some(map) = schema.as_object_mut() {
                map.insert("description".into(), key.about.into());
            }
            properties.insert(key.name.to_owned(), schema);
        }
        let required: Vec<&str> = table
            .keys
            .iter()
            .filter(|key| key.required)
            .map(|key| key.name)
            .collect();
        let mut schema =
            json!({"type": "object", "properties": properties, "additionalProperties": table.open});
        let Some(map) = schema.as_object_mut() else {
            return schema;
        };
        if !required.is_empty() {
            map.insert("required".into(), json!(required));
        }
        if !table.one_of.is_empty() {
            let choices: Vec<Value> = table
                .one_of
                .iter()
                .map(|key| json!({"required": [key]}))
                .collect();
            map.insert("oneOf".into(), Value::Array(choices));
        }
        if let Some((key, value)) = rules::schema_needed(table) {
            let condition = json!({"properties": {key: {"const": value}}, "required": [key]});
            map.insert("if".into(), condition);
            map.insert("then".into(), json!({"required": ["output_schema"]}));
        }
        schema
    }

    fn either(&mut self, shapes: &[Shape]) -> Value {
        let choices: Vec<Value> = shapes.iter().map(|shape| self.shape(*shape)).collect();
        json!({"anyOf": choices})
    }

    /// Returns a mapping whose table is chosen by a key.
    fn kinds(&mut self, key: &str, kinds: &[(&str, &'static MappingShape)], usual: &str) -> Value {
        let words: Vec<&str> = kinds.iter().map(|(kind, _)| *kind).collect();
        let choices = kinds.iter().map(|(kind, table)| {
            let given = json!({"properties": {key: {"const": kind}}, "required": [key]});
            let condition = if *kind == usual {
                json!({"anyOf": [given, {"not": {"required": [key]}}]})
            } else {
                given
            };
            json!({"if": condition, "then": self.shape(Shape::Map(table))})
        });
        let choices: Vec<Value> = choices.collect();
        json!({"type": "object", "properties": {key: {"enum": words}}, "allOf": choices})
    }

    fn tool(&mut self) -> Value {
        let words: Vec<&str> = TOOLS.iter().map(|(kind, _)| *kind).collect();
        let script = json!({"anyOf": [{"required": ["lua"]}, {"required": ["lua_file"]}]});
        let untyped = json!({"not": {"required": ["type"]}});
        let choices: Vec<Value> = TOOLS
            .iter()
            .map(|(kind, table)| {
                let given = json!({"properties": {"type": {"const": kind}}, "required": ["type"]});
                let condition = match *kind {
                    "luau" => json!({"anyOf": [given, {"allOf": [untyped, script]}]}),
                    "built-in" => json!({"anyOf": [given, {"allOf": [untyped, {"not": script}]}]}),
                    _ => given,
                };
                json!({"if": condition, "then": self.shape(Shape::Map(table))})
            })
            .collect();
        json!({"type": "object", "properties": {"type": {"enum": words}}, "allOf": choices})
    }
}

/// Allows `null` for every key: a key without a value counts as missing.
fn or_null(schema: Value) -> Value {
    json!({"anyOf": [schema, {"type": "null"}]})
}

fn scalar(shape: Shape) -> Value {
    let variable = "^[A-Za-z_][A-Za-z0-9_]*$";
    match shape {
        Shape::Words | Shape::Granted => json!({"type": "string", "pattern": "\\S"}),
        Shape::Name => {
            json!({"type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[^.\\s:/][^\\s:/]*$"})
        }
        Shape::ToolName => json!({"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"}),
        Shape::Bool => json!({"type": "boolean"}),
        Shape::Count(min, max) => json!({"type": "integer", "minimum": min, "maximum": max}),
        Shape::Temperature => {
            json!({"anyOf": [{"type": "number", "minimum": 0, "maximum": 2}, {"type": "string"}]})
        }
        Shape::Money => json!({"anyOf": [{"type": "number", "minimum": 0}, {"type": "string"}]}),
        Shape::Duration => json!({"type": "string", "pattern": "^\\s*([0-9]+\\s*(ms|s|m|min|h|d|w)\\s*)+$"}),
        Shape::Bytes => {
            json!({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[0-9]+ *([KMG]i?B|kB|B)?$"}]})
        }
        Shape::Choice(words) => json!({"enum": words}),
        Shape::Variable => json!({"type": "string", "pattern": variable}),
        Shape::Url => json!({"type": "string", "pattern": "^https?://[^@\\s]+$"}),
        Shape::This => json!({"enum": [".prompt", ".name", ".description"]}),
        Shape::Template => json!({"type": "string", "pattern": "^[^\\r\\n]*$"}),
        Shape::Secret => json!({"type": "string", "pattern": "\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}$"}),
        Shape::Schema => json!({"type": ["object", "boolean"]}),
        Shape::SchemaOrFile => json!({"type": ["object", "boolean", "string"]}),
        Shape::Params => params(),
        Shape::Pattern => {
            let line = json!({"type": "string", "pattern": "^[^\\r\\n]*\\S[^\\r\\n]*$"});
            json!({"anyOf": [line, {"type": "array", "items": line, "minItems": 2, "maxItems": 2}]})
        }
        Shape::Example => json!({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3}),
        Shape::Any => json!({}),
        _ => json!({"type": "string"}),
    }
}

fn params() -> Value {
    let kind = json!({"enum": TYPES});
    let parameter = json!({"anyOf": [kind, {"type": "object", "properties": {
        "type": {"anyOf": [kind, {"type": "array", "items": kind}]},
        "description": {"type": "string"},
        "optional": {"type": "boolean"},
        "enum": {"type": "array"},
    }}]});
    let of = |kind: Value| json!({"properties": {"type": kind}, "required": ["type"]});
    // A value that is neither a type nor a mapping does not describe a parameter.
    let mut other = of(kind);
    other["not"] = json!({"additionalProperties": {"type": ["string", "object"]}});
    let items = json!({"properties": {"items": {"type": "object"}}, "required": ["items"]});
    let array = json!({"allOf": [of(json!({"const": "array"})), items]});
    let whole = json!({"anyOf": [of(json!({"const": "object"})), other, array]});
    json!({"type": "object", "if": whole, "else": {"additionalProperties": parameter}})
}
