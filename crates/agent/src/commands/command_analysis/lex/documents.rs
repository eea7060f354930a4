//! The substitutions in here-documents and in arithmetic, which have their own rules of quoting: quotes
//! protect nothing in either.

use super::Lexer;
use super::expand::{BRACE, BRACE_END, COMMA, STAR};
use super::inner_text::{InnerKind, InnerText};
use super::nesting::end_of_substitution;

impl Lexer<'_> {
    /// Reads the lines of here-documents, each up to the line that ends it.
    pub(crate) fn documents(&mut self) {
        for document in std::mem::take(&mut self.documents) {
            let (body, rest, certain) = document.take(self.rest);
            self.rest = rest;
            self.lexed.unclosed |= !certain;
            // Substitutions run in it, regardless of the command that reads it.
            let mut inside = Lexer::of(&body, self.nests);
            inside.document();
            let within = inside.lexed.inner.into_iter().map(|inner| InnerText {
                at: usize::MAX,
                kind: if document.quoted {
                    InnerKind::Quoted
                } else {
                    inner.kind
                },
                ..inner
            });
            self.lexed.inner.extend(within);
            self.lexed.input.push(body);
        }
    }

    /// Reads the lines of a document, in which a double quote is an ordinary character.
    fn document(&mut self) {
        while let Some(c) = self.next() {
            match c {
                '\\' => {
                    self.next();
                }
                '$' => self.dollar(true),
                '`' => self.backticks(),
                _ => {}
            }
        }
    }

    /// Records that arithmetic begins, in front of the rest of the line. Quotes protect nothing in
    /// arithmetic, and its end is not certain, so the first time the rest is read once more without quotes.
    pub(crate) fn begin_arithmetic(&mut self) {
        if !std::mem::replace(&mut self.arithmetic, true) {
            self.note_unprotected(self.rest);
        }
    }

    /// Records the substitutions in a text in which single quotes may not protect them.
    pub(crate) fn note_unprotected(&mut self, text: &str) {
        if text.contains('\'') && (text.contains("$(") || text.contains('`')) {
            self.note_inner(text.replace('\'', " "), InnerKind::Command);
        }
    }

    /// Returns whether the parenthesis belongs to a pattern of alternatives, `@(a|b)`, which bash knows after
    /// `shopt -s extglob`.
    pub(crate) fn begins_alternatives(&self) -> bool {
        let word = self.word.as_ref().map_or("", |word| word.text.as_str());
        word.ends_with(['@', '?', '*', '+', '!']) && word != "!"
    }

    /// Reads the alternatives, behind their parenthesis. The sign before it belongs to them.
    pub(crate) fn alternatives(&mut self) {
        let end = end_of_substitution(self.rest);
        let inside = self.read_up_to(end);
        let plain: String = inside.chars().filter(|c| !"'\"\\".contains(*c)).collect();
        let mut shape = String::from(BRACE);
        for alternative in plain.split('|') {
            let known = |c: char| match c {
                '*' | '?' | '[' | ']' | '(' | ')' | '$' => STAR,
                c if c <= COMMA => char::REPLACEMENT_CHARACTER,
                c => c,
            };
            shape.extend(alternative.chars().map(known));
            shape.push(COMMA);
        }
        let word = self.word();
        let sign = word.text.pop();
        word.pop_sign();
        if sign != Some('@') {
            let any = if plain.contains('.') {
                format!(".{STAR}{COMMA}")
            } else {
                String::new()
            };
            shape.push_str(&format!("{any}{STAR}{COMMA}"));
        }
        if sign == Some('@') || sign == Some('+') {
            // `@(…)` and `+(…)` do not stand for the empty text.
            shape.pop();
            if !plain.contains('|') {
                let first = shape[1..].to_owned();
                shape.push(COMMA);
                shape.push_str(&first);
            }
        }
        shape.push(BRACE_END);
        let mark = sign.map(String::from).unwrap_or_default();
        self.word()
            .push_alternatives(&format!("{mark}({inside})"), &shape);
        self.note_inner(inside, InnerKind::Command);
    }
}
