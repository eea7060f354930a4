//! `find`: it only lists names if all its words are listed. `-exec`, `-delete`, `-fprint` and the like are
//! not, nor is `-L`, with which it would follow links.

use super::Workspace;

/// Words that take no value.
#[rustfmt::skip]
const ALONE: &[&str] = &[
    "(", ")", "-a", "-and", "-empty", "-executable", "-false", "-ls", "-mount", "-not", "-o", "-or", "-print", "-print0",
    "-prune", "-quit", "-readable", "-true", "-writable", "-xdev",
];

/// Words whose next word is a value, and not the name of a file to open.
#[rustfmt::skip]
const VALUED: &[&str] = &[
    "-amin", "-atime", "-cmin", "-ctime", "-group", "-iname", "-ipath", "-iregex", "-links", "-maxdepth", "-mindepth", "-mmin",
    "-mtime", "-name", "-newermt", "-path", "-perm", "-printf", "-regex", "-regextype", "-size", "-type", "-user", "-wholename",
];

/// Returns whether `find` with these words lists names below the workspace, and does nothing else.
pub(super) fn only_lists(words: &[String], workspace: &Workspace<'_>) -> bool {
    let begins = |word: &String| word.starts_with('-') || word == "(";
    let at = words.iter().position(begins).unwrap_or(words.len());
    let (places, tests) = words.split_at(at);
    let mut tests = tests.iter().map(String::as_str);
    while let Some(test) = tests.next() {
        let is_listed = ALONE.contains(&test) || (VALUED.contains(&test) && tests.next().is_some());
        if !is_listed {
            return false;
        }
    }
    places.iter().all(|place| workspace.has(place))
}
