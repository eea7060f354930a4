//! JSON to Luau and back, within bounds: depth, bytes, cycles. The rules are in `docs/LUAU.md`, "Values".

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use mlua::{Either, IntoLua, Lua, Table, Value as Luau};

use crate::flat::{Flat, Part, Reader};

/// The key of an object that stands for bytes which are no text.
const BYTES: &str = "$bytes";

/// What a table counts as beyond what is in it: it costs more than its two brackets.
const TABLE: usize = 30;

/// How nulls of objects come into a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nulls {
    /// As an absent key, as Luau has it.
    Absent,
    /// As `json.null`.
    Kept,
}

/// Makes Luau values of JSON.
pub(crate) struct ToLuau<'a> {
    pub(crate) lua: &'a Lua,
    /// Marks an empty array, which would otherwise be an empty object on the way back.
    pub(crate) array: &'a Table,
    pub(crate) nulls: Nulls,
    pub(crate) from: Reader<'a>,
}

/// What goes into a table as it is, and the rest: a handle to a value of the VM costs more than the value.
type Direct<'v> = Either<&'v str, Either<f64, Either<bool, Inner<'v>>>>;

/// A value inside a table, made when the table has come to it; `None` is an absent one.
struct Inner<'v>(&'v ToLuau<'v>, Option<Part>);

impl IntoLua for Inner<'_> {
    fn into_lua(self, _: &Lua) -> mlua::Result<Luau> {
        self.1.map_or(Ok(Luau::Nil), |part| self.0.made(part))
    }
}

impl ToLuau<'_> {
    /// The value; its depth was checked when it was written.
    pub(crate) fn value(&self) -> mlua::Result<Luau> {
        match self.from.part() {
            Part::Null if self.nulls == Nulls::Absent => Ok(Luau::Nil),
            part => self.made(part),
        }
    }

    fn made(&self, part: Part) -> mlua::Result<Luau> {
        Ok(match part {
            Part::Null => Luau::NULL,
            Part::Bool(flag) => Luau::Boolean(flag),
            Part::Whole(number) => Luau::Number(float(number)),
            Part::Number(number) => Luau::Number(number),
            Part::Text(bytes) => Luau::String(self.lua.create_string(self.from.text(bytes))?),
            Part::List(count) => Luau::Table(self.array(count)?),
            Part::Placed { count, .. } => {
                let items = (0..count).map(|_| (self.from.place(), self.item()));
                Luau::Table(self.lua.create_table_from(items)?)
            }
            Part::Named(count) => self.object(count)?,
        })
    }

    fn item(&self) -> Direct<'_> {
        self.direct(self.from.part())
    }

    fn direct(&self, part: Part) -> Direct<'_> {
        match part {
            Part::Text(bytes) => Either::Left(self.from.text(bytes)),
            Part::Number(number) => Either::Right(Either::Left(number)),
            Part::Whole(number) => Either::Right(Either::Left(float(number))),
            Part::Bool(flag) => Either::Right(Either::Right(Either::Left(flag))),
            other => Either::Right(Either::Right(Either::Right(Inner(self, Some(other))))),
        }
    }

    fn field(&self) -> Direct<'_> {
        match self.from.part() {
            Part::Null if self.nulls == Nulls::Absent => {
                Either::Right(Either::Right(Either::Right(Inner(self, None))))
            }
            part => self.direct(part),
        }
    }

    fn array(&self, count: usize) -> mlua::Result<Table> {
        let table = self.lua.create_sequence_from((0..count).map(|_| self.item()))?;
        if count == 0 {
            table.set_metatable(Some(self.array.clone()))?;
        }
        Ok(table)
    }

    fn object(&self, count: usize) -> mlua::Result<Luau> {
        if count == 1
            && let Some(bytes) = self.from.attempt(|| self.bytes())
        {
            return Ok(Luau::String(self.lua.create_string(bytes)?));
        }
        let fields = (0..count).map(|_| (self.from.name(), self.field()));
        Ok(Luau::Table(self.lua.create_table_from(fields)?))
    }

    /// The bytes that an object stands for.
    fn bytes(&self) -> Option<Vec<u8>> {
        match (self.from.name(), self.from.part()) {
            (BYTES, Part::Text(bytes)) => BASE64.decode(self.from.text(bytes)).ok(),
            _ => None,
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "Luau has no other numbers")]
const fn float(number: i64) -> f64 {
    number as f64
}

/// Why a Luau value is no JSON.
pub(crate) enum Problem {
    /// The VM failed.
    Vm(mlua::Error),
    /// What is wrong, and where in the value: `.a[3]`, from the inside out.
    Value(String, Vec<String>),
}

impl From<mlua::Error> for Problem {
    fn from(error: mlua::Error) -> Self {
        Self::Vm(error)
    }
}

impl Problem {
    fn new(message: impl Into<String>) -> Self {
        Self::Value(message.into(), Vec::new())
    }

    fn inside(mut self, step: impl FnOnce() -> String) -> Self {
        if let Self::Value(_, path) = &mut self
            && path.len() < 8
        {
            path.push(step());
        }
        self
    }

    /// The message with the place, or the error of the VM.
    pub(crate) fn message(self) -> Result<String, mlua::Error> {
        match self {
            Self::Vm(error) => Err(error),
            Self::Value(message, path) if path.is_empty() => Ok(message),
            Self::Value(message, path) => {
                let place: String = path.into_iter().rev().collect();
                Ok(format!("{message} (at {})", place.trim_start_matches('.')))
            }
        }
    }
}

/// Makes JSON of Luau values, and counts what it makes.
pub(crate) struct ToJson<'a> {
    array: &'a Table,
    depth: usize,
    bytes: usize,
    left: usize,
    into: &'a mut Flat,
}

impl<'a> ToJson<'a> {
    pub(crate) const fn new(array: &'a Table, depth: usize, bytes: usize, into: &'a mut Flat) -> Self {
        Self {
            array,
            depth,
            bytes,
            left: bytes,
            into,
        }
    }

    /// Writes the value: how many bytes its text has, about.
    pub(crate) fn value(&mut self, value: &Luau) -> Result<usize, Problem> {
        self.at(value, self.depth)?;
        Ok(self.bytes - self.left)
    }

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

    fn at(&mut self, value: &Luau, depth: usize) -> Result<(), Problem> {
        self.take(2)?;
        match value {
            Luau::Nil => self.into.push(Part::Null),
            Luau::LightUserData(pointer) if pointer.0.is_null() => self.into.push(Part::Null),
            Luau::Boolean(flag) => self.into.push(Part::Bool(*flag)),
            Luau::Integer(number) => self.into.push(Part::Whole(*number)),
            Luau::Number(number) => self.into.push(number_part(*number)?),
            Luau::String(text) => {
                let bytes = text.as_bytes();
                self.take(bytes.len())?;
                match std::str::from_utf8(&bytes) {
                    Ok(text) => self.into.text(text),
                    Err(_) => self.bytes(&bytes),
                }
            }
            Luau::Buffer(buffer) => {
                self.take(buffer.len())?;
                self.bytes(&buffer.to_vec());
            }
            Luau::Table(table) => {
                self.take(TABLE)?;
                self.table(table, depth)?;
            }
            other => return Err(Problem::new(format!("a {} is no JSON", other.type_name()))),
        }
        Ok(())
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.into.push(Part::Named(1));
        self.into.text(BYTES);
        self.into.text(&BASE64.encode(bytes));
    }

    fn table(&mut self, table: &Table, depth: usize) -> Result<(), Problem> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Problem::new(format!(
                "nested deeper than {}, or a table that contains itself",
                self.depth
            )));
        };
        let at = self.into.later();
        let (mut places, mut names) = (Places::default(), 0);
        let mut problem = None;
        let walked = table.for_each(|key: Luau, value: Luau| {
            let pair = if let Some(place) = place_of(&key) {
                places.come_by(place);
                self.into.push(Part::Whole(place));
                let made = self.at(&value, depth);
                made.map_err(|problem| problem.inside(|| format!("[{place}]")))
            } else {
                names += 1;
                self.field(&key, &value, depth)
            };
            // The walk ends with any error; which one it was is beside it.
            pair.map_err(|found| {
                problem = Some(found);
                mlua::Error::StackError
            })
        });
        if let Some(problem) = problem {
            return Err(problem);
        }
        walked?;
        let part = match (places.count, names) {
            (0, 0) if table.metatable().as_ref() == Some(self.array) => Part::List(0),
            (0, _) => Part::Named(names),
            (_, 0) => places.part()?,
            _ => {
                return Err(Problem::new("a table with both positions and names is no JSON"));
            }
        };
        self.into.fill(at, part);
        Ok(())
    }

    fn field(&mut self, key: &Luau, value: &Luau, depth: usize) -> Result<(), Problem> {
        let Luau::String(name) = key else {
            return Err(Problem::new(format!(
                "a key that is a {} is no JSON",
                key.type_name()
            )));
        };
        let Ok(name) = name.to_str() else {
            return Err(Problem::new("a key that is no text is no JSON"));
        };
        self.take(name.len() + 2)?;
        self.into.text(&name);
        let made = self.at(value, depth);
        made.map_err(|problem| problem.inside(|| format!(".{name}")))
    }
}

/// The positions in a table.
#[derive(Default)]
struct Places {
    count: usize,
    /// Not one after the other, or not from 1.
    unsorted: bool,
    /// One is no position.
    wrong: bool,
    last: i64,
    most: i64,
}

impl Places {
    fn come_by(&mut self, place: i64) {
        self.count += 1;
        self.unsorted |= place != self.last.wrapping_add(1);
        self.wrong |= place < 1;
        self.last = place;
        self.most = self.most.max(place);
    }

    /// Each is there once, so as many as the greatest says are all of them.
    fn part(&self) -> Result<Part, Problem> {
        if self.wrong || usize::try_from(self.most) != Ok(self.count) {
            return Err(Problem::new(
                "a table with gaps is no JSON: its positions must be 1, 2, 3, …",
            ));
        }
        Ok(Part::Placed {
            count: self.count,
            sorted: !self.unsorted,
        })
    }
}

fn place_of(key: &Luau) -> Option<i64> {
    match key {
        Luau::Integer(index) => Some(*index),
        #[allow(clippy::cast_possible_truncation, reason = "a whole number below 2^53")]
        Luau::Number(number) if number.fract() == 0.0 && number.abs() < EXACT => Some(*number as i64),
        _ => None,
    }
}

/// Up to here every whole number is exact.
const EXACT: f64 = 9_007_199_254_740_992.0;

fn number_part(number: f64) -> Result<Part, Problem> {
    if number.fract() == 0.0 && number.abs() < EXACT {
        #[allow(clippy::cast_possible_truncation, reason = "a whole number below 2^53")]
        return Ok(Part::Whole(number as i64));
    }
    if !number.is_finite() {
        return Err(Problem::new("a number that is not finite is no JSON"));
    }
    Ok(Part::Number(number))
}
