//! A call that is run again in another process continues the first: the used time, a message that begins
//! again, and the values of its agent.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use crate::support;

use std::sync::Arc;

use crate::support::{Place, definition, luau, prefix};
use agentx_agent_files::definition::ToolDefinition;
use agentx_runtime::View;
use agentx_testing::{Gate, ModelScript};
use agentx_types::{Envelope, EnvironmentEvent, SessionId, Timestamp, ToolStatus, Vocabulary as _};
use serde_json::json;

type Facts = Vec<Arc<Envelope<EnvironmentEvent>>>;

/// Microseconds.
const MINUTE: i64 = 60_000_000;

const THREE_STEPS: &str = "function invoke(ctx, args)
    ctx.now() ctx.now() ctx.now()
    return 'done'
end";

fn within_five_minutes() -> ToolDefinition {
    definition(json!({"name": "steps", "type": "luau", "lua": THREE_STEPS, "limits": {"wall_time": "5m"}}))
}

/// The position of the first fact with this tag, from `from` on.
fn place_of(facts: &Facts, tag: &str, from: usize) -> usize {
    let found = facts[from..].iter().position(|fact| fact.event.tag() == tag);
    from + found.expect("a fact with this tag")
}

/// The facts of a session in which the tool was called once.
async fn facts() -> Facts {
    let answers = [
        ModelScript::call("call_1", "steps", json!({})),
        ModelScript::text("Done."),
    ];
    let place = Place::new(answers);
    place.tool(within_five_minutes());
    let session = place.open().await;
    place.ask(&session, "go").await;
    session.close().await;
    place.log.facts(&SessionId::new("ses_1"))
}

/// The same facts; those from `from` on come so much later.
fn later(facts: &Facts, from: usize, by: i64) -> Facts {
    let moved = facts.iter().enumerate().map(|(index, fact)| {
        let mut fact = fact.as_ref().clone();
        if index >= from {
            fact.at = Timestamp(fact.at.0 + by);
        }
        Arc::new(fact)
    });
    moved.collect()
}

/// The first facts of a session, and the state that another process folds from them.
async fn goes_on(facts: &Facts, count: usize) -> (ToolStatus, String, Facts) {
    let place = Place::on(prefix(facts, count).await, [ModelScript::text("Done.")]);
    place.tool(within_five_minutes());
    let session = place.resume().await;
    place.until_done(&session, 0).await;
    session.close().await;
    let (status, text) = place.result("call_1");
    (status, text, place.log.facts(&SessionId::new("ses_1")))
}

#[tokio::test]
async fn time_before_a_crash_counts_and_time_without_a_program_does_not() {
    let facts = facts().await;
    let step = place_of(&facts, "effect_ended", 0) + 2;
    // Six minutes in one process.
    let (status, text, _) = goes_on(&later(&facts, step, 6 * MINUTE), step + 1).await;
    assert_eq!(status, ToolStatus::TimedOut, "{text}");
    assert!(text.contains("300s"), "{text}");
    // Six minutes in which there was none.
    let (status, text, _) = goes_on(&later(&facts, 0, -6 * MINUTE), step + 1).await;
    assert_eq!((status, text.as_str()), (ToolStatus::Success, "done"));
    // Three minutes in each of two processes.
    let (status, _, twice) = goes_on(&later(&facts, step, 3 * MINUTE), step + 1).await;
    assert_eq!(status, ToolStatus::Success);
    let attached = place_of(&twice, "writer_attached", step);
    let live = place_of(&twice, "effect_ended", attached);
    let twice = later(&twice, attached, 3 * MINUTE);
    let (status, text, _) = goes_on(&later(&twice, live, 3 * MINUTE), live + 1).await;
    assert_eq!(status, ToolStatus::TimedOut, "{text}");
}

#[tokio::test]
async fn a_script_is_told_that_a_message_begins_anew() {
    let script = "function invoke(ctx, args)
        local child = ctx.create_agent('child', {prompt = 'Tell.'})
        child:input('begin')
        local heard = {}
        for chunk, restarted in child:iter() do
            table.insert(heard, chunk .. (if restarted then ' (anew)' else ''))
        end
        return table.concat(heard, '|')
    end";
    let gate = Gate::closed();
    let first = Place::new([
        ModelScript::call("call_1", "tell", json!({})),
        ModelScript::new().then_text("Once upon").then_stall(&gate),
    ]);
    let may = json!({"agents": ["*"]});
    first.tool(luau("tell", script, may.clone()));
    let session = first.open().await;
    let heard = session.subscribe(0, View::Environment).await.unwrap();
    first.say(&session, "go").await;
    support::until_fact(
        heard,
        |event| matches!(event, EnvironmentEvent::EffectEnded(ended) if ended.kind == "agent_next"),
    )
    .await;
    let facts = first.log.facts(&SessionId::new("ses_1"));
    let second = Place::on(
        prefix(&facts, facts.len()).await,
        [ModelScript::text("There was"), ModelScript::text("Done.")],
    );
    second.tool(luau("tell", script, may));
    let session = second.resume().await;
    second.until_done(&session, 0).await;
    assert_eq!(
        second.result("call_1"),
        (ToolStatus::Success, "Once upon|There was (anew)".to_owned())
    );
}

#[tokio::test]
async fn calls_that_a_call_makes_share_what_is_kept() {
    let outer = "function invoke(ctx, args)
        ctx.state.n = 1
        local first = ctx.invoke('inner', {})
        local second = ctx.invoke('inner', {})
        return first .. ' ' .. second .. ' ' .. ctx.state.n
    end";
    let inner = "function invoke(ctx, args)
        ctx.state.n = ctx.state.n + 1
        return tostring(ctx.state.n)
    end";
    let place = Place::new([
        ModelScript::call("call_1", "outer", json!({})),
        ModelScript::text("Done."),
        ModelScript::call("call_2", "inner", json!({})),
        ModelScript::text("Done."),
    ]);
    place.tool(luau("inner", inner, json!({})));
    place.tool(luau("outer", outer, json!({"tools": ["inner"]})));
    let session = place.open().await;
    place.ask(&session, "go").await;
    // A script sees the state at its start, with its own changes.
    assert_eq!(place.result("call_1").1, "2 3 1");
    place.ask(&session, "go on").await;
    assert_eq!(place.result("call_2").1, "4");
}
