//! Combines the events of a stream into one complete answer, with its usage and the reason of its end. The
//! command `agentx debug decode` and tests use it. The [`Assembler`] assembles the message, as everywhere.

use agentx_types::{Assembler, EnvironmentEvent, Message, MessageId, Role, StopReason, Usage};

/// A complete answer, as [`AnswerRecorder::finish`] returns it.
#[derive(Clone, Debug, PartialEq)]
pub struct Accumulated {
    /// The answer as a message of the assistant, with thinking, text and tool calls in the order in which
    /// they came.
    pub message: Message,
    /// The id of the model that answered, as the provider named it.
    pub model: String,
    /// The reason why the answer ended; [`StopReason::Broken`] if the stream gave none.
    pub stop_reason: StopReason,
    /// The provider's own word for the reason, if it is more precise than `stop_reason`.
    pub raw: Option<String>,
    /// The tokens of the call and its cost; zero if the provider reported none.
    pub usage: Usage,
}

/// Records one answer from its events, in their order. Events that do not belong to the stream of a model are
/// ignored.
///
/// ```
/// use agentx_llm::AnswerRecorder;
/// use agentx_types::{StopReason, StreamEnd, StreamStart, TextChunk};
///
/// let mut answer = AnswerRecorder::default();
/// answer.push(&StreamStart { message_id: "msg_1".into(), model: "m".into(), attempt: 1 }.into());
/// answer.push(&TextChunk { text: "Hel".into() }.into());
/// answer.push(&TextChunk { text: "lo".into() }.into());
/// answer.push(&StreamEnd { stop_reason: StopReason::EndTurn, raw: None }.into());
/// assert_eq!(answer.finish().map(|whole| whole.message.text()), Some("Hello".to_owned()));
/// assert!(AnswerRecorder::default().finish().is_none(), "where nothing began there is no answer");
/// ```
#[derive(Clone, Debug, Default)]
pub struct AnswerRecorder {
    assembler: Assembler,
    began: Option<AnswerStart>,
    end: Option<(StopReason, Option<String>)>,
}

/// The data of an answer that are known when it begins.
#[derive(Clone, Debug)]
struct AnswerStart {
    message_id: MessageId,
    model: String,
}

impl AnswerRecorder {
    /// Applies the next event of the stream.
    pub fn push(&mut self, event: &EnvironmentEvent) {
        match event {
            EnvironmentEvent::StreamStart(start) => {
                self.began = Some(AnswerStart {
                    message_id: start.message_id.clone(),
                    model: start.model.clone(),
                });
            }
            EnvironmentEvent::ModelFellBack(fallback) => {
                if let Some(began) = &mut self.began {
                    began.model.clone_from(&fallback.model);
                }
            }
            EnvironmentEvent::StreamEnd(end) => self.end = Some((end.stop_reason, end.raw.clone())),
            _ => {}
        }
        self.assembler.feed(event);
    }

    /// Returns the answer as far as it came; `None` if no answer began.
    pub fn finish(mut self) -> Option<Accumulated> {
        let AnswerStart { message_id, model } = self.began?;
        let answer = self.assembler.finish_verbatim();
        let (stop_reason, raw) = self.end.unwrap_or((StopReason::Broken, None));
        let message = answer.message.unwrap_or_else(|| Message {
            message_id,
            role: Role::Assistant,
            content: Vec::new(),
            by: None,
        });
        Some(Accumulated {
            message,
            model,
            stop_reason,
            raw,
            usage: answer.usage,
        })
    }
}
