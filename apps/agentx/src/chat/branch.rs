//! Going back in a conversation, and trying another way: both make a fork, so nothing is ever lost.

use agentx::runtime::{Delivery, OpenRequest, View};
use agentx::types::RuntimeEvent;

use super::desk::Desk;
use super::{Chat, Seat};
use crate::error::CliError;
use crate::follow::Follower;
use crate::render::clean::visible;
use crate::render::conversation;
use crate::render::table::cut;
use crate::seat;

/// So many inputs are listed to go back to.
const LISTED: usize = 12;

/// Something that the person said.
struct Said {
    seq: u64,
    text: String,
}

impl Chat<'_> {
    /// Goes on in a copy of the session, whole or up to an event.
    pub(super) async fn fork(&mut self, at: Option<u64>) -> Result<String, CliError> {
        let Seat::Open { session, .. } = &self.seat else {
            return Ok("there is nothing to fork yet".to_owned());
        };
        if self.desk.is_busy() {
            return Ok("stop what runs first (Esc); then /fork".to_owned());
        }
        let parent = session.id().clone();
        let runtime = self.place.shared();
        let fork = self
            .wait_for(async { runtime.fork(&parent, at).await })
            .await
            .map_err(|error| about(error, at))?;
        let opened = self
            .wait_for(async { runtime.open(OpenRequest::Resume(fork.clone(), Vec::new())).await })
            .await?;
        let state = opened.state().await?;
        let events = Follower::new(opened.clone(), state.last_seq, View::Runtime).await?;
        self.company.join(opened.id()).await?;
        let before = std::mem::replace(
            &mut self.seat,
            Seat::Open {
                session: opened,
                events,
            },
        );
        if let Seat::Open { session, .. } = before {
            seat::leave(self.place, session.as_ref()).await;
        }
        self.desk = Desk::of(&state);
        self.progress.stands(&state);
        Ok(format!(
            "you are in {fork} now, a copy of {parent}{}",
            at.map(|at| format!(" up to event {at}")).unwrap_or_default()
        ))
    }

    /// Goes back to before something that was said, which can then be said otherwise; without a number, lists what was.
    pub(super) async fn rewind(&mut self, number: Option<usize>) -> Result<String, CliError> {
        let said = self.said_so_far().await?;
        if said.is_empty() {
            return Ok("nothing was said yet".to_owned());
        }
        let Some(number) = number else {
            let first = said.len().saturating_sub(LISTED);
            let width = self.console.terminal.width.saturating_sub(6);
            let lines = said.iter().enumerate().skip(first);
            let lines =
                lines.map(|(i, said)| format!("{:>3}  {}\n", i + 1, cut(&visible(&said.text), width)));
            let list: String = lines.collect();
            return Ok(format!(
                "{list}/rewind N goes back to before one of them; files stay as they are"
            ));
        };
        let Some(target) = number.checked_sub(1).and_then(|i| said.get(i)) else {
            return Ok(format!(
                "there is no input {number}; there are 1 to {}",
                said.len()
            ));
        };
        let left = said.len() - number;
        let told = self.fork(Some(target.seq.saturating_sub(1))).await?;
        self.editor.clear();
        self.editor.paste(&target.text);
        let later = match left {
            0 => String::new(),
            1 => " One later input is left behind with it.".to_owned(),
            n => format!(" {n} later inputs are left behind with it."),
        };
        Ok(format!(
            "back to before input {number}: {told}.{later} Files stay as they are."
        ))
    }

    /// What the person said in this session, in order.
    async fn said_so_far(&mut self) -> Result<Vec<Said>, CliError> {
        let Seat::Open { session, .. } = &self.seat else {
            return Ok(Vec::new());
        };
        let mut events = Follower::new(session.clone(), 0, View::Runtime).await?;
        let mut said = Vec::new();
        while let Some(delivery) = events.next().await? {
            match delivery {
                Delivery::Runtime(envelope) => {
                    if let RuntimeEvent::UserMessageAdded(added) = &envelope.event {
                        said.push(Said {
                            seq: envelope.seq,
                            text: conversation::words(&added.message),
                        });
                    }
                }
                Delivery::CaughtUp(_) => break,
                Delivery::Environment(_) | Delivery::CutOff(_) => {}
            }
        }
        Ok(said)
    }
}

fn about(error: CliError, at: Option<u64>) -> CliError {
    match error {
        CliError::Runtime(error) => {
            CliError::about_event(error, at, "name one of its events, or none for all of it")
        }
        other => other,
    }
}
