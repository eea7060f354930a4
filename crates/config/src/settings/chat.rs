//! Reads the settings of a chat in a terminal.

use std::time::Duration;

use crate::layers::getter::SettingsGetter;

/// The default minimum time between two runs of the status command.
const EVERY: Duration = Duration::from_secs(10);
/// The default duration after which a run counts as long.
const LONG: Duration = Duration::from_secs(20);

/// The settings of a chat in a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatSettings {
    /// The template of the status row; it uses only [`crate::STATUS_NAMES`].
    pub status: String,
    /// A command line whose output replaces the row.
    pub status_command: Option<String>,
    /// The minimum time between two runs of that command.
    pub status_interval: Duration,
    /// The display of models' reasoning in a chat.
    pub thinking: ThinkingDisplay,
    /// The background that colours are chosen for.
    pub theme: ThemeChoice,
    /// Whether links are clickable.
    pub links: Links,
    /// Whether the title of the terminal shows the name and the state of the session.
    pub title: bool,
    /// The notification at the end of a long run.
    pub notice: Notice,
    /// The duration after which a run counts as long.
    pub notify_after: Duration,
    /// The key bindings of the line editor.
    pub keys: EditKeys,
    /// Whether the chat only appends whole lines and describes events in words.
    pub screen_reader: bool,
}

/// Key bindings of the line editor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EditKeys {
    /// The keys of emacs and most shells.
    #[default]
    Emacs,
    /// The modes of vi: keys insert letters or are commands.
    Vi,
}

impl Default for ChatSettings {
    fn default() -> Self {
        Self {
            status: "{model} · {context} · {cost}".to_owned(),
            status_command: None,
            status_interval: EVERY,
            thinking: ThinkingDisplay::default(),
            theme: ThemeChoice::default(),
            links: Links::default(),
            title: true,
            notice: Notice::default(),
            notify_after: LONG,
            keys: EditKeys::default(),
            screen_reader: false,
        }
    }
}

/// The display of a model's reasoning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThinkingDisplay {
    /// The complete text, as it arrives.
    Full,
    /// A single line with the length.
    #[default]
    Folded,
    /// Not at all.
    Hidden,
}

/// The background that colours are chosen for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThemeChoice {
    /// The terminal's background, which is queried.
    #[default]
    Auto,
    /// A dark one.
    Dark,
    /// A light one.
    Light,
    /// No colours.
    None,
}

/// Whether links are clickable in the terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Links {
    /// In terminals that are known to support it.
    #[default]
    Auto,
    /// Yes.
    Always,
    /// No: the address follows the words.
    Never,
}

/// The notification at the end of a long run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notice {
    /// With the terminal's bell.
    #[default]
    Bell,
    /// With a desktop notification, in the form of iTerm2.
    Osc9,
    /// With a desktop notification, in the form of urxvt.
    Osc777,
    /// Not at all.
    None,
}

impl SettingsGetter<'_> {
    pub(crate) fn chat(&self) -> ChatSettings {
        let word = |key: &str| self.text(key).unwrap_or_default();
        let time = |key: &str, or: Duration| self.millis(key).map_or(or, Duration::from_millis);
        ChatSettings {
            status: word("chat.status"),
            status_command: self
                .text("chat.status_command")
                .filter(|line| !line.trim().is_empty()),
            status_interval: time("chat.status_interval", EVERY).max(Duration::from_secs(1)),
            thinking: match word("chat.thinking").as_str() {
                "full" => ThinkingDisplay::Full,
                "hidden" => ThinkingDisplay::Hidden,
                _ => ThinkingDisplay::Folded,
            },
            theme: match word("chat.theme").as_str() {
                "dark" => ThemeChoice::Dark,
                "light" => ThemeChoice::Light,
                "none" => ThemeChoice::None,
                _ => ThemeChoice::Auto,
            },
            links: match word("chat.links").as_str() {
                "always" => Links::Always,
                "never" => Links::Never,
                _ => Links::Auto,
            },
            title: word("chat.title") != "false",
            notice: match word("chat.notify").as_str() {
                "osc9" => Notice::Osc9,
                "osc777" => Notice::Osc777,
                "none" => Notice::None,
                _ => Notice::Bell,
            },
            notify_after: time("chat.notify_after", LONG),
            keys: match word("chat.keys").as_str() {
                "vi" => EditKeys::Vi,
                _ => EditKeys::Emacs,
            },
            screen_reader: word("chat.screen_reader") == "true",
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::layers::keys::STATUS_NAMES;
    use crate::layers::scalar::scalar;
    use crate::layers::value::ValueKind;
    use crate::layers::value::{Value, from_words};
    use crate::yaml::Yaml;

    #[test]
    fn a_template_names_only_what_there_is() {
        let read = |words: &str| from_words(ValueKind::Template(STATUS_NAMES), words);
        for words in ["", "{model}", "{{not}} {cost}·{time}"] {
            assert_eq!(read(words), Ok(Value::Text(words.into())), "{words}");
        }
        let (what, near) = read("{modle}").unwrap_err();
        assert!(
            what.starts_with("there is no `{modle}`; there are {model}, {context}"),
            "{what}"
        );
        assert_eq!(near.as_deref(), Some("{model}"));
        for words in ["{model", "cost}", "{"] {
            assert!(read(words).unwrap_err().0.contains("unmatched"), "{words}");
        }
    }

    #[test]
    fn yes_and_no_are_written_as_yaml_has_them() {
        let kind = ValueKind::Choice(&["true", "false"]);
        assert_eq!(scalar(kind, &Yaml::Bool(true)), Ok(Value::Text("true".into())));
        assert!(scalar(ValueKind::Choice(&["ask"]), &Yaml::Bool(true)).is_err());
    }
}
