//! The machine step by step.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use agentx_types::wire::{
    Accepted, Bye, ClientRequest, Heartbeat, Hello, Ping, Problem, Refused, ServerNotice, Subscribed,
    Unsubscribed, WireView,
};
use agentx_types::{Envelope, EventDraft, SessionId, SessionRole, Source, TextChunk, Timestamp};
use serde_json::Value;

use super::*;
use crate::incoming::IncomingFrame;

fn at(ms: u64) -> Moment {
    Moment { ms, random: 0 }
}

fn session() -> SessionId {
    SessionId::new("ses_1")
}

pub(super) fn hello() -> Hello {
    Hello {
        protocol: 1,
        server: "agentx 0".into(),
        nonce: "n".into(),
        origin: "http://h".into(),
        expires_at_ms: 1,
        proof: None,
        visitors: false,
        heartbeat_ms: 15_000,
    }
}

pub(super) fn accepted(id: &str) -> Accepted {
    Accepted {
        id: id.into(),
        seq: None,
        result: Value::Null,
    }
}

pub(super) fn problem(code: &str, retry_after_ms: Option<u64>) -> Problem {
    Problem {
        code: code.into(),
        detail: format!("because of {code}"),
        retry_after_ms,
        data: Value::Null,
    }
}

pub(super) fn notice(notice: impl Into<ServerNotice>) -> Result<IncomingFrame, String> {
    Ok(IncomingFrame::Notice(Box::new(notice.into())))
}

pub(super) fn fact(session: &SessionId, seq: u64) -> Result<IncomingFrame, String> {
    let chunk = TextChunk {
        text: format!("{seq} "),
    };
    let draft = EventDraft::new(Source::Environment, None, chunk);
    let fact = draft.into_envelope(session.clone(), seq, Timestamp(7));
    Ok(IncomingFrame::Fact(Arc::new(fact), 100))
}

pub(super) fn subscribed(
    session: &SessionId,
    after_seq: u64,
    head_seq: u64,
) -> Result<IncomingFrame, String> {
    notice(Subscribed {
        session_id: session.clone(),
        view: WireView::Environment,
        after_seq,
        head_seq,
        role: SessionRole::Own,
    })
}

pub(super) fn authenticate() -> Authenticate {
    Authenticate {
        public_key: None,
        signature: None,
        client: "test".into(),
    }
}

fn commands(machine: &mut ReconnectMachine) -> Vec<MachineCommand> {
    std::iter::from_fn(|| machine.next_command()).collect()
}

/// The frames among the next commands, as tag and id.
fn sent(machine: &mut ReconnectMachine) -> Vec<String> {
    let frames = commands(machine).into_iter().filter_map(|command| match command {
        MachineCommand::Send(frame) => Some(frame),
        _ => None,
    });
    frames
        .map(|frame| {
            let json = serde_json::to_value(&frame).unwrap();
            format!("{} {}", json["type"].as_str().unwrap(), frame.id)
        })
        .collect()
}

fn delivered(machine: &mut ReconnectMachine) -> Vec<u64> {
    let facts = commands(machine).into_iter().filter_map(|command| match command {
        MachineCommand::Deliver(fact, _) => Some(fact.seq),
        _ => None,
    });
    facts.collect()
}

/// From nothing to a connection that works, at this time.
fn live(machine: &mut ReconnectMachine, ms: u64) {
    machine.opened(at(ms));
    machine.received(at(ms), notice(hello()));
    machine.credentials(at(ms), Ok(authenticate()));
    machine.received(at(ms), notice(accepted("authenticate")));
}

/// A machine with a session from the beginning.
fn following() -> ReconnectMachine {
    let mut machine = ReconnectMachine::new(MachineSettings::default());
    machine.add_subscription(at(0), &session(), 0);
    live(&mut machine, 0);
    machine.received(at(0), subscribed(&session(), 0, 3));
    commands(&mut machine);
    machine
}

#[test]
fn it_connects_says_who_it_is_and_subscribes() {
    let mut machine = ReconnectMachine::new(MachineSettings::default());
    assert_eq!((commands(&mut machine).len(), machine.wake_at()), (0, None));
    machine.add_subscription(at(0), &session(), 5);
    let connecting = ConnectionState::Connecting { attempt: 1 };
    assert_eq!(
        commands(&mut machine),
        [MachineCommand::Notify(connecting), MachineCommand::Dial]
    );
    machine.opened(at(1));
    machine.received(at(2), notice(hello()));
    assert!(
        matches!(&commands(&mut machine)[..], [MachineCommand::Authenticate(challenge, None)] if challenge.nonce == "n")
    );
    machine.credentials(at(3), Ok(authenticate()));
    assert_eq!(sent(&mut machine), ["authenticate authenticate"]);
    machine.received(at(4), notice(accepted("authenticate")));
    assert_eq!(sent(&mut machine), ["subscribe s1"]);
    machine.received(at(5), fact(&session(), 6));
    assert!(
        delivered(&mut machine).is_empty(),
        "nothing counts before the subscription began"
    );
    machine.received(at(5), subscribed(&session(), 5, 7));
    assert!(matches!(&commands(&mut machine)[..], [MachineCommand::Began(began)] if began.head_seq == 7));
    machine.received(at(5), fact(&session(), 6));
    machine.received(at(5), fact(&session(), 6));
    machine.received(at(5), fact(&session(), 7));
    assert_eq!(delivered(&mut machine), [6, 7]);
}

#[test]
fn after_a_cut_it_comes_back_by_seq_and_waits_longer_each_time() {
    let mut machine = following();
    machine.received(at(10), fact(&session(), 1));
    machine.closed(at(10), "cut".into());
    let waiting = |retry_in_ms| ConnectionState::Waiting {
        retry_in_ms,
        why: "cut".into(),
    };
    assert!(commands(&mut machine).contains(&MachineCommand::Notify(waiting(125))));
    assert_eq!(machine.wake_at(), Some(135));
    machine.tick(at(135));
    machine.dial_failed(at(136), "cut".into(), false);
    assert!(commands(&mut machine).contains(&MachineCommand::Notify(waiting(250))));
    machine.tick(at(386));
    assert!(commands(&mut machine).contains(&MachineCommand::Dial));
    live(&mut machine, 400);
    let subscribe = commands(&mut machine)
        .into_iter()
        .find_map(|command| match command {
            MachineCommand::Send(ClientFrame {
                request: ClientRequest::Subscribe(subscribe),
                ..
            }) => Some(subscribe),
            _ => None,
        });
    assert_eq!(subscribe.unwrap().after_seq, 0, "the last one comes again");
    machine.received(at(401), subscribed(&session(), 0, 3));
    machine.received(at(401), fact(&session(), 1));
    machine.received(at(401), fact(&session(), 2));
    assert_eq!(delivered(&mut machine), [2]);
}

#[test]
fn it_gives_up_after_as_many_failures_as_it_was_told() {
    let mut machine = ReconnectMachine::new(MachineSettings {
        attempts: Some(2),
        ..MachineSettings::default()
    });
    machine.add_subscription(at(0), &session(), 0);
    machine.request(at(0), 7, Ping {}.into());
    machine.dial_failed(at(0), "refused".into(), false);
    machine.tick(at(1_000));
    commands(&mut machine);
    machine.dial_failed(at(1_000), "refused".into(), false);
    let failure = RequestFailure::Connection("refused".into());
    let gave_up = ConnectionState::GaveUp {
        why: "refused".into(),
    };
    let expected = [
        MachineCommand::HangUp,
        MachineCommand::Answer {
            token: 7,
            answer: Err(failure.clone()),
            sends: 0,
        },
        MachineCommand::Ended(session(), failure.clone()),
        MachineCommand::Notify(gave_up),
    ];
    assert_eq!(commands(&mut machine), expected);
    machine.add_subscription(at(2_000), &session(), 0);
    assert_eq!(
        commands(&mut machine),
        [MachineCommand::Ended(session(), failure)]
    );
    machine.dial_now(at(3_000));
    assert!(commands(&mut machine).contains(&MachineCommand::Dial));
}

#[test]
fn missing_events_are_asked_for_again() {
    let mut machine = following();
    machine.received(at(0), fact(&session(), 1));
    machine.received(at(0), fact(&session(), 3));
    assert_eq!(sent(&mut machine), ["unsubscribe unsubscribe", "subscribe s2"]);
    machine.received(at(0), fact(&session(), 2));
    machine.received(at(0), subscribed(&session(), 0, 3));
    machine.received(at(0), fact(&session(), 1));
    machine.received(at(0), fact(&session(), 2));
    machine.received(at(0), fact(&session(), 3));
    assert_eq!(delivered(&mut machine), [2, 3]);
}

#[test]
fn a_server_that_never_has_the_next_event_is_hung_up_on() {
    let mut machine = following();
    for _ in 0..4 {
        machine.received(at(0), fact(&session(), 9));
        machine.received(at(0), subscribed(&session(), 0, 9));
    }
    assert!(commands(&mut machine).contains(&MachineCommand::HangUp));
}

#[test]
fn going_back_brings_all_again_and_the_answer_of_an_earlier_request_does_not_count() {
    let mut machine = following();
    machine.received(at(0), fact(&session(), 1));
    machine.add_subscription(at(0), &session(), 0);
    machine.add_subscription(at(0), &session(), 5);
    assert_eq!(
        sent(&mut machine),
        [
            "unsubscribe unsubscribe",
            "subscribe s2",
            "unsubscribe unsubscribe",
            "subscribe s3"
        ]
    );
    machine.received(at(0), subscribed(&session(), 0, 3));
    machine.received(at(0), fact(&session(), 1));
    assert_eq!(commands(&mut machine), []);
    machine.received(at(0), subscribed(&session(), 0, 4));
    machine.received(at(0), fact(&session(), 1));
    assert!(
        matches!(&commands(&mut machine)[..], [MachineCommand::Began(began), MachineCommand::Deliver(..)] if began.head_seq == 4)
    );
}

#[test]
fn silence_is_a_loss_and_the_client_is_not_silent_itself() {
    let mut machine = following();
    assert_eq!(machine.wake_at(), Some(15_000));
    machine.tick(at(15_000));
    assert_eq!(sent(&mut machine), ["ping ping"]);
    machine.received(
        at(20_000),
        notice(Heartbeat {
            at: 0,
            seen: Vec::new(),
        }),
    );
    machine.tick(at(30_000));
    assert_eq!(sent(&mut machine), ["ping ping"]);
    machine.tick(at(45_000));
    machine.tick(at(50_000));
    assert!(commands(&mut machine).contains(&MachineCommand::HangUp));
}

#[test]
fn each_step_has_its_time() {
    let mut machine = ReconnectMachine::new(MachineSettings::default());
    machine.add_subscription(at(0), &session(), 0);
    for step in 0..3 {
        let begin = machine.wake_at().unwrap();
        if step > 0 {
            machine.tick(at(begin));
            machine.opened(at(begin));
        }
        if step > 1 {
            machine.received(at(begin), notice(hello()));
            machine.credentials(at(begin), Ok(authenticate()));
        }
        commands(&mut machine);
        let until = machine.wake_at().unwrap();
        machine.tick(at(until));
        assert_eq!(commands(&mut machine)[0], MachineCommand::HangUp);
    }
}

#[test]
fn the_end_is_final_where_it_makes_no_sense_to_try_again() {
    let wrong_version = Hello {
        protocol: 2,
        ..hello()
    };
    let foreign = Err("it is another server".into());
    let endings: [&dyn Fn(&mut ReconnectMachine); 4] = [
        &|machine| machine.received(at(0), notice(wrong_version.clone())),
        &|machine| {
            machine.received(at(0), notice(hello()));
            machine.credentials(at(0), foreign.clone());
        },
        &|machine| {
            machine.received(at(0), notice(hello()));
            machine.credentials(at(0), Ok(authenticate()));
            let id = Some("authenticate".to_owned());
            machine.received(
                at(0),
                notice(Refused {
                    id,
                    problem: problem("unknown_person", None),
                }),
            );
        },
        &|machine| {
            let reason = "not allowed".into();
            machine.received(
                at(0),
                notice(Bye {
                    code: 1008,
                    reason,
                    retry_after_ms: None,
                }),
            );
        },
    ];
    for ending in endings {
        let mut machine = ReconnectMachine::new(MachineSettings::default());
        machine.add_subscription(at(0), &session(), 0);
        machine.opened(at(0));
        ending(&mut machine);
        let last = commands(&mut machine).pop();
        assert!(
            matches!(last, Some(MachineCommand::Notify(ConnectionState::GaveUp { .. }))),
            "{last:?}"
        );
        assert_eq!(machine.wake_at(), None);
    }
}

#[test]
fn a_server_that_leaves_says_when_it_comes_back() {
    let mut machine = following();
    let bye = Bye {
        code: 1001,
        reason: "it restarts".into(),
        retry_after_ms: Some(1_000),
    };
    machine.received(Moment { ms: 5, random: 77 }, notice(bye));
    assert_eq!(machine.wake_at(), Some(5 + 1_000 + 77));
}

#[test]
fn a_session_that_is_refused_ends_and_the_others_go_on() {
    let mut machine = following();
    let other = SessionId::new("ses_2");
    machine.add_subscription(at(0), &other, 0);
    let id = Some("s2".to_owned());
    machine.received(
        at(0),
        notice(Refused {
            id,
            problem: problem("no_session", None),
        }),
    );
    let ended = MachineCommand::Ended(other, RequestFailure::Refused(problem("no_session", None)));
    assert!(commands(&mut machine).contains(&ended));
    let later = Unsubscribed {
        session_id: session(),
        problem: problem("busy", Some(500)),
    };
    machine.received(at(0), notice(later));
    machine.tick(at(500));
    assert_eq!(sent(&mut machine), ["subscribe s3"]);
    machine.received(at(500), subscribed(&session(), 0, 3));
    let gone = Unsubscribed {
        session_id: session(),
        problem: problem("gone", None),
    };
    machine.received(at(500), notice(gone));
    assert!(matches!(
        commands(&mut machine).pop(),
        Some(MachineCommand::Ended(..))
    ));
}

#[test]
fn a_log_that_lost_events_is_not_followed() {
    let mut machine = ReconnectMachine::new(MachineSettings::default());
    machine.add_subscription(at(0), &session(), 9);
    live(&mut machine, 0);
    machine.received(at(0), subscribed(&session(), 9, 4));
    let last = commands(&mut machine).pop();
    assert!(
        matches!(last, Some(MachineCommand::Ended(_, RequestFailure::Refused(problem))) if problem.code == "went_back")
    );
}

/// A fact at the same position as another one, in a log that was replaced.
fn written_anew(seq: u64) -> Result<IncomingFrame, String> {
    let Ok(IncomingFrame::Fact(fact, bytes)) = fact(&session(), seq) else {
        panic!("no fact")
    };
    let mut fact = Envelope::clone(&fact);
    fact.at = Timestamp(8);
    Ok(IncomingFrame::Fact(Arc::new(fact), bytes))
}

/// A machine that has events 1 to 3 and has reconnected.
fn back_again() -> ReconnectMachine {
    let mut machine = following();
    for seq in 1..=3 {
        machine.received(at(0), fact(&session(), seq));
    }
    machine.closed(at(0), "cut".into());
    let now = machine.wake_at().unwrap();
    machine.tick(at(now));
    live(&mut machine, now);
    commands(&mut machine);
    machine
}

/// Returns the deliveries, and the code with which the session ended.
fn delivered_until_the_end(machine: &mut ReconnectMachine) -> (Vec<u64>, Option<String>) {
    let (mut seqs, mut code) = (Vec::new(), None);
    for command in commands(machine) {
        match command {
            MachineCommand::Deliver(fact, _) => seqs.push(fact.seq),
            MachineCommand::Ended(_, RequestFailure::Refused(problem)) => code = Some(problem.code),
            _ => {}
        }
    }
    (seqs, code)
}

#[test]
fn a_log_that_went_back_and_grew_past_the_reader_is_not_followed() {
    let mut machine = back_again();
    machine.received(at(500), subscribed(&session(), 2, 9));
    machine.received(at(500), written_anew(3));
    machine.received(at(500), written_anew(4));
    let (seqs, code) = delivered_until_the_end(&mut machine);
    assert_eq!((seqs, code.as_deref()), (vec![], Some("went_back")));
}

#[test]
fn a_log_that_went_back_to_just_before_the_last_event_is_not_followed() {
    let mut machine = back_again();
    machine.received(at(500), subscribed(&session(), 2, 2));
    let (seqs, code) = delivered_until_the_end(&mut machine);
    assert_eq!((seqs, code.as_deref()), (vec![], Some("went_back")));
}

#[test]
fn the_last_event_is_compared_also_where_somebody_wanted_earlier_ones_again() {
    let mut machine = back_again();
    machine.add_subscription(at(400), &session(), 1);
    machine.received(at(500), subscribed(&session(), 2, 9));
    machine.received(at(500), subscribed(&session(), 1, 9));
    machine.received(at(500), fact(&session(), 2));
    machine.received(at(500), written_anew(3));
    let (seqs, code) = delivered_until_the_end(&mut machine);
    assert_eq!((seqs, code.as_deref()), (vec![2], Some("went_back")));
}

#[test]
fn what_comes_before_the_last_event_came_again_does_not_count() {
    let mut machine = back_again();
    machine.received(at(500), subscribed(&session(), 2, 9));
    machine.received(at(500), fact(&session(), 4));
    assert_eq!(sent(&mut machine), ["unsubscribe unsubscribe", "subscribe s3"]);
    machine.received(at(500), subscribed(&session(), 2, 9));
    machine.received(at(500), fact(&session(), 3));
    machine.received(at(500), fact(&session(), 4));
    assert_eq!(delivered(&mut machine), [4]);
}

#[test]
fn a_request_is_sent_again_until_it_is_answered_but_not_for_ever() {
    let mut machine = following();
    machine.request(at(0), 1, Ping {}.into());
    assert_eq!(sent(&mut machine), ["ping r1"]);
    let mut now = 0;
    for _ in 0..2 {
        machine.closed(at(now), "cut".into());
        now = machine.wake_at().unwrap();
        machine.tick(at(now));
        live(&mut machine, now);
        assert!(sent(&mut machine).contains(&"ping r1".to_owned()));
    }
    machine.closed(at(now), "cut".into());
    let answer = commands(&mut machine)
        .into_iter()
        .find_map(|command| match command {
            MachineCommand::Answer { answer, sends, .. } => Some((answer, sends)),
            _ => None,
        });
    assert!(matches!(answer, Some((Err(RequestFailure::Connection(_)), 3))));
}

#[test]
fn a_request_too_many_is_sent_again_when_the_server_says() {
    let mut machine = following();
    machine.request(at(0), 1, Ping {}.into());
    commands(&mut machine);
    let refused = Refused {
        id: Some("r1".into()),
        problem: problem("rate_limited", Some(40)),
    };
    machine.received(at(5), notice(refused));
    assert_eq!((sent(&mut machine).len(), machine.wake_at()), (0, Some(45)));
    machine.tick(at(45));
    assert_eq!(sent(&mut machine), ["ping r1"]);
    machine.received(at(46), notice(accepted("r1")));
    assert!(matches!(
        &commands(&mut machine)[..],
        [MachineCommand::Answer {
            token: 1,
            sends: 1,
            ..
        }]
    ));
}

#[test]
fn an_event_that_cannot_be_read_ends_its_session_and_no_other() {
    let mut machine = following();
    let strange = IncomingFrame::Strange {
        session_id: session(),
        seq: 1,
        what: "words".into(),
    };
    machine.received(at(0), Ok(strange));
    let last = commands(&mut machine).pop();
    assert!(
        matches!(last, Some(MachineCommand::Ended(_, RequestFailure::Refused(problem))) if problem.code == "not_understood")
    );
    machine.received(at(0), Err("garbage".into()));
    assert!(commands(&mut machine).contains(&MachineCommand::HangUp));
}
