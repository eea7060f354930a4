//! The tests of this crate as one binary, because each binary links all dependencies.

mod call_slots;
mod come_and_go;
mod deep_arguments;
mod masked_variables;
mod memories;
mod personal;
mod repeated_ids;
mod scripted;
mod skills;
mod told_to_models;
