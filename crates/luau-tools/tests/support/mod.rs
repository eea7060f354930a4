//! A host for tests: answers from a function, keeps the requests, and can delay answers or return recorded
//! ones.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test file uses its part; a test may panic"
)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentx_luau_tools::{
    BoxFuture, EffectError, EffectKind, Host, HostEffect, Libraries, Outcome, Script, ScriptError,
    ScriptLimits,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

type Answer = dyn Fn(&HostEffect) -> Outcome + Send + Sync;

/// Answers at once, by a function; sleeps are real.
pub(crate) struct Answers {
    answer: Box<Answer>,
    pub(crate) asked: Mutex<Vec<HostEffect>>,
}

impl Answers {
    pub(crate) fn new(answer: impl Fn(&HostEffect) -> Outcome + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            answer: Box::new(answer),
            asked: Mutex::default(),
        })
    }

    /// `kind request` of every request.
    pub(crate) fn log(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        asked
            .iter()
            .map(|effect| format!("{} {}", effect.kind, effect.request))
            .collect()
    }
}

impl Host for Answers {
    fn perform(&self, effect: HostEffect) -> BoxFuture<'static, Outcome> {
        self.asked.lock().unwrap().push(effect.clone());
        if effect.kind == EffectKind::Sleep {
            let ms = effect.request["ms"].as_u64().unwrap_or(0);
            return Box::pin(async move {
                let never = std::future::pending::<()>();
                let _ = tokio::time::timeout(Duration::from_millis(ms), never).await;
                Ok(Value::Null)
            });
        }
        let outcome = (self.answer)(&effect);
        Box::pin(async move { outcome })
    }

    fn observe(&self, effect: HostEffect, seen: BoxFuture<'static, Value>) -> BoxFuture<'static, Outcome> {
        self.asked.lock().unwrap().push(effect);
        Box::pin(async move { Ok(seen.await) })
    }
}

/// Returns the outcome of an effect on the test host: models echo, `kv` and `cache` are empty, hosts are
/// those of the test.
pub(crate) fn world(effect: &HostEffect) -> Outcome {
    let request = &effect.request;
    let text = |key: &str| request[key].as_str().unwrap_or_default().to_owned();
    Ok(match effect.kind {
        EffectKind::Generate => json!(format!("{}: {}", text("model"), text("prompt"))),
        EffectKind::GenerateJson => json!({"answer": text("prompt")}),
        EffectKind::Http if text("url").contains("denied") => {
            return Err(EffectError::new(
                "denied",
                format!("{} is not allowed", text("url")),
            ));
        }
        EffectKind::Http => {
            json!({"status": 200, "headers": {"x": "y"}, "body": json!({"temp": 21, "asked": request}).to_string()})
        }
        EffectKind::AgentCreate => json!({"agent": format!("agt_{}", effect.step)}),
        EffectKind::AgentCollect => json!(" {\"a\": [1, 2]} "),
        EffectKind::AgentNext | EffectKind::StreamRecv | EffectKind::Recv => Value::Null,
        EffectKind::GenerateStream | EffectKind::StreamOpen => json!({"stream": effect.step}),
        EffectKind::StateGet => json!({"count": 1, "list": ["a"], "gone": true}),
        EffectKind::Invoke => json!({"tool": text("tool"), "args": request["args"]}),
        EffectKind::Now => json!(1_700_000_000.5),
        EffectKind::Random => json!(42),
        EffectKind::Uuid => json!("00000000-0000-4000-8000-000000000001"),
        EffectKind::Env => json!(format!("value of {}", text("name"))),
        EffectKind::KvList => json!(["a", "b"]),
        EffectKind::HistoryRecent => json!([{"role": "user", "content": "hi"}]),
        EffectKind::MemoryGet => json!("a summary"),
        _ => Value::Null,
    })
}

pub(crate) fn script(source: &str) -> Script {
    Script::compile("test", source, Libraries::new()).unwrap()
}

/// Runs a script on the test host.
pub(crate) async fn run(source: &str, args: Value) -> (Result<Value, ScriptError>, Vec<String>) {
    let host = Answers::new(world);
    let result = script(source)
        .invoke(
            args,
            host.clone(),
            ScriptLimits::default(),
            CancellationToken::new(),
        )
        .await;
    let log = host.log();
    (result, log)
}

/// Returns the outcomes of an earlier run, and records requests that differ. A step without an outcome never
/// ends.
pub(crate) struct Replays {
    recorded: BTreeMap<u64, (EffectKind, Value, Outcome)>,
    differs: Mutex<Vec<String>>,
}

impl Replays {
    pub(crate) fn of(recorded: BTreeMap<u64, (EffectKind, Value, Outcome)>) -> Self {
        Self {
            recorded,
            differs: Mutex::default(),
        }
    }

    pub(crate) fn differs(&self) -> Vec<String> {
        self.differs.lock().unwrap().clone()
    }
}

impl Host for Replays {
    fn perform(&self, effect: HostEffect) -> BoxFuture<'static, Outcome> {
        let Some((kind, request, outcome)) = self.recorded.get(&effect.step).cloned() else {
            return Box::pin(std::future::pending());
        };
        if (kind, &request) != (effect.kind, &effect.request) {
            let note = format!(
                "step {}: {} {} is not {kind} {request}",
                effect.step, effect.kind, effect.request
            );
            self.differs.lock().unwrap().push(note);
        }
        Box::pin(async move { outcome })
    }

    fn observe(&self, effect: HostEffect, _: BoxFuture<'static, Value>) -> BoxFuture<'static, Outcome> {
        self.perform(effect)
    }
}
