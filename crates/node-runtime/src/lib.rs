//! The runtime that acts: model environments over HTTP, tools, sessions in SQLite.
