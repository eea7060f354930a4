//! Thinking from earlier answers: the parts to which it is bound, and the behaviour when these have changed.

use agentx_testing::vendors::{AnswerPart, Anthropic, AnthropicAccepted, ModelAnswer, VendorRefusal};
use serde_json::{Value, json};

const BETA: &str = "thinking-binding-controls-2026-08-01";

/// A conversation with a vendor, grown answer by answer.
struct Talk {
    vendor: Anthropic,
    request: Value,
}

impl Talk {
    fn new(model: &str) -> Self {
        let tool =
            |name: &str| json!({ "name": name, "description": "d", "input_schema": { "type": "object" } });
        let request = json!({
            "model": model, "max_tokens": 9_000, "stream": true, "system": "be good", "tools": [tool("look"), tool("change")],
            "thinking": { "type": "adaptive", "display": "summarized" },
            "messages": [{ "role": "user", "content": "go" }],
        });
        let mut talk = Self {
            vendor: Anthropic::new(),
            request,
        };
        for id in ["toolu_1", "toolu_2", "toolu_3"] {
            talk.answer(id);
        }
        talk
    }

    fn check(&mut self) -> Result<AnthropicAccepted, VendorRefusal> {
        self.vendor.check(self.request.to_string().as_bytes(), BETA)
    }

    /// Gets an answer that thinks and calls a tool, and adds it and its result to the conversation.
    fn answer(&mut self, id: &str) {
        let call = AnswerPart::Call {
            id: id.into(),
            name: "look".into(),
            input: json!({ "b": 1, "a": 2 }),
        };
        let answer = ModelAnswer::text("I look.").then(call);
        let mut thinking = ModelAnswer::default().then(AnswerPart::Thinking(format!("about {id}")));
        thinking.parts.extend(answer.parts);
        let stream = self.check().unwrap().stream(&thinking);
        let result = json!({ "type": "tool_result", "tool_use_id": id, "content": "seen" });
        let messages = self.request["messages"].as_array_mut().unwrap();
        messages.push(json!({ "role": "assistant", "content": received(&stream) }));
        messages.push(json!({ "role": "user", "content": [result] }));
    }

    fn thinking(&mut self, answer: usize) -> &mut Value {
        &mut self.request["messages"][1 + 2 * answer]["content"][0]
    }

    fn drop_thinking(&mut self, answer: usize) {
        self.request["messages"][1 + 2 * answer]["content"]
            .as_array_mut()
            .unwrap()
            .remove(0);
    }

    fn broken_rule(&mut self) -> Option<&'static str> {
        self.check().err().map(|refusal| refusal.rule.name)
    }
}

/// The blocks of a stream, put together as a client does.
fn received(stream: &str) -> Vec<Value> {
    let mut blocks: Vec<Value> = Vec::new();
    let mut json = String::new();
    for line in stream.lines().filter_map(|line| line.strip_prefix("data: ")) {
        let event: Value = serde_json::from_str(line).unwrap();
        let delta = &event["delta"];
        match event["type"].as_str().unwrap() {
            "content_block_start" => blocks.push(event["content_block"].clone()),
            "content_block_delta" => {
                let block = blocks.last_mut().unwrap();
                for field in ["text", "thinking", "signature"] {
                    if let Some(piece) = delta[field].as_str() {
                        block[field] = json!(block[field].as_str().unwrap().to_owned() + piece);
                    }
                }
                json += delta["partial_json"].as_str().unwrap_or_default();
            }
            "content_block_stop" if !json.is_empty() => {
                blocks.last_mut().unwrap()["input"] = serde_json::from_str(&json).unwrap();
                json.clear();
            }
            _ => {}
        }
    }
    blocks
}

#[test]
fn what_was_handed_out_is_taken_back() {
    let mut talk = Talk::new("claude-opus-5-5");
    assert_eq!(talk.thinking(2)["thinking"], "about toolu_3");
    assert_eq!(talk.broken_rule(), None);
    // Breakpoints move, and neighbours of one role may be one message or two.
    talk.request["messages"][0]["content"] =
        json!([{ "type": "text", "text": "go", "cache_control": { "type": "ephemeral" } }]);
    assert_eq!(talk.broken_rule(), None);
}

#[test]
fn a_changed_prefix_is_refused_by_models_that_check_it() {
    let changes: [fn(&mut Value); 4] = [
        |request| request["system"] = json!("be bad"),
        |request| request["tools"][1]["description"] = json!("another one"),
        |request| request["tools"].as_array_mut().unwrap().truncate(1),
        |request| request["messages"][0]["content"] = json!("(a summary)"),
    ];
    for change in changes {
        let mut talk = Talk::new("claude-sonnet-5-5");
        change(&mut talk.request);
        assert_eq!(talk.broken_rule(), Some("anthropic-prefix"));
        for answer in 0..3 {
            talk.drop_thinking(answer);
        }
        assert_eq!(talk.broken_rule(), None);

        let mut older = Talk::new("claude-opus-4-8");
        change(&mut older.request);
        assert_eq!(older.broken_rule(), None);
    }
}

#[test]
fn thinking_behind_the_change_is_dropped_in_silence_where_the_request_says_so() {
    let mut talk = Talk::new("claude-fable-5-1");
    let result = json!({ "type": "tool_result", "tool_use_id": "toolu_1", "content": "(left out)" });
    talk.request["messages"][2]["content"] = json!([result]);
    assert_eq!(talk.broken_rule(), Some("anthropic-prefix"));
    talk.request["thinking"]["block_binding"] = json!({ "prefix_mismatch_behavior": "drop_block" });
    let dropped = talk.check().unwrap().dropped;
    assert_eq!(
        dropped,
        [
            "messages.3.content.0: prefix_mismatch",
            "messages.5.content.0: prefix_mismatch"
        ]
    );
    // Thinking that is made from now on is valid.
    talk.answer("toolu_4");
    assert_eq!(talk.check().unwrap().dropped.len(), 2);
}

#[test]
fn an_older_account_is_checked_only_where_it_asks_for_it() {
    let mut talk = Talk::new("claude-opus-5-5");
    talk.request["system"] = json!("be bad");
    let mut older = Talk {
        vendor: Anthropic::new().of_an_older_account(),
        request: talk.request.clone(),
    };
    assert_eq!(older.broken_rule(), None);
    older.request["thinking"]["block_binding"] = json!({ "prefix_mismatch_behavior": "error" });
    assert_eq!(older.broken_rule(), Some("anthropic-prefix"));
}

#[test]
fn thinking_between_others_is_not_left_out() {
    let mut talk = Talk::new("claude-haiku-5-5");
    talk.drop_thinking(0);
    assert_eq!(talk.broken_rule(), None, "the first ones may be");
    let mut talk = Talk::new("claude-haiku-5-5");
    talk.drop_thinking(1);
    assert_eq!(talk.broken_rule(), Some("anthropic-prefix"));
}

#[test]
fn thinking_of_the_latest_message_is_not_changed() {
    let mut talk = Talk::new("claude-opus-4-6");
    talk.thinking(0)["thinking"] = json!("about something else");
    assert_eq!(talk.broken_rule(), None, "it is not the latest");
    talk.thinking(2)["thinking"] = json!("about something else");
    assert_eq!(talk.broken_rule(), Some("anthropic-thinking-modified"));
}

#[test]
fn thinking_of_a_model_that_cannot_be_read_is_dropped() {
    let mut talk = Talk::new("claude-opus-5-5");
    talk.request["model"] = json!("claude-sonnet-5-5");
    assert_eq!(talk.check().unwrap().dropped.len(), 3);
    talk.request["model"] = json!("claude-fable-5-1");
    assert_eq!(talk.check().unwrap().dropped.len(), 0);
}

#[test]
fn thinking_is_shown_only_where_it_is_asked_for() {
    let mut talk = Talk::new("claude-opus-5-5");
    talk.request["thinking"] = json!({ "type": "adaptive" });
    let thinking = ModelAnswer::default().then(AnswerPart::Thinking("hm".into()));
    let stream = talk.check().unwrap().stream(&thinking);
    assert!(
        stream.contains("signature_delta") && !stream.contains("hm"),
        "{stream}"
    );
}
