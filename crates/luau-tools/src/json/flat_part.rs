//! The parts of a flat value, and the tags by which the writer and the reader know them.

/// A part of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum FlatPart {
    #[default]
    Null,
    Bool(bool),
    Whole(i64),
    Number(f64),
    /// A text of this many bytes, which follow.
    Text(usize),
    /// An array of this many values, which follow.
    List(usize),
    /// The same, from a table: each value comes after its position, in any order.
    Placed {
        count: usize,
        sorted: bool,
    },
    /// An object of this many values, each after its name. One that comes from a table has no order.
    Named(usize),
}

/// The tags of encoded parts: a part is its tag, and then its content in as many bytes as needed, the least
/// significant first.
pub(crate) mod tag {
    pub(crate) const NULL: u8 = 0;
    pub(crate) const FALSE: u8 = 1;
    pub(crate) const TRUE: u8 = 2;
    /// A whole number in eight bytes.
    pub(crate) const WHOLE: u8 = 3;
    /// Another number, in eight bytes.
    pub(crate) const NUMBER: u8 = 4;
    /// A whole number up to 255, in one byte: most are.
    pub(crate) const SMALL_WHOLE: u8 = 5;
    /// A whole number that came as a number of a script, in one byte.
    pub(crate) const SMALL_NUMBER: u8 = 6;
    /// A text, with its length in eight bytes, or in one.
    pub(crate) const TEXT: u8 = 7;
    pub(crate) const SHORT_TEXT: u8 = 8;
    /// With the count in eight bytes.
    pub(crate) const LIST: u8 = 9;
    /// A table, in the order of positions.
    pub(crate) const SORTED: u8 = 10;
    /// A table, in any order.
    pub(crate) const UNSORTED: u8 = 11;
    /// An object.
    pub(crate) const NAMED: u8 = 12;
}
