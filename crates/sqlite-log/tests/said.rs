//! The text around a hit, and the index after a crash, are read from the facts of the message itself.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

use crate::support::*;
use agentx_runtime::SessionLog;
use agentx_sqlite_log::SqliteLog;
use agentx_types::*;
use serde_json::json;

#[test]
fn results_that_one_event_completes_and_calls_are_read_from_their_own_facts() {
    run(async {
        let home = Home::new();
        let log = home.open();
        let writer = begin(&*log).await;
        const WORDS: [&str; 3] = ["needle", "straw", "haystack"];
        let said = |words: &str| format!("{}{words}", "hay ".repeat(60));
        let result = |text: &str| -> EnvironmentEvent {
            ToolResult {
                tool_call_id: ToolCallId::new("call_1"),
                result: vec![ContentPart::text(text)],
                is_error: false,
                status: ToolStatus::Success,
                details: None,
            }
            .into()
        };
        let texts = [
            format!("first {}", said("needle")),
            format!("second {}", said("straw")),
        ];
        let call = ToolCall {
            tool_call_id: ToolCallId::new("call_1"),
            name: "look".into(),
            input: json!({"path": "haystack"}),
            invalid: None,
        };
        let asked = [text(&said("I look.")), call.into(), stream_end()];
        let asked_text = format!("{}\nlook {{\"path\":\"haystack\"}}", said("I look."));
        let asked_message = message(3, "msg_0", Role::Assistant, &asked_text);
        log.append(&writer, projecting(facts(1, asked), vec![asked_message]))
            .await
            .unwrap();
        let events = facts(4, [result(&texts[0]), result(&texts[1])]);
        let messages = (1..).zip(&texts);
        let messages = messages.map(|(n, text)| message(5, &format!("msg_{n}"), Role::Tool, text));
        log.append(&writer, projecting(events, messages.collect()))
            .await
            .unwrap();
        let snippets = async |log: &SqliteLog| {
            let mut all = Vec::new();
            for word in WORDS {
                let hits = log.search(&owner(), word, 5).await.unwrap();
                assert_eq!(hits.len(), 1, "{word}: {hits:?}");
                all.push(hits[0].snippet.clone());
            }
            all
        };
        for (snippet, word) in snippets(&log).await.iter().zip(WORDS) {
            assert!(snippet.contains(word), "{word}: {snippet}");
        }
        drop(writer);
        // As if a writer died before it had added the words to the index.
        home.sql().execute("DELETE FROM words", []).unwrap();
        log.attach(&session()).await.unwrap();
        for (snippet, word) in snippets(&log).await.iter().zip(WORDS) {
            assert!(snippet.contains(word), "{word}: {snippet}");
        }
    });
}
