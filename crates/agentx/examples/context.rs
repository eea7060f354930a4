//! Values for the tools of one run: the person who asks, and their open resources. They are in no log, and no
//! other run has them.

use std::sync::Arc;

use agentx::{AgentError, ToolContext};

/// The person who asks. The model never sees it, and so cannot claim to be somebody else.
struct Person(&'static str);

/// A resource of the program, such as a pool of connections.
struct Orders(Vec<(&'static str, &'static str)>);

/// Lists what the person has ordered.
#[agentx::tool(idempotent)]
async fn orders(context: &ToolContext) -> Result<Vec<String>, String> {
    let person = context.get::<Person>().ok_or("nobody is signed in")?;
    let orders = context.get::<Arc<Orders>>().ok_or("the shop is closed")?;
    let theirs = orders.0.iter().filter(|(who, _)| *who == person.0);
    Ok(theirs.map(|(_, what)| (*what).to_owned()).collect())
}

#[tokio::main]
async fn main() -> Result<(), AgentError> {
    let shop = Arc::new(Orders(vec![("ada", "tea"), ("bob", "ink"), ("ada", "rope")]));
    let agent = agentx::agent("You work in a shop.")
        .model("scripted")
        .tool(orders)
        .start()
        .await?;
    for person in ["ada", "bob"] {
        let ask = agent
            .ask("Show me my orders.")
            .with(Person(person))
            .with(shop.clone());
        println!("{person}: {}", ask.await?);
    }
    println!("nobody: {}", agent.ask("Show me my orders.").await?);
    Ok(())
}
