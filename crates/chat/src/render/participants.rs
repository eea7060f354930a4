//! Describes the people of a session: who is present, who drives, who asks for the wheel.

use agentx::types::wire::{ApprovalWaiting, Present, Wheel};
use agentx::types::{OwnerId, Seat, SessionRole};

use super::clean::visible;
use super::person_names::PersonNames;

/// Describes the permissions of a role.
pub fn may(role: SessionRole) -> &'static str {
    match role {
        SessionRole::Watch => "watch",
        SessionRole::Approve => "watch, approve",
        SessionRole::Drive => "watch, approve, drive",
        SessionRole::Own => "everything",
    }
}

/// Returns the name of a seat: `you`, another program of yours, or another person's.
pub(crate) fn seat_name(seat: &Seat, me: &Seat, names: &PersonNames) -> String {
    if seat == me {
        return "you".to_owned();
    }
    let client = visible(&seat.client);
    match () {
        () if seat.person == me.person => format!("you at {client}"),
        () => format!("{} at {client}", names.name(&seat.person)),
    }
}

/// Maximum number of names in one line.
const NAMED: usize = 6;

/// Returns a seat with its verb: `you drive`, `a visitor at web-1 drives`.
fn seat_with_verb(seat: &Seat, me: &Seat, names: &PersonNames, you: &str, they: &str) -> String {
    let verb = if seat.person == me.person { you } else { they };
    format!("{} {verb}", seat_name(seat, me, names))
}

/// Returns the line that says who drives.
pub(crate) fn drives(seat: &Seat, me: &Seat, names: &PersonNames) -> String {
    seat_with_verb(seat, me, names, "drive", "drives")
}

/// Returns the line that says who asks for the wheel.
pub(crate) fn asks(seat: &Seat, me: &Seat, names: &PersonNames) -> String {
    seat_with_verb(seat, me, names, "ask for the wheel", "asks for the wheel")
}

/// Everybody who is present, in one line.
pub(crate) fn people_line(people: &[Present], me: &Seat, names: &PersonNames) -> String {
    let told = people.iter().map(|present| {
        if present.driving {
            drives(&present.seat, me, names)
        } else {
            seat_with_verb(&present.seat, me, names, "watch", "watches")
        }
    });
    let mut named: Vec<String> = told.take(NAMED).collect();
    if people.len() > NAMED {
        named.push(format!("{} more", people.len() - NAMED));
    }
    named.join(" · ")
}

/// Everybody who is present, one per line, for `/who`.
pub(crate) fn people_table(people: &[Present], me: &Seat, names: &PersonNames) -> Vec<Vec<String>> {
    let person = |owner: &OwnerId| match names.given().get(owner) {
        Some(name) => format!("{} ({owner})", visible(name)),
        None => owner.to_string(),
    };
    let row = |present: &Present| {
        let mark = if present.driving { "drives" } else { "" };
        vec![
            seat_name(&present.seat, me, names),
            person(&present.seat.person),
            may(present.role).to_owned(),
            mark.to_owned(),
        ]
    };
    let heads = ["WHO", "PERSON", "MAY", ""].map(str::to_owned).to_vec();
    std::iter::once(heads).chain(people.iter().map(row)).collect()
}

/// A call of a member waits, and what to type to decide about it.
pub(crate) fn call_waits(call: &ApprovalWaiting, address: &str, names: &PersonNames) -> String {
    let who = match &call.owner_name {
        // The operator's name for the member, which others may have too.
        Some(name) if !names.given().contains_key(&call.owner) => {
            format!("{} ({})", visible(name), names.name(&call.owner))
        }
        _ => names.name(&call.owner),
    };
    format!(
        "{who}: {} waits for your decision; in another terminal: agentx --connect {} resume {}",
        visible(&call.name),
        visible(address),
        visible(call.session_id.as_str())
    )
}

/// Returns the line that says who drives, and who asks for the wheel.
pub(crate) fn wheel(wheel: &Wheel, me: &Seat, names: &PersonNames) -> String {
    let drives = match &wheel.seat {
        Some(seat) => drives(seat, me, names),
        None => "nobody is driving; the next person to send a message takes the wheel".to_owned(),
    };
    match &wheel.asked_by {
        Some(seat) if seat == me => format!("{drives}; you have asked for the wheel"),
        Some(seat) => format!("{drives}; {}", asks(seat, me, names)),
        None => drives,
    }
}
