//! The arguments of a tool that clients of the Model Context Protocol repeat in HTTP headers, as its schema
//! names them with `x-mcp-header`. The check of files and the server both read them here, so that they agree.

use serde_json::{Map, Value};

/// The keyword that names the header of an argument.
pub const ARGUMENT_HEADER: &str = "x-mcp-header";

/// Keywords whose values are named schemas that no chain of `properties` reaches.
const NAMED_SCHEMAS: &[&str] = &[
    "$defs",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "patternProperties",
];
/// Keywords whose values are data and names, not schemas.
const DATA: &[&str] = &["const", "default", "dependentRequired", "enum", "examples"];

/// An argument that a client repeats in the header `Mcp-Param-NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentHeader {
    /// The last part of the name of the header.
    pub name: String,
    /// The names of the properties from the arguments to the value.
    pub path: Vec<String>,
}

/// Returns the arguments that the schema of a tool marks, in its order.
///
/// # Errors
/// Returns what is wrong with a mark. Clients leave out a tool with such a mark.
///
/// ```
/// use agentx_types::argument_headers;
/// use serde_json::json;
///
/// let schema = json!({"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}});
/// let found = argument_headers(&schema).unwrap();
/// assert_eq!((found[0].name.as_str(), found[0].path.as_slice()), ("Region", &["region".to_owned()][..]));
/// let schema = json!({"properties": {"price": {"type": "number", "x-mcp-header": "Price"}}});
/// assert!(argument_headers(&schema).is_err());
/// ```
pub fn argument_headers(schema: &Value) -> Result<Vec<ArgumentHeader>, String> {
    let mut found = Vec::new();
    if let Value::Object(schema) = schema {
        read_schema(schema, Some(&mut Vec::new()), &mut found)?;
    }
    Ok(found)
}

/// Reads a schema. `path` is `None` where no chain of `properties` leads.
fn read_schema(
    schema: &Map<String, Value>,
    mut path: Option<&mut Vec<String>>,
    found: &mut Vec<ArgumentHeader>,
) -> Result<(), String> {
    if let Some(mark) = schema.get(ARGUMENT_HEADER) {
        let path = path.as_deref().filter(|path| !path.is_empty());
        let Some(path) = path else {
            return Err(format!(
                "`{ARGUMENT_HEADER}` may stand only at an argument or at a property of one, not inside lists or alternatives"
            ));
        };
        let header = argument_header(schema, mark, path, found)?;
        found.push(header);
    }
    for (key, value) in schema {
        match key.as_str() {
            "properties" => read_properties(value, path.as_deref_mut(), found)?,
            key if NAMED_SCHEMAS.contains(&key) => read_properties(value, None, found)?,
            key if DATA.contains(&key) => {}
            _ => read_others(value, found)?,
        }
    }
    Ok(())
}

/// Reads schemas that stand below names.
fn read_properties(
    schemas: &Value,
    mut path: Option<&mut Vec<String>>,
    found: &mut Vec<ArgumentHeader>,
) -> Result<(), String> {
    let schemas = schemas.as_object().into_iter().flatten();
    for (name, schema) in schemas {
        let Value::Object(schema) = schema else { continue };
        let Some(path) = path.as_deref_mut() else {
            read_schema(schema, None, found)?;
            continue;
        };
        path.push(name.clone());
        read_schema(schema, Some(path), found)?;
        path.pop();
    }
    Ok(())
}

/// Reads the value of another keyword, which may be a schema or a list of schemas.
fn read_others(value: &Value, found: &mut Vec<ArgumentHeader>) -> Result<(), String> {
    match value {
        Value::Object(schema) => read_schema(schema, None, found),
        Value::Array(values) => values.iter().try_for_each(|value| read_others(value, found)),
        _ => Ok(()),
    }
}

fn argument_header(
    schema: &Map<String, Value>,
    mark: &Value,
    path: &[String],
    others: &[ArgumentHeader],
) -> Result<ArgumentHeader, String> {
    let argument = path.join(".");
    let is_of_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let name = mark.as_str().unwrap_or_default();
    if name.is_empty() || !name.bytes().all(is_of_token) {
        return Err(format!(
            "`{ARGUMENT_HEADER}` of `{argument}` must be the name of a header, such as `Region`, not {mark}"
        ));
    }
    if others.iter().any(|other| other.name.eq_ignore_ascii_case(name)) {
        return Err(format!(
            "`{ARGUMENT_HEADER}: {name}` of `{argument}` names the header of another argument"
        ));
    }
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default();
    if !["string", "integer", "boolean"].contains(&kind) {
        return Err(format!(
            "`{argument}` has `{ARGUMENT_HEADER}`, so its `type` must be `string`, `integer` or `boolean`"
        ));
    }
    Ok(ArgumentHeader {
        name: name.to_owned(),
        path: path.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn marks_are_found_along_properties() {
        let schema = json!({
            "type": "object",
            "default": {"x-mcp-header": "data"},
            "properties": {
                "x-mcp-header": {"type": "string"},
                "dry": {"type": "boolean", "x-mcp-header": "Dry-Run"},
                "place": {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}},
            },
        });
        let mut found = argument_headers(&schema).unwrap();
        found.sort_by_key(|header| header.name.clone());
        let found: Vec<_> = found
            .iter()
            .map(|header| (header.name.as_str(), header.path.join(".")))
            .collect();
        assert_eq!(
            found,
            [
                ("Dry-Run", "dry".to_owned()),
                ("Region", "place.region".to_owned())
            ]
        );
        assert_eq!(argument_headers(&json!(true)), Ok(Vec::new()));
    }

    #[test]
    fn marks_that_clients_refuse_are_errors() {
        let marked = || json!({"type": "string", "x-mcp-header": "Region"});
        for schema in [
            json!({"x-mcp-header": "Region"}),
            json!({"properties": {"a": {"type": "string", "x-mcp-header": ""}}}),
            json!({"properties": {"a": {"type": "string", "x-mcp-header": 7}}}),
            json!({"properties": {"a": {"type": "string", "x-mcp-header": "Re gion"}}}),
            json!({"properties": {"a": {"type": "string", "x-mcp-header": "Région"}}}),
            json!({"properties": {"a": {"type": "number", "x-mcp-header": "Price"}}}),
            json!({"properties": {"a": {"x-mcp-header": "Any"}}}),
            json!({"properties": {"a": marked(), "b": {"type": "string", "x-mcp-header": "REGION"}}}),
            json!({"properties": {"a": {"type": "array", "items": marked()}}}),
            json!({"anyOf": [{"properties": {"a": marked()}}]}),
            json!({"$defs": {"a": marked()}}),
            json!({"patternProperties": {"^a": marked()}}),
        ] {
            assert!(argument_headers(&schema).is_err(), "{schema}");
        }
    }
}
