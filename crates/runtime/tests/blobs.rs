//! The owner of a blob: its id is only a hash, so naming it gives no access.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use agentx_runtime::{
    BlobStore as _, ContextRequest, LogError, RuntimeError, Session, SessionBlobs, UserInput, has_blob,
};
use agentx_testing::{FaultyLog, MemoryWorld, fixture};
use agentx_types::{
    BlobId, ConfigChange, ContentPart, EnvironmentEvent, MediaPart, MediaSource, MessageId, SessionId,
};

async fn session(log: &FaultyLog, id: &str) -> Arc<dyn Session> {
    let mut world = MemoryWorld::on(log.clone(), []);
    world.session_id = SessionId::new(id);
    world.open_new(fixture::config()).await
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
    session.send(UserInput::new(content)).await
}

/// The blob of the picture that was sent to `session`.
fn picture_in(log: &FaultyLog, session: &str) -> BlobId {
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
    let log = FaultyLog::new();
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
    let log = FaultyLog::new();
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

/// A message that is refused leaves nothing behind: neither one that reuses a key, nor one whose second
/// picture is invalid.
#[tokio::test]
async fn a_message_that_is_refused_stores_nothing() {
    let log = FaultyLog::new();
    let session = session(&log, "ses_1").await;
    let inside = |text: &str| image(MediaSource::Base64(text.into()));
    let input = |parts: &[ContentPart], key: &str| UserInput::new(parts.to_vec()).key(Some(key.into()));
    let first = input(&[inside("cGljdHVyZQ==")], "k");
    let seq = session.send(first.clone()).await.unwrap();
    assert_eq!(session.sent_before(&first).await.unwrap(), Some(seq));
    assert_eq!(
        session.send(first).await.unwrap(),
        seq,
        "the same bytes are the same message"
    );
    // The name that it would have, next to the first one.
    let elsewhere = FaultyLog::new();
    elsewhere.put_blob(b"picture".to_vec()).await.unwrap();
    let other = elsewhere.put_blob(b"another".to_vec()).await.unwrap();
    for refused in [
        session
            .sent_before(&input(&[inside("YW5vdGhlcg==")], "k"))
            .await
            .map(drop),
        session
            .send(input(&[inside("YW5vdGhlcg==")], "k"))
            .await
            .map(drop),
        session
            .send(input(&[inside("YW5vdGhlcg=="), inside("-")], "new"))
            .await
            .map(drop),
        session
            .send(input(
                &[
                    inside("YW5vdGhlcg=="),
                    image(MediaSource::Blob(BlobId::new("b3_none"))),
                ],
                "new",
            ))
            .await
            .map(drop),
    ] {
        assert!(refused.is_err());
        assert!(log.blob_size(&other).await.is_err(), "{refused:?}");
    }
}

#[tokio::test]
async fn only_a_message_of_the_conversation_is_pinned() {
    let log = FaultyLog::new();
    let session = session(&log, "ses_1").await;
    let seq = say(&session, ContentPart::text("hello")).await.unwrap();
    let pin = |message_id: MessageId| {
        session.context(ContextRequest::Pin {
            message_id,
            pinned: true,
        })
    };
    let refused = pin(MessageId::new("msg_made_up")).await;
    assert!(
        matches!(&refused, Err(RuntimeError::Refused(why)) if why.contains("no message msg_made_up")),
        "{refused:?}"
    );
    assert!(pin(MessageId::with_suffix(seq)).await.is_ok());
}

#[tokio::test]
async fn pictures_of_one_message_that_no_request_holds_are_refused_before_anything_is_recorded() {
    let log = FaultyLog::new();
    let session = session(&log, "ses_1").await;
    let picture = || image(MediaSource::Base64("AAAA".repeat(2 << 20)));
    let send = |number: usize| session.send(UserInput::new((0..number).map(|_| picture()).collect()));
    let refused = send(4).await.unwrap_err().to_string();
    assert!(
        refused.contains("the 4 pictures of the message have 32.0 MiB in base64")
            && refused.contains("nothing was sent"),
        "{refused}"
    );
    let facts = log.facts(&SessionId::new("ses_1"));
    assert!(
        !facts
            .iter()
            .any(|fact| matches!(fact.event, EnvironmentEvent::UserMessage(_)))
    );
    send(2).await.unwrap();
}

/// A message that is sent again gets the first answer, even if its picture would be refused meanwhile.
#[tokio::test]
async fn a_picture_that_is_sent_again_is_answered_as_before_whatever_the_model_takes_by_now() {
    let log = FaultyLog::new();
    let session = session(&log, "ses_1").await;
    let picture = || image(MediaSource::Base64("cGljdHVyZQ==".into()));
    let send = |key: &str| session.send(UserInput::new(vec![picture()]).key(Some(key.into())));
    let first = send("one").await.unwrap();
    let mut model = session.state().await.unwrap().config.model.clone();
    model.input = Some(Vec::new());
    session
        .change(ConfigChange::Model(Box::new(model)))
        .await
        .unwrap();
    assert_eq!(send("one").await.unwrap(), first);
    let refused = send("two").await.unwrap_err().to_string();
    assert!(refused.contains("does not accept images"), "{refused}");
}
