//! A call of a tool from a file: its effects, its record, and its end.

use std::sync::Arc;

use agentx_luau_tools::{EffectError, EffectKind, Host, HostEffect, Outcome};
use agentx_runtime::{ToolContext, ToolOutcome};
use agentx_types::ToolStatus;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::grants::Grants;
use crate::record::{Divergence, RecordFinish, RecordingHost};
use crate::secrets::Secrets;
use crate::world::{
    CallOrigin, CallPermits, CallStreams, CallWorld, Children, FileToolCall, Network, ToolsShared, end_all,
};

/// The parts that all calls of one tool share.
pub(super) struct SharedToolParts {
    pub(super) name: String,
    /// Another hash is another tool: a call that it began cannot continue with this one.
    pub(super) hash: String,
    pub(super) grants: Arc<Grants>,
    pub(super) network: Arc<Network>,
    pub(super) shared: Arc<ToolsShared>,
    pub(super) origin: CallOrigin,
}

/// A call that runs.
pub(super) struct RunningTool {
    pub(super) host: RecordingHost<CallWorld>,
    /// Fires when the run must not continue.
    pub(super) stop: CancellationToken,
    secrets: Secrets,
    finish: RecordFinish,
    step: u64,
}

impl SharedToolParts {
    /// Begins a call, or continues with one.
    pub(super) fn begin(self: &Arc<Self>, context: &ToolContext) -> Result<RunningTool, ToolOutcome> {
        self.begin_with(context, None)
    }

    /// Begins a call with one more secret: another form in which a secret is sent.
    pub(super) fn begin_with(
        self: &Arc<Self>,
        context: &ToolContext,
        more: Option<(String, String)>,
    ) -> Result<RunningTool, ToolOutcome> {
        let stop = context.cancel.child_token();
        let known = &self.shared.parts.known;
        let values = self
            .grants
            .env
            .iter()
            .filter_map(|name| Some((name.clone(), known.env(name)?)));
        let secrets = Secrets::new(values.chain(more));
        let opened = RecordingHost::open(
            context.journal.clone(),
            secrets.clone(),
            &self.hash,
            stop.clone(),
            |recorder| CallWorld {
                call: Arc::new(FileToolCall {
                    tool: self.name.clone(),
                    shared: self.shared.clone(),
                    grants: self.grants.clone(),
                    network: self.network.clone(),
                    context: context.clone(),
                    stop: stop.clone(),
                    recorder: recorder.clone(),
                    streams: CallStreams::default(),
                    children: Children::default(),
                    origin: self.origin.clone(),
                    permits: CallPermits::default(),
                }),
            },
        );
        let (host, finish) = opened.map_err(|divergence| diverged(&divergence))?;
        Ok(RunningTool {
            host,
            stop,
            secrets,
            finish,
            step: 0,
        })
    }
}

impl RunningTool {
    /// Performs the next effect, for tools that are not scripts.
    pub(super) async fn perform(&mut self, kind: EffectKind, request: Value) -> Outcome {
        self.step += 1;
        let effect = HostEffect {
            step: self.step,
            kind,
            request,
            place: None,
        };
        tokio::select! {
            biased;
            () = self.stop.cancelled() => Err(EffectError::new("interrupted", "the call was stopped")),
            outcome = self.host.perform(effect) => outcome,
        }
    }

    /// Ends the call: ends everything that it created or still waits for, and completes its record.
    pub(super) async fn end(self, context: &ToolContext, came_to: Result<Value, ToolOutcome>) -> ToolOutcome {
        let cancelled = context.cancel.is_cancelled();
        let checked = match &came_to {
            Ok(_) if !cancelled => self.host.check_end(),
            _ => self
                .host
                .diverged()
                .map_or(Ok(()), |divergence| Err(Box::new(divergence))),
        };
        let call = self.host.world().call.clone();
        self.stop.cancel();
        call.streams.forget_all();
        if checked.is_ok() {
            end_all(&call, cancelled).await;
        }
        drop(self.host);
        drop(call);
        self.finish.flush().await;
        match (checked, came_to) {
            (Err(divergence), _) => diverged(&divergence),
            (Ok(()), Ok(value)) => self.secrets.success(&value),
            (Ok(()), Err(outcome)) => self.secrets.hidden(outcome),
        }
    }
}

impl Secrets {
    fn success(&self, value: &Value) -> ToolOutcome {
        match self.hide_all(value) {
            Value::String(text) => ToolOutcome::success(text),
            value => ToolOutcome::success(value.to_string()),
        }
    }

    fn hidden(&self, outcome: ToolOutcome) -> ToolOutcome {
        if self.is_empty() {
            return outcome;
        }
        let words: Vec<&str> = outcome.content.iter().filter_map(|part| part.as_text()).collect();
        ToolOutcome {
            details: outcome.details.as_ref().map(|details| self.hide_all(details)),
            ..ToolOutcome::failed(outcome.status, self.hide(&words.join("\n")))
        }
    }
}

/// Returns the outcome of a call that diverged from its record.
fn diverged(divergence: &Divergence) -> ToolOutcome {
    ToolOutcome::failed(ToolStatus::Failed, divergence.to_string()).with_details(divergence.to_value())
}

/// Returns the outcome of a call with a failed effect.
pub(super) fn failed(name: &str, error: &EffectError) -> ToolOutcome {
    let status = match error.code.as_str() {
        "interrupted" => ToolStatus::Interrupted,
        "denied" => ToolStatus::Denied,
        "timeout" => ToolStatus::TimedOut,
        _ => ToolStatus::Failed,
    };
    ToolOutcome::failed(status, format!("{name}: {error}")).with_details(json!({"code": error.code}))
}
