//! The paths that a filter reads of its input, as far as its text shows: `.steps.a` is a path of plain keys.
//! With them, a file that uses keys that never exist is reported before anything runs.

use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Term};
use jaq_core::path::{Part, Path};

/// A path of plain keys from the input on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InputPath {
    pub(crate) keys: Vec<String>,
    /// The byte offset of its second key, or its only one, in the text of the filter.
    pub(crate) offset: usize,
}

/// Returns the paths, in the order of the text. `offset` returns the position of a part of the text.
pub(super) fn of<'s>(term: &Term<&'s str>, offset: &dyn Fn(&'s str) -> usize) -> Vec<InputPath> {
    let mut found = Vec::new();
    walk(term, &mut |keys: &[&'s str]| {
        found.push(InputPath {
            keys: keys.iter().map(|key| (*key).to_owned()).collect(),
            offset: keys.get(1).or(keys.first()).map_or(0, |key| offset(key)),
        });
    });
    found
}

/// Walks the parts in which `.` is still the input: not behind a pipe, nor in arguments of a call.
fn walk<'s>(term: &Term<&'s str>, found: &mut dyn FnMut(&[&'s str])) {
    match term {
        Term::Str(_, parts) => parts.iter().for_each(|part| {
            if let StrPart::Term(term) = part {
                walk(term, found);
            }
        }),
        Term::Arr(Some(inner))
        | Term::Neg(inner)
        | Term::Label(_, inner)
        | Term::TryCatch(inner, _)
        | Term::Def(_, inner)
        | Term::Fold(_, inner, ..) => walk(inner, found),
        Term::Obj(entries) => entries.iter().for_each(|(key, value)| match value {
            Some(value) => {
                walk(key, found);
                walk(value, found);
            }
            None => plain(key).into_iter().for_each(|key| found(&[key])),
        }),
        Term::BinOp(left, op, right) => {
            walk(left, found);
            let same = !matches!(
                op,
                BinaryOp::Pipe(None) | BinaryOp::Update | BinaryOp::UpdateMath(_) | BinaryOp::UpdateAlt
            );
            if same {
                walk(right, found);
            }
        }
        Term::IfThenElse(cases, other) => {
            for (condition, then) in cases {
                walk(condition, found);
                walk(then, found);
            }
            other.iter().for_each(|other| walk(other, found));
        }
        Term::Path(head, path) => of_path(head, path, found),
        Term::Id
        | Term::Recurse
        | Term::Num(_)
        | Term::Arr(None)
        | Term::Break(_)
        | Term::Call(..)
        | Term::Var(_) => {}
    }
}

fn of_path<'s>(head: &Term<&'s str>, path: &Path<Term<&'s str>>, found: &mut dyn FnMut(&[&'s str])) {
    if !matches!(head, Term::Id) {
        return walk(head, found);
    }
    let keys: Vec<&str> = path
        .0
        .iter()
        .map_while(|(part, _)| match part {
            Part::Index(index) => plain(index),
            Part::Range(..) => None,
        })
        .collect();
    if !keys.is_empty() {
        found(&keys);
    }
}

/// Returns a text that is written out in full.
fn plain<'s>(term: &Term<&'s str>) -> Option<&'s str> {
    match term {
        Term::Str(None, parts) => match parts[..] {
            [StrPart::Str(text)] => Some(text),
            _ => None,
        },
        _ => None,
    }
}
