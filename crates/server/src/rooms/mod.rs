//! Sessions as people share them: opened once whoever asks, with who is there and who drives, and put away when idle.

mod lent;
mod people;
mod places;
mod room;

pub use people::{Membership, RoomPeople};
pub use places::Rooms;
pub use room::Room;
