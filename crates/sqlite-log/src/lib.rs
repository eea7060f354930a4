//! The session log on SQLite: batches, blobs, forks by reference, a hash chain, read models.
//!
//! [`SqliteLog`] implements [`agentx_runtime::SessionLog`] for one database file, which any number of
//! processes may use at once. Facts are stored as the batches in which they were committed, as a compact
//! stream of records in which a run of deltas costs little more than its text (see `codec.rs`); the rows of a
//! stream are packed into one when it ends (see `segment.rs`). Packing changes the place of bytes and never
//! the content for a reader; of the derived digests of the packed batches, the last is kept.
//!
//! ```
//! use std::sync::Arc;
//! use agentx_runtime::{Batch, NewLog, SessionLog};
//! use agentx_sqlite_log::SqliteLog;
//! use agentx_types::{EventDraft, OwnerId, SessionId, Source, TextChunk, Timestamp};
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let log = SqliteLog::open_in_memory()?;
//! let session = SessionId::new("ses_1");
//! log.create(NewLog::new(session.clone(), OwnerId::new("own_1"), Timestamp(0), "work")).await?;
//!
//! let writer = log.attach(&session).await?;
//! let event = EventDraft::new(Source::Environment, None, TextChunk { text: "你好".into() });
//! let fact = Arc::new(event.into_envelope(session.clone(), 1, Timestamp(1)));
//! log.append(&writer, Batch::new(vec![fact.clone()], [0; 32])).await?;
//!
//! assert_eq!(log.read(&session, 0, 10).await?, [fact]);
//! # Ok::<(), agentx_runtime::LogError>(())
//! # }).unwrap();
//! ```

mod adopt;
mod ancestor_names;
mod append;
mod blob_store;
mod blobs;
mod bytes;
mod chain;
mod checked_rows;
mod checkpoint;
mod codec;
mod error;
mod examine;
mod gc;
mod keys;
mod latest_matches;
mod link;
mod lock;
mod log;
mod maintain;
mod message_text;
mod models;
mod open_session;
mod options;
mod pack;
mod pool;
mod read;
pub mod records;
mod same_file;
mod scan;
mod schema;
mod search;
mod search_matches;
pub mod search_words;
mod segment;
mod sessions;
mod spending;
mod stored_rows;
mod verify;
mod word_index;
mod writer;

pub use examine::{Examined, examine};
pub use log::SqliteLog;
pub use options::{Durability, LogOptions};
pub use schema::FORMAT;
