//! The service itself: it answers `build_context` on the topic `context.build.request` with one
//! `context_built` each.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentx_runtime::{BoxFuture, Clock, Effector, EventSink, SessionLog};
use agentx_types::{Action, ActionBody, BuildContext, ContextBuilt, OwnerId};
use tokio_util::sync::CancellationToken;

use super::moment::wrapping;
use super::options::ContextOptions;
use super::sources::ContextModule;
use super::system::facts_text;
use super::template::filled;
use super::tools::tools_text;
use crate::people::settings::PersonSettings;
use crate::people::store::PersonStore;

/// The maximum time for an answer.
const TIME: Duration = Duration::from_secs(2);
/// Bytes of a text for each token that it may have. A longer text is refused without counting its tokens.
const BYTES_OF_A_TOKEN: usize = 8;

/// Builds the contexts of [`ContextModule`]. Clones share their parts.
#[derive(Clone)]
pub struct ContextService {
    log: Arc<dyn SessionLog>,
    clock: Arc<dyn Clock>,
    people: PersonStore,
    /// The owner of sessions that the log does not know.
    person: OwnerId,
    options: Arc<ContextOptions>,
}

/// The persons whom a context is about.
struct Persons {
    /// The owner of the session, whose prompts count.
    owner: PersonSettings,
    /// The person who wrote the input, whose name and time zone count.
    speaker: PersonSettings,
}

impl ContextService {
    /// The service for the sessions in `log`, which belong to `person` if the log does not say to whom.
    pub fn new(
        log: Arc<dyn SessionLog>,
        clock: Arc<dyn Clock>,
        people: PersonStore,
        person: OwnerId,
        options: ContextOptions,
    ) -> Self {
        Self {
            log,
            clock,
            people,
            person,
            options: Arc::new(options),
        }
    }

    async fn answer(self, request: BuildContext, events: EventSink) -> Result<ContextBuilt, String> {
        let owner = match events.session_id() {
            Some(session) => match self.log.access(session, &self.person).await {
                Ok((owner, _)) => owner,
                Err(error) => return Err(error.to_string()),
            },
            None => self.person.clone(),
        };
        // The files of modules and persons are read on a thread that may block.
        let built = tokio::task::spawn_blocking(move || self.build(&request, &owner)).await;
        built.map_err(|error| error.to_string())?
    }

    fn build(&self, request: &BuildContext, owner: &OwnerId) -> Result<ContextBuilt, String> {
        let name = &request.source.name;
        let module = ContextModule::named(name).ok_or_else(|| format!("there is no context {name:?}"))?;
        let read = |person: &OwnerId| self.people.read(person).map_err(|error| error.to_string());
        let owner_settings = read(owner)?;
        let speaker = match &request.by {
            Some(by) => read(by)?,
            None => owner_settings.clone(),
        };
        let persons = Persons {
            owner: owner_settings,
            speaker,
        };
        let nothing = ContextBuilt::nothing(name);
        if module == ContextModule::Moment {
            let zone = persons.speaker.time_zone().or(self.options.time_zone.as_deref());
            let around = wrapping(request, persons.speaker.name(), self.clock.now(), zone)?;
            return Ok(ContextBuilt {
                wrapping: Some(Box::new(around)),
                ..nothing
            });
        }
        let text = self.text(module, request, &persons)?;
        let most = usize::try_from(request.source.max_tokens).unwrap_or(usize::MAX);
        if text.len() > most.saturating_mul(BYTES_OF_A_TOKEN) {
            let size = text.len();
            return Err(format!(
                "the text of `{name}` has {size} bytes, more than {most} tokens"
            ));
        }
        Ok(ContextBuilt {
            instructions: Some(text.into()),
            ..nothing
        })
    }

    /// The text of a module: that of the person, of a file, or the built-in one, with its names filled in.
    fn text(
        &self,
        module: ContextModule,
        request: &BuildContext,
        persons: &Persons,
    ) -> Result<String, String> {
        let own = persons.owner.prompts.get(module.name());
        let file = self.options.files.get(module.name());
        let template = module.template(own.map(String::as_str), file.map(PathBuf::as_path))?;
        let Some(config) = &request.agent.config else {
            return Err("nobody says which agent asks".to_owned());
        };
        let facts = facts_text(config, &self.options);
        let tools = tools_text(config);
        let values = [
            ("facts", facts.as_str()),
            ("tools", tools.as_str()),
            ("person", persons.owner.name().unwrap_or("the person")),
            ("model", config.model.id.as_str()),
            ("agent", config.name.as_str()),
        ];
        Ok(filled(template.trim_end(), &values))
    }
}

impl Effector for ContextService {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        let service = self.clone();
        Box::pin(async move {
            let ActionBody::BuildContext(request) = &action.body else {
                return;
            };
            let name = &request.source.name;
            let answer = tokio::time::timeout(TIME, service.answer(request.clone(), events.clone()));
            let built = tokio::select! {
                biased;
                () = cancel.cancelled() => Err("stopped".to_owned()),
                answer = answer => {
                    answer.unwrap_or_else(|_| Err(format!("`{name}` was not built within {TIME:?}")))
                }
            };
            events
                .emit(built.unwrap_or_else(|what| ContextBuilt::failed(name, what)))
                .await;
        })
    }
}
