//! Calls the compiler of Luau: checks a text before it, sets the flags, and converts its errors.

use std::sync::OnceLock;

use mlua::Lua;
use mlua::chunk::Compiler;

use crate::error::{Reason, ScriptError, ScriptMistake};
use crate::limits::{Bytes, SOURCE_BYTES};

/// Finds the first error in a script without running it.
///
/// # Errors
/// Returns the error with its place in the source.
pub fn check(name: &str, source: &str) -> Result<(), ScriptMistake> {
    match bytecode(source) {
        Ok(_) => Ok(()),
        Err(mistake) => Err(ScriptMistake {
            line: mistake.line.unwrap_or(1),
            column: mistake
                .line
                .map_or(1, |line| column(source, line, &mistake.message)),
            message: if mistake.line.is_some() {
                mistake.message
            } else {
                format!("{name}: {}", mistake.message)
            },
        }),
    }
}

/// An error of the compiler, with its line if one is known.
pub(crate) struct SyntaxMistake {
    line: Option<u32>,
    message: String,
}

impl SyntaxMistake {
    /// The error in the form of an error of the script.
    pub(crate) fn of(self, name: &str) -> ScriptError {
        let mut error = ScriptError::new(name, Reason::Source(self.message));
        error.line = self.line;
        error
    }

    /// The problem as an error of the `require`.
    pub(crate) fn at(self, library: &str) -> String {
        match self.line {
            Some(line) => format!("{library}:{line}: {}", self.message),
            None => format!("{library}: {}", self.message),
        }
    }
}

/// Returns the column of an error in its line. The compiler reports no column: it is that of the word that
/// the message quotes, or of the line's first word.
fn column(source: &str, line: u32, message: &str) -> u32 {
    let index = usize::try_from(line.saturating_sub(1)).unwrap_or(0);
    let text = source.lines().nth(index).unwrap_or_default();
    let got = message
        .split_once("got '")
        .and_then(|(_, rest)| rest.split('\'').next());
    let found = got
        .filter(|word| !word.is_empty())
        .and_then(|word| text.rfind(word));
    let at = found.unwrap_or(text.len() - text.trim_start().len());
    let before = text.get(..at).unwrap_or_default();
    u32::try_from(before.chars().count() + 1).unwrap_or(1)
}

/// Checks a text and compiles it. The checks reject texts that could harm the compiler.
pub(crate) fn bytecode(source: &str) -> Result<Vec<u8>, SyntaxMistake> {
    if source.len() > SOURCE_BYTES {
        return Err(SyntaxMistake {
            line: None,
            message: format!("the text has more than {}", Bytes(SOURCE_BYTES)),
        });
    }
    if source.bytes().any(|byte| byte == 0 || byte == 0x1b) {
        return Err(SyntaxMistake {
            line: None,
            message: "not source text: bytecode is not accepted".to_owned(),
        });
    }
    if deepest(source) > DEEPEST {
        return Err(SyntaxMistake {
            line: None,
            message: format!("the text nests deeper than {DEEPEST} brackets"),
        });
    }
    flags();
    compiler().compile(source).map_err(|error| mistake(&error))
}

/// The sandbox replaces `setmetatable` and `tonumber`; as builtins they would be called past the
/// replacements.
pub(crate) fn compiler() -> Compiler {
    Compiler::new()
        .set_optimization_level(1)
        .set_debug_level(1)
        .set_disabled_builtins(["setmetatable", "tonumber"])
}

/// The maximum nesting depth of brackets. The compiler has a limit too, but may exhaust its stack, whose size
/// is unknown here, before reaching it.
const DEEPEST: usize = 256;

/// Returns an upper bound of the nesting depth of brackets; those in strings and comments count too.
fn deepest(source: &str) -> usize {
    let (mut depth, mut most) = (0usize, 0usize);
    for byte in source.bytes() {
        match byte {
            b'(' | b'{' | b'[' => {
                depth += 1;
                most = most.max(depth);
            }
            b')' | b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    most
}

/// Takes the line out of `:12: message`.
fn mistake(error: &mlua::Error) -> SyntaxMistake {
    let text = match error {
        mlua::Error::SyntaxError { message, .. } => message.clone(),
        other => other.to_string(),
    };
    let text = text.strip_prefix("syntax error: ").unwrap_or(&text);
    let located = text
        .trim_start_matches(':')
        .split_once(':')
        .and_then(|(line, rest)| Some((line.trim().parse().ok()?, rest)));
    match located {
        Some((line, rest)) => SyntaxMistake {
            line: Some(line),
            message: rest.trim().to_owned(),
        },
        None => SyntaxMistake {
            line: None,
            message: text.to_owned(),
        },
    }
}

/// Enables flags of Luau that make the VM robust: tables when memory runs out, long moves, long splits.
/// Called before anything is compiled, and so before any VM exists.
pub(crate) fn flags() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        for name in [
            "LuauTableRobustOom",
            "LuauTableMoveTimeoutFix",
            "LuauOptimizeStringSplit",
        ] {
            // A newer Luau may have made it the rule and dropped the flag.
            let _ = Lua::set_fflag(name, true);
        }
    });
}
