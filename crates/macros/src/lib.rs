//! `#[agentx::tool]`: an async function as a tool, and `agentx::replay_test!`: a recorded session as a test.
//! The model reads the function's own documentation, so a parameter without any does not compile.
//!
//! The facade re-exports the macro and has its documentation, with examples; the code that it writes names
//! the facade.

mod attribute;
mod docs;
mod expand;
mod parameter;
mod replay_test;

use proc_macro::TokenStream;

/// Makes a tool of an async function. See `agentx::tool`.
#[proc_macro_attribute]
pub fn tool(arguments: TokenStream, function: TokenStream) -> TokenStream {
    expand::expand(arguments.into(), function.into())
        .unwrap_or_else(|error| error.into_compile_error())
        .into()
}

/// Makes a test of a recorded session. See `agentx::replay_test`.
#[proc_macro]
pub fn replay_test(path: TokenStream) -> TokenStream {
    replay_test::expand(path.into())
        .unwrap_or_else(|error| error.into_compile_error())
        .into()
}
