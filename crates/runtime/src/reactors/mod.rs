//! The parts that a program attaches to a running runtime: the bus on which reactors are started, the
//! sessions that they serve, and the reactors that most programs need.

pub(crate) mod bus_models;
pub(crate) mod environments;
pub(crate) mod observers;
pub(crate) mod serving;
pub(crate) mod system_bus;
pub(crate) mod transport;
