//! A server inside your own program: a shop that already answers over HTTP serves its agent at the same
//! address.
//!
//! It sweeps, continues interrupted work and limits requests as `agentx serve` does. In this example the shop
//! is also its first customer.

use std::sync::Arc;

use agentx::bus::Restart;
use agentx::config::{ConfigPaths, LoadRequest, load};
use agentx::identity::Keyring;
use agentx::runtime::ToolEnvironment;
use agentx::server::axum::{Router, routing::get};
use agentx::server::{ServerOptions, open};
use agentx::{IntoTool as _, NodeRuntime};
use tokio::sync::oneshot;

/// Says what is in stock.
#[agentx::tool(idempotent)]
async fn stock(
    /// The ware.
    ware: String,
) -> Result<String, String> {
    Ok(format!("There are 3 of {ware}."))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Settings of the program's own: its data lies beside it, and nothing of the person is read.
    let data = std::env::current_dir()?
        .join("shop")
        .to_string_lossy()
        .into_owned();
    let lookup = move |name: &str| matches!(name, "HOME" | "AGENTX_DATA").then(|| data.clone());
    let places = ConfigPaths::find(&std::env::current_dir()?, &lookup)?;
    let settings = load(LoadRequest {
        places,
        lookup: &lookup,
        flags: Vec::new(),
    })?
    .settings;
    std::fs::create_dir_all(&settings.data_dir)?;

    let runtime = Arc::new(NodeRuntime::from_settings(&settings, "shop 1.0")?);
    let wares = ToolEnvironment::new("wares", [stock.into_tool()]);
    runtime.attach(wares, Restart::Never).await?;
    let options = ServerOptions {
        listen: ([127, 0, 0, 1], 0).into(),
        ..ServerOptions::default()
    };
    let hello = Router::new().route("/hello", get(|| async { "Come in." }));
    let server = open(runtime, &settings, options).await?.with_routes(hello);
    let url = server.url().to_owned();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(server.run(async { drop(stopped.await) }));

    // Anybody with a key that the shop trusts does this from afar; the shop's own is that of its data
    // directory.
    let key = Keyring::open(&settings.data_dir)?.identity_or_new()?;
    let agent = agentx::agent("You sell.").model("scripted").all_tools();
    let agent = agent.remote(url, key).start().await?;
    println!("{}", agent.ask("stock tea").await?);
    agent.close().await;

    drop(stop);
    serving.await??;
    println!("all is kept");
    Ok(())
}
