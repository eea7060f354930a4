//! A copy that adopts the rows of another log has exactly its bytes, however both were packed, wherever it
//! was cut, and even in forks. Forged or different rows are refused, and no data of the copy is lost.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

use crate::histories::{events_of, histories};
use crate::support::*;
use agentx_runtime::{
    Adoption, Batch, BlobStore as _, Fact, LogError, LogRow, LogRows, NewLog, SessionLog, Writer,
};
use agentx_sqlite_log::SqliteLog;
use agentx_types::*;
use proptest::prelude::*;

/// Returns all rows, from the segment with the event after `after_seq` on, read one page at a time.
async fn rows_after(log: &SqliteLog, id: &str, after_seq: u64, most_bytes: usize) -> LogRows {
    let id = SessionId::new(id);
    let mut all = log.rows(&id, after_seq, most_bytes).await.unwrap();
    while let Some(next) = all.next_after_seq {
        let page = log.rows(&id, next, most_bytes).await.unwrap();
        assert_eq!(page.before.seq, next, "pages end where segments do");
        assert_eq!(page.parts, all.parts);
        all.rows.extend(page.rows);
        all.next_after_seq = page.next_after_seq;
    }
    all
}

fn adoption(rows: LogRows, derived: u64) -> Adoption {
    Adoption {
        parts: rows.parts,
        parent: None,
        before: rows.before,
        rows: rows.rows,
        derived: digest(derived),
    }
}

/// A copy of a session: facts first, rows when they are fetched.
struct Copy {
    log: std::sync::Arc<SqliteLog>,
    writer: Writer,
    adopted: u64,
}

impl Copy {
    async fn new(id: &str) -> Self {
        let log = SqliteLog::open_in_memory().unwrap();
        let new = NewLog::new(id, OwnerId::new("own_copy"), Timestamp(1_000), "work");
        log.create(new).await.unwrap();
        let writer = log.attach(&SessionId::new(id)).await.unwrap();
        Self {
            log,
            writer,
            adopted: 0,
        }
    }

    fn id(&self) -> &str {
        self.writer.session_id.as_str()
    }

    async fn last_seq(&self) -> u64 {
        self.log.info(&self.writer.session_id).await.unwrap().last_seq
    }

    async fn take_facts(&mut self, facts: &[Fact]) {
        self.log
            .append(&self.writer, batch(facts.to_vec()))
            .await
            .unwrap();
    }

    async fn take_rows(&mut self, from: &SqliteLog, most_bytes: usize) {
        // Fetches from the last segment on that belongs to the original: it may have grown, or been packed.
        // Shared rows stay unchanged.
        let shared = self.log.rows(&self.writer.session_id, u64::MAX, 1).await.unwrap();
        let own = shared.parts.last().unwrap().after_seq;
        let rows = rows_after(
            from,
            self.id(),
            own.max(self.adopted.saturating_sub(1)),
            most_bytes,
        )
        .await;
        let adoption = adoption(rows, self.last_seq().await);
        self.adopted = self.log.adopt(&self.writer, adoption.into()).await.unwrap();
    }

    async fn comes_again(mut self) -> Self {
        let id = self.writer.session_id.clone();
        drop(self.writer);
        self.writer = self.log.attach(&id).await.unwrap();
        self
    }

    async fn is(&self, original: &SqliteLog) {
        assert_eq!(all(&*self.log, self.id()).await, all(original, self.id()).await);
        assert_good(&*self.log, self.id()).await;
        let (here, there) = (head(&self.log, self.id()).await, head(original, self.id()).await);
        assert_eq!(here, there, "the head");
        assert_eq!(
            rows_after(&self.log, self.id(), 0, 1 << 20).await,
            rows_after(original, self.id(), 0, 1 << 20).await
        );
        let id = &self.writer.session_id;
        assert_eq!(
            self.log.digests(id).await.unwrap(),
            original.digests(id).await.unwrap()
        );
    }
}

async fn head(log: &SqliteLog, id: &str) -> String {
    log.verify(&SessionId::new(id)).await.unwrap().head
}

/// A random step of a history.
type Chance = (u8, usize, usize);

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// The original is written, packed and taken over at random; the copy gets facts in other batches, some
    /// late, and rows at random moments, in pages of any size.
    #[test]
    fn a_copy_of_any_history_has_the_very_rows(
        batches in histories(),
        chances in prop::collection::vec((0u8..10, 1usize..30, 1usize..40_000), 40),
    ) {
        run(async {
            let original = SqliteLog::open_in_memory().unwrap();
            let mut writer = begin(&*original).await;
            let mut copy = Copy::new("ses_1").await;
            let (mut at, mut seq) = (1_700_000_000_000_000i64, 0);
            let mut waiting: Vec<Fact> = Vec::new();
            for (seeds, (chance, count, most_bytes)) in batches.into_iter().zip(chances as Vec<Chance>) {
                let facts = events_of(seeds, seq + 1, &mut at);
                seq += facts.len() as u64;
                waiting.extend(facts.iter().cloned());
                original.append(&writer, batch(facts)).await.unwrap();
                if chance == 9 {
                    drop(writer);
                    writer = original.attach(&session()).await.unwrap();
                }
                if chance != 4 {
                    let taken: Vec<Fact> = waiting.drain(..count.min(waiting.len())).collect();
                    copy.take_facts(&taken).await;
                }
                if chance < 4 {
                    copy.take_rows(&original, most_bytes).await;
                    assert_good(&*copy.log, "ses_1").await;
                }
                if chance == 8 {
                    copy = copy.comes_again().await;
                }
            }
            copy.take_facts(&waiting).await;
            copy.take_rows(&original, 1).await;
            copy.is(&original).await;
            drop(copy.comes_again().await);
        });
    }
}

#[test]
fn one_delta_a_row_is_packed_there_and_here() {
    run(async {
        let original = SqliteLog::open_in_memory().unwrap();
        let writer = begin(&*original).await;
        let mut copy = Copy::new("ses_1").await;
        let facts = facts(1, conversation(700));
        for (index, fact) in facts.iter().enumerate() {
            original.append(&writer, batch(vec![fact.clone()])).await.unwrap();
            copy.take_facts(std::slice::from_ref(fact)).await;
            if index % 97 == 0 || index % 256 == 255 {
                copy.take_rows(&original, 1 << 20).await;
                assert_eq!(head(&copy.log, "ses_1").await, head(&original, "ses_1").await);
            }
        }
        copy.take_rows(&original, 1 << 20).await;
        copy.is(&original).await;
    });
}

/// A session, a fork of it and a fork of the fork, at events that lie in the middle of rows.
async fn family() -> std::sync::Arc<SqliteLog> {
    let log = SqliteLog::open_in_memory().unwrap();
    let writer = begin(&*log).await;
    let first = facts(1, conversation(300));
    append_each(&*log, &writer, &first).await;
    for (id, parent, at_seq) in [
        ("ses_2", "ses_1", 333),
        ("ses_3", "ses_2", 500),
        ("ses_4", "ses_3", 77),
    ] {
        let id = SessionId::new(id);
        log.create(fork_of(id.as_str(), parent, at_seq)).await.unwrap();
        let writer = log.attach(&id).await.unwrap();
        let own = conversation(100).into_iter().zip(at_seq + 1..);
        let own = own
            .map(|(event, seq)| fact_of(&id, seq, event))
            .collect::<Vec<_>>();
        for some in own.chunks(3) {
            log.append(&writer, batch(some.to_vec())).await.unwrap();
        }
    }
    log
}

#[test]
fn a_fork_is_a_fork_in_the_copy_too() {
    run(async {
        let original = family().await;
        for (id, parts) in [("ses_2", 2), ("ses_3", 3), ("ses_4", 2)] {
            let mut copy = Copy::new(id).await;
            let facts = all(&*original, id).await;
            let shared = rows_after(&original, id, 0, 1).await;
            assert_eq!(shared.parts.len(), parts, "{id}");
            let early = usize::try_from(shared.parts[parts - 1].after_seq).unwrap() - 5;
            copy.take_facts(&facts[..early]).await;
            copy.take_rows(&original, 1 << 20).await;
            assert_eq!(copy.adopted, 0, "what it shares is not all here yet");
            copy.take_facts(&facts[early..early + 40]).await;
            copy.take_rows(&original, 2_000).await;
            copy.take_facts(&facts[early + 40..]).await;
            copy.take_rows(&original, 2_000).await;
            copy.is(&original).await;
            let listed = copy.log.list(query("own_copy")).await.unwrap();
            assert_eq!(listed.len(), 1, "of its ancestors nothing is seen");
            // It can be forked again, and is removed with its shared rows.
            let again = fork_of("ses_9", id, 60);
            copy.log.create(again).await.unwrap();
            assert_good(&*copy.log, "ses_9").await;
            let log = copy.comes_again().await.log;
            log.delete(&SessionId::new("ses_9")).await.unwrap();
            log.delete(&SessionId::new(id)).await.unwrap();
            log.collect_garbage().await.unwrap();
            log.create(new_log(id)).await.unwrap();
        }
    });
}

fn query(owner: &str) -> agentx_runtime::SessionQuery {
    agentx_runtime::SessionQuery {
        owner: OwnerId::new(owner),
        workspace: None,
        limit: 10,
        before: None,
    }
}

#[test]
fn no_more_leaves_than_a_fork_shares() {
    run(async {
        let log = SqliteLog::open_in_memory().unwrap();
        let writer = begin(&*log).await;
        let words = ["seen", "seen too", "secret"].map(text);
        log.append(&writer, batch(facts(1, words))).await.unwrap();
        log.create(fork_of("ses_2", "ses_1", 2)).await.unwrap();
        let rows = rows_after(&log, "ses_2", 0, 1 << 20).await;
        let bytes: Vec<u8> = rows.rows.iter().flat_map(|row| row.data.clone()).collect();
        let has = |words: &str| bytes.windows(words.len()).any(|some| some == words.as_bytes());
        assert!(has("seen too") && !has("secret"));
        assert_eq!(rows.rows.last().unwrap().last_seq, 2);
    });
}

/// A change, and a part of the reason for its refusal.
type Forgery = (&'static str, fn(&mut Adoption));

/// Forgeries of fetched rows.
const FORGERIES: [Forgery; 14] = [
    ("hash", |a| a.rows[1].hash[0] ^= 1),
    ("hash", |a| a.rows[0].data[20] ^= 1),
    ("hash", |a| a.rows[1].at.0 += 1),
    ("hash", |a| a.rows[1].derived = Some([1; 32])),
    ("missing", |a| drop(a.rows.remove(0))),
    ("missing", |a| a.rows[1].first_seq += 1),
    ("hash", |a| a.rows[1].last_seq -= 1),
    ("no segment", |a| a.rows[0].starts = false),
    ("do not follow", |a| a.before.hash[3] ^= 1),
    ("do not follow", |a| a.before.seq += 1),
    ("another session", |a| {
        a.parts[0].session_id = SessionId::new("ses_x")
    }),
    ("do not follow each other", |a| a.parts.clear()),
    ("do not follow each other", |a| a.parts[0].after_seq = 3),
    ("begins with something else", |a| a.parts[0].base_hash[0] ^= 1),
];

#[test]
fn what_is_forged_is_refused_and_nothing_is_lost() {
    run(async {
        let original = SqliteLog::open_in_memory().unwrap();
        let writer = begin(&*original).await;
        let said = facts(1, conversation(60));
        for some in said.chunks(20) {
            original.append(&writer, batch(some.to_vec())).await.unwrap();
        }
        let mut copy = Copy::new("ses_1").await;
        for some in said.chunks(7) {
            copy.take_facts(some).await;
        }
        let before = rows_after(&copy.log, "ses_1", 0, 1 << 20).await;
        let good = adoption(rows_after(&original, "ses_1", 0, 1 << 20).await, 1);
        for (index, (why, forge)) in FORGERIES.into_iter().enumerate() {
            let mut forged = good.clone();
            forge(&mut forged);
            let refused = copy
                .log
                .adopt(&copy.writer, forged.into())
                .await
                .unwrap_err()
                .to_string();
            assert!(
                refused.contains(why) && refused.contains("not taken"),
                "{index} {why}: {refused}"
            );
            assert_eq!(
                rows_after(&copy.log, "ses_1", 0, 1 << 20).await,
                before,
                "{index}"
            );
        }
        // A complete and correct chain, of other facts.
        let other = SqliteLog::open_in_memory().unwrap();
        let their = begin(&*other).await;
        let mut facts = said.clone();
        let mut last = Envelope::clone(&facts[50]);
        last.at.0 += 1;
        facts[50] = last.into();
        other.append(&their, batch(facts)).await.unwrap();
        let theirs = adoption(rows_after(&other, "ses_1", 0, 1 << 20).await, 1);
        let refused = copy
            .log
            .adopt(&copy.writer, theirs.into())
            .await
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains("event 51: it is not the event that is here"),
            "{refused}"
        );
        assert_eq!(rows_after(&copy.log, "ses_1", 0, 1 << 20).await, before);
        assert_good(&*copy.log, "ses_1").await;
        copy.take_rows(&original, 1 << 20).await;
        copy.is(&original).await;
    });
}

#[test]
fn a_writer_that_was_replaced_adopts_nothing() {
    run(async {
        let home = Home::new();
        let log = home.open();
        let writer = begin(&*log).await;
        log.append(&writer, batch(facts(1, conversation(5))))
            .await
            .unwrap();
        let rows = adoption(rows_after(&log, "ses_1", 0, 1 << 20).await, 1);
        home.sql()
            .execute("UPDATE sessions SET epoch = epoch + 1", [])
            .unwrap();
        let refused = log.adopt(&writer, rows.into()).await.unwrap_err();
        assert!(matches!(refused, LogError::Fenced { .. }), "{refused}");
    });
}

#[test]
fn a_fork_that_was_made_here_keeps_what_it_goes_on_from() {
    run(async {
        let original = SqliteLog::open_in_memory().unwrap();
        let writer = begin(&*original).await;
        let said = facts(1, conversation(60));
        for some in said.chunks(20) {
            original.append(&writer, batch(some.to_vec())).await.unwrap();
        }
        let mut copy = Copy::new("ses_1").await;
        copy.take_facts(&said).await;
        copy.log.create(fork_of("ses_2", "ses_1", 50)).await.unwrap();
        copy.take_rows(&original, 1 << 20).await;
        assert_eq!(copy.adopted, 0);
        for id in ["ses_1", "ses_2"] {
            assert_good(&*copy.log, id).await;
        }
    });
}

/// A payload that this program would write differently, such as one of a newer version, comes with its blob.
#[test]
fn a_payload_that_is_not_here_is_asked_for() {
    run(async {
        let original = SqliteLog::open_in_memory().unwrap();
        let writer = begin(&*original).await;
        let long = Interrupted {
            reason: "because ".repeat(1000),
        };
        let said = facts(1, [text("a"), long.into()]);
        original.append(&writer, batch(said.clone())).await.unwrap();
        let mut copy = Copy::new("ses_1").await;
        copy.take_facts(&said).await;
        let payload = said[1].event.payload_json();
        let mut newer: serde_json::Value = serde_json::from_slice(&payload).unwrap();
        newer["of_tomorrow"] = 1.into();
        let rows = with_payload(&original, newer.to_string().into_bytes()).await;
        let missing = copy
            .log
            .adopt(&copy.writer, rows.clone().into())
            .await
            .unwrap_err();
        let LogError::NoBlob(blob) = missing else {
            panic!("{missing}");
        };
        let size = original.blob_size(&blob).await.unwrap();
        let bytes = original.get_blob(&blob, 0..size).await.unwrap();
        assert_eq!(copy.log.put_blob(bytes).await.unwrap(), blob);
        assert_eq!(copy.log.adopt(&copy.writer, rows.into()).await.unwrap(), 2);
        assert_eq!(all(&*copy.log, "ses_1").await, said);
        copy.log.collect_garbage_at(Timestamp(i64::MAX)).await.unwrap();
        assert_good(&*copy.log, "ses_1").await;
    });
}

/// The rows of a session of two facts, the second of which has this payload in a blob.
async fn with_payload(log: &SqliteLog, payload: Vec<u8>) -> Adoption {
    let id = log.put_blob(payload).await.unwrap();
    let hash = blake3::Hash::from_hex(id.as_str().strip_prefix(BlobId::PREFIX).unwrap()).unwrap();
    let rows = rows_after(log, "ses_1", 0, 1 << 20).await;
    let mut row: LogRow = rows.rows[0].clone();
    let at = row.data.len() - 32;
    row.data.truncate(at);
    row.data.extend_from_slice(hash.as_bytes());
    let mut hasher = blake3::Hasher::new();
    hasher.update(&rows.before.hash).update(&row.data);
    hasher.update(&[1]).update(&row.derived.unwrap());
    hasher
        .update(&row.last_seq.to_le_bytes())
        .update(&row.at.0.to_le_bytes());
    row.hash = *hasher.finalize().as_bytes();
    let rows = LogRows {
        rows: vec![row],
        ..rows
    };
    adoption(rows, 2)
}

#[test]
fn what_no_row_reaches_is_laid_out_anew() {
    run(async {
        let original = SqliteLog::open_in_memory().unwrap();
        let writer = begin(&*original).await;
        let said = facts(1, conversation(60));
        let mut copy = Copy::new("ses_1").await;
        copy.take_facts(&said).await;
        original
            .append(&writer, batch(said[..40].to_vec()))
            .await
            .unwrap();
        copy.take_rows(&original, 1 << 20).await;
        assert_eq!(copy.adopted, 40);
        assert_eq!(all(&*copy.log, "ses_1").await, said);
        assert_good(&*copy.log, "ses_1").await;
        let last = copy.log.digests(&session()).await.unwrap().pop().unwrap();
        assert_eq!(last, (said.len() as u64, digest(said.len() as u64)));
        let more = facts(said.len() as u64 + 1, [text("more")]);
        let one = Batch::new(more, digest(0));
        copy.log.append(&copy.writer, one).await.unwrap();
        assert_good(&*copy.log, "ses_1").await;
    });
}
