//! Samples of every frame of a client, and of everything that a server sends besides events.

use agentx_types::wire::{Heartbeat, *};
use agentx_types::*;
use serde_json::{Value, json};

use super::parts::*;

fn frame(id: &str, request: impl Into<ClientRequest>) -> ClientFrame {
    ClientFrame {
        id: id.to_owned(),
        request: request.into(),
    }
}

/// Every type with every field set, then the smallest forms.
pub(crate) fn client_frames() -> Vec<ClientFrame> {
    let mut requests = vec![
        Authenticate {
            public_key: Some("ed25519:AAAA".into()),
            signature: Some("BBBB".into()),
            client: "laptop".into(),
        }
        .into(),
    ];
    requests.extend(inputs());
    requests.extend(readings());
    requests.extend(wishes());
    requests.extend(small_requests());
    let numbered = requests.into_iter().enumerate();
    numbered
        .map(|(index, request): (usize, ClientRequest)| frame(&format!("c{}", index + 1), request))
        .collect()
}

fn inputs() -> Vec<ClientRequest> {
    let said = UserInputFrame {
        session_id: "ses_1".into(),
        content: every_content_part(),
        mode: InputMode::Steer,
        idempotency_key: Some("k1".into()),
        client_timestamp_utc: Some("2026-11-21T10:00:00Z".into()),
        client_timezone_offset: Some(-90),
        wheel_epoch: Some(3),
        answer_schema: None,
    };
    let command = CommandFrame {
        session_id: "ses_1".into(),
        command: "rename".into(),
        args: json!({"title": "Lunch"}),
        wheel_epoch: Some(3),
        idempotency_key: Some("key_1".into()),
    };
    let approval = ApprovalFrame {
        session_id: "ses_1".into(),
        tool_call_id: "call_1".into(),
        decision: ApprovalDecision::Session,
        note: Some("carefully".into()),
        rule: Some(Box::new(rule())),
    };
    let stop = InterruptFrame {
        session_id: "ses_1".into(),
        reason: Some("enough".into()),
        wheel_epoch: Some(3),
        idempotency_key: Some("key_1".into()),
    };
    vec![said.into(), command.into(), approval.into(), stop.into()]
}

fn readings() -> Vec<ClientRequest> {
    vec![
        Subscribe {
            session_id: "ses_1".into(),
            after_seq: 17,
            view: WireView::Environment,
            agents: vec![],
            media: vec![],
        }
        .into(),
        Subscribe {
            session_id: "ses_1".into(),
            after_seq: 0,
            view: WireView::Runtime,
            agents: vec!["agt_1".into()],
            media: vec![Medium::Text, Medium::Named("chapters".into())],
        }
        .into(),
        Unsubscribe {
            session_id: "ses_1".into(),
        }
        .into(),
        Ping {}.into(),
    ]
}

fn wishes() -> Vec<ClientRequest> {
    let wishes = [
        WheelWish::Ask,
        WheelWish::Take,
        WheelWish::Hand(seat()),
        WheelWish::Release,
    ];
    for wish in &wishes {
        // Exhaustive: a new request does not compile until it has a line here.
        match wish {
            WheelWish::Ask | WheelWish::Take | WheelWish::Hand(_) | WheelWish::Release => {}
        }
    }
    let of = |wish| WheelFrame {
        session_id: "ses_1".into(),
        wish,
    };
    wishes.map(|wish| of(wish).into()).into()
}

fn small_requests() -> Vec<ClientRequest> {
    let visitor = Authenticate {
        public_key: None,
        signature: None,
        client: "page".into(),
    };
    let said = UserInputFrame {
        session_id: "ses_1".into(),
        content: vec![ContentPart::text("hi")],
        mode: InputMode::Queue,
        idempotency_key: None,
        client_timestamp_utc: None,
        client_timezone_offset: None,
        wheel_epoch: None,
        answer_schema: None,
    };
    let command = CommandFrame {
        session_id: "ses_1".into(),
        command: "share".into(),
        args: Value::Null,
        wheel_epoch: None,
        idempotency_key: None,
    };
    let approval = ApprovalFrame {
        session_id: "ses_1".into(),
        tool_call_id: "call_1".into(),
        decision: ApprovalDecision::Once,
        note: None,
        rule: None,
    };
    let stop = InterruptFrame {
        session_id: "ses_1".into(),
        reason: None,
        wheel_epoch: None,
        idempotency_key: None,
    };
    vec![
        visitor.into(),
        said.into(),
        command.into(),
        approval.into(),
        stop.into(),
    ]
}

fn problem() -> Problem {
    Problem {
        code: "busy".into(),
        detail: "session ses_1 is in use by process 7".into(),
        retry_after_ms: Some(1_000),
        data: json!({"session": "ses_1", "process": 7}),
    }
}

fn small_problem() -> Problem {
    Problem {
        code: "bad_request".into(),
        detail: "that is not JSON".into(),
        retry_after_ms: None,
        data: Value::Null,
    }
}

/// A person with a name, and one without.
pub(crate) fn people() -> Vec<Person> {
    vec![
        Person {
            person: "own_2".into(),
            name: Some("Mira".into()),
            visitor: false,
        },
        Person {
            person: VISITORS.into(),
            name: None,
            visitor: true,
        },
    ]
}

/// Every notice with every field set, then the smallest forms.
pub(crate) fn notices() -> Vec<ServerNotice> {
    [answers(), following(), presence(), small_notices()].concat()
}

fn answers() -> Vec<ServerNotice> {
    let hello = Hello {
        protocol: PROTOCOL,
        server: "agentx 0.1.0".into(),
        nonce: "bm9uY2U".into(),
        origin: "http://127.0.0.1:5200".into(),
        expires_at_ms: 1_763_629_260_000,
        proof: Some("c2lnbmVk".into()),
        visitors: true,
        heartbeat_ms: 15_000,
    };
    let without_proof = Hello {
        proof: None,
        ..hello.clone()
    };
    let accepted = Accepted {
        id: "c1".into(),
        seq: Some(18),
        result: json!(people()[0]),
    };
    let refused = Refused {
        id: Some("c2".into()),
        problem: problem(),
    };
    vec![
        hello.into(),
        without_proof.into(),
        accepted.into(),
        refused.into(),
    ]
}

fn following() -> Vec<ServerNotice> {
    vec![
        Subscribed {
            session_id: "ses_1".into(),
            view: WireView::Ui,
            after_seq: 17,
            head_seq: 40,
            role: SessionRole::Drive,
        }
        .into(),
        CaughtUp {
            session_id: "ses_1".into(),
            seq: 40,
        }
        .into(),
        Unsubscribed {
            session_id: "ses_1".into(),
            problem: problem(),
        }
        .into(),
        Heartbeat {
            seen: vec![Seen {
                session_id: "ses_1".into(),
                seq: 17,
            }],
            at: 1_763_629_200_123_456,
        }
        .into(),
        Heartbeat { seen: vec![], at: 1 }.into(),
        Bye {
            code: 1001,
            reason: "the server ends".into(),
            retry_after_ms: Some(1_000),
        }
        .into(),
    ]
}

fn presence() -> Vec<ServerNotice> {
    let there = Present {
        seat: seat(),
        role: SessionRole::Drive,
        driving: true,
    };
    let wheel = Wheel {
        session_id: "ses_1".into(),
        epoch: 3,
        seat: Some(seat()),
        reason: Some(WheelReason::Taken),
        asked_by: Some(Seat {
            person: "own_3".into(),
            client: "phone".into(),
        }),
    };
    vec![
        Presence {
            session_id: "ses_1".into(),
            people: vec![there],
        }
        .into(),
        wheel.into(),
        waiting(Some("ada")),
        waiting(None),
    ]
}

fn waiting(owner_name: Option<&str>) -> ServerNotice {
    ApprovalWaiting {
        session_id: "ses_1".into(),
        owner: "own_2".into(),
        owner_name: owner_name.map(str::to_owned),
        tool_call_id: "call_1".into(),
        name: "bash".into(),
    }
    .into()
}

fn small_notices() -> Vec<ServerNotice> {
    let wheel = Wheel {
        session_id: "ses_1".into(),
        epoch: 0,
        seat: None,
        reason: None,
        asked_by: None,
    };
    vec![
        Accepted {
            id: "c3".into(),
            seq: None,
            result: Value::Null,
        }
        .into(),
        Refused {
            id: None,
            problem: small_problem(),
        }
        .into(),
        wheel.into(),
        Bye {
            code: 1008,
            reason: "not allowed".into(),
            retry_after_ms: None,
        }
        .into(),
    ]
}
