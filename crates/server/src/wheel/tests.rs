//! Tests the wheel in simulated time: single cases, and any sequence of events against what has to hold.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use proptest::prelude::*;

use super::*;

const ANSWER_MS: u64 = 20_000;
const GONE_MS: u64 = 30_000;

fn seat(person: &str, client: &str) -> Seat {
    Seat {
        person: person.into(),
        client: client.into(),
    }
}

fn ann() -> Seat {
    seat("own_ann", "desk")
}

fn bob() -> Seat {
    seat("own_bob", "laptop")
}

/// Does what the hub does with a verdict.
fn settle(wheel: &mut Wheel, changed: Option<WheelChanged>, now: u64) -> Option<WheelReason> {
    let changed = changed?;
    wheel.apply(&changed, now);
    Some(changed.reason)
}

fn drives(wheel: &mut Wheel, seat: &Seat, now: u64) -> Result<Option<WheelReason>, RuntimeError> {
    let changed = wheel.drive(seat, SessionRole::Drive, None, now)?;
    Ok(settle(wheel, changed, now))
}

fn wishes(
    wheel: &mut Wheel,
    seat: &Seat,
    wish: WheelWish,
    now: u64,
) -> Result<Option<WheelReason>, RuntimeError> {
    let verdict = wheel.wish(seat, SessionRole::Drive, &wish, Some(SessionRole::Drive), now)?;
    match verdict {
        WheelVerdict::Change(changed) => Ok(settle(wheel, Some(changed), now)),
        WheelVerdict::Asked | WheelVerdict::Nothing => Ok(None),
    }
}

fn both_here() -> Wheel {
    let mut wheel = Wheel::default();
    wheel.arrive(&ann());
    wheel.arrive(&bob());
    wheel
}

#[test]
fn the_first_to_say_something_drives() {
    let mut wheel = both_here();
    assert_eq!(drives(&mut wheel, &ann(), 0).unwrap(), Some(WheelReason::Taken));
    assert_eq!((wheel.seat(), wheel.epoch()), (Some(&ann()), 1));
    assert_eq!(drives(&mut wheel, &ann(), 5).unwrap(), None);
    let refused = drives(&mut wheel, &bob(), 6).unwrap_err();
    assert!(matches!(refused, RuntimeError::Denied(why) if why.contains("desk (own_ann) drives")));
}

#[test]
fn watching_is_not_driving() {
    let mut wheel = both_here();
    for role in [SessionRole::Watch, SessionRole::Approve] {
        assert!(wheel.drive(&ann(), role, None, 0).is_err());
        assert!(wheel.wish(&ann(), role, &WheelWish::Take, None, 0).is_err());
    }
}

#[test]
fn what_a_former_driver_sends_late_is_stale() {
    let mut wheel = both_here();
    drives(&mut wheel, &ann(), 0).unwrap();
    wishes(&mut wheel, &ann(), WheelWish::Hand(bob()), 1).unwrap();
    let late = wheel.drive(&ann(), SessionRole::Own, Some(1), 2).unwrap_err();
    assert!(matches!(late, RuntimeError::Remote { code, .. } if code == "stale_epoch"));
    assert_eq!(wheel.drive(&bob(), SessionRole::Drive, Some(2), 2).unwrap(), None);
}

#[test]
fn who_asks_gets_it_after_silence_and_not_before() {
    let mut wheel = both_here();
    drives(&mut wheel, &ann(), 0).unwrap();
    assert!(wishes(&mut wheel, &bob(), WheelWish::Take, 1).is_err());
    assert_eq!(wishes(&mut wheel, &bob(), WheelWish::Ask, 10).unwrap(), None);
    assert_eq!(wheel.asked_by(), Some(&bob()));
    // Asking again does not restart the time.
    wishes(&mut wheel, &bob(), WheelWish::Ask, 15_000).unwrap();
    assert!(wishes(&mut wheel, &bob(), WheelWish::Take, 10 + ANSWER_MS - 1).is_err());
    let taken = wishes(&mut wheel, &bob(), WheelWish::Take, 10 + ANSWER_MS).unwrap();
    assert_eq!(taken, Some(WheelReason::Taken));
    assert_eq!(wheel.seat(), Some(&bob()));
}

#[test]
fn who_drives_can_say_no() {
    let mut wheel = both_here();
    drives(&mut wheel, &ann(), 0).unwrap();
    wishes(&mut wheel, &bob(), WheelWish::Ask, 10).unwrap();
    wishes(&mut wheel, &ann(), WheelWish::Take, 20).unwrap();
    assert_eq!(wheel.asked_by(), None);
    assert!(wishes(&mut wheel, &bob(), WheelWish::Take, 10 + ANSWER_MS).is_err());
}

#[test]
fn a_driver_that_vanishes_keeps_the_wheel_for_a_while() {
    let mut wheel = both_here();
    drives(&mut wheel, &ann(), 0).unwrap();
    wheel.leave(&ann(), 100);
    assert_eq!(wheel.deadline(), Some(100 + GONE_MS));
    assert!(drives(&mut wheel, &bob(), 100 + GONE_MS - 1).is_err());
    assert_eq!(wheel.tick(100 + GONE_MS - 1), None);
    let over = wheel.tick(100 + GONE_MS).unwrap();
    assert_eq!((over.seat.clone(), over.reason), (None, WheelReason::TimedOut));
    let mut other = wheel.clone();
    settle(&mut wheel, Some(over), 100 + GONE_MS);
    assert_eq!(
        drives(&mut wheel, &bob(), 40_000).unwrap(),
        Some(WheelReason::Taken)
    );
    // The same without anybody who noticed in time.
    assert_eq!(
        drives(&mut other, &bob(), 40_000).unwrap(),
        Some(WheelReason::TimedOut)
    );
}

#[test]
fn a_driver_that_comes_back_still_drives() {
    let mut wheel = both_here();
    drives(&mut wheel, &ann(), 0).unwrap();
    wheel.leave(&ann(), 100);
    wheel.arrive(&ann());
    assert_eq!(wheel.deadline(), None);
    assert!(drives(&mut wheel, &bob(), 100 + 2 * GONE_MS).is_err());
}

#[test]
fn two_connections_of_a_seat_count_as_one_until_both_are_gone() {
    let mut wheel = both_here();
    wheel.arrive(&ann());
    drives(&mut wheel, &ann(), 0).unwrap();
    wheel.leave(&ann(), 1);
    assert_eq!(wheel.deadline(), None);
    wheel.leave(&ann(), 2);
    assert_eq!(wheel.deadline(), Some(2 + GONE_MS));
}

#[test]
fn ones_own_other_program_gives_way() {
    let mut wheel = both_here();
    let phone = seat("own_ann", "phone");
    wheel.arrive(&phone);
    drives(&mut wheel, &ann(), 0).unwrap();
    assert!(
        drives(&mut wheel, &phone, 1).is_err(),
        "not by accident while it is there"
    );
    let taken = wishes(&mut wheel, &phone, WheelWish::Take, 1).unwrap();
    assert_eq!(taken, Some(WheelReason::Taken));
    wheel.leave(&phone, 2);
    assert_eq!(drives(&mut wheel, &ann(), 3).unwrap(), Some(WheelReason::Taken));
}

#[test]
fn it_is_handed_to_who_is_there_and_may() {
    let mut wheel = both_here();
    drives(&mut wheel, &ann(), 0).unwrap();
    let hand = |wheel: &mut Wheel, to: Seat, role| {
        wheel.wish(&ann(), SessionRole::Own, &WheelWish::Hand(to), role, 1)
    };
    assert!(hand(&mut wheel, seat("own_eve", "tab"), Some(SessionRole::Drive)).is_err());
    assert!(hand(&mut wheel, bob(), Some(SessionRole::Approve)).is_err());
    assert!(hand(&mut wheel, bob(), None).is_err());
    let WheelVerdict::Change(changed) = hand(&mut wheel, bob(), Some(SessionRole::Drive)).unwrap() else {
        panic!("it is handed over");
    };
    assert_eq!(changed.reason, WheelReason::HandedOver);
    let not_theirs = wheel.wish(&bob(), SessionRole::Drive, &WheelWish::Release, None, 1);
    assert!(matches!(not_theirs, Err(RuntimeError::Denied(_))));
}

#[test]
fn who_may_no_longer_drive_does_not() {
    let mut wheel = both_here();
    drives(&mut wheel, &bob(), 0).unwrap();
    assert_eq!(wheel.lowered(&"own_ann".into(), None), None);
    assert_eq!(wheel.lowered(&"own_bob".into(), Some(SessionRole::Own)), None);
    let changed = wheel
        .lowered(&"own_bob".into(), Some(SessionRole::Watch))
        .unwrap();
    assert_eq!((changed.seat, changed.epoch), (None, 2));
}

#[test]
fn after_a_restart_the_driver_has_time_to_come_back() {
    let sharing = Sharing {
        seat: Some(ann()),
        epoch: 7,
        ..Sharing::default()
    };
    let mut wheel = Wheel::default();
    wheel.arrive(&bob());
    wheel.learn(&sharing, 1_000);
    assert!(drives(&mut wheel, &bob(), 1_000 + GONE_MS - 1).is_err());
    assert_eq!(
        drives(&mut wheel, &bob(), 1_000 + GONE_MS).unwrap(),
        Some(WheelReason::TimedOut)
    );
    assert_eq!(wheel.epoch(), 8);
}

#[derive(Clone, Debug)]
enum Happening {
    Arrive(usize),
    Leave(usize),
    Drive(usize, Option<u64>),
    Wish(usize, WheelWish),
    Lower(usize),
    Tick,
}

fn seats() -> [Seat; 4] {
    [ann(), bob(), seat("own_ann", "phone"), seat("own_eve", "tab")]
}

fn happening() -> impl Strategy<Value = (u64, Happening)> {
    let who = 0..4usize;
    let wish = prop_oneof![
        Just(WheelWish::Ask),
        Just(WheelWish::Take),
        Just(WheelWish::Release),
        (0..4usize).prop_map(|to| WheelWish::Hand(seats()[to].clone())),
    ];
    let what = prop_oneof![
        who.clone().prop_map(Happening::Arrive),
        who.clone().prop_map(Happening::Leave),
        (who.clone(), proptest::option::of(0..6u64)).prop_map(|(who, epoch)| Happening::Drive(who, epoch)),
        (who.clone(), wish).prop_map(|(who, wish)| Happening::Wish(who, wish)),
        who.prop_map(Happening::Lower),
        Just(Happening::Tick),
    ];
    (0..15_000u64, what)
}

/// Applies a happening; returns the change, if there is one.
fn happen(wheel: &mut Wheel, what: &Happening, now: u64) -> Option<WheelChanged> {
    let seats = seats();
    match what {
        Happening::Arrive(who) => {
            wheel.arrive(&seats[*who]);
            None
        }
        Happening::Leave(who) => {
            wheel.leave(&seats[*who], now);
            None
        }
        Happening::Drive(who, epoch) => {
            let before = wheel.epoch();
            let verdict = wheel.drive(&seats[*who], SessionRole::Drive, *epoch, now);
            if epoch.is_some_and(|epoch| epoch != before) {
                assert!(verdict.is_err(), "an earlier wheel moves nothing");
            }
            verdict.ok().flatten()
        }
        Happening::Wish(who, wish) => {
            match wheel.wish(
                &seats[*who],
                SessionRole::Drive,
                wish,
                Some(SessionRole::Drive),
                now,
            ) {
                Ok(WheelVerdict::Change(changed)) => Some(changed),
                _ => None,
            }
        }
        Happening::Lower(who) => wheel.lowered(&seats[*who].person, None),
        Happening::Tick => wheel.tick(now),
    }
}

proptest! {
    #[test]
    fn whatever_happens_it_has_one_holder_and_counts(steps in proptest::collection::vec(happening(), 1..200)) {
        let mut wheel = Wheel::default();
        let mut now = 0;
        let mut facts = Sharing::default();
        for (later, what) in steps {
            now += later;
            let (before, epoch) = (wheel.seat().cloned(), wheel.epoch());
            let was_here = before.as_ref().is_some_and(|seat| wheel.here.contains_key(seat));
            let asked = wheel.asked.clone();
            if let Some(changed) = happen(&mut wheel, &what, now) {
                prop_assert_eq!(changed.epoch, epoch + 1, "epochs have no gap");
                prop_assert!(changed.seat != before || changed.seat.is_none());
                let taker = changed.seat.as_ref().filter(|_| changed.reason != WheelReason::HandedOver);
                if let (Some(taker), Some(holder)) = (taker, &before) && was_here && taker.person != holder.person {
                    let (asker, since) = asked.unwrap();
                    prop_assert!(asker == *taker && now - since >= ANSWER_MS, "who is there is asked first");
                }
                wheel.apply(&changed, now);
                facts.seat = changed.seat.clone();
                facts.epoch = changed.epoch;
            } else {
                prop_assert_eq!((wheel.seat().cloned(), wheel.epoch()), (before, epoch), "nothing changes off the record");
            }
            prop_assert_eq!((&facts.seat, facts.epoch), (&wheel.seat, wheel.epoch), "the facts say the same");
            prop_assert!(wheel.asked.is_none() || wheel.seat.is_some(), "nobody is asked for what nobody has");
            prop_assert!(wheel.deadline().is_none_or(|_| wheel.seat.is_some()));
        }
    }
}
