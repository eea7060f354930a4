//! Journeys in a real terminal, 40, 80 and 200 columns wide: what is on the screen in the end, with all that
//! has scrolled away, as a person would find it. `screens/journeys` has them; a snapshot holds one journey in
//! every width. Journeys of several commands and chats ([`steps::Steps`]) are 80 columns wide.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test: it fails by panicking, and reads files"
)]

#[path = "../common/mod.rs"]
mod common;
mod docs;
mod film;
mod journeys;
#[path = "../common/logins.rs"]
mod logins;
mod model;
mod stable;
mod stage;
mod steps;
mod svg;
mod terminal;
#[path = "../common/tube.rs"]
mod tube;

/// The widths of every journey.
const WIDTHS: [u16; 3] = [40, 80, 200];

/// The number of rows that are kept of a screen in the middle of a journey.
const LOWER: usize = 10;

/// Goes a journey in every width at once; its screens, one below the other, are its snapshot.
fn in_every_width(name: &str, journey: impl Fn(u16) -> Shots + Sync) {
    let shots = std::thread::scope(|scope| {
        let journey = &journey;
        let runs = WIDTHS.map(|width| scope.spawn(move || journey(width)));
        runs.map(|run| match run.join() {
            Ok(shots) => shots,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    });
    let text: Vec<String> = shots.iter().map(Shots::to_text).collect();
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text.join("\n"));
    });
}

/// The screens at some places of a journey.
struct Shots {
    columns: u16,
    shots: Vec<(String, Vec<String>)>,
}

impl Shots {
    fn new(columns: u16) -> Self {
        Self {
            columns,
            shots: Vec::new(),
        }
    }

    /// Keeps the lower part of the screen, and the cursor's place in these rows. The row on the whole screen
    /// depends on how far it has scrolled: a live part that was taller for one frame scrolls it for good.
    fn now(&mut self, what: &str, stage: &stage::Stage<'_>) {
        let (row, column) = stage.terminal.cursor();
        let screen = stage.screen();
        let lower = screen.len().saturating_sub(LOWER);
        let row = usize::from(row) - lower.min(usize::from(row));
        let title = format!("{what}, cursor at {row}:{column}");
        self.shots.push((title, screen[lower..].to_vec()));
    }

    /// Keeps all that was shown.
    fn all(mut self, stage: &mut stage::Stage<'_>) -> Self {
        self.shots.push(("all of it".into(), stage.text()));
        self
    }

    fn to_text(&self) -> String {
        let mut text = String::new();
        for (what, rows) in &self.shots {
            text.push_str(&format!("━━ {} columns: {what} ━━\n", self.columns));
            for row in rows {
                text.push_str(row);
                text.push('\n');
            }
        }
        text
    }
}
