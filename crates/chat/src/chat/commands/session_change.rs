//! `/new` and `/resume`: another session in the same chat. The session before is closed and kept.

use std::path::Path;

use agentx::runtime::{Session, View};
use agentx::types::{AgentConfig, ConfigChange, SessionId};
use std::sync::Arc;
use tokio::time::Instant;

use crate::chat::past_turns::PastTurns;
use crate::chat::slash::Slash;
use crate::chat::{Chat, ChatInterface, ConversationSite};
use crate::error::ChatError;
use crate::picker::{self, PickerOutcome, PickerScope};
use crate::place::follow::AnyFollower;
use crate::render::clean::visible;
use crate::render::units::counted;
use crate::session_opening::new_agent::NewAgent;
use crate::session_opening::{self, ContinuedSession};
use crate::session_status::SessionStatus;

/// The word after `/resume` that opens the list of the sessions of all directories. No id begins with it.
pub(in crate::chat) const EVERYWHERE: &str = "all";

/// The notice if no terminal can show a list of sessions.
const NAME_ONE: &str = "which one? /resume ID; /sessions lists the latest";

/// Returns the text of a command that leaves the session, which tells a repeated command from another one.
pub(in crate::chat) fn session_command(name: &str, argument: Option<impl std::fmt::Display>) -> String {
    match argument {
        Some(argument) => format!("/{name} {argument}"),
        None => format!("/{name}"),
    }
}

/// The form in which a command is warned about that ends jobs because it leaves the session; `None` for other
/// commands.
pub(in crate::chat) fn leaving_command(command: &Slash) -> Option<String> {
    match command {
        Slash::New => Some("/new".to_owned()),
        Slash::Retry => Some("/retry".to_owned()),
        Slash::Resume(id) => Some(session_command("resume", id.as_ref())),
        Slash::Fork(at) => Some(session_command("fork", *at)),
        _ => None,
    }
}

impl Chat<'_> {
    /// Runs `/new`: the session itself is opened with the first message.
    pub(super) async fn new_session(&mut self) -> Result<String, ChatError> {
        if let Some(why_not) = self.keeps_session("/new") {
            return Ok(why_not);
        }
        let current = self.agent_config().await?;
        let (place, settings, wanted) = (self.place, self.settings, self.start.wanted.clone());
        let made = self
            .wait_for(async { Ok(session_opening::new_agent(place, settings, &wanted).await) })
            .await?;
        let mut agent = made?;
        keep_choices(&mut agent, &current);
        if let Some(rules) = self.rules_kept_here(&agent.config) {
            agent.change(ConfigChange::Rules(rules));
        }
        let config = (*agent.config).clone();
        let before = self.leave_for(ConversationSite::New(agent), &config).await;
        self.connection.company.part();
        Ok(match before {
            Some(note) => format!("a new session starts with your next message\n{note}"),
            None => "this session is already new; it starts with your first message".to_owned(),
        })
    }

    /// Runs `/resume`.
    pub(super) async fn resume_session(&mut self, id: Option<String>) -> Result<String, ChatError> {
        let command = session_command("resume", id.as_ref());
        let named = match id.as_deref().filter(|id| *id != EVERYWHERE) {
            Some(prefix) => {
                let runtime = self.place.shared();
                Some(self.wait_for(async { runtime.resolve(prefix).await }).await?)
            }
            None => None,
        };
        if let Some(why_not) = self.keeps_session(&command) {
            return Ok(why_not);
        }
        let scope = if id.as_deref() == Some(EVERYWHERE) {
            PickerScope::Everywhere
        } else {
            PickerScope::Here
        };
        let id = match named {
            Some(id) => id,
            None => match self.picked_session(scope).await? {
                Ok(id) => id,
                Err(notice) => return Ok(notice),
            },
        };
        if matches!(&self.connection.site, ConversationSite::Open { session, .. } if *session.id() == id) {
            return Ok("you are in that session already".to_owned());
        }
        self.continue_in(id).await
    }

    /// Returns the reason why the session cannot be left now.
    fn keeps_session(&mut self, command: &str) -> Option<String> {
        if self.works() {
            return Some(format!("stop what runs first (Esc); then {command}"));
        }
        self.warning_of_jobs(command)
    }

    /// The warning, once, that a command ends the jobs of the agent because it leaves the session. Those of
    /// the user continue.
    pub(in crate::chat) fn warning_of_jobs(&mut self, command: &str) -> Option<String> {
        let is_here = self.place.remote().is_none();
        let warning = self.programs.jobs.warning_of_session(command, is_here)?;
        Some(self.display.style().warn(&warning))
    }

    /// The session that the person picks, or a notice if they pick none.
    async fn picked_session(&mut self, scope: PickerScope) -> Result<Result<SessionId, String>, ChatError> {
        let (place, settings) = (self.place, self.settings);
        let inputs = self.composer.inputs.source();
        let picked = match &mut self.display.face {
            ChatInterface::Editor { screen, .. } => {
                let bytes = screen.stand_aside();
                self.display.console.paint(&bytes)?;
                let picked =
                    picker::pick_in_raw_mode(place, settings, self.display.console, inputs, scope).await;
                let (columns, rows) = crossterm::terminal::size().unwrap_or((80, 24));
                self.display.resize(columns.into(), rows.into());
                picked?
            }
            ChatInterface::Lines { eager: true } if self.display.console.terminal.output => {
                picker::pick(place, settings, self.display.console, inputs, false, scope).await?
            }
            ChatInterface::Lines { .. } => return Ok(Err(NAME_ONE.to_owned())),
        };
        Ok(match picked {
            PickerOutcome::Session(id) => Ok(id),
            PickerOutcome::Nothing(_) => Err(String::new()),
        })
    }

    /// Opens a session and continues there. A session of another folder has other settings, so this chat does
    /// not open it.
    async fn continue_in(&mut self, id: SessionId) -> Result<String, ChatError> {
        let (place, settings) = (self.place, self.settings);
        let runtime = place.shared();
        let info = self.wait_for(async { runtime.info(&id).await }).await?;
        if place.remote().is_none() && Path::new(&info.workspace) != settings.workspace {
            return Ok(format!(
                "that session works in {}; leave with /quit and type: agentx resume {id}",
                visible(&info.workspace)
            ));
        }
        let wanted = self.start.wanted.only_limits();
        let opened = self
            .wait_for(async {
                Ok(session_opening::continue_session(place, settings, &wanted, id, false).await)
            })
            .await?;
        let ContinuedSession {
            session,
            state,
            notes,
        } = opened?;
        let entered = async {
            let past = past_of(&session, state.last_seq).await?;
            self.connection.company.join(session.id()).await?;
            Ok(past)
        }
        .await;
        let (past, seat, came) = session_opening::leave_if_failed(place, session.as_ref(), entered).await?;
        let before = self.leave_for(seat, &state.config).await;
        self.apply_kept_rules(&state.config).await?;
        self.display.title.rename(&info.title);
        let title = visible(&info.title);
        self.display.transcript.aside(
            &self
                .display
                .console
                .out_style()
                .dim(&format!("· {} {title}", session.id())),
        );
        for note in notes {
            self.display.transcript.aside(note.trim_end());
        }
        self.show_session(&state, &past).await;
        if let Some(delivery) = came {
            self.delivery(&delivery).await;
        }
        Ok(before.unwrap_or_default())
    }

    /// Shows the last turns of the new session, and the state in which it was left.
    pub(in crate::chat) async fn show_session(
        &mut self,
        state: &agentx::runtime::SessionState,
        past: &PastTurns,
    ) {
        self.switch_status(state);
        // Show the last messages before any question.
        self.show_past(past).await;
        self.announce_leftovers(past);
    }

    /// Takes another seat and closes the session before. Returns the command that goes back to it.
    async fn leave_for(&mut self, seat: ConversationSite, config: &AgentConfig) -> Option<String> {
        let queued = self.status.queue.iter().count();
        let is_at_rest = self.session_at_rest().is_some();
        let before = std::mem::replace(&mut self.connection.site, seat);
        self.start_anew(config);
        let ConversationSite::Open { session, .. } = before else {
            return None;
        };
        self.give_back(session.as_ref(), is_at_rest).await;
        let queue = match queued {
            0 => String::new(),
            count => format!(", with {} queued", counted(count, "message")),
        };
        Some(format!(
            "the session before is kept{queue}: /resume {}",
            session.id()
        ))
    }

    /// Closes a session that the chat has left. Limits that flags name hold in it no longer, unless something
    /// waits there.
    pub(in crate::chat) async fn give_back(&self, session: &dyn Session, is_at_rest: bool) {
        if is_at_rest {
            session_opening::limits_again(self.place, &self.start.wanted, session).await;
        }
        session_opening::leave(self.place, session).await;
    }

    /// Forgets what belongs to the session before. The jobs of the agent ended with it.
    fn start_anew(&mut self, config: &AgentConfig) {
        let _ = self.programs.jobs.ended_with_their_program();
        self.programs.recorded = None;
        self.display.begin_session(self.settings);
        self.status = SessionStatus::new(config, Instant::now());
        self.drop_questions();
        self.approvals.auto_after_plan = false;
        (self.connection.kind, self.connection.lost) = (config.kind, None);
        self.composer.shared.clear();
        self.composer.sending = None;
    }
}

/// The last turns of a session, a seat in it, and what happened meanwhile.
pub(in crate::chat) async fn past_of(
    session: &Arc<dyn Session>,
    last_seq: u64,
) -> Result<(PastTurns, ConversationSite, Option<agentx::runtime::Delivery>), ChatError> {
    let follow = async |after| AnyFollower::new(session.clone(), after, View::Runtime).await;
    let (past, events, came) = PastTurns::read(follow, last_seq).await?;
    let seat = ConversationSite::Open {
        session: session.clone(),
        events,
    };
    Ok((past, seat, came))
}

/// Takes over the model and its parameters, such as the effort, from the session before: the person may have
/// chosen them there. The approval mode is not taken over, because a mode that was chosen for one session
/// must not make the next one freer than the settings.
fn keep_choices(agent: &mut NewAgent, current: &AgentConfig) {
    if agent.config.model != current.model {
        agent.change(ConfigChange::Model(Box::new(current.model.clone())));
    }
    if agent.config.params != current.params {
        agent.change(ConfigChange::Params(current.params.clone()));
    }
}
