//! A model refuses a request after a person has chosen another one.

use agentx_types::*;

use crate::harness::*;
use crate::repair::keeping;

/// While a model is called, a person chooses another one; then the first one refuses the request.
fn refused_after_a_switch(version: u32, code: &str, overflow: Option<Overflow>) -> Session {
    let mut session = Session::started_with_rules(version, |config| {
        keeping(config);
        config.model.context_window = 100_000;
    });
    let mut other = session.react().config().model.clone();
    other.id = "another".into();
    session.change(ConfigChange::Model(Box::new(other)));
    let failed = AttemptFailed {
        attempt: 1,
        code: code.into(),
        message: "no".into(),
        status: Some(400),
        retry_in_ms: None,
        gives_up_in_ms: None,
        overflow: overflow.map(Box::new),
        refused: overflow.is_none().then_some(RequestPart::Extras),
        longest_answer: None,
        most_media: None,
        no_thinking: false,
        refused_place: None,
    };
    session.model(vec![failed.into(), error_event(code, "no")]);
    session
}

#[test]
fn what_one_model_refuses_changes_no_request_to_the_one_that_was_chosen_since() {
    let full = Overflow {
        window: Some(8_000),
        ..Overflow::default()
    };
    for (code, overflow) in [("bad_request", None), ("context_window", Some(full))] {
        let mut session = refused_after_a_switch(RULES_VERSION, code, overflow);
        assert_eq!(session.request().model.id, "another", "{code}");
        assert!(!session.request().plain, "{code}");
        assert_eq!(session.request().model.context_window, 100_000, "{code}");
        assert_eq!(session.repairs(), [], "{code}");
        session.answer("done");
        session.check_replay();
    }
    let session = refused_after_a_switch(8, "bad_request", None);
    assert!(session.request().plain, "older sessions go on as they did");
}
