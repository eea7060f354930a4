//! JSON to Luau and back, within bounds: depth, bytes, cycles. The rules are in `docs/LUAU.md`, "Values".
//!
//! Both directions use a [`FlatValue`](crate::json::flat_value::FlatValue), never a tree. A value that cannot
//! be JSON, such as a function, a cycle, NaN or a table with holes, is refused with its place:
//! `result.items[3].callback: a function is not JSON`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::exchange;
use crate::json::flat_part::FlatPart;
use crate::json::flat_value::FlatValue;
use crate::json::reader::ValueReader;
use crate::stack::{
    LuauType, NoRoom, Stack, StackSlot, TableBuilder, TablePair, ValueConversion, ValuePosition, caught,
};

/// The key of an object that represents bytes that are not text.
const BYTES: &[u8] = b"$bytes";

/// The size of a table beyond its content: it costs more than its two brackets.
const TABLE: usize = 30;

/// JSON as values of Luau, and values of Luau as JSON.
pub(crate) struct JsonConversion;

impl ValueConversion for JsonConversion {
    /// Nulls of objects become `json.null` if they are kept, otherwise absent keys as usual in Luau. The
    /// depth of the value was checked when it was written.
    fn takes(slot: StackSlot<'_>, keep: bool) {
        exchange::with(|flat| {
            let from = flat.reader();
            match caught(|| from.part()) {
                FlatPart::Null if !keep => slot.nil(),
                part => ToLuau { from: &from, keep }.put(part, slot),
            }
            flat.clear();
        });
    }

    fn gives(stack: &mut Stack) -> Option<String> {
        let (depth, bytes) = exchange::largest();
        exchange::with(|flat| {
            flat.clear();
            let mut to = ToJson {
                depth,
                bytes,
                left: bytes,
                walked: 0,
                into: flat,
            };
            let made = to.at(stack, Stack::FIRST, depth);
            exchange::given(to.bytes - to.left);
            made.err().map(Problem::message)
        })
    }
}

/// Makes Luau values of JSON, directly on the stack of the VM.
struct ToLuau<'a> {
    /// The source of the parts.
    from: &'a ValueReader<'a>,
    /// Nulls of objects are kept.
    keep: bool,
}

impl ToLuau<'_> {
    /// Stores the part that was read, and its contents, in the slot.
    fn put(&self, part: FlatPart, slot: StackSlot<'_>) {
        match part {
            FlatPart::Null => slot.null(),
            FlatPart::Bool(flag) => slot.boolean(flag),
            FlatPart::Whole(number) => slot.number(float(number)),
            FlatPart::Number(number) => slot.number(number),
            FlatPart::Text(bytes) => slot.text(caught(|| self.from.bytes(bytes))),
            FlatPart::List(count) => slot.table(count, 0, |list| {
                (1..).take(count).for_each(|position| self.item(list, position));
                if count == 0 {
                    list.mark_array();
                }
            }),
            FlatPart::Placed { count, .. } => slot.table(count, 0, |list| {
                for _ in 0..count {
                    let position = caught(|| self.from.place());
                    self.item(list, position);
                }
            }),
            FlatPart::Named(count) => self.object(count, slot),
        }
    }

    /// Reads one value of a list and puts it at its position.
    fn item(&self, list: &mut TableBuilder<'_>, position: i64) {
        let part = caught(|| self.from.part());
        list.item(position, |slot| self.put(part, slot));
    }

    /// Makes a table of an object, or bytes of an object that represents them.
    fn object(&self, count: usize, slot: StackSlot<'_>) {
        if count == 1
            && let Some(bytes) = caught(|| self.from.attempt(|| self.bytes()))
        {
            return slot.text(&bytes);
        }
        slot.table(0, count, |object| {
            for _ in 0..count {
                let (name, part) = caught(|| (self.from.name(), self.from.part()));
                if part != FlatPart::Null || self.keep {
                    object.field(name, |slot| self.put(part, slot));
                }
            }
        });
    }

    /// The bytes that an object represents.
    fn bytes(&self) -> Option<Vec<u8>> {
        match (self.from.name(), self.from.part()) {
            (BYTES, FlatPart::Text(bytes)) => BASE64.decode(self.from.bytes(bytes)).ok(),
            _ => None,
        }
    }
}

/// The double that a whole number is for a script.
#[allow(clippy::cast_precision_loss, reason = "Luau has no other numbers")]
const fn float(number: i64) -> f64 {
    number as f64
}

/// The reason why a Luau value is not JSON, and its place in the value: `.a[3]`, from the inside out. The
/// author of the script reads the text, with the place in front.
struct Problem(String, Vec<String>);

/// Number of table slots to walk before the clock is read: less than 50 µs.
const SLOTS_BETWEEN_LOOKS: usize = 1 << 14;

/// The slots that a table counts as.
///
/// The VM does not report the number of empty slots after its last value, so the clock is read once in eight
/// tables: eight times the longest walk through empty slots that the memory of a run allows.
const SLOTS_OF_A_TABLE: usize = SLOTS_BETWEEN_LOOKS / 8;

impl Problem {
    /// A problem with the value itself.
    fn new(message: impl Into<String>) -> Self {
        Self(message.into(), Vec::new())
    }

    /// The same problem, seen from the value around it.
    fn within_value(mut self, step: impl FnOnce() -> String) -> Self {
        if self.1.len() < 8 {
            self.1.push(step());
        }
        self
    }

    /// The message with the place.
    fn message(self) -> String {
        let Self(message, path) = self;
        if path.is_empty() {
            return message;
        }
        let place: String = path.into_iter().rev().collect();
        format!("{message} (at {})", place.trim_start_matches('.'))
    }
}

impl From<NoRoom> for Problem {
    fn from(_: NoRoom) -> Self {
        Self::new("there is no memory to go through it")
    }
}

/// Makes JSON of Luau values, and counts its output.
struct ToJson<'a> {
    depth: usize,
    bytes: usize,
    left: usize,
    /// Slots of tables, empty ones too, that were walked since the clock was read.
    walked: usize,
    into: &'a mut FlatValue,
}

impl ToJson<'_> {
    /// Charges bytes to the budget of the value; an error if nothing is left.
    fn take(&mut self, bytes: usize) -> Result<(), Problem> {
        match self.left.checked_sub(bytes) {
            Some(left) => self.left = left,
            None => {
                let most = crate::limits::Bytes(self.bytes);
                return Err(Problem::new(format!("more than {most} of JSON")));
            }
        }
        Ok(())
    }

    /// Charges slots of a table, including empty ones, because the same table may be walked many times.
    fn walk(&mut self, slots: usize) -> Result<(), Problem> {
        self.walked += slots;
        if self.walked < SLOTS_BETWEEN_LOOKS {
            return Ok(());
        }
        self.walked = 0;
        if exchange::may_go_on() {
            return Ok(());
        }
        Err(Problem::new("the script was stopped"))
    }

    /// Writes the value at this position.
    fn at(&mut self, stack: &mut Stack, at: ValuePosition, depth: usize) -> Result<(), Problem> {
        self.take(2)?;
        match stack.kind(at) {
            LuauType::Nil | LuauType::Null => self.into.push(FlatPart::Null),
            LuauType::Boolean => self.into.push(FlatPart::Bool(stack.as_boolean(at))),
            LuauType::Integer => self.into.push(FlatPart::Whole(stack.as_integer(at))),
            LuauType::Number => self.into.push(number_part(stack.as_number(at))?),
            LuauType::Text => {
                let bytes = stack.as_bytes(at);
                self.take(bytes.len())?;
                match std::str::from_utf8(bytes) {
                    Ok(text) => self.into.text(text),
                    Err(_) => self.bytes(bytes),
                }
            }
            LuauType::Buffer => {
                let bytes = stack.as_bytes(at);
                self.take(bytes.len())?;
                self.bytes(bytes);
            }
            LuauType::Table => {
                self.take(TABLE)?;
                self.table(stack, at, depth)?;
            }
            LuauType::Other => {
                return Err(Problem::new(format!("a {} is not JSON", stack.kind_name(at))));
            }
        }
        Ok(())
    }

    /// Writes bytes that are not text as an object that represents them.
    fn bytes(&mut self, bytes: &[u8]) {
        self.into.push(FlatPart::Named(1));
        self.into.text("$bytes");
        self.into.text(&BASE64.encode(bytes));
    }

    /// Writes a table as a list or an object, by its keys.
    fn table(&mut self, stack: &mut Stack, at: ValuePosition, depth: usize) -> Result<(), Problem> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Problem::new(format!(
                "nested deeper than {}, or a table that contains itself",
                self.depth
            )));
        };
        self.walk(SLOTS_OF_A_TABLE)?;
        let whole = self.into.later();
        let (mut places, mut names) = (TablePositions::default(), 0);
        stack.each(at, |stack, pair| {
            self.walk(pair.walked)?;
            if let Some(place) = place_of(stack, pair.key) {
                places.come_by(place);
                self.into.push(FlatPart::Whole(place));
                let made = self.at(stack, pair.value, depth);
                return made.map_err(|problem| problem.within_value(|| format!("[{place}]")));
            }
            names += 1;
            self.field(stack, pair, depth)
        })?;
        let part = match (places.count, names) {
            (0, 0) if stack.is_marked(at) => FlatPart::List(0),
            (0, _) => FlatPart::Named(names),
            (_, 0) => places.part()?,
            _ => {
                return Err(Problem::new("a table with both positions and names is not JSON"));
            }
        };
        self.into.fill(whole, part);
        Ok(())
    }

    /// Writes one field of an object, whose name has to be a text.
    fn field(&mut self, stack: &mut Stack, pair: TablePair, depth: usize) -> Result<(), Problem> {
        if stack.kind(pair.key) != LuauType::Text {
            let kind = stack.kind_name(pair.key);
            return Err(Problem::new(format!("a key that is a {kind} is not JSON")));
        }
        let Ok(name) = std::str::from_utf8(stack.as_bytes(pair.key)) else {
            return Err(Problem::new("a key that is not text is not JSON"));
        };
        self.take(name.len() + 2)?;
        self.into.text(name);
        let made = self.at(stack, pair.value, depth);
        made.map_err(|problem| {
            let name = String::from_utf8_lossy(stack.as_bytes(pair.key));
            problem.within_value(|| format!(".{name}"))
        })
    }
}

/// The known facts about the keys of a table that may be a list.
#[derive(Default)]
struct TablePositions {
    count: usize,
    /// Whether the keys are not consecutive, or do not begin at 1.
    unsorted: bool,
    /// Whether a key is not a position.
    wrong: bool,
    last: i64,
    most: i64,
}

impl TablePositions {
    /// Records a position.
    fn come_by(&mut self, place: i64) {
        self.count += 1;
        self.unsorted |= place != self.last.wrapping_add(1);
        self.wrong |= place < 1;
        self.last = place;
        self.most = self.most.max(place);
    }

    /// Each position occurs once, so if their count equals the greatest one, none is missing.
    fn part(&self) -> Result<FlatPart, Problem> {
        if self.wrong || usize::try_from(self.most) != Ok(self.count) {
            return Err(Problem::new(
                "a table with gaps is not JSON: its positions must be 1, 2, 3, …",
            ));
        }
        Ok(FlatPart::Placed {
            count: self.count,
            sorted: !self.unsorted,
        })
    }
}

/// The position that the key is.
fn place_of(stack: &Stack, key: ValuePosition) -> Option<i64> {
    match stack.kind(key) {
        LuauType::Integer => Some(stack.as_integer(key)),
        LuauType::Number => whole(stack.as_number(key)),
        _ => None,
    }
}

/// The number as a whole number, if it is one; negative zero counts too.
fn whole(number: f64) -> Option<i64> {
    #[allow(clippy::cast_possible_truncation, reason = "what is cut off is missing below")]
    let whole = number as i64;
    #[allow(clippy::float_cmp, reason = "it is the same number or it is not")]
    let same = float(whole) == number && whole != i64::MAX;
    same.then_some(whole)
}

/// A number as a part; infinities and NaN are refused.
fn number_part(number: f64) -> Result<FlatPart, Problem> {
    if let Some(number) = whole(number) {
        return Ok(FlatPart::Whole(number));
    }
    if !number.is_finite() {
        return Err(Problem::new("a number that is not finite is not JSON"));
    }
    Ok(FlatPart::Number(number))
}

#[cfg(test)]
mod tests;
