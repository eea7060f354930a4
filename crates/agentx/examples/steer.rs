//! A word in mid-run: the model reads it before its next answer, and the work so far is kept.

use agentx::{AgentError, Update};

/// Looks up how a book begins.
#[agentx::tool(idempotent)]
async fn first_line(
    /// Its title.
    title: String,
) -> Result<String, String> {
    Ok(format!("“Call me the first line of {title}.”"))
}

#[tokio::main]
async fn main() -> Result<(), AgentError> {
    let agent = agentx::agent("You know books.")
        .model("scripted")
        .tool(first_line)
        .start()
        .await?;
    let mut answer = agent.stream("Find the first line of Moby-Dick").await?;
    while let Some(update) = answer.next().await {
        match update? {
            Update::ToolStarted { name, input, .. } => {
                println!("{name} {input}");
                if input["title"] == "Moby-Dick" {
                    agent.steer("No, the first line of Emma").await?;
                }
            }
            Update::Answered(answer) => println!("{answer}"),
            _ => {}
        }
    }
    Ok(())
}
