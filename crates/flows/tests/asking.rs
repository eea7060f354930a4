//! A call by a script about which a rule asks is a question in its session: it names the script and the line,
//! a person answers it, it survives a kill, and an allowed call runs once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::sync::Arc;

use crate::rules::{Recorder, row, rule, script};
use crate::support::{Place, luau, prefix};
use agentx_agent_files::definition::ToolDefinition;
use agentx_runtime::{ApprovalInput, Delivery, Fact, PendingApproval, Session, View};
use agentx_testing::{FaultyLog, ModelScript};
use agentx_types::{
    AgentConfig, ApprovalDecision, ApprovalMode, ConfigChange, EnvironmentEvent, RuleEffect, RuntimeEvent,
    SessionId, ToolCallId, ToolStatus,
};
use serde_json::json;

const INPUT: &str = "git push origin";

/// A place with `bash`, and with `outer`, which calls it.
fn place(log: FaultyLog, outer: &ToolDefinition, bash: &Recorder, answers: Vec<ModelScript>) -> Place {
    let place = Place::with(log, answers, |mut parts| {
        parts.tools = vec![Arc::new(bash.clone())];
        parts
    });
    place.tool(outer.clone());
    place
}

fn calls(ids: &[&str]) -> Vec<ModelScript> {
    let call = |id: &&str| ModelScript::call(id, "outer", json!({"command": INPUT}));
    ids.iter().map(call).chain([ModelScript::text("Done.")]).collect()
}

/// A session in which a rule asks about `git push`.
async fn open(place: &Place) -> Arc<dyn Session> {
    open_in(place, ApprovalMode::Ask).await
}

async fn open_in(place: &Place, approval: ApprovalMode) -> Arc<dyn Session> {
    let own = rule(RuleEffect::Allow, "outer", None, None);
    let ask = rule(RuleEffect::Ask, "bash", Some("git push*"), None);
    let change = |config| AgentConfig {
        approval,
        rules: vec![own, ask],
        ..config
    };
    place.open_as(change).await
}

/// Returns the first question.
async fn asked(session: &Arc<dyn Session>) -> PendingApproval {
    let mut heard = session.subscribe(0, View::Runtime).await.unwrap();
    while let Some(delivery) = heard.next().await {
        if let Delivery::Runtime(event) = delivery
            && let RuntimeEvent::ApprovalRequested(asked) = &event.event
        {
            let waiting = session.state().await.unwrap().pending_approvals;
            let [waiting] = waiting.as_slice() else {
                panic!("one question, not {waiting:?}")
            };
            assert_eq!(waiting.tool_call_id, asked.tool_call_id);
            return waiting.clone();
        }
    }
    panic!("nothing was asked");
}

async fn answer(session: &Arc<dyn Session>, id: &ToolCallId, decision: ApprovalDecision) {
    let input = ApprovalInput::new(id.clone(), decision)
        .note((decision == ApprovalDecision::Deny).then(|| "not today".to_owned()));
    session.approve(input).await.unwrap();
}

fn settled(events: &[RuntimeEvent]) -> Vec<bool> {
    let settled = events.iter().filter_map(|event| match event {
        RuntimeEvent::ApprovalSettled(settled) => Some(settled.allowed),
        _ => None,
    });
    settled.collect()
}

#[tokio::test]
async fn a_person_is_asked_with_the_script_and_the_line() {
    use ApprovalDecision::{Deny, Once};
    let text = "function invoke(ctx, args)\n\n    return ctx.invoke('bash', args)\nend";
    let aside = "function invoke(ctx, args)\n    return ctx.invoke_async('bash', args):await()\nend";
    let of = |text| luau("outer", text, json!({"tools": ["bash"]}));
    let cases = [
        (of(text), "outer calls it at outer:3"),
        (of(aside), "outer calls it at outer"),
        (row("bash"), "outer calls it at step one"),
    ];
    for (outer, says) in cases {
        for decision in [Once, Deny] {
            let bash = Recorder::bash();
            let place = place(FaultyLog::new(), &outer, &bash, calls(&["call_1"]));
            let session = open(&place).await;
            place.say(&session, "go").await;
            let question = asked(&session).await;
            assert_eq!(bash.count(), 0, "it waits");
            assert_eq!(question.name, "bash");
            assert_eq!(question.input, json!({"command": INPUT}));
            assert_eq!(question.tool_call_id.as_str(), "call_1/1");
            assert_eq!(
                question.reason,
                format!(r#"the rule "ask bash: git push*" asks; {says}"#)
            );
            answer(&session, &question.tool_call_id, decision).await;
            let heard = place.until_done(&session, 0).await;
            session.close().await;
            let (status, text) = place.result("call_1");
            let is_allowed = decision == Once;
            assert_eq!(settled(&heard), [is_allowed]);
            assert_eq!(
                (bash.count(), status == ToolStatus::Success),
                (usize::from(is_allowed), is_allowed),
                "{text}"
            );
            let refusal = "denied: bash is refused: the person said no. They say: not today";
            assert!(
                is_allowed || text.contains(refusal.trim_start_matches("denied: ")),
                "{text}"
            );
        }
    }
}

#[tokio::test]
async fn what_is_allowed_for_the_session_is_not_asked_again_and_a_rule_that_denies_holds() {
    let outer = script("bash", "*");
    let bash = Recorder::bash();
    let answers = vec![
        ModelScript::call("call_1", "outer", json!({"command": "ls -l"})),
        ModelScript::call("call_2", "outer", json!({"command": "ls -l"})),
        ModelScript::call("call_3", "outer", json!({"command": INPUT})),
        ModelScript::text("Done."),
    ];
    let place = place(FaultyLog::new(), &outer, &bash, answers);
    let session = open(&place).await;
    place.say(&session, "go").await;
    let first = asked(&session).await;
    answer(&session, &first.tool_call_id, ApprovalDecision::Session).await;
    // The second call needs no approval. Before the third is approved, a new rule denies it.
    let mut heard = session.subscribe(0, View::Runtime).await.unwrap();
    while let Some(delivery) = heard.next().await {
        if let Delivery::Runtime(event) = delivery
            && let RuntimeEvent::ApprovalRequested(asked) = &event.event
            && asked.tool_call_id != first.tool_call_id
        {
            assert_eq!(asked.tool_call_id.as_str(), "call_3/1");
            let deny = rule(RuleEffect::Deny, "bash", Some("git *"), None);
            session.change(ConfigChange::RuleAdded(deny)).await.unwrap();
            answer(&session, &asked.tool_call_id, ApprovalDecision::Once).await;
            break;
        }
    }
    place.until_done(&session, 0).await;
    session.close().await;
    assert_eq!(bash.count(), 2);
    let (_, text) = place.result("call_3");
    assert!(
        text.contains(r#"the rule "deny bash: git *" denies it"#),
        "{text}"
    );
}

#[tokio::test]
async fn a_script_that_wants_much_at_once_asks_one_thing_at_a_time() {
    let text = "function invoke(ctx, args)
        local all = {}
        for turn = 1, 3 do all[turn] = ctx.invoke_async('bash', args) end
        ctx.await_all(all)
        return 'done'
    end";
    let outer = luau("outer", text, json!({"tools": ["bash"]}));
    let bash = Recorder::bash();
    let place = place(FaultyLog::new(), &outer, &bash, calls(&["call_1"]));
    let session = open(&place).await;
    place.say(&session, "go").await;
    let mut heard = session.subscribe(0, View::Runtime).await.unwrap();
    let mut asked = 0;
    while asked < 3 {
        if let Some(Delivery::Runtime(event)) = heard.next().await
            && let RuntimeEvent::ApprovalRequested(question) = &event.event
        {
            assert_eq!(session.state().await.unwrap().pending_approvals.len(), 1);
            answer(&session, &question.tool_call_id, ApprovalDecision::Once).await;
            asked += 1;
        }
    }
    place.until_done(&session, 0).await;
    session.close().await;
    assert_eq!((bash.count(), place.result("call_1").0), (3, ToolStatus::Success));
}

#[tokio::test]
async fn a_rule_that_asks_is_asked_about_in_the_mode_auto_too() {
    let (outer, bash) = (script("bash", "bash"), Recorder::bash());
    let place = place(FaultyLog::new(), &outer, &bash, calls(&["call_1"]));
    let session = open_in(&place, ApprovalMode::Auto).await;
    place.say(&session, "go").await;
    let question = asked(&session).await;
    answer(&session, &question.tool_call_id, ApprovalDecision::Once).await;
    place.until_done(&session, 0).await;
    session.close().await;
    assert_eq!((bash.count(), place.result("call_1").0), (1, ToolStatus::Success));
}

#[tokio::test]
async fn an_interrupt_takes_the_question_back() {
    let (outer, bash) = (script("bash", "bash"), Recorder::bash());
    let place = place(FaultyLog::new(), &outer, &bash, calls(&["call_1"]));
    let session = open(&place).await;
    place.say(&session, "go").await;
    asked(&session).await;
    session.interrupt(None).await.unwrap();
    let heard = place.until_done(&session, 0).await;
    assert_eq!(settled(&heard), [false]);
    assert!(session.state().await.unwrap().pending_approvals.is_empty());
    session.close().await;
    assert_eq!(
        (bash.count(), place.result("call_1").0),
        (0, ToolStatus::Interrupted)
    );
}

/// The facts of a session in which a call was asked about and allowed.
async fn allowed(outer: &ToolDefinition) -> Vec<Fact> {
    let bash = Recorder::bash();
    let place = place(FaultyLog::new(), outer, &bash, calls(&["call_1"]));
    let session = open(&place).await;
    place.say(&session, "go").await;
    let question = asked(&session).await;
    answer(&session, &question.tool_call_id, ApprovalDecision::Once).await;
    place.until_done(&session, 0).await;
    session.close().await;
    assert_eq!(bash.count(), 1);
    place.log.facts(&SessionId::new("ses_1"))
}

/// If the process is killed after any event, there is at most one more question, and the call runs at most
/// once in all.
#[tokio::test]
async fn a_kill_at_any_event_loses_no_decision_and_runs_nothing_twice() {
    let outer = script("bash", "bash");
    let facts = allowed(&outer).await;
    let at = |is_it: &dyn Fn(&EnvironmentEvent) -> bool| {
        facts
            .iter()
            .position(|fact| is_it(&fact.event))
            .expect("it is there")
            + 1
    };
    let asks = at(&|event| matches!(event, EnvironmentEvent::InnerCallAsked(_)));
    let approves = at(&|event| matches!(event, EnvironmentEvent::Approval(_)));
    let begins = at(&|event| matches!(event, EnvironmentEvent::EffectStarted(_)));
    let ends = at(&|event| matches!(event, EnvironmentEvent::ToolResult(_)));
    assert!(
        asks < approves && approves < begins && begins < ends,
        "{asks} {approves} {begins} {ends}"
    );
    for cut in asks..ends {
        let bash = Recorder::bash();
        let log = prefix(&facts, cut).await;
        let place = place(log, &outer, &bash, vec![ModelScript::text("Done.")]);
        let session = place.resume().await;
        if cut < approves {
            let question = asked(&session).await;
            assert_eq!(bash.count(), 0);
            answer(&session, &question.tool_call_id, ApprovalDecision::Once).await;
        }
        place.until_done(&session, 0).await;
        session.close().await;
        let events = place.facts();
        let decisions = events
            .iter()
            .filter(|event| matches!(event, EnvironmentEvent::Approval(_)));
        assert_eq!(decisions.count(), 1, "cut at {cut}");
        let (status, text) = place.result("call_1");
        if cut < begins {
            assert_eq!(
                (bash.count(), status),
                (1, ToolStatus::Success),
                "cut at {cut}: {text}"
            );
        } else {
            assert_eq!(bash.count(), 0, "cut at {cut}");
            assert!(
                status == ToolStatus::Success || text.contains("unknown_outcome"),
                "cut at {cut}: {text}"
            );
        }
    }
}
