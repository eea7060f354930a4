//! Many sessions, made fact by fact as a driver would, so that what is measured is what people have after a year.

use std::path::Path;
use std::sync::Arc;

use agentx::runtime::{Batch, Derived, DerivedDigest, Fact, NewLog, Projection, SessionFold, SessionLog};
use agentx::sqlite_log::SqliteLog;
use agentx::types::*;

use crate::words::Words;

/// Bytes of an input, of an answer, and of the pieces that it comes in.
const INPUT: usize = 3_000;
const ANSWER: usize = 2_000;
const PIECE: usize = 100;

/// How much there is to be.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) sessions: usize,
    pub(crate) bytes: usize,
}

/// Whose they are.
pub(crate) fn owner() -> OwnerId {
    OwnerId::new("own_local")
}

/// Makes them; one in twenty works in `workspace`.
pub(crate) async fn make(log: &SqliteLog, workspace: &Path, size: Size, words: &mut Words) {
    let each = size.bytes / size.sessions / (INPUT + ANSWER);
    for number in 0..size.sessions {
        let mut config = agentx::agent::fixtures::config();
        config.workspace = match number % 20 {
            0 => workspace.to_string_lossy().into_owned(),
            other => format!("/home/somebody/project-{other}"),
        };
        session(log, number, config, each.max(1), words).await;
    }
}

async fn session(log: &SqliteLog, number: usize, config: AgentConfig, exchanges: usize, words: &mut Words) {
    let id = SessionId::new(format!("ses_{number:012}"));
    let began = 1_700_000_000_000_000 + i64::try_from(number).unwrap_or(0) * 60_000_000;
    let new = NewLog {
        session_id: id.clone(),
        owner: owner(),
        at: Timestamp(began),
        workspace: config.workspace.clone(),
        parent: None,
    };
    log.create(new).await.expect("a session");
    let writer = log.attach(&id).await.expect("its writer");
    let mut build = Build::new(id, began);
    let opened = SessionOpened {
        owner: owner(),
        config: Box::new(config),
        program: "bench".into(),
    };
    build.say(Source::System, opened);
    for _ in 0..exchanges {
        build.exchange(words);
        log.append(&writer, build.batch()).await.expect("an append");
    }
}

/// A session that is being made.
struct Build {
    id: SessionId,
    began: i64,
    fold: SessionFold,
    digest: DerivedDigest,
    facts: Vec<Fact>,
    projections: Vec<Projection>,
    /// The model call that is under way.
    call: Option<ActionId>,
}

impl Build {
    fn new(id: SessionId, began: i64) -> Self {
        Self {
            fold: SessionFold::new(id.clone()),
            began,
            id,
            digest: DerivedDigest::default(),
            facts: Vec::new(),
            projections: Vec::new(),
            call: None,
        }
    }

    fn batch(&mut self) -> Batch {
        Batch {
            facts: std::mem::take(&mut self.facts),
            derived: self.digest.value(),
            projections: std::mem::take(&mut self.projections),
        }
    }

    /// Adds a fact; those of the environment answer the model call that is under way.
    fn say(&mut self, source: Source, event: impl Into<EnvironmentEvent>) {
        let seq = self.fold.last_seq() + 1;
        let draft = Draft {
            source,
            agent_state_id: Some(AgentStateId::new("agt_bench")),
            run_id: None,
            cause: self.call.clone().filter(|_| source == Source::Environment),
            event: event.into(),
        };
        let at = Timestamp(self.began + i64::try_from(seq).unwrap_or(0) * 1_000);
        let fact = Arc::new(draft.into_envelope(self.id.clone(), seq, at));
        let mut derived = Derived::default();
        self.fold.apply(&fact, &mut derived);
        self.digest.add(&fact, &derived);
        self.facts.push(fact);
        self.projections.append(&mut derived.projections);
        let mut actions = derived.actions.into_iter();
        let asked = actions.find(|action| matches!(action.body, ActionBody::CallModel(_)));
        self.call = asked.map(|action| action.action_id).or(self.call.take());
    }

    /// An input and an answer.
    fn exchange(&mut self, words: &mut Words) {
        let seq = self.fold.last_seq();
        let input = UserMessage {
            message_id: MessageId::with_suffix(seq),
            content: vec![ContentPart::text(words.text(INPUT))],
            mode: InputMode::Queue,
            idempotency_key: None,
        };
        self.say(Source::User, input);
        let started = ActionStarted {
            kind: ActionKind::CallModel,
            tool_call_id: None,
        };
        self.say(Source::Environment, started);
        let start = StreamStart {
            message_id: MessageId::with_suffix(format!("a{seq}")),
            model: "m".into(),
            attempt: 1,
        };
        self.say(Source::Environment, start);
        for _ in 0..ANSWER / PIECE {
            let text = words.text(PIECE);
            self.say(Source::Environment, TextChunk { text });
        }
        let usage = Usage {
            input_tokens: 10,
            output_tokens: 400,
            ..Usage::default()
        };
        self.say(Source::Environment, UsageReport { usage });
        let end = StreamEnd {
            stop_reason: StopReason::EndTurn,
            raw: None,
        };
        self.say(Source::Environment, end);
    }
}
