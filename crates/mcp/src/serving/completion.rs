//! `completion/complete`: what an argument of a prompt, or of the address of a session, may be.

use serde_json::{Map, Value, json};

use super::message::{INTERNAL_ERROR, INVALID_PARAMS};
use super::refusal::McpRefusal;
use super::{ServedParts, prompts};

/// The addresses of sessions, with the argument `id`.
pub(super) const SESSION_TEMPLATE: &str = "agentx://sessions/{id}";

/// The maximum number of values of an answer, as the protocol says.
const MOST: usize = 100;

/// The answer to `resources/templates/list`.
pub(super) fn templates() -> Value {
    let session = json!({
        "uriTemplate": SESSION_TEMPLATE,
        "name": "session",
        "title": "A session of AgentX",
        "description": "The conversation of a session, as Markdown.",
        "mimeType": "text/markdown",
    });
    json!({ "resourceTemplates": [session] })
}

/// The answer to `completion/complete`.
pub(super) async fn complete(
    parts: &dyn ServedParts,
    params: &Map<String, Value>,
) -> Result<Value, McpRefusal> {
    let text = |part: &str, key: &str| params.get(part)?.get(key)?.as_str();
    let (Some(argument), Some(begun)) = (text("argument", "name"), text("argument", "value")) else {
        return Err(wrong("`argument` must have a `name` and a `value`"));
    };
    let values = match (text("ref", "type"), text("ref", "name"), text("ref", "uri")) {
        (Some("ref/prompt"), Some(name), _) => prompts::values(&prompts::named(parts, name)?, argument)?,
        (Some("ref/resource"), _, Some(SESSION_TEMPLATE)) if argument == "id" => sessions(parts).await?,
        (Some("ref/resource"), _, Some(SESSION_TEMPLATE)) => {
            let why = format!("{SESSION_TEMPLATE} has no argument {argument:?}");
            return Err(wrong(&why));
        }
        (Some("ref/resource"), _, Some(other)) => {
            return Err(wrong(&format!("there is no template {other:?}")));
        }
        _ => {
            return Err(wrong(
                "`ref` must be a `ref/prompt` with a `name`, or a `ref/resource` with a `uri`",
            ));
        }
    };
    Ok(json!({ "completion": completion(values, begun) }))
}

fn wrong(why: &str) -> McpRefusal {
    McpRefusal::new(INVALID_PARAMS, why)
}

/// The ids of the sessions that are listed, the latest first.
async fn sessions(parts: &dyn ServedParts) -> Result<Vec<String>, McpRefusal> {
    let documents = parts.documents().await;
    let documents = documents.map_err(|why| McpRefusal::new(INTERNAL_ERROR, why))?;
    Ok(documents.into_iter().map(|document| document.name).collect())
}

/// The values that begin so, in capitals or not.
fn completion(mut values: Vec<String>, begun: &str) -> Value {
    let begun = begun.to_lowercase();
    values.retain(|value| value.to_lowercase().starts_with(&begun));
    let total = values.len();
    values.truncate(MOST);
    json!({"values": values, "total": total, "hasMore": total > MOST})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_values_than_the_protocol_allows_are_given_and_the_rest_is_counted() {
        let values: Vec<String> = (0..250).map(|number| format!("Ses_{number}")).collect();
        let given = completion(values.clone(), "ses_");
        assert_eq!(given["values"].as_array().map(Vec::len), Some(MOST));
        assert_eq!((&given["total"], &given["hasMore"]), (&json!(250), &json!(true)));
        let given = completion(values, "ses_24");
        assert_eq!(given["total"], 11);
        assert_eq!(given["hasMore"], false);
    }
}
