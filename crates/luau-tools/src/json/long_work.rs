//! Long work of a run that is done one piece at a time: JSON of large values. A run has at most one such
//! work; if a script begins another, the first is dropped, so that the memory outside the VM stays small.
//!
//! A piece takes well below a millisecond. Between two pieces the script is at a safepoint, so that its
//! limits are checked and others have their turn. The data is outside of the VM; its size is bounded by
//! [`ScriptLimits::json`](crate::ScriptLimits::json).

use std::cell::{Cell, RefCell};

use crate::json::decode::{DecodeFailure, Decoding};
use crate::json::encode::Encoding;
use crate::json::flat_value::FlatValue;

/// Texts and values from now on are worked on in pieces.
pub(crate) const LARGE: usize = 64 << 10;

/// The long work of a run. By its number a script detects that its requested work was abandoned.
#[derive(Default)]
pub(crate) struct LongWork {
    /// The number of the last work that was begun.
    last: Cell<u64>,
    /// The current work, and its number: a script that asks for an older one gets an error.
    work: RefCell<Option<(u64, PieceWork)>>,
}

/// The input of a piece of work.
enum PieceWork {
    /// A text that is read as JSON.
    Decoding(Box<Decoding>),
    /// A value that is written as JSON.
    Encoding(Encoding),
}

/// The progress.
pub(crate) enum Piece {
    /// The work is not finished.
    On,
    /// A text was read.
    Read(FlatValue),
    /// A text could not be read.
    NotRead(DecodeFailure),
    /// A value was written.
    Written(Vec<u8>),
    /// The work was abandoned.
    Gone,
}

impl LongWork {
    /// Begins to read a text; the number of the work.
    pub(crate) fn decode(&self, decoding: Decoding) -> u64 {
        self.begin(PieceWork::Decoding(Box::new(decoding)))
    }

    /// Begins to write a value; the number of the work.
    pub(crate) fn encode(&self, flat: FlatValue) -> u64 {
        self.begin(PieceWork::Encoding(Encoding::of(flat)))
    }

    /// Replaces the former work.
    fn begin(&self, work: PieceWork) -> u64 {
        let number = self.last.get() + 1;
        self.last.set(number);
        *self.work.borrow_mut() = Some((number, work));
        number
    }

    /// Does a piece of the work with this number.
    pub(crate) fn continue_work(&self, number: u64) -> Piece {
        let mut there = self.work.borrow_mut();
        let Some((_, work)) = there.as_mut().filter(|(there, _)| *there == number) else {
            return Piece::Gone;
        };
        let came = match work {
            PieceWork::Decoding(decoding) => match decoding.more() {
                Ok(false) => return Piece::On,
                Ok(true) => Piece::Read(decoding.take()),
                Err(failed) => Piece::NotRead(failed),
            },
            PieceWork::Encoding(encoding) => match encoding.more() {
                None => return Piece::On,
                Some(text) => Piece::Written(text),
            },
        };
        *there = None;
        came
    }
}
