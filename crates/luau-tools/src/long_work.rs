//! Long work of a run that is done a piece at a time: JSON of large values. A run has one such work; where a
//! script begins another, the first is given up, so that what lies outside the VM stays little.

use std::cell::{Cell, RefCell};

use crate::decode::{DecodeFailure, Decoding};
use crate::encode::Encoding;
use crate::flat_value::FlatValue;

/// Texts and values from here on are worked on in pieces.
pub(crate) const LARGE: usize = 64 << 10;

/// The long work of a run.
#[derive(Default)]
pub(crate) struct LongWork {
    last: Cell<u64>,
    work: RefCell<Option<(u64, PieceWork)>>,
}

/// What is worked on.
enum PieceWork {
    Decoding(Box<Decoding>),
    Encoding(Encoding),
}

/// How far it has come.
pub(crate) enum Piece {
    /// There is more to do.
    On,
    /// A text was read.
    Read(FlatValue),
    /// A text could not be read.
    NotRead(DecodeFailure),
    /// A value was written.
    Written(Vec<u8>),
    /// It was given up.
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

    fn begin(&self, work: PieceWork) -> u64 {
        let number = self.last.get() + 1;
        self.last.set(number);
        *self.work.borrow_mut() = Some((number, work));
        number
    }

    /// Does a piece of the work with this number.
    pub(crate) fn go_on(&self, number: u64) -> Piece {
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
