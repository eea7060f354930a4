//! Finds the prompts of the shell in the bytes of its terminal. A prompt is an escape sequence that only the
//! shell prints, because only the shell has its secret word. It says that a command has ended, and how.

/// Longest prompt. A longer sequence is output that begins like one.
const LONGEST: usize = 16 << 10;

/// The end of a command, as the shell reported it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShellPrompt {
    /// The number of the command; 0 before the first one.
    pub(super) number: u64,
    /// Its exit code.
    pub(super) exit_code: i32,
    /// The directory that the shell is in.
    pub(super) directory: String,
}

/// A piece of the bytes of a terminal.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TerminalPiece<'a> {
    /// Output of a program.
    Output(&'a [u8]),
    /// A prompt of the shell.
    Prompt(ShellPrompt),
}

/// Separates output from prompts, however the bytes are cut into pieces.
#[derive(Debug)]
pub(super) struct PromptScanner {
    begin: Vec<u8>,
    /// Bytes that may be the beginning of a prompt.
    held: Vec<u8>,
}

impl PromptScanner {
    pub(super) fn new(word: &str) -> Self {
        Self {
            begin: format!("\u{1b}]777;agentx;{word};").into_bytes(),
            held: Vec::new(),
        }
    }

    /// Takes more bytes and passes each complete piece to `found`.
    pub(super) fn push(&mut self, bytes: &[u8], mut found: impl FnMut(TerminalPiece<'_>)) {
        self.held.extend_from_slice(bytes);
        let mut done = 0;
        loop {
            let rest = &self.held[done..];
            let at = memchr::memmem::find(rest, &self.begin);
            let output = at.unwrap_or_else(|| rest.len() - open_beginning(rest, &self.begin));
            if output > 0 {
                found(TerminalPiece::Output(&rest[..output]));
                done += output;
            }
            if at.is_none() {
                break;
            }
            let inside = &rest[output + self.begin.len()..];
            match memchr::memchr(b'\x07', inside) {
                Some(end) => {
                    if let Some(prompt) = parse(&inside[..end]) {
                        found(TerminalPiece::Prompt(prompt));
                    }
                    done += self.begin.len() + end + 1;
                }
                None if inside.len() > LONGEST => {
                    found(TerminalPiece::Output(&rest[output..]));
                    done = self.held.len();
                    break;
                }
                None => break,
            }
        }
        self.held.drain(..done);
    }
}

/// Returns the number of bytes at the end of `rest` that may be the beginning of a prompt.
fn open_beginning(rest: &[u8], begin: &[u8]) -> usize {
    let most = rest.len().min(begin.len().saturating_sub(1));
    (1..=most)
        .rev()
        .find(|length| rest.ends_with(&begin[..*length]))
        .unwrap_or(0)
}

/// Reads `NUMBER;EXIT CODE;DIRECTORY`.
fn parse(inside: &[u8]) -> Option<ShellPrompt> {
    let text = String::from_utf8_lossy(inside);
    let mut parts = text.splitn(3, ';');
    let (number, exit_code, directory) = (parts.next()?, parts.next()?, parts.next()?);
    Some(ShellPrompt {
        number: number.parse().ok()?,
        exit_code: exit_code.parse().ok()?,
        directory: directory.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the output and the prompts of these pieces.
    fn scanned<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (String, Vec<ShellPrompt>) {
        let mut scanner = PromptScanner::new("made-up");
        let (mut output, mut prompts) = (Vec::new(), Vec::new());
        for piece in pieces {
            scanner.push(piece, |piece| match piece {
                TerminalPiece::Output(bytes) => output.extend_from_slice(bytes),
                TerminalPiece::Prompt(prompt) => prompts.push(prompt),
            });
        }
        (String::from_utf8(output).unwrap(), prompts)
    }

    const STREAM: &str = "one\u{1b}[0m\u{1b}]777;agentx;made-up;1;0;/ws\u{7}two\u{1b}]777;agentx;other;9;9;/x\u{7}\
        \u{1b}]777;agentx;made-up;2;130;/a;b c\u{7}\u{1b}]777;agentx;made-up;no\u{7}three";

    #[test]
    fn prompts_are_taken_out_of_the_output() {
        let (output, prompts) = scanned([STREAM.as_bytes()]);
        assert_eq!(output, "one\u{1b}[0mtwo\u{1b}]777;agentx;other;9;9;/x\u{7}three");
        let prompt = |number, exit_code, directory: &str| ShellPrompt {
            number,
            exit_code,
            directory: directory.to_owned(),
        };
        assert_eq!(prompts, [prompt(1, 0, "/ws"), prompt(2, 130, "/a;b c")]);
    }

    #[test]
    fn a_beginning_that_never_ends_is_output() {
        let mut long = b"\x1b]777;agentx;made-up;".to_vec();
        long.resize(3 * LONGEST, b'x');
        let (output, prompts) = scanned(long.chunks(1000));
        assert!(prompts.is_empty());
        assert!(output.len() > LONGEST, "{}", output.len());
    }

    proptest! {
        #[test]
        fn a_stream_in_pieces_is_read_as_the_whole(cuts in prop::collection::vec(0..STREAM.len(), 0..12)) {
            let mut cuts = cuts;
            cuts.sort_unstable();
            let (mut pieces, mut from) = (Vec::new(), 0);
            for cut in cuts {
                pieces.push(&STREAM.as_bytes()[from..cut]);
                from = cut;
            }
            pieces.push(&STREAM.as_bytes()[from..]);
            prop_assert_eq!(scanned(pieces), scanned([STREAM.as_bytes()]));
        }
    }
}
