//! An agent with a tool. The offline demo answers; a model does with its name and `.api_key(..)` in the place
//! of `"scripted"`.

/// Says what the weather is like in a city.
#[agentx::tool]
async fn weather(#[arg("The city.")] city: String) -> Result<String, String> {
    Ok(format!("It is sunny in {city}."))
}

#[tokio::main]
async fn main() -> Result<(), agentx::AgentError> {
    let agent = agentx::agent("You help.").model("scripted").tool(weather);
    let agent = agent.start().await?;
    agent.ask("Weather in Rome?").await.map(|a| println!("{a}"))
}
