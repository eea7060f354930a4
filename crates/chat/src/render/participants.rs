//! The people of a session in words: who is there, who drives, who asks.

use std::collections::BTreeMap;

use agentx::types::wire::{ApprovalWaiting, Present, Wheel};
use agentx::types::{OwnerId, Seat, SessionRole, VISITORS};

use super::clean::visible;

/// Describes the permissions of a role.
pub fn may(role: SessionRole) -> &'static str {
    match role {
        SessionRole::Watch => "watch",
        SessionRole::Approve => "watch, approve",
        SessionRole::Drive => "watch, approve, drive",
        SessionRole::Own => "everything",
    }
}

/// A seat as it is called here: `you`, another program of yours, or somebody else's.
pub(crate) fn seat_name(seat: &Seat, me: &Seat) -> String {
    if seat == me {
        return "you".to_owned();
    }
    let client = visible(&seat.client);
    match () {
        () if seat.person == me.person => format!("you at {client}"),
        () if seat.person.as_str() == VISITORS => format!("a visitor at {client}"),
        () => format!("{} at {client}", person(&seat.person)),
    }
}

/// A person, short enough for a line.
pub(crate) fn person(owner: &OwnerId) -> String {
    let id = visible(owner.as_str());
    match id.char_indices().nth(12) {
        Some((at, _)) => format!("{}…", &id[..at]),
        None => id,
    }
}

/// Maximum number of names in one line.
const NAMED: usize = 6;

/// Describes what a person does: `you drive`, `a visitor at web-1 drives`.
fn does(seat: &Seat, me: &Seat, you: &str, they: &str) -> String {
    let verb = if seat.person == me.person { you } else { they };
    format!("{} {verb}", seat_name(seat, me))
}

/// Returns the line that says who drives.
pub(crate) fn drives(seat: &Seat, me: &Seat) -> String {
    does(seat, me, "drive", "drives")
}

/// Returns the line that says who asks for the wheel.
pub(crate) fn asks(seat: &Seat, me: &Seat) -> String {
    does(seat, me, "ask for the wheel", "asks for the wheel")
}

/// Names everybody who is there, in one line.
pub(crate) fn people_line(people: &[Present], me: &Seat) -> String {
    let told = people.iter().map(|present| {
        if present.driving {
            drives(&present.seat, me)
        } else {
            does(&present.seat, me, "watch", "watches")
        }
    });
    let mut named: Vec<String> = told.take(NAMED).collect();
    if people.len() > NAMED {
        named.push(format!("{} more", people.len() - NAMED));
    }
    named.join(" · ")
}

/// Lists everybody who is there, a line each, for `/who`.
pub(crate) fn people_table(
    people: &[Present],
    me: &Seat,
    names: &BTreeMap<OwnerId, String>,
) -> Vec<Vec<String>> {
    let person = |owner: &OwnerId| match names.get(owner) {
        Some(name) => format!("{} ({owner})", visible(name)),
        None => owner.to_string(),
    };
    let row = |present: &Present| {
        let mark = if present.driving { "drives" } else { "" };
        vec![
            seat_name(&present.seat, me),
            person(&present.seat.person),
            may(present.role).to_owned(),
            mark.to_owned(),
        ]
    };
    let heads = ["WHO", "PERSON", "MAY", ""].map(str::to_owned).to_vec();
    std::iter::once(heads).chain(people.iter().map(row)).collect()
}

/// A call of a member waits, and what to type to decide about it.
pub(crate) fn call_waits(call: &ApprovalWaiting, address: &str) -> String {
    let who = match &call.owner_name {
        Some(name) => visible(name),
        None => person(&call.owner),
    };
    format!(
        "{who}: {} waits for your decision; in another terminal: agentx --connect {} resume {}",
        visible(&call.name),
        visible(address),
        visible(call.session_id.as_str())
    )
}

/// Returns the line that says who drives, and who asks for the wheel.
pub(crate) fn wheel(wheel: &Wheel, me: &Seat) -> String {
    let drives = match &wheel.seat {
        Some(seat) => drives(seat, me),
        None => "nobody is driving; the next person to send a message takes the wheel".to_owned(),
    };
    match &wheel.asked_by {
        Some(seat) if seat == me => format!("{drives}; you have asked for the wheel"),
        Some(seat) => format!("{drives}; {}", asks(seat, me)),
        None => drives,
    }
}
