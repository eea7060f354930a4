//! The database file and the connections to it, independent of the tables: its format, its settings, its
//! locks, and the threads that read.

pub(crate) mod checkpoint;
pub(crate) mod examine;
pub(crate) mod lock;
pub(crate) mod options;
pub(crate) mod pool;
pub(crate) mod same_file;
pub(crate) mod schema;
