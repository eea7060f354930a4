//! The rows of the trust question: first the files without an effect, then the effects, so that other rows
//! cannot push an effect off the screen.

use agentx::assembly::{FileRole, FolderContents, FolderFile};
use agentx::config::{FolderTrust, Loaded, WORKSPACE_FOLDER};
use agentx_terminal::lookalikes::unmistakable;

use super::excerpt::{InstructionExcerpt, excerpt_rows};
use super::tools;
use crate::render::units::counted;
use crate::render::wrapped_text::wrap_lines;

/// The most rows of the question, the answers and the heading left out.
const MOST_ROWS: usize = 32;
/// Maximum number of rows about each kind of thing without its own effect; further ones are only counted.
const MOST_QUIET: usize = 5;
/// Tools that have their own row in the question.
const MOST_TOOLS: usize = 8;
/// The most signs of an effect in the question.
const MOST_SIGNS: usize = 300;

/// The contents of a folder, in rows.
pub(super) struct FolderRows {
    /// Rows, by kind, that have no effect themselves. The first kind is the files of instructions.
    quiet: Vec<Vec<String>>,
    /// The beginnings of the files of instructions.
    excerpts: Vec<InstructionExcerpt>,
    /// The effects, those that reach farthest last, each with the kind of file that it comes from.
    effects: Vec<(FileRole, String)>,
}

/// The part of the rows that fits above the answers.
pub(super) struct ShortRows {
    pub(super) text: String,
    /// Whether it contains all effects in full.
    pub(super) is_whole: bool,
}

impl FolderRows {
    /// Describes everything, with at most `most_tools` tools in their own rows.
    pub(super) fn of(loaded: &Loaded, brings: &FolderContents, most_tools: usize) -> Self {
        let (quiet_tools, tools) = tool_rows(loaded, brings, most_tools);
        let (quiet_agents, agents) = agent_rows(brings);
        let settings: Vec<String> = files(brings, FileRole::Settings)
            .flat_map(|file| settings(loaded, file))
            .collect();
        let unused = brings.unused.iter();
        let unused = unused.map(|what| format!("{what}: not used, because yours has the same name"));
        let mut quiet = vec![
            files(brings, FileRole::Instructions).map(instructions).collect(),
            settings,
            named(loaded).collect(),
            quiet_tools,
            unused.collect(),
            quiet_agents,
        ];
        let others = files(brings, FileRole::Definition).count();
        if others > brings.tools.len() + brings.agents.len() {
            let is_ours = |file: &FolderFile| file.path.starts_with(WORKSPACE_FOLDER);
            let place = if files(brings, FileRole::Definition).all(is_ours) {
                "below .agentx"
            } else {
                "with agents and tools"
            };
            quiet.push(vec![format!("{} {place} in all", counted(others, "file"))]);
        }
        let never = loaded.never_counts.iter().filter(|_| shows_settings(loaded));
        quiet.push(never.map(|what| format!("never counts: {what}")).collect());
        let git = loaded.settings.git.effects().into_iter();
        let of = |role: FileRole| move |effect: String| (role, effect);
        let mut effects: Vec<(FileRole, String)> = Vec::new();
        effects.extend(agents.into_iter().chain(tools).map(of(FileRole::Definition)));
        effects.extend(git.map(of(FileRole::Git)));
        effects.extend(loaded.server_effects.iter().cloned().map(of(FileRole::Servers)));
        if shows_settings(loaded) {
            effects.extend(loaded.effects.iter().cloned().map(of(FileRole::Settings)));
        }
        let excerpts = files(brings, FileRole::Instructions).map(|file| InstructionExcerpt::of(&file.bytes));
        Self {
            quiet,
            excerpts: excerpts.collect(),
            effects,
        }
    }

    /// Returns every row.
    pub(super) fn all(&self) -> String {
        let quiet = self.quiet.iter().flatten().map(|row| line(row));
        quiet
            .chain(self.effects.iter().map(|(_, effect)| arrow(effect)))
            .collect()
    }

    /// Returns the effects of some kinds of files alone, whole.
    pub(super) fn effects(&self, is_wanted: impl Fn(FileRole) -> bool) -> String {
        let effects = self.effects.iter().filter(|(role, _)| is_wanted(*role));
        effects.map(|(_, effect)| arrow(effect)).collect()
    }

    /// Returns what fits above the answers: kinds without an effect are counted where they are many, and the
    /// effects stand below them, those that reach farthest last. The text of instructions fills what is left
    /// of `room` rows.
    pub(super) fn short(&self, width: usize, room: usize) -> ShortRows {
        let mut left = MOST_ROWS;
        let mut is_whole = true;
        let mut shown = Vec::new();
        for (_, effect) in self.effects.iter().rev() {
            let (effect, is_all) = cut(effect);
            let row = arrow(&effect);
            let height = row.chars().count().div_ceil(width.max(20));
            if height > left {
                break;
            }
            left -= height;
            is_whole &= is_all;
            shown.push(row);
        }
        let hidden = self.effects.len() - shown.len();
        shown.reverse();
        let mut effects = shown.concat();
        if hidden > 0 || !is_whole {
            is_whole = false;
            let more = match hidden {
                0 => "parts of these effects are".to_owned(),
                1 => "1 more effect is".to_owned(),
                count => format!("{} are", counted(count, "more effect")),
            };
            effects.push_str(&arrow(&format!(
                "{more} not shown here; answer `s` to see everything before you can trust this folder"
            )));
        }
        let quiet = self.quiet_rows(left);
        let rows: String = quiet.iter().map(|row| line(&cut(row).0)).collect();
        let taken = wrap_lines(&format!("{rows}{effects}"), width).lines().count();
        ShortRows {
            text: self.with_excerpts(&quiet, width, room.saturating_sub(taken)) + &effects,
            is_whole,
        }
    }

    /// Returns the rows without an effect, with the beginning of each file of instructions below its row.
    fn with_excerpts(&self, quiet: &[String], width: usize, room: usize) -> String {
        let files = self.quiet.first().into_iter().flatten();
        let named = quiet.iter().zip(files).take_while(|(row, file)| row == file);
        let named = named.count().min(self.excerpts.len());
        let excerpts = excerpt_rows(&self.excerpts, named, width, room);
        let mut text = String::new();
        for (index, row) in quiet.iter().enumerate() {
            text.push_str(&line(&cut(row).0));
            let mut below: Vec<&String> = excerpts.of_files.get(index).into_iter().flatten().collect();
            if index + 1 == named {
                below.extend(&excerpts.more);
            }
            text.extend(below.iter().map(|row| format!("{row}\n")));
        }
        text
    }

    /// Returns the rows without an effect that fit into the room that the effects leave.
    fn quiet_rows(&self, room: usize) -> Vec<String> {
        let mut rows: Vec<String> = self.quiet.iter().flat_map(|kind| shortened(kind)).collect();
        if rows.len() > room {
            let more = rows.split_off(room.saturating_sub(1)).len();
            rows.push(format!("… and {} without an effect", counted(more, "more row")));
        }
        rows
    }
}

fn line(row: &str) -> String {
    format!("  {}\n", unmistakable(row))
}

fn arrow(effect: &str) -> String {
    format!("  → {}\n", unmistakable(effect))
}

/// The beginning of a row, and whether that is all of it.
fn cut(row: &str) -> (String, bool) {
    match row.char_indices().nth(MOST_SIGNS) {
        None => (row.to_owned(), true),
        Some((end, _)) => (
            format!("{}… ({} more bytes)", &row[..end], row.len() - end),
            false,
        ),
    }
}

/// The rows of a kind, or the first of them and how many more there are.
fn shortened(kind: &[String]) -> Vec<String> {
    if kind.len() <= MOST_QUIET + 3 {
        return kind.to_vec();
    }
    let mut rows = kind[..2].to_vec();
    rows.push(format!(
        "  … and {} like these",
        counted(kind.len() - 2, "more row")
    ));
    rows
}

/// The tools without a reach, and those with one.
fn tool_rows(loaded: &Loaded, brings: &FolderContents, most: usize) -> (Vec<String>, Vec<String>) {
    let keys = loaded.settings.key_variables();
    let mut rows = tools::rows(brings, most, &|name| keys.contains(name));
    rows.reverse();
    let (effects, quiet) = rows.into_iter().partition(|row| row.reaches);
    let said = |rows: Vec<tools::ToolRow>| rows.into_iter().map(|row| row.text).collect();
    (said(quiet), said(effects))
}

/// The agents without an effect, and those that send somewhere or get variables.
fn agent_rows(brings: &FolderContents) -> (Vec<String>, Vec<String>) {
    let (mut quiet, mut effects) = (Vec::new(), Vec::new());
    for (name, variables) in &brings.agents {
        let with: Vec<&str> = variables.iter().map(String::as_str).collect();
        let models = brings.agent_models.get(name).into_iter().flatten();
        let models: Vec<String> = models.map(|model| tools::model(model, brings)).collect();
        let mut says = Vec::new();
        says.extend((!models.is_empty()).then(|| format!("sends to {}", models.join(", "))));
        says.extend((!with.is_empty()).then(|| format!("system prompt {}", with.join(", "))));
        if says.is_empty() {
            quiet.push(format!("agent {name}"));
        } else {
            effects.push(format!("agent {name}: {}", says.join("; ")));
        }
    }
    (quiet, effects)
}

fn instructions(file: &FolderFile) -> String {
    let lines = String::from_utf8_lossy(&file.bytes).lines().count();
    format!(
        "{}: {} of instructions",
        file.path.display(),
        counted(lines, "line")
    )
}

/// Settings that only make things stricter are one row. Others are shown one by one, because what they say
/// matters: an address, a command, a rule. They are shown as they are understood: an escape or a lone
/// carriage return could hide one of them as it is written.
fn settings(loaded: &Loaded, file: &FolderFile) -> Vec<String> {
    let name = file.path.display();
    if let Some(mistake) = loaded.workspace_mistakes.first() {
        return vec![format!(
            "{name} has an error; once the folder is trusted, AgentX does not start until it is fixed: {mistake}"
        )];
    }
    if !shows_settings(loaded) {
        return vec![format!("{name}: settings that only restrict")];
    }
    std::iter::once(format!("{name} sets:"))
        .chain(loaded.workspace_settings.iter().map(|line| format!("  {line}")))
        .collect()
}

/// Returns a row for each file that the settings name. Directories are listed as effects.
fn named(loaded: &Loaded) -> impl Iterator<Item = String> + '_ {
    let root = &loaded.places.workspace_root;
    let files = loaded.settings.named_files.iter();
    let files = files.filter(|file| !file.is_of_servers() && !root.join(&file.path).is_dir());
    files.map(|file| {
        let lines = String::from_utf8_lossy(&file.bytes).lines().count();
        format!(
            "{}: {}, for `{}`",
            file.path.display(),
            counted(lines, "line"),
            file.key
        )
    })
}

/// Returns the question's rows.
pub(super) fn for_question(loaded: &Loaded, brings: &FolderContents, width: usize, room: usize) -> ShortRows {
    FolderRows::of(loaded, brings, MOST_TOOLS).short(width, room)
}

/// Returns whether the settings do more than make things stricter.
pub(super) fn shows_settings(loaded: &Loaded) -> bool {
    // A file that cannot be read has no effect.
    loaded.workspace_mistakes.is_empty() && shows_more(loaded)
}

fn shows_more(loaded: &Loaded) -> bool {
    !loaded.ignored.is_empty() || loaded.settings.folder.trust == FolderTrust::Trusted
}

pub(super) fn files(brings: &FolderContents, role: FileRole) -> impl Iterator<Item = &FolderFile> {
    brings.files.iter().filter(move |file| file.role == role)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(quiet: usize, effects: &[&str]) -> FolderRows {
        let quiet = (0..quiet).map(|number| format!("never counts: mcp.doc{number}.url"));
        let effects = effects
            .iter()
            .map(|effect| (FileRole::Settings, (*effect).to_owned()));
        FolderRows {
            quiet: vec![quiet.collect()],
            excerpts: Vec::new(),
            effects: effects.collect(),
        }
    }

    #[test]
    fn the_text_of_instructions_is_below_its_file_and_fits_into_the_room() {
        let text = "one\ntwo\nthree\nfour\n";
        let of_two = |room: usize| {
            let rows = FolderRows {
                quiet: vec![
                    vec!["AGENTS.md: 4 lines".to_owned(), "b/AGENTS.md: 4 lines".to_owned()],
                    vec!["agent a".to_owned()],
                ],
                excerpts: vec![
                    InstructionExcerpt::of(text.as_bytes()),
                    InstructionExcerpt::of(text.as_bytes()),
                ],
                effects: vec![(FileRole::Git, "starts x".to_owned())],
            };
            rows.short(80, room).text
        };
        assert_eq!(
            of_two(7),
            "  AGENTS.md: 4 lines\n    │ one\n  b/AGENTS.md: 4 lines\n    │ one\n    \
             … 6 more lines: `s` shows all\n  agent a\n  → starts x\n"
        );
        assert_eq!(of_two(16).lines().count(), 4 + 7);
        let without = "  AGENTS.md: 4 lines\n  b/AGENTS.md: 4 lines\n  agent a\n  → starts x\n";
        assert_eq!(of_two(4), without, "effects come first");
    }

    #[test]
    fn rows_without_an_effect_are_counted_and_push_none_off_the_screen() {
        let short = rows(1_500, &["starts sh -c x", "calls run without asking"]).short(80, 16);
        assert!(short.is_whole);
        assert_eq!(
            short.text,
            "  never counts: mcp.doc0.url\n  never counts: mcp.doc1.url\n    … and 1498 more rows like these\n  \
             → starts sh -c x\n  → calls run without asking\n"
        );
    }

    #[test]
    fn effects_take_the_room_of_rows_without_one() {
        let effects: Vec<String> = (0..30).map(|number| format!("sets key{number}: off")).collect();
        let effects: Vec<&str> = effects.iter().map(String::as_str).collect();
        let short = rows(8, &effects).short(80, 16);
        assert!(short.is_whole, "{}", short.text);
        assert!(
            short.text.starts_with(
                "  never counts: mcp.doc0.url\n  … and 7 more rows without an effect\n  → sets key0: off\n"
            ),
            "{}",
            short.text
        );
    }

    #[test]
    fn effects_that_do_not_fit_are_said_to_be_missing() {
        let many: Vec<String> = (0..60).map(|number| format!("server {number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let short = rows(3, &many).short(80, 16);
        assert!(
            !short.is_whole && short.text.lines().count() <= MOST_ROWS + 2,
            "{}",
            short.text
        );
        assert!(
            short.text.contains("→ server 59\n") && short.text.contains("more effects are not shown here")
        );
        let padded = format!("starts sh {} -c evil", "a ".repeat(3_000));
        let short = rows(0, &[&padded]).short(80, 16);
        assert!(!short.is_whole && short.text.contains("parts of these effects are not shown"));
    }
}
