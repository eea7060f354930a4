//! The first contact with a server: the identity of the person, and the models and tools that are available.
//!
//! An unattended program, such as `agentx run`, tries for a while
//! ([`reach_within`](crate::ConnectOptions::reach_within)), because the server may be restarting at that
//! moment. All questions here only read, so nothing is done twice.

use std::time::Duration;

use agentx_runtime::{ModelInfo, RuntimeError};
use agentx_types::ToolSpec;
use agentx_types::wire::Person;
use tokio::time::Instant;

use crate::ConnectOptions;
use crate::http::{Http, Query};

/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The first answers of a server: the identity of this person, and the server's models and tools.
pub(crate) type FirstContact = (Person, Vec<ModelInfo>, Vec<ToolSpec>);

/// Reaches a server, as often as the options allow.
///
/// # Errors
/// Returns the error of the last attempt, or the first one that another attempt cannot mend.
pub(crate) async fn first_contact(
    http: &Http,
    options: &ConnectOptions,
) -> Result<FirstContact, RuntimeError> {
    let until = Instant::now() + options.reach_within;
    let mut pause = options.retry_after;
    loop {
        let error = match introduce(http).await {
            Err(error) if may_pass(&error) => error,
            told => return told,
        };
        if Instant::now() + pause > until {
            return Err(error);
        }
        tokio::time::sleep(pause).await;
        pause = (2 * pause).min(LONGEST_PAUSE);
    }
}

/// Asks a server for the identity of this person, and for its models and tools.
async fn introduce(http: &Http) -> Result<FirstContact, RuntimeError> {
    let person: Person = http.json(Query::get(&["me"])).await?;
    let (models, tools) = if person.visitor {
        // Visitors do not see models and tools.
        Default::default()
    } else {
        let paths = (["models"], ["tools"]);
        tokio::try_join!(http.json(Query::get(&paths.0)), http.json(Query::get(&paths.1)))?
    };
    Ok((person, models, tools))
}

/// Returns whether another attempt may succeed: the server cannot be reached, or it was started again between
/// its challenge and the signature, and does not know its challenge any more.
fn may_pass(error: &RuntimeError) -> bool {
    match error {
        RuntimeError::Unreachable { .. } => true,
        RuntimeError::Remote { code, .. } => matches!(code.as_str(), "stale_challenge" | "closing"),
        _ => false,
    }
}
