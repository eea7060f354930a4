//! The helper, as tests of documents start it.
#![allow(unreachable_pub, reason = "a part of each test file")]

use agentx_web::DocumentHelper;

/// The helper as a program of its own.
pub fn helper() -> DocumentHelper {
    DocumentHelper::new(env!("CARGO_BIN_EXE_agentx-documents"))
}
