//! The model environment: requests are sent, accepted or refused, and answers come piece by piece, completely
//! or not.

use std::sync::Arc;

use agentx_llm::{ModelError, StreamContext, StreamDecoder, decode_error};
use agentx_testing::vendors::ModelAnswer;
use agentx_types::*;

use super::{History, LAST_ANSWER};
use crate::chance::Random;
use crate::{answers, people, refused_texts};

/// The most refusals of one text by the policy: as many parts are replaced one after another.
const MOST_REFUSALS: u32 = 8;

/// A model call in progress.
pub(super) struct Call {
    pub(super) action: Action,
    pub(super) cancelled: bool,
    pub(super) attempt: u32,
    pub(super) stream: Option<Stream>,
}

/// An answer in progress.
pub(super) struct Stream {
    bytes: Vec<u8>,
    at: usize,
    decoder: StreamDecoder,
    started: bool,
}

impl History {
    pub(super) fn model_goes_on(&mut self) {
        let Some(call) = self.model.take() else { return };
        let action = call.action.clone();
        match &action.body {
            ActionBody::Condense(condense) => self.condense(&action, condense),
            ActionBody::CallModel(asked) if call.stream.is_none() => {
                self.ask(call, &asked.request, &asked.taken)
            }
            _ => self.stream(call),
        }
    }

    /// Sends a request. It is accepted or refused, or no server is available.
    fn ask(&mut self, mut call: Call, request: &Arc<ModelRequest>, taken: &Arc<UsedIds>) {
        if call.cancelled {
            return self.answer(&call.action, stream_end(StopReason::Interrupted));
        }
        if self.random.below(20) == 0 && call.attempt < 3 {
            self.answer(&call.action, failed(call.attempt, &overloaded(), Some(1)));
            call.attempt += 1;
            self.model.get_or_insert(call);
            return;
        }
        self.number += 1;
        let answer = if self.ends {
            ModelAnswer::text(LAST_ANSWER)
        } else {
            answers::answer(&mut self.random, request.model.api, self.number)
        };
        match self.send(request, &answer) {
            Ok(stream) => {
                let id = format!("msg_{}_{}", call.action.action_id, call.attempt);
                let context = StreamContext::new(id, call.attempt)
                    .avoid_ids_of(request.clone())
                    .taken_ids(taken.clone());
                call.stream = Some(Stream {
                    bytes: stream,
                    at: 0,
                    decoder: StreamDecoder::new(request.model.api, context),
                    started: false,
                });
                self.model = Some(call);
            }
            Err(error) => {
                self.note_refused_text(&error);
                let place = self.shop.refused_place(request, &error);
                self.give_up(&call, &error, place);
            }
        }
    }

    /// Sends a request to its vendor, and records a refusal for its form.
    fn send(&mut self, request: &ModelRequest, answer: &ModelAnswer) -> Result<Vec<u8>, ModelError> {
        self.seen.add("requests", 1);
        self.seen.add(request.model.api.as_str(), 1);
        self.note_beginning(request);
        match self.shop.ask(request, answer) {
            Ok(asked) => {
                self.seen.add("thinking dropped by the vendor", asked.dropped);
                self.note_changed_prefixes(asked.changed_prefixes);
                self.seen
                    .add("requests cut by the server", u64::from(asked.is_cut));
                Ok(asked.stream)
            }
            Err(refusal) => {
                self.seen
                    .add("requests too long", u64::from(refusal.is_full_window()));
                // The template of a server is not known before its refusals: the first shows that it requires
                // alternating turns, the second that it supports no tools.
                let is_news = refusal.rule.name == "chat-template-gemma" && self.refused_templates < 2;
                self.refused_templates += u8::from(is_news);
                // Whether an organization is verified is not known either, for each model.
                let is_unverified = refusal.rule.name == "responses-unverified";
                let is_news =
                    is_news || (is_unverified && self.refused_summaries.insert(request.model.id.clone()));
                self.seen.add("requests repaired", u64::from(is_news));
                let is_policy = refusal.rule.name == refused_texts::POLICY;
                if !refusal.is_full_window() && !is_news && !is_policy {
                    let (model, rule) = (&request.model.id, refusal.rule.name);
                    self.blame(format!("{rule} ({model})"), &refusal.message);
                }
                let body = refusal.body.to_string();
                Err(decode_error(refusal.status, &[], body.as_bytes(), Timestamp(0)))
            }
        }
    }

    /// Counts a refusal by the policy. The same text is refused again only if several messages are sent as
    /// one text: words replace one after another then.
    fn note_refused_text(&mut self, error: &ModelError) {
        let Some(text) = refused_texts::named_text(&error.message) else {
            return;
        };
        let times = self.refused_texts.entry(text).or_default();
        *times += 1;
        if *times > MOST_REFUSALS {
            self.blame("a text is refused again (any)".into(), &error.message);
        }
        self.seen.add("texts refused by place", 1);
    }

    /// Thinking after a changed part is lost: a new session leaves it out. Sessions without `keeps_beginning`
    /// were recorded before models checked the parts before their thinking, and are sent unchanged.
    fn note_changed_prefixes(&mut self, dropped: u64) {
        self.seen.add("thinking dropped for its prefix", dropped);
        if dropped > 0 && self.keeps_beginning {
            self.blame(
                "thinking behind a changed prefix (any)".into(),
                "the vendor dropped it",
            );
        }
    }

    /// If nothing else has changed the beginning of the request, the window has slid.
    fn note_beginning(&mut self, request: &ModelRequest) {
        let first = request
            .messages
            .first()
            .map(|message| format!("{:?}", message.content));
        let slid = first.is_some() && self.beginning.is_some() && self.beginning != first;
        self.seen.add("windows slid", u64::from(slid));
        self.beginning = first;
    }

    fn give_up(&mut self, call: &Call, error: &ModelError, place: Option<MessagePlace>) {
        if call.stream.as_ref().is_some_and(|stream| stream.started) {
            self.answer(&call.action, stream_end(StopReason::Broken));
        }
        let failed = AttemptFailed {
            refused_place: place.map(Box::new),
            ..failed(call.attempt, error, None)
        };
        self.answer(&call.action, failed);
        let last = ErrorOccurred {
            code: error.code.as_str().into(),
            message: error.message.clone(),
            recoverable: true,
        };
        self.answer(&call.action, last);
    }

    /// Decodes a random number of the next bytes of an answer; or the answer breaks off there.
    fn stream(&mut self, mut call: Call) {
        let Some(stream) = &mut call.stream else { return };
        if call.cancelled {
            let in_the_middle = stream.started && stream.at < stream.bytes.len();
            self.seen
                .add("answers interrupted in the middle", u64::from(in_the_middle));
            return self.answer(&call.action, stream_end(StopReason::Interrupted));
        }
        if self.random.below(25) == 0 && call.attempt < 3 && stream.started {
            self.answer(&call.action, stream_end(StopReason::Broken));
            self.answer(&call.action, failed(call.attempt, &overloaded(), Some(1)));
            call.attempt += 1;
            call.stream = None;
            self.model.get_or_insert(call);
            return;
        }
        let left = stream.bytes.len() - stream.at;
        let some = match self.random.below(3) {
            0 => left,
            _ => self.random.below(left as u64 + 1) as usize,
        };
        let mut events = Vec::new();
        let mut outcome = stream
            .decoder
            .push(&stream.bytes[stream.at..stream.at + some], &mut events);
        stream.at += some;
        if outcome.is_ok() && stream.at == stream.bytes.len() && !stream.decoder.is_done() {
            outcome = stream.decoder.finish(&mut events);
        }
        stream.started |= !events.is_empty();
        let done = stream.decoder.is_done();
        let action = call.action.clone();
        let goes_on = outcome.is_ok() && !done;
        if goes_on {
            self.model = Some(call);
            for event in events {
                self.answer(&action, event);
            }
            return;
        }
        for event in events {
            self.answer(&action, event);
        }
        if let Err(error) = outcome {
            self.give_up(&call, &error.into_model_error(), None);
        }
    }

    /// Asks for a summary; it comes, or does not.
    fn condense(&mut self, action: &Action, condense: &Condense) {
        if let Some(written) = &condense.written {
            let condensed = ContextCondensed {
                from_seq: condense.from_seq,
                to_seq: condense.to_seq,
                summary: written.clone(),
                kept: condense.kept.clone(),
                bill: None,
                masked: condense.masked.clone(),
            };
            self.condensed.push(condensed.clone());
            return self.answer(action, condensed);
        }
        let summary = ModelAnswer::text("It was spoken of.");
        let sent = self.send(&condense.request, &summary).is_ok();
        if sent && self.random.below(4) > 0 {
            let condensed = ContextCondensed {
                from_seq: condense.from_seq,
                to_seq: condense.to_seq,
                summary: "It was spoken of.".into(),
                kept: condense.kept.clone(),
                bill: None,
                masked: Vec::new(),
            };
            self.condensed.push(condensed.clone());
            return self.answer(action, condensed);
        }
        let (code, message) = ("no_summary".into(), "the model wrote no summary".into());
        self.answer(
            action,
            CondensingFailed {
                code,
                message,
                bill: None,
            },
        );
    }
}

fn overloaded() -> ModelError {
    decode_error(
        529,
        &[],
        b"{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}",
        Timestamp(0),
    )
}

fn failed(attempt: u32, error: &ModelError, retry_in_ms: Option<u64>) -> AttemptFailed {
    AttemptFailed {
        attempt,
        code: error.code.as_str().into(),
        message: error.message.clone(),
        status: error.status,
        retry_in_ms,
        gives_up_in_ms: None,
        overflow: error.overflow.map(Box::new),
        refused: error.refused,
        longest_answer: error.longest_answer.and_then(|tokens| u32::try_from(tokens).ok()),
        most_media: error.most_media,
        no_thinking: false,
        refused_place: None,
    }
}

fn stream_end(stop_reason: StopReason) -> StreamEnd {
    StreamEnd {
        stop_reason,
        raw: None,
    }
}

/// Returns the fact that a driver records for an action at once. The verdict on an answer is random.
pub(super) fn consequence(action: &Action, random: &mut Random) -> Option<EventDraft<EnvironmentEvent>> {
    let started = |tool_call_id| ActionStarted {
        kind: action.body.kind(),
        tool_call_id,
        due_at: None,
    };
    let event: EnvironmentEvent = match &action.body {
        ActionBody::CallTool(call) => started(Some(call.tool_call_id.clone())).into(),
        ActionBody::CallModel(_) | ActionBody::Condense(_) | ActionBody::StartTimer(_) => {
            started(None).into()
        }
        ActionBody::AnswerCall(answer) => ToolResult {
            tool_call_id: answer.tool_call_id.clone(),
            result: answer.content.clone(),
            is_error: answer.status != ToolStatus::Success,
            status: answer.status,
            details: None,
        }
        .into(),
        ActionBody::Report(Report::Interrupted { reason }) => Interrupted {
            reason: reason.clone(),
        }
        .into(),
        ActionBody::Report(Report::Fallback(asked)) => asked.clone().into(),
        ActionBody::Report(Report::Error { code, message }) => ErrorOccurred {
            code: code.clone(),
            message: message.clone(),
            recoverable: true,
        }
        .into(),
        ActionBody::CheckAnswer(check) => people::verdict(random, check.attempt).into(),
        ActionBody::Cancel(_) => return None,
        of_agents => panic!("these sessions have one agent: {of_agents:?}"),
    };
    let mut draft = EventDraft::new(Source::System, Some(action.agent_state_id.clone()), event);
    draft.run_id = action.run_id.clone();
    draft.cause = Some(action.action_id.clone());
    Some(draft)
}
