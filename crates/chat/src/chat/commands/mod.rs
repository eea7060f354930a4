//! The slash commands of a chat.

pub(super) mod approval_mode;
pub(super) mod copy;
pub(super) mod effort;
mod mcp_servers;
mod project;
mod prompt_files;
mod retry;
mod secret;
pub(super) mod session_change;

use agentx::config::{FolderTrust, Loaded, SettingOrigin, Sourced};
use agentx::runtime::{ModelInfo, SessionQuery, takes_no_pictures};
use agentx::types::wire::WheelWish;
use agentx::types::{ConfigChange, ModelSpec};

use super::slash::{Slash, WheelCommand};
use super::{Chat, ConversationSite};
use crate::error::ChatError;
use crate::models::{default_model, other_server};
use crate::render::clean::visible;
use crate::render::table::table;
use crate::render::units;
use crate::session_opening::{CommandLineOverrides, new_agent::NewAgent};
use crate::sessions::stored_sessions::list_text;
use crate::{models, session_opening};

/// The settings and overrides that the program was started with, for commands that need them again.
#[derive(Clone, Debug, Default)]
pub struct ChatStart<'a> {
    /// The configuration that the settings were read from, for `/config` and `/doctor`.
    pub loaded: Option<&'a Loaded>,
    /// The flags of the command line, for the agent of a new session.
    pub wanted: CommandLineOverrides,
}

/// Describes a window of unknown size.
fn assumed(model: &str) -> String {
    format!(
        "; its size is a guess, `models.{}.context_window` sets it",
        visible(model)
    )
}

/// Maximum number of sessions that `/sessions` lists.
const LISTED_SESSIONS: usize = 10;

impl Chat<'_> {
    /// Runs a command. Shows an error, if there is one, and the chat continues.
    pub(super) async fn command(&mut self, command: Slash) {
        self.keep_draft_at_once().await;
        let text = if self.connection.company.is_cut_off() {
            self.answer_while_away(&command)
        } else {
            self.do_command(command).await
        };
        match text {
            Ok(text) if text.is_empty() => {}
            Ok(text) => self.display.transcript.print_notice(&text),
            Err(error) => self.complain(&error),
        }
    }

    async fn do_command(&mut self, command: Slash) -> Result<String, ChatError> {
        match command {
            Slash::Help(about) => Ok(self.help(about.as_deref())),
            Slash::Quit => Ok(String::new()),
            Slash::Model(None) => self.choose_model().await,
            Slash::Model(Some(name)) => self.use_model(&name).await,
            Slash::Status => self.status().await,
            Slash::Usage(by) => self.usage(by).await,
            Slash::Context { exact } => self.window(exact).await,
            Slash::Thinking(n) => self.thinking(n).await,
            Slash::Output(n) => self.output(n).await,
            Slash::AgentOutput(name) => self.agent_output(&name).await,
            Slash::Jobs(None) => {
                self.tell_of_own_jobs();
                Ok(self.list_work())
            }
            Slash::Jobs(Some(job)) => self.stop_job(&job).await,
            Slash::Todo => Ok(self.display.todo_list()),
            Slash::ApproveMode(mode) => self.approve_mode(mode).await,
            Slash::Plan(command) => self.plan(command).await,
            Slash::Sessions => self.sessions().await,
            Slash::Title(title) => self.title(title).await,
            Slash::Who => Ok(self.list_participants()),
            Slash::Wheel(wish) => self.wheel(wish).await,
            Slash::Steer(text) => self.steer(&text).await,
            Slash::Queue(wish) => self.queue_wish(wish).await,
            Slash::Fork(at) => self.fork(at).await,
            Slash::Rewind(back) => self.rewind(back).await,
            Slash::Diff(other) => self.diff(other).await,
            Slash::Approvals(wish) => self.rules(wish).await,
            Slash::Compact(wish) => self.compact(wish).await,
            Slash::Retry => self.retry().await,
            Slash::New => self.new_session().await,
            Slash::Resume(id) => self.resume_session(id).await,
            Slash::Copy(block) => self.copy(block).await,
            Slash::Effort(level) => self.effort(level.as_deref()).await,
            Slash::Export(file) => self.export(file).await,
            Slash::Init => self.init().await,
            Slash::Config(shown) => Ok(self.configuration(shown)),
            Slash::Doctor => self.doctor().await,
            Slash::Mcp(None) => self.mcp_servers().await,
            Slash::Mcp(Some(name)) => self.try_mcp_server(&name).await,
            Slash::Memory(line) => self.memory(&line),
            Slash::Secret(words) => self.secret(words.as_deref()).await,
            Slash::Pin(wish) => self.pin(wish).await,
        }
    }

    /// Keeps the words from a model whose provider has another address now than in the session: puts them
    /// back into the line and prints the reason. Returns whether it did.
    pub(super) async fn keep_from_other_server(&mut self, text: &str) -> bool {
        // A server asks its own providers.
        if self.place.remote().is_some() {
            return false;
        }
        let Ok(Some(state)) = self.connection.state().await else {
            return false;
        };
        let model = state.config.model;
        let Some(moved) = other_server::moved(self.settings, &model) else {
            return false;
        };
        self.composer.editor.bring_back(&[text.to_owned()]);
        self.complain(&moved.chat_error());
        true
    }

    /// Runs `/model` without a name: opens a list to choose from if the terminal has room for one, else
    /// prints a table.
    async fn choose_model(&mut self) -> Result<String, ChatError> {
        if self.opens_menu("model").await {
            Ok(String::new())
        } else {
            self.list_models().await
        }
    }

    async fn list_models(&mut self) -> Result<String, ChatError> {
        let model = self.agent_config().await?.model;
        let chosen = model.reference();
        let (all, notes) = self.known_models_of_place(&model).await?;
        let (usable, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|info| info.missing.is_none());
        let list = models::render(&usable, self.settings, &chosen, self.display.width());
        Ok(match others.len() {
            0 => format!("{list}{notes}"),
            others => format!(
                "{list}{notes}{} without a key: {}\n",
                units::counted(others, "model"),
                self.place.command("models")
            ),
        })
    }

    /// Returns the known models, including those of the user's own servers, and a line for each server that
    /// does not list its models.
    pub(super) async fn known_models_of_place(
        &mut self,
        current: &ModelSpec,
    ) -> Result<(Vec<ModelInfo>, String), ChatError> {
        let mut all = self.place.runtime().models();
        if self.place.remote().is_some() {
            return Ok((all, String::new()));
        }
        let mut settings = self.settings.clone();
        let chosen = format!("{}/{}", current.provider, current.id);
        settings.model = Some(Sourced::new(chosen, SettingOrigin::Default));
        self.wait_for(async {
            let notes = models::with_own_servers(&mut settings, &mut all).await;
            Ok((all, notes))
        })
        .await
    }

    /// Changes the agent from now on; the status row shows it immediately.
    pub(super) async fn change(&mut self, change: ConfigChange) -> Result<(), ChatError> {
        match &mut self.connection.site {
            ConversationSite::Open { session, .. } => {
                let session = session.clone();
                self.wait_for(async { session.change(change).await }).await?;
                let state = self.wait_for(async { session.state().await }).await?;
                self.status.activity.update(&state);
            }
            ConversationSite::New(agent) => {
                agent.change(change);
                self.status.activity.configure(&agent.config);
            }
        }
        Ok(())
    }

    async fn use_model(&mut self, name: &str) -> Result<String, ChatError> {
        let (place, settings) = (self.place, self.settings);
        let model = match session_opening::model(place, settings, Some(name)) {
            Err(ChatError::UnknownModel { .. }) if place.remote().is_none() => {
                let known = self
                    .wait_for(async { Ok(default_model::known_to_own_server(settings, name).await) })
                    .await??;
                session_opening::model(place, settings, Some(known.as_deref().unwrap_or(name)))?
            }
            known => known?,
        };
        let id = model.id.clone();
        self.change(ConfigChange::Model(Box::new(model))).await?;
        let said = format!("now using {}", visible(&id));
        Ok(match self.note_of_pictures().await? {
            Some(note) => format!("{said}\n{}", self.display.style().warn(&visible(&note))),
            None => said,
        })
    }

    /// Returns a note if the conversation has pictures and the current model accepts none.
    async fn note_of_pictures(&self) -> Result<Option<String>, ChatError> {
        let Some(state) = self.connection.state().await? else {
            return Ok(None);
        };
        if state.pictures == 0 {
            return Ok(None);
        }
        let why = takes_no_pictures(&state.config, &self.place.runtime().models());
        let which = match state.pictures {
            1 => "the one in this conversation is".to_owned(),
            more => format!("the {more} in this conversation are"),
        };
        Ok(why.map(|why| format!("{which} not sent to it, only mentioned by name: {why}")))
    }

    /// Returns the trust in the folder for `/status`, if it keeps something back.
    fn trust(&self) -> String {
        let trust = self.settings.folder.trust;
        if self.place.remote().is_some() || trust == FolderTrust::Trusted {
            String::new()
        } else {
            format!("\nfolder     {}", trust.word())
        }
    }

    async fn status(&self) -> Result<String, ChatError> {
        match (&self.connection.site, self.connection.state().await?) {
            (ConversationSite::Open { session, .. }, Some(state)) => {
                let model = &state.config.model;
                let catalog = &self.settings.catalog;
                let is_assumed = catalog.assumes_window(&model.provider, &model.id, model.context_window);
                let full = units::share(state.context_tokens, model.context_window);
                Ok(format!(
                    "model      {} ({})\neffort     {}\nsession    {}, {}\nworkspace  {}\nwindow     {} of {} tokens ({full}){}\napproval   {}\nqueued     {}{}",
                    visible(&model.id),
                    visible(&model.provider),
                    effort::level_name(state.config.params.thinking_tokens),
                    session.id(),
                    units::counted(state.last_seq, "event"),
                    visible(&state.config.workspace),
                    units::count(state.context_tokens),
                    units::window(model.context_window, is_assumed),
                    if is_assumed {
                        assumed(&model.id)
                    } else {
                        String::new()
                    },
                    self.mode_words(&state.config),
                    units::counted(state.queued.len(), "message"),
                    self.trust(),
                ))
            }
            (ConversationSite::New(NewAgent { config, .. }), _) => Ok(format!(
                "model      {} ({})\neffort     {}\nsession    starts with your first message\nworkspace  {}\napproval   {}{}",
                visible(&config.model.id),
                visible(&config.model.provider),
                effort::level_name(config.params.thinking_tokens),
                visible(&config.workspace),
                self.mode_words(config),
                self.trust(),
            )),
            (ConversationSite::Open { .. }, None) => Ok(String::new()),
        }
    }

    async fn sessions(&self) -> Result<String, ChatError> {
        let runtime = self.place.runtime();
        let query = SessionQuery {
            owner: runtime.owner().clone(),
            workspace: None,
            limit: LISTED_SESSIONS,
            before: None,
        };
        let list = runtime.sessions(query).await?;
        let (names, width) = (self.place.names(), self.display.width());
        Ok(list_text(runtime, &list, names, width).await)
    }

    pub(super) fn list_participants(&self) -> String {
        match self.connection.company.people_rows() {
            Some(rows) => table(&rows, self.display.width()),
            None => "you are alone with this session; `agentx serve` lets others join".to_owned(),
        }
    }

    /// Returns a notice about who drives, as far as the chat knows.
    pub(super) fn wheel_notice(&self) -> String {
        self.connection
            .company
            .wheel()
            .unwrap_or_else(|| self.list_participants())
    }

    async fn wheel(&mut self, wish: WheelCommand) -> Result<String, ChatError> {
        let wish = match wish {
            WheelCommand::Know => return Ok(self.wheel_notice()),
            WheelCommand::Take => WheelWish::Take,
            WheelCommand::Ask => WheelWish::Ask,
            WheelCommand::Release => WheelWish::Release,
            WheelCommand::Give(who) => WheelWish::Hand(self.connection.company.seat(&who)?),
        };
        self.connection.company.wish(wish).await
    }

    /// Lists the agents at work that another one made, then the commands in the background.
    pub(in crate::chat) fn list_work(&self) -> String {
        let width = self.display.width();
        let jobs = self.programs.jobs.list(units::now(), width);
        match self.display.cast.list_at_work(width) {
            Some(agents) if self.programs.jobs.names().is_empty() => agents.trim_end().to_owned(),
            Some(agents) => agents + &jobs,
            None => jobs,
        }
    }

    /// Ends a command in the background, or all of them. The end of an agent's command is reported by an
    /// event of the session.
    async fn stop_job(&mut self, wanted: &str) -> Result<String, ChatError> {
        let names = match wanted {
            "all" => self.programs.jobs.names(),
            _ => self.programs.jobs.named(wanted).into_iter().collect(),
        };
        if names.is_empty() {
            return Ok(match wanted {
                "all" => "nothing runs in the background".to_owned(),
                _ => format!("there is no job `{}`; /jobs lists them", visible(wanted)),
            });
        }
        let mut told = Vec::new();
        for name in names {
            if self.programs.jobs.stop_own(&name) {
                told.push(format!("{name} was ended"));
                continue;
            }
            let Some(session) = self.connection.session() else {
                continue;
            };
            let (id, runtime) = (session.id().clone(), self.place.shared());
            let ran = self
                .wait_for(async { runtime.stop_job(&id, &name).await })
                .await?;
            told.extend((!ran).then(|| format!("{name} has already ended")));
        }
        Ok(told.join("\n"))
    }

    async fn title(&mut self, title: String) -> Result<String, ChatError> {
        let shown = visible(&title);
        self.session().await?.rename(title).await?;
        Ok(format!("renamed this session to {shown:?}"))
    }
}
