//! A test of an agent without a model: its answers are listed, and its tools are called as ever.

use agentx::{AgentError, Reply, json};

/// Books a seat.
#[agentx::tool(change)]
async fn book(
    /// The destination of the train.
    to: String,
) -> Result<String, String> {
    Ok(format!("A seat to {to} is booked."))
}

#[tokio::main]
async fn main() -> Result<(), AgentError> {
    let replies = [
        Reply::call("book", json!({"to": "Rome"})),
        "Have a good journey!".into(),
    ];
    let agent = agentx::agent("You book seats.")
        .tool(book)
        .approval(agentx::types::ApprovalMode::Auto)
        .scripted(replies)
        .start()
        .await?;
    let answer = agent.ask("A seat to Rome, please").await?;
    assert_eq!(answer.text, "Have a good journey!");
    println!("{answer}");
    Ok(())
}
