//! Tools from files in a real session: a model calls them, what they do is in the log, and another process goes on with it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod support;

use agentx_testing::Answer;
use agentx_types::{EnvironmentEvent, RuntimeEvent, ToolStatus};
use serde_json::json;
use support::{Place, luau};

#[tokio::test]
async fn a_script_runs_in_a_session_and_its_steps_are_on_record() {
    let script = "
        function invoke(ctx, args)
            local t = ctx.now()
            ctx.emit('working')
            local said = ctx.generate('writer', 'a poem about ' .. args.about)
            ctx.state.poem = said
            return { said = said, known = t > 0, id = #ctx.uuid() }
        end";
    let place = Place::new([
        Answer::call("call_1", "poem", json!({"about": "rain"})),
        Answer::text("It rains."),
        Answer::text("Done."),
    ]);
    place.tool(luau("poem", script, json!({"models": ["writer"]})));
    let session = place.open().await;
    let events = place.ask(&session, "a poem, please").await;
    let (status, text) = place.result("call_1");
    assert_eq!(
        (status, text.as_str()),
        (
            ToolStatus::Success,
            r#"{"id":36,"known":true,"said":"It rains."}"#
        )
    );
    let kinds = place.effects("call_1");
    assert_eq!(
        kinds,
        [
            "0 script",
            "1 state_get",
            "2 now",
            "3 emit",
            "4 generate begins",
            "4 generate",
            "5 state_set",
            "6 uuid"
        ]
    );
    let emitted =
        |event: &RuntimeEvent| matches!(event, RuntimeEvent::Chunk(chunk) if chunk.text == "working");
    assert!(events.iter().any(emitted));
    let bill = place.facts().into_iter().find_map(|event| match event {
        EnvironmentEvent::EffectEnded(ended) => ended.bill,
        _ => None,
    });
    assert_eq!(
        bill.map(|bill| (bill.model, bill.usage.input_tokens)),
        Some(("writer".to_owned(), 10))
    );
}
