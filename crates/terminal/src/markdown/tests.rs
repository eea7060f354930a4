//! The rendering of Markdown, and its independence of how the text arrives.

use proptest::prelude::*;

use super::*;

fn at_once(text: &str, columns: usize) -> Vec<String> {
    let mut markdown = Markdown::new(columns, Theme::plain());
    markdown.push(text);
    markdown.end();
    markdown.take_done().iter().map(Row::text).collect()
}

fn in_pieces(text: &str, columns: usize, step: usize) -> Vec<String> {
    with_looks(Theme::plain(), text, columns, step)
}

fn with_looks(theme: Theme, text: &str, columns: usize, step: usize) -> Vec<String> {
    let mut markdown = Markdown::new(columns, theme);
    let chars: Vec<char> = text.chars().collect();
    let mut rows = Vec::new();
    for piece in chars.chunks(step) {
        markdown.push(&piece.iter().collect::<String>());
        rows.extend(markdown.take_done());
        markdown.live();
    }
    markdown.end();
    rows.extend(markdown.take_done());
    rows.iter().map(Row::text).collect()
}

const SAMPLE: &str = "# Title\nSome *words* and `code`.\nStill the same.\n\n- one\n- two with [a link](https://a.b/c)\n  - inner\n  - other\n\n- three\n\n```rust\nfn a() {\n\n    b();\n}\n```\nAfter.\n\n1. first\n2. second\n\n   more of it\n\n> quoted\n> twice\n\n| a | b |\n|---|--:|\n| x | 12 |\n| yy | 3 |\n\n---\nend";

#[test]
fn what_is_shown_stays_while_what_follows_is_written() {
    let text = "- one\n- two\n\nthree\n```rust\nlet four;\n```\nfive\n# six\n7. seven\n\n```\neight\n```\nnine\n- ten\nend";
    let mut markdown = Markdown::new(40, Theme::plain());
    let (mut done, mut seen) = (String::new(), Vec::new());
    for letter in text.chars() {
        markdown.push(letter.encode_utf8(&mut [0; 4]));
        let all = |rows: Vec<Row>| rows.iter().map(|row| row.text() + "\n").collect::<String>();
        done.push_str(&all(markdown.take_done()));
        let shown = format!("{done}{}", all(markdown.live()));
        for word in text
            .split(|c: char| !c.is_alphabetic())
            .filter(|word| word.len() > 2)
        {
            if shown.contains(word) && !seen.contains(&word) {
                seen.push(word);
            }
        }
        let gone: Vec<_> = seen.iter().filter(|word| !shown.contains(**word)).collect();
        assert!(
            gone.iter().all(|word| **word == "rust"),
            "{gone:?} are gone:\n{shown}"
        );
    }
}

#[test]
fn each_part_has_its_look() {
    let expected = [
        "# Title",
        "",
        "Some words and code.",
        "Still the same.",
        "",
        "• one",
        "• two with a link (https://a.b/c)",
        "  • inner",
        "  • other",
        "",
        "• three",
        "",
        "  fn a() {",
        "",
        "      b();",
        "  }",
        "",
        "After.",
        "",
        "1. first",
        "2. second",
        "",
        "   more of it",
        "",
        "│ quoted",
        "│ twice",
        "",
        "a    b",
        "──  ──",
        "x   12",
        "yy   3",
        "",
        "────────────────────────────────────────",
        "",
        "end",
    ];
    assert_eq!(at_once(SAMPLE, 60), expected);
}

#[test]
fn a_line_break_stays_a_line_break() {
    let text = "Name: Ada\nStreet: 5 Rue X  \nCity: **Paris\nFrance**\n\n- one\n  two\n- [a\n  b](c)\n\n> in\n> out\n";
    let rows = [
        "Name: Ada",
        "Street: 5 Rue X",
        "City: Paris",
        "France",
        "",
        "• one",
        "  two",
        "• a",
        "  b (c)",
        "",
        "│ in",
        "│ out",
    ];
    assert_eq!(at_once(text, 40), rows);
    for step in 1..9 {
        assert_eq!(in_pieces(text, 40, step), rows, "{step}");
    }
    let long: String = (0..60).map(|i| format!("line {i}\n")).collect();
    let lines: Vec<&str> = long.lines().collect();
    for step in 1..9 {
        assert_eq!(in_pieces(&long, 20, step), lines, "{step}");
    }
}

#[test]
fn where_looks_cannot_be_told_apart_marks_stay() {
    let text = "**bold _both_** and ~~gone~~ `code`\n- **a**\n\n|~~x~~|\n|---|\n";
    let marked = [
        "**bold *both*** and ~~gone~~ `code`",
        "",
        "• **a**",
        "",
        "~~x~~",
        "─────",
    ];
    let looks = ["bold both and gone code", "", "• a", "", "x", "─"];
    for step in [1, 3, 100] {
        assert_eq!(with_looks(Theme::marked(), text, 60, step), marked, "{step}");
        assert_eq!(with_looks(Theme::dark(), text, 60, step), looks, "{step}");
    }
}

const NOTES: &str = "It is so[^1], and[^2][^long].\n[^1]: See *the* guide,\n    and more.\n[^2]: https://a.b/c\n\n[^long]: One.\n\n    Two.\n\nThe pattern `[^1]` and [^a-z] stay.[^12]\n\n- item[^1]\n\n[^12]:\n    Later.\n---\nend";

#[test]
fn footnotes_are_a_list_where_they_are_defined() {
    let rule = "─".repeat(40);
    let expected = [
        "It is so[1], and[2][long].",
        "",
        "[1] See the guide,",
        "    and more.",
        "[2] https://a.b/c",
        "[long] One.",
        "",
        "       Two.",
        "",
        "The pattern [^1] and [^a-z] stay.[12]",
        "",
        "• item[1]",
        "",
        "[12] Later.",
        "",
        rule.as_str(),
        "",
        "end",
    ];
    assert_eq!(at_once(NOTES, 60), expected);
    let long = format!("{NOTES}\n\n[^7]: {}[^1]\n[^8]: last\n", "some words ".repeat(60));
    for columns in [20, 40, 80] {
        let whole = at_once(&long, columns);
        for step in 1..9 {
            assert_eq!(
                in_pieces(&long, columns, step),
                whole,
                "{columns} columns, {step} letters at once"
            );
        }
    }
}

#[test]
fn a_footnote_that_begins_is_shown_when_its_label_has_ended() {
    let mut markdown = Markdown::new(40, Theme::plain());
    markdown.push("So[^1].\n\n[^1");
    assert!(
        markdown.live().is_empty(),
        "it may become a reference or a definition"
    );
    markdown.push("]: a");
    assert_eq!(
        markdown.live().iter().map(Row::text).collect::<Vec<_>>(),
        ["", "[1] a"]
    );
}

#[test]
fn an_item_that_begins_with_another_one_keeps_its_number() {
    assert_eq!(
        at_once("1. - one\n   - two\n2. three", 40),
        ["1. • one", "   • two", "2. three"]
    );
}

#[test]
fn an_alert_has_a_title() {
    let text = "> [!WARNING]\n> Back up first.\n\n> [!this] is quoted";
    let rows = ["│ Warning", "│ Back up first.", "", "│ [!this] is quoted"];
    assert_eq!(at_once(text, 40), rows);
    for step in 1..9 {
        assert_eq!(in_pieces(text, 40, step), rows, "{step}");
    }
}

#[test]
fn a_line_of_signs_makes_a_heading_of_a_title_and_of_no_long_text() {
    assert_eq!(at_once("A title\n---\ntext\n", 40), ["## A title", "", "text"]);
    let long = "word ".repeat(60);
    for (signs, row) in [("---", "─".repeat(40)), ("===", "===".to_owned())] {
        let text = format!("{long}\n{signs}\n\ntext\n");
        let rows = at_once(&text, 40);
        assert!(rows[0].starts_with("word ") && rows.contains(&row), "{rows:?}");
        assert_eq!(in_pieces(&text, 40, 3), rows);
    }
}

#[test]
fn any_pieces_come_to_the_same_rows() {
    for columns in [20, 40, 80] {
        let whole = at_once(SAMPLE, columns);
        for step in 1..9 {
            assert_eq!(
                in_pieces(SAMPLE, columns, step),
                whole,
                "{columns} columns, {step} letters at once"
            );
        }
    }
}

#[test]
fn a_long_paragraph_lets_go_of_its_upper_rows_once() {
    let words: String = (0..200).map(|i| format!("word{i} ")).collect();
    let mut markdown = Markdown::new(30, Theme::plain());
    let mut rows = Vec::new();
    for word in words.split_inclusive(' ') {
        markdown.push(word);
        rows.extend(markdown.take_done());
        assert!(markdown.live().len() <= cut::LIVE_ROWS * 2 + 1);
    }
    markdown.end();
    rows.extend(markdown.take_done());
    let told: String = rows.iter().map(Row::text).collect::<Vec<_>>().join(" ");
    assert_eq!(told.trim_end(), words.trim_end());
}

#[test]
fn a_terminal_that_becomes_narrower_in_between_loses_no_word() {
    let words: String = (0..120).map(|i| format!("w{i} ")).collect();
    let mut markdown = Markdown::new(60, Theme::plain());
    let mut rows = Vec::new();
    for (i, word) in words.split_inclusive(' ').enumerate() {
        if i == 70 {
            markdown.set_columns(23);
        }
        markdown.push(word);
        rows.extend(markdown.take_done());
    }
    markdown.end();
    rows.extend(markdown.take_done());
    let told: String = rows.iter().map(Row::text).collect::<String>().replace(' ', "");
    assert_eq!(told, words.replace(' ', ""));
}

#[test]
fn a_paragraph_without_an_end_is_let_go_of() {
    let part = |i: usize| {
        let more = "so ".repeat((i * i + i / 3) % 11);
        format!("the **word {i}** of `{i}` and {more}[it](https://a.b/{i}) then ")
    };
    let words: String = (0..1_500).map(part).collect();
    let (mut markdown, mut rows) = (Markdown::new(60, Theme::plain()), Vec::new());
    for word in words.split_inclusive(' ') {
        markdown.push(word);
        rows.extend(markdown.take_done());
        assert!(
            markdown.blocks.live_len() < 4_000,
            "what is done is not read again"
        );
    }
    markdown.end();
    rows.extend(markdown.take_done());
    let told: Vec<String> = rows.iter().map(Row::text).collect();
    assert_eq!(told, at_once(&words, 60));
}

#[test]
fn code_has_its_colours_while_it_is_written() {
    let mut markdown = Markdown::new(40, Theme::dark());
    markdown.push("```rust\nlet a = 1;\nlet b = \"x");
    let live = markdown.live();
    let keyword = live[0].spans.iter().find(|span| span.text.trim() == "let");
    assert_eq!(keyword.map(|span| span.style), Some(Theme::dark().keyword));
    markdown.push("y");
    assert_eq!(
        markdown.live()[0].text().trim(),
        "let b = \"xy",
        "no letter waits"
    );
    markdown.push(" and its end");
    let live = markdown.live();
    let string = live[0].spans.iter().find(|span| span.text.ends_with("end"));
    assert_eq!(string.map(|span| span.style), Some(Theme::dark().string));
    markdown.push("\";\nif");
    let live = markdown.live();
    assert_eq!(live[0].text().trim(), "if");
    assert_eq!(
        live[0].spans.last().map(|span| span.style),
        Some(Theme::dark().keyword)
    );
}

#[test]
fn what_is_open_looks_as_it_will() {
    let mut markdown = Markdown::new(40, Theme::dark());
    markdown.push("It is **very wa");
    let live = markdown.live();
    assert_eq!(live[0].text(), "It is very wa");
    assert_eq!(live[0].spans[1].style, Theme::dark().strong);
}

#[test]
fn numbers_are_shown_as_they_come() {
    for (text, shown) in [
        ("3.14159", Some("3.14159")),
        ("1 2 3", Some("1 2 3")),
        ("1234567890", Some("1234567890")),
        // It may become an item.
        ("12.", None),
        ("2", None),
    ] {
        let mut markdown = Markdown::new(40, Theme::plain());
        markdown.push(text);
        let live = markdown.live().first().map(Row::text);
        assert_eq!(live.as_deref(), shown, "{text}");
    }
}

#[test]
fn words_carry_their_link_where_the_terminal_can_follow_it() {
    let rows = |text: &str, links: bool| {
        let mut markdown = Markdown::new(60, Theme::dark().with_links(links));
        markdown.push(text);
        markdown.end();
        markdown.take_done()
    };
    let text = "See [the **guide**](https://a.b/c) now.";
    let row = &rows(text, true)[0];
    assert_eq!(row.text(), "See the guide now.");
    let linked: Vec<&str> = row
        .spans
        .iter()
        .filter(|span| span.link.is_some())
        .map(|span| &*span.text)
        .collect();
    assert_eq!(linked, ["the ", "guide"]);
    assert_eq!(rows(text, false)[0].text(), "See the guide (https://a.b/c) now.");
    for (text, told) in [
        (
            "[https://good.org](https://bad.org)",
            "https://good.org (https://bad.org)",
        ),
        ("[here](javascript:alert)", "here (javascript:alert)"),
        ("<https://a.b>", "https://a.b"),
    ] {
        assert_eq!(rows(text, true)[0].text(), told);
    }
}

#[test]
fn a_table_that_does_not_fit_is_told_as_records() {
    let text =
        "| name | what it does | where |\n|---|---|---|\n| alpha | counts the words of a text | here |\n";
    assert_eq!(
        at_once(text, 14),
        [
            "name: alpha",
            "what it does:",
            "counts the",
            "words of a",
            "text",
            "where: here"
        ]
    );
    assert!(at_once(text, 30).iter().all(|row| crate::width(row) <= 30));
}

#[test]
fn about_so_much_is_not_struck_through() {
    assert_eq!(
        at_once("from ~5 to ~10, not ~~20~~ 15", 60),
        ["from ~5 to ~10, not 20 15"]
    );
    let text = "]~> 11(a](-aa~\n[~a1a#[`>(-][a#a>|#]a|a~\na-] ]>你a你a你a- (你1~[]`])1aa1(a你a#~-";
    assert_eq!(in_pieces(text, 12, 6), at_once(text, 12));
}

/// Signs that something opens, and never closes.
const OPEN: [&str; 12] = [
    "*a", "**a", "***a", "_a", "__a", "~~a", "`a", "``a", "[a", "![a", "[a](b", "<a",
];

#[test]
fn a_sign_that_is_never_closed_is_shown_in_each_way_that_the_text_comes() {
    let long = "so many words ".repeat(30);
    for begin in ["", "- ", "3. - ", "[^1]: ", "text\n", "- text\n\n  "] {
        for sign in OPEN {
            for text in [format!("{begin}{sign} b\n\nend"), format!("{begin}{sign} {long}")] {
                let whole = at_once(&text, 20);
                let shown = whole.join(" ");
                assert!(shown.contains(sign), "{text:?} shows its sign: {shown}");
                for step in [1, 7] {
                    assert_eq!(in_pieces(&text, 20, step), whole, "{text:?}");
                }
            }
        }
    }
    let text = "-_| a b\n~~c | d\n1. `e";
    assert_eq!(at_once(text, 40), ["-_| a b", "~~c | d", "", "1. `e"]);
    assert_eq!(in_pieces(text, 40, 1), at_once(text, 40));
}

#[test]
fn an_open_sign_looks_closed_while_it_is_live_and_does_not_hold_rows_for_ever() {
    for sign in OPEN {
        let words: String = (0..300).map(|i| format!("word{i} ")).collect();
        let text = format!("{sign} {words}");
        let (mut markdown, mut rows, mut longest) = (Markdown::new(40, Theme::plain()), Vec::new(), 0);
        for word in text.split_inclusive(' ') {
            markdown.push(word);
            rows.extend(markdown.take_done());
            longest = longest.max(markdown.live().len());
        }
        assert!(longest <= cut::LIVE_ROWS * 6 + 2, "{sign}: {longest} rows wait");
        markdown.end();
        rows.extend(markdown.take_done());
        let shown: String = rows.iter().map(Row::text).collect::<String>().replace(' ', "");
        assert_eq!(shown, text.replace(' ', ""), "{sign}");
    }
    let emphasised = format!("It is **{}** so.", "long ago ".repeat(40).trim_end());
    let rows = at_once(&emphasised, 40);
    assert!(
        !rows.concat().contains('*'),
        "emphasis of many rows is waited for: {rows:?}"
    );
}

#[test]
fn final_rows_of_an_item_become_neither_a_heading_nor_a_table() {
    let long = "some words|of an item ".repeat(20);
    let bar = "words of an item ".repeat(20) + "a|b";
    for (long, line, shown) in [
        (&long, "===", "==="),
        (&long, "---", "───"),
        (&long, "--|--", "--|--"),
        (&bar, "--|--", "--|--"),
    ] {
        let text = format!("- {long}\n  {line}\n");
        let rows = at_once(&text, 40);
        let words = rows.concat().replace([' ', '•'], "");
        assert!(words.starts_with(&long.replace(' ', "")), "{rows:?}");
        assert!(words.contains(shown) && !words.contains('#'), "{rows:?}");
        assert_eq!(in_pieces(&text, 40, 3), rows);
    }
}

#[test]
fn a_paragraph_without_blanks_and_one_of_signs_are_let_go_of() {
    let cases = [
        "你好世界",
        "abcdefgh",
        "< [ *a ",
        "- + > # ",
        "**bold words** ",
        "`a b` `c",
    ];
    for part in cases {
        let letters: Vec<char> = format!("so {}", part.repeat(300)).chars().collect();
        let text: String = letters.iter().collect();
        let (mut markdown, mut rows) = (Markdown::new(30, Theme::plain()), Vec::new());
        for piece in letters.chunks(50) {
            markdown.push(&piece.iter().collect::<String>());
            rows.extend(markdown.take_done());
            assert!(markdown.blocks.live_len() < 1_500, "{part}");
        }
        markdown.end();
        rows.extend(markdown.take_done());
        let rows: Vec<String> = rows.iter().map(Row::text).collect();
        assert_eq!(rows, at_once(&text, 30), "{part}");
    }
}

/// The rows of a text whose blocks are rendered whole, and only when they have ended.
fn block_by_block(text: &str, columns: usize) -> Vec<String> {
    let mut markdown = Markdown::new(columns, Theme::plain());
    markdown.blocks.push(text);
    markdown.end();
    markdown.take_done().iter().map(Row::text).collect()
}

proptest! {
    #[test]
    fn anything_comes_to_the_same_in_pieces(text in "([a-z*_`#>|\\-1.~ 你\\[\\]()]{0,12}\n?){0,14}", columns in 12usize..60, step in 1usize..7) {
        prop_assert_eq!(in_pieces(&text, columns, step), at_once(&text, columns));
        let marked = |step| with_looks(Theme::marked(), &text, columns, step);
        prop_assert_eq!(marked(step), marked(10_000));
    }

    #[test]
    fn no_row_is_too_wide(text in "([a-z*_`#>|\\-1.~ 你\\[\\]()]{0,30}\n?){0,14}", columns in 12usize..60) {
        prop_assert!(at_once(&text, columns).iter().all(|row| crate::width(row) <= columns));
    }

    #[test]
    fn final_rows_are_those_of_the_whole_paragraph(
        parts in proptest::collection::vec((0..WELL_FORMED.len(), 0..BREAKS.len()), 1..60),
        begin in prop::sample::select(vec!["", "- ", "12. ", "- - ", "[^1]: "]),
        columns in 20usize..60,
    ) {
        let mut text = begin.to_owned();
        for (part, line_break) in parts {
            text.push_str(WELL_FORMED[part]);
            text.push_str(BREAKS[line_break]);
        }
        let rows = at_once(&text, columns);
        prop_assert_eq!(&rows, &block_by_block(&text, columns), "{}", text);
    }

    #[test]
    fn no_word_is_lost_or_shown_twice(
        parts in proptest::collection::vec(("[*_<|\\\\!(\\[]{0,3}|[`~]{1,2}", "[*_`~>|\\\\)\\]]{0,3}", 0..BREAKS.len()), 1..80),
        begin in prop::sample::select(vec!["", "- ", "12. ", "- - ", "[^1]: "]),
        columns in 12usize..60,
    ) {
        let mut text = begin.to_owned();
        for (i, (before, after, line_break)) in parts.iter().enumerate() {
            text.push_str(&format!("{before}w{i}w{after}{}", BREAKS[*line_break]));
        }
        let shown = at_once(&text, columns).concat().replace(' ', "");
        let mut rest = shown.as_str();
        for i in 0..parts.len() {
            let found = rest.split_once(&format!("w{i}w"));
            prop_assert!(found.is_some(), "w{}w is lost: {}", i, text);
            rest = found.map_or("", |(_, after)| after);
        }
        prop_assert_eq!(shown.matches('w').count(), parts.len() * 2, "{}", text);
    }
}

/// Words with signs that mean what they look like.
const WELL_FORMED: [&str; 14] = [
    "harbour",
    "of",
    "*quiet*",
    "**old town**",
    "`boats`",
    "~~nobody came~~",
    "[log](https://a.b/c)",
    "2 * 3",
    "snake_case_name",
    "~5",
    "a < b",
    "你好世界你好",
    "[^1]",
    "_so_, \"it\" was",
];

/// The signs that may be between two words of a paragraph.
const BREAKS: [&str; 8] = [" ", " ", " ", " ", " ", " ", "\n", "  \n"];
