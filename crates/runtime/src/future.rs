//! The futures that traits of this crate return.

use std::future::Future;
use std::pin::Pin;

/// A future that can be sent and stored.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
