//! Bounds on the work of a JSON Schema from outside: from a person, a member of a server, a file or a script.
//!
//! A validator follows each `$ref` again, so in a schema of 3 KB whose definitions each refer twice to the
//! next one, each definition doubles the time. Two checks bound the work:
//!
//! | check | when | bounds |
//! | --- | --- | --- |
//! | [`check_schema`] | before a schema is compiled | bytes, nesting, patterns, and schemas through `$ref`, counted as often as they are reached |
//! | [`check_work`] | before a value is validated | pairs of schema and value that the validator looks at |
//!
//! The second is also needed, because the number of times that a recursive schema is applied depends on the
//! value. Both stop at their bound, so they take no longer than the work that they allow.

mod graph;
mod schema;
mod value;

pub(crate) use schema::check as check_schema;
pub(crate) use value::check as check_work;
