//! The parts of a terminal front end, without a terminal: styled text and its width, a renderer for streaming
//! Markdown, a painter that turns frames into few bytes and never touches rows that have scrolled away, a
//! line editor, and a filter that keeps foreign text from driving the terminal.
//!
//! The program reads keys and writes bytes. Everything here is a pure function of its input, except for
//! [`LineHistory`] and [`HistoryFile`], which store typed lines in a file.
//!
//! ```
//! use agentx_terminal::{Markdown, Painter, Theme};
//!
//! let mut answer = Markdown::new(40, Theme::dark());
//! answer.push("# Weather\nIt is **warm** in ");
//! let mut painter = Painter::new(40, 10);
//! let bytes = painter.frame(&answer.take_done(), &answer.live(), None);
//! assert!(bytes.contains("Weather"));
//! answer.push("Beijing.\n");
//! answer.end();
//! let bytes = painter.frame(&answer.take_done(), &answer.live(), None);
//! assert!(bytes.contains("Beijing.") && !bytes.contains("Weather"), "what stands is not written again");
//! ```

pub mod clean;
mod editor;
mod highlight;
mod history;
mod history_file;
pub mod lookalikes;
mod markdown;
mod painter;
mod pastes;
mod style;
mod text;
mod wrap;

pub use editor::{EditOutcome, Editor};
pub use history::{LONGEST as LONGEST_KEPT, LineHistory};
pub use history_file::{HistoryFile, LineFilter};
pub use markdown::{Markdown, code_blocks};
pub use painter::{LongRows, Painter};
pub use style::{Color, Style, Theme};
pub use text::{Line, Row, Span, width};
