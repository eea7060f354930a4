//! Context texts of agents: finds the file of each reference.

use std::path::{Path, PathBuf};

use agentx_config::yaml::{MAX_BYTES, TextPosition};

use crate::library::FileOrigin;
use crate::library::loading::Loading;
use crate::library::named_paths::path_within_root;
use crate::read::findings::ReferenceSite;

/// Adds the text of a context that is referred to by its path: two roots may have different files there, so
/// its name is the whole path.
pub(crate) fn by_path(
    loading: &mut Loading<'_>,
    index: usize,
    link: &ReferenceSite,
    place: (usize, PathBuf),
) {
    let Some(root) = loading.roots.get(place.0) else {
        return;
    };
    let whole = root.path.join(&place.1).display().to_string();
    context(loading, index, &whole, link.at, &[place]);
    if let Some(entry) = loading.entries.get_mut(index) {
        entry.renamed.insert(link.name.clone(), whole);
    }
}

/// Reads the text of a context from the first of these files that exists.
fn context(
    loading: &mut Loading<'_>,
    index: usize,
    name: &str,
    at: TextPosition,
    places: &[(usize, PathBuf)],
) {
    for (root, path) in places {
        match loading.text(*root, path, MAX_BYTES) {
            Ok(text) => {
                loading.library.contexts.insert(name.to_owned(), text);
                return;
            }
            Err(unread) if unread.missing => {}
            Err(unread) => {
                let message = format!(
                    "the context `{name}` cannot be read: {}: {unread}",
                    path.display()
                );
                return loading.wrong_at(index, at, message, None);
            }
        }
    }
    let wanted = places
        .first()
        .map(|(_, path)| path.display().to_string())
        .unwrap_or_default();
    let hint = format!("write it into `{wanted}`");
    loading.wrong_at(index, at, format!("there is no context `{name}`"), Some(hint));
}

/// Adds the text of a context by its name: the person's own wins over a folder's.
pub(crate) fn by_name(loading: &mut Loading<'_>, index: usize, link: &ReferenceSite) {
    let path = link.name.replace(':', "/");
    let Some(path) = path_within_root(Path::new("context"), &path).filter(|path| path.starts_with("context"))
    else {
        let message = format!("`{}` is outside the folder `context`", link.name);
        return loading.wrong_at(index, link.at, message, None);
    };
    let ending = |ending: &str| PathBuf::from(format!("{}.{ending}", path.display()));
    let mut roots = loading.own_roots();
    // The person's own text counts before a folder's.
    roots.sort_by_key(|root| {
        loading
            .roots
            .get(*root)
            .is_some_and(|root| root.origin != FileOrigin::User)
    });
    let places: Vec<(usize, PathBuf)> = roots
        .into_iter()
        .flat_map(|root| [(root, ending("md")), (root, ending("txt"))])
        .collect();
    context(loading, index, &link.name, link.at, &places);
}
