//! What a program attaches to a runtime that is already running: the bus on which reactors are started,
//! what they serve, and the reactors that most programs need.

mod bus_models;
pub(crate) mod environments;
pub(crate) mod observers;
pub(crate) mod serving;
pub(crate) mod system_bus;
