//! Sessions as people share them: opened once for all, with the people present and the driver, and closed
//! when idle.

mod auto_approval;
mod presence;
mod registry;
mod room;

pub use presence::{Membership, RoomPresence};
pub use registry::Rooms;
pub use room::Room;
