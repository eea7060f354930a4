//! A decision that takes until tomorrow. The first process asks and ends; any later one decides, and the run
//! continues.
//!
//! ```sh
//! approve_later DIRECTORY            # asks, says what is awaited and in which session
//! approve_later DIRECTORY SESSION    # approves, and says the answer
//! ```

use agentx::types::SessionId;
use agentx::{AgentBuilder, AgentError};

/// Sends money.
#[agentx::tool(change)]
async fn transfer(
    /// The amount in euros.
    amount: u32,
    /// To whom.
    to: String,
) -> Result<String, String> {
    Ok(format!("{to} has {amount} euros more."))
}

fn bank(directory: String) -> AgentBuilder {
    agentx::agent("You work in a bank.")
        .model("scripted")
        .tool(transfer)
        .data_dir(directory)
}

async fn ask(directory: String) -> Result<(), AgentError> {
    let agent = bank(directory).start().await?;
    match agent.ask("transfer 100 to ada").await {
        Err(AgentError::ApprovalRequired { calls }) => {
            for call in calls {
                println!("awaited: {} {} ({})", call.name, call.input, call.reason);
            }
            println!("session {}", agent.id());
            agent.suspend().await;
        }
        other => println!("{}", other?),
    }
    Ok(())
}

async fn approve(directory: String, session: SessionId) -> Result<(), AgentError> {
    let agent = bank(directory).resume(&session).await?;
    for call in agent.pending().await? {
        println!("approved: {} {}", call.name, call.input);
        agent.approve(&call.tool_call_id).await?;
    }
    println!("{}", agent.answer().await?);
    agent.close().await;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), AgentError> {
    let mut arguments = std::env::args().skip(1);
    match (arguments.next(), arguments.next()) {
        (Some(directory), Some(session)) => approve(directory, SessionId::new(session)).await,
        (Some(directory), None) => ask(directory).await,
        _ => {
            eprintln!("usage: approve_later DIRECTORY [SESSION]");
            Ok(())
        }
    }
}
