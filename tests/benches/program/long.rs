//! Opening a session of 100,000 events, 90,000 of them deltas, to the prompt of a chat.

use std::sync::Arc;

use agentx::runtime::{Batch, Derived, DerivedDigest, Fact, NewLog, SessionFold, SessionLog};
use agentx::sqlite_log::{Options, SqliteLog};
use agentx::types::*;

use crate::process::{Scratch, median, run};

const EVENTS: u64 = 100_000;
const RUNS: usize = 15;

pub(crate) fn measure() {
    let scratch = Scratch::new("open");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let id = runtime.block_on(fill(&scratch));
    let open = |args: &[&str]| run(&scratch, "http://127.0.0.1:9", args);
    open(&["resume", id.as_str()]);
    let costs: Vec<_> = (0..RUNS).map(|_| open(&["resume", id.as_str()])).collect();
    println!(
        "{EVENTS} events to the prompt  {:.1} ms   peak {:.1} MiB (median of {RUNS}, whole process)",
        median(costs.iter().map(|cost| cost.wall_s * 1e3)),
        median(costs.iter().map(|cost| cost.peak_mib)),
    );
    let version = median((0..RUNS).map(|_| open(&["fork", id.as_str(), "--at", "50000"]).wall_s * 1e3));
    println!("fork of it                     {version:.1} ms (whole process)");
}

async fn fill(scratch: &Scratch) -> SessionId {
    let data = scratch.0.join(".local/share/agentx");
    let log = SqliteLog::open(data.join(agentx::node::DATABASE), Options::default()).expect("a database");
    let id = SessionId::new("ses_bench0000000");
    let workspace = scratch.0.join("ws").to_string_lossy().into_owned();
    let new = NewLog {
        session_id: id.clone(),
        owner: OwnerId::new("own_local"),
        at: Timestamp(1),
        workspace: workspace.clone(),
        parent: None,
    };
    log.create(new).await.expect("a session");
    let writer = log.attach(&id).await.expect("its writer");
    let mut fold = SessionFold::new(id.clone());
    let mut digest = DerivedDigest::default();
    let config = AgentConfig {
        workspace,
        ..agentx::agent::fixtures::config()
    };
    let agent = AgentStateId::new("agt_bench");
    let mut facts: Vec<Fact> = Vec::new();
    let mut projections = Vec::new();
    let mut call: Option<ActionId> = None;
    let mut say = |event: EnvironmentEvent, cause: Option<ActionId>| {
        let seq = fold.last_seq() + 1;
        let draft = Draft {
            source: Source::Environment,
            agent_state_id: Some(agent.clone()),
            run_id: None,
            cause,
            event,
        };
        let fact = Arc::new(draft.into_envelope(
            id.clone(),
            seq,
            Timestamp(i64::try_from(seq).unwrap_or(0) * 1_000),
        ));
        let mut derived = Derived::default();
        fold.apply(&fact, &mut derived);
        digest.add(&fact, &derived);
        facts.push(fact);
        projections.append(&mut derived.projections);
        (
            seq,
            derived
                .actions
                .into_iter()
                .find(|action| matches!(action.body, ActionBody::CallModel(_)))
                .map(|action| action.action_id),
        )
    };
    say(
        SessionOpened {
            owner: OwnerId::new("own_local"),
            config: Box::new(config),
            program: "bench".into(),
        }
        .into(),
        None,
    );
    let mut seq = 1;
    while seq < EVENTS {
        let text = vec![ContentPart::text("please go on")];
        let input = UserMessage {
            message_id: MessageId::with_suffix(seq),
            content: text,
            mode: InputMode::Queue,
            idempotency_key: None,
        };
        call = say(input.into(), None).1.or(call);
        say(
            ActionStarted {
                kind: ActionKind::CallModel,
                tool_call_id: None,
            }
            .into(),
            call.clone(),
        );
        say(
            StreamStart {
                message_id: MessageId::with_suffix(format!("a{seq}")),
                model: "m".into(),
                attempt: 1,
            }
            .into(),
            call.clone(),
        );
        for _ in 0..45 {
            say(
                TextChunk {
                    text: "words ".into(),
                }
                .into(),
                call.clone(),
            );
        }
        say(
            UsageReport {
                usage: Usage {
                    input_tokens: 10,
                    output_tokens: 45,
                    ..Usage::default()
                },
            }
            .into(),
            call.clone(),
        );
        seq = say(
            StreamEnd {
                stop_reason: StopReason::EndTurn,
                raw: None,
            }
            .into(),
            call.clone(),
        )
        .0;
    }
    let total = facts.len();
    for (index, chunk) in facts.chunks(512).enumerate() {
        let last = (index + 1) * 512 >= total;
        let batch = Batch {
            facts: chunk.to_vec(),
            derived: digest.value(),
            projections: if last {
                std::mem::take(&mut projections)
            } else {
                Vec::new()
            },
        };
        log.append(&writer, batch).await.expect("an append");
    }
    id
}
