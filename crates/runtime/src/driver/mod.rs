//! The driver of a session: its one sequencer and its controller.
//!
//! Everything that happens to a session goes through one task: events of effectors and wishes of people are given their
//! `seq`, folded, committed together with what follows from them, published, and only then are actions performed. Whatever
//! arrives while a commit is under way goes into the next one. When a commit fails nothing of it is published or performed,
//! and the session ends: what a reader saw is always what a restart has.

mod batch;
mod children;
mod effects;
mod halt;
mod open;
mod standing;
mod wish;

use std::sync::Arc;
use std::time::Duration;

use agentx_agent::Backlog;
use agentx_types::{ActionId, ApprovalMode, Draft, Guard, InterruptRequested, ServerRules, Source, ToolSpec};
use tokio::sync::{mpsc, oneshot, watch};

use crate::{
    Actions, AgentEventBus, Clock, DerivedDigest, LogError, Places, RuntimeError, Said, SessionFold,
    SessionLog, SessionState, SystemBus, Writer,
};
use batch::Item;
use effects::{Effects, End};
pub use halt::halt_sessions;
pub use open::{SessionIds, open_session};
pub use standing::StandingRules;
use wish::Resolved;
pub(crate) use wish::Wish;

/// How many messages of effectors may wait for the sequencer; then they wait.
const INBOUND_CAPACITY: usize = 256;
/// How many wishes of front ends may wait.
const COMMAND_CAPACITY: usize = 64;
/// How many facts are committed together at most.
const BATCH_FACTS: usize = 512;
/// How long chunks that nobody waits for may wait for others, to be committed together.
const LINGER: Duration = Duration::from_millis(1);
/// How long a session that is closed waits for what it has to stop.
const CLOSE_GRACE: Duration = Duration::from_secs(3);

/// The system command by which a person wants the next attempt at what failed at once.
pub(crate) const RETRY: &str = "retry";

/// What a driver works with; shared by all sessions of a runtime.
#[derive(Clone)]
pub struct DriverParts {
    /// Where facts are kept.
    pub log: Arc<dyn SessionLog>,
    /// Who performs actions.
    pub actions: Actions,
    /// How many tool calls run at once, of all sessions that have these places.
    pub places: Places,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Where committed facts and their meaning are published.
    pub bus: SystemBus,
    /// Where agents are heard inside their own boundaries; whoever watches one agent filters by its id.
    pub agents: AgentEventBus,
    /// The tools that this program has; a session that was opened with others is told of the change.
    pub tools: Arc<[ToolSpec]>,
    /// The files that calls are kept from in every session, whatever a session's own configuration says; `None` leaves it to that.
    pub guard: Option<Arc<Guard>>,
    /// What the settings of a server say about each call, where this process is one: every session is bound by it, whatever its own
    /// configuration says. `None` takes what an earlier server left in a session out of it.
    pub server_rules: Option<Arc<ServerRules>>,
    /// What an existing session that asks nobody is set to when it is opened, unless whoever opens it says otherwise: so `--yes` holds for
    /// one program and not for those that go on with its session. `None` leaves each session as it was.
    pub approval: Option<ApprovalMode>,
    /// The rules that an existing session is held to when it is opened. `None` leaves each session its own.
    pub standing: Option<Arc<StandingRules>>,
    /// The program and its version, for the log.
    pub program: String,
    /// Whether this process is a server. Stored in the log, so that the next server resumes its runs after a kill.
    pub serves: bool,
}

impl DriverParts {
    /// What has to be said; everything else is as for a program without tools, guard and server.
    pub fn new(log: Arc<dyn SessionLog>, actions: Actions, clock: Arc<dyn Clock>) -> Self {
        Self {
            log,
            actions,
            places: Places::default(),
            clock,
            bus: SystemBus::new(),
            agents: AgentEventBus::new(),
            tools: Arc::from([]),
            guard: None,
            server_rules: None,
            approval: None,
            standing: None,
            program: String::new(),
            serves: false,
        }
    }
}

/// How a session stands as a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriverStatus {
    /// It takes events.
    Open,
    /// It was closed; all that it published is committed.
    Closed,
    /// It cannot go on.
    Failed(LogError),
}

/// What a front end wants of a session.
pub(crate) enum Command {
    /// Put this on record.
    Record { wish: Box<Wish>, reply: Reply<u64> },
    /// Say how it stands.
    State { reply: Reply<SessionState> },
    /// Say which input came with this key.
    Known { key: String, reply: Reply<Option<u64>> },
    /// Say how much waits, and whether an input would wait too.
    Backlog { reply: Reply<(Backlog, bool)> },
    /// Say what is committed.
    Head { reply: Reply<u64> },
    /// Stop what runs, and end.
    Close { reply: oneshot::Sender<()> },
    /// End, and leave what runs to whoever opens the session next.
    Suspend { reply: oneshot::Sender<()> },
}

pub(crate) type Reply<T> = oneshot::Sender<Result<T, RuntimeError>>;

pub(crate) struct Driver {
    parts: DriverParts,
    writer: Writer,
    fold: SessionFold,
    digest: DerivedDigest,
    effects: Effects,
    inbound: mpsc::Receiver<Said>,
    commands: mpsc::Receiver<Command>,
    status: watch::Sender<DriverStatus>,
}

/// What the loop woke up for.
enum Wake {
    Inbound(Said),
    Command(Option<Command>),
    Effect(ActionId, End),
}

impl Driver {
    /// Takes events until the session is closed or cannot go on.
    ///
    /// Boxed: a future that takes itself by value has room for it twice.
    pub(crate) async fn run(mut self: Box<Self>) {
        let outcome = self.work().await;
        // Whoever still has something to say is told at once that nobody listens.
        self.inbound.close();
        self.effects.abandon(&self.parts).await;
        match outcome {
            Ok(reply) => {
                drop(self.writer);
                self.status.send_replace(DriverStatus::Closed);
                if let Some(reply) = reply {
                    let _ = reply.send(());
                }
            }
            Err(error) => {
                tracing::error!(session = %self.writer.session_id, %error, "the session cannot go on");
                drop(self.writer);
                self.status.send_replace(DriverStatus::Failed(error));
            }
        }
    }

    async fn work(&mut self) -> Result<Option<oneshot::Sender<()>>, LogError> {
        loop {
            match self.wake().await {
                Wake::Inbound(said) => self.take_in(Item::all(said)).await?,
                Wake::Effect(action, end) => self.effect_ended(&action, end).await?,
                Wake::Command(Some(Command::Close { reply })) => {
                    self.stop_all().await?;
                    return Ok(Some(reply));
                }
                Wake::Command(Some(Command::Suspend { reply })) => return Ok(Some(reply)),
                Wake::Command(Some(command)) => self.obey(command).await?,
                Wake::Command(None) => {
                    self.stop_all().await?;
                    return Ok(None);
                }
            }
        }
    }

    async fn wake(&mut self) -> Wake {
        tokio::select! {
            biased;
            command = self.commands.recv() => Wake::Command(command),
            Some(said) = self.inbound.recv() => Wake::Inbound(said),
            (action, end) = self.effects.ended() => Wake::Effect(action, end),
        }
    }

    async fn obey(&mut self, command: Command) -> Result<(), LogError> {
        match command {
            Command::Record { wish, reply } => match wish.resolve(&self.fold) {
                Ok(Resolved::Fact(draft)) => self.take_in(vec![Item::wish(*draft, reply)]).await?,
                Ok(Resolved::There(seq)) => drop(reply.send(Ok(seq))),
                Err(error) => drop(reply.send(Err(error))),
            },
            Command::State { reply } => {
                let gone = || RuntimeError::Gone {
                    session: self.writer.session_id.clone(),
                    why: "it was never opened".into(),
                };
                let _ = reply.send(self.fold.state().ok_or_else(gone));
            }
            Command::Known { key, reply } => drop(reply.send(Ok(self.fold.input_with_key(&key)))),
            Command::Backlog { reply } => drop(reply.send(Ok(self.fold.backlog()))),
            Command::Head { reply } => drop(reply.send(Ok(self.fold.last_seq()))),
            Command::Close { reply } | Command::Suspend { reply } => drop(reply.send(())),
        }
        Ok(())
    }

    /// An action has ended. What its responder said last is taken in first; if the agent then still waits, it is told so.
    async fn effect_ended(&mut self, action: &ActionId, end: End) -> Result<(), LogError> {
        while let Ok(said) = self.inbound.try_recv() {
            self.take_in(Item::all(said)).await?;
        }
        let Some(action) = self.effects.forget(action, &end) else {
            return Ok(());
        };
        if self.fold.is_open(&action.action_id)
            && let Some(draft) = effects::outcome_of(&action, &end)
        {
            self.take_in(vec![Item::fact(draft)]).await?;
        }
        Ok(())
    }

    /// Interrupts what runs and waits, within a bound, until it has ended. Nothing begins any more: what waits is held back, also
    /// where this process dies on the way.
    async fn stop_all(&mut self) -> Result<(), LogError> {
        if self.fold.is_busy() {
            let reason = Some("the session was closed".to_owned());
            let draft = Draft::new(
                Source::System,
                self.fold.root().cloned(),
                InterruptRequested { reason, hold: true },
            );
            self.take_in(vec![Item::fact(draft)]).await?;
        }
        let deadline = tokio::time::Instant::now() + CLOSE_GRACE;
        while self.fold.is_busy() {
            tokio::select! {
                Some(said) = self.inbound.recv() => self.take_in(Item::all(said)).await?,
                (action, end) = self.effects.ended() => self.effect_ended(&action, end).await?,
                () = tokio::time::sleep_until(deadline) => break,
            }
        }
        Ok(())
    }
}
