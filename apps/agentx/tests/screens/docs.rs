//! The screens of the documentation, from real runs: `UPDATE_DOCS=1 cargo test -p agentx-cli --test screens
//! docs` draws them anew.

use std::path::PathBuf;

use serde_json::json;

use crate::film::Film;
use crate::model::Part;
use crate::stage::{Stage, World};
use crate::svg::svg;

/// The width of these terminals.
const COLUMNS: u16 = 84;

/// The picture of what is on the screen now is the one in `docs/screens`.
fn is_drawn(name: &str, title: &str, stage: &Stage<'_>) {
    is_kept(name, &svg(&stage.terminal, COLUMNS, &stage.root(), title));
}

/// This picture is the one in `docs/screens`.
fn is_kept(name: &str, drawn: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/screens/{name}.svg"));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, drawn).unwrap();
        return;
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let other = drawn.lines().zip(kept.lines()).find(|(now, then)| now != then);
    assert!(
        drawn == kept,
        "docs/screens/{name}.svg is not what a run gives: UPDATE_DOCS=1 draws it anew\n{other:#?}"
    );
}

fn bash(command: &str) -> Part {
    Part::Call("bash", json!({ "command": command }))
}

#[test]
fn the_first_start() {
    let world = World::of_demo();
    let mut chat = Stage::chat(&world, &[], COLUMNS);
    chat.say("hello");
    chat.wait_for_words("or say help.");
    chat.wait_for_prompt();
    is_drawn("first-start", "The first start: the offline demo answers", &chat);
    chat.leave();
}

#[test]
fn a_call_that_is_asked_about() {
    let old = "    let tide = measure(harbour, Instant::now());\n    moor(tide);\n";
    let new = "    let tide = measure(harbour, clock.now())?;\n    moor(tide);\n";
    let world = World::of_model(vec![
        vec![
            Part::Say("The clock is read in one place only. I look at it first.".into()),
            Part::Call("read", json!({ "path": "harbour.rs" })),
        ],
        vec![
            Part::Say("`evening` should be given the clock, so that a test can choose the time:".into()),
            Part::Call(
                "edit",
                json!({ "path": "harbour.rs", "old_string": old, "new_string": new }),
            ),
        ],
    ]);
    world.write(
        "harbour.rs",
        format!("//! Where ships lie.\n\nfn evening() -> Result<()> {{\n{old}    Ok(())\n}}\n"),
    );
    let mut chat = Stage::chat(&world, &[], COLUMNS);
    chat.say("the tests in @harbour.rs depend on the time of day; mend that");
    chat.wait_for_question();
    is_drawn("approval", "A change is shown before it is made", &chat);
    chat.keys("\u{1b}");
    chat.wait_for("■ stopped");
    chat.wait_for_prompt();
    chat.leave();
}

#[test]
fn tools_that_run_at_once() {
    let world = World::of_model(vec![vec![
        Part::Say("I build, test and look for what is left open, all at once.".into()),
        bash("echo 12 tests passed"),
        bash("until [ -e built ]; do sleep 0.02; done; echo built"),
        bash("until [ -e found ]; do sleep 0.02; done; grep -rn unwrap src"),
    ]]);
    let mut chat = Stage::chat(&world, &["--yes"], COLUMNS);
    chat.say("is it ready?");
    chat.wait_for("│ 12 tests passed");
    chat.wait_for("bash ×2 run");
    chat.keys("and write the notes of the release\r");
    chat.wait_for("  1 › and write the notes");
    chat.keys("in Engl");
    chat.wait_for_last("› in Engl");
    is_drawn(
        "tools",
        "Tools run at once, the row says what is waited for, and what was typed meanwhile waits",
        &chat,
    );
    chat.keys("\u{3}");
    chat.wait_for("■ stopped");
    chat.wait_for_last("› and write the notes of the release");
    chat.keys("\u{3}");
    chat.wait_for_last("› in Engl");
    chat.keys("\u{3}");
    chat.wait_for_prompt();
    chat.leave();
}

#[test]
fn what_waits_and_what_is_heard_next() {
    let world = World::of_model(vec![vec![
        Part::Say("I look where the clock is read.".into()),
        bash("until [ -e found ]; do sleep 0.02; done"),
    ]]);
    let mut chat = Stage::with_rows(&world, &["--yes"], (COLUMNS, 12));
    chat.wait_for_prompt();
    chat.say("give the tests a clock");
    chat.wait_for("bash runs");
    chat.paste("and then write a test\nfor noon\nfor midnight\nand for the hour that is twice");
    chat.keys("\r");
    chat.wait_for("  1 › and then write a test");
    chat.keys("not in this file\u{13}");
    chat.wait_for("» not in this file");
    chat.wait_for("  2 › and then write a test");
    is_drawn(
        "queue",
        "What waits, and what is heard in the middle of the run",
        &chat,
    );
    chat.keys("\u{1b}");
    chat.wait_for("■ stopped");
    chat.wait_for_last("› not in this file");
    chat.keys("\u{3}");
    chat.wait_for_last("  and for the hour that is twice");
    chat.keys("\u{3}");
    chat.wait_for_prompt();
    chat.leave();
}

#[test]
fn an_answer_with_its_looks() {
    let answer = "## The tide\n\nIt is **high** at noon. `moor` takes what `measure` gives:\n\n```rust\nlet tide = measure(harbour, clock.now())?; // metres\nmoor(tide + 1.0);\n```\n\n\
                  | ship | draught | may enter |\n| --- | ---: | --- |\n| 海燕 | 2.4 m | yes |\n| Petrel | 4.1 m | at noon |\n\n\
                  - [x] the lock is open\n- [ ] the lamp is lit\n\nThe pilot ";
    let world = World::of_model(vec![vec![Part::Say(answer.into()), Part::Hold]]);
    let mut chat = Stage::chat(&world, &[], COLUMNS);
    chat.say("which ships may enter?");
    chat.wait_for("The pilot");
    chat.wait_for("opal-1 answers");
    is_drawn("answer", "An answer while it streams", &chat);
    chat.keys("\u{1b}");
    chat.wait_for("■ stopped");
    chat.wait_for_prompt();
    chat.leave();
}

#[test]
fn choosing_a_session() {
    let world = World::of_demo();
    for words in ["help", "thanks", "hello"] {
        assert_eq!(world.run(&["run", "--quiet", words]).code, Some(0));
    }
    let mut picker = Stage::with_rows(&world, &["resume"], (COLUMNS, 18));
    picker.wait_for("3 of 3");
    picker.keys("hello");
    picker.wait_for("resume › hello");
    picker.wait("the place that was found, and all below it", |terminal| {
        let screen = terminal.screen();
        let has = |text: &str| screen.iter().any(|row| row.contains(text));
        screen.last().is_some_and(|row| row.starts_with("Enter resumes"))
            && has("│ 3: hello")
            && has("│ tools, approvals")
    });
    is_drawn("picker", "Choosing a session to continue", &picker);
    picker.keys("\u{3}");
    assert_eq!(picker.end(), Some(0));
}

#[test]
fn going_back() {
    let world = World::of_demo();
    world.write("notes.txt", "one\nhello\nthree\n");
    let mut chat = Stage::with_rows(&world, &["--yes"], (COLUMNS, 26));
    chat.wait_for_prompt();
    chat.say("replace hello with bye in notes.txt");
    chat.wait_for_words("replaced 1 occurrence, at line 2.");
    chat.wait_for_prompt();
    chat.say("write fresh words to new.txt");
    chat.wait_for_words("Created new.txt");
    chat.wait_for_prompt();
    chat.say("/rewind");
    chat.wait_for("before which message?");
    chat.say("1");
    chat.wait_for("rewind?");
    is_drawn("rewind", "What going back would undo", &chat);
    chat.keys("\u{1b}");
    chat.wait_for_prompt();
    chat.leave();
}

/// A file, and a model that changes it and then talks, waiting twice in its first answer. Its words are made
/// up.
fn world_of_a_change() -> World {
    let old = "    if hour < 12:\n        return \"Good morning\"\n    return \"Good evening\"\n";
    let new = "    if hour < 12:\n        return \"Good morning\"\n    if hour < 18:\n        return \"Good afternoon\"\n    \
               return \"Good evening\"\n";
    let answer = [
        "`greeting` now has three answers:\n\n- before noon: **Good morning**\n",
        "- from noon to six: **Good afternoon**\n",
        "- after that: **Good evening**\n",
    ];
    let said = |text: &str| Part::Say(text.into());
    let world = World::of_model(vec![
        vec![
            said("I read the file first."),
            Part::Call("read", json!({ "path": "greet.py" })),
        ],
        vec![Part::Call(
            "edit",
            json!({ "path": "greet.py", "old_string": old, "new_string": new }),
        )],
        vec![said(answer[0]), Part::Hold, said(answer[1]), Part::Hold],
        answer.map(said).to_vec(),
    ]);
    world.write("greet.py", format!("def greeting(hour):\n{old}"));
    world
}

/// The recording at the top of the README: a change is asked about, the program is killed in the middle of an
/// answer and resumed, and the session is derived again. Only the model's words are made up.
#[test]
fn a_session_that_is_killed_and_resumed() {
    let world = world_of_a_change();
    let mut shell = Stage::shell(&world, (COLUMNS, 26));
    let mut film = Film::new(COLUMNS, 26);
    shell.wait_for_last("$");
    film.hold(&shell, 600);
    film.type_in(&mut shell, "agentx");
    shell.keys("\r");
    shell.wait_for_prompt();
    film.hold(&shell, 1000);
    film.type_in(
        &mut shell,
        "greet people with \"Good afternoon\" from noon to six",
    );
    film.hold(&shell, 400);
    shell.keys("\r");
    shell.wait_for_question();
    film.hold(&shell, 3500);
    film.type_in(&mut shell, "y");
    film.hold(&shell, 400);
    shell.keys("\r");
    shell.wait_for("before noon: Good morning");
    film.hold(&shell, 700);
    world.go_on();
    shell.wait_for("from noon to six: Good afternoon");
    film.hold(&shell, 900);
    shell.kill_foreground();
    shell.wait("the shell again", |terminal| {
        terminal.screen().last().is_some_and(|row| row == "$") && terminal.cursor().1 == 3
    });
    film.hold(&shell, 1500);
    film.type_in(&mut shell, "agentx resume --last");
    film.hold(&shell, 400);
    shell.keys("\r");
    shell.wait_for("after that: Good evening");
    shell.wait_for_prompt();
    film.hold(&shell, 3500);
    shell.keys("\u{4}");
    shell.wait_for_last("$");
    film.hold(&shell, 800);
    let id = shell.id_to_resume();
    film.type_in(&mut shell, "agentx replay ");
    shell.keys(&id);
    shell.wait("the id", |terminal| {
        terminal.screen().last().is_some_and(|row| row.ends_with(&id))
    });
    film.hold(&shell, 600);
    shell.keys("\r");
    shell.wait_for("the same to the byte");
    shell.wait_for_last("$");
    film.hold(&shell, 5000);
    let title =
        "A change is asked about, the program is killed and resumed, and the session is derived again";
    is_kept("recording", &film.svg(title));
    shell.keys("exit\r");
    assert_eq!(shell.end(), Some(0));
}
