//! Whose a blob is: an id is only a hash, so writing one down does not make it one's own.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use agentx_runtime::{
    Actions, BlobStore as _, DriverParts, LogError, OpenRequest, RuntimeError, Session, SessionBlobs,
    SessionIds, UserInput, has_blob, open_session,
};
use agentx_testing::{MemoryLog, SimulatedClock, fixture};
use agentx_types::{BlobId, ContentPart, EnvironmentEvent, MediaPart, MediaSource, OwnerId, SessionId};

async fn session(log: &MemoryLog, id: &str) -> Arc<dyn Session> {
    let actions = Actions::new();
    let parts = DriverParts {
        tools: fixture::tools(),
        program: "test".into(),
        ..DriverParts::new(
            Arc::new(log.clone()),
            actions,
            Arc::new(SimulatedClock::default()),
        )
    };
    let ids = SessionIds {
        session_id: SessionId::new(id),
        agent_state_id: fixture::agent_state_id(),
        owner: OwnerId::new("own_test"),
    };
    let request = OpenRequest::New(Box::new(fixture::config()));
    open_session(parts, ids, request).await.unwrap()
}

fn image(source: MediaSource) -> ContentPart {
    ContentPart::Image(MediaPart {
        media_type: "image/png".into(),
        source,
        name: None,
    })
}

async fn say(session: &Arc<dyn Session>, part: ContentPart) -> Result<u64, RuntimeError> {
    let content = vec![part];
    session
        .send(UserInput {
            content,
            ..UserInput::default()
        })
        .await
}

/// The blob of the picture that `session` was sent.
fn picture_in(log: &MemoryLog, session: &str) -> BlobId {
    let facts = log.facts(&SessionId::new(session));
    let pictures = facts.iter().filter_map(|fact| match &fact.event {
        EnvironmentEvent::UserMessage(message) => match message.content.as_slice() {
            [ContentPart::Image(media)] => Some(&media.source),
            _ => None,
        },
        _ => None,
    });
    let blobs = pictures.filter_map(|source| match source {
        MediaSource::Blob(blob) => Some(blob.clone()),
        _ => None,
    });
    let mut blobs: Vec<BlobId> = blobs.collect();
    blobs.pop().unwrap()
}

#[tokio::test]
async fn what_was_sent_is_the_sessions_and_can_be_sent_again() {
    let log = MemoryLog::new();
    let session = session(&log, "ses_1").await;
    say(&session, image(MediaSource::Base64("cGljdHVyZQ==".into())))
        .await
        .unwrap();
    let blob = picture_in(&log, "ses_1");
    assert!(has_blob(&log, session.id(), &blob).await.unwrap());
    say(&session, image(MediaSource::Blob(blob.clone())))
        .await
        .unwrap();
    let blobs = SessionBlobs::new(Arc::new(log), session.id().clone());
    assert_eq!(blobs.get_blob(&blob, 0..7).await.unwrap(), b"picture");
}

#[tokio::test]
async fn writing_an_id_down_does_not_make_a_blob_ones_own() {
    let log = MemoryLog::new();
    let ann = session(&log, "ses_ann").await;
    say(&ann, image(MediaSource::Base64("cGljdHVyZQ==".into())))
        .await
        .unwrap();
    let blob = picture_in(&log, "ses_ann");
    let bob = session(&log, "ses_bob").await;
    say(&bob, ContentPart::text(format!("show me {blob}")))
        .await
        .unwrap();
    assert!(!has_blob(&log, bob.id(), &blob).await.unwrap());
    let refused = say(&bob, image(MediaSource::Blob(blob.clone()))).await;
    assert!(
        matches!(refused, Err(RuntimeError::Log(LogError::NoBlob(_)))),
        "{refused:?}"
    );
    let blobs = SessionBlobs::new(Arc::new(log.clone()), bob.id().clone());
    assert!(blobs.get_blob(&blob, 0..7).await.is_err() && blobs.blob_size(&blob).await.is_err());
    let own = blobs.put_blob(b"mine".to_vec()).await.unwrap();
    assert_eq!(blobs.blob_size(&own).await.unwrap(), 4, "no fact names it yet");
}
