//! Answers a server's request to our model (sampling): only if the person's settings allow it, with the model
//! of the agent that calls, as a step of the call, whose cost counts for the run.
#![expect(deprecated, reason = "servers of earlier versions still ask for samples")]

use std::sync::Arc;

use agentx_runtime::{CapturedEffect, Effector, StepMetadata, ToolContext};
use agentx_types::{
    Assembler, ContentPart, EffectBill, EffectFailure, EffectOutcome, EnvironmentEvent, Message, MessageId,
    ModelRequest, OutputChannel, Role, StopReason, Usage,
};
use rmcp::model::{
    CreateMessageRequestParams, CreateMessageResult, Role as RemoteRole, SamplingMessage,
    SamplingMessageContentBlock,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::hidden::HiddenValues;
use crate::limits::{SAMPLE_BYTES, SAMPLE_TOKENS};

/// The kind of step, as for scripts: its bill counts.
const STEP: &str = "generate";

/// A sample that a server asks for.
pub(crate) struct Sample<'a> {
    pub(crate) models: &'a dyn Effector,
    pub(crate) context: &'a ToolContext,
    /// The number of the step of the call.
    pub(crate) step: u64,
    pub(crate) server: &'a str,
    /// The values that no record may show.
    pub(crate) hidden: &'a HiddenValues,
    /// Fires when the server's call has ended.
    pub(crate) ended: &'a CancellationToken,
}

/// An answer of a model.
struct Sampled {
    text: String,
    reason: StopReason,
}

impl Sample<'_> {
    /// Asks the model, and shows the bill.
    ///
    /// # Errors
    /// Returns the reason why there is no answer.
    pub(crate) async fn ask(&self, asked: CreateMessageRequestParams) -> Result<CreateMessageResult, String> {
        let request = Arc::new(self.request(asked)?);
        let (journal, model) = (&self.context.journal, request.model.id.clone());
        let input = json!({"server": self.server, "model": model, "messages": request.messages.len()});
        if !journal.begin(self.step, STEP, input).await {
            return Err("the session is gone".to_owned());
        }
        let mut paid = Usage::default();
        let answer = self.answer(request.clone(), &mut paid).await;
        let bill = EffectBill::of(&request.model, paid);
        let cost = bill.cost;
        let (outcome, what) = match &answer {
            Ok(sampled) => {
                let text = self.hidden.removed_from(&sampled.text);
                (EffectOutcome::Done(text.into()), "answered")
            }
            Err(why) => {
                let why = self.hidden.removed_from(why);
                (EffectOutcome::Failed(failure(&why)), "did not answer")
            }
        };
        let bill = (answer.is_ok() || paid != Usage::default()).then_some(bill);
        let bill = bill.map(StepMetadata::from).unwrap_or_default();
        journal.end(self.step, STEP, None, outcome, bill).await;
        let note = format!(
            "[{model} {what} the MCP server {}: {}]\n",
            self.server,
            in_words(&paid, cost.as_usd())
        );
        self.context.output.write(OutputChannel::Progress, note).await;
        let sampled = answer?;
        let reason = match sampled.reason {
            StopReason::MaxTokens => CreateMessageResult::STOP_REASON_END_MAX_TOKEN,
            _ => CreateMessageResult::STOP_REASON_END_TURN,
        };
        let message = SamplingMessage::assistant_text(sampled.text);
        Ok(CreateMessageResult::new(message, model).with_stop_reason(reason))
    }

    /// The request to the model of the agent that calls.
    fn request(&self, asked: CreateMessageRequestParams) -> Result<ModelRequest, String> {
        let caller = self.context.journal.caller();
        let config = caller.config.as_deref().ok_or("no agent calls")?;
        if asked.tools.is_some_and(|tools| !tools.is_empty()) {
            return Err("AgentX gives a server's question no tools".to_owned());
        }
        let messages = asked.messages.into_iter().enumerate();
        let messages: Vec<_> = messages
            .map(|(index, said)| message(index, said))
            .collect::<Result<_, _>>()?;
        let system: Vec<Arc<str>> = asked.system_prompt.into_iter().map(Into::into).collect();
        let bytes: usize = messages.iter().map(|message| message.text().len()).sum();
        if messages.is_empty() || bytes + system.iter().map(|text| text.len()).sum::<usize>() > SAMPLE_BYTES {
            return Err(format!(
                "its question is empty, or has more than {SAMPLE_BYTES} bytes"
            ));
        }
        let mut params = config.params.clone();
        let most = u64::from(asked.max_tokens).min(SAMPLE_TOKENS);
        params.max_output_tokens = Some(params.max_output_tokens.map_or(most, |own| own.min(most)));
        params.thinking_tokens = None;
        Ok(ModelRequest::new(config.model.clone(), params, system, messages))
    }

    async fn answer(&self, request: Arc<ModelRequest>, paid: &mut Usage) -> Result<Sampled, String> {
        let journal = &self.context.journal;
        let model = request.model.id.clone();
        let action = journal.model_call(request);
        let cancel = CancellationToken::new();
        let _stops_with_us = cancel.clone().drop_guard();
        let mut asked = CapturedEffect::of(self.models, action, journal.session().cloned(), cancel.clone());
        let mut assembler = Assembler::default();
        assembler.set_model(&model);
        // Attempts that broke off also cost money.
        let mut before = *paid;
        loop {
            // A stopped model call still says what it has cost.
            let event = tokio::select! {
                biased;
                () = self.ended.cancelled(), if !cancel.is_cancelled() => {
                    cancel.cancel();
                    continue;
                }
                event = asked.next() => event,
            };
            let Some(event) = event else { break };
            match event {
                EnvironmentEvent::ErrorOccurred(error) => return Err(format!("{model}: {}", error.message)),
                EnvironmentEvent::StreamEnd(end) if end.stop_reason == StopReason::Broken => {
                    assembler.finish_partial();
                    before = *paid;
                }
                EnvironmentEvent::StreamEnd(end) => {
                    let message = assembler.finish().message;
                    return match end.stop_reason {
                        StopReason::Interrupted => Err(format!("{model} was stopped")),
                        StopReason::Refusal => Err(format!("{model} refuses to answer")),
                        reason => Ok(Sampled {
                            text: message.map(|message| message.text()).unwrap_or_default(),
                            reason,
                        }),
                    };
                }
                event => {
                    assembler.feed(&event);
                    *paid = before;
                    *paid += assembler.usage();
                }
            }
        }
        Err(format!("{model} ended without an answer"))
    }
}

fn message(index: usize, said: SamplingMessage) -> Result<Arc<Message>, String> {
    let role = match said.role {
        RemoteRole::Assistant => Role::Assistant,
        _ => Role::User,
    };
    let mut parts = Vec::new();
    for block in said.content.into_vec() {
        match block {
            SamplingMessageContentBlock::Text(text) => parts.push(ContentPart::text(text.text)),
            _ => return Err("AgentX passes only text to its model".to_owned()),
        }
    }
    Ok(Arc::new(Message {
        message_id: MessageId::with_suffix(index),
        role,
        content: parts,
        by: None,
    }))
}

fn failure(why: &str) -> EffectFailure {
    EffectFailure {
        code: "failed".to_owned(),
        message: why.to_owned(),
    }
}

fn in_words(usage: &Usage, usd: f64) -> String {
    format!(
        "{} tokens in, {} out, ${usd:.4}",
        usage.input_tokens, usage.output_tokens
    )
}
