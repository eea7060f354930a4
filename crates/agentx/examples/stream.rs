//! An answer as it arrives: words, and the work of tools. Two calls in one answer run concurrently.

use std::io::Write as _;

use agentx::{AgentError, Update};

/// Says what time it is in a city.
#[agentx::tool(name = "local-time", idempotent)]
async fn local_time(
    /// The city.
    city: String,
    /// Whether to say it as 24 hours.
    #[arg(default = true)]
    hours24: bool,
) -> Result<String, String> {
    let time = if hours24 { "18:30" } else { "6:30 pm" };
    Ok(format!("{time} in {city}"))
}

#[tokio::main]
async fn main() -> Result<(), AgentError> {
    let agent = agentx::agent("You know the time.")
        .model("scripted")
        .tool(local_time)
        .start()
        .await?;
    let mut answer = agent.stream("local time in Paris and local time in Rome").await?;
    while let Some(update) = answer.next().await {
        match update? {
            Update::Text(words) => {
                print!("{words}");
                std::io::stdout().flush()?;
            }
            Update::ToolStarted { name, input, .. } => println!("\n→ {name} {input}"),
            Update::ToolEnded { text, status, .. } => println!("← {status:?}: {text}"),
            Update::Answered(answer) => println!("\n({} model calls)", answer.model_calls),
            _ => {}
        }
    }
    Ok(())
}
