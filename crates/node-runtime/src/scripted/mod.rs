//! The scripted environment: an offline demo in place of a model, used if no key is set.
//!
//! It performs `call_model` without a network: it states that it is a script, answers a few phrases in
//! English and Chinese, calls tools on requests in plain words, and sums up their real results. Everything
//! around it (approvals, interrupts, the log, replay) works as with a real model. The same request always
//! gives the same events. A tool that is not the program's own is called if an input names it.
//!
//! If answers are listed (the setting `scripted_answers`), the first one that fits is used instead: so an
//! agent with its own tools, or a whole flow, runs the same way every time.
//!
//! Its token counts are estimates (a quarter of the ASCII characters, each other character whole), and its
//! model has no price. A call ends with one `stream_end`, like that of a real model; see [`crate::model`] for
//! the whole contract.
//!
//! # Supported inputs
//!
//! Phrases, in this order; the first that fits decides:
//!
//! 1. an answer of the setting `scripted_answers`;
//! 2. a tool of the session that is named in the input, with arguments as JSON, `name=value` or plain words;
//! 3. `tour`, and steps joined by "then";
//! 4. tools by phrase: list, read, write, replace, search, run;
//! 5. talk: help, echo, count, story, think, thanks.
//!
//! Other inputs are answered with a hint and never guessed.
//!
//! ```
//! use agentx_node_runtime::scripted::ScriptedEnvironment;
//! use agentx_testing::{fixture, perform};
//!
//! # let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
//! # tokio.block_on(async {
//! let call = fixture::call_model("echo good morning");
//! let said = perform(&ScriptedEnvironment::instant(), call).await;
//! assert_eq!(said.text(), "good morning");
//! # });
//! ```

mod answer;
mod bilingual_text;
mod demo_intent;
mod intent;
mod listed_answers;
mod named_tools;
mod phrase;
mod player;
mod summary;
mod tour;

use std::sync::Arc;
use std::time::Duration;

use agentx_bus::{Reactor, ReactorFailure, ReactorTask};
use agentx_runtime::{BoxFuture, Effector, Environment, EventSink, ModelInfo, SystemBus};
use agentx_types::{
    Action, ActionBody, Api, ContentPart, Message, ModelRequest, ModelSpec, Prices, Role, SCRIPTED_MODEL,
    ScriptedAnswer,
};
use tokio_util::sync::CancellationToken;

/// Returns the text of the message, without the tags that name an author other than the owner: a script
/// answers only the text.
fn text_of(message: &Message) -> String {
    let texts: Vec<&str> = message.content.iter().filter_map(ContentPart::as_text).collect();
    match (&message.by, &texts[..]) {
        (Some(_), [_, said @ .., _]) => said.concat(),
        (_, said) => said.concat(),
    }
}

/// Returns the place of the input that is answered: the last one of a person. AgentX's own note about plan
/// mode follows it.
fn input_of(request: &ModelRequest) -> Option<usize> {
    let is_note = |message: &Message| message.message_id.as_str().starts_with("msg_plan_mode_");
    let mut messages = request.messages.iter();
    messages.rposition(|message| message.role == Role::User && !is_note(message))
}

/// The offline demo: it performs the calls of models whose provider is `scripted`.
///
/// A runtime has one already; attached to another, it serves the same there.
#[derive(Clone, Debug)]
pub struct ScriptedEnvironment {
    /// The pause between two pieces; zero emits all of them at once.
    pace: Duration,
    /// Answers that come before its own, the first that fits.
    answers: Arc<[ScriptedAnswer]>,
    /// Fires to stop it if it is attached.
    attached: Option<CancellationToken>,
}

impl ScriptedEnvironment {
    /// Speaks at about the speed of a model, so that it can be interrupted: a few letters every 12 ms.
    pub fn live() -> Self {
        Self::with_pace(Duration::from_millis(12))
    }

    /// Speaks without any pause, for tests and pipes.
    pub fn instant() -> Self {
        Self::with_pace(Duration::ZERO)
    }

    /// Waits this long between two pieces of an answer.
    pub fn with_pace(pace: Duration) -> Self {
        Self {
            pace,
            answers: Arc::default(),
            attached: None,
        }
    }

    /// Adds answers that take precedence over its own, if one of them fits.
    #[must_use]
    pub fn with_answers(mut self, answers: Vec<ScriptedAnswer>) -> Self {
        self.answers = answers.into();
        self
    }
}

impl Reactor<SystemBus> for ScriptedEnvironment {
    fn name(&self) -> &str {
        SCRIPTED_MODEL
    }

    async fn start(&mut self, bus: SystemBus) -> Result<ReactorTask, ReactorFailure> {
        let stop = CancellationToken::new();
        self.attached = Some(stop.clone());
        Ok(bus
            .serve_models(SCRIPTED_MODEL, Arc::new(self.clone()))
            .run_until(stop))
    }

    async fn stop(&mut self) {
        self.attached.take().inspect(CancellationToken::cancel);
    }
}

impl Environment for ScriptedEnvironment {
    fn kind(&self) -> &str {
        SCRIPTED_MODEL
    }
}

impl Effector for ScriptedEnvironment {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        let (pace, answers) = (self.pace, self.answers.clone());
        Box::pin(async move {
            let ActionBody::CallModel(call) = &action.body else {
                return;
            };
            let cued = listed_answers::answer(&answers, &call.request);
            let answer = cued.unwrap_or_else(|| answer::answer(&call.request));
            player::play(&action, &call.request, answer, pace, &events, &cancel).await;
        })
    }
}

/// The entry of the demo in lists of models.
pub fn scripted_model() -> ModelInfo {
    let spec = ModelSpec {
        id: SCRIPTED_MODEL.into(),
        provider: SCRIPTED_MODEL.into(),
        api: Api::Scripted,
        context_window: 128_000,
        max_output_tokens: 8_192,
        prices: Prices::default(),
        input: None,
        server: None,
        assumes_output: false,
        name: None,
    };
    ModelInfo::new(spec).with_aliases(vec!["demo".into()])
}
