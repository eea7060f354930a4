//! Prints the facts of a session if `--view environment` asks for them.

use agentx::runtime::Delivery;

use crate::error::ChatError;
use crate::place::follow::AnyFollower;
use crate::terminal::console::Console;

/// Returns the next fact; waits for ever if none are wanted.
pub(super) async fn next_fact(facts: &mut Option<AnyFollower>) -> Result<Option<Delivery>, ChatError> {
    match facts {
        Some(facts) => facts.next().await,
        None => std::future::pending().await,
    }
}

/// Prints the facts up to the one that ended the run.
pub(super) async fn drain(
    facts: &mut AnyFollower,
    until: u64,
    console: &mut Console,
) -> Result<(), ChatError> {
    while facts.seq() < until {
        match facts.next().await? {
            Some(Delivery::Environment(envelope)) => console.out_json(&*envelope)?,
            Some(_) => {}
            None => break,
        }
    }
    Ok(())
}
