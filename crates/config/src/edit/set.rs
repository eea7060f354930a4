//! Sets a key in a file and keeps the person's comments, order and spacing. A value that would be a mistake,
//! alone or together with the other layers, is an error, and the file stays unchanged.

use std::path::{Path, PathBuf};

use agentx_types::{SCRIPTED_MODEL, nearest};

use crate::edit::command_mistakes::{key_below, named_by};
use crate::edit::key_text::key_text;
use crate::edit::own_change::keep_trust;
use crate::edit::set_in_braces;
use crate::edit::text_places::{index_of, insert_line, span, with_line_ends_of, with_newline, written_path};
use crate::layers::keys::{KEYS, SettingPath};
use crate::layers::scalar::scalar;
use crate::layers::value::{KeyReference, Value, ValueKind};
use crate::loading::load::{LoadRequest, Loaded, load_as_if};
use crate::locked_file::LockedFile;
use crate::mistake::{ConfigError, ConfigMistake, MistakeLocation};
use crate::origin::SettingOrigin;
use crate::yaml::{Yaml, YamlKey, YamlNode, parse};

/// The command that set a key, as mistakes name it.
const SET: &str = "config set";

/// The names of the offline demo, which the catalog does not have.
const DEMO: [&str; 2] = [SCRIPTED_MODEL, "demo"];

/// The result of a change.
#[derive(Debug)]
pub struct SetResult {
    /// The file.
    pub file: PathBuf,
    /// Whether the file changed; it does not if it has the value already.
    pub changed: bool,
    /// The configuration after the change.
    pub loaded: Loaded,
    /// The key, a name for each level.
    pub key: SettingPath,
}

/// Sets `key` to `value`, both as text, in one of the files that `request` reads, and creates the file if
/// necessary.
///
/// # Errors
/// Returns an error if the key does not exist, it takes another kind of value, the configuration would have
/// mistakes, or the key cannot be inserted without changing other parts of the file.
pub fn set(request: LoadRequest<'_>, file: &Path, key: &str, value: &str) -> Result<SetResult, ConfigError> {
    let path = path_of(key, SET)?;
    let literal = literal_of(&path, key, value)?;
    let is_known = |loaded: &Loaded| {
        if path == SettingPath::dotted("model") {
            known_model(loaded, value, MistakeLocation::Flag(SET.into()))?;
        }
        Ok(())
    };
    let before = request.same_request();
    let done = set_all(request, file, &[(path.clone(), literal)], is_known);
    let (changed, loaded) = done.map_err(|error| named_by(SET, error, before, file))?;
    Ok(SetResult {
        file: file.to_owned(),
        changed,
        loaded,
        key: path.current().unwrap_or(path),
    })
}

/// Sets keys to literals of YAML in one change of a file. Returns whether the file changed, and the
/// configuration with it, which `check` may refuse.
pub(crate) fn set_all(
    request: LoadRequest<'_>,
    file: &Path,
    values: &[(SettingPath, String)],
    check: impl FnOnce(&Loaded) -> Result<(), ConfigError>,
) -> Result<(bool, Loaded), ConfigError> {
    let locked = LockedFile::open_below(&request.places.workspace_root, file)?;
    let before = locked.text()?;
    let text = before.clone().unwrap_or_default();
    let mut changed = text.clone();
    for (path, literal) in values {
        let by_hand = || ConfigError::Edit {
            path: file.to_owned(),
            what: format!("`{path}` cannot be set here without changing other parts of the file"),
            text: format!("set `{path}` to {literal}"),
        };
        // The load below reports the mistakes of an unreadable file with their places.
        let Ok(root) = parse(&changed) else { break };
        let path = written_path(&root, path);
        let is_right = |after: &String| is_only(&changed, after, &path, literal);
        changed = place(&changed, &root, &path, literal)
            .filter(is_right)
            .or_else(|| set_in_braces::place(&changed, &root, &path, literal).filter(is_right))
            .ok_or_else(by_hand)?;
    }
    let loaded = load_as_if(request.same_request(), file, &changed)?;
    check(&loaded)?;
    if changed == text {
        return Ok((false, loaded));
    }
    let written = with_line_ends_of(&text, &changed);
    locked.replace(written.as_bytes())?;
    Ok((
        true,
        keep_trust(request, loaded, file, before.as_deref(), &written)?,
    ))
}

/// Replaces the text of a file that `request` reads; `before` is the text at the start of the change, or
/// `None` if there was no file.
///
/// # Errors
/// Returns an error if the configuration would have mistakes, or the file was changed meanwhile; the file
/// stays unchanged.
pub fn replace(
    request: LoadRequest<'_>,
    file: &Path,
    before: Option<&str>,
    text: &str,
) -> Result<Loaded, ConfigError> {
    let locked = LockedFile::open_below(&request.places.workspace_root, file)?;
    if locked.text().ok().flatten().as_deref() != before {
        let what = "the file was changed in the meantime and is left unchanged; add your changes by hand";
        return Err(ConfigError::file(file, what));
    }
    let loaded = load_as_if(request.same_request(), file, text)?;
    if let Some(model) = &loaded.settings.model
        && let SettingOrigin::User(place) | SettingOrigin::Workspace(place) = &model.origin
        && *place.file == *file
    {
        known_model(&loaded, &model.value, MistakeLocation::File(place.clone()))?;
    }
    let text = with_line_ends_of(before.unwrap_or_default(), text);
    locked.replace(text.as_bytes())?;
    keep_trust(request, loaded, file, before, &text)
}

/// Returns an error for an unknown model. With a server, only the server knows the models.
fn known_model(loaded: &Loaded, name: &str, at: MistakeLocation) -> Result<(), ConfigError> {
    if loaded.settings.connect.is_some() || DEMO.contains(&name) {
        return Ok(());
    }
    let Err(unknown) = loaded.settings.choose_model(name, &[]) else {
        return Ok(());
    };
    let mistake = ConfigMistake {
        at,
        key: "model".into(),
        what: format!("unknown model {name:?} (`agentx models` lists them; PROVIDER/ID takes any id)"),
        nearest: unknown.nearest.into_iter().next(),
    };
    Err(ConfigError::Mistakes(vec![mistake]))
}

fn mistake(key: &str, what: String, nearest: Option<String>) -> ConfigError {
    ConfigError::Mistakes(vec![ConfigMistake {
        at: MistakeLocation::Flag(SET.into()),
        key: key.to_owned(),
        what,
        nearest,
    }])
}

/// Finds the key for a dotted path. Names that a person chose may contain dots: `models.gpt-4.1.provider`.
/// `command` is the command that names it.
pub(crate) fn path_of(dotted: &str, command: &str) -> Result<SettingPath, ConfigError> {
    let plain = SettingPath::dotted(dotted);
    let is_whole = |path: &SettingPath| path.spec().is_some() && path.0.iter().all(|name| !name.is_empty());
    if is_whole(&plain) {
        return Ok(plain);
    }
    for spec in KEYS {
        let Some((before, after)) = spec.path.split_once(".*.") else {
            continue;
        };
        let name = dotted
            .strip_prefix(before)
            .and_then(|rest| rest.strip_prefix('.'))
            .and_then(|rest| rest.strip_suffix(after))
            .and_then(|rest| rest.strip_suffix('.'));
        let Some(name) = name.filter(|_| !after.contains('*')) else {
            continue;
        };
        let mut levels = SettingPath::dotted(before).0;
        levels.push(name.to_owned());
        levels.extend(SettingPath::dotted(after).0);
        let path = SettingPath(levels);
        if is_whole(&path) {
            return Ok(path);
        }
    }
    if let Some(below) = key_below(&plain) {
        return Err(ConfigError::Mistakes(vec![ConfigMistake {
            at: MistakeLocation::Flag(command.to_owned()),
            key: dotted.to_owned(),
            what: format!("`{dotted}` is a section, whose keys are set one by one, such as `{below}`"),
            nearest: None,
        }]));
    }
    let near = nearest(dotted, KEYS.iter().map(|spec| spec.path), 1);
    Err(ConfigError::Mistakes(vec![ConfigMistake {
        at: MistakeLocation::Flag(command.to_owned()),
        key: dotted.to_owned(),
        what: format!("there is no key `{dotted}`"),
        nearest: near.first().map(|word| (*word).to_owned()),
    }]))
}

/// Returns the value for the file: as it was typed if YAML reads it as meant, otherwise in quotes.
fn literal_of(path: &SettingPath, key: &str, value: &str) -> Result<String, ConfigError> {
    let Some(spec) = path.spec() else {
        return Err(mistake(key, "there is no such key".into(), None));
    };
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    match spec.kind {
        ValueKind::Rules => {
            let what = "rules are a list; add one with `agentx approvals add`, or in an editor: `agentx config edit`".to_owned();
            return Err(mistake(key, what, None));
        }
        ValueKind::Names(_) => {
            let inner = value.trim();
            let inner = inner
                .strip_prefix('[')
                .and_then(|rest| rest.strip_suffix(']'))
                .unwrap_or(inner);
            let names = inner.split(',').map(|name| name.trim().trim_matches(['"', '\'']));
            let names: Vec<String> = names.filter(|name| !name.is_empty()).map(quoted).collect();
            return Ok(format!("[{}]", names.join(", ")));
        }
        _ => {}
    }
    let meant =
        scalar(spec.kind, &Yaml::Text(value.to_owned())).map_err(|(what, near)| mistake(key, what, near))?;
    if matches!(&meant, Value::Key(KeyReference::Literal(_))) {
        // A secret does not belong on a command line, nor in this file; it is not repeated.
        let what = format!("expected {}", spec.kind.expects());
        return Err(mistake(key, what, None));
    }
    let is_meant = |literal: &str| match parse(&format!("k: {literal}\n")).map(|node| node.value) {
        Ok(Yaml::Map(map)) => match map.as_slice() {
            [(_, node)] => scalar(spec.kind, &node.value).is_ok_and(|read| read == meant),
            _ => false,
        },
        _ => false,
    };
    let is_plain = !value.is_empty()
        && value.chars().all(|c| c.is_alphanumeric() || "._/-".contains(c))
        && value.starts_with(|c: char| c.is_alphanumeric() || c == '/');
    if is_plain && is_meant(value) {
        return Ok(value.to_owned());
    }
    Ok(quoted(value))
}

/// A key with the levels above it, as lines.
fn lines(names: &[String], literal: &str, indent: usize) -> String {
    let mut text = String::new();
    for (depth, name) in names.iter().enumerate() {
        text.push_str(&" ".repeat(indent + 2 * depth));
        text.push_str(&key_text(name));
        if depth + 1 == names.len() {
            text.push_str(&format!(": {literal}\n"))
        } else {
            text.push_str(":\n")
        }
    }
    text
}

/// Returns the text with the key set, or `None` if there is no place for it.
fn place(text: &str, root: &YamlNode, path: &SettingPath, literal: &str) -> Option<String> {
    let mut map = match &root.value {
        Yaml::Map(map) => map,
        _ => return None,
    };
    let mut above: Option<&YamlKey> = None;
    for (depth, name) in path.0.iter().enumerate() {
        let Some((key, node)) = map.iter().find(|(key, _)| key.name == *name) else {
            return append_key(text, above, map, &path.0[depth..], literal);
        };
        if depth + 1 == path.0.len() {
            return replace_value(text, key, node, literal);
        }
        above = Some(key);
        map = match &node.value {
            Yaml::Map(map) => map,
            Yaml::Null => return append_key(text, above, &[], &path.0[depth + 1..], literal),
            _ => return None,
        };
    }
    None
}

/// A new key at the end of a mapping.
fn append_key(
    text: &str,
    above: Option<&YamlKey>,
    map: &[(YamlKey, YamlNode)],
    names: &[String],
    literal: &str,
) -> Option<String> {
    let all: Vec<&str> = text.split_inclusive('\n').collect();
    let text = with_newline(text);
    let Some((last, _)) = map.last() else {
        // A mapping that has nothing yet: below its key, or at the end of a file without any.
        return match above {
            Some(key) => {
                let at = index_of(key.at.line)?;
                let indent = indent_of(all.get(at)?) + 2;
                is_bare(all.get(at)?).then(|| insert_line(&text, at + 1, &lines(names, literal, indent)))
            }
            None => Some(format!("{text}{}", lines(names, literal, 0))),
        };
    };
    let from = index_of(last.at.line)?;
    let indent = indent_of(all.get(from)?);
    // A mapping on one line, in braces, has no separate lines.
    if usize::try_from(last.at.column).ok()? != indent + 1 {
        return None;
    }
    let mut end = from;
    for (index, line) in all.iter().enumerate().skip(from + 1) {
        let words = line.trim();
        if words.is_empty() || words.starts_with('#') {
            continue;
        }
        let is_inside = indent_of(line) > indent || (indent_of(line) == indent && words.starts_with('-'));
        if !is_inside || words == "---" || words == "..." {
            break;
        }
        end = index;
    }
    Some(insert_line(&text, end + 1, &lines(names, literal, indent)))
}

/// Replaces the value of an existing key.
fn replace_value(text: &str, key: &YamlKey, node: &YamlNode, literal: &str) -> Option<String> {
    let at = index_of(key.at.line)?;
    let start: usize = text.split_inclusive('\n').take(at).map(str::len).sum();
    let line = text[start..].split_inclusive('\n').next()?;
    let (from, to) = match &node.value {
        Yaml::Null if is_bare(line) => {
            let colon = line.find(':')? + 1;
            let new = format!("{} {literal}{}", &line[..colon], &line[colon..]);
            return Some(format!("{}{new}{}", &text[..start], &text[start + line.len()..]));
        }
        Yaml::Map(_) | Yaml::Null => return None,
        _ if node.at.line != key.at.line => return None,
        _ => span(line, usize::try_from(node.at.column).ok()?.checked_sub(1)?)?,
    };
    Some(format!(
        "{}{literal}{}",
        &text[..start + from],
        &text[start + to..]
    ))
}

/// A line with a key and no value.
fn is_bare(line: &str) -> bool {
    let without_comment = line.split(" #").next().unwrap_or_default();
    without_comment.trim_end().ends_with(':')
}

pub(crate) fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Returns whether the key is what has changed, and nothing else.
fn is_only(before: &str, after: &str, path: &SettingPath, literal: &str) -> bool {
    let tree = |text: &str| parse(text).ok().map(|node| node.to_json());
    let value = tree(&format!("k: {literal}\n"));
    let (Some(mut expected), Some(after), Some(value)) = (tree(before), tree(after), value) else {
        return false;
    };
    put(&mut expected, &path.0, value["k"].clone());
    expected == after
}

fn put(tree: &mut serde_json::Value, names: &[String], value: serde_json::Value) {
    let Some((name, rest)) = names.split_first() else {
        *tree = value;
        return;
    };
    if !tree.is_object() {
        *tree = serde_json::Value::Object(serde_json::Map::new());
    }
    put(&mut tree[name.as_str()], rest, value);
}
