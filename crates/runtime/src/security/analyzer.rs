//! The trait of analyzers, and the effector that lets one answer requests within its time limit.

use std::sync::Arc;
use std::time::Duration;

use agentx_agent::security::assess_by_rules;
use agentx_types::{Action, ActionBody, AssessRisk, EffectBill, RiskAssessed, RiskVerdict, SessionId};
use tokio_util::sync::CancellationToken;

use crate::effects::effect::{Effector, EventSink};
use crate::future::BoxFuture;

/// The time in which an analyzer that was told to stop may still report its cost.
const GRACE: Duration = Duration::from_millis(500);

/// Assesses the risk of calls: by rules, by a model, by a program or a server.
///
/// An analyzer is attached as an [`Effector`] with [`AnalyzerResponder`], on the topic `security.requests`
/// with its name as the key. Its verdict is recorded as `risk_assessed` before the call is decided. It is a
/// claim: it can lead to a question or a refusal, and allows a call only if the person's own settings say so.
pub trait SecurityAnalyzer: Send + Sync {
    /// Assesses a call. When `call.cancel` fires, it ends soon; its verdict then counts only for its cost.
    fn assess(&self, call: CallToAssess) -> BoxFuture<'static, AnalyzerAnswer>;
}

/// A call to assess.
#[derive(Clone, Debug)]
pub struct CallToAssess {
    /// The action that asks, for analyzers that ask a model in its name.
    pub action: Arc<Action>,
    /// The request.
    pub request: AssessRisk,
    /// The session; `None` outside of one.
    pub session: Option<SessionId>,
    /// Fires when nobody waits for the verdict any more.
    pub cancel: CancellationToken,
}

/// The answer of an analyzer: its verdict, and its cost.
#[derive(Clone, Debug, PartialEq)]
pub struct AnalyzerAnswer {
    /// The verdict.
    pub verdict: RiskVerdict,
    /// The cost, if a model was asked.
    pub bill: Option<Box<EffectBill>>,
}

impl AnalyzerAnswer {
    /// An answer without a cost.
    pub fn free(verdict: RiskVerdict) -> Self {
        Self { verdict, bill: None }
    }
}

/// Lets an analyzer answer requests, each with one `risk_assessed`.
pub struct AnalyzerResponder {
    analyzer: Arc<dyn SecurityAnalyzer>,
}

impl AnalyzerResponder {
    /// A responder for `analyzer`.
    pub fn new(analyzer: Arc<dyn SecurityAnalyzer>) -> Self {
        Self { analyzer }
    }
}

impl Effector for AnalyzerResponder {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        let analyzer = Arc::clone(&self.analyzer);
        Box::pin(async move {
            let ActionBody::AssessRisk(request) = &action.body else {
                return;
            };
            let (call, limit) = (request.tool_call_id.clone(), request.analyzer.timeout_ms);
            let asked = CallToAssess {
                action: Arc::clone(&action),
                request: request.clone(),
                session: events.session_id().cloned(),
                cancel: cancel.child_token(),
            };
            let name = request.analyzer.name.clone();
            let answer = answer_within(Duration::from_millis(limit), name, asked, &*analyzer).await;
            events
                .emit(RiskAssessed::of(call, answer.verdict, answer.bill))
                .await;
        })
    }
}

/// Waits for an analyzer. After its time limit, or once nobody waits any more, it has to stop, and the
/// risk is unknown.
async fn answer_within(
    limit: Duration,
    name: String,
    call: CallToAssess,
    analyzer: &dyn SecurityAnalyzer,
) -> AnalyzerAnswer {
    let cancel = call.cancel.clone();
    let mut work = analyzer.assess(call);
    let reason = tokio::select! {
        biased;
        answer = &mut work => return answer,
        () = cancel.cancelled() => "stopped".to_owned(),
        () = tokio::time::sleep(limit) => format!("no verdict within {limit:?}"),
    };
    cancel.cancel();
    let late = tokio::time::timeout(GRACE, work).await.ok();
    AnalyzerAnswer {
        verdict: RiskVerdict::unknown(name, reason),
        bill: late.and_then(|answer| answer.bill),
    }
}

/// The built-in analyzer `rules`. It reads the call alone, so it always answers.
pub struct RulesAnalyzer;

impl SecurityAnalyzer for RulesAnalyzer {
    fn assess(&self, call: CallToAssess) -> BoxFuture<'static, AnalyzerAnswer> {
        let answer = AnalyzerAnswer::free(assess_by_rules(&call.request));
        Box::pin(std::future::ready(answer))
    }
}
