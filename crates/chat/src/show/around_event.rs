//! `agentx show ID --at SEQ`: the conversation around an event, such as one that a search has found.

use std::sync::Arc;

use agentx::runtime::{Delivery, Runtime, View};
use agentx::types::{Envelope, RuntimeEvent, SessionId};

use crate::error::ChatError;
use crate::exit::Exit;
use crate::place::Place;
use crate::render::conversation;
use crate::render::speakers::PastSpeakers;
use crate::terminal::console::Console;

/// The number of messages to show before and after the event.
const AROUND: usize = 3;

/// Columns of the number of its event.
const NUMBER: usize = 7;

/// Prints the message that the event belongs to, and those around it.
pub(super) async fn show(
    place: &Place,
    id: &SessionId,
    seq: u64,
    json: bool,
    console: &mut Console,
) -> Result<(), ChatError> {
    let runtime = place.runtime();
    let info = runtime.info(id).await?;
    let last = info.last_seq;
    if seq == 0 || seq > last {
        return Err(ChatError::usage(
            format!("{id} has events 1 to {last}; there is no event {seq}"),
            "`agentx sessions search WORDS` finds the events that contain words",
        ));
    }
    let style = console.out_style();
    let width = console.terminal.width.saturating_sub(NUMBER);
    let columns = console.terminal.output.then_some(width);
    let mut voices = PastSpeakers::default();
    let mut names = place.names_in(&info);
    let meet = |envelope: &Envelope<RuntimeEvent>| {
        voices.meet(envelope, style);
        names.meet_in(&envelope.event);
    };
    let messages = messages_around(runtime, id, seq, meet).await?;
    for message in messages {
        if json {
            console.out_json(&*message)?;
            continue;
        }
        let Some(text) = conversation::message(&message.event, &names, style, width) else {
            continue;
        };
        let text = voices.under_name(&message, text, columns);
        let text = text.replace('\n', &format!("\n{:NUMBER$}", ""));
        let text = text.trim_end_matches(' ');
        let number = format!("{:>1$} ", message.seq, NUMBER - 1);
        let number = if message.seq == seq {
            style.warn(&format!("▸{}", &number[1..]))
        } else {
            style.dim(&number)
        };
        console.out(&format!("{number}{text}"))?;
    }
    console.flush()
}

/// The messages around an event, as they were added.
async fn messages_around(
    runtime: &dyn Runtime,
    id: &SessionId,
    seq: u64,
    mut meet: impl FnMut(&Envelope<RuntimeEvent>),
) -> Result<Vec<Arc<Envelope<RuntimeEvent>>>, ChatError> {
    let mut subscription = runtime.watch(id, 0, View::Runtime, false).await?;
    let mut messages: Vec<Arc<Envelope<RuntimeEvent>>> = Vec::new();
    let mut after = 0;
    while let Some(delivery) = subscription.next().await {
        if let Delivery::Runtime(envelope) = &delivery {
            meet(envelope);
        }
        match delivery {
            Delivery::Runtime(envelope) if is_message(&envelope.event) => {
                if envelope.seq < seq && messages.len() > AROUND {
                    messages.remove(0);
                }
                after += usize::from(envelope.seq > seq);
                messages.push(envelope);
                if after > AROUND {
                    break;
                }
            }
            Delivery::CaughtUp(_) => break,
            Delivery::CutOff(message) => {
                return Err(ChatError::Run {
                    exit: Exit::Storage,
                    code: "cut_off".into(),
                    message: format!("cannot read {id}: {message}"),
                });
            }
            Delivery::Runtime(_) | Delivery::Environment(_) => {}
        }
    }
    Ok(messages)
}

fn is_message(event: &RuntimeEvent) -> bool {
    matches!(
        event,
        RuntimeEvent::UserMessageAdded(_)
            | RuntimeEvent::AssistantMessageAdded(_)
            | RuntimeEvent::ToolResultMessageAdded(_)
    )
}
