//! First programs that use the library: a hello, a custom tool, a custom model.

use agentx::schemars::JsonSchema;
use agentx::serde::{Deserialize, Serialize};
use agentx::types::{ModelRequest, Role};
use agentx::{AgentError, Provider, ProviderError, AnswerSink};

/// A trip.
#[derive(Deserialize, JsonSchema)]
#[serde(crate = "agentx::serde")]
#[schemars(crate = "agentx::schemars")]
struct Journey {
    /// The city at its end.
    to: String,
    /// The number of travellers.
    people: u8,
}

#[derive(Serialize)]
#[serde(crate = "agentx::serde")]
struct Ticket {
    city: String,
    euros: u32,
}

/// Sells tickets.
#[agentx::tool(name = "buy-tickets")]
async fn buy(#[arg("The journey.")] journey: Journey) -> Result<Ticket, String> {
    match journey.people {
        0 => Err("nobody goes".into()),
        people => Ok(Ticket {
            city: journey.to,
            euros: 30 * u32::from(people),
        }),
    }
}

/// Buys a ticket to the given city, and says what it read.
struct Clerk;

impl Provider for Clerk {
    fn name(&self) -> &str {
        "clerk"
    }

    async fn answer(&self, request: &ModelRequest, says: &mut AnswerSink) -> Result<(), ProviderError> {
        let last = request.messages.last().ok_or("nothing was said")?;
        match last.role {
            Role::Tool => says.text(format!("Bought: {}", result_of(last))).await,
            _ => {
                let journey = agentx::json!({"to": last.text(), "people": 2});
                says.call("buy-tickets", agentx::json!({ "journey": journey })).await;
            }
        }
        Ok(())
    }
}

fn result_of(message: &agentx::types::Message) -> String {
    let results = message.content.iter().filter_map(|part| match part {
        agentx::types::ContentPart::ToolResult(result) => Some(&result.content),
        _ => None,
    });
    results.flatten().filter_map(|part| part.as_text()).collect()
}

#[tokio::main]
async fn main() -> Result<(), AgentError> {
    let hello = agentx::agent("You greet.").model("scripted").start().await?;
    println!("{}", hello.ask("say hello").await?);
    let clerk = agentx::agent("You sell tickets.").provider(Clerk).tool(buy).start().await?;
    println!("{}", clerk.ask("Rome").await?);
    println!("{}", agentx::model("clerk/fast").provider(Echo).ask("once").await?);
    Ok(())
}

/// Says the words again.
struct Echo;

impl Provider for Echo {
    fn name(&self) -> &str {
        "clerk"
    }

    async fn answer(&self, request: &ModelRequest, says: &mut AnswerSink) -> Result<(), ProviderError> {
        says.text(request.messages.last().map(|message| message.text()).unwrap_or_default()).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use agentx::Reply;

    #[tokio::test]
    async fn the_agent_sells() -> Result<(), agentx::AgentError> {
        let journey = agentx::json!({"journey": {"to": "Rome", "people": 0}});
        let replies = [Reply::call("buy-tickets", journey), "Nobody goes.".into()];
        let agent = agentx::agent("You sell.").tool(super::buy).scripted(replies).start().await?;
        assert_eq!(agent.ask("A ticket!").await?.text, "Nobody goes.");
        Ok(())
    }
}
