//! A session that is built fact by fact, as a driver would, and written to the log: what benches find there
//! before they measure.

use std::path::Path;
use std::sync::Arc;

use agentx::runtime::{Batch, DerivedDigest, Fact, NewLog, Projection, SessionFold, SessionLog, Writer};
use agentx::sqlite_log::{LogOptions, SqliteLog};
use agentx::types::*;

/// Facts that are appended together.
const BATCH: usize = 512;

/// The log in a data directory.
pub(crate) fn log_in(data: &Path) -> Arc<SqliteLog> {
    SqliteLog::open(data.join(agentx::node::DATABASE), LogOptions::default()).expect("a database")
}

/// The owner of the sessions.
pub(crate) fn owner() -> OwnerId {
    OwnerId::new("own_local")
}

/// A session that is being built.
pub(crate) struct Build {
    began: i64,
    writer: Writer,
    fold: SessionFold,
    digest: DerivedDigest,
    facts: Vec<Fact>,
    projections: Vec<Projection>,
    /// The model call that is under way.
    call: Option<ActionId>,
}

impl Build {
    /// Begins a session at a time in microseconds. No two should have the same: lists are in their order.
    pub(crate) async fn begin(log: &SqliteLog, id: SessionId, config: AgentConfig, began: i64) -> Self {
        let new = NewLog::new(id.clone(), owner(), Timestamp(began), config.workspace.clone());
        log.create(new).await.expect("a session");
        let mut build = Self {
            writer: log.attach(&id).await.expect("its writer"),
            fold: SessionFold::new(id),
            began,
            digest: DerivedDigest::default(),
            facts: Vec::new(),
            projections: Vec::new(),
            call: None,
        };
        let opened = SessionOpened {
            owner: owner(),
            config: Box::new(config),
            program: "bench".into(),
        };
        build.say(Source::System, opened);
        build
    }

    /// Adds an input, and an answer in pieces. Returns how many events there are.
    pub(crate) fn exchange(&mut self, input: String, pieces: impl ExactSizeIterator<Item = String>) -> u64 {
        let seq = self.fold.last_seq();
        let input = UserMessage {
            message_id: MessageId::with_suffix(seq),
            content: vec![ContentPart::text(input)],
            mode: InputMode::Queue,
            idempotency_key: None,
            by: None,
            answer_schema: None,
        };
        self.say(Source::User, input);
        let started = ActionStarted {
            kind: ActionKind::CallModel,
            tool_call_id: None,
            due_at: None,
        };
        self.say(Source::Environment, started);
        let start = StreamStart {
            message_id: MessageId::with_suffix(format!("a{seq}")),
            model: "m".into(),
            attempt: 1,
        };
        self.say(Source::Environment, start);
        let usage = Usage {
            input_tokens: 10,
            output_tokens: pieces.len() as u64,
            ..Usage::default()
        };
        for text in pieces {
            self.say(Source::Environment, TextChunk { text });
        }
        self.say(Source::Environment, UsageReport { usage });
        let end = StreamEnd {
            stop_reason: StopReason::EndTurn,
            raw: None,
        };
        self.say(Source::Environment, end);
        self.fold.last_seq()
    }

    /// Appends what was added.
    pub(crate) async fn append(&mut self, log: &SqliteLog) {
        let mut projections = std::mem::take(&mut self.projections);
        for chunk in std::mem::take(&mut self.facts).chunks(BATCH) {
            let batch = Batch::new(chunk.to_vec(), self.digest.value())
                .with_projections(std::mem::take(&mut projections));
            log.append(&self.writer, batch).await.expect("an append");
        }
    }

    /// Adds a fact; those of the environment answer the model call that is under way.
    fn say(&mut self, source: Source, event: impl Into<EnvironmentEvent>) {
        let draft = EventDraft {
            source,
            agent_state_id: Some(AgentStateId::new("agt_bench")),
            run_id: None,
            cause: self.call.clone().filter(|_| source == Source::Environment),
            event: event.into(),
        };
        let at = Timestamp(self.began + i64::try_from(self.fold.next_seq()).unwrap_or(0) * 1_000);
        let fact = Arc::new(self.fold.mint(draft, at));
        let mut derived = self.fold.apply(&fact);
        self.digest.add(&fact, &derived);
        self.facts.push(fact);
        self.projections.append(&mut derived.projections);
        let mut actions = derived.actions.into_iter();
        let asked = actions.find(|action| matches!(action.body, ActionBody::CallModel(_)));
        self.call = asked.map(|action| action.action_id).or(self.call.take());
    }
}
