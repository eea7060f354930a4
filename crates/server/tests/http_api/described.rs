//! The description: it has every route, every name in it leads somewhere, and what the server answers is what
//! it says.

use agentx_server::http::{openapi, routes};
use serde_json::{Value, json};

use crate::http_api::desk::Desk;

/// Every `$ref` in a value.
fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(name)) = fields.get("$ref") {
                found.push(name.clone());
            }
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

#[test]
fn every_route_is_described_and_every_name_leads_somewhere() {
    let document = openapi();
    assert_eq!(document["openapi"], "3.1.0");
    let mut ids = Vec::new();
    for route in routes() {
        let method = route.method.as_str().to_ascii_lowercase();
        let operation = &document["paths"][route.path][&method];
        let at = format!("{method} {}", route.path);
        ids.push(
            operation["operationId"]
                .as_str()
                .unwrap_or_else(|| panic!("{at}"))
                .to_owned(),
        );
        assert!(
            operation["summary"].is_string() && operation["security"].is_array(),
            "{at}"
        );
        assert!(
            operation["responses"]
                .as_object()
                .is_some_and(|some| !some.is_empty()),
            "{at}"
        );
        let named = |name: &str| {
            let parameters = operation["parameters"].as_array().unwrap();
            parameters
                .iter()
                .any(|one| one["name"] == name && one["in"] == "path")
        };
        assert_eq!(named("id"), route.path.contains("{id}"), "{at}");
    }
    ids.sort();
    let count = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), count, "operation ids are unique: {ids:?}");
    let mut found = Vec::new();
    references(&document, &mut found);
    for name in found {
        let place = document.pointer(name.trim_start_matches('#'));
        assert!(place.is_some(), "{name} leads nowhere");
    }
}

#[tokio::test]
async fn the_server_hands_the_description_out() {
    let desk = Desk::new().await;
    let told = desk.get("/v1/openapi.json").send().await.ok().json();
    assert_eq!(told, openapi());
    assert_eq!(
        told["paths"]["/v1/sessions"]["get"]["parameters"][0]["schema"]["maximum"],
        json!(1000)
    );
}
