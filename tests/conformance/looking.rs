//! Inspecting a session: verifying, replaying and searching it, and the requests to its models.

use agentx::runtime::Runtime as _;
use agentx::types::{ApprovalMode, Condensing, StuckSettings};

use crate::place::Place;

pub(crate) async fn what_is_stored_is_good_and_derives_again(place: Place) {
    let id = place.told(&["one", "two"]).await;
    let report = place.runtime.verify(&id).await.unwrap();
    assert_eq!(report, place.node.verify(&id).await.unwrap());
    assert_eq!(report.problems, Vec::<String>::new());
    assert_eq!(report.last_seq, place.facts(&id).await.len() as u64);
    let report = place.runtime.replay(&id).await.unwrap();
    assert_eq!(report, place.node.replay(&id).await.unwrap());
    assert_eq!(
        (report.divergence, report.facts),
        (None, place.facts(&id).await.len() as u64)
    );
}

pub(crate) async fn the_request_of_a_model_is_shown(place: Place) {
    let id = place.told(&["one", "two"]).await;
    let facts = place.facts(&id).await;
    for at in [None, Some(6), Some(facts.len() as u64)] {
        let here = place.runtime.context(&id, at).await.unwrap();
        assert_eq!(here, place.node.context(&id, at).await.unwrap(), "{at:?}");
        assert!(here.body.contains("say one"), "{}", here.body);
    }
    let early = place.runtime.context(&id, Some(1)).await.unwrap_err();
    assert_eq!(
        early.to_string(),
        place.node.context(&id, Some(1)).await.unwrap_err().to_string()
    );
}

pub(crate) async fn words_are_found(place: Place) {
    let id = place.told(&["an armadillo"]).await;
    place.told(&["a badger"]).await;
    let hits = place.runtime.search("armadillo", 10).await.unwrap();
    assert_eq!(hits, place.node.search("armadillo", 10).await.unwrap());
    assert!(
        hits.len() == 2 && hits.iter().all(|hit| hit.session_id == id),
        "{hits:?}"
    );
    assert_eq!(place.runtime.search("say", 1).await.unwrap().len(), 1);
    assert_eq!(place.runtime.search("zebra", 10).await.unwrap(), []);
}

pub(crate) async fn models_and_tools_are_those_of_the_runtime(place: Place) {
    assert_eq!(place.runtime.models(), place.node.models());
    assert_eq!(place.runtime.tools(), place.node.tools());
    assert_eq!(place.runtime.owner(), place.node.owner());
    let talk = place.open(ApprovalMode::Auto).await;
    let mut config = place.config(ApprovalMode::Auto);
    if place.remote.is_some() {
        // If a client says nothing about it, a server's setting counts.
        config.condensing = Some(Box::new(Condensing {
            keeps_beginning: true,
            ..Condensing::default()
        }));
        config.stuck = Some(StuckSettings::default());
    }
    let state = talk.session.state().await.unwrap();
    // A server's rules are not a part of the agent that is asked for.
    config.server_rules.clone_from(&state.config.server_rules);
    assert_eq!(state.config, config);
}
