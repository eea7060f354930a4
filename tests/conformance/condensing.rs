//! Condensing: a summary is written, shown and removed again, in every runtime.

use agentx::runtime::{ContextRequest, RuntimeError};
use agentx::types::{ApprovalMode, ContextChange, RuntimeEvent};
use agentx_testing::ModelScript;

use crate::place::{Place, Talk};

fn condense() -> ContextRequest {
    let instructions = Some("mind the harbour".into());
    ContextRequest::Condense { instructions }
}

/// A talk in which much was said.
async fn said_much(place: &Place) -> Talk {
    let mut talk = place.open(ApprovalMode::Auto).await;
    for number in 0..4 {
        place
            .model
            .push(ModelScript::text(&"much is said about it ".repeat(80)));
        talk.say(&format!("question {number}")).await;
        talk.ends().await;
    }
    talk
}

async fn changes(talk: &mut Talk) -> ContextChange {
    loop {
        let event = talk
            .until(|event| matches!(event, RuntimeEvent::ContextChanged(_)))
            .await;
        if let RuntimeEvent::ContextChanged(changed) = &event.event
            && !matches!(changed.change, ContextChange::Condensing(_))
        {
            return changed.change.clone();
        }
    }
}

pub(crate) async fn a_conversation_is_condensed_shown_and_restored(place: Place) {
    let mut talk = said_much(&place).await;
    let id = talk.session.id().clone();
    place.model.push(ModelScript::text("It was spoken of."));
    talk.session.context(condense()).await.unwrap();
    let change = changes(&mut talk).await;
    assert!(matches!(change, ContextChange::Condensed(_)), "{change:?}");
    place.model.push(ModelScript::text("yes"));
    talk.say("go on").await;
    talk.ends().await;
    let view = place.runtime.context(&id, None).await.unwrap();
    assert_eq!(view.condensed.len(), 1);
    assert_eq!(view.condensed[0].summary, "It was spoken of.");
    assert!(view.body.contains("It was spoken of.") && view.body.contains("question 0"));
    talk.session.context(ContextRequest::Restore {}).await.unwrap();
    let change = changes(&mut talk).await;
    assert!(matches!(change, ContextChange::Restored(_)), "{change:?}");
    let report = place.runtime.replay(&id).await.unwrap();
    assert_eq!(report.divergence, None);
}

pub(crate) async fn what_is_not_condensed_is_not_restored(place: Place) {
    let talk = said_much(&place).await;
    let refused = talk.session.context(ContextRequest::Restore {}).await;
    assert!(matches!(refused, Err(RuntimeError::Refused(_))), "{refused:?}");
}
