//! The program that `reactor_kills.rs` kills: sessions whose tools are served by reactors that are attached
//! and detached all the time.
//!
//! `reactors-worker FOLDER SEED (endless | last)` continues with the sessions of the folder. Each call of a
//! tool is written to a ledger when it begins and when it ends, and then to standard output. In its `last`
//! life the model asks for nothing more and the program ends when all runs have. It ends with its standard
//! input, too.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a program of a test fails by panicking, as tests do"
)]

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentx_bus::{ReactorId, Reactors, Restart};
use agentx_runtime::{
    ActionDispatcher, BoxFuture, Delivery, DriverParts, Effector, EventSink, OpenRequest, Session,
    SessionIds, SessionQuery, SystemBus, SystemClock, Tool, ToolContext, ToolEnvironment, ToolOutcome,
    UserInput, View, open_session,
};
use agentx_sqlite_log::{LogOptions, SqliteLog};
use agentx_testing::fixture;
use agentx_tests::{BOUND, Random};
use agentx_types::{
    Access, Action, ActionBody, ActionKind, AgentStateId, ContentPart, EnvironmentEvent, MessageId,
    RunStatus, RuntimeEvent, SessionId, StopReason, StreamEnd, StreamStart, TextChunk, ToolCall, ToolCallId,
    ToolSpec, ToolStatus,
};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The number of sessions that work side by side.
const SESSIONS: usize = 8;
/// The number of tools.
const TOOLS: u64 = 4;
/// The maximum number of attached reactors.
const REACTORS: usize = 5;
/// The owner of the sessions.
const OWNER: &str = "own_test";

/// The ledger of calls outside of the sessions.
#[derive(Clone)]
struct Ledger {
    file: Arc<File>,
    /// The number of events: calls that began or ended, and requests to the model.
    happened: watch::Sender<u64>,
}

impl Ledger {
    fn open(folder: &std::path::Path) -> Self {
        let mut options = File::options();
        let file = options.create(true).append(true).open(folder.join("ledger"));
        Self {
            file: Arc::new(file.unwrap()),
            happened: watch::Sender::new(0),
        }
    }

    /// Keeps a line on disk, then tells of it.
    fn note(&self, word: &str, call: &str) {
        (&*self.file)
            .write_all(format!("{word} {call}\n").as_bytes())
            .unwrap();
        self.file.sync_data().unwrap();
        self.happens();
        tell(word);
    }

    fn happens(&self) {
        self.happened.send_modify(|count| *count += 1);
    }

    /// Waits until so much more has happened.
    async fn moves_on(&self, by: u64) {
        let target = *self.happened.borrow() + by;
        let mut happened = self.happened.subscribe();
        happened.wait_for(|count| *count >= target).await.unwrap();
    }
}

/// Prints a word for the test that started this program.
fn tell(word: &str) {
    // If the test has ended, nothing reads it any more.
    let _ = writeln!(std::io::stdout().lock(), "{word}");
}

/// Has its effect in two steps, and may be stopped between them.
#[derive(Clone)]
struct Step {
    number: u64,
    ledger: Ledger,
}

fn spec(number: u64) -> ToolSpec {
    fixture::tool(&format!("step_{number}"), "text", Access::Internal)
}

impl Tool for Step {
    fn spec(&self) -> ToolSpec {
        spec(self.number)
    }

    fn call(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        let ledger = self.ledger.clone();
        Box::pin(async move {
            let call = format!("{} {}", context.session_id, context.tool_call_id);
            let pauses = input["text"].as_str().map_or(0, str::len);
            ledger.note("begin", &call);
            for _ in 0..pauses {
                if context.cancel.is_cancelled() {
                    return ToolOutcome::failed(ToolStatus::Interrupted, "Stopped.");
                }
                tokio::task::yield_now().await;
            }
            ledger.note("end", &call);
            ToolOutcome::success("done")
        })
    }
}

/// Asks for tools as long as it is not the last life of this program. What it answers follows from the
/// conversation, so a request that is made again is answered the same.
#[derive(Clone)]
struct Model {
    ledger: Ledger,
    is_last: bool,
}

impl Effector for Model {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        _: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        let this = self.clone();
        Box::pin(async move {
            let ActionBody::CallModel(call) = &action.body else {
                return;
            };
            this.ledger.happens();
            let parts = call.request.messages.iter().flat_map(|message| &message.content);
            let made = parts
                .filter(|part| matches!(part, ContentPart::ToolCall(_)))
                .count();
            let start = StreamStart {
                message_id: MessageId::new(format!("msg_{}", action.action_id)),
                model: fixture::MODEL.into(),
                attempt: 1,
            };
            events.emit(start).await;
            let stop_reason = if this.is_last {
                events.emit(TextChunk { text: "done".into() }).await;
                StopReason::EndTurn
            } else {
                // Some answers ask for one tool, others for several at once.
                for number in made..=made + made % 3 {
                    events.emit(wanted(number)).await;
                }
                StopReason::ToolUse
            };
            let end = StreamEnd {
                stop_reason,
                raw: None,
            };
            events.emit(end).await;
        })
    }
}

fn wanted(number: usize) -> EnvironmentEvent {
    let tool = u64::try_from(number).unwrap() % TOOLS;
    ToolCall {
        tool_call_id: ToolCallId::new(format!("call_{number}")),
        name: spec(tool).name,
        input: json!({ "text": "x".repeat(number * 7 % 23) }),
        invalid: None,
    }
    .into()
}

/// Attaches and detaches reactors for ever. Mostly some are there; each brings some of the tools, so most
/// calls find several that serve them and some find none.
async fn come_and_go(bus: SystemBus, ledger: Ledger, mut random: Random) {
    let mut reactors = Reactors::new(bus, |_report| {});
    let mut attached: Vec<ReactorId> = Vec::new();
    loop {
        let comes = attached.len() < 2 || random.below(2) == 0;
        if comes && attached.len() < REACTORS {
            let first = random.below(TOOLS);
            let tools = (first..=first + random.below(TOOLS)).map(|number| {
                let number = number % TOOLS;
                let ledger = ledger.clone();
                Arc::new(Step { number, ledger }) as Arc<dyn Tool>
            });
            let environment = ToolEnvironment::new("steps", tools.collect::<Vec<_>>());
            attached.push(reactors.start(environment, Restart::Never).await.unwrap());
        } else {
            let at = usize::try_from(random.below(attached.len() as u64)).unwrap();
            // Some have to leave at once, and leave what they were at; others end it.
            let within = if random.below(3) == 0 {
                Duration::ZERO
            } else {
                BOUND
            };
            reactors.stop(attached.swap_remove(at), within).await;
        }
        ledger.moves_on(random.below(6)).await;
    }
}

/// The sessions that are in the log, and as many new ones as there are to be.
async fn open_all(parts: &DriverParts, seed: u64) -> Vec<Arc<dyn Session>> {
    let query = SessionQuery {
        owner: OWNER.into(),
        workspace: None,
        limit: usize::MAX,
        before: None,
    };
    let mut known = parts.log.list(query).await.unwrap();
    // Its process died before the first event: that is none.
    known.retain(|info| info.last_seq > 0);
    let mut sessions: Vec<Arc<dyn Session>> = Vec::new();
    for number in 0..SESSIONS {
        let ids = SessionIds {
            session_id: SessionId::new(format!("ses_{seed}_{number}")),
            agent_state_id: AgentStateId::new(format!("agt_{seed}_{number}")),
            owner: OWNER.into(),
        };
        let request = match known.get(number) {
            Some(info) => OpenRequest::Resume(info.session_id.clone(), Vec::new()),
            None => {
                let mut config = fixture::config();
                config.tools = (0..TOOLS).map(spec).collect();
                config.limits.max_iterations = Some(1_000_000);
                OpenRequest::New(Box::new(config))
            }
        };
        let session = open_session(parts.clone(), ids, request).await.unwrap();
        // The same input in each life of this program: it is taken in once.
        let input = UserInput::text("go").key(Some("go".to_owned()));
        session.send(input).await.unwrap();
        tell("opened");
        sessions.push(session);
    }
    sessions
}

async fn finished(session: &dyn Session) {
    let mut events = session.subscribe(0, View::Runtime).await.unwrap();
    while let Some(delivery) = events.next().await {
        if let Delivery::Runtime(event) = delivery
            && let RuntimeEvent::RunFinished(finished) = &event.event
        {
            assert_eq!(finished.status, RunStatus::Completed, "{finished:?}");
            return;
        }
    }
    panic!("the session ended first");
}

fn end_with_standard_input() {
    std::thread::spawn(|| {
        // An error ends it like the end does.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(2);
    });
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [folder, seed, life] = &args[..] else {
        panic!("reactors-worker FOLDER SEED (endless | last)");
    };
    let (folder, seed, is_last) = (PathBuf::from(folder), seed.parse().unwrap(), life == "last");
    end_with_standard_input();
    let ledger = Ledger::open(&folder);
    let log = SqliteLog::open(folder.join("log.db"), LogOptions::default()).unwrap();
    let model = Model {
        ledger: ledger.clone(),
        is_last,
    };
    let actions = ActionDispatcher::new().with(ActionKind::CallModel, Arc::new(model));
    let parts = DriverParts {
        tools: (0..TOOLS).map(spec).collect::<Vec<_>>().into(),
        ..DriverParts::new(log, actions, Arc::new(SystemClock))
    };
    let reactors = come_and_go(SystemBus::of(&parts), ledger, Random::new(seed));
    let work = async {
        let sessions = open_all(&parts, seed).await;
        for session in &sessions {
            finished(session.as_ref()).await;
        }
        for session in &sessions {
            session.close().await;
        }
    };
    tokio::select! {
        () = work => {}
        () = reactors => {}
    }
}
