//! Removes a key from a file and keeps everything else that the person wrote. A removal that would leave a
//! mistake is an error, and the file stays unchanged.

use std::path::Path;

use crate::edit::own_change::keep_trust;
use crate::edit::set::{SetResult, indent_of, path_of};
use crate::edit::text_places::{index_of, written_path};
use crate::layers::keys::SettingPath;
use crate::loading::load::{LoadRequest, load_as_if};
use crate::locked_file::LockedFile;
use crate::mistake::ConfigError;
use crate::yaml::{Yaml, YamlKey, YamlNode, parse};

/// Removes `key` from one of the files that `request` reads, with the levels above it that contain nothing
/// else.
///
/// # Errors
/// Returns an error if the key does not exist, the configuration would have mistakes without it, or it cannot
/// be taken out of the file without touching the rest.
pub fn unset(request: LoadRequest<'_>, file: &Path, key: &str) -> Result<SetResult, ConfigError> {
    let path = path_of(key, "config unset")?;
    unset_at(request, file, path)
}

/// Removes the key or the section at a path.
pub(crate) fn unset_at(
    request: LoadRequest<'_>,
    file: &Path,
    path: SettingPath,
) -> Result<SetResult, ConfigError> {
    let locked = LockedFile::open_below(&request.places.workspace_root, file)?;
    let before = locked.text()?;
    let text = before.clone().unwrap_or_default();
    let changed = match parse(&text) {
        Ok(root) => {
            without_key(&text, &root, &written_path(&root, &path)).ok_or_else(|| ConfigError::Edit {
                path: file.to_owned(),
                what: format!("`{path}` cannot be removed here without changing other parts of the file"),
                text: format!("remove `{path}`"),
            })?
        }
        // The load below reports its mistakes with their places.
        Err(_) => text.clone(),
    };
    let mut loaded = load_as_if(request.same_request(), file, &changed)?;
    let is_other = changed != text;
    if is_other && changed.trim().is_empty() && file == request.places.workspace_file {
        // A chat would ask about a new file that says nothing.
        locked.remove()?;
    } else if is_other {
        locked.replace(changed.as_bytes())?;
        loaded = keep_trust(request, loaded, file, before.as_deref(), &changed)?;
    }
    Ok(SetResult {
        file: file.to_owned(),
        changed: is_other,
        loaded,
        key: path.current().unwrap_or(path),
    })
}

/// The text without the key: the same text if it has none; `None` if that would change something else.
fn without_key(text: &str, root: &YamlNode, path: &SettingPath) -> Option<String> {
    let mut map = match &root.value {
        Yaml::Map(map) => map,
        Yaml::Null => return Some(text.to_owned()),
        _ => return None,
    };
    // The highest level that contains nothing but this key.
    let mut highest: Option<(&YamlKey, usize)> = None;
    for (depth, name) in path.0.iter().enumerate() {
        let Some((key, node)) = map.iter().find(|(key, _)| key.name == *name) else {
            return Some(text.to_owned());
        };
        if map.len() > 1 || highest.is_none() {
            highest = Some((key, depth));
        }
        match &node.value {
            Yaml::Map(below) => map = below,
            _ if depth + 1 == path.0.len() => {}
            _ => return Some(text.to_owned()),
        }
    }
    let (key, depth) = highest?;
    let changed = without_lines(text, key)?;
    let mut expected = root.to_json();
    take_out(&mut expected, path.0.get(..=depth)?);
    let after = parse(&changed).ok().map(|root| root.to_json())?;
    let is_empty =
        |tree: &serde_json::Value| tree.is_null() || tree.as_object().is_some_and(|map| map.is_empty());
    (after == expected || (is_empty(&after) && is_empty(&expected))).then_some(changed)
}

/// Returns the text without the lines of a key and of everything below it.
fn without_lines(text: &str, key: &YamlKey) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let from = index_of(key.at.line)?;
    let indent = indent_of(lines.get(from)?);
    // In braces it has no separate line.
    if usize::try_from(key.at.column).ok()? != indent + 1 {
        return None;
    }
    let mut end = from + 1;
    for (index, line) in lines.iter().enumerate().skip(from + 1) {
        let words = line.trim();
        if words.is_empty() {
            continue;
        }
        let is_inside = indent_of(line) > indent || (indent_of(line) == indent && words.starts_with("- "));
        if !is_inside {
            break;
        }
        end = index + 1;
    }
    Some(lines[..from].concat() + &lines[end..].concat())
}

fn take_out(tree: &mut serde_json::Value, names: &[String]) {
    let Some(((last, above), map)) = names.split_last().zip(tree.as_object_mut()) else {
        return;
    };
    match above.split_first() {
        None => {
            map.remove(last);
        }
        Some((first, _)) => {
            if let Some(below) = map.get_mut(first) {
                take_out(below, &names[1..]);
            }
        }
    }
}
