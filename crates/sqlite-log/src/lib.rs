//! The session log on SQLite: batches, blobs, forks by reference, a hash chain, read models.
