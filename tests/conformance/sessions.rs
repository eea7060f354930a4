//! Managing sessions: continuing, changing, naming, listing, finding, forking and deleting them.

use agentx::runtime::{LogError, OpenRequest, Runtime as _, RuntimeError, SessionQuery, View};
use agentx::types::{ApprovalMode, ConfigChange, Limits, OwnerId, RunStatus, SessionId};
use agentx_testing::ModelScript;

use crate::place::{Place, all};

fn query(place: &Place) -> SessionQuery {
    SessionQuery {
        owner: place.runtime.owner().clone(),
        workspace: None,
        limit: 10,
        before: None,
    }
}

pub(crate) async fn a_session_goes_on_where_it_was(place: Place) {
    let id = place.told(&["one"]).await;
    let limits = Limits {
        max_iterations: Some(7),
        ..Limits::default()
    };
    let request = OpenRequest::Resume(id.clone(), vec![ConfigChange::Limits(limits)]);
    let mut talk = place.talk(place.runtime.open(request).await.unwrap()).await;
    assert_eq!(talk.session.id(), &id);
    let state = talk.session.state().await.unwrap();
    assert_eq!(state.config.limits.max_iterations, Some(7));
    place.model.push(ModelScript::text("two"));
    let seq = talk.say("say two").await;
    let (first, second) = (talk.ends().await, talk.ends().await);
    assert_eq!(
        (first.status, second.status),
        (RunStatus::Completed, RunStatus::Completed)
    );
    assert_eq!(second.run_id, agentx::types::RunId::of_input(seq));
    let last = place.model.requests().pop().unwrap();
    let said: Vec<String> = last.messages.iter().map(|message| message.text()).collect();
    assert_eq!(said, ["say one", "one", "say two"]);
}

pub(crate) async fn changes_are_kept(place: Place) {
    let talk = place.open(ApprovalMode::Auto).await;
    let seq = talk
        .session
        .change(ConfigChange::Approval(ApprovalMode::Ask))
        .await
        .unwrap();
    let state = talk.session.state().await.unwrap();
    assert_eq!(state.config.approval, ApprovalMode::Ask);
    // A server records the key of the request behind it.
    assert_eq!(state.last_seq, seq + u64::from(place.remote.is_some()));
    let facts = place.facts(talk.session.id()).await;
    assert_eq!(
        agentx::types::Vocabulary::tag(&facts[usize::try_from(seq).unwrap() - 1].event),
        "config_changed"
    );
}

pub(crate) async fn a_title_is_listed(place: Place) {
    let talk = place.open(ApprovalMode::Auto).await;
    let seq = talk.session.rename("Lunch".into()).await.unwrap();
    let last = talk.session.state().await.unwrap().last_seq;
    assert_eq!(last, seq + u64::from(place.remote.is_some()));
    let listed = place.runtime.sessions(query(&place)).await.unwrap();
    assert_eq!(listed[0].title, "Lunch");
}

pub(crate) async fn lists_have_an_order_and_bounds(place: Place) {
    let mut ids = Vec::new();
    for answer in ["one", "two", "three"] {
        ids.push(place.told(&[answer]).await);
    }
    let list = async |query: SessionQuery| {
        let found = place.runtime.sessions(query.clone()).await.unwrap();
        assert_eq!(found, place.node.sessions(query).await.unwrap());
        found
    };
    let found = list(query(&place)).await;
    let listed: Vec<&SessionId> = found.iter().map(|info| &info.session_id).collect();
    assert_eq!(listed, [&ids[2], &ids[1], &ids[0]]);
    assert_eq!(found[0].messages, 2);
    let bounded = |limit| SessionQuery {
        limit,
        ..query(&place)
    };
    assert_eq!(list(bounded(2)).await.len(), 2);
    assert_eq!(list(bounded(0)).await.len(), 0);
    let within = |workspace: &str| SessionQuery {
        workspace: Some(workspace.to_owned()),
        ..query(&place)
    };
    assert_eq!(list(within(&place.workspace().to_string_lossy())).await.len(), 3);
    assert_eq!(list(within("/nowhere")).await.len(), 0);
    let before = Some(found[1].updated_at);
    let older = list(SessionQuery {
        before,
        ..query(&place)
    })
    .await;
    assert_eq!(
        older.iter().map(|info| &info.session_id).collect::<Vec<_>>(),
        [&ids[0]]
    );
    // A query for another person's sessions returns one's own.
    let others = SessionQuery {
        owner: OwnerId::new("own_other"),
        ..query(&place)
    };
    assert_eq!(list(others).await.len(), 3);
}

pub(crate) async fn an_id_is_found_by_its_beginning(place: Place) {
    let id = place.told(&["one"]).await;
    let word = id.as_str().trim_start_matches(SessionId::PREFIX);
    for prefix in [id.as_str(), word, &word[..6]] {
        assert_eq!(place.runtime.resolve(prefix).await.unwrap(), id, "{prefix}");
    }
    let other = place.told(&["two"]).await;
    let error = place.runtime.resolve(SessionId::PREFIX).await.unwrap_err();
    let RuntimeError::Ambiguous { prefix, mut ids } = error else {
        panic!("{error}")
    };
    ids.sort();
    let mut both = vec![id.to_string(), other.to_string()];
    both.sort();
    assert_eq!((prefix.as_str(), ids), (SessionId::PREFIX, both));
}

pub(crate) async fn a_fork_has_all_up_to_its_point(place: Place) {
    let id = place.told(&["one", "two"]).await;
    let facts = place.facts(&id).await;
    let whole = place.runtime.fork(&id, None).await.unwrap();
    assert_eq!(place.facts(&whole).await.len(), facts.len());
    let point = facts.len() as u64 - 5;
    let part = place.runtime.fork(&id, Some(point)).await.unwrap();
    let seen = place
        .runtime
        .watch(&part, 0, View::Environment, false)
        .await
        .unwrap();
    assert!(
        all(seen).await.len() as u64 > point,
        "all up to there, and that it is caught up"
    );
    let both = facts.iter().zip(place.facts(&part).await);
    let same = both.take_while(|(one, other)| one.event == other.event && one.at == other.at);
    assert_eq!(same.count() as u64, point);
    let request = OpenRequest::Resume(part.clone(), vec![]);
    let mut talk = place.talk(place.runtime.open(request).await.unwrap()).await;
    place.model.push(ModelScript::text("another two"));
    let seq = talk.say("again").await;
    let run = agentx::types::RunId::of_input(seq);
    while talk.ends().await.run_id != run {}
    assert_eq!(
        place.facts(&id).await.len(),
        facts.len(),
        "the one that it was forked from is as it was"
    );
    talk.session.close().await;
    assert_eq!(place.runtime.replay(&part).await.unwrap().divergence, None);
}

pub(crate) async fn a_session_that_was_deleted_is_gone(place: Place) {
    let id = place.told(&["one"]).await;
    place.runtime.delete(&id).await.unwrap();
    assert_eq!(place.runtime.sessions(query(&place)).await.unwrap(), []);
    let gone = |error: RuntimeError| matches!(error, RuntimeError::Log(LogError::NotFound(_)));
    assert!(gone(place.runtime.delete(&id).await.unwrap_err()));
    assert!(gone(
        place
            .runtime
            .watch(&id, 0, View::Runtime, false)
            .await
            .err()
            .unwrap()
    ));
}
