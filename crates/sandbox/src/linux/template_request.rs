//! The request of the program to a [template](super::template): the command to start, as one message. Its
//! parts end with a NUL, which none of them can hold.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::net::UnixStream;

use super::kernel::{receive_descriptor, send_descriptor};

/// The command to start in a copy of the template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TemplateRequest {
    /// The working directory.
    pub(crate) directory: OsString,
    /// The mark of the command, `NAME=VALUE`: the first process inside shows it in its environment.
    pub(crate) mark: OsString,
    /// The file of the program.
    pub(crate) file: OsString,
    /// Its words, the first of which is its name.
    pub(crate) words: Vec<OsString>,
    /// Its variables, each `NAME=VALUE`.
    pub(crate) variables: Vec<OsString>,
}

impl TemplateRequest {
    /// Returns the message; `None` if a part holds a NUL, with which no program could be started.
    pub(crate) fn to_bytes(&self) -> Option<Vec<u8>> {
        let count = OsString::from(self.words.len().to_string());
        let head = [&self.directory, &self.mark, &self.file, &count];
        let mut bytes = Vec::new();
        for part in head.into_iter().chain(&self.words).chain(&self.variables) {
            if part.as_bytes().contains(&0) {
                return None;
            }
            bytes.extend_from_slice(part.as_bytes());
            bytes.push(0);
        }
        Some(bytes)
    }

    /// Reads the message.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let mut parts = bytes
            .strip_suffix(&[0])?
            .split(|byte| *byte == 0)
            .map(|part| OsString::from_vec(part.to_vec()));
        let (directory, mark, file) = (parts.next()?, parts.next()?, parts.next()?);
        let count: usize = parts.next()?.to_str()?.parse().ok()?;
        let words: Vec<OsString> = parts.by_ref().take(count).collect();
        (words.len() == count && count > 0).then(|| Self {
            directory,
            mark,
            file,
            words,
            variables: parts.collect(),
        })
    }

    /// The variables, by name and value.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> + Clone {
        self.variables.iter().filter_map(|variable| {
            let bytes = variable.as_bytes();
            let end = bytes.iter().position(|byte| *byte == b'=')?;
            Some((
                OsStr::from_bytes(&bytes[..end]),
                OsStr::from_bytes(&bytes[end + 1..]),
            ))
        })
    }
}

/// The longest message: shorter than the longest argument of a program.
pub(crate) const LONGEST_REQUEST: usize = 100_000;

/// Sends a message with a descriptor, of which the other side gets a copy.
pub(crate) fn send_with_descriptor(
    mut socket: &UnixStream,
    message: &[u8],
    descriptor: impl AsFd,
) -> io::Result<()> {
    let length = u32::try_from(message.len()).map_err(io::Error::other)?;
    send_descriptor(socket, descriptor, &length.to_le_bytes())?;
    socket.write_all(message)
}

/// Receives a message with its descriptor. `None` if the other side is gone.
pub(crate) fn receive_with_descriptor(mut socket: &UnixStream) -> io::Result<Option<(Vec<u8>, OwnedFd)>> {
    let mut length = [0; 4];
    let (read, descriptor) = receive_descriptor(socket, &mut length)?;
    let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
    let Some(descriptor) = descriptor.filter(|_| read == 4 && length <= LONGEST_REQUEST) else {
        return Ok(None);
    };
    let mut message = vec![0; length];
    socket.read_exact(&mut message)?;
    Ok(Some((message, descriptor)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_written() {
        let request = TemplateRequest {
            directory: "/srv/wörk".into(),
            mark: "MARK=a/b".into(),
            file: "/bin/sh".into(),
            words: ["sh", "-c", "", "x=1"].map(OsString::from).into(),
            variables: vec![
                "A=b=c".into(),
                OsString::from_vec(b"B=\xff".to_vec()),
                "C=".into(),
            ],
        };
        let bytes = request.to_bytes().unwrap();
        assert_eq!(TemplateRequest::of_bytes(&bytes), Some(request.clone()));
        let names: Vec<_> = request.variables().map(|(name, _)| name).collect();
        assert_eq!(names, ["A", "B", "C"]);
        assert_eq!(request.variables().next().unwrap().1, "b=c");
        for cut in [0, 3, 20, bytes.len() - 1] {
            let read = TemplateRequest::of_bytes(&bytes[..cut]);
            assert_ne!(read.as_ref(), Some(&request), "{cut}");
        }
        let other = TemplateRequest {
            file: "/bin/\0".into(),
            ..request
        };
        assert_eq!(other.to_bytes(), None);
    }
}
