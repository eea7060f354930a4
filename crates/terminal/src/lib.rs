//! What a terminal front end is made of, without a terminal: styled text and its widths, markdown rendered as it streams, and a
//! painter that turns frames into few bytes and never touches what has scrolled away.
//!
//! Everything here is a pure function of what it is given; reading keys and writing bytes is the program's.
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

mod highlight;
mod markdown;
mod painter;
mod style;
mod text;
mod wrap;

pub use markdown::Markdown;
pub use painter::{LongRows, Painter};
pub use style::{Color, Style, Theme};
pub use text::{Line, Row, Span, width};
