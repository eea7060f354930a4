//! Analyzers of risk through the driver: whatever happens to one, there is one verdict, and the call is
//! decided.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use agentx_runtime::{
    AnalyzerAnswer, AnalyzerResponder, BoxFuture, CallToAssess, Effector, EventSink, ModelJudge,
    RulesAnalyzer, SecurityAnalyzer, UserInput,
};
use agentx_testing::{MemoryWorld, ModelScript, ScriptedModel, fixture, run_ended};
use agentx_types::{
    Action, ActionKind, AgentConfig, AnalyzerSpec, ApprovalMode, EnvironmentEvent, JudgeDecision,
    RiskAssessed, RiskVerdict, Rule, RuleEffect, RunStatus, SecurityRisk, SecuritySettings, ToolStatus,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// An agent that asks nobody, may write, and has one analyzer with this time limit.
fn config(timeout_ms: u64) -> AgentConfig {
    let mut analyzer = AnalyzerSpec::new("gate");
    analyzer.timeout_ms = timeout_ms;
    analyzer.model = Some(Box::new(fixture::config().model));
    AgentConfig {
        approval: ApprovalMode::Deny,
        rules: vec![Rule {
            effect: RuleEffect::Allow,
            tool: "write".into(),
            argument: None,
            path: None,
            workspace: None,
            origin: None,
        }],
        security: Some(Box::new(SecuritySettings {
            analyzers: vec![analyzer],
            ..SecuritySettings::default()
        })),
        ..fixture::config()
    }
}

/// Has a call assessed by this responder, if there is one; returns the verdict and the status of the call.
async fn assessed(timeout_ms: u64, responder: Option<Arc<dyn Effector>>) -> (RiskAssessed, ToolStatus) {
    let call = ModelScript::call("call_1", "write", json!({"path": "a"}));
    let mut world = MemoryWorld::new([call, ModelScript::text("done")]);
    if let Some(responder) = responder {
        world = world.with_effector(ActionKind::AssessRisk, responder);
    }
    let session = world.open_new(config(timeout_ms)).await;
    let seq = session.send(UserInput::text("go")).await.unwrap();
    assert_eq!(run_ended(&*session, seq - 1).await, RunStatus::Completed);
    let (mut verdicts, mut statuses) = (Vec::new(), Vec::new());
    for fact in world.facts() {
        match fact {
            EnvironmentEvent::RiskAssessed(said) => verdicts.push(said),
            EnvironmentEvent::ToolResult(result) => {
                assert!(!verdicts.is_empty(), "the verdict comes first");
                statuses.push(result.status);
            }
            _ => {}
        }
    }
    assert_eq!((verdicts.len(), statuses.len()), (1, 1));
    (verdicts.remove(0), statuses[0])
}

/// A responder that does not answer as it should.
enum Faulty {
    Hangs,
    Ends,
    Panics,
    AnswersForAnotherCall,
}

impl Effector for Faulty {
    fn perform(&self, _: Arc<Action>, events: EventSink, _: CancellationToken) -> BoxFuture<'static, ()> {
        match self {
            Self::Hangs => Box::pin(std::future::pending()),
            Self::Ends => Box::pin(std::future::ready(())),
            Self::Panics => Box::pin(async { panic!("made up") }),
            Self::AnswersForAnotherCall => Box::pin(async move {
                let mut verdict = RiskVerdict::unknown("gate", "made up");
                verdict.risk = SecurityRisk::Low;
                assert!(
                    !events
                        .emit(RiskAssessed::of("call_2".into(), verdict, None))
                        .await
                );
            }),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_or_failing_analyzer_gives_an_unknown_risk_within_its_limit() {
    let faulty = |fault: Faulty| -> Option<Arc<dyn Effector>> { Some(Arc::new(fault)) };
    for responder in [
        None,
        faulty(Faulty::Hangs),
        faulty(Faulty::Ends),
        faulty(Faulty::Panics),
        faulty(Faulty::AnswersForAnotherCall),
    ] {
        let (verdict, status) = assessed(20, responder).await;
        assert_eq!(
            (verdict.risk, verdict.decision),
            (SecurityRisk::Unknown, None),
            "{verdict:?}"
        );
        assert_eq!(
            status,
            ToolStatus::Denied,
            "an unknown risk is asked about, and nobody is there"
        );
    }
}

/// An analyzer that never answers.
struct NeverAnswers;

impl SecurityAnalyzer for NeverAnswers {
    fn assess(&self, _: CallToAssess) -> BoxFuture<'static, AnalyzerAnswer> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn an_analyzer_without_an_answer_says_so_itself() {
    let responder = AnalyzerResponder::new(Arc::new(NeverAnswers));
    let (verdict, _) = assessed(20, Some(Arc::new(responder))).await;
    assert_eq!(
        (verdict.risk, verdict.reason.as_str()),
        (SecurityRisk::Unknown, "no verdict within 20ms")
    );
}

#[tokio::test]
async fn the_built_in_analyzer_answers_and_the_call_is_made() {
    let responder = AnalyzerResponder::new(Arc::new(RulesAnalyzer));
    let (verdict, status) = assessed(30_000, Some(Arc::new(responder))).await;
    assert_eq!(verdict.risk, SecurityRisk::Low, "{verdict:?}");
    assert_eq!(
        status,
        ToolStatus::Failed,
        "it reached a tool that nobody serves here"
    );
}

#[tokio::test]
async fn a_judge_decides_and_its_cost_is_in_the_log() {
    use JudgeDecision::{Allow, Refuse};
    use SecurityRisk::{High, Low, Unknown};
    for (answer, risk, decision, status) in [
        (
            r#"{"risk": "low", "decision": "allow", "reason": "r"}"#,
            Low,
            Some(Allow),
            ToolStatus::Failed,
        ),
        (
            r#"{"risk": "high", "decision": "refuse", "reason": "r"}"#,
            High,
            Some(Refuse),
            ToolStatus::Denied,
        ),
        ("Yes, go ahead.", Unknown, None, ToolStatus::Denied),
    ] {
        let models = ScriptedModel::new([ModelScript::text(answer)]);
        let judge = AnalyzerResponder::new(Arc::new(ModelJudge::new(Arc::new(models))));
        let (verdict, decided) = assessed(30_000, Some(Arc::new(judge))).await;
        assert_eq!(
            (verdict.risk, verdict.decision, decided),
            (risk, decision, status),
            "{answer}"
        );
        let bill = verdict.bill.unwrap();
        assert_eq!((bill.usage.input_tokens, bill.usage.output_tokens), (10, 5));
    }
}

#[tokio::test]
async fn a_judge_whose_model_fails_knows_nothing() {
    let models = ScriptedModel::new([ModelScript::error("server_error", "it is down")]);
    let judge = AnalyzerResponder::new(Arc::new(ModelJudge::new(Arc::new(models))));
    let (verdict, _) = assessed(30_000, Some(Arc::new(judge))).await;
    assert_eq!(verdict.risk, SecurityRisk::Unknown);
    assert!(verdict.reason.contains("it is down"), "{verdict:?}");
}
