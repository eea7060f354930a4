//! An agent with a tool. Without a key the offline demo answers; with one (`ANTHROPIC_API_KEY`, …) a model does.

/// Says what the weather is like in a city.
#[agentx::tool]
async fn weather(#[arg("The city.")] city: String) -> Result<String, String> {
    Ok(format!("It is sunny in {city}."))
}

#[tokio::main]
async fn main() -> Result<(), agentx::AgentError> {
    let agent = agentx::agent("You help.").tool(weather).start().await?;
    agent.ask("Weather in Rome?").await.map(|a| println!("{a}"))
}
