//! Keys to text.

use super::*;

/// Types words and keys: `<c-w>`, `<a-b>`, `<left>`, `<enter>`, … and returns what was submitted and what is
/// left.
fn typed(keys: &str) -> (Vec<String>, String) {
    typed_in(Editor::default(), keys)
}

pub(super) fn typed_in(mut editor: Editor, keys: &str) -> (Vec<String>, String) {
    let mut done = Vec::new();
    let mut rest = keys;
    while let Some(c) = rest.chars().next() {
        let (code, modifiers, len) = match rest.strip_prefix('<').and_then(|after| after.split_once('>')) {
            Some((name, _)) => {
                let (code, modifiers) = named(name);
                (code, modifiers, name.len() + 2)
            }
            None => (KeyCode::Char(c), KeyModifiers::NONE, c.len_utf8()),
        };
        if let EditOutcome::Submit(line) = editor.key(KeyEvent::new(code, modifiers)) {
            editor.remember(&line);
            done.push(line);
        }
        rest = &rest[len..];
    }
    let mut left = editor.text().to_owned();
    left.insert(editor.cursor(), '|');
    (done, left)
}

fn named(name: &str) -> (KeyCode, KeyModifiers) {
    match name {
        "left" => (KeyCode::Left, KeyModifiers::NONE),
        "right" => (KeyCode::Right, KeyModifiers::NONE),
        "up" => (KeyCode::Up, KeyModifiers::NONE),
        "down" => (KeyCode::Down, KeyModifiers::NONE),
        "bs" => (KeyCode::Backspace, KeyModifiers::NONE),
        "enter" => (KeyCode::Enter, KeyModifiers::NONE),
        "a-enter" => (KeyCode::Enter, KeyModifiers::ALT),
        "s-enter" => (KeyCode::Enter, KeyModifiers::SHIFT),
        "c-left" => (KeyCode::Left, KeyModifiers::CONTROL),
        "esc" => (KeyCode::Esc, KeyModifiers::NONE),
        "lt" => (KeyCode::Char('<'), KeyModifiers::NONE),
        "gt" => (KeyCode::Char('>'), KeyModifiers::NONE),
        other => {
            let modifiers = if other.starts_with("c-") {
                KeyModifiers::CONTROL
            } else {
                KeyModifiers::ALT
            };
            (KeyCode::Char(other.chars().next_back().unwrap()), modifiers)
        }
    }
}

#[test]
fn editing() {
    for (keys, left) in [
        ("hello<left><left>X", "helX|lo"),
        ("one<a-enter>two<c-u><c-u><c-u>", "|"),
        ("one<a-enter>two<c-u><c-u><c-u><c-y>", "one\ntwo|"),
        ("你好吗<bs><left>们", "你们|好"),
        ("👨‍👩‍👧x<bs><bs>", "|"),
        ("one two three<c-w>", "one two |"),
        ("one two<c-a><a-f>!", "one!| two"),
        ("one two<c-u>", "|"),
        ("one two<a-b><c-k><c-a><c-y>", "two|one "),
        ("a\\<enter>b", "a\nb|"),
        ("a<a-enter>b<c-a>c", "a\nc|b"),
        ("e\u{301}x<left><bs>y", "y|x"),
        ("one two<c-w><c-w><c-y>!<c-_>", "one two|"),
        ("one two three<c-w><c-w>x<bs><c-w><c-y>", "one |"),
        ("one two<c-a><a-d><a-d>x<c-y>", "xone two|"),
        ("one two<c-w><c-_>", "one two|"),
        ("one<left>X<c-_><c-_>", "|"),
        ("a<c-j>b<c-a><left><c-k>", "a|b"),
        ("a<s-enter>b", "a\nb|"),
        ("woman 👩<c-j>👧<left><left><c-d>", "woman 👩|👧"),
        ("one two<c-left>X", "one X|two"),
    ] {
        assert_eq!(typed(keys).1, left, "{keys}");
    }
}

#[test]
fn history() {
    let (done, left) = typed("one<enter>two<enter>dra<up><up><up><down><down>");
    assert_eq!(done, ["one", "two"]);
    assert_eq!(left, "dra|");
    assert_eq!(typed("one<enter>two<enter><up><up>").1, "one|");
}

#[test]
fn no_earlier_input_becomes_the_answer_to_a_question() {
    let mut editor = Editor::default();
    editor.remember("/retry");
    editor.remember("y");
    let up = KeyEvent::new(KeyCode::Up, KeyModifiers::NONE);
    editor.set_answering(true);
    assert_eq!((editor.key(up), editor.text()), (EditOutcome::Nothing, ""));
    editor.set_answering(false);
    assert_eq!(editor.key(up), EditOutcome::Changed);
    assert_eq!(editor.text(), "y", "the history is as before");

    let mut editor = Editor::default();
    editor.remember("y");
    editor.set_answering(true);
    assert_eq!(
        typed_in(editor, "ab<a-enter>c<up><up><up>X<down><down>").1,
        "aXb\nc|"
    );
}

#[test]
fn the_arrows_go_through_the_lines_of_a_text_before_they_leave_it() {
    assert_eq!(typed("old<enter>ab<a-enter>cdef<up>X").1, "abX|\ncdef");
    assert_eq!(typed("old<enter>ab<a-enter>cdef<up><up>").1, "old|");
    assert_eq!(typed("abcd<a-enter>x<up><left><down>").1, "abcd\n|x");
}

#[test]
fn the_history_is_searched_backwards() {
    let keys = "list files<enter>read it<enter>list all<enter><c-r>li";
    assert_eq!(typed(keys).1, "list all|");
    assert_eq!(typed(&format!("{keys}<c-r>")).1, "list files|");
    assert_eq!(
        typed(&format!("{keys}<c-r><c-r>")).1,
        "list files|",
        "there is none before"
    );
    assert_eq!(typed(&format!("{keys}<c-r><c-g>x")).1, "x|");
    assert_eq!(typed(&format!("{keys}<enter>")).0.last().unwrap(), "list all");
    assert_eq!(
        typed("list<enter>dra<left><c-r>li<c-g>").1,
        "dr|a",
        "the draft is there again"
    );
}

#[test]
fn what_is_not_found_is_said() {
    let mut editor = Editor::default();
    editor.remember("list files");
    editor.key(KeyEvent::new(KeyCode::Char('r'), KeyModifiers::CONTROL));
    let mut type_in = |keys: &str| {
        for c in keys.chars() {
            editor.key(KeyEvent::from(KeyCode::Char(c)));
        }
        editor.wanted().unwrap_or_default()
    };
    assert_eq!(type_in("fi"), "fi");
    assert_eq!(type_in("x"), "fix (nothing found)");
    editor.key(KeyEvent::from(KeyCode::Backspace));
    assert_eq!(
        (editor.wanted().as_deref(), editor.text()),
        (Some("fi"), "list files")
    );
}

#[test]
fn a_line_that_was_thrown_away_can_be_had_back() {
    let mut editor = Editor::default();
    editor.paste("all of it");
    editor.discard();
    assert_eq!(editor.text(), "");
    editor.key(KeyEvent::new(KeyCode::Char('_'), KeyModifiers::CONTROL));
    assert_eq!(editor.text(), "all of it");
}

#[test]
fn a_long_paste_is_shown_by_its_size_and_sent_whole() {
    let mut editor = Editor::default();
    let text = "line\n".repeat(5_000);
    editor.key(KeyEvent::from(KeyCode::Char('>')));
    editor.paste(&text);
    assert_eq!(editor.text(), ">[pasted 1: 5000 lines, 25.0 kB]");
    assert_eq!(
        editor.key(KeyEvent::from(KeyCode::Enter)),
        EditOutcome::Submit(format!(">{text}"))
    );
    editor.paste("and ");
    editor.paste(&text);
    editor.key(KeyEvent::from(KeyCode::Backspace));
    assert_eq!(editor.text(), "and ", "it goes whole");
}

#[test]
fn what_stands_for_a_paste_is_one_letter_to_the_cursor() {
    let sign = "[pasted 1: 20 lines, 100 B]";
    for (keys, left) in [
        ("<left><left><left>x", format!("a x|{sign} b")),
        ("<a-b><a-b>x", format!("a x|{sign} b")),
        ("<c-a><right><right><right>x", format!("a {sign}x| b")),
        ("<c-a><a-f><a-f>x", format!("a {sign}x| b")),
        ("<left><left><bs>", "a | b".to_owned()),
        ("<left><left><left><c-d>", "a | b".to_owned()),
        ("<left><left><c-w>", "a | b".to_owned()),
        ("<left><left><left><a-d>", "a | b".to_owned()),
    ] {
        let mut editor = Editor::default();
        editor.paste("a ");
        editor.paste(&"line\n".repeat(20));
        editor.paste(" b");
        assert_eq!(typed_in(editor, keys).1, left, "{keys}");
    }
    let mut editor = Editor::with_keys(LineHistory::default(), true);
    editor.paste(&"line\n".repeat(20));
    assert_eq!(typed_in(editor, "<esc>x").1, "|");
}

#[test]
fn tabs_of_what_is_pasted_or_written_elsewhere_are_sent_as_tabs() {
    let mut editor = Editor::default();
    editor.paste("all:\r\n\tcc a.c\r\n");
    assert_eq!(editor.whole(), "all:\n\tcc a.c\n");
    editor.set_edited("name\tvalue", false);
    assert_eq!(editor.whole(), "name\tvalue");
}

#[test]
fn what_is_completed_takes_the_place_of_what_was_written() {
    let mut editor = Editor::default();
    editor.paste("read src/ma");
    editor.complete(5, "src/main.rs ");
    assert_eq!(editor.text(), "read src/main.rs ");
}

#[test]
fn a_question_does_not_take_the_draft() {
    let mut editor = Editor::default();
    editor.paste("yes and\r\nmore");
    editor.stash();
    assert_eq!(editor.text(), "");
    editor.paste("y");
    assert_eq!(
        editor.key(KeyEvent::from(KeyCode::Enter)),
        EditOutcome::Submit("y".into())
    );
    editor.unstash();
    assert_eq!(editor.text(), "yes and\nmore");
}

#[test]
fn texts_that_come_back_come_one_by_one_and_then_what_was_written() {
    let mut editor = Editor::default();
    let enter = || KeyEvent::from(KeyCode::Enter);
    editor.paste("draft");
    editor.bring_back(&["one".into(), "two\nrows".into()]);
    assert_eq!(editor.text(), "one");
    assert_eq!(editor.later().collect::<Vec<_>>(), ["two\nrows", "draft"]);
    editor.stash();
    editor.paste("y");
    editor.bring_back(&["zero".into()]);
    assert_eq!(editor.text(), "y");
    assert_eq!(editor.key(enter()), EditOutcome::Submit("y".into()));
    assert_eq!(editor.text(), "", "the question may be followed by another one");
    editor.unstash();
    for expected in ["zero", "one", "two\nrows"] {
        assert_eq!(editor.key(enter()), EditOutcome::Submit(expected.into()));
    }
    assert_eq!(editor.text(), "draft");
    editor.bring_back(&["again".into()]);
    editor.discard();
    assert_eq!(
        (editor.text(), editor.later().len()),
        ("draft", 0),
        "Ctrl-C throws one away"
    );
}

#[test]
fn a_text_that_waits_for_another_one_keeps_the_place_of_the_cursor() {
    let mut editor = Editor::default();
    editor.paste("first line\nsecond line");
    for _ in 0..4 {
        editor.key(KeyEvent::from(KeyCode::Left));
    }
    editor.bring_back(&["came back".into()]);
    editor.key(KeyEvent::from(KeyCode::Enter));
    assert_eq!((editor.text(), editor.cursor()), ("first line\nsecond line", 18));
    assert_eq!(editor.unsent_cursor(), Some(18));
    editor.stash();
    assert_eq!(editor.unsent_cursor(), Some(18));
    editor.bring_back(&["came 中 back".into()]);
    editor.place_cursor(8);
    editor.unstash();
    assert_eq!((editor.text(), editor.cursor()), ("came 中 back", 8));
    editor.place_cursor(6);
    assert_eq!(editor.cursor(), editor.text().len(), "it is inside of a letter");
    editor.clear();
    assert_eq!(editor.unsent_cursor(), None);
}

#[test]
fn what_was_written_elsewhere_goes_where_it_was_taken_from() {
    let mut editor = Editor::default();
    editor.paste("draft");
    editor.stash();
    editor.set_edited("draft, longer", false);
    assert_eq!(editor.text(), "", "a question has come meanwhile");
    editor.unstash();
    assert_eq!(editor.text(), "draft, longer");
    editor.set_edited("y", true);
    assert_eq!(editor.text(), "draft, longer", "the question is gone");
    let long = "row\n".repeat(20);
    editor.clear();
    editor.paste(&long);
    editor.set_edited(&format!("see\n{long}"), false);
    assert_eq!(editor.text(), "see\n[pasted 1: 20 lines, 80 B]");
}
