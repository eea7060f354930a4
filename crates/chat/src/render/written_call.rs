//! Recognizes an answer in which a model wrote a call as text, because its server did not parse it. No tool
//! runs then, and the answer looks like a mistake of the model.

use serde_json::Value;

/// The notice about a tool call that is written as text.
pub const WRITTEN_CALL: &str = "the model wrote a tool call as text, so nothing was run: its server may not \
                                       parse the tool calls of this model. Start llama.cpp with `--jinja`, \
                                       vLLM with `--enable-auto-tool-choice --tool-call-parser NAME`, SGLang \
                                       with `--tool-call-parser NAME`, or choose a model that supports tool \
                                       calls";

/// The beginnings of calls in templates of models: Hermes and Qwen, Mistral, Llama, Qwen-Coder, Phi,
/// DeepSeek, Kimi, gpt-oss, MiniMax.
const BEGINNINGS: &[&str] = &[
    "<tool_call>",
    "[TOOL_CALLS]",
    "<|python_tag|>",
    "<function=",
    "<|tool_call|>",
    "<｜tool▁calls▁begin｜>",
    "<|tool_calls_section_begin|>",
    "<|channel|>commentary to=functions.",
    "<minimax:tool_call>",
];

/// Returns whether the answer contains a call as text, and does not only mention one.
pub fn is_written_call(answer: &str) -> bool {
    let mut is_fenced = false;
    let mut fenced = String::new();
    for line in answer.lines() {
        let line = line.trim();
        if line.starts_with("```") {
            is_fenced = !is_fenced;
            if is_fenced {
                fenced.clear();
            }
        } else if is_fenced {
            fenced.push_str(line);
            fenced.push('\n');
        } else if BEGINNINGS.iter().any(|begins| line.starts_with(begins)) {
            return true;
        }
    }
    // A block at the end of the answer; one that is followed by words is an example.
    let ends_in_block = !is_fenced && answer.trim_end().ends_with("```");
    is_call(answer) || (ends_in_block && is_call(&fenced))
}

/// Returns whether a text is a call: `{"name": …, "arguments": {…}}` and the like, alone or in a list.
fn is_call(text: &str) -> bool {
    let text = text.trim();
    if !text.starts_with(['{', '[']) {
        return false;
    }
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Array(calls)) => !calls.is_empty() && calls.iter().all(is_one),
        Ok(call) => is_one(&call),
        Err(_) => false,
    }
}

fn is_one(call: &Value) -> bool {
    let call = match call.get("function") {
        Some(function @ Value::Object(_)) => function,
        _ => call,
    };
    let has = |key: &str| matches!(call.get(key), Some(Value::Object(_) | Value::String(_)));
    let is_key = |key: &str| matches!(key, "name" | "arguments" | "parameters" | "id" | "type");
    let keys = call
        .as_object()
        .is_some_and(|call| call.keys().all(|key| is_key(key)));
    keys && call["name"].is_string() && (has("arguments") || has("parameters"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_in_the_words_of_a_model_is_told_from_words_about_one() {
        for call in [
            "<tool_call>\n{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}\n</tool_call>",
            "I look.\n\n<tool_call>\n<function=bash>\n<parameter=command>ls</parameter>\n</function>\n</tool_call>",
            "[TOOL_CALLS][{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}]",
            "<|python_tag|>{\"name\": \"bash\", \"parameters\": {\"command\": \"ls\"}}",
            "```json\n{\"name\": \"bash\",\n \"arguments\": {\"command\": \"ls\"}}\n```",
            "I look:\n```json\n{\"name\": \"bash\", \"arguments\": {}}\n```\n",
            "{\"name\": \"bash\", \"parameters\": {\"command\": \"ls\"}}",
            "[{\"type\": \"function\", \"function\": {\"name\": \"bash\", \"arguments\": \"{}\"}}]",
        ] {
            assert!(is_written_call(call), "{call}");
        }
        for words in [
            "",
            "hello",
            "Qwen writes `<tool_call>` before a call.",
            "Qwen writes:\n```\n<tool_call>\n{\"name\": \"bash\", \"arguments\": {}}\n</tool_call>\n```\nand so on",
            "```json\n{\"name\": \"agentx\", \"version\": \"0.1.0\"}\n```",
            "{\"name\": \"agentx\", \"arguments\": {}, \"scripts\": {}}",
            "As an example:\n```json\n{\"name\": \"bash\", \"arguments\": {}}\n```\nis such a call.",
            "{\"name\": \"bash\", \"argum",
            "[]",
            "[1, 2]",
        ] {
            assert!(!is_written_call(words), "{words}");
        }
    }
}
