//! Cancelling the wait stops the run: the model in mid-word, a tool, and the agents at work below.

use agentx::{AgentError, AgentHandle, Answering, CancellationToken, Update};

/// Says goodbye when it is dropped.
struct Diver;

impl Drop for Diver {
    fn drop(&mut self) {
        println!("the diver comes up");
    }
}

/// Looks for a wreck. Takes for ever.
#[agentx::tool]
async fn dive(
    /// The place.
    place: String,
) -> Result<String, String> {
    let _diver = Diver;
    println!("somebody dives in {place}");
    std::future::pending().await
}

/// Hears until a tool runs, here or in a helper.
async fn until_a_tool_runs(answer: &mut Answering) -> Result<(), AgentError> {
    while let Some(update) = answer.next().await {
        match update? {
            Update::ToolStarted { name, .. } if name == "dive" => break,
            Update::Child { update, .. } if matches!(*update, Update::ToolStarted { .. }) => break,
            _ => {}
        }
    }
    Ok(())
}

/// Asks, fires the token in the midst of it, and says how it ended.
async fn cancelled(agent: &AgentHandle, words: &str) -> Result<(), AgentError> {
    let token = CancellationToken::new();
    let mut answer = agent.ask(words).cancelled_by(token.clone()).stream().await?;
    until_a_tool_runs(&mut answer).await?;
    token.cancel();
    match answer.await {
        Err(AgentError::Ended { status, .. }) => println!("{words}: {status:?}"),
        other => println!("{words}: {other:?}"),
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), AgentError> {
    let helper = agentx::agent("You dive.").tool(dive);
    let agent = agentx::agent("You have a helper.")
        .model("scripted")
        .helper("diver", helper)
        .start()
        .await?;
    // A model in mid-word: what was asked is dropped.
    let mut story = agent.stream("tell a long story").await?;
    println!(
        "begun: {}",
        matches!(story.next().await, Some(Ok(Update::Text(_))))
    );
    drop(story);
    // A tool of a helper, by a token.
    cancelled(&agent, "delegate to diver: dive in Loch Ness").await?;
    // The session continues.
    println!("{}", agent.ask("say still here").await?);
    agent.close().await;
    Ok(())
}
