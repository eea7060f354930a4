//! Two ways on from one point: a fork costs nothing, whatever came before it, and both continue by
//! themselves.

use agentx::AgentError;

#[tokio::main]
async fn main() -> Result<(), AgentError> {
    let agent = agentx::agent("You plan a journey.")
        .model("scripted")
        .start()
        .await?;
    println!("{}", agent.ask("say we meet in Lyon").await?);
    let crossroads = agent.seq().await?;
    println!("here: {}", agent.ask("say then north").await?);
    let other = agent.fork_at(crossroads).await?;
    println!("there: {}", other.ask("say then south").await?);
    println!("there: {}", other.ask("say then the sea").await?);
    for (name, agent) in [("here", &agent), ("there", &other)] {
        let info = agent.runtime().info(agent.id()).await?;
        println!(
            "{name}: {} messages, forked: {}",
            info.messages,
            info.parent.is_some()
        );
    }
    Ok(())
}
