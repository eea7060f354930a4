//! The errors of every runtime carry a specific kind.

use agentx::runtime::{LogError, OpenRequest, Runtime as _, RuntimeError, View};
use agentx::types::{ApprovalMode, ConfigChange, SessionId};

use crate::place::{Place, input};

pub(crate) async fn what_is_not_there_is_not_there(place: Place) {
    let nobody = SessionId::new("ses_nobody");
    let runtime = &place.runtime;
    let errors = [
        runtime
            .open(OpenRequest::Resume(nobody.clone(), vec![]))
            .await
            .err()
            .unwrap(),
        runtime
            .watch(&nobody, 0, View::Environment, false)
            .await
            .err()
            .unwrap(),
        runtime
            .watch(&nobody, 0, View::Runtime, true)
            .await
            .err()
            .unwrap(),
        runtime.fork(&nobody, None).await.unwrap_err(),
        runtime.delete(&nobody).await.unwrap_err(),
        runtime.verify(&nobody).await.unwrap_err(),
        runtime.replay(&nobody).await.unwrap_err(),
        runtime.context(&nobody, None).await.unwrap_err(),
    ];
    for error in errors {
        let is_it = matches!(&error, RuntimeError::Log(LogError::NotFound(what)) if what == "ses_nobody");
        assert!(is_it, "{error:?}");
    }
    let error = runtime.resolve("nobody").await.unwrap_err();
    assert!(
        matches!(&error, RuntimeError::Log(LogError::NotFound(what)) if what == "nobody"),
        "{error:?}"
    );
}

pub(crate) async fn what_makes_no_sense_is_refused(place: Place) {
    let id = place.told(&["one"]).await;
    for at_seq in [0, 10_000] {
        let here = place.runtime.fork(&id, Some(at_seq)).await.unwrap_err();
        let there = place.node.fork(&id, Some(at_seq)).await.unwrap_err();
        assert!(matches!(here, RuntimeError::Refused(_)), "{here:?}");
        assert_eq!(here.to_string(), there.to_string());
    }
    let empty = place.open(ApprovalMode::Auto).await;
    let here = place.runtime.context(empty.session.id(), None).await.unwrap_err();
    assert!(matches!(here, RuntimeError::Refused(_)), "{here:?}");
}

pub(crate) async fn a_session_that_was_closed_says_so(place: Place) {
    let talk = place.open(ApprovalMode::Auto).await;
    let session = talk.session;
    session.close().await;
    session.close().await;
    let errors = [
        session.send(input("late")).await.unwrap_err(),
        session.interrupt(None).await.unwrap_err(),
        session.rename("late".into()).await.unwrap_err(),
        session
            .change(ConfigChange::Approval(ApprovalMode::Ask))
            .await
            .unwrap_err(),
        session.state().await.unwrap_err(),
    ];
    for error in errors {
        assert!(
            matches!(&error, RuntimeError::Gone { session: id, .. } if id == session.id()),
            "{error:?}"
        );
    }
}

pub(crate) async fn a_model_that_cannot_be_asked_is_named(place: Place) {
    let mut config = place.config(ApprovalMode::Auto);
    config.model.provider = "elsewhere".into();
    let error = place
        .runtime
        .open(OpenRequest::New(Box::new(config.clone())))
        .await
        .err()
        .unwrap();
    assert!(
        matches!(&error, RuntimeError::Unavailable { what, .. } if what == "set ELSEWHERE_KEY"),
        "{error:?}"
    );
    let id = place.told(&["one"]).await;
    let changes = vec![ConfigChange::Model(Box::new(config.model))];
    let error = place
        .runtime
        .open(OpenRequest::Resume(id, changes))
        .await
        .err()
        .unwrap();
    assert!(matches!(&error, RuntimeError::Unavailable { .. }), "{error:?}");
}
