//! The time that the HTTP client takes until a model is called: `cargo bench -p agentx-node-runtime --bench
//! first_call`.
//!
//! A start must not pay for unused parts: the first call to a plain address builds a client that reads no
//! root certificates; one over TLS reads them, on another thread. Each figure is the median of fresh
//! effectors in one process.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and fails by panicking"
)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agentx_llm::Secret;
use agentx_llm::{Catalog, WireOptions};
use agentx_node_runtime::model::{Endpoint, ModelEffector, ModelParts, RetryPolicy};
use agentx_testing::{FaultyLog, ServerReply, TestServer, fixture, perform, refusing_address, wire};

const ROUNDS: usize = 15;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let answer = || ServerReply::stream().then(wire::anthropic_text(&["hello"]));
    let server = TestServer::start((0..ROUNDS * 3).map(|_| answer())).await;
    let (mut first, mut second, mut tls) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let effector = effector(&server.url());
        call(&effector).await;
        first.push(began.elapsed());
        let began = Instant::now();
        call(&effector).await;
        second.push(began.elapsed());
    }
    let nobody = refusing_address().await;
    for _ in 0..ROUNDS {
        let began = Instant::now();
        call(&effector(&format!("https://{nobody}"))).await;
        tls.push(began.elapsed());
    }
    println!(
        "first call, plain: client, connection, answer   {:?} (very first {:?})",
        median(&first),
        first[0]
    );
    println!(
        "next call on the same connection               {:?}",
        median(&second)
    );
    println!(
        "first call, TLS: client with roots, refused    {:?} (very first {:?})",
        median(&tls),
        tls[0]
    );
}

fn effector(url: &str) -> ModelEffector {
    let catalog = Catalog::builtin();
    let endpoint = Endpoint::new(
        catalog.provider("anthropic").unwrap(),
        Some(url),
        Some(Secret::new("sk-bench")),
    );
    let endpoints = BTreeMap::from([("test".to_owned(), endpoint)]);
    let parts = ModelParts::new(
        endpoints,
        Arc::new(|_| WireOptions::default()),
        Arc::new(FaultyLog::new()),
    );
    ModelEffector::new(ModelParts {
        retry: RetryPolicy {
            retries: 0,
            ..RetryPolicy::default()
        },
        ..parts
    })
}

async fn call(effector: &ModelEffector) {
    perform(effector, fixture::call_model("hello")).await;
}

fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort();
    times[times.len() / 2]
}
