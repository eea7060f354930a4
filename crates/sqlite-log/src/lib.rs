//! The session log on SQLite: batches, blobs, forks by reference, a hash chain, read models.
//!
//! [`SqliteLog`] implements [`agentx_runtime::SessionLog`] for one database file, which any number of
//! processes may use at once. Facts are stored as the batches in which they were committed, as a compact
//! stream of records in which a run of deltas costs little more than its text (see `rows/codec.rs`); the rows
//! of a stream are packed into one when it ends (see `rows/segment.rs`). Packing changes the place of bytes
//! and never the content for a reader; only the last of the derived digests of the packed batches is kept.
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

mod database;
mod error;
mod keys;
mod log;
mod models;
mod read;
pub mod records;
mod rows;
mod search;
pub mod search_words;
mod write;

pub use agentx_files::make_own_directory;
pub use database::examine::{Examined, examine};
pub use database::options::{Durability, LogOptions};
pub use database::schema::FORMAT;
pub use error::is_disk_full;
pub use log::SqliteLog;
