//! Following: from every place, in both views, while it continues, and to its end.

use agentx::runtime::{Delivery, Runtime as _, View};
use agentx::types::{ApprovalMode, RunStatus, RuntimeEvent};
use agentx_testing::{Gate, ModelScript};
use serde_json::json;

use crate::place::{Place, all};

pub(crate) async fn each_view_is_the_same_from_every_place(place: Place) {
    place.model.push(ModelScript::call(
        "call_1",
        "bash",
        json!({ "command": "echo hello" }),
    ));
    place.model.push(ModelScript::text("well"));
    let mut talk = place.open(ApprovalMode::Auto).await;
    talk.say("do it").await;
    talk.ends().await;
    let id = talk.session.id().clone();
    talk.session.close().await;
    let head = place.facts(&id).await.len() as u64;
    for view in [View::Environment, View::Runtime] {
        for after in 0..=head + 2 {
            let here = place.runtime.watch(&id, after, view, false).await.unwrap();
            let there = place.node.watch(&id, after, view, false).await.unwrap();
            assert_eq!(all(here).await, all(there).await, "{view:?} after {after}");
        }
    }
}

pub(crate) async fn what_happens_comes_after_what_was_there(place: Place) {
    let gate = Gate::closed();
    place.model.push(
        ModelScript::new()
            .then_pieces(&["one ", "two "])
            .then_stall(&gate)
            .then_text("three"),
    );
    let mut talk = place.open(ApprovalMode::Auto).await;
    talk.say("count").await;
    talk.until(|event| matches!(event, RuntimeEvent::TextDelta(delta) if delta.text == "two "))
        .await;
    let mut seen = talk.session.subscribe(0, View::Environment).await.unwrap();
    let (mut seqs, mut caught_up) = (Vec::new(), None);
    while caught_up.is_none() {
        match seen.next().await.unwrap() {
            Delivery::Environment(fact) => seqs.push(fact.seq),
            Delivery::CaughtUp(head) => caught_up = Some(head),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(caught_up, seqs.last().copied());
    gate.open();
    assert_eq!(talk.ends().await.status, RunStatus::Completed);
    let head = talk.session.state().await.unwrap().last_seq;
    while seqs.last() != Some(&head) {
        if let Some(Delivery::Environment(fact)) = seen.next().await {
            seqs.push(fact.seq);
        }
    }
    assert!(seqs.into_iter().eq(1..=head), "a gap or a double");
}

pub(crate) async fn many_readers_get_the_same(place: Place) {
    let mut talk = place.open(ApprovalMode::Auto).await;
    let mut readers = Vec::new();
    for (number, view) in [View::Runtime, View::Environment, View::Runtime, View::Environment]
        .into_iter()
        .enumerate()
    {
        place.model.push(ModelScript::new().then_pieces(&["a ", "b "]));
        talk.say("go on").await;
        readers.push((
            view,
            talk.session.subscribe(number as u64 * 2, view).await.unwrap(),
        ));
        talk.ends().await;
    }
    let id = talk.session.id().clone();
    let head = place.facts(&id).await.len() as u64;
    for (number, (view, mut events)) in readers.into_iter().enumerate() {
        let whole = place
            .node
            .watch(&id, number as u64 * 2, view, false)
            .await
            .unwrap();
        let expected: Vec<String> = all(whole)
            .await
            .into_iter()
            .filter(|line| !line.starts_with("caught up"))
            .collect();
        let mut got = Vec::new();
        while got.len() < expected.len() {
            match events.next().await.unwrap() {
                Delivery::Environment(fact) => got.push(serde_json::to_string(&*fact).unwrap()),
                Delivery::Runtime(event) => got.push(serde_json::to_string(&*event).unwrap()),
                Delivery::CaughtUp(seq) => assert!(seq <= head),
                Delivery::CutOff(why) => panic!("{why}"),
            }
        }
        assert_eq!(got, expected, "reader {number}");
    }
}

pub(crate) async fn the_end_of_a_session_ends_its_readers(place: Place) {
    let mut talk = place.open(ApprovalMode::Auto).await;
    talk.session.close().await;
    while let Some(delivery) = talk.events.next().await {
        assert!(!matches!(delivery, Delivery::CutOff(_)), "{delivery:?}");
    }
}
