//! The helper as a separate program, for tests and for programs whose own `main` cannot be the helper.

use std::process::ExitCode;

fn main() -> ExitCode {
    agentx_web::act_as_document_helper().unwrap_or(ExitCode::FAILURE)
}
