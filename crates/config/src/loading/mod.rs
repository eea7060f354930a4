//! Loads the settings: reads all layers, decides what the workspace may set, and assembles the settings from
//! what counts.

pub(crate) mod assemble;
pub(crate) mod load;
pub(crate) mod servers_here;
pub(crate) mod settings_layers;
