//! Tests the list below the input: its keys, its purposes, and its rows.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::offers::{commands, fitting, request};
use super::{Menu, MenuItem, MenuKind, MenuStep};
use crate::render::style::AnsiStyle;

fn item(text: &str, about: &str) -> MenuItem {
    MenuItem {
        text: text.into(),
        about: about.into(),
        ..MenuItem::default()
    }
}

/// A list that is open for this text.
fn menu(before: &str, items: &[(&str, &str)]) -> Menu {
    let mut menu = Menu::default();
    let items = items.iter().map(|(text, about)| item(text, about)).collect();
    menu.show(before, request(before).unwrap(), items);
    menu
}

fn press(menu: &mut Menu, code: KeyCode, before: &str) -> MenuStep {
    menu.key(&KeyEvent::new(code, KeyModifiers::NONE), before, false)
}

#[test]
fn a_list_is_for_a_command_for_what_it_takes_or_for_a_file() {
    let of = |before: &str| request(before).map(|found| (found.kind, found.from, found.written));
    assert_eq!(of("/mo"), Some((MenuKind::Commands, 1, "mo".into())));
    assert_eq!(of("/"), Some((MenuKind::Commands, 1, String::new())));
    assert_eq!(of("/model op"), Some((MenuKind::Models, 7, "op".into())));
    assert_eq!(
        of("/resume the apple"),
        Some((MenuKind::SessionsHere, 8, "the apple".into()))
    );
    assert_eq!(of("see @src/m"), Some((MenuKind::Files, 5, "src/m".into())));
    for none in [
        "",
        "hello",
        "/usr/bin",
        "/queue ",
        "/model a b",
        "/a\nb",
        "mail@example.org",
    ] {
        assert_eq!(of(none), None, "{none}");
    }
}

#[test]
fn enter_takes_what_is_chosen_and_leaves_what_is_written_whole() {
    let mut list = menu("/co", &[("copy", ""), ("compact", ""), ("context", "")]);
    assert_eq!(press(&mut list, KeyCode::Down, "/co"), MenuStep::Stay);
    assert_eq!(
        press(&mut list, KeyCode::Enter, "/co"),
        MenuStep::Send(1, "compact".into())
    );
    assert_eq!(press(&mut list, KeyCode::Up, "/co"), MenuStep::Stay);
    assert_eq!(press(&mut list, KeyCode::Up, "/co"), MenuStep::Stay, "and around");
    assert_eq!(
        press(&mut list, KeyCode::Tab, "/co"),
        MenuStep::Complete(1, "context ".into())
    );
    let alt_up = KeyEvent::new(KeyCode::Up, KeyModifiers::ALT);
    assert_eq!(list.key(&alt_up, "/co", false), MenuStep::Pass);
    let mut whole = menu("/new", &[("renew", ""), ("new", "")]);
    assert_eq!(press(&mut whole, KeyCode::Enter, "/new"), MenuStep::Pass);
    assert_eq!(
        press(&mut whole, KeyCode::Enter, "/ne"),
        MenuStep::Pass,
        "it is for another text"
    );
    let mut files = menu("see @a", &[("a b.txt", ""), ("ab/", "")]);
    assert_eq!(
        press(&mut files, KeyCode::Enter, "see @a"),
        MenuStep::Complete(5, "a b.txt ".into())
    );
    press(&mut files, KeyCode::Down, "see @a");
    assert_eq!(
        press(&mut files, KeyCode::Enter, "see @a"),
        MenuStep::Complete(5, "ab/".into())
    );
}

#[test]
fn enter_behind_a_blank_chooses_nothing_of_a_list_that_is_optional() {
    for before in ["/resume ", "/diff ", "/approve-mode "] {
        let mut list = menu(before, &[("first", ""), ("second", "")]);
        assert_eq!(
            press(&mut list, KeyCode::Enter, before),
            MenuStep::Pass,
            "{before}"
        );
        press(&mut list, KeyCode::Down, before);
        let chosen = MenuStep::Send(before.len(), "second".into());
        assert_eq!(press(&mut list, KeyCode::Enter, before), chosen, "{before}");
    }
    let mut models = menu("/model ", &[("first", "")]);
    let first = MenuStep::Send(7, "first".into());
    assert_eq!(press(&mut models, KeyCode::Enter, "/model "), first);
}

/// The list of commands that is open for this text.
fn command_menu(before: &str) -> Menu {
    let mut menu = Menu::default();
    let found = request(before).unwrap();
    let items = fitting(&commands(), &found.written);
    menu.show(before, found, items);
    menu
}

#[test]
fn enter_takes_no_command_that_does_not_begin_with_what_is_written() {
    for before in ["/tatus", "/it", "/port"] {
        let mut list = command_menu(before);
        assert!(
            !list.rows(before, (80, 18), AnsiStyle::default()).is_empty(),
            "{before}"
        );
        assert_eq!(
            press(&mut list, KeyCode::Enter, before),
            MenuStep::Pass,
            "{before}"
        );
    }
    let mut list = command_menu("/sta");
    assert_eq!(
        press(&mut list, KeyCode::Enter, "/sta"),
        MenuStep::Send(1, "status".into())
    );
    let mut chosen = command_menu("/tatus");
    press(&mut chosen, KeyCode::Down, "/tatus");
    assert_eq!(
        press(&mut chosen, KeyCode::Enter, "/tatus"),
        MenuStep::Send(1, "status".into()),
        "the person chose it"
    );
}

#[test]
fn enter_sends_a_command_that_acts_at_once_only_if_it_is_written_whole_or_chosen() {
    for (before, name) in [
        ("/ne", "new"),
        ("/cl", "clear"),
        ("/qui", "quit"),
        ("/exi", "exit"),
        ("/ret", "retry"),
        ("/compa", "compact"),
    ] {
        let mut list = command_menu(before);
        let completed = MenuStep::Complete(1, format!("{name} "));
        assert_eq!(press(&mut list, KeyCode::Enter, before), completed);
        assert_eq!(press(&mut list, KeyCode::Tab, before), completed);
        let whole = format!("/{name}");
        assert_eq!(
            press(&mut command_menu(&whole), KeyCode::Enter, &whole),
            MenuStep::Pass,
            "the line is sent as it is"
        );
    }
    let mut list = command_menu("/");
    for _ in 0..2 {
        press(&mut list, KeyCode::Down, "/");
    }
    assert_eq!(
        press(&mut list, KeyCode::Enter, "/"),
        MenuStep::Send(1, "new".into())
    );
}

#[test]
fn escape_closes_it_for_as_long_as_the_same_part_is_written() {
    let mut list = menu("/m", &[("model", "")]);
    let key = KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE);
    assert_eq!(list.key(&key, "/m", false), MenuStep::Stay);
    assert!(list.is_closed_for(&request("/mo").unwrap()));
    assert!(!list.is_closed_for(&request("/model ").unwrap()));
    list.forget();
    assert!(!list.is_closed_for(&request("/m").unwrap()));
    let mut vi = menu("/m", &[("model", "")]);
    assert_eq!(
        vi.key(&key, "/m", true),
        MenuStep::Pass,
        "there it also ends inserting"
    );
}

#[test]
fn escape_from_the_list_of_a_command_leaves_an_empty_line() {
    let key = KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE);
    for command in ["/model ", "/effort "] {
        let mut list = menu(command, &[("some", "")]);
        let cleared = MenuStep::Complete(0, String::new());
        assert_eq!(list.key(&key, command, false), cleared, "{command}");
    }
    let mut begun = menu("/model op", &[("opus", "")]);
    assert_eq!(
        begun.key(&key, "/model op", false),
        MenuStep::Stay,
        "words were typed"
    );
}

#[test]
fn what_is_found_later_leaves_the_choice_where_it_is() {
    let mut list = menu("see @a", &[("ab.txt", ""), ("ac.txt", "")]);
    press(&mut list, KeyCode::Down, "see @a");
    let more = ["aa.txt", "ab.txt", "ac.txt"].map(|name| item(name, ""));
    list.update("see @a", request("see @a").unwrap(), more.to_vec());
    assert_eq!(
        press(&mut list, KeyCode::Enter, "see @a"),
        MenuStep::Complete(5, "ac.txt ".into())
    );
    let mut unmoved = menu("see @a", &[("ab.txt", "")]);
    unmoved.update("see @a", request("see @a").unwrap(), more.to_vec());
    assert_eq!(
        press(&mut unmoved, KeyCode::Enter, "see @a"),
        MenuStep::Complete(5, "aa.txt ".into())
    );
    unmoved.update("see @a", request("see @a").unwrap(), Vec::new());
    assert_eq!(
        press(&mut unmoved, KeyCode::Enter, "see @a"),
        MenuStep::Pass,
        "nothing was found"
    );
}

#[test]
fn rows_fit_and_follow_the_choice() {
    let names: Vec<String> = (0..12).map(|n| format!("model-{n:02}")).collect();
    let items: Vec<(&str, &str)> = names
        .iter()
        .map(|name| (name.as_str(), "a provider of models · 200k"))
        .collect();
    let mut list = menu("/model ", &items);
    let rows = |list: &Menu, width| list.rows("/model ", (width, 18), AnsiStyle::default());
    let narrow = rows(&list, 30);
    assert_eq!(
        narrow[..2],
        ["▸ model-00  a provider of mo…", "  model-01  a provider of mo…"]
    );
    assert_eq!((narrow.len(), narrow[8].as_str()), (9, "  … 4 more"));
    for _ in 0..9 {
        press(&mut list, KeyCode::Down, "/model ");
    }
    let rows = rows(&list, 60);
    assert_eq!(
        (rows[7].as_str(), rows.len()),
        ("▸ model-09  a provider of models · 200k", 9)
    );
    assert!(list.rows("/mode", (60, 18), AnsiStyle::default()).is_empty());
}

#[test]
fn a_name_that_stands_alone_in_its_row_has_all_of_it() {
    let list = menu(
        "see @",
        &[
            ("sub/file_with_a_long_name_1.txt", ""),
            ("sub/file_with_a_long_name_2.txt", ""),
        ],
    );
    let rows = list.rows("see @", (40, 18), AnsiStyle::default());
    assert_eq!(
        rows,
        [
            "▸ sub/file_with_a_long_name_1.txt",
            "  sub/file_with_a_long_name_2.txt"
        ]
    );
}
