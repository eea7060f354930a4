//! The requests of a server while one of its calls runs: an answer of a person, the workspace, an answer of
//! our model. A refusal contains the reason.
#![expect(
    deprecated,
    reason = "servers of earlier versions still ask for roots and samples"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agentx_runtime::{Effector, ToolContext};
use agentx_types::{Access, InnerCallAsked, NestedDecision, ToolSpec};
use rmcp::model::{
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult, ElicitationAction,
    InputRequest, InputRequests, InputResponses, ListRootsResult, Root,
};
use serde_json::{Value, json};
use tokio::sync::RwLock;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::form::Form;
use crate::hidden::HiddenValues;
use crate::limits::{ANSWER_ATTEMPTS, BILL_PATIENCE, FORM_BYTES, OUTPUT_LINE_BYTES, QUESTIONS};
use crate::sampling::Sample;
use crate::server_tool::cut;

/// A running call, as its server's requests see it.
pub(crate) struct ServerRequests {
    server: String,
    context: ToolContext,
    hidden: HiddenValues,
    /// Performs model calls, if the person allows the server to request them.
    models: Option<Arc<dyn Effector>>,
    /// Fires when the call has ended.
    ended: CancellationToken,
    /// The questions so far; each is a step of the call.
    asked: AtomicU64,
    /// Held for reading by each model call that is not on the bill yet.
    unbilled: RwLock<()>,
}

impl ServerRequests {
    pub(crate) fn new(
        server: &str,
        hidden: &HiddenValues,
        models: Option<Arc<dyn Effector>>,
        context: &ToolContext,
    ) -> Self {
        Self {
            models,
            server: server.to_owned(),
            context: context.clone(),
            hidden: hidden.clone(),
            ended: CancellationToken::new(),
            asked: AtomicU64::new(0),
            unbilled: RwLock::new(()),
        }
    }

    /// The number of questions so far.
    pub(crate) fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    /// The call goes on after so many questions, which an earlier program asked.
    pub(crate) fn goes_on_after(&self, asked: u64) {
        self.asked.store(asked, Ordering::Relaxed);
    }

    /// Stops the model calls that the server asked for, and waits until their cost is on record: the call is
    /// about to end, and nothing is recorded of it afterwards.
    pub(crate) async fn settle_bills(&self) {
        self.ended.cancel();
        if tokio::time::timeout(BILL_PATIENCE, self.unbilled.write())
            .await
            .is_err()
        {
            tracing::warn!(
                server = self.server,
                "a model call of a server could not be billed in time"
            );
        }
    }

    /// Ends the requests with the call, when the returned value is dropped.
    pub(crate) fn end_with_call(&self) -> DropGuard {
        self.ended.clone().drop_guard()
    }

    /// Answers requests that came in place of a result (version 2026-07-28).
    ///
    /// # Errors
    /// Returns what is not given.
    pub(crate) async fn answers(&self, requests: InputRequests) -> Result<InputResponses, String> {
        let mut answers = InputResponses::new();
        for (key, request) in requests {
            let answer = match request {
                InputRequest::Elicitation(asked) => serde_json::to_value(self.elicit(asked.params).await),
                InputRequest::ListRoots(_) => serde_json::to_value(self.roots()),
                InputRequest::CreateMessage(asked) => serde_json::to_value(self.sample(asked.params).await?),
                _ => return Err("it wants something that AgentX does not know".to_owned()),
            };
            answers.insert(key, answer.map_err(|error| error.to_string())?);
        }
        Ok(answers)
    }

    /// Has the agent's model answer.
    ///
    /// # Errors
    /// Returns the reason why there is no answer.
    pub(crate) async fn sample(
        &self,
        asked: CreateMessageRequestParams,
    ) -> Result<CreateMessageResult, String> {
        let Some(models) = &self.models else {
            return Err(format!(
                "it wants an answer of a model (sampling); that costs money, so a person has to allow it: mcp.{}.sampling",
                self.server
            ));
        };
        let step = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        if step > QUESTIONS {
            return Err(format!("a call asks at most {QUESTIONS} questions"));
        }
        let _unbilled = self.unbilled.read().await;
        if self.ended.is_cancelled() {
            return Err("the call has ended".to_owned());
        }
        let sample = Sample {
            models: &**models,
            context: &self.context,
            step,
            server: &self.server,
            hidden: &self.hidden,
            ended: &self.ended,
        };
        sample.ask(asked).await
    }

    /// The workspace.
    pub(crate) fn roots(&self) -> ListRootsResult {
        roots_of(&self.context.workspace)
    }

    /// Asks the person. If nobody can be asked, declines immediately.
    pub(crate) async fn elicit(&self, params: ElicitRequestParams) -> ElicitResult {
        let declined = ElicitResult::new(ElicitationAction::Decline);
        let (message, url, schema) = match params {
            ElicitRequestParams::FormElicitationParams {
                message,
                requested_schema,
                ..
            } => (
                message,
                None,
                serde_json::to_value(requested_schema).unwrap_or_default(),
            ),
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => (message, Some(url), json!({})),
            _ => return declined,
        };
        if schema.to_string().len() > FORM_BYTES || url.as_ref().is_some_and(|url| !is_web(url)) {
            return declined;
        }
        // The form is recorded unchanged, so it must not contain a secret of the server.
        if self.hidden.are_in_document(&schema) {
            return declined;
        }
        let Ok(form) = Form::of(&schema) else {
            return declined;
        };
        let mut question = json!({ "message": cut(&self.hidden.removed_from(&message), OUTPUT_LINE_BYTES) });
        let notes = [
            ("open", url),
            ("fields", Some(form.in_words())),
            ("answer", form.how_to_answer()),
        ];
        for (name, note) in notes {
            if let Some(note) = note.filter(|note| !note.is_empty()) {
                question[name] = self.hidden.removed_from(&note).into();
            }
        }
        for _ in 0..ANSWER_ATTEMPTS {
            let Some(written) = self.ask(&question, &schema).await else {
                return declined;
            };
            match form.filled_in(&written) {
                Ok(_) if question.get("open").is_some() => {
                    return ElicitResult::new(ElicitationAction::Accept);
                }
                Ok(content) => return ElicitResult::new(ElicitationAction::Accept).with_content(content),
                Err(why) => question["not accepted"] = why.into(),
            }
        }
        ElicitResult::new(ElicitationAction::Cancel)
    }

    /// Returns the person's text; `None` if they do not answer, or nobody is asked.
    async fn ask(&self, question: &Value, schema: &Value) -> Option<String> {
        let step = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let journal = &self.context.journal;
        if step > QUESTIONS || journal.session().is_none() {
            return None;
        }
        let name = format!("MCP server {}", self.server);
        let asked = InnerCallAsked {
            tool_call_id: journal.tool_call_id().inner(step),
            tool: Box::new(ToolSpec::new(&*name, "", json!({"type": "object"}), Access::Run)),
            input: Box::new(question.clone()),
            by: name,
            place: None,
            named: false,
            form: Some(Box::new(schema.clone())),
            for_operator: false,
        };
        let decision = tokio::select! {
            decision = journal.ask(asked) => decision?,
            () = self.ended.cancelled() => return None,
        };
        match decision {
            NestedDecision::Allowed { answer, .. } => answer,
            NestedDecision::Refused { .. } => None,
        }
    }
}

/// The roots of a workspace.
pub(crate) fn roots_of(workspace: &std::path::Path) -> ListRootsResult {
    let url = reqwest::Url::from_file_path(workspace);
    ListRootsResult::new(url.into_iter().map(|url| Root::new(url.to_string())).collect())
}

/// Returns whether an address is one that a browser opens over the network.
fn is_web(url: &str) -> bool {
    reqwest::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "https" | "http"))
}
