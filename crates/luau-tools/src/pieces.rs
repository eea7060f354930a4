//! Long work of a run that is done a piece at a time: JSON of large values. A run has one such work; where a script begins another, the
//! first is given up, so that what lies outside the VM stays little.

use std::cell::{Cell, RefCell};

use crate::decode::{Decoding, Failed};
use crate::encode::Encoding;
use crate::flat::Flat;

/// Texts and values from here on are worked on in pieces.
pub(crate) const LARGE: usize = 64 << 10;

/// The long work of a run.
#[derive(Default)]
pub(crate) struct Pieces {
    last: Cell<u64>,
    work: RefCell<Option<(u64, Work)>>,
}

/// What is worked on.
enum Work {
    Decoding(Box<Decoding>),
    Encoding(Encoding),
}

/// How far it has come.
pub(crate) enum Came {
    /// There is more to do.
    On,
    /// A text was read.
    Read(Flat),
    /// A text could not be read.
    NotRead(Failed),
    /// A value was written.
    Written(Vec<u8>),
    /// It was given up.
    Gone,
}

impl Pieces {
    /// Begins to read a text; the number of the work.
    pub(crate) fn decode(&self, decoding: Decoding) -> u64 {
        self.begin(Work::Decoding(Box::new(decoding)))
    }

    /// Begins to write a value; the number of the work.
    pub(crate) fn encode(&self, flat: Flat) -> u64 {
        self.begin(Work::Encoding(Encoding::of(flat)))
    }

    fn begin(&self, work: Work) -> u64 {
        let number = self.last.get() + 1;
        self.last.set(number);
        *self.work.borrow_mut() = Some((number, work));
        number
    }

    /// Does a piece of the work with this number.
    pub(crate) fn go_on(&self, number: u64) -> Came {
        let mut there = self.work.borrow_mut();
        let Some((_, work)) = there.as_mut().filter(|(there, _)| *there == number) else {
            return Came::Gone;
        };
        let came = match work {
            Work::Decoding(decoding) => match decoding.more() {
                Ok(false) => return Came::On,
                Ok(true) => Came::Read(decoding.take()),
                Err(failed) => Came::NotRead(failed),
            },
            Work::Encoding(encoding) => match encoding.more() {
                None => return Came::On,
                Some(text) => Came::Written(text),
            },
        };
        *there = None;
        came
    }
}
