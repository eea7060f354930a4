//! The settings of a workspace that count, and their effects.
//!
//! A workspace that is not trusted only makes things stricter ([`trust::restrict`]). A trusted one may set
//! the rest, with three exceptions: it never decides where a key of the person is sent, it does not change a
//! provider or a model that the person or the program defines, and a file that it names counts only if it is
//! in the workspace and was trusted with it.

pub(crate) mod claude_files;
pub(crate) mod effects;
pub(crate) mod folder_models;
pub(crate) mod personal_settings;
pub(crate) mod strictness;
pub(crate) mod trust;

use std::collections::BTreeSet;
use std::path::PathBuf;

use agentx_agent::approval::describe;
use agentx_llm::Secret;
use agentx_types::Guard;

use crate::api_key_source::ApiKeySource;
use crate::folders::command_files::{CommandWords, PathTarget, pieces};
use crate::folders::file_of_setting::{GUARDED, OUTSIDE, named};
use crate::folders::folder::{FileAcceptance, Folder, FolderTrust};
use crate::folders::ignored_setting::IgnoredSetting;
use crate::folders::named_file::NamedFile;
use crate::folders::secret_guard;
use crate::layers::getter::{SettingsGetter, resolved};
use crate::layers::keys::SettingPath;
use crate::layers::personal_keys::why_personal;
use crate::layers::read::SettingsLayer;
use crate::layers::read_file::ReadFile;
use crate::layers::value::{KeyReference, Value};
use crate::layers::{MergedSettings, price_in_dollars};
use crate::mcp::McpTarget;
use crate::mcp::server_files::{Listings, files_of};
use crate::models;
use crate::models::cloud::Clouds;
use crate::paths::ConfigPaths;
use crate::settings::guarded_files;
use crate::workspace::effects::effects;
use crate::workspace::folder_models::{FolderModels, MODEL, why_no_limit};
use crate::workspace::personal_settings::PersonalSettings;

const PROVIDER: &str = "it would change one of your providers or a built-in one; a folder may only define providers with new names";
const KEY: &str = "a folder's provider never gets your keys";
const CHANGED: &str = "it refers to a file that is new or has changed since you trusted this folder";
const PROGRAM: &str = "a folder may only set a command that runs a program by a plain path inside the \
                       folder, such as `./status.sh` or `sh status.sh`; other commands could change without \
                       your knowledge";

const IGNORED: &str = "you chose to ignore this folder";

/// Programs that run the file that is named right behind them.
const INTERPRETERS: &[&str] = &[
    "bash", "dash", "lua", "node", "perl", "python", "python3", "ruby", "sh", "zsh",
];
/// Programs that only say something.
const HARMLESS: &[&str] = &["date", "echo", "printf", "pwd"];

/// The settings of a workspace's file that count.
#[derive(Default)]
pub(crate) struct AcceptedSettings {
    pub(crate) layer: SettingsLayer,
    pub(crate) ignored: Vec<IgnoredSetting>,
    /// The files that the settings name.
    pub(crate) files: Vec<NamedFile>,
    /// The effects of the settings, in sentences.
    pub(crate) effects: Vec<String>,
    /// The settings that no trust lets count, each with the reason.
    pub(crate) never_counts: Vec<String>,
    /// Every setting of the file, as readable lines.
    pub(crate) settings: Vec<String>,
}

/// Returns the settings of the workspace's file that count: nearly all if the person trusts it as it is.
pub(crate) fn admitted(
    file: ReadFile,
    folder: &Folder,
    below: &MergedSettings,
    own: &PersonalSettings<'_>,
) -> AcceptedSettings {
    let accepted = is_accepted(&file.bytes, folder, own.places);
    let (layer, mut never) = without_personal_settings(file.layer.clone(), own);
    let (layer, of_rules) =
        guarded_files::without_opening_rules(layer, &secret_guard::secrets(), &own.places.workspace_root);
    never.extend(of_rules);
    let whole = layer.clone();
    let (layer, files, of_files) = with_its_files(layer, folder, own.places);
    let effects = effects(&once_trusted(whole, &of_files), below, own);
    let never_counts = never
        .iter()
        .map(|setting| format!("{}: {}", setting.key, setting.why));
    let never_counts = never_counts.collect();
    let settings = readable_settings(&file.layer);
    let (layer, ignored) = match folder.trust {
        _ if accepted => (layer, [never, of_files].concat()),
        // A folder that the person ignores must not block their work either.
        FolderTrust::Restricted => {
            let left_out = file.layer.entries.iter();
            let notes = left_out.map(|(path, sourced)| trust::note(path, sourced, IGNORED, true));
            (SettingsLayer::default(), notes.collect())
        }
        _ => trust::restrict(file.layer, below),
    };
    AcceptedSettings {
        layer,
        ignored,
        files,
        effects,
        never_counts,
        settings,
    }
}

/// Returns each setting in one form, however the file writes it: `model: opus`, `rules: "allow bash: ls *"`.
fn readable_settings(layer: &SettingsLayer) -> Vec<String> {
    let mut lines = Vec::new();
    for (path, sourced) in &layer.entries {
        match &sourced.value {
            Value::Rules(rules) => lines.extend(
                rules
                    .iter()
                    .map(|rule| format!("{path}: {}", describe(&rule.value))),
            ),
            value => {
                let is_price = path.0.iter().any(|level| level == "prices");
                let value = if is_price {
                    price_in_dollars(value)
                } else {
                    value.to_string()
                };
                let mut rows = value.split(['\n', '\r']);
                lines.push(format!("{path}: {}", rows.next().unwrap_or_default()));
                lines.extend(rows.map(|row| format!("  {row}")));
            }
        }
    }
    lines
}

/// Returns whether the person accepted this workspace file.
pub(crate) fn is_accepted(bytes: &[u8], folder: &Folder, places: &ConfigPaths) -> bool {
    let file = places.workspace_file.strip_prefix(&places.workspace_root);
    file.is_ok_and(|file| folder.admits(file, bytes))
}

/// Leaves out the settings that trust in a folder does not cover.
fn without_personal_settings(
    layer: SettingsLayer,
    own: &PersonalSettings<'_>,
) -> (SettingsLayer, Vec<IgnoredSetting>) {
    let get = SettingsGetter::new(own.merged, own.places);
    let clouds = Clouds::new(&get, own.lookup);
    let catalog = models::catalog(own.catalog.clone(), &get, &clouds, &mut Vec::new());
    let whole = layer.clone();
    let of_models = FolderModels {
        catalog: &catalog,
        layer: &whole,
    };
    let mut kept = SettingsLayer::default();
    let mut ignored = Vec::new();
    for (path, mut sourced) in layer.entries {
        if let Some(why) = why_personal(&path) {
            ignored.push(trust::note(&path, &sourced, why, false));
            continue;
        }
        let levels: Vec<&str> = path.0.iter().map(String::as_str).collect();
        // New names of an alias list count even if others are refused.
        let mut keeps_rest = false;
        let why = match (levels.as_slice(), &mut sourced.value) {
            (["providers", name, key, ..], _)
                if *key != "default_model" && catalog.provider(name).is_some() =>
            {
                Some(PROVIDER)
            }
            (_, Value::Key(reference)) if is_persons(reference, own) => Some(KEY),
            (["models", name, "aliases"], Value::Names(names))
                if of_models.why_not(name, "aliases").is_none() =>
            {
                let all = names.len();
                names.retain(|name| !of_models.is_known(name));
                keeps_rest = !names.is_empty();
                (names.len() < all).then_some(MODEL)
            }
            (["models", name, key, ..], _) => of_models.why_not(name, key),
            (_, value) => why_no_limit(&path, value, own.merged)
                .or_else(|| strictness::why_not(&path, value, own.merged)),
        };
        if let Some(why) = why {
            ignored.push(trust::note(&path, &sourced, why, false));
        }
        if why.is_none() || keeps_rest {
            kept.entries.push((path, sourced));
        }
    }
    (kept, ignored)
}

/// Returns whether this is a key that the person's own layers name, by its variable or by what that holds.
fn is_persons(reference: &KeyReference, own: &PersonalSettings<'_>) -> bool {
    let KeyReference::Env(variable) = reference else {
        return false;
    };
    let value = (own.lookup)(variable);
    own.keys.iter().any(|key| {
        let same_name = matches!(key, ApiKeySource::Env { name, .. } if name == variable);
        let holds_it = |key: &Secret| value.as_deref().is_some_and(|value| key.is_in(value));
        same_name || key.value().is_some_and(holds_it)
    })
}

/// Reads the files that the settings name, and leaves out the settings whose files do not count.
fn with_its_files(
    layer: SettingsLayer,
    folder: &Folder,
    places: &ConfigPaths,
) -> (SettingsLayer, Vec<NamedFile>, Vec<IgnoredSetting>) {
    let guard = secret_guard::secrets();
    let mut kept = SettingsLayer::default();
    let (mut files, mut ignored) = (Vec::new(), Vec::new());
    for (path, sourced) in layer.entries {
        let found: Result<Vec<_>, &'static str> = match (path.0.as_slice(), &sourced.value) {
            (_, Value::File(written)) => named(&resolved(&sourced.origin, written, places), &guard, places),
            ([key], Value::Text(written)) if key == "scripted_answers" => {
                named(&resolved(&sourced.origin, written, places), &guard, places)
            }
            ([chat, key], Value::Text(line)) if chat == "chat" && key == "status_command" => {
                programs(line, &guard, places)
            }
            _ => Ok(Vec::new()),
        };
        let why = match &found {
            Err(why) => Some(*why),
            Ok(found) => {
                let counts = |(file, bytes): &(PathBuf, Vec<u8>)| {
                    folder.standing(file, bytes) == FileAcceptance::Accepted
                };
                (!found.iter().all(counts)).then_some(CHANGED)
            }
        };
        let key = path.to_string();
        files.extend(found.into_iter().flatten().map(|(path, bytes)| NamedFile {
            key: key.clone(),
            path,
            bytes,
        }));
        match why {
            Some(why) => ignored.push(trust::note(&path, &sourced, why, why == CHANGED)),
            None => kept.entries.push((path, sourced)),
        }
    }
    (kept, files, ignored)
}

/// Leaves out the settings that no trust can accept because of the files that they name. A setting with a new
/// file stays, because a person who trusts the folder also accepts that file.
fn once_trusted(mut layer: SettingsLayer, of_files: &[IgnoredSetting]) -> SettingsLayer {
    let never = |path: &SettingPath| {
        let key = path.to_string();
        of_files
            .iter()
            .any(|ignored| !ignored.waits_for_trust && ignored.key == key)
    };
    layer.entries.retain(|(path, _)| !never(path));
    layer
}

/// Returns the files of the workspace that a command line runs: those that it names, and what its program may
/// load as a server's would. A line counts only if its program is named plainly and is one of these files, so
/// that a person is asked again when it changes.
fn programs(
    line: &str,
    guard: &Guard,
    places: &ConfigPaths,
) -> Result<Vec<(PathBuf, Vec<u8>)>, &'static str> {
    let is_plain = |c: char| c.is_alphanumeric() || " -_./,:@%+".contains(c);
    let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
    let program = match words.split_first() {
        Some((program, _)) if HARMLESS.contains(program) => None,
        // With `-I` it takes no modules from the folder.
        Some((&("python" | "python3"), ["-I", rest @ ..])) => Some(rest.first().copied().unwrap_or_default()),
        Some((program, rest)) if INTERPRETERS.contains(program) => {
            Some(rest.first().copied().unwrap_or_default())
        }
        Some((program, _)) if program.contains('/') => Some(*program),
        _ => return Err(PROGRAM),
    };
    let file = |word: &str| named(&places.cwd.join(word), guard, places);
    let is_harmless = program.is_none();
    let runs_a_file = match program {
        Some(program) if program.starts_with('-') => false,
        Some(program) => !file(program)?.is_empty(),
        None => true,
    };
    if !runs_a_file || !line.chars().all(is_plain) {
        return Err(PROGRAM);
    }
    let looked_at = CommandWords::in_directory(&places.cwd, places);
    let mut found = Vec::new();
    for word in words.iter().copied().flat_map(pieces) {
        match looked_at.look(&places.cwd.join(word)) {
            PathTarget::File(path, bytes) => found.push((path, bytes)),
            PathTarget::Elsewhere => {}
            PathTarget::Directory(_) | PathTarget::TooLarge | PathTarget::Odd if is_harmless => {}
            PathTarget::Guarded => return Err(GUARDED),
            PathTarget::LinkOut(..) => return Err(OUTSIDE),
            PathTarget::Directory(_) | PathTarget::TooLarge | PathTarget::Odd => return Err(PROGRAM),
        }
    }
    // With `-I`, Python takes no modules from the folder.
    let is_alone = matches!(words[..], ["python" | "python3", "-I", ..]);
    if !is_harmless && !is_alone {
        found.extend(loaded(line, places)?);
    }
    let mut seen = BTreeSet::new();
    found.retain(|(path, _)| seen.insert(path.clone()));
    Ok(found)
}

/// Returns the files that a server with this command line would be trusted with.
fn loaded(line: &str, places: &ConfigPaths) -> Result<Vec<(PathBuf, Vec<u8>)>, &'static str> {
    let mut words = line.split(' ').filter(|word| !word.is_empty()).map(str::to_owned);
    let target = McpTarget::Program {
        command: words.next().unwrap_or_default(),
        arguments: words.collect(),
        directory: places.cwd.clone(),
        variables: Vec::new(),
    };
    files_of(&target, places, &mut Listings::new()).map_err(|_| PROGRAM)
}
