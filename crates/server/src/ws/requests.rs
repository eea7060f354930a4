//! The requests of an authenticated connection.

use agentx_runtime::{EventCursor, RuntimeError};
use agentx_types::wire::{ClientRequest, Problem, Subscribe, Subscribed, Unsubscribe, WireView};
use agentx_types::{SessionId, UiCommandResult, UiConnectionState, UiResult, UiToolStatus};
use serde_json::Value;

use super::frames::{accepted, ui_frame};
use super::read_half::SocketReader;
use super::writer_task::{ClientSubscription, WriterTask};
use crate::actions::session_actions::to_problem;
use crate::auth::caller::Caller;
use crate::feed::SubscriptionFilter;
use crate::problems::problem;

/// The `seq` of the resulting event, and the outcome.
type RequestDone = (Option<u64>, Value);

impl SocketReader {
    /// Carries out a request. `None` if it was already answered.
    ///
    /// # Errors
    /// Returns the problem for the client.
    pub(super) async fn carry_out(
        &mut self,
        caller: &Caller,
        id: &str,
        request: ClientRequest,
    ) -> Result<Option<RequestDone>, Box<Problem>> {
        let state = self.shared.state.clone();
        let seq = |answer: Result<u64, RuntimeError>| match answer {
            Ok(seq) => Ok(Some((Some(seq), Value::Null))),
            Err(error) => Err(to_problem(&error)),
        };
        match request {
            ClientRequest::Subscribe(wanted) => self.subscribe(caller, id, wanted).await.map(|()| None),
            ClientRequest::Unsubscribe(unwanted) => self.unsubscribe(&unwanted).map(Some),
            ClientRequest::UserInputFrame(frame) => seq(state.say(caller, frame).await),
            ClientRequest::ApprovalFrame(frame) => seq(state.approve(caller, frame).await),
            ClientRequest::InterruptFrame(frame) => seq(state.interrupt(caller, frame).await),
            ClientRequest::CommandFrame(frame) => {
                let (session, command) = (frame.session_id.clone(), frame.command.clone());
                let done = state.command(caller, frame).await;
                let done = done.map(Some).map_err(|error| to_problem(&error));
                self.command_result(&session, command, &done);
                done
            }
            ClientRequest::WheelFrame(frame) => match state.wheel(caller, frame).await {
                Ok((seq, wheel)) => {
                    let now = serde_json::to_value(&wheel).unwrap_or_default();
                    Ok(Some((seq, now.get("payload").cloned().unwrap_or_default())))
                }
                Err(error) => Err(to_problem(&error)),
            },
            ClientRequest::Authenticate(_) | ClientRequest::Ping(_) | ClientRequest::Unknown(_) => {
                Err(problem("bad_frame", "not allowed here"))
            }
        }
    }

    async fn subscribe(&self, caller: &Caller, id: &str, wanted: Subscribe) -> Result<(), Box<Problem>> {
        let Subscribe {
            session_id,
            after_seq,
            view,
            agents,
            media,
        } = wanted;
        let only = SubscriptionFilter::of(agents, media)?;
        self.may_subscribe(&session_id)?;
        let state = &self.shared.state;
        let following = state
            .follow(
                caller,
                &session_id,
                (EventCursor::after(after_seq), view, only),
                None,
            )
            .await
            .map_err(|error| to_problem(&error))?;
        self.shared.subscriptions().insert(session_id.clone(), view);
        let outbox = &self.shared.outbox;
        outbox.notice(
            &Subscribed {
                session_id: session_id.clone(),
                view,
                after_seq,
                head_seq: following.reader.start().head,
                role: following.role,
            }
            .into(),
        );
        outbox.notice(&accepted(id.to_owned(), None, Value::Null));
        if view == WireView::Ui {
            let visitor = caller.visitor;
            outbox.text(ui_frame(&session_id, &UiConnectionState { visitor }.into()));
        }
        outbox.notice(&following.membership.room().wheel_notice());
        following.membership.listen(outbox.clone());
        outbox.task(WriterTask::Attach(Box::new(ClientSubscription {
            session: session_id,
            reader: following.reader,
            membership: following.membership,
        })));
        Ok(())
    }

    fn may_subscribe(&self, session: &SessionId) -> Result<(), Box<Problem>> {
        let subscriptions = self.shared.subscriptions();
        if subscriptions.contains_key(session) {
            let what = "this connection is already subscribed to this session; unsubscribe first";
            return Err(problem("refused", what));
        }
        let limit = self.shared.state.options().limits.subscriptions;
        if subscriptions.len() >= limit {
            let what = format!("a connection has at most {limit} subscriptions");
            return Err(problem("too_many", &what));
        }
        Ok(())
    }

    fn unsubscribe(&self, unwanted: &Unsubscribe) -> Result<RequestDone, Box<Problem>> {
        let session = &unwanted.session_id;
        if self.shared.subscriptions().remove(session).is_none() {
            let what = "this connection is not subscribed to this session";
            return Err(problem("refused", what));
        }
        self.shared.outbox.task(WriterTask::Detach(session.clone()));
        Ok((None, Value::Null))
    }

    /// Sends the outcome of a command as an event too, for simple clients.
    fn command_result(
        &self,
        session: &SessionId,
        command: String,
        done: &Result<Option<RequestDone>, Box<Problem>>,
    ) {
        if self.shared.subscriptions().get(session) != Some(&WireView::Ui) {
            return;
        }
        let (status, message) = match done {
            Ok(_) => (UiToolStatus::Success, "done".to_owned()),
            Err(problem) => (UiToolStatus::Error, problem.detail.clone()),
        };
        let came = done.as_ref().ok().and_then(Option::as_ref);
        let result = UiResult {
            status,
            message,
            data: came
                .map(|(_, value)| value.clone())
                .filter(|value| !value.is_null()),
        };
        let event = UiCommandResult { command, result }.into();
        self.shared.outbox.text(ui_frame(session, &event));
    }
}
