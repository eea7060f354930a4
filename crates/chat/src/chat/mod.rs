//! The chat: one loop that waits for the session, the person and the system, and does one thing at a time.
//!
//! It wakes up only when one of them has something; what is ready together is written together.

mod approval_keys;
mod attachments;
mod attention;
mod branch;
pub(crate) mod chat_state;
pub(crate) mod commands;
mod compact;
mod complete;
pub mod drawing;
mod full_text;
mod hanging_indent;
pub(crate) mod input_handling;
pub mod jobs;
pub(crate) mod leaving;
mod line;
pub(crate) mod lost_session;
pub mod own_editor;
mod participants;
pub mod past_turns;
mod printed_question;
mod progress;
mod prompt;
pub(crate) mod queue;
mod rewinding;
mod rules;
pub mod screen;
pub mod server_wait;
pub mod session_status;
mod shell;
pub mod slash;
mod spending;
mod status;
mod steering;
mod unanswered;
pub mod welcome;
mod window;
mod withheld_variables;

use std::sync::Arc;

use agentx::config::Settings;
use agentx::node::program_environment;
use agentx::runtime::{Delivery, Session, View};
use agentx::types::{AgentKind, ApprovalRequested, ContentPart, RuntimeEvent, SessionRole};
use agentx_terminal::Editor;
use tokio::time::Instant;

use crate::console::Console;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::follow::AnyFollower;
use crate::new_agent::NewAgent;
use crate::place::Place;
use crate::render::agents::AgentCast;
use crate::render::transcript::TranscriptRenderer;
use crate::signals::Signals;
use crate::terminal::RawMode;
use attention::Attention;
use chat_state::ChatState;
use drawing::Pace;
use jobs::JobList;
use lost_session::Stood;
use participants::Company;
use past_turns::PastTurns;
use progress::Progress;
use prompt::Prompt;
use screen::Screen;
use server_wait::Inputs;
use shell::ShellCommand;
use status::StatusRow;
use withheld_variables::WithheldNotice;

/// What stands before the line that is being written.
const PROMPT: &str = "› ";
/// The same while keys are commands, as in vi.
const COMMANDED: &str = "‹ ";
/// How many events of a session that is opened again are looked through for what was said last; no more than the
/// runtime remembers its fold for, so that a long session opens as fast as a short one.
const LOOK_BACK: u64 = 4_000;

/// Where the conversation is.
pub(crate) enum ConversationSite {
    /// Nowhere yet: the session is opened with the first words.
    New(NewAgent),
    /// In this session.
    Open {
        /// It.
        session: Arc<dyn Session>,
        events: AnyFollower,
    },
}

/// How the person is talked to.
pub enum ChatInterface {
    /// With a line editor on a terminal.
    Editor {
        /// The terminal, until it is dropped.
        raw: Option<RawMode>,
        /// What it shows.
        screen: Screen,
    },
    /// In lines.
    Lines {
        /// Whether lines are taken while the agent works, as from a terminal; else each waits until it is wanted.
        eager: bool,
    },
}

/// A chat.
pub struct Chat<'a> {
    pub(crate) place: &'a Place,
    pub(crate) settings: &'a Settings,
    pub(crate) console: &'a mut Console,
    pub(crate) seat: ConversationSite,
    pub(crate) face: ChatInterface,
    pub(crate) editor: Editor,
    /// Whose the keys are when a question comes.
    attention: Attention,
    pub(crate) desk: ChatState,
    pub(crate) transcript: TranscriptRenderer,
    /// The agents beside the one that people talk to.
    pub(crate) cast: AgentCast,
    /// What the agent left running in the background.
    jobs: JobList,
    /// What commands go without.
    left_out: WithheldNotice,
    /// What is waited for.
    progress: Progress,
    /// How the session stands, as the person wants to read it.
    status: StatusRow,
    /// Since when it is open what the terminal's background is.
    asked_background: Option<Instant>,
    /// Since when it is open what the terminal is.
    asked_name: Option<Instant>,
    /// What kind of agent it is that people talk to.
    kind: AgentKind,
    /// What goes to the agent with the next words.
    shared: Vec<ContentPart>,
    /// The event that tells of the command that the person ran last here.
    own_ran: Option<u64>,
    /// A command of the person's own that runs.
    own: Option<ShellCommand>,
    /// What was said and is not on record yet.
    sending: Option<String>,
    /// The others at this session.
    pub(crate) company: Company,
    inputs: Inputs,
    signals: Signals,
    /// How the session stood when it was closed because nothing could be written any more. It is opened again with the next line.
    lost: Option<Stood>,
    /// The chat was told to end while it waited for something.
    leaving: Option<Exit>,
    /// Nothing more can be typed.
    pub(crate) input_ended: bool,
    /// Whether questions are answered with yes, as `--yes` wants it.
    pub says_yes: bool,
    /// The line that has not ended, where only whole ones are printed.
    spoken: String,
    prompt: Prompt,
    pace: Pace,
}

/// Whether the chat continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChatFlow {
    /// It does.
    On,
    /// It ends so.
    Leave(Exit),
}

impl<'a> Chat<'a> {
    /// A chat that begins with nothing.
    pub fn new(
        place: &'a Place,
        settings: &'a Settings,
        console: &'a mut Console,
        face: ChatInterface,
        editor: Editor,
        agent: NewAgent,
        (inputs, signals): (Inputs, Signals),
    ) -> Self {
        let (transcript, cast) = drawing::voices(console, &face, settings.chat.thinking);
        let progress = Progress::new(&agent.config, Instant::now());
        let kind = agent.config.kind;
        let (desk, seat) = (ChatState::default(), ConversationSite::New(agent));
        let mut chat = Self {
            place,
            settings,
            console,
            seat,
            face,
            editor,
            attention: Attention::default(),
            desk,
            transcript,
            cast,
            jobs: JobList::default(),
            left_out: WithheldNotice::of(settings),
            progress,
            status: StatusRow::of(settings, program_environment(settings)),
            asked_background: None,
            asked_name: None,
            kind,
            shared: Vec::new(),
            own_ran: None,
            own: None,
            sending: None,
            company: Company::of(place),
            inputs,
            signals,
            lost: None,
            leaving: None,
            input_ended: false,
            says_yes: false,
            spoken: String::new(),
            prompt: Prompt::default(),
            pace: Pace::default(),
        };
        chat.ask_terminal();
        chat
    }

    /// A chat in a session that exists.
    pub async fn resumed(mut self, session: Arc<dyn Session>) -> Result<Self, ChatError> {
        let state = session.state().await?;
        let follow = async |after| AnyFollower::new(session.clone(), after, View::Runtime).await;
        let (past, events, came) = PastTurns::of(follow, state.last_seq).await?;
        self.desk = ChatState::of(&state);
        self.progress.stands(&state);
        self.company.join(session.id()).await?;
        self.seat = ConversationSite::Open { session, events };
        // What was said last is on the screen before anything is asked.
        self.show_past(&past).await;
        self.say_what_is_left(&past);
        if let Some(delivery) = came {
            self.delivery(&delivery).await;
        }
        Ok(self)
    }

    /// The session, opened now if it is not yet.
    pub(crate) async fn session(&mut self) -> Result<Arc<dyn Session>, ChatError> {
        let agent = match &self.seat {
            ConversationSite::Open { session, .. } => return Ok(session.clone()),
            ConversationSite::New(agent) => agent.clone(),
        };
        let runtime = self.place.shared();
        let session = self.wait_for(agent.open(&*runtime)).await?;
        let events = AnyFollower::new(session.clone(), 0, View::Runtime).await?;
        self.company.join(session.id()).await?;
        self.seat = ConversationSite::Open {
            session: session.clone(),
            events,
        };
        Ok(session)
    }

    /// Talks until the person leaves.
    pub async fn talk(&mut self) -> Result<Exit, ChatError> {
        if self.transcript.has_said() {
            self.settle_background(false).await?;
        }
        self.paint()?;
        loop {
            let (wants_input, listens, ticks) = (self.wants_input(), self.listens(), self.ticks());
            let flow = tokio::select! {
                delivery = next_delivery(&mut self.seat), if listens && self.lost.is_none() => {
                    match delivery {
                        Ok(delivery) => self.deliveries(delivery).await,
                        Err(error) => Err(error),
                    }
                }
                () = self.pace.rested(), if !listens => continue,
                input = self.inputs.next(), if wants_input => self.inputs(input).await,
                news = self.company.news() => {
                    self.tell_company(news);
                    Ok(ChatFlow::On)
                }
                exit = self.signals.next() => self.signal(exit).await,
                () = self.status.changed(ticks) => {
                    self.say_what_is_waited_for();
                    Ok(ChatFlow::On)
                }
            };
            let flow = flow.or_else(|error| self.lose(error).map(|()| ChatFlow::On))?;
            self.give_line_to_question();
            self.paint_in_time()?;
            if let Some(exit) = self.leaving {
                return Ok(exit);
            }
            if let ChatFlow::Leave(exit) = self.after(flow).await? {
                return Ok(exit);
            }
        }
    }

    /// What the person is asked now, where they may answer.
    pub(crate) fn question(&self) -> Option<&ApprovalRequested> {
        let question = self.desk.question();
        question.filter(|_| self.company.may(SessionRole::Approve))
    }

    fn wants_input(&self) -> bool {
        match &self.face {
            _ if self.input_ended => false,
            ChatInterface::Lines { eager: false } => !self.desk.is_busy() || self.question().is_some(),
            _ => true,
        }
    }

    /// What follows when there is nothing more to type.
    async fn after(&mut self, flow: ChatFlow) -> Result<ChatFlow, ChatError> {
        if flow != ChatFlow::On || !self.input_ended {
            return Ok(flow);
        }
        // Where others are there, one of them may answer.
        if self.question().is_some() && !self.company.has_others() {
            return self.refuse("nobody can answer any more").await;
        }
        Ok(if self.desk.is_busy() || self.cast.is_at_work() {
            ChatFlow::On
        } else {
            ChatFlow::Leave(Exit::Ok)
        })
    }

    async fn deliveries(&mut self, delivery: Option<Delivery>) -> Result<ChatFlow, ChatError> {
        let Some(delivery) = delivery else {
            self.transcript.aside("the session has ended");
            return Ok(ChatFlow::Leave(Exit::Storage));
        };
        self.delivery(&delivery).await;
        self.pace.heard();
        while let Some(delivery) = ready_delivery(&mut self.seat) {
            self.delivery(&delivery).await;
        }
        self.ask_how_it_stands().await?;
        Ok(ChatFlow::On)
    }

    async fn delivery(&mut self, delivery: &Delivery) {
        let envelope = match delivery {
            Delivery::Runtime(envelope) => envelope,
            Delivery::Environment(_) | Delivery::CaughtUp(_) | Delivery::CutOff(_) => return,
        };
        let asked_before = self.desk.question().map(|question| question.tool_call_id.clone());
        if let (RuntimeEvent::ToolExecuting(call), Some(asked)) = (&envelope.event, &asked_before)
            && call.tool_call_id == *asked
        {
            let style = self.console.out_style();
            self.transcript.aside(&style.dim("  allowed by another one"));
        }
        if let Some(act) = self.company.act(&envelope.event, self.console.out_style()) {
            self.transcript.print_notice(&act);
        }
        let is_of_another = self.cast.is_of_another(envelope);
        let works = self.desk.is_busy() && !self.desk.stopping;
        if let Some(text) = self.desk.event(envelope, is_of_another) {
            self.said(&text);
        }
        self.tell_of_unanswered(&envelope.event, is_of_another);
        if works && !self.desk.is_busy() {
            self.attention.ended(Instant::now());
        }
        (self.transcript.has_no_price, self.transcript.max_cost) = self.progress.money();
        self.cast.event(&mut self.transcript, envelope);
        self.ask_if_new(asked_before.as_ref()).await;
        self.call_if_long(&envelope.event, is_of_another);
        self.tell_of_command(envelope);
        self.tell_of_commands(envelope);
        self.say_aloud(&envelope.event, is_of_another);
        self.progress
            .event(&envelope.event, is_of_another, Instant::now());
    }
}

async fn next_delivery(seat: &mut ConversationSite) -> Result<Option<Delivery>, ChatError> {
    match seat {
        ConversationSite::Open { events, .. } => events.next().await,
        ConversationSite::New(_) => std::future::pending().await,
    }
}

fn ready_delivery(seat: &mut ConversationSite) -> Option<Delivery> {
    match seat {
        ConversationSite::Open { events, .. } => events.ready(),
        ConversationSite::New(_) => None,
    }
}
