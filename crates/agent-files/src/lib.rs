//! Agents and tools described in files.
//!
//! The program lists, checks and creates such files, and the runtime sets up agents and tools from their
//! definitions. [`Library::load`] reads a workspace's and a person's files together and follows their
//! references; [`Library::check`] returns every [`DefinitionMistake`] in them with its file, line and column,
//! before anything runs. One table has the keys of the files; the reader, the messages and the [`schema()`]
//! for editors are made from it.
//!
//! | place | holds |
//! | --- | --- |
//! | `agents/NAME.{yaml,yml,json}` | agents: `react`, `match` |
//! | `tools/NAME.{yaml,yml,json,luau}` | tools: `built-in`, `luau`, `http`, `generator`, `composite`, `text_processor`; a script alone has its YAML in its first comment |
//! | `rules/NAME.{yaml,yml,json}` | intents of agents that match |
//! | `generators/NAME.{yaml,yml,json}` | models with parameters |
//! | `libs/NAME.luau`, `libs/NAME/init.luau` | scripts that others `require` |
//! | `context/NAME.{md,txt}` | texts for the context; `$ref: KIND:NAME` is `context/KIND/NAME.md` |
//!
//! A root may also be a folder of agents of Claude Code or opencode ([`RootLayout`]): Markdown files whose
//! front matter has the terms of that program. They become the same definitions, and what has no counterpart
//! here is a [remark](Library::remarks).
//!
//! A reference is a name (`tool:get_weather`, or `get_weather` if only a tool is possible) or a path relative
//! to its file, within the same root. Secrets are references (`${NAME}`) and are never read here. A file has
//! at most 1 MiB, a script 256 KiB, a filter 16 KiB.

pub mod definition;
mod files;
pub mod jq;
mod json;
mod keys;
mod library;
mod mistake;
mod read;
mod scaffold;
mod schema;
mod source;
mod variables;

pub use files::{DiskFiles, FileFault, Files, MemoryFiles};
pub use keys::key_tables::RefKind;
pub use library::{
    ByName, FileOrigin, IgnoredFile, Library, LibraryOptions, LoadedDefinition, Root, RootLayout,
    SchemaCheck, ScriptCheck, ScriptFinding, Shadow,
};
pub use mistake::DefinitionMistake;
pub use read::{
    parse_agent, parse_generator, parse_layer, parse_message, parse_rule, parse_state, parse_tool,
};
pub use scaffold::{Scaffold, editor_comment, scaffold};
pub use schema::{SchemaOf, schema};
