//! A call that waits for others takes no slot: even if as many calls wait as there are slots, other calls
//! still run.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::sync::Arc;
use std::time::Duration;

use agentx_node_runtime::ToolEffector;
use agentx_runtime::{BoxFuture, CallSlots, Effector, Tool, ToolContext, ToolOutcome};
use agentx_testing::{FaultyLog, fixture, start};
use agentx_tools::Toolbox;
use agentx_types::{Access, ToolSpec};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// The maximum time of the test.
const LIMIT: Duration = Duration::from_secs(20);

/// Reports its work and whether it waits for others.
struct Told {
    waits: bool,
    done: Arc<Semaphore>,
}

impl Tool for Told {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new(
            if self.waits { "flow" } else { "leaf" }.to_owned(),
            "",
            json!({"type": "object"}),
            Access::Internal,
        )
    }

    fn call(&self, _input: Value, _context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        let (waits, done) = (self.waits, self.done.clone());
        Box::pin(async move {
            if waits {
                done.acquire().await.unwrap().forget();
            } else {
                done.add_permits(1);
            }
            ToolOutcome::success("done")
        })
    }

    fn waits(&self) -> bool {
        self.waits
    }
}

#[tokio::test]
async fn calls_that_wait_leave_the_places_to_what_they_wait_for() {
    let done = Arc::new(Semaphore::new(0));
    let mut tools = Toolbox::default();
    for waits in [true, false] {
        let done = done.clone();
        tools.register(Arc::new(Told { waits, done })).unwrap();
    }
    let effector: Arc<dyn Effector> =
        Arc::new(ToolEffector::new(tools, Arc::new(FaultyLog::new())).with_slots(CallSlots::new(2)));
    let begin = |name: &'static str| {
        let effector = &effector;
        (0..3).map(move |_| start(&**effector, fixture::call_tool("call_1", name, json!({}))))
    };
    let flows: Vec<_> = begin("flow").collect();
    tokio::task::yield_now().await;
    let leaves: Vec<_> = begin("leaf").collect();
    let all = async {
        for performance in leaves.into_iter().chain(flows) {
            assert_eq!(performance.finish().await.tags(), ["tool_result"]);
        }
    };
    tokio::time::timeout(LIMIT, all).await.expect("in time");
}

#[tokio::test]
async fn who_has_a_part_of_the_places_leaves_the_rest_to_others() {
    let waits = false;
    let all = CallSlots::new(3);
    let part = all.part(1);
    let one = part.take(waits).await;
    tokio::select! {
        biased;
        _ = part.take(waits) => panic!("there is one place for these calls"),
        () = std::future::ready(()) => {}
    }
    let others = [all.take(waits).await, all.part(1).take(waits).await];
    drop(one);
    let again = part.take(waits).await;
    drop((others, again));
}
