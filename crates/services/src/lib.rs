//! Services of a personal agent: what a model is told before each run, what each person sets for themselves,
//! and the one list of commands that chats, pages and programs show.
//!
//! | module | content |
//! | --- | --- |
//! | `people` | the settings and prompts of a person: their fields, their bounds, their file |
//! | `context` | the service that builds the contexts `persona`, `system`, `tools` and `moment` |
//! | `commands` | the table of commands, and their definitions as data |
//!
//! Every context is an action on the topic `context.build.request` and is answered by one fact, so a session
//! replays without this crate. A [`ContextReactor`] takes the place of a service. `docs/SERVICES.md` has the
//! contracts.

mod commands;
mod context;
mod people;

pub use commands::definition::{CommandDefinition, CommandHandler, CommandOrigin, RestOptions, definitions};
pub use commands::table::{COMMAND_GROUPS, COMMAND_NAMES};
pub use context::options::ContextOptions;
pub use context::reactor::ContextReactor;
pub use context::service::ContextService;
pub use context::sources::{ContextModule, DEFAULT_PERSONA};
pub use people::bounds::OperatorBounds;
pub use people::field::{FieldKind, SettingField, fields};
pub use people::settings::{PersonSettings, PersonValues};
pub use people::store::{PersonError, PersonStore};
