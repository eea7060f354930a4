//! The quotas of a member, and the answers beyond them. The operator has none.

use std::sync::Arc;

use agentx_config::{SettingOrigin, Settings, Sourced};
use agentx_runtime::{BoxFuture, StepMetadata, Tool, ToolContext, ToolOutcome};
use agentx_server::channel::ConnectionChannel;
use agentx_types::{
    Access, ApprovalMode, EffectBill, EffectFailure, EffectOutcome, EnvironmentEvent, NanoUsd, OwnerId, Rule,
    RuleEffect, SessionId, ToolSpec, Usage,
};
use axum::http::StatusCode;
use base64::Engine as _;
use serde_json::{Value, json};

use crate::http_api::desk::{Desk, rule_of, wide};
use crate::support::{CENT, dear_agent, dollars, spent_by};

impl Desk {
    /// Creates a session and returns the answer.
    async fn make(&self, token: &str) -> (StatusCode, Value) {
        let body = json!({"config": self.agent().await});
        let made = self.post("/v1/sessions", &body).by(token).send().await;
        (made.status, made.json())
    }

    /// A session of somebody with a model that costs money.
    async fn dear(&self, owner: &OwnerId) -> String {
        let config = dear_agent(&self.state, ApprovalMode::Ask);
        self.state.create(owner, config).await.unwrap().to_string()
    }

    /// Sends a message and returns the answer.
    async fn tell(&self, token: &str, session: &str, words: &str) -> (StatusCode, Value) {
        let path = format!("/v1/sessions/{session}/messages");
        let said = self
            .post(&path, &json!({"content": words}))
            .by(token)
            .send()
            .await;
        (said.status, said.json())
    }
}

fn refused(answer: &(StatusCode, Value), status: StatusCode, code: &str, quota: &str) {
    assert_eq!(
        (answer.0, answer.1["code"].as_str()),
        (status, Some(code)),
        "{}",
        answer.1
    );
    let detail = answer.1["detail"].as_str().unwrap();
    assert!(detail.contains(quota), "it names the setting: {detail}");
}

#[tokio::test]
async fn a_member_has_so_many_sessions_and_forks_and_no_more() {
    let desk = Desk::with_quotas(|quotas| quotas.sessions = Some(2)).await;
    let first = desk.session(&desk.ann).await;
    let fork = format!("/v1/sessions/{first}/fork");
    desk.post(&fork, &json!({})).by(&desk.ann).send().await.ok();
    let full = StatusCode::INSUFFICIENT_STORAGE;
    refused(
        &desk.make(&desk.ann).await,
        full,
        "quota_storage",
        "quotas.sessions",
    );
    let again = desk.post(&fork, &json!({})).by(&desk.ann).send().await;
    assert_eq!((again.status, again.code().as_str()), (full, "quota_storage"));
    desk.session(&desk.bob).await;
    for _ in 0..4 {
        desk.session(&desk.operator).await;
    }
    let path = format!("/v1/sessions/{first}");
    desk.ask(axum::http::Method::DELETE, &path)
        .by(&desk.ann)
        .send()
        .await
        .ok();
    assert_eq!(desk.make(&desk.ann).await.0, StatusCode::CREATED);
}

#[tokio::test]
async fn sessions_that_are_made_at_once_count_too() {
    let desk = Desk::with_quotas(|quotas| quotas.sessions = Some(3)).await;
    let made = futures_util::future::join_all((0..12).map(|_| desk.make(&desk.ann))).await;
    let there = made
        .iter()
        .filter(|(status, _)| *status == StatusCode::CREATED)
        .count();
    assert!((1..=3).contains(&there), "{there}");
}

/// No sum that was read before counts for what is admitted later.
#[tokio::test]
async fn what_was_admitted_just_now_counts_for_the_next_request() {
    let desk = Desk::with_quotas(|quotas| quotas.bytes = Some(20_000)).await;
    let session = desk.session(&desk.ann).await;
    desk.say(&desk.ann, &session, json!("x".repeat(30_000))).await;
    let full = StatusCode::INSUFFICIENT_STORAGE;
    let answer = desk.tell(&desk.ann, &session, "hello").await;
    refused(&answer, full, "quota_storage", "quotas.storage_bytes");
}

#[tokio::test]
async fn what_a_members_sessions_take_is_bounded() {
    let desk = Desk::with_quotas(|quotas| quotas.bytes = None).await;
    let there = desk.session(&desk.ann).await;
    desk.say(&desk.ann, &there, json!("x".repeat(30_000))).await;
    let bound = async |bytes: u64| {
        let mut settings = Settings::clone(&desk.state.settings());
        settings.quotas.bytes = Some(bytes);
        desk.state.renew(&settings).await;
    };
    bound(10_000_000).await;
    assert_eq!(desk.make(&desk.ann).await.0, StatusCode::CREATED);
    bound(30_000).await;
    assert_eq!(desk.make(&desk.bob).await.0, StatusCode::CREATED);
    let full = StatusCode::INSUFFICIENT_STORAGE;
    refused(
        &desk.make(&desk.ann).await,
        full,
        "quota_storage",
        "quotas.storage_bytes",
    );
    let own = desk.session(&desk.operator).await;
    desk.say(&desk.operator, &own, json!("hello")).await;
    // Somebody else's session counts for them, whoever drives it.
    desk.share(&desk.operator, &own, &desk.ann_id, json!("drive"))
        .await;
    let said = desk.tell(&desk.ann, &own, "hello").await;
    assert_ne!(said.1["code"], "quota_storage");
}

impl Desk {
    /// Creates sessions of Ann, with a file of 600,000 bytes each, and deletes each again, until one is
    /// refused, at most nine times. Returns how many there were, and the refusal.
    async fn filled_and_deleted(&self, fill: impl Fn(u8) -> u8) -> (u8, (StatusCode, Value)) {
        let mut made: u8 = 0;
        loop {
            let answer = self.make(&self.ann).await;
            if answer.0 != StatusCode::CREATED || made == 9 {
                return (made, answer);
            }
            made += 1;
            let path = format!("/v1/sessions/{}", answer.1["session_id"].as_str().unwrap());
            let bytes = base64::engine::general_purpose::STANDARD.encode(vec![fill(made); 600_000]);
            let file = json!({"type": "file", "media_type": "text/plain", "source": {"base64": bytes}});
            let says = self.post(&format!("{path}/messages"), &json!({"content": [file]}));
            says.by(&self.ann).send().await.ok();
            let deletes = self.ask(axum::http::Method::DELETE, &path).by(&self.ann);
            deletes.send().await.ok();
        }
    }
}

/// Blobs of deleted sessions stay for a while: who deletes and writes again takes at most twice the quota.
#[tokio::test]
async fn blobs_of_deleted_sessions_count_while_they_stay() {
    let desk = Desk::with_quotas(|quotas| quotas.bytes = Some(1_000_000)).await;
    let (made, last) = desk.filled_and_deleted(|made| b'a' + made).await;
    assert!((3..=4).contains(&made), "{made}");
    let full = StatusCode::INSUFFICIENT_STORAGE;
    refused(&last, full, "quota_storage", "quotas.storage_bytes");
    let detail = last.1["detail"].as_str().unwrap();
    assert!(detail.contains("deleted within an hour"), "{detail}");
    // A restart does not forget them.
    let file = desk.state.settings().data_dir.join("deleted-blobs.json");
    let kept: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let kept = kept[&desk.ann_id]["named"].as_object().unwrap().len();
    assert!(kept >= usize::from(made), "{kept}");
    assert_eq!(desk.make(&desk.bob).await.0, StatusCode::CREATED);
}

/// Blobs are stored once, however many sessions named them.
#[tokio::test]
async fn a_blob_of_several_deleted_sessions_counts_once() {
    let desk = Desk::with_quotas(|quotas| quotas.bytes = Some(1_000_000)).await;
    let (made, last) = desk.filled_and_deleted(|_| b'a').await;
    assert_eq!((made, last.0), (9, StatusCode::CREATED), "{}", last.1);
}

/// The result of a command that prints 588,895 bytes, which differ for each letter.
async fn printed(desk: &Desk, token: &str, letter: char) -> String {
    let command = format!("seq -s {letter} 1 100000");
    let called = super::mcp::called(desk, token, "bash", json!({"command": command}));
    called.await.0
}

/// Calls at `/mcp` run outside of sessions. What they store stays for as long as what deleted sessions leave.
#[tokio::test]
async fn what_calls_of_a_client_store_counts_while_it_stays() {
    let desk = Desk::set(wide(), |settings| {
        settings.quotas.bytes = Some(1_000_000);
        settings.rules = vec![rule_of("allow bash: *")];
    })
    .await;
    for letter in ['a', 'b', 'c', 'a'] {
        let text = printed(&desk, &desk.ann, letter).await;
        assert!(text.contains("all of it is kept"), "{text}");
    }
    let refused_text = printed(&desk, &desk.ann, 'd').await;
    assert!(refused_text.contains("quotas.storage_bytes"), "{refused_text}");
    // A server that is killed now counts them after its restart.
    let file = desk.state.settings().data_dir.join("deleted-blobs.json");
    let kept: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!(kept[&desk.ann_id]["named"].as_object().unwrap().len(), 3);
    let mut settings = Settings::clone(&desk.state.settings());
    settings.quotas.bytes = Some(850_000);
    desk.state.renew(&settings).await;
    let full = StatusCode::INSUFFICIENT_STORAGE;
    let answer = desk.make(&desk.ann).await;
    refused(&answer, full, "quota_storage", "what calls at /mcp stored");
    for token in [&desk.bob, &desk.operator] {
        let text = printed(&desk, token, 'd').await;
        assert!(text.contains("all of it is kept"), "{text}");
    }
}

/// The server removes after an hour what its list names, so the list names what counts for no quota, too.
#[tokio::test]
async fn what_calls_store_is_listed_for_its_removal_without_a_quota_too() {
    let desk = Desk::set(wide(), |settings| {
        settings.quotas.bytes = None;
        settings.rules = vec![rule_of("allow bash: *")];
    })
    .await;
    for (token, letter) in [(&desk.operator, 'a'), (&desk.ann, 'b')] {
        let text = printed(&desk, token, letter).await;
        assert!(text.contains("all of it is kept"), "{text}");
    }
    let file = desk.state.settings().data_dir.join("deleted-blobs.json");
    let kept: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let owners = kept.as_object().unwrap();
    assert!(owners.len() == 2 && owners.contains_key(&desk.ann_id), "{kept}");
    let of = |owner: &Value| owner["named"].as_object().unwrap().len();
    assert!(owners.values().all(|owner| of(owner) == 1), "{kept}");
}

#[tokio::test]
async fn what_scripts_keep_counts_for_the_bytes_of_a_member() {
    let desk = Desk::with_quotas(|quotas| quotas.bytes = Some(1_000_000)).await;
    let keeps = |bytes: &str| std::fs::write(desk.directory.path().join(&desk.ann_id), bytes).unwrap();
    keeps("900000");
    assert_eq!(desk.make(&desk.ann).await.0, StatusCode::CREATED);
    keeps("1000000");
    // What is believed for a moment is counted anew with other settings.
    let mut settings = Settings::clone(&desk.state.settings());
    settings.quotas.bytes = Some(999_999);
    desk.state.renew(&settings).await;
    let answer = desk.make(&desk.ann).await;
    refused(
        &answer,
        StatusCode::INSUFFICIENT_STORAGE,
        "quota_storage",
        "1000000 of them as values that scripts keep",
    );
    assert_eq!(desk.make(&desk.bob).await.0, StatusCode::CREATED);
}

#[tokio::test]
async fn what_a_members_sessions_cost_is_bounded() {
    let desk = Desk::with_quotas(|quotas| quotas.cost = None).await;
    let bound = async |cost: NanoUsd| {
        let mut settings = Settings::clone(&desk.state.settings());
        settings.quotas.cost = Some(cost);
        desk.state.renew(&settings).await;
    };
    let (ann, bob) = (OwnerId::new(&desk.ann_id), OwnerId::new(&desk.bob_id));
    let [first, other] = [desk.dear(&ann).await, desk.dear(&ann).await];
    desk.say(&desk.ann, &first, json!("hello")).await;
    let spent = spent_by(&desk.state, &ann).await;
    assert!(spent >= CENT, "{spent:?}");
    // One cent is left: the next answer is begun, and costs more than that.
    bound(NanoUsd(spent.0 + CENT.0)).await;
    desk.say(&desk.ann, &other, json!("hello")).await;
    let most = NanoUsd(spent.0 + 2 * CENT.0);
    let spent = spent_by(&desk.state, &ann).await;
    assert!(spent > most, "{spent:?}");
    // What is believed for a moment is counted anew with other settings.
    bound(most).await;
    let said = desk.tell(&desk.ann, &first, "hello").await;
    refused(
        &said,
        StatusCode::TOO_MANY_REQUESTS,
        "quota_usage",
        "quotas.daily_cost",
    );
    let detail = said.1["detail"].as_str().unwrap();
    let (spent, most) = (dollars(spent), dollars(most));
    assert!(
        detail.contains(&format!("have cost {spent} within 24 hours")),
        "{detail}"
    );
    assert!(
        detail.contains(&format!("limit per member is {most} ")),
        "{detail}"
    );
    // Sessions that are deleted were paid for all the same.
    let third = desk.dear(&ann).await;
    for session in [&first, &other] {
        let path = format!("/v1/sessions/{session}");
        let deletes = desk.ask(axum::http::Method::DELETE, &path).by(&desk.ann);
        deletes.send().await.ok();
    }
    assert_eq!(spent_by(&desk.state, &ann).await, NanoUsd(0));
    // The file has their costs under their owner alone: none of them counts by its deletion, too.
    let file = desk.state.settings().data_dir.join("unlisted-costs.json");
    let kept: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!(kept.as_object().unwrap().len(), 1, "{kept}");
    bound(NanoUsd(2 * CENT.0)).await;
    let said = desk.tell(&desk.ann, &third, "hello").await;
    refused(
        &said,
        StatusCode::TOO_MANY_REQUESTS,
        "quota_usage",
        "quotas.daily_cost",
    );
    // What one has spent nobody else pays.
    let his = desk.dear(&bob).await;
    desk.say(&desk.bob, &his, json!("hello")).await;
    let own = desk.session(&desk.operator).await;
    desk.say(&desk.operator, &own, json!("hello")).await;
}

/// A server that was killed while it deleted two sessions, one of which is gone.
#[tokio::test]
async fn a_deletion_that_a_kill_cut_off_counts_once_for_the_money_of_a_member() {
    let desk = Desk::with_quotas(|quotas| quotas.cost = Some(NanoUsd(1_000 * CENT.0))).await;
    let bound = async |cost: u64| {
        let mut settings = Settings::clone(&desk.state.settings());
        settings.quotas.cost = Some(NanoUsd(cost));
        desk.state.renew(&settings).await;
    };
    let ann = OwnerId::new(&desk.ann_id);
    let [there, other, third] = [
        desk.dear(&ann).await,
        desk.dear(&ann).await,
        desk.dear(&ann).await,
    ];
    for session in [&there, &other] {
        desk.say(&desk.ann, session, json!("hello")).await;
    }
    let listed = spent_by(&desk.state, &ann).await.0;
    let now = desk.state.now().0;
    let left = json!({
        (format!("{ann} {there}")): [[now, listed]],
        (format!("{ann} ses_gone")): [[now, 50 * CENT.0]],
    });
    let file = desk.state.settings().data_dir.join("unlisted-costs.json");
    std::fs::write(&file, left.to_string()).unwrap();
    // This reads the file again.
    let deletes = desk.ask(axum::http::Method::DELETE, &format!("/v1/sessions/{other}"));
    deletes.by(&desk.ann).send().await.ok();
    let spent = listed + 50 * CENT.0;
    bound(spent).await;
    let said = desk.tell(&desk.ann, &third, "hello").await;
    let too_many = StatusCode::TOO_MANY_REQUESTS;
    refused(&said, too_many, "quota_usage", "quotas.daily_cost");
    // What is still listed does not count twice.
    bound(spent + 1).await;
    let said = desk.tell(&desk.ann, &third, "hello").await;
    assert_eq!(said.0, StatusCode::OK, "{}", said.1);
}

/// Requests that come before the first bill are not all compared with the same sum.
#[tokio::test]
async fn a_run_without_a_bill_counts_for_the_money_of_the_next_one() {
    let desk = Desk::with_quotas(|quotas| quotas.cost = None).await;
    let (ann, bob) = (OwnerId::new(&desk.ann_id), OwnerId::new(&desk.bob_id));
    let [first, other] = [desk.dear(&ann).await, desk.dear(&ann).await];
    desk.say(&desk.ann, &first, json!("hello")).await;
    let spent = spent_by(&desk.state, &ann).await;
    // Less than a sixteenth of the quota is left.
    let mut settings = Settings::clone(&desk.state.settings());
    settings.quotas.cost = Some(NanoUsd(spent.0 + spent.0 / 16));
    desk.state.renew(&settings).await;
    let said = desk.tell(&desk.ann, &first, "tell a long story").await;
    assert_eq!(said.0, StatusCode::OK, "{}", said.1);
    let said = desk.tell(&desk.ann, &other, "hello").await;
    let too_many = StatusCode::TOO_MANY_REQUESTS;
    refused(&said, too_many, "quota_usage", "quotas.daily_cost");
    let detail = said.1["detail"].as_str().unwrap();
    assert!(
        detail.contains("1 of their runs and calls have no bill yet"),
        "{detail}"
    );
    // Requests that are refused at the same moment count for nothing.
    let at_once = (0..8).map(|_| desk.tell(&desk.ann, &other, "hello"));
    for said in futures_util::future::join_all(at_once).await {
        refused(
            &said,
            too_many,
            "quota_usage",
            "1 of their runs and calls have no bill yet",
        );
    }
    // A tool that costs nothing needs no money.
    let (text, failed) = super::mcp::called(&desk, &desk.ann, "glob", json!({"pattern": "*"})).await;
    assert!(!failed, "{text}");
    let his = desk.dear(&bob).await;
    let said = desk.tell(&desk.bob, &his, "hello").await;
    assert_eq!(said.0, StatusCode::OK, "{}", said.1);
    let stop = format!("/v1/sessions/{first}/interrupt");
    desk.post(&stop, &json!({})).by(&desk.ann).send().await.ok();
}

/// A model call that a deletion ends was paid for, too.
#[tokio::test]
async fn a_call_that_a_deletion_cuts_off_counts_for_the_money_of_a_member() {
    use agentx_runtime::{Delivery, View};
    let desk = Desk::with_quotas(|quotas| quotas.cost = Some(NanoUsd(100 * CENT.0))).await;
    let ann = OwnerId::new(&desk.ann_id);
    let session = desk.dear(&ann).await;
    let said = desk.tell(&desk.ann, &session, "tell a long story").await;
    assert_eq!(said.0, StatusCode::OK, "{}", said.1);
    let open = desk.state.open(&SessionId::new(&session)).await.unwrap();
    let mut events = open.subscribe(0, View::Environment).await.unwrap();
    while let Some(delivery) = events.next().await {
        if matches!(&delivery, Delivery::Environment(fact) if matches!(fact.event, EnvironmentEvent::TextChunk(_)))
        {
            break;
        }
    }
    let path = format!("/v1/sessions/{session}");
    let deletes = desk.ask(axum::http::Method::DELETE, &path).by(&desk.ann);
    deletes.send().await.ok();
    let other = desk.dear(&ann).await;
    let mut settings = Settings::clone(&desk.state.settings());
    settings.quotas.cost = Some(NanoUsd(1));
    desk.state.renew(&settings).await;
    let said = desk.tell(&desk.ann, &other, "hello").await;
    refused(
        &said,
        StatusCode::TOO_MANY_REQUESTS,
        "quota_usage",
        "quotas.daily_cost",
    );
    // Nor does a tool for a client of `/mcp` run, whatever it costs.
    let (text, failed) = super::mcp::called(&desk, &desk.ann, "glob", json!({"pattern": "*"})).await;
    assert!(failed && text.contains("quotas.daily_cost"), "{text}");
    let (text, failed) = super::mcp::called(&desk, &desk.operator, "glob", json!({"pattern": "*"})).await;
    assert!(!failed, "{text}");
}

/// A tool that calls a model in steps, as tools from files do. Its arguments name the kind of the steps.
struct Paid;

impl Tool for Paid {
    fn spec(&self) -> ToolSpec {
        let schema = json!({"type": "object"});
        ToolSpec::new("paid", "Calls a model.", schema, Access::Run)
    }

    fn may_call_models(&self) -> bool {
        true
    }

    fn call(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        Box::pin(async move {
            let kind = input["kind"].as_str().unwrap();
            let outcome = if input["fails"] == true {
                EffectOutcome::Failed(EffectFailure {
                    code: "interrupted".into(),
                    message: "it was stopped".into(),
                })
            } else {
                EffectOutcome::Done(Value::Null)
            };
            let bill = EffectBill {
                model: "made-up".into(),
                usage: Usage::default(),
                cost: NanoUsd(7),
            };
            for step in 1..=input["times"].as_u64().unwrap_or(1) {
                if !context.journal.begin(step, kind, json!({})).await {
                    return ToolOutcome::success("it began no more");
                }
                if let Some(file) = input["file"].as_str() {
                    while !std::path::Path::new(file).exists() {
                        tokio::task::yield_now().await;
                    }
                }
                let bill = StepMetadata::from(bill.clone());
                let end = context.journal.end(step, kind, None, outcome.clone(), bill);
                end.await;
            }
            if input["waits"] == true {
                context.cancel.cancelled().await;
            }
            ToolOutcome::success("done")
        })
    }
}

/// Whatever kind of step calls a model for a client of `/mcp`, its bill counts: of a script, of a stream, of
/// a server that asks for a sample, and of an answer that was cut off.
#[tokio::test]
async fn every_kind_of_model_call_of_a_client_is_billed() {
    let rule = Rule {
        effect: RuleEffect::Allow,
        tool: "paid".into(),
        argument: None,
        path: None,
        workspace: None,
        origin: None,
    };
    let desk = Desk::with_tool(Arc::new(Paid), |settings| {
        settings.quotas.cost = Some(NanoUsd(28));
        settings.rules = vec![rule];
    })
    .await;
    let file = desk.state.settings().data_dir.join("unlisted-costs.json");
    let spent = || {
        let costs: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let costs = costs[&desk.ann_id].as_array().unwrap().iter();
        costs.map(|entry| entry[1].as_u64().unwrap()).sum::<u64>()
    };
    let mut expected = 0;
    for (kind, fails) in [
        ("generate", false),
        ("generate_json", false),
        ("generate_stream", false),
        ("generate", true),
    ] {
        let arguments = json!({"kind": kind, "fails": fails});
        let (text, failed) = super::mcp::called(&desk, &desk.ann, "paid", arguments).await;
        assert!(!failed, "{kind}: {text}");
        expected += 7;
        assert_eq!(spent(), expected, "{kind}");
    }
    let arguments = json!({"kind": "generate"});
    let (text, failed) = super::mcp::called(&desk, &desk.ann, "paid", arguments).await;
    assert!(failed && text.contains("quotas.daily_cost"), "{text}");
}

/// A kill that comes after a bill, and before the call ends, does not lose it.
#[tokio::test]
async fn a_bill_of_a_call_of_a_client_is_on_the_disk_before_the_call_ends() {
    let desk = Desk::with_tool(Arc::new(Paid), |settings| {
        settings.quotas.cost = Some(NanoUsd(28_000));
        settings.rules = vec![rule_of("allow paid: *")];
        settings.rules[0].argument = None;
    })
    .await;
    let file = desk.state.settings().data_dir.join("unlisted-costs.json");
    let is_billed = || {
        let costs = std::fs::read(&file).unwrap_or_default();
        let costs: Value = serde_json::from_slice(&costs).unwrap_or_default();
        costs[&desk.ann_id][0][1] == 7
    };
    let arguments = json!({"kind": "generate", "waits": true});
    let call = super::mcp::called(&desk, &desk.ann, "paid", arguments);
    let billed = async {
        while !is_billed() {
            tokio::task::yield_now().await;
        }
    };
    let billed = tokio::time::timeout(std::time::Duration::from_secs(60), billed);
    tokio::select! {
        (text, _) = call => panic!("it waits: {text}"),
        in_time = billed => assert!(in_time.is_ok(), "the bill is on the disk"),
    }
}

/// A call cannot spend more than the remaining budget, whatever number of model calls it makes.
#[tokio::test]
async fn a_call_of_a_client_begins_no_model_call_that_there_is_no_money_for() {
    let desk = Desk::with_tool(Arc::new(Paid), |settings| {
        settings.quotas.cost = Some(NanoUsd(28));
        settings.rules = vec![rule_of("allow paid: *")];
        settings.rules[0].argument = None;
    })
    .await;
    let arguments = json!({"kind": "generate", "times": 60});
    let (text, failed) = super::mcp::called(&desk, &desk.ann, "paid", arguments).await;
    assert!(
        failed && text.starts_with("Stopped: ") && text.contains("quotas.daily_cost"),
        "{text}"
    );
    let file = desk.state.settings().data_dir.join("unlisted-costs.json");
    let costs: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!(costs[&desk.ann_id][0][1], 28, "four bills: {costs}");
}

/// A call of a client of `/mcp` ends when the money is used up, as a run does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_of_a_client_ends_when_the_money_of_its_owner_is_used_up() {
    let mut desk = Desk::set(wide(), |settings: &mut Settings| {
        settings.quotas.cost = Some(NanoUsd(100 * CENT.0));
        settings.rules = vec![rule_of("allow bash: *")];
    })
    .await;
    let server = desk.server.take().unwrap();
    let chores = tokio::spawn(server.run(std::future::pending()));
    let session = desk.dear(&OwnerId::new(&desk.ann_id)).await;
    desk.say(&desk.ann, &session, json!("hello")).await;
    let fifo = desk.ann_dir().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    let spends = async {
        // This ends when the command has opened the other end.
        let writes = tokio::task::spawn_blocking(move || std::fs::File::create(fifo)).await;
        let mut settings = Settings::clone(&desk.state.settings());
        settings.quotas.cost = Some(NanoUsd(1));
        desk.state.renew(&settings).await;
        writes.unwrap().unwrap()
    };
    let call = super::mcp::called(&desk, &desk.ann, "bash", json!({"command": "cat fifo"}));
    let ((text, failed), _writes) = tokio::join!(call, spends);
    assert!(failed && text.contains("quotas.daily_cost"), "{text}");
    chores.abort();
}

/// The price of a model that the server does not list is unknown: no bound on money would hold.
#[tokio::test]
async fn a_member_uses_models_that_the_server_lists() {
    let own = |settings: &mut Settings| {
        settings.model = Some(Sourced::new("openai/made-up".into(), SettingOrigin::Default));
        let openai = settings.providers.iter_mut().find(|known| known.name == "openai");
        openai.unwrap().needs_key = false;
    };
    let desk = Desk::set(wide(), own).await;
    let usual = desk.agent().await;
    assert_eq!(usual["model"]["id"], "made-up");
    desk.session(&desk.ann).await;
    let other = |id: &str| {
        let mut config = usual.clone();
        config["model"]["id"] = json!(id);
        config["model"]["prices"] = json!({"input": 1, "output": 1, "cache_read": 1, "cache_write": 1});
        config
    };
    let mut child = usual.clone();
    child["agents"] = json!([other("secret-expensive")]);
    let mut summaries = usual.clone();
    summaries["condensing"] =
        json!({"at_percent": 50, "tail": 1, "model": other("secret-expensive")["model"]});
    for config in [other("secret-expensive"), other("../../x"), child, summaries] {
        let body = json!({"config": config});
        let made = desk.post("/v1/sessions", &body).by(&desk.ann).send().await;
        assert_eq!(made.code(), "denied", "{:?}", made.body);
        let made = desk.post("/v1/sessions", &body).by(&desk.operator).send().await;
        made.ok();
    }
}

#[tokio::test]
async fn so_many_sessions_of_a_member_run_at_once() {
    let desk = Desk::with_quotas(|quotas| quotas.running = Some(1)).await;
    let sessions = [desk.session(&desk.ann).await, desk.session(&desk.ann).await];
    // It waits for the operator, so it stays at work.
    let first = desk.tell(&desk.ann, &sessions[0], "run touch file").await;
    assert_eq!(first.0, StatusCode::OK, "{}", first.1);
    let second = desk.tell(&desk.ann, &sessions[1], "hello").await;
    refused(
        &second,
        StatusCode::TOO_MANY_REQUESTS,
        "quota_usage",
        "quotas.running_sessions",
    );
    let queued = desk.tell(&desk.ann, &sessions[0], "and then").await;
    assert_eq!(queued.0, StatusCode::OK, "it runs already: {}", queued.1);
    let stop = format!("/v1/sessions/{}/interrupt", sessions[0]);
    desk.post(&stop, &json!({})).by(&desk.ann).send().await.ok();
}

/// While a call of a member has the one place that they may have, others of theirs wait, and those of the
/// operator run.
#[tokio::test]
async fn calls_of_a_member_leave_places_to_others() {
    let rules = ["cat *", "touch *"].map(|line| Rule {
        effect: RuleEffect::Allow,
        tool: "bash".to_owned(),
        argument: Some(line.to_owned()),
        path: None,
        workspace: None,
        origin: None,
    });
    let desk = Desk::set(wide(), |settings: &mut Settings| {
        settings.quotas.calls = Some(1);
        settings.rules = rules.to_vec();
    })
    .await;
    let fifo = desk.ann_dir().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    let sessions = [desk.session(&desk.ann).await, desk.session(&desk.ann).await];
    let first = desk
        .tell(&desk.ann, &sessions[0], &format!("run cat {}", fifo.display()))
        .await;
    assert_eq!(first.0, StatusCode::OK, "{}", first.1);
    // This ends when the command has opened the other end.
    let writes = tokio::task::spawn_blocking(move || std::fs::File::create(fifo)).await;
    let writes = writes.unwrap().unwrap();
    let (hers, own) = (desk.ann_dir().join("hers"), desk.directory.path().join("own"));
    let second = desk
        .tell(&desk.ann, &sessions[1], &format!("run touch {}", hers.display()))
        .await;
    assert_eq!(second.0, StatusCode::OK, "{}", second.1);
    let of_operator = desk.session(&desk.operator).await;
    let words = format!("run touch {}", own.display());
    desk.say(&desk.operator, &of_operator, json!(words)).await;
    assert!(own.exists() && !hers.exists());
    drop(writes);
    for (session, (_, said)) in sessions.iter().zip([&first, &second]) {
        desk.until_finished(session, said["seq"].as_u64().unwrap()).await;
    }
    assert!(hers.exists());
}

#[tokio::test]
async fn a_configuration_is_no_larger_than_the_server_takes() {
    let desk = Desk::with_quotas(|quotas| quotas.config_bytes = 200_000).await;
    let agent = desk.agent().await;
    let many = |count: usize| {
        let mut root = agent.clone();
        let mut child = agent.clone();
        child["tools"] = json!([]);
        child["instructions"] = json!([]);
        root["agents"] = json!(vec![child; count]);
        json!({"config": root})
    };
    let mut deep = agent.clone();
    deep["system_prompt"] = json!("x".repeat(300_000));
    for (body, quota) in [
        (many(2000), "quotas.agents"),
        (json!({"config": deep}), "quotas.config_bytes"),
    ] {
        for token in [&desk.ann, &desk.operator] {
            let made = desk.post("/v1/sessions", &body).by(token).send().await;
            let answer = (made.status, made.json());
            refused(&answer, StatusCode::PAYLOAD_TOO_LARGE, "too_large", quota);
        }
    }
}

#[tokio::test]
async fn tokens_and_idempotency_keys_of_a_person_are_as_many_as_the_settings_say() {
    let desk = Desk::with_quotas(|quotas| (quotas.tokens, quotas.idempotency_keys) = (2, 1)).await;
    let keyring = agentx_identity::Keyring::open(&desk.state.settings().data_dir).unwrap();
    let key = keyring.identity().unwrap().unwrap();
    let first = desk.operator.clone();
    for (whether, status) in [
        (0, StatusCode::OK),
        (1, StatusCode::OK),
        (2, StatusCode::UNAUTHORIZED),
    ] {
        let me = desk.get("/v1/me").by(&first).send().await;
        assert_eq!(me.status, status, "after {whether} more tokens");
        let answer = desk.answer(&key).await;
        desk.post("/v1/auth/token", &answer).send().await.ok();
    }
    let body = json!({"config": desk.agent().await});
    let make = async |key: &str| {
        let asked = desk.post("/v1/sessions", &body).by(&desk.ann);
        let made = asked.header("idempotency-key", key).send().await.ok();
        made.json()["session_id"].clone()
    };
    let first = make("a").await;
    assert_eq!(make("a").await, first);
    make("b").await;
    assert_ne!(make("a").await, first, "one key is remembered");
}

#[tokio::test]
async fn challenges_of_one_address_do_not_push_out_those_of_another() {
    let desk = Desk::with_quotas(|quotas| quotas.challenges = 4).await;
    let (auth, now) = (desk.state.auth(), desk.state.now_ms());
    let key = agentx_identity::SecretKey::generate().unwrap();
    let honest = auth.open_challenge("192.0.2.1", now).unwrap();
    let first = auth.open_challenge("192.0.2.66", now).unwrap();
    for _ in 0..100 {
        auth.open_challenge("192.0.2.66", now).unwrap();
    }
    let code = |challenge: &agentx_identity::AuthChallenge| {
        let signature = agentx_identity::sign_challenge(&key, challenge).to_string();
        let challenge = (challenge.nonce.clone(), challenge.expires_at_ms);
        let token = auth.token(
            &key.public_key().to_string(),
            challenge,
            &signature,
            (&ConnectionChannel::Plain, "192.0.2.1", now),
        );
        token.err().map(|problem| problem.code)
    };
    assert_eq!(code(&first).as_deref(), Some("stale_challenge"));
    assert_eq!(
        code(&honest).as_deref(),
        Some("unknown_person"),
        "it is still open"
    );
}

#[tokio::test]
async fn the_description_is_compressed_once() {
    let desk = Desk::new().await;
    let ask = |takes: &'static str| desk.get("/v1/openapi.json").header("accept-encoding", takes);
    let plain = ask("identity").send().await.ok();
    let first = ask("br, gzip;q=0.5").send().await.ok();
    let second = ask("gzip").send().await.ok();
    assert_eq!(
        (first.header("content-encoding"), plain.header("content-encoding")),
        ("gzip", "")
    );
    // One that is compressed for each request is sent as it comes; this one has a length.
    assert_eq!(first.header("content-length"), first.body.len().to_string());
    assert_eq!(first.body, second.body);
    assert_eq!(first.header("etag"), plain.header("etag"));
    assert!(first.body.len() < plain.body.len() / 2);
}

#[tokio::test]
async fn so_much_waits_in_a_session_whoever_says_it_and_no_more() {
    for bytes in [true, false] {
        let desk = Desk::with_quotas(|quotas| {
            if bytes {
                quotas.queued_bytes = 1000
            } else {
                quotas.queued = 2
            }
        })
        .await;
        for token in [&desk.ann, &desk.operator] {
            let session = desk.session(token).await;
            let begun = desk.tell(token, &session, "run touch file").await;
            assert_eq!(begun.0, StatusCode::OK, "{}", begun.1);
            let path = format!("/v1/sessions/{session}/messages");
            let send = |number: u32| {
                let body = json!({"content": "x".repeat(600), "idempotency_key": format!("k{number}")});
                desk.post(&path, &body).by(token).send()
            };
            let first = send(1).await.ok().json();
            send(2).await.ok();
            let full = send(3).await;
            assert!(
                full.header("retry-after")
                    .parse::<u64>()
                    .is_ok_and(|seconds| seconds > 0)
            );
            let named = if bytes {
                "quotas.queued_bytes"
            } else {
                "quotas.queued_messages"
            };
            let answer = (full.status, full.json());
            refused(&answer, StatusCode::TOO_MANY_REQUESTS, "queue_full", named);
            assert_eq!(send(1).await.ok().json(), first, "it was taken before");
            let stop = format!("/v1/sessions/{session}/interrupt");
            desk.post(&stop, &json!({})).by(token).send().await.ok();
        }
    }
}

/// Texts that are kept in the log and shown in lists have a bound of their own.
#[tokio::test]
async fn words_beside_messages_are_no_longer_than_the_server_takes() {
    let desk = Desk::new().await;
    let session = desk.session(&desk.ann).await;
    let long = "x".repeat(4097);
    for (route, body) in [
        ("interrupt", json!({"reason": long})),
        (
            "approvals",
            json!({"tool_call_id": "call_1", "decision": "deny", "note": long}),
        ),
        ("context", json!({"wish": {"condense": {"instructions": long}}})),
    ] {
        let path = format!("/v1/sessions/{session}/{route}");
        let answer = desk.post(&path, &body).by(&desk.ann).send().await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (StatusCode::BAD_REQUEST, "bad_request")
        );
        assert!(answer.json()["detail"].as_str().unwrap().contains("4096"));
    }
}

#[tokio::test]
async fn a_member_names_public_addresses_alone() {
    let desk = Desk::new().await;
    for (token, is_operator) in [(&desk.ann, false), (&desk.operator, true)] {
        let session = desk.session(token).await;
        for url in [
            "file:///etc/passwd",
            "http://127.0.0.1/a.png",
            "https://10.0.0.1/a.png",
        ] {
            let file = json!({"type": "file", "media_type": "text/plain", "source": {"url": url}});
            let body = json!({"content": [file]});
            let path = format!("/v1/sessions/{session}/messages");
            let said = desk.post(&path, &body).by(token).send().await;
            let is_refused = said.status == StatusCode::BAD_REQUEST
                && said.json()["detail"].as_str().unwrap().contains("public host");
            assert_eq!(is_refused, !is_operator, "{url}: {:?}", said.json());
        }
    }
}

/// Queries fill processors, so a member has two turns at them, also at `/mcp`, and others do not wait for
/// them.
#[tokio::test]
async fn a_member_has_two_turns_at_queries_with_and_without_a_quota() {
    for calls in [Some(16), None] {
        let desk = Desk::with_quotas(|quotas| quotas.calls = calls).await;
        let database = |directory: std::path::PathBuf| {
            std::fs::create_dir_all(&directory).unwrap();
            let connection = rusqlite::Connection::open(directory.join("shop.db")).unwrap();
            connection
                .execute_batch("CREATE TABLE users (id INTEGER)")
                .unwrap();
        };
        database(desk.ann_dir());
        database(desk.ann_dir().with_file_name(&desk.bob_id));
        let ask = || json!({"path": "shop.db", "sql": "SELECT count(*) AS n FROM users"});
        let slots = desk.state.runtime_of(&OwnerId::new(&desk.ann_id)).slots().clone();
        let turns = (slots.take_slow().await, slots.take_slow().await);
        {
            let hers = super::mcp::called(&desk, &desk.ann, "query", ask());
            tokio::pin!(hers);
            tokio::select! {
                biased;
                (text, _) = &mut hers => panic!("she has no turn: {text}"),
                (text, failed) = super::mcp::called(&desk, &desk.bob, "query", ask()) => assert!(!failed, "{text}"),
            }
            drop(turns);
            let (text, failed) = hers.await;
            assert!(!failed, "{text}");
        }
    }
}
