//! Helpers for serialization that several crates use.

use std::io::{self, Write};

use serde::Serialize;

/// Returns whether a value is its type's default, for `skip_serializing_if`.
///
/// ```
/// use serde::Serialize;
///
/// #[derive(Serialize)]
/// struct Count {
///     #[serde(skip_serializing_if = "agentx_types::is_default")]
///     retries: u32,
/// }
/// assert_eq!(serde_json::to_string(&Count { retries: 0 }).unwrap(), "{}");
/// ```
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Returns the length of a value as JSON, in bytes. The JSON is not kept. `None` if the value is longer than
/// `limit`, where writing ends, or if it cannot be written as JSON.
///
/// ```
/// assert_eq!(agentx_types::json_len(&["a", "b"], 64), Some(9));
/// assert_eq!(agentx_types::json_len(&["a", "b"], 8), None);
/// ```
pub fn json_len<T: Serialize + ?Sized>(value: &T, limit: usize) -> Option<usize> {
    let mut counter = ByteCounter { len: 0, limit };
    serde_json::to_writer(&mut counter, value).ok()?;
    Some(counter.len)
}

/// A writer that counts bytes up to a limit and keeps none.
struct ByteCounter {
    len: usize,
    limit: usize,
}

impl Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.len = self.len.saturating_add(bytes.len());
        if self.len > self.limit {
            return Err(io::Error::other("the value is too long"));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
