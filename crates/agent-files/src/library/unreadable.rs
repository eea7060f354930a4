//! The reason why a text was not read, and the position of the first byte that is not text, so that an editor
//! can repair it.

use std::fmt;

use agentx_config::yaml::TextPosition;

use crate::files::FileFault;
use crate::mistake::START;

/// A file that gave no text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnreadableFile {
    /// The position in the file.
    pub(crate) at: TextPosition,
    pub(crate) message: String,
    /// There is none at all.
    pub(crate) missing: bool,
}

impl From<FileFault> for UnreadableFile {
    fn from(fault: FileFault) -> Self {
        Self {
            at: START,
            message: fault.to_string(),
            missing: fault == FileFault::Missing,
        }
    }
}

/// The message at a reference to the file, with the position if the error is not about the whole file.
impl fmt::Display for UnreadableFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.at == START {
            f.write_str(&self.message)
        } else {
            write!(f, "{}:{}: {}", self.at.line, self.at.column, self.message)
        }
    }
}

/// Returns the text of a file.
pub(crate) fn text(bytes: &[u8]) -> Result<String, UnreadableFile> {
    // A byte order mark does not belong to the text.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf".as_slice()).unwrap_or(bytes);
    let error = match std::str::from_utf8(bytes) {
        Ok(text) => return Ok(text.to_owned()),
        Err(error) => error,
    };
    let wide = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
    let message = match bytes.get(error.valid_up_to()) {
        Some(_) if wide => "it is UTF-16; save it as UTF-8".to_owned(),
        Some(byte) => format!("it is not UTF-8 (byte 0x{byte:02x} here); save it as UTF-8"),
        None => "it is not UTF-8; save it as UTF-8".to_owned(),
    };
    let before = String::from_utf8_lossy(bytes.get(..error.valid_up_to()).unwrap_or_default());
    let last = before.rsplit('\n').next().unwrap_or_default();
    let at = TextPosition {
        line: before.matches('\n').count() as u64 + 1,
        column: last.chars().count() as u64 + 1,
    };
    Err(UnreadableFile {
        at,
        message,
        missing: false,
    })
}
