//! A custom model: it counts how often each word occurred, and calls a tool if it has no answer.

use std::collections::BTreeMap;

use agentx::types::{ModelRequest, Role};
use agentx::{AgentError, AnswerSink, Provider, ProviderError, json};

struct WordCounter;

impl Provider for WordCounter {
    fn name(&self) -> &str {
        "word-counter"
    }

    async fn answer(&self, request: &ModelRequest, says: &mut AnswerSink) -> Result<(), ProviderError> {
        let last = request.messages.last().ok_or("nothing was said")?;
        if last.role == Role::User && last.text().ends_with('?') {
            says.call("look-up", json!({"question": last.text()})).await;
            return Ok(());
        }
        let mut counts = BTreeMap::new();
        for word in last.text().split_whitespace() {
            *counts.entry(word.to_owned()).or_insert(0) += 1;
        }
        // Each piece is on the screen, in the log and at each mirror as it is said.
        for (word, count) in counts {
            says.text(format!("{word} {count} ")).await;
        }
        Ok(())
    }
}

/// Looks something up.
#[agentx::tool(name = "look-up", idempotent)]
async fn look_up(
    /// The question.
    question: String,
) -> Result<String, String> {
    Err(format!("nobody knows: {question}"))
}

#[tokio::main]
async fn main() -> Result<(), AgentError> {
    let agent = agentx::agent("You count.")
        .provider(WordCounter)
        .tool(look_up)
        .start()
        .await?;
    println!("{}", agent.ask("tea or tea").await?.text.trim());
    agent.ask("who?").await?;
    println!("{} model calls", agent.ask("well").await?.model_calls);
    Ok(())
}
