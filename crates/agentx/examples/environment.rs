//! An active environment: a sensor whose words begin a run of the agent.

use agentx::bus::{Reactor, ReactorFailure, ReactorTask};
use agentx::runtime::SystemBus;
use agentx::types::{ContentPart, InputMode, RuntimeEvent};
use agentx::{AgentError, Delivery, View};

/// Says once that it rains.
struct RainSensor;

impl Reactor<SystemBus> for RainSensor {
    fn name(&self) -> &str {
        "rain sensor"
    }

    async fn start(&mut self, bus: SystemBus) -> Result<ReactorTask, ReactorFailure> {
        let ingress = bus.ingress("rain-sensor");
        let ingress = ingress.map_err(|error| ReactorFailure(error.to_string()))?;
        Ok(ReactorTask::new(async move {
            for session in ingress.sessions() {
                let words = vec![ContentPart::text("It begins to rain.")];
                let said = ingress.send(&session, words, InputMode::Queue).await;
                said.map_err(|error| ReactorFailure(error.to_string()))?;
            }
            Ok(())
        }))
    }
}

#[tokio::main]
async fn main() -> Result<(), AgentError> {
    let agent = agentx::agent("You look after a house.")
        .scripted(["I close the windows."])
        .start()
        .await?;
    agent.attach(RainSensor).await?;
    // Nobody asked, so what the agent says is heard in its session.
    let mut events = agent.session().subscribe(0, View::Runtime).await?;
    while let Some(delivery) = events.next().await {
        if let Delivery::Runtime(event) = delivery
            && let RuntimeEvent::TurnResponse(turn) = &event.event
        {
            println!("{}", turn.text);
            break;
        }
    }
    Ok(())
}
