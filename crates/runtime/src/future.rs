//! The futures that traits of this crate return.

/// A future that can be sent and stored.
pub use futures_core::future::BoxFuture;
