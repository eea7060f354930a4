//! The first contact with a server: the identity of the person, and the models and tools that are available.
//!
//! An unattended program, such as `agentx run`, tries for a while
//! ([`reach_within`](crate::ConnectOptions::reach_within)), because the server may be restarting at that
//! moment. All questions here only read, so nothing is done twice.

use std::time::Duration;

use agentx_runtime::{ModelInfo, RuntimeError};
use agentx_types::ToolSpec;
use agentx_types::wire::Person;
use tokio::time::{Instant, timeout_at};

use crate::ConnectOptions;
use crate::http::{Http, Query};
use crate::retry_pauses::{RetryPauses, may_pass};

/// The maximum time for each answer. It is short because nobody knows yet whether an AgentX server answers.
const ANSWER: Duration = Duration::from_secs(20);

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
    let patience = options.reach_within;
    let now = Instant::now();
    let mut pauses = RetryPauses::new(patience, options.retry_after, now);
    loop {
        let introduction = introduce(http);
        let told = if patience.is_zero() {
            introduction.await
        } else {
            let told = timeout_at(now + patience, introduction).await;
            told.unwrap_or_else(|_| Err(http.unanswered(patience)))
        };
        match told {
            Err(error) if may_pass(&error) && !patience.is_zero() => pauses.wait_or(error).await?,
            told => return told,
        }
    }
}

/// Asks a server for the identity of this person, and for its models and tools.
async fn introduce(http: &Http) -> Result<FirstContact, RuntimeError> {
    let person: Person = http.json(Query::get(&["me"]).answered_within(ANSWER)).await?;
    let (models, tools) = if person.visitor {
        // Visitors do not see models and tools.
        Default::default()
    } else {
        let paths = (["models"], ["tools"]);
        tokio::try_join!(
            http.json(Query::get(&paths.0).answered_within(ANSWER)),
            http.json(Query::get(&paths.1).answered_within(ANSWER))
        )?
    };
    Ok((person, models, tools))
}
