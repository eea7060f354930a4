//! The keys of vi: what is typed, and what stands there then, with `|` before the cursor; and any keys at
//! all.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::tests::typed_in;
use super::*;

/// Each row: keys, and the text with the cursor in it. `<esc>` is needed first: a line begins by typing.
const TABLE: &[(&str, &str)] = &[
    // Moving.
    ("hello<esc>", "hell|o"),
    ("hello<esc>hh", "he|llo"),
    ("hello<esc>0", "|hello"),
    ("hello<esc>03l", "hel|lo"),
    ("hello<esc>09l", "hell|o"),
    ("  hello<esc>^", "  |hello"),
    ("hello<esc>0$", "hell|o"),
    ("one two three<esc>0w", "one |two three"),
    ("one two three<esc>02w", "one two |three"),
    ("one.two three<esc>0w", "one|.two three"),
    ("one.two three<esc>0W", "one.two |three"),
    ("one two three<esc>b", "one two |three"),
    ("one two three<esc>bb", "one |two three"),
    ("one.two<esc>B", "|one.two"),
    ("one two<esc>0e", "on|e two"),
    ("one two<esc>0ee", "one tw|o"),
    ("one.two x<esc>0E", "one.tw|o x"),
    ("你好 world<esc>0w", "你好 |world"),
    ("ab你好<esc>0w", "ab|你好"),
    ("a👨‍👩‍👧b<esc>0l", "a|👨‍👩‍👧b"),
    ("one two<esc>0fo", "one tw|o"),
    ("one two<esc>0to", "one t|wo"),
    ("abcabc<esc>0fc;", "abcab|c"),
    ("abcabc<esc>0fc;,", "ab|cabc"),
    ("abcabc<esc>0tc;", "abca|bc"),
    ("abcabc<esc>Fa", "abc|abc"),
    ("abcabc<esc>2Fa", "|abcabc"),
    ("abcabc<esc>Ta", "abca|bc"),
    ("abc<esc>0fz", "|abc"),
    ("f(a, b)<esc>0%", "f(a, b|)"),
    ("f(a, b)<esc>%", "f|(a, b)"),
    ("a<a-enter>b<a-enter>c<esc>gg", "|a\nb\nc"),
    ("a<a-enter>b<a-enter>c<esc>ggG", "a\nb\n|c"),
    ("a<a-enter>b<a-enter>c<esc>2G", "a\n|b\nc"),
    ("ab<a-enter>cd<esc>k", "a|b\ncd"),
    ("ab<a-enter>cd<esc>kj", "ab\nc|d"),
    // Typing.
    ("bc<esc>0ia", "a|bc"),
    ("ab<esc>0aX", "aX|b"),
    ("  b<esc>Ia", "  a|b"),
    ("ab<esc>0Ac", "abc|"),
    ("ab<esc>ocd", "ab\ncd|"),
    ("ab<esc>Ocd", "cd|\nab"),
    ("ab<esc>sX", "aX|"),
    ("abc<esc>02sX", "X|c"),
    ("abc<esc>SX", "X|"),
    ("abc<esc>0lCX", "aX|"),
    // Deleting.
    ("abc<esc>0x", "|bc"),
    ("abc<esc>x", "a|b"),
    ("abc<esc>02x", "|c"),
    ("abc<esc>09x", "|"),
    ("abc<esc>X", "a|c"),
    ("abc<esc>0X", "|abc"),
    ("abcd<esc>0lD", "|a"),
    ("one two three<esc>0dw", "|two three"),
    ("one two three<esc>02dw", "|three"),
    ("one two three<esc>0d2w", "|three"),
    ("one two three<esc>0wdw", "one |three"),
    ("one two<esc>dw", "one t|w"),
    ("one two<esc>db", "one |o"),
    ("one two<esc>0de", "| two"),
    ("one two<esc>0wd$", "one| "),
    ("one two<esc>d0", "|o"),
    ("one two<esc>0dfo", "|"),
    ("a, b, c<esc>0df,", "| b, c"),
    ("a, b, c<esc>0dt,", "|, b, c"),
    ("a, b, c<esc>0dt,.", "|, c"),
    ("a<a-enter>b<a-enter>c<esc>kdd", "a\n|c"),
    ("a<a-enter>b<a-enter>c<esc>dd", "a\n|b"),
    ("a<a-enter>b<a-enter>c<esc>gg2dd", "|c"),
    ("a<a-enter>b<a-enter>c<esc>ggdj", "|c"),
    ("a<a-enter>b<a-enter>c<esc>dk", "|a"),
    ("a<a-enter>b<a-enter>c<esc>kdG", "|a"),
    ("a<a-enter>b<esc>ggdw", "|\nb"),
    ("你好 x<esc>0dw", "|x"),
    ("say \"some words\" now<esc>0fodi\"", "say \"|\" now"),
    ("say \"some words\" now<esc>0di\"", "say \"|\" now"),
    // Changing.
    ("one two<esc>0cwX", "X| two"),
    ("one two<esc>0ceX", "X| two"),
    ("one two three<esc>02cwX", "X| three"),
    ("one two<esc>0wcbX", "X|two"),
    ("one two<esc>0c$X", "X|"),
    ("a<a-enter>b<esc>ggccX", "X|\nb"),
    ("f(a, b)<esc>hci(X", "f(X|)"),
    ("f(a, b)<esc>hda(", "|f"),
    ("say 'x y' now<esc>0fxda'", "say | now"),
    ("one two three<esc>0wdiw", "one | three"),
    ("one two three<esc>0wdaw", "one |three"),
    ("a [b [c] d]<esc>0fcdi[", "a [b [|] d]"),
    ("a {b}<esc>ci{x", "a {x|}"),
    // Copying and putting.
    ("one two<esc>0ywP", "one| one two"),
    ("ab<esc>0xp", "b|a"),
    ("ab<esc>0x3p", "baa|a"),
    ("a<a-enter>b<esc>ggyyp", "a\n|a\nb"),
    ("a<a-enter>b<esc>ddP", "|b\na"),
    ("a<a-enter>b<esc>Yp", "a\nb\n|b"),
    ("one two<esc>0ye$p", "one twoon|e"),
    // One sign for another.
    ("abc<esc>0rX", "|Xbc"),
    ("abc<esc>02rX", "X|Xc"),
    ("abc<esc>09rX", "|abc"),
    ("abc<esc>0~~", "AB|c"),
    ("abc<esc>03~", "AB|C"),
    ("a<a-enter>  b<esc>ggJ", "a| b"),
    // Undoing and doing again.
    ("abc<esc>xu", "ab|c"),
    ("abc<esc>xxuu", "ab|c"),
    ("abc<esc>xu<c-r>", "a|b"),
    ("one two<esc>0cwthree<esc>u", "|one two"),
    ("one<esc>A two<esc>0iX<esc>uu", "on|e"),
    ("abc<esc>ohello<esc>u", "ab|c"),
    ("one two three<esc>0dw.", "|three"),
    ("one two<esc>0cwX<esc>w.", "X |X"),
    ("abcdef<esc>0x2.", "|def"),
    ("a<esc>Ab<esc>..", "abb|b"),
    ("one two<esc>0cwX<esc>w.u", "X |two"),
    // Giving up in the middle.
    ("one two<esc>0d<esc>w", "one |two"),
    ("one two<esc>0dyw", "one |two"),
    ("one two<esc>0gxw", "one |two"),
    ("one two<esc>02<esc>w", "one |two"),
    // What was typed before, at the edges.
    ("old<enter>new<esc>k", "ol|d"),
    ("old<enter>new<esc>kj", "ne|w"),
    ("one<enter>two<enter><esc>2k", "on|e"),
    ("find me<enter>x<enter><esc>/fin", "find me|"),
    // A new line begins by typing.
    ("one<esc><enter>two", "two|"),
];

fn in_vi() -> Editor {
    Editor::with_keys(LineHistory::default(), true)
}

#[test]
fn the_table() {
    for (keys, expected) in TABLE {
        let left = typed_in(in_vi(), keys).1;
        assert_eq!(left, *expected, "{keys}");
    }
}

#[test]
fn escape_ends_typing_first_and_stops_what_runs_then() {
    let mut editor = in_vi();
    let mut press = |code| editor.key(KeyEvent::from(code));
    press(KeyCode::Char('a'));
    assert_eq!(press(KeyCode::Esc), EditOutcome::Changed);
    assert_eq!(press(KeyCode::Char('d')), EditOutcome::Nothing);
    assert_eq!(
        press(KeyCode::Esc),
        EditOutcome::Changed,
        "the operator is given up"
    );
    assert_eq!(press(KeyCode::Esc), EditOutcome::Escape);
    assert_eq!(press(KeyCode::Char('v')), EditOutcome::Elsewhere);
    let control = |c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL);
    assert_eq!(editor.key(control('x')), EditOutcome::Nothing);
    assert_eq!(editor.key(control('e')), EditOutcome::Elsewhere);
    assert_eq!(editor.key(control('c')), EditOutcome::Interrupt);
    assert_eq!(
        editor.key(KeyEvent::from(KeyCode::Enter)),
        EditOutcome::Submit("a".into())
    );
    assert!(!editor.is_commanded(), "the next line begins by typing");
    editor.key(KeyEvent::from(KeyCode::Esc));
    editor.stash();
    assert!(!editor.is_commanded(), "so does the answer to a question");
}

/// The same numbers each time, without a crate for it: xorshift.
fn dice(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

/// Letters of commands more often than others, and what is hard: marks, joiners, flags, wide ones, line ends.
const LETTERS: &[&str] = &[
    "h",
    "j",
    "k",
    "l",
    "w",
    "b",
    "e",
    "W",
    "B",
    "E",
    "0",
    "^",
    "$",
    "i",
    "a",
    "I",
    "A",
    "o",
    "O",
    "x",
    "X",
    "D",
    "C",
    "S",
    "s",
    "d",
    "c",
    "y",
    "Y",
    "p",
    "P",
    "u",
    ".",
    "f",
    "F",
    "t",
    "T",
    ";",
    ",",
    "r",
    "~",
    "J",
    "g",
    "G",
    "%",
    "3",
    "2",
    "\"",
    "(",
    ")",
    " ",
    "好",
    "e\u{301}",
    "\u{301}",
    "\u{200d}",
    "👩",
    "👨\u{200d}👩\u{200d}👧",
    "🇩",
    "🇪",
    "\u{fe0f}",
    "क्षि",
    "\u{0600}",
    "\t",
    "ß",
];
const CONTROLS: &[char] = &[
    'a', 'b', 'd', 'e', 'f', 'h', 'j', 'k', 'n', 'p', 'r', 'u', 'w', 'x', 'y', '_', 'g',
];
const OTHERS: &[KeyCode] = &[
    KeyCode::Esc,
    KeyCode::Esc,
    KeyCode::Left,
    KeyCode::Right,
    KeyCode::Up,
    KeyCode::Down,
    KeyCode::Home,
    KeyCode::End,
    KeyCode::Backspace,
    KeyCode::Delete,
    KeyCode::Enter,
    KeyCode::Tab,
];

#[test]
fn no_keys_break_it_and_the_cursor_is_always_between_two_graphemes() {
    let pick = |seed: &mut u64, most: usize| usize::try_from(dice(seed) % most as u64).unwrap();
    for round in 0..400_u64 {
        let mut seed = 0x9E37_79B9 ^ (round << 20 | 1);
        let mut editor = Editor::default();
        if round % 2 == 0 {
            editor = in_vi();
        }
        let mut keys = String::new();
        for _ in 0..200 {
            let key = match pick(&mut seed, 12) {
                0 | 1 => KeyEvent::from(OTHERS[pick(&mut seed, OTHERS.len())]),
                2 => {
                    let c = CONTROLS[pick(&mut seed, CONTROLS.len())];
                    KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)
                }
                3 => KeyEvent::new(KeyCode::Enter, KeyModifiers::ALT),
                4 => {
                    editor.paste(&LETTERS[pick(&mut seed, LETTERS.len())].repeat(1 + pick(&mut seed, 3)));
                    continue;
                }
                5 => {
                    let backwards = [String::from("old one"), "x\u{301}".into()];
                    match pick(&mut seed, 40) {
                        0 => editor.bring_back(&backwards),
                        1 => editor.set_edited("written\nelsewhere 👩", editor.is_stashed()),
                        2 => editor.stash(),
                        3 => editor.unstash(),
                        _ => {}
                    }
                    continue;
                }
                _ => {
                    let letter = LETTERS[pick(&mut seed, LETTERS.len())];
                    KeyEvent::from(KeyCode::Char(letter.chars().next().unwrap()))
                }
            };
            keys.push_str(&format!("{:?}+{:?} ", key.code, key.modifiers));
            if let EditOutcome::Submit(line) = editor.key(key) {
                editor.remember(&line);
            }
            let at = editor.cursor();
            assert!(editor.text().is_char_boundary(at), "{keys}");
            assert_eq!(
                motion::snapped(editor.text(), at),
                at,
                "{:?} at {at}: {keys}",
                editor.text()
            );
        }
    }
}
