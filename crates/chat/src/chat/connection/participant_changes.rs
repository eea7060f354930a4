//! The changes among the people of a session between two checks, as lines of a chat.

use std::collections::BTreeSet;

use agentx::remote::People;
use agentx::types::Seat;

use crate::render::participants as words;
use crate::render::person_names::PersonNames;

/// Time limit for the driver to answer a request for control, as on the server.
pub(in crate::chat) const ANSWER_SECONDS: u32 = 20;

/// Returns the notable changes between two lists of people. A person who is alone gets none.
pub(in crate::chat) fn changes(before: &People, now: &People, me: &Seat, names: &PersonNames) -> Vec<String> {
    let seats = |people: &People| {
        let seats = people.present.iter().map(|present| present.seat.clone());
        seats.collect::<BTreeSet<_>>()
    };
    let others = |people: &People| people.present.iter().any(|present| present.seat != *me);
    let mut lines = Vec::new();
    if !others(before) && !others(now) {
        return lines;
    }
    let driver = |people: &People| people.wheel.as_ref().and_then(|wheel| wheel.seat.clone());
    let asker = |people: &People| people.wheel.as_ref().and_then(|wheel| wheel.asked_by.clone());
    if seats(before) != seats(now) {
        lines.push(if others(now) {
            format!("here: {}", words::people_line(&now.present, me, names))
        } else {
            "the others have left".to_owned()
        });
    } else if driver(before) != driver(now)
        && let Some(wheel) = &now.wheel
    {
        lines.push(words::wheel(wheel, me, names));
    }
    if asker(before) != asker(now)
        && let Some(asker) = asker(now).filter(|_| driver(now).as_ref() == Some(me))
    {
        lines.push(format!(
            "{}: `/wheel give {}`, or `/wheel take` to keep it; otherwise it may be taken in {ANSWER_SECONDS} s",
            words::asks(&asker, me, names),
            asker.client
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentx::types::wire::{Present, Wheel};
    use agentx::types::{OwnerId, SessionId, SessionRole};

    fn seat(person: &str, client: &str) -> Seat {
        Seat {
            person: OwnerId::new(person),
            client: client.into(),
        }
    }

    fn people(seats: &[(&Seat, SessionRole)], driver: Option<&Seat>, asker: Option<&Seat>) -> People {
        let present = |(seat, role): &(&Seat, SessionRole)| Present {
            seat: (*seat).clone(),
            role: *role,
            driving: driver == Some(*seat),
        };
        People {
            present: seats.iter().map(present).collect(),
            wheel: Some(Wheel {
                session_id: SessionId::new("ses_1"),
                epoch: 1,
                seat: driver.cloned(),
                reason: None,
                asked_by: asker.cloned(),
            }),
            role: Some(SessionRole::Own),
        }
    }

    #[test]
    fn one_who_is_alone_is_told_nothing() {
        let me = seat("own_local", "desk-1");
        let names = PersonNames::default();
        let alone = people(&[(&me, SessionRole::Own)], None, None);
        let drives = people(&[(&me, SessionRole::Own)], Some(&me), None);
        assert_eq!(
            changes(&People::default(), &alone, &me, &names),
            Vec::<String>::new()
        );
        assert_eq!(changes(&alone, &drives, &me, &names), Vec::<String>::new());
    }

    #[test]
    fn coming_going_driving_and_asking_are_a_line_each() {
        use SessionRole::{Drive, Own, Watch};
        let me = seat("own_local", "desk-1");
        let laptop = seat("own_local", "laptop-2");
        let ada = seat("own_abcdefghijklmnop", "ada-3");
        let visitor = seat("own_visitors", "web-4");
        let two = people(&[(&me, Own), (&laptop, Own)], Some(&me), None);
        let four = people(
            &[(&me, Own), (&laptop, Own), (&ada, Drive), (&visitor, Watch)],
            Some(&me),
            None,
        );
        let asked = people(
            &[(&me, Own), (&laptop, Own), (&ada, Drive), (&visitor, Watch)],
            Some(&me),
            Some(&ada),
        );
        let given = people(
            &[(&me, Own), (&laptop, Own), (&ada, Drive), (&visitor, Watch)],
            Some(&ada),
            None,
        );
        let alone = people(&[(&me, Own)], None, None);
        let steps = [&People::default(), &two, &four, &asked, &given, &alone];
        let told: Vec<String> = steps
            .windows(2)
            .map(|pair| changes(pair[0], pair[1], &me, &PersonNames::default()).join("\n"))
            .collect();
        insta::assert_snapshot!(told.join("\n"), @r"
        here: you drive · you at laptop-2 watch
        here: you drive · you at laptop-2 watch · own_abcdefgh… at ada-3 watches · a visitor at web-4 watches
        own_abcdefgh… at ada-3 asks for the wheel: `/wheel give ada-3`, or `/wheel take` to keep it; otherwise it may be taken in 20 s
        own_abcdefgh… at ada-3 drives
        the others have left
        ");
    }
}
