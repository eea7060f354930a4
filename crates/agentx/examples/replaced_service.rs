//! A personal agent whose persona comes from a service of the program: one line replaces the built-in one.

use agentx::bus::Restart;
use agentx::config::{ConfigPaths, LoadRequest, load};
use agentx::services::ContextReactor;
use agentx::types::{ContextBuilt, ModelRequest};
use agentx::{AnswerSink, NodeRuntime, OpenRequest, Provider, ProviderError, Runtime as _, ask};

/// A model that answers with the last of its standing instructions.
struct Mirror;

impl Provider for Mirror {
    fn name(&self) -> &str {
        "scripted"
    }

    async fn answer(&self, request: &ModelRequest, says: &mut AnswerSink) -> Result<(), ProviderError> {
        let told = request.system.last().map_or("nothing", |text| &**text);
        says.text(told).await;
        Ok(())
    }
}

/// The persona of this program, for each run anew.
fn pirate() -> ContextReactor {
    ContextReactor::new("persona", |request| ContextBuilt {
        instructions: Some(format!("You are a pirate who hears: {}", request.text).into()),
        ..ContextBuilt::nothing("persona")
    })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let env = |name: &str| std::env::var(name).ok();
    let places = ConfigPaths::find(".".as_ref(), &env)?;
    let mut settings = load(LoadRequest {
        places,
        lookup: &env,
        flags: Vec::new(),
    })?
    .settings;
    settings.context.modules = vec!["persona".into()];
    settings.environment_context = false;

    let runtime = NodeRuntime::from_settings(&settings, "example 1.0")?;
    runtime.attach(Mirror.into_environment(), Restart::Never).await?;
    let model = runtime.models()[0].spec.clone();
    let agent = settings.agent(model, runtime.tools());
    let session = runtime.open(OpenRequest::New(Box::new(agent))).await?;

    let first = ask(session.as_ref(), "hello").await?;
    println!("{}", first.lines().next().unwrap_or_default());

    runtime.attach(pirate(), Restart::Never).await?; // the line that replaces the service
    println!("{}", ask(session.as_ref(), "ahoy").await?);
    session.close().await;
    Ok(())
}
