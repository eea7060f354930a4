//! Anthropic Messages: each rule, except those about thinking from earlier answers.

use agentx_testing::vendors::{ANTHROPIC_RULES, Anthropic, PICTURE_RULES, VendorRefusal, png};
use serde_json::{Value, json};

use crate::{Case, each_rule_is_broken_once};

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |chunk: &[u8]| {
        let all = (0..3).fold(0u32, |all, at| {
            (all << 8) | u32::from(chunk.get(at).copied().unwrap_or(0))
        });
        let digit = |at: usize| {
            if at <= chunk.len() {
                char::from(DIGITS[(all >> (18 - 6 * at)) as usize & 63])
            } else {
                '='
            }
        };
        (0..4).map(digit).collect::<String>()
    };
    bytes.chunks(3).map(group).collect()
}

fn picture(width: u32, height: u32) -> Value {
    let source = json!({ "type": "base64", "media_type": "image/png", "data": base64(&png(width, height)) });
    json!({ "type": "image", "source": source })
}

/// A conversation with a call, its result and a picture.
fn good(rule: &str) -> Value {
    let call = json!({ "type": "tool_use", "id": "toolu_1", "name": "look", "input": {} });
    let result = json!({ "type": "tool_result", "tool_use_id": "toolu_1", "content": [{ "type": "text", "text": "seen" }] });
    let mut request = json!({
        "model": "claude-sonnet-5-5", "max_tokens": 1000, "stream": true,
        "system": [{ "type": "text", "text": "be good", "cache_control": { "type": "ephemeral" } }],
        "tools": [{ "name": "look", "description": "looks", "input_schema": { "type": "object" } }],
        "messages": [
            { "role": "user", "content": [{ "type": "text", "text": "look" }, picture(8, 8)] },
            { "role": "assistant", "content": [{ "type": "text", "text": "I do" }, call] },
            { "role": "user", "content": [result, { "type": "text", "text": "and?" }] },
        ],
    });
    let older = [
        "anthropic-budget",
        "anthropic-trailing-whitespace",
        "anthropic-thinking-off",
        "anthropic-expected-thinking",
    ];
    if older.contains(&rule) {
        request["model"] = json!("claude-sonnet-4-5");
    }
    request
}

fn check(_: &str, request: &Value) -> Option<VendorRefusal> {
    Anthropic::new()
        .with_window(1_000_000)
        .check(request.to_string().as_bytes(), "")
        .err()
}

fn blocks(request: &mut Value, message: usize) -> &mut Vec<Value> {
    request["messages"][message]["content"].as_array_mut().unwrap()
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table with a row for each rule")]
fn each_rule_refuses_what_breaks_it() {
    let cases: &[Case] = &[
        ("anthropic-json", |request| *request = json!([])),
        ("anthropic-32-mb", |request| {
            request["system"] = json!("a".repeat(33 * 1024 * 1024))
        }),
        ("anthropic-model", |request| {
            request["model"] = json!("claude-opus-4-1")
        }),
        ("anthropic-unknown-field", |request| {
            blocks(request, 1)[1]["extra"] = json!(1)
        }),
        ("anthropic-max-tokens", |request| {
            request["max_tokens"] = json!(128_001)
        }),
        ("anthropic-window", |request| {
            request["system"] = json!("a".repeat(5_000_000))
        }),
        ("anthropic-temperature", |request| {
            request["temperature"] = json!(0.5)
        }),
        ("anthropic-budget", |request| {
            request["thinking"] = json!({ "type": "enabled", "budget_tokens": 1000 })
        }),
        ("anthropic-thinking-type", |request| {
            request["thinking"] = json!({ "type": "disabled" })
        }),
        ("anthropic-effort", |request| {
            request["output_config"] = json!({ "effort": "most" })
        }),
        ("anthropic-output-schema", |request| {
            let schema = json!({ "type": "object", "properties": {} });
            request["output_config"] = json!({ "format": { "type": "json_schema", "schema": schema } })
        }),
        ("anthropic-output-schema", |request| {
            let schema = json!({ "type": "object", "properties": {}, "additionalProperties": false, "propertyNames": {} });
            request["output_config"] = json!({ "format": { "type": "json_schema", "schema": schema } })
        }),
        ("anthropic-output-grammar", |request| {
            let kids = json!({ "type": "array", "items": { "$ref": "#" } });
            let schema =
                json!({ "type": "object", "properties": { "kids": kids }, "additionalProperties": false });
            request["output_config"] = json!({ "format": { "type": "json_schema", "schema": schema } })
        }),
        ("anthropic-output-grammar", |request| {
            let properties: serde_json::Map<String, Value> = (0..25)
                .map(|n| (format!("p{n}"), json!({ "type": "string" })))
                .collect();
            let schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
            request["output_config"] = json!({ "format": { "type": "json_schema", "schema": schema } })
        }),
        ("anthropic-beta-header", |request| {
            let binding = json!({ "prefix_mismatch_behavior": "drop_block" });
            request["thinking"] = json!({ "type": "adaptive", "block_binding": binding });
        }),
        ("anthropic-tool-name", |request| {
            request["tools"][0]["name"] = json!("functions.look")
        }),
        ("anthropic-tool-schema", |request| {
            request["tools"][0]["input_schema"] = json!({})
        }),
        ("anthropic-tool-schema", |request| {
            request["tools"][0]["input_schema"]["properties"] = json!({"my city": {"type": "string"}})
        }),
        ("anthropic-tools-missing", |request| {
            drop(request.as_object_mut().unwrap().shift_remove("tools"))
        }),
        ("anthropic-first-message", |request| {
            drop(request["messages"].as_array_mut().unwrap().remove(0))
        }),
        ("anthropic-empty-text", |request| {
            blocks(request, 2)[1]["text"] = json!(" \n")
        }),
        ("anthropic-prefill", |request| {
            let message = json!({ "role": "assistant", "content": "It is" });
            request["messages"].as_array_mut().unwrap().push(message);
        }),
        ("anthropic-trailing-whitespace", |request| {
            let message = json!({ "role": "assistant", "content": "It is " });
            request["messages"].as_array_mut().unwrap().push(message);
        }),
        ("anthropic-pairing", |request| blocks(request, 2).reverse()),
        ("anthropic-pairing", |request| {
            blocks(request, 2)[0]["tool_use_id"] = json!("toolu_2")
        }),
        ("anthropic-pairing", |request| drop(blocks(request, 2).remove(0))),
        ("anthropic-unique-ids", |request| {
            let call = blocks(request, 1)[1].clone();
            blocks(request, 1).push(call);
        }),
        ("anthropic-tool-use", |request| {
            blocks(request, 1)[1]["name"] = json!("functions.look")
        }),
        ("anthropic-tool-use", |request| {
            blocks(request, 1)[1]["input"] = json!("{}")
        }),
        ("anthropic-error-result", |request| {
            let result = &mut blocks(request, 2)[0];
            result["is_error"] = json!(true);
            result["content"] = json!([]);
        }),
        ("anthropic-cache-control", |request| {
            for message in [0, 0, 1, 2] {
                let marked =
                    json!({ "type": "text", "text": "more", "cache_control": { "type": "ephemeral" } });
                let place = if message == 1 {
                    0
                } else {
                    blocks(request, message).len()
                };
                blocks(request, message).insert(place, marked);
            }
        }),
        ("anthropic-cache-ttl", |request| {
            blocks(request, 0)[0]["cache_control"] = json!({ "type": "ephemeral", "ttl": "1h" });
        }),
        ("anthropic-cache-ttl", |request| {
            request["system"][0]["cache_control"]["ttl"] = json!("2h");
        }),
        ("anthropic-thinking-off", |request| {
            let content = json!([{ "type": "redacted_thinking", "data": "made up" }, { "type": "text", "text": "It is" }]);
            let message = json!({ "role": "assistant", "content": content });
            request["messages"].as_array_mut().unwrap().push(message);
        }),
        ("anthropic-expected-thinking", |request| {
            request["max_tokens"] = json!(4_000);
            request["thinking"] = json!({ "type": "enabled", "budget_tokens": 2_000 });
        }),
        ("anthropic-final-thinking", |request| {
            let thinking = json!({ "type": "redacted_thinking", "data": "made up" });
            request["messages"][1]["content"] = json!([thinking]);
        }),
        ("anthropic-signature", |request| {
            let thinking = json!({ "type": "thinking", "thinking": "hm", "signature": "forged" });
            blocks(request, 1).insert(0, thinking);
        }),
    ];
    let elsewhere = ["anthropic-thinking-modified", "anthropic-prefix"];
    each_rule_is_broken_once(cases, ANTHROPIC_RULES, &elsewhere, check, good);
}

#[test]
fn each_rule_about_pictures_refuses_what_breaks_it() {
    let cases: &[Case] = &[
        ("picture-base64", |request| {
            blocks(request, 0)[1]["source"]["data"] = json!("=")
        }),
        ("picture-media-type", |request| {
            blocks(request, 0)[1]["source"]["media_type"] = json!("image/jpeg")
        }),
        ("picture-broken", |request| {
            let whole = png(8, 8);
            blocks(request, 0)[1]["source"]["data"] = json!(base64(&whole[..whole.len() - 12]));
        }),
        ("picture-bytes", |request| {
            blocks(request, 0)[1]["source"]["data"] = json!("A".repeat(11 * 1024 * 1024))
        }),
        ("picture-pixels", |request| {
            blocks(request, 0)[1] = picture(8, 8_001)
        }),
        ("picture-pixels-of-many", |request| {
            blocks(request, 0).extend((0..20).map(|_| picture(2_001, 8)));
        }),
        ("picture-count", |request| {
            blocks(request, 0).extend((0..600).map(|_| picture(8, 8)));
        }),
    ];
    each_rule_is_broken_once(cases, PICTURE_RULES, &[], check, good);
}

#[test]
fn usage_follows_from_the_bytes() {
    let mut vendor = Anthropic::new();
    let mut count = |request: &Value| vendor.check(request.to_string().as_bytes(), "").unwrap().counted;
    let request = good("");
    let first = count(&request);
    assert!(first.cache_write > 0 && first.cache_read == 0, "{first:?}");
    let again = count(&request);
    assert_eq!((again.cache_read, again.cache_write), (first.cache_write, 0));
    assert_eq!(again.total(), first.total());
}
