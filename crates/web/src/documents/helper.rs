//! The inside of the helper: it limits itself, reads a document from its standard input, and writes the text
//! to its standard output.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use super::HELPER;

/// Whether this program checked at its start that it is the helper. A program that did not would do its own
/// work instead of the helper's.
static ASKED: AtomicBool = AtomicBool::new(false);

/// Acts as the helper that reads a document if this process was started as one; `None` if it was not. Call it
/// in the first lines of `main`, before anything starts a thread, and return what it returns:
///
/// ```
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     if let Some(ended) = agentx_web::act_as_document_helper() {
///         return ended;
///     }
///     // The program itself.
///     ExitCode::SUCCESS
/// }
/// ```
///
/// Only then can a [`DocumentHelper`](crate::DocumentHelper) be this program itself.
pub fn act_as_document_helper() -> Option<ExitCode> {
    ASKED.store(true, Ordering::Relaxed);
    let mut words = std::env::args_os().skip(1);
    let is_helper = words.next().is_some_and(|word| word == HELPER);
    is_helper.then(|| run(words)).flatten()
}

/// Returns whether this program can be its own helper.
pub(super) fn can_be_helper() -> bool {
    cfg!(feature = "documents") && ASKED.load(Ordering::Relaxed)
}

#[cfg(not(feature = "documents"))]
fn run(_: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    None
}

#[cfg(feature = "documents")]
fn run(words: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    Some(inside::run(words))
}

#[cfg(feature = "documents")]
mod inside {
    use std::ffi::OsString;
    use std::io::{self, Read as _, Write as _};
    use std::process::ExitCode;

    use nix::sys::resource::{Resource, setrlimit};

    use super::super::{DocumentFormat, DocumentText, HelperAnswer, html, pdf};

    /// The memory of the helper, in bytes.
    const MEMORY: u64 = 1 << 30;
    /// The resource that limits it. Other systems than Linux need another one, because a process may begin
    /// there with more address space than this.
    #[cfg(target_os = "linux")]
    const HELD_MEMORY: Resource = Resource::RLIMIT_AS;
    #[cfg(not(target_os = "linux"))]
    const HELD_MEMORY: Resource = Resource::RLIMIT_DATA;
    /// The time of the processor, in seconds.
    const PROCESSOR_SECONDS: u64 = 10;
    /// The largest document, in bytes.
    const MAX_DOCUMENT: u64 = 64 << 20;
    /// The longest text, in bytes.
    const MAX_TEXT: usize = 4 << 20;
    /// The stack of the thread that reads: documents nest deeply, and libraries follow them by recursion.
    const STACK: usize = 128 << 20;

    /// Runs as the helper. `words` are those behind the word that says so.
    pub(super) fn run(words: impl Iterator<Item = OsString>) -> ExitCode {
        let answer = answer(words).unwrap_or_else(HelperAnswer::Refused);
        let Ok(text) = serde_json::to_vec(&answer) else {
            return ExitCode::FAILURE;
        };
        match io::stdout().write_all(&text) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        }
    }

    fn answer(words: impl Iterator<Item = OsString>) -> Result<HelperAnswer, String> {
        limit().map_err(|error| format!("the helper cannot limit itself: {error}"))?;
        let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
        let format = words.first().and_then(|word| DocumentFormat::of_word(word));
        let format = format.ok_or("this is for AgentX itself")?;
        let address = words.get(1).cloned();
        let mut bytes = Vec::new();
        let read = io::stdin().take(MAX_DOCUMENT + 1).read_to_end(&mut bytes);
        read.map_err(|error| format!("it cannot be read: {error}"))?;
        if bytes.len() as u64 > MAX_DOCUMENT {
            return Err(format!("it has more than {MAX_DOCUMENT} bytes"));
        }
        let reading = std::thread::Builder::new()
            .stack_size(STACK)
            .spawn(move || match format {
                DocumentFormat::Html => html::read(&String::from_utf8_lossy(&bytes), address.as_deref()),
                DocumentFormat::Pdf => pdf::read(&bytes, MAX_TEXT),
            });
        let reading = reading.map_err(|error| format!("the helper cannot start a thread: {error}"))?;
        let read = reading
            .join()
            .map_err(|_| "it is broken, or of an unusual kind".to_owned())?;
        Ok(HelperAnswer::Document(cut(read?)))
    }

    /// Cuts a very long text.
    fn cut(mut document: DocumentText) -> DocumentText {
        if document.text.len() > MAX_TEXT {
            document
                .text
                .truncate(document.text.floor_char_boundary(MAX_TEXT));
            document.is_cut = true;
        }
        document
    }

    /// Limits this process: its memory, its time, and that it writes and opens no files.
    fn limit() -> nix::Result<()> {
        let limits = [
            (HELD_MEMORY, MEMORY),
            (Resource::RLIMIT_CPU, PROCESSOR_SECONDS),
            (Resource::RLIMIT_CORE, 0),
            (Resource::RLIMIT_NOFILE, 3),
        ];
        limits
            .into_iter()
            .try_for_each(|(resource, most)| setrlimit(resource, most, most))
    }
}
