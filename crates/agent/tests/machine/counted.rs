//! Masking and leaving out by count, without a model: when, what stays, and that it can be undone.

use agentx_types::*;
use serde_json::json;

use crate::condensing::small;
use crate::harness::*;

impl Session {
    /// The request for a text that no model writes is answered with that text.
    fn replaced(&mut self) -> Condense {
        let (action, condense) = self.condense().expect("something is due");
        self.open.retain(|open| open.action_id != action.action_id);
        let written = condense.written.clone().expect("no model is asked");
        let condensed = ContextCondensed {
            from_seq: condense.from_seq,
            to_seq: condense.to_seq,
            summary: written,
            kept: condense.kept.clone(),
            bill: None,
            masked: condense.masked.clone(),
        };
        self.fact(Some(&action.action_id), action.run_id, condensed);
        condense
    }

    /// Rounds until something is due.
    fn rounds_until_due(&mut self, most: usize) -> usize {
        for round in 0..most {
            if self.condense().is_some() {
                return round;
            }
            self.round(&format!("c{round}"), 200);
        }
        panic!("nothing was ever due");
    }
}

fn with(change: impl FnOnce(&mut Condensing)) -> Session {
    Session::started(|config| {
        config.rules_version = RULES_VERSION;
        let mut condensing = Condensing::of_new_agent();
        change(&mut condensing);
        config.condensing = Some(Box::new(condensing));
    })
}

/// The results in the open request, by the beginning of their text.
fn results(session: &Session) -> Vec<String> {
    let sent = session.sent();
    let results = sent.iter().filter_map(|line| line.strip_prefix("tool: "));
    results.map(|line| line.chars().take(40).collect()).collect()
}

#[test]
fn results_before_the_latest_ones_are_masked_in_steps_and_come_back() {
    let mut session = with(|condensing| condensing.masks = Some(4));
    assert_eq!(session.rounds_until_due(20), 6, "two more than four");
    let before = session.conversation();
    let condense = session.replaced();
    assert_eq!(condense.masked, ["look"]);
    assert!(condense.request.messages.is_empty(), "nothing is sent to a model");
    let sent = results(&session);
    assert_eq!(sent.len(), 6);
    for (at, text) in sent.iter().enumerate() {
        let is_masked = text.contains("[This output is left out");
        assert_eq!(is_masked, at < 2, "{at}: {text}");
    }
    let whole: Vec<String> = session.conversation();
    assert!(
        whole
            .iter()
            .any(|line| line.contains("older than the latest 4 results of tools. `recall` with `from: ")),
        "{whole:?}"
    );
    assert!(session.request().tools.iter().any(|tool| tool.name == "recall"));

    session.answer("done");
    assert!(session.undo());
    assert_eq!(session.conversation()[..before.len()], before);
    session.say("more");
    assert!(
        session.asked().is_some(),
        "what was undone is not masked again at once"
    );
    session.check_replay();
}

#[test]
fn results_that_no_model_has_read_stay() {
    let mut session = with(|condensing| condensing.masks = Some(0));
    session.calls(&[
        ("a", "look", json!({"path": "a"})),
        ("b", "look", json!({"path": "b"})),
    ]);
    for id in ["a", "b"] {
        session.result(id, &"word ".repeat(200));
    }
    assert!(session.asked().is_some(), "both results are new");
    session.round("c", 200);
    let condense = session.replaced();
    assert_eq!(condense.masked, ["look"]);
    let masked: Vec<bool> = results(&session)
        .iter()
        .map(|text| text.contains("[This output"))
        .collect();
    assert_eq!(masked, [true, true, false]);
}

#[test]
fn only_results_of_web_pages_are_masked_if_the_settings_say_so() {
    let mut session = Session::started(|config| {
        config.rules_version = RULES_VERSION;
        let mut tools = config.tools.to_vec();
        let mut page = tools[0].clone();
        page.name = "web_extract".into();
        tools.push(page);
        config.tools = tools.into();
        config.condensing = Some(Box::new(Condensing {
            masks_web: Some(1),
            ..Condensing::of_new_agent()
        }));
    });
    session.round("a", 200);
    for id in ["w1", "w2"] {
        session.calls(&[(id, "web_extract", json!({"path": "a"}))]);
        session.result(id, &"word ".repeat(200));
    }
    let condense = session.replaced();
    assert_eq!(condense.masked, ["web_extract"]);
    let masked: Vec<bool> = results(&session)
        .iter()
        .map(|text| text.contains("[This output"))
        .collect();
    assert_eq!(masked, [false, true, false]);
}

#[test]
fn the_older_half_of_the_messages_is_left_out_and_comes_back() {
    let mut session = with(|condensing| condensing.recent = Some(6));
    session.rounds_until_due(10);
    let before = session.conversation();
    assert_eq!(before.len(), 7);
    let condense = session.replaced();
    assert_eq!(condense.kept, [MessageId::with_suffix("go")]);
    let sent = session.sent();
    assert_eq!(sent[0], "user: go");
    assert!(sent[1].contains("left out here without a summary"), "{sent:?}");
    assert_eq!(sent.len(), 6, "{sent:?}");
    session.answer("done");
    assert!(session.undo());
    assert_eq!(session.conversation()[..before.len()], before);
}

#[test]
fn a_summary_is_written_at_a_number_of_messages() {
    let mut session = with(|condensing| condensing.summary_after = Some(6));
    session.rounds_until_due(10);
    let (_, condense) = session.condense().unwrap();
    assert_eq!((condense.written, condense.masked.len()), (None, 0));
    assert!(!condense.request.messages.is_empty());
    session.summary("Looked at a.");
    assert!(session.asked().is_some());
}

#[test]
fn without_summaries_the_window_moves_on() {
    let mut session = Session::started(|config| {
        small(config);
        config.rules_version = RULES_VERSION;
        if let Some(condensing) = &mut config.condensing {
            condensing.no_summary = true;
        }
    });
    for round in 0..40 {
        session.round(&format!("c{round}"), 100);
        assert!(session.condense().is_none(), "round {round}");
    }
    assert!(session.sent().len() < 60, "the window has moved on");
    // A person may still want one.
    session.answer("done");
    session.wants(None);
    assert!(
        session
            .condense()
            .is_some_and(|(_, condense)| condense.written.is_none())
    );
}

#[test]
fn what_failed_rests_and_holds_no_run_up() {
    let mut session = with(|condensing| condensing.masks = Some(2));
    session.rounds_until_due(10);
    session.no_summary("interrupted");
    assert!(session.asked().is_some(), "the run goes on");
    let mut rounds = 0;
    while session.condense().is_none() {
        rounds += 1;
        assert!(rounds < 20, "it is tried again");
        session.round(&format!("d{rounds}"), 200);
    }
    assert!(rounds > 3, "not at once: {rounds}");
}

#[test]
fn nothing_is_asked_for_where_nothing_is_configured() {
    let mut session = with(|_| {});
    for round in 0..60 {
        session.round(&format!("c{round}"), 10);
        assert!(session.condense().is_none());
    }
}
