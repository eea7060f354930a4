//! Pictures that a vendor would refuse are replaced by text, for each protocol, and the others stay in place.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use agentx_llm::{Catalog, build};
use agentx_types::{BlobId, ContentPart, MediaPart, MediaSource, Message, ModelParams, ModelRequest, Role};

const CLAUDE: &str = "claude-sonnet-4-5";
const CLAUDE_BEHIND_A_GATEWAY: &str = "openrouter/anthropic/claude-sonnet-4.5";
const GPT: &str = "gpt-4.1";

/// A PNG of this size without pixels, and this many additional bytes.
fn png(width: u32, height: u32, more: usize) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes.extend(b"\x08\x02\0\0\0crc!");
    bytes.extend(u32::try_from(more).unwrap().to_be_bytes());
    bytes.extend(b"IDAT");
    bytes.extend(std::iter::repeat_n(0, more));
    bytes.extend(b"crc!\0\0\0\0IEND\xaeB`\x82");
    bytes
}

/// Returns the replacement of each of these pictures in a request, one per message; nothing if it is sent.
fn in_place(model: &str, pictures: &[Vec<u8>]) -> Vec<Option<String>> {
    let messages: Vec<&[Vec<u8>]> = pictures.iter().map(std::slice::from_ref).collect();
    in_messages(model, &messages)
}

/// The same for messages with these pictures each.
fn in_messages(model: &str, pictures: &[&[Vec<u8>]]) -> Vec<Option<String>> {
    let catalog = Catalog::builtin();
    let mut blobs: BTreeMap<BlobId, Vec<u8>> = BTreeMap::new();
    let messages = pictures.iter().enumerate().map(|(number, pictures)| {
        let part = |bytes: &Vec<u8>| {
            // The same bytes are one blob.
            let known = blobs.iter().find(|(_, other)| *other == bytes);
            let id = known.map_or_else(
                || BlobId::new(format!("b3_{}", blobs.len())),
                |(id, _)| id.clone(),
            );
            blobs.insert(id.clone(), bytes.clone());
            ContentPart::Image(MediaPart {
                media_type: "image/png".into(),
                source: MediaSource::Blob(id),
                name: None,
            })
        };
        let message_id = format!("msg_{number}").as_str().into();
        let content = pictures.iter().map(part).collect();
        Message {
            message_id,
            role: Role::User,
            content,
            by: None,
        }
        .into()
    });
    let request = ModelRequest {
        model: crate::common::model_by_chat(model),
        params: ModelParams::default(),
        system: Vec::new(),
        messages: messages.collect(),
        tools: [].into(),
        plain: false,
        turns: false,
        without: Vec::new(),
        answer_schema: None,
    };
    let options = catalog.wire_options(&request.model);
    let body: serde_json::Value = serde_json::from_slice(&build(&request, &options, &blobs)).unwrap();
    let parts = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|message| match &message["content"] {
            serde_json::Value::Array(parts) => parts.clone(),
            words => vec![serde_json::json!({ "type": "text", "text": words })],
        });
    let words = |part: serde_json::Value| part["text"].as_str().map(str::to_owned);
    parts.map(words).collect()
}

/// Returns the numbers of the sent pictures.
fn sent(model: &str, pictures: &[Vec<u8>]) -> Vec<usize> {
    let all = in_place(model, pictures);
    assert_eq!(all.len(), pictures.len(), "{all:?}");
    let is_sent = |(number, words): (usize, Option<String>)| words.is_none().then_some(number);
    all.into_iter().enumerate().filter_map(is_sent).collect()
}

#[test]
fn a_broken_picture_is_replaced_by_words() {
    let whole = png(2, 2, 0);
    let cut = whole[..whole.len() - 6].to_vec();
    for model in [CLAUDE, GPT] {
        let said = in_place(model, &[whole.clone(), cut.clone(), b"no picture".to_vec()]);
        assert_eq!(said[0], None);
        for words in &said[1..] {
            assert_eq!(
                words.as_deref(),
                Some("[image/png: the picture is broken]"),
                "{model}"
            );
        }
    }
}

#[test]
fn anthropic_is_sent_no_picture_that_is_too_large() {
    let pictures = [png(8_001, 2, 0), png(8_000, 8_000, 0), png(2, 2, 8 << 20)];
    assert_eq!(sent(CLAUDE, &pictures), [1]);
    assert_eq!(sent(GPT, &pictures), [0, 1, 2], "OpenAI scales it down");
}

#[test]
fn of_many_pictures_only_those_that_are_too_large_go() {
    let small = || png(100, 100, 0);
    let mut pictures = vec![png(3_000, 100, 0)];
    pictures.extend((1..20).map(|_| small()));
    for model in [CLAUDE, CLAUDE_BEHIND_A_GATEWAY] {
        assert_eq!(sent(model, &pictures).len(), 20);
    }
    pictures.push(small());
    let said = in_place(CLAUDE, &pictures);
    assert!(
        said[0].as_ref().unwrap().contains("more than 2,000 pixels"),
        "{said:?}"
    );
    // Omitted pictures stay omitted, and no other one is left out.
    pictures.extend((0..50).map(|_| small()));
    for model in [CLAUDE, CLAUDE_BEHIND_A_GATEWAY] {
        assert_eq!(sent(model, &pictures), (1..71).collect::<Vec<_>>());
    }
    assert_eq!(sent(GPT, &pictures).len(), 71);
}

#[test]
fn of_many_large_pictures_the_newest_are_sent() {
    let large = || png(3_000, 100, 0);
    let mut pictures: Vec<_> = (0..20).map(|_| large()).collect();
    pictures.push(png(100, 100, 0));
    assert_eq!(sent(CLAUDE, &pictures), (6..21).collect::<Vec<_>>());
    // A large picture that was just shown is sent, although there are many small ones.
    let mut pictures: Vec<_> = (0..30).map(|_| png(100, 100, 0)).collect();
    pictures.push(large());
    assert_eq!(sent(CLAUDE, &pictures), (16..31).collect::<Vec<_>>());
}

#[test]
fn of_pictures_that_are_too_many_together_the_newest_are_sent_and_there_is_room_for_further_ones() {
    let pictures: Vec<Vec<u8>> = (0..9).map(|_| png(100, 100, 3 << 20)).collect();
    for (number, of_claude, of_gpt) in [
        (5, 0..5, 2..5),
        (6, 0..6, 2..6),
        (7, 3..7, 4..7),
        (8, 3..8, 4..8),
        (9, 3..9, 6..9),
    ] {
        let shown = &pictures[..number];
        let is = "4 MiB of base64 each, of 26 or 20";
        assert_eq!(sent(CLAUDE, shown), of_claude.collect::<Vec<_>>(), "{is}");
        assert_eq!(sent(GPT, shown), of_gpt.collect::<Vec<_>>(), "{is}");
    }
    let many: Vec<Vec<u8>> = (0..101).map(|_| png(10, 10, 0)).collect();
    assert_eq!(
        sent(CLAUDE, &many).len(),
        75,
        "a window of 200,000 tokens takes 100"
    );
    assert_eq!(sent("claude-opus-5", &many).len(), 101);
}

#[test]
fn of_the_pictures_of_one_message_as_many_are_sent_as_fit() {
    let pictures: Vec<Vec<u8>> = (0..12).map(|_| png(100, 100, (34 << 20) / 10)).collect();
    for (number, sent) in [(5, 5), (6, 5), (8, 5), (12, 5)] {
        let said = in_messages(CLAUDE, &[&pictures[..number]]);
        let left_out: Vec<&String> = said.iter().flatten().collect();
        assert_eq!(said.len() - left_out.len(), sent, "of {number}");
        for words in left_out {
            assert!(words.contains("only the last ones are sent"), "{words}");
        }
    }
    // Older ones go first, and are called so.
    let said = in_messages(CLAUDE, &[&pictures[..2], &pictures[2..7]]);
    assert!(said[2..].iter().all(Option::is_none), "{said:?}");
    let older = said[..2].iter().flatten();
    assert_eq!(
        older.filter(|words| words.contains("an older picture")).count(),
        2,
        "{said:?}"
    );
}

#[test]
fn a_picture_that_comes_again_and_again_counts_in_each_place_and_the_newest_are_sent() {
    let large: Vec<_> = (0..27).map(|_| png(2_500, 100, 0)).collect();
    assert_eq!(sent(CLAUDE, &large), (12..27).collect::<Vec<_>>());
    let heavy: Vec<_> = (0..9).map(|_| png(100, 100, 3 << 20)).collect();
    assert_eq!(sent(CLAUDE, &heavy), (3..9).collect::<Vec<_>>());
}

#[test]
fn a_picture_is_named_what_it_is() {
    let catalog = Catalog::builtin();
    let id = BlobId::new("b3_gif");
    let picture = MediaPart {
        media_type: "image/png".into(),
        source: MediaSource::Blob(id.clone()),
        name: None,
    };
    let message = Message {
        message_id: "msg_1".into(),
        role: Role::User,
        content: vec![ContentPart::Image(picture)],
        by: None,
    };
    for model in [CLAUDE, GPT] {
        let request = ModelRequest {
            model: crate::common::model_by_chat(model),
            params: ModelParams::default(),
            system: Vec::new(),
            messages: vec![message.clone().into()],
            tools: [].into(),
            plain: false,
            turns: false,
            without: Vec::new(),
            answer_schema: None,
        };
        let blobs = BTreeMap::from([(id.clone(), b"GIF89a\x02\0\x03\0\0\0\0,;".to_vec())]);
        let body = build(&request, &catalog.wire_options(&request.model), &blobs);
        let body = String::from_utf8(body).unwrap();
        assert!(
            body.contains("image/gif") && !body.contains("image/png"),
            "{body}"
        );
    }
}
