//! Three reactors that come while an agent runs: one brings a tool, one answers in the place of the model,
//! one only watches.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agentx::bus::{BusDelivery, Filter, Listener, Queue};
use agentx::runtime::{SystemBus, ToolEnvironment};
use agentx::types::ModelRequest;
use agentx::{AgentError, AnswerSink, IntoTool as _, Provider, ProviderError};

/// Says when the next train leaves.
#[agentx::tool(idempotent)]
async fn next_train(
    /// The destination.
    to: String,
) -> Result<String, String> {
    Ok(format!("The next train to {to} leaves at 10:04."))
}

/// A model of the program's own, for agents whose model's provider is `scripted`.
struct Clerk;

impl Provider for Clerk {
    fn name(&self) -> &str {
        "scripted"
    }

    async fn answer(&self, _: &ModelRequest, says: &mut AnswerSink) -> Result<(), ProviderError> {
        says.text("The ticket office is closed.").await;
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), AgentError> {
    let agent = agentx::agent("You help travellers.")
        .model("scripted")
        .all_tools()
        .start()
        .await?;

    // It hears each call of a tool, and can change nothing.
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let filter = Filter::all().event_type("tool_completed");
    let watcher = Listener::new("watcher", filter, Queue::lag(64), move |_: SystemBus, heard| {
        let counted = counted.clone();
        async move {
            if let BusDelivery::Event(_) = heard {
                counted.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    let watcher = agent.attach(watcher).await?;

    // It brings a tool: the agent is notified of it before its next run.
    let trains = ToolEnvironment::new("trains", [next_train.into_tool()]);
    let trains = agent.attach(trains).await?;
    println!("{}", agent.ask("next train to Rome?").await?);

    // It answers in the place of the agent's model, until it is detached.
    let clerk = agent.attach(Clerk.into_environment()).await?;
    println!("{}", agent.ask("may I have a ticket?").await?);
    agent.detach(clerk, Duration::from_secs(5)).await;

    // It ends what it has; then the tool is gone.
    agent.detach(trains, Duration::from_secs(5)).await;
    agent.detach(watcher, Duration::from_secs(5)).await;
    println!("{} call of a tool was heard", calls.load(Ordering::Relaxed));
    Ok(())
}
