//! The list of the reactors that serve the actions of sessions, here or on a server.

use agentx::runtime::{ReactorInfo, ReactorState, Runtime, Selector, ServedInfo};

use crate::error::ChatError;
use crate::exit::Exit;
use crate::render::table::table;
use crate::terminal::console::Console;

/// The columns.
const HEADS: [&str; 8] = [
    "REACTOR",
    "STATE",
    "CAPACITY",
    "IN FLIGHT",
    "WAITING",
    "SETTLED",
    "LOST",
    "SERVES",
];

/// Lists the reactors.
///
/// # Errors
/// Returns an error if the runtime cannot be asked, or the output cannot be written.
pub async fn list_reactors(
    runtime: &dyn Runtime,
    json: bool,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let reactors = runtime.reactors().await?;
    if json {
        console.out_pretty(&reactors)?;
        return Ok(Exit::Ok);
    }
    let mut rows = vec![HEADS.map(str::to_owned).to_vec()];
    rows.extend(reactors.iter().flat_map(rows_of));
    console.out(&table(&rows, console.out_width()))?;
    Ok(Exit::Ok)
}

/// A line for each thing that a reactor serves; one for a reactor that serves nothing.
fn rows_of(reactor: &ReactorInfo) -> Vec<Vec<String>> {
    let state = match (reactor.state, reactor.restarts) {
        (ReactorState::BuiltIn, _) => "built in".to_owned(),
        (ReactorState::Failed, _) => "failed".to_owned(),
        (ReactorState::Unknown, _) => "unknown".to_owned(),
        (_, 0) => "works".to_owned(),
        (_, restarts) => format!("works, restarted {restarts} times"),
    };
    let error = reactor.last_error.as_ref();
    let error = error.map_or_else(String::new, |error| format!("; it {error}"));
    let row = |load: [String; 5], what: &str| {
        let mut row = vec![reactor.name.clone(), state.clone()];
        row.extend(load);
        row.push(format!("{what}{error}"));
        row
    };
    if reactor.serves.is_empty() {
        return vec![row([(); 5].map(|()| "-".to_owned()), "nothing")];
    }
    let of_served = |served: &ServedInfo| {
        let load = [
            served.capacity,
            served.in_flight,
            served.waiting,
            served.settled,
            served.lost,
        ];
        let on = |on: &Selector| format!("{} {}", on.topic, on.key);
        let on: Vec<String> = served.on.iter().map(on).collect();
        row(load.map(|count| count.to_string()), &on.join(", "))
    };
    reactor.serves.iter().map(of_served).collect()
}
