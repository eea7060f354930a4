//! JSON to Luau and back, within bounds: depth, bytes, cycles. The rules are in `docs/LUAU.md`, "Values".

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use mlua::{Either, IntoLua, Lua, Table, Value as Luau};
use serde_json::{Map, Number, Value};

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
}

/// What goes into a table as it is, and the rest: a handle to a value of the VM costs more than the value.
type Direct<'v> = Either<&'v str, Either<f64, Either<bool, Inner<'v>>>>;

/// A value inside a table, made when the table has come to it; `None` is an absent one.
struct Inner<'v>(&'v ToLuau<'v>, Option<&'v Value>);

impl IntoLua for Inner<'_> {
    fn into_lua(self, _: &Lua) -> mlua::Result<Luau> {
        self.1.map_or(Ok(Luau::Nil), |value| self.0.value(value))
    }
}

impl ToLuau<'_> {
    /// The value; its depth was checked before by [`measure`].
    pub(crate) fn value(&self, value: &Value) -> mlua::Result<Luau> {
        Ok(match value {
            Value::Null => Luau::NULL,
            Value::Bool(flag) => Luau::Boolean(*flag),
            Value::Number(number) => Luau::Number(number.as_f64().unwrap_or(f64::NAN)),
            Value::String(text) => Luau::String(self.lua.create_string(text)?),
            Value::Array(items) => Luau::Table(self.array(items)?),
            Value::Object(fields) => self.object(fields)?,
        })
    }

    fn item<'v>(&'v self, value: &'v Value) -> Direct<'v> {
        match value {
            Value::String(text) => Either::Left(text),
            Value::Number(number) => Either::Right(Either::Left(number.as_f64().unwrap_or(f64::NAN))),
            Value::Bool(flag) => Either::Right(Either::Right(Either::Left(*flag))),
            other => Either::Right(Either::Right(Either::Right(Inner(self, Some(other))))),
        }
    }

    fn field<'v>(&'v self, value: &'v Value) -> Direct<'v> {
        if value.is_null() && self.nulls == Nulls::Absent {
            return Either::Right(Either::Right(Either::Right(Inner(self, None))));
        }
        self.item(value)
    }

    fn array(&self, items: &[Value]) -> mlua::Result<Table> {
        let table = self
            .lua
            .create_sequence_from(items.iter().map(|item| self.item(item)))?;
        if items.is_empty() {
            table.set_metatable(Some(self.array.clone()))?;
        }
        Ok(table)
    }

    fn object(&self, fields: &Map<String, Value>) -> mlua::Result<Luau> {
        if let Some(bytes) = bytes_of(fields) {
            return Ok(Luau::String(self.lua.create_string(bytes)?));
        }
        let fields = fields
            .iter()
            .map(|(key, value)| (key.as_str(), self.field(value)));
        Ok(Luau::Table(self.lua.create_table_from(fields)?))
    }
}

fn bytes_of(fields: &Map<String, Value>) -> Option<Vec<u8>> {
    let (_, text) = fields
        .iter()
        .next()
        .filter(|(key, _)| fields.len() == 1 && *key == BYTES)?;
    let text = text.as_str()?;
    BASE64.decode(text).ok()
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
    pub(crate) array: &'a Table,
    pub(crate) depth: usize,
    pub(crate) bytes: usize,
    left: usize,
}

impl<'a> ToJson<'a> {
    pub(crate) const fn new(array: &'a Table, depth: usize, bytes: usize) -> Self {
        Self {
            array,
            depth,
            bytes,
            left: bytes,
        }
    }

    /// How many bytes the text of what was made has, about.
    pub(crate) const fn made(&self) -> usize {
        self.bytes - self.left
    }

    pub(crate) fn value(&mut self, value: &Luau) -> Result<Value, Problem> {
        self.at(value, self.depth)
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

    fn at(&mut self, value: &Luau, depth: usize) -> Result<Value, Problem> {
        self.take(2)?;
        match value {
            Luau::Nil => Ok(Value::Null),
            Luau::LightUserData(pointer) if pointer.0.is_null() => Ok(Value::Null),
            Luau::Boolean(flag) => Ok(Value::Bool(*flag)),
            Luau::Integer(number) => Ok(Value::from(*number)),
            Luau::Number(number) => number_value(*number),
            Luau::String(text) => {
                let bytes = text.as_bytes();
                self.take(bytes.len())?;
                Ok(match std::str::from_utf8(&bytes) {
                    Ok(text) => Value::String(text.to_owned()),
                    Err(_) => bytes_value(&bytes),
                })
            }
            Luau::Buffer(buffer) => {
                self.take(buffer.len())?;
                Ok(bytes_value(&buffer.to_vec()))
            }
            Luau::Table(table) => {
                self.take(TABLE)?;
                self.table(table, depth)
            }
            other => Err(Problem::new(format!("a {} is no JSON", other.type_name()))),
        }
    }

    fn table(&mut self, table: &Table, depth: usize) -> Result<Value, Problem> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Problem::new(format!(
                "nested deeper than {}, or a table that contains itself",
                self.depth
            )));
        };
        let mut items: Vec<(i64, Value)> = Vec::new();
        let mut fields: Vec<(String, Value)> = Vec::new();
        let mut problem = None;
        let walked = table.for_each(|key: Luau, value: Luau| {
            let mut pair = || -> Result<(), Problem> {
                if let Some(index) = index_of(&key) {
                    let made = self.at(&value, depth);
                    let made = made.map_err(|problem| problem.inside(|| format!("[{index}]")))?;
                    items.push((index, made));
                } else {
                    let name = field_name(&key)?;
                    self.take(name.len() + 2)?;
                    let made = self.at(&value, depth);
                    let made = made.map_err(|problem| problem.inside(|| format!(".{name}")))?;
                    fields.push((name, made));
                }
                Ok(())
            };
            // The walk ends with any error; which one it was is beside it.
            pair().map_err(|found| {
                problem = Some(found);
                mlua::Error::StackError
            })
        });
        if let Some(problem) = problem {
            return Err(problem);
        }
        walked?;
        match (items.is_empty(), fields.is_empty()) {
            (true, true) if table.metatable().as_ref() == Some(self.array) => Ok(Value::Array(Vec::new())),
            (true, _) => Ok(object(fields)),
            (false, true) => array(items),
            (false, false) => Err(Problem::new("a table with both positions and names is no JSON")),
        }
    }
}

/// Sorted, for the order of a table's keys is no property of the table.
fn object(mut fields: Vec<(String, Value)>) -> Value {
    fields.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    Value::Object(fields.into_iter().collect())
}

fn array(mut items: Vec<(i64, Value)>) -> Result<Value, Problem> {
    let in_order = |items: &[(i64, Value)]| items.iter().zip(1..).all(|((index, _), want)| *index == want);
    if !in_order(&items) {
        items.sort_unstable_by_key(|(index, _)| *index);
        if !in_order(&items) {
            return Err(Problem::new(
                "a table with gaps is no JSON: its positions must be 1, 2, 3, …",
            ));
        }
    }
    Ok(Value::Array(items.into_iter().map(|(_, value)| value).collect()))
}

fn index_of(key: &Luau) -> Option<i64> {
    match key {
        Luau::Integer(index) => Some(*index),
        #[allow(clippy::cast_possible_truncation, reason = "a whole number below 2^53")]
        Luau::Number(number) if number.fract() == 0.0 && number.abs() < EXACT => Some(*number as i64),
        _ => None,
    }
}

fn field_name(key: &Luau) -> Result<String, Problem> {
    let Luau::String(text) = key else {
        return Err(Problem::new(format!(
            "a key that is a {} is no JSON",
            key.type_name()
        )));
    };
    match text.to_str() {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(Problem::new("a key that is no text is no JSON")),
    }
}

fn bytes_value(bytes: &[u8]) -> Value {
    let mut fields = Map::new();
    fields.insert(BYTES.to_owned(), Value::String(BASE64.encode(bytes)));
    Value::Object(fields)
}

/// Up to here every whole number is exact.
const EXACT: f64 = 9_007_199_254_740_992.0;

fn number_value(number: f64) -> Result<Value, Problem> {
    if number.fract() == 0.0 && number.abs() < EXACT {
        #[allow(clippy::cast_possible_truncation, reason = "a whole number below 2^53")]
        return Ok(Value::from(number as i64));
    }
    let number = Number::from_f64(number).map(Value::Number);
    number.ok_or_else(|| Problem::new("a number that is not finite is no JSON"))
}

/// How many bytes a value has, about, where it is within depth and bytes; the error says what it is not.
pub(crate) fn measure(value: &Value, depth: usize, bytes: usize) -> Result<usize, String> {
    let mut left = bytes;
    if fits(value, depth, &mut left) {
        Ok(bytes - left)
    } else {
        let most = crate::limits::Bytes(bytes);
        Err(format!("more than {most} of JSON, or nested deeper than {depth}"))
    }
}

fn fits(value: &Value, depth: usize, left: &mut usize) -> bool {
    let own = match value {
        Value::String(text) => text.len() + 2,
        _ => 2,
    };
    let Some(rest) = left.checked_sub(own) else {
        return false;
    };
    *left = rest;
    match (value, depth) {
        (Value::Array(_) | Value::Object(_), 0) => false,
        (Value::Array(items), _) => items.iter().all(|item| fits(item, depth - 1, left)),
        (Value::Object(fields), _) => fields.iter().all(|(key, item)| {
            *left = left.saturating_sub(key.len() + 2);
            fits(item, depth - 1, left)
        }),
        _ => true,
    }
}
