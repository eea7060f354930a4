//! Opening a session of 100,000 events, 90,000 of them deltas, to the prompt of a chat.

use std::sync::Arc;

use agentx::runtime::{Batch, Derived, DerivedDigest, Fact, NewLog, Projection, SessionFold, SessionLog};
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

/// A session that is built fact by fact, as a driver would.
struct Build {
    id: SessionId,
    fold: SessionFold,
    digest: DerivedDigest,
    facts: Vec<Fact>,
    projections: Vec<Projection>,
    /// The model call that is under way.
    call: Option<ActionId>,
}

impl Build {
    fn new(id: SessionId) -> Self {
        Self {
            fold: SessionFold::new(id.clone()),
            id,
            digest: DerivedDigest::default(),
            facts: Vec::new(),
            projections: Vec::new(),
            call: None,
        }
    }

    /// Adds a fact; those of the environment answer the model call that is under way.
    fn say(&mut self, source: Source, event: impl Into<EnvironmentEvent>) {
        let seq = self.fold.last_seq() + 1;
        let cause = self.call.clone().filter(|_| source == Source::Environment);
        let agent_state_id = Some(AgentStateId::new("agt_bench"));
        let draft = Draft {
            source,
            agent_state_id,
            run_id: None,
            cause,
            event: event.into(),
        };
        let at = Timestamp(i64::try_from(seq).unwrap_or(0) * 1_000);
        let fact = Arc::new(draft.into_envelope(self.id.clone(), seq, at));
        let mut derived = Derived::default();
        self.fold.apply(&fact, &mut derived);
        self.digest.add(&fact, &derived);
        self.facts.push(fact);
        self.projections.append(&mut derived.projections);
        let asked = derived
            .actions
            .into_iter()
            .find(|action| matches!(action.body, ActionBody::CallModel(_)));
        self.call = asked.map(|action| action.action_id).or(self.call.take());
    }

    /// An input and an answer of 45 deltas.
    fn exchange(&mut self) {
        let seq = self.fold.last_seq();
        let content = vec![ContentPart::text("please go on")];
        let message_id = MessageId::with_suffix(seq);
        self.say(
            Source::User,
            UserMessage {
                message_id,
                content,
                mode: InputMode::Queue,
                idempotency_key: None,
            },
        );
        self.say(
            Source::Environment,
            ActionStarted {
                kind: ActionKind::CallModel,
                tool_call_id: None,
            },
        );
        let message_id = MessageId::with_suffix(format!("a{seq}"));
        self.say(
            Source::Environment,
            StreamStart {
                message_id,
                model: "m".into(),
                attempt: 1,
            },
        );
        for _ in 0..45 {
            self.say(
                Source::Environment,
                TextChunk {
                    text: "words ".into(),
                },
            );
        }
        let usage = Usage {
            input_tokens: 10,
            output_tokens: 45,
            ..Usage::default()
        };
        self.say(Source::Environment, UsageReport { usage });
        self.say(
            Source::Environment,
            StreamEnd {
                stop_reason: StopReason::EndTurn,
                raw: None,
            },
        );
    }
}

async fn fill(scratch: &Scratch) -> SessionId {
    let data = scratch.0.join(".local/share/agentx");
    let log = SqliteLog::open(data.join(agentx::node::DATABASE), Options::default()).expect("a database");
    let mut build = Build::new(SessionId::new("ses_bench0000000"));
    let workspace = scratch.0.join("ws").to_string_lossy().into_owned();
    let owner = OwnerId::new("own_local");
    let new = NewLog {
        session_id: build.id.clone(),
        owner: owner.clone(),
        at: Timestamp(1),
        workspace: workspace.clone(),
        parent: None,
    };
    log.create(new).await.expect("a session");
    let writer = log.attach(&build.id).await.expect("its writer");
    let config = Box::new(AgentConfig {
        workspace,
        ..agentx::agent::fixtures::config()
    });
    build.say(
        Source::System,
        SessionOpened {
            owner,
            config,
            program: "bench".into(),
        },
    );
    while build.fold.last_seq() < EVENTS {
        build.exchange();
    }
    for chunk in build.facts.chunks(512) {
        let projections = std::mem::take(&mut build.projections);
        let batch = Batch {
            facts: chunk.to_vec(),
            derived: build.digest.value(),
            projections,
        };
        log.append(&writer, batch).await.expect("an append");
    }
    build.id
}
