//! Decides what SQL may do, as SQLite's authorizer while a statement is compiled: everything inside the
//! opened file, but nothing that names another file, loads code, or changes how the file is stored.
//!
//! <https://www.sqlite.org/c3ref/set_authorizer.html> describes the mechanism. It lists what is allowed; what
//! a later SQLite adds is refused.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

/// The purpose for which a database is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DatabaseUse {
    Read,
    Write,
}

/// Pragmas that describe the database and never change it, with or without an argument.
const ABOUT_TABLES: &[&str] = &[
    "collation_list",
    "compile_options",
    "database_list",
    "foreign_key_check",
    "foreign_key_list",
    "function_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "integrity_check",
    "module_list",
    "pragma_list",
    "quick_check",
    "table_info",
    "table_list",
    "table_xinfo",
];

/// Pragmas that describe the database without an argument, and change it with one.
const WITHOUT_ARGUMENT: &[&str] = &[
    "application_id",
    "auto_vacuum",
    "data_version",
    "encoding",
    "foreign_keys",
    "freelist_count",
    "journal_mode",
    "page_count",
    "page_size",
    "schema_version",
    "user_version",
];

/// The last refusal of an authorizer, in words. The authorizer of a connection and the code that explains its
/// errors share it.
#[derive(Clone, Default)]
pub(super) struct LastRefusal(Arc<Mutex<Option<String>>>);

impl LastRefusal {
    pub(super) fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn set(&self, what: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(what);
    }
}

/// Returns the authorizer of a connection.
pub(super) fn authorizer(
    used_for: DatabaseUse,
    refusal: LastRefusal,
) -> impl FnMut(AuthContext<'_>) -> Authorization + Send + 'static {
    move |context| match refused(used_for, &context.action) {
        None => Authorization::Allow,
        Some(what) => {
            refusal.set(what);
            Authorization::Deny
        }
    }
}

/// Returns the reason why an action is refused.
fn refused(used_for: DatabaseUse, action: &AuthAction<'_>) -> Option<String> {
    match action {
        // Virtual tables prepare statements on their underlying tables, even if nobody runs these. Statements
        // of the call itself that write are found when they are compiled.
        AuthAction::Select
        | AuthAction::Recursive
        | AuthAction::Read { .. }
        | AuthAction::Insert { .. }
        | AuthAction::Update { .. }
        | AuthAction::Delete { .. } => None,
        AuthAction::Function { function_name } => refused_function(function_name),
        AuthAction::Pragma {
            pragma_name,
            pragma_value,
        } => refused_pragma(pragma_name, pragma_value.is_some()),
        AuthAction::Attach { .. } | AuthAction::Detach { .. } => {
            Some("it opens another file (ATTACH, DETACH and VACUUM are refused)".into())
        }
        AuthAction::Transaction { .. } | AuthAction::Savepoint { .. } => Some(
            "each call is a transaction of its own (BEGIN, COMMIT, ROLLBACK and SAVEPOINT are refused)"
                .into(),
        ),
        action if changes_schema(action) => match used_for {
            DatabaseUse::Write => None,
            DatabaseUse::Read => Some("it changes the database, and query only reads".into()),
        },
        _ => Some("SQLite reports an action that is not allowed here".into()),
    }
}

/// Functions that are refused, with the reason.
const REFUSED_FUNCTIONS: &[(&str, &str)] = &[
    ("load_extension", "loads code"),
    ("fts3_tokenizer", "loads code"),
    // Its time grows with the product of the sizes of both objects, and no time limit can stop it.
    ("json_patch", "can run past the time limit of the call"),
    ("jsonb_patch", "can run past the time limit of the call"),
];

fn refused_function(name: &str) -> Option<String> {
    let found = REFUSED_FUNCTIONS
        .iter()
        .find(|(refused, _)| name.eq_ignore_ascii_case(refused));
    found.map(|(_, why)| format!("{name}() {why}"))
}

fn refused_pragma(name: &str, has_argument: bool) -> Option<String> {
    let is_in = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    match (is_in(ABOUT_TABLES), is_in(WITHOUT_ARGUMENT), has_argument) {
        (true, _, _) | (_, true, false) => None,
        (false, true, true) => Some(format!(
            "PRAGMA {name} with a value changes how the database is kept; without one, it shows it"
        )),
        (false, false, _) => Some(format!(
            "PRAGMA {name} is not among the pragmas that only show something"
        )),
    }
}

fn changes_schema(action: &AuthAction<'_>) -> bool {
    matches!(
        action,
        AuthAction::CreateIndex { .. }
            | AuthAction::CreateTable { .. }
            | AuthAction::CreateTempIndex { .. }
            | AuthAction::CreateTempTable { .. }
            | AuthAction::CreateTempTrigger { .. }
            | AuthAction::CreateTempView { .. }
            | AuthAction::CreateTrigger { .. }
            | AuthAction::CreateView { .. }
            | AuthAction::CreateVtable { .. }
            | AuthAction::DropIndex { .. }
            | AuthAction::DropTable { .. }
            | AuthAction::DropTempIndex { .. }
            | AuthAction::DropTempTable { .. }
            | AuthAction::DropTempTrigger { .. }
            | AuthAction::DropTempView { .. }
            | AuthAction::DropTrigger { .. }
            | AuthAction::DropView { .. }
            | AuthAction::DropVtable { .. }
            | AuthAction::AlterTable { .. }
            | AuthAction::Reindex { .. }
            | AuthAction::Analyze { .. }
    )
}
