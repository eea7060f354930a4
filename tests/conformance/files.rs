//! Files that an agent works on, in every runtime: the preview of a change, and restoring.

use agentx::history::history_of;
use agentx::runtime::{ApprovalInput, RestoreRequest, RuntimeError};
use agentx::types::{ApprovalDecision, ApprovalMode, RuntimeEvent, ToolCallId};
use agentx_testing::ModelScript;
use serde_json::json;

use crate::place::{Place, Talk};

async fn asked(talk: &mut Talk) {
    talk.until(|event| matches!(event, RuntimeEvent::ApprovalRequested(_)))
        .await;
}

pub(crate) async fn what_a_call_would_change_is_shown(place: Place) {
    let notes = place.workspace().join("notes.txt");
    std::fs::write(&notes, "one\nhello\n").unwrap();
    let edit = json!({"path": "notes.txt", "old_string": "hello", "new_string": "bye"});
    place.model.push(ModelScript::call("call_1", "edit", edit));
    place.model.push(ModelScript::call(
        "call_2",
        "write",
        json!({"path": "new.txt", "content": "words\n"}),
    ));
    place.model.push(ModelScript::text("done"));
    let mut talk = place.open(ApprovalMode::Ask).await;
    talk.say("change it").await;
    asked(&mut talk).await;
    let (runtime, id) = (place.runtime.clone(), talk.session.id().clone());
    let look = async |call: &str| {
        let open = Some(talk.session.clone());
        runtime
            .preview_file_change(&id, open, &ToolCallId::new(call))
            .await
    };
    let file = look("call_1").await.unwrap();
    assert_eq!(
        (file.path.as_deref(), file.text.as_deref(), file.withheld),
        (Some("notes.txt"), Some("one\nhello\n"), None)
    );
    let unasked = look("call_2").await;
    assert!(matches!(unasked, Err(RuntimeError::Refused(_))), "{unasked:?}");
    std::fs::write(&notes, vec![b'x'; 1_100_000]).unwrap();
    let large = look("call_1").await.unwrap();
    assert!(large.text.is_none() && large.withheld.is_some(), "{large:?}");
    std::fs::write(&notes, [0xff, 0xfe]).unwrap();
    assert_eq!(
        look("call_1").await.unwrap().withheld.as_deref(),
        Some("it is not text")
    );
    std::fs::write(&notes, "one\nhello\n").unwrap();
    let yes = ApprovalInput::new(ToolCallId::new("call_1"), ApprovalDecision::Once);
    talk.session.approve(yes.clone()).await.unwrap();
    asked(&mut talk).await;
    let open = Some(talk.session.clone());
    let new = runtime
        .preview_file_change(&id, open, &ToolCallId::new("call_2"))
        .await;
    let new = new.unwrap();
    assert_eq!(
        (new.path.as_deref(), new.text),
        (Some("new.txt"), None),
        "there is no file"
    );
    talk.session
        .approve(ApprovalInput::new(
            ToolCallId::new("call_2"),
            ApprovalDecision::Once,
        ))
        .await
        .unwrap();
    talk.ends().await;
}

pub(crate) async fn files_go_back_and_that_is_taken_back(place: Place) {
    let notes = place.workspace().join("notes.txt");
    std::fs::write(&notes, "one\nhello\n").unwrap();
    let edit = json!({"path": "notes.txt", "old_string": "hello", "new_string": "bye"});
    place.model.push(ModelScript::call("call_1", "edit", edit));
    let write = json!({"path": "deep/er/new.txt", "content": "words\n"});
    place.model.push(ModelScript::call("call_2", "write", write));
    place.model.push(ModelScript::text("done"));
    let mut talk = place.open(ApprovalMode::Auto).await;
    let said = talk.say("change it").await;
    talk.ends().await;
    let (runtime, id) = (place.runtime.clone(), talk.session.id().clone());
    let plan = runtime.plan_restore(&id, said).await.unwrap();
    let shown: Vec<&str> = plan.files.iter().map(|file| &*file.shown).collect();
    assert_eq!(shown, ["deep/er/new.txt", "notes.txt"]);
    assert!(plan.files[1].diff.contains("+hello"), "{plan:?}");
    let wish = RestoreRequest::of(&plan, |_| false);
    let report = runtime
        .restore(&id, Some(talk.session.clone()), wish)
        .await
        .unwrap();
    assert_eq!((report.restored.len(), report.failed.len()), (2, 0), "{report:?}");
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "one\nhello\n");
    assert!(!place.workspace().join("deep/er/new.txt").exists());
    let mut tags = place.tags(&id).await;
    // A client of a server sends a key with the request.
    tags.retain(|tag| tag != "request_recorded");
    assert!(
        tags.ends_with(&["files_restoring".into(), "files_restored".into()]),
        "{tags:?}"
    );
    let history = history_of(&*runtime, &id).await.unwrap();
    let restoring = &history.restorings()[0];
    assert_eq!(Some(restoring.seq), report.seq);
    let back = runtime.plan_restore(&id, restoring.seq).await.unwrap();
    let wish = RestoreRequest::of(&back, |_| false);
    runtime
        .restore(&id, Some(talk.session.clone()), wish)
        .await
        .unwrap();
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "one\nbye\n");
    let new = place.workspace().join("deep/er/new.txt");
    assert_eq!(std::fs::read_to_string(new).unwrap(), "words\n");
    place.model.push(ModelScript::text("still here"));
    talk.say("and?").await;
    talk.ends().await;
}
