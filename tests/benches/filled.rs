//! Sessions that are there before anything is measured: built fact by fact, as a driver would, and written to the log.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use agentx::runtime::{Batch, Derived, DerivedDigest, Fact, NewLog, Projection, SessionFold, SessionLog};
use agentx::sqlite_log::{Options, SqliteLog};
use agentx::types::*;

/// Deltas of one answer.
const DELTAS: usize = 45;
/// When the next session begins.
static BEGAN: AtomicI64 = AtomicI64::new(0);
/// Facts that are appended together.
const BATCH: usize = 512;

/// The log in a data directory.
pub(crate) fn log_in(data: &Path) -> Arc<SqliteLog> {
    SqliteLog::open(data.join(agentx::node::DATABASE), Options::default()).expect("a database")
}

/// Writes a session of at least so many events: inputs, and answers of 45 deltas.
pub(crate) async fn fill(log: &SqliteLog, id: SessionId, config: AgentConfig, events: u64) {
    let mut build = Build::new(id);
    let owner = OwnerId::new("own_local");
    let new = NewLog {
        session_id: build.id.clone(),
        owner: owner.clone(),
        at: Timestamp(1),
        workspace: config.workspace.clone(),
        parent: None,
    };
    log.create(new).await.expect("a session");
    let writer = log.attach(&build.id).await.expect("its writer");
    let opened = SessionOpened {
        owner,
        config: Box::new(config),
        program: "bench".into(),
    };
    build.say(Source::System, opened);
    while build.fold.last_seq() < events {
        build.exchange();
    }
    let mut projections = std::mem::take(&mut build.projections);
    for chunk in build.facts.chunks(BATCH) {
        let batch = Batch {
            facts: chunk.to_vec(),
            derived: build.digest.value(),
            projections: std::mem::take(&mut projections),
        };
        log.append(&writer, batch).await.expect("an append");
    }
}

/// A session that is being built.
struct Build {
    id: SessionId,
    /// No two sessions have the same times: lists are in their order.
    began: i64,
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
            began: BEGAN.fetch_add(1_000_000, Ordering::Relaxed),
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
        let at = Timestamp(self.began + i64::try_from(seq).unwrap_or(0) * 1_000);
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

    /// An input and an answer.
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
        for _ in 0..DELTAS {
            self.say(
                Source::Environment,
                TextChunk {
                    text: "words ".into(),
                },
            );
        }
        let usage = Usage {
            input_tokens: 10,
            output_tokens: DELTAS as u64,
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
