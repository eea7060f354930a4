//! Tools and what serves them, for commands that run or check them outside of a session.

pub mod command_sandbox;
pub mod exec_server;
pub mod file_arguments;
pub mod parameter_names;
pub mod reactor_list;
pub mod sandbox_arguments;
mod sandbox_doctor;
pub mod script_output;
