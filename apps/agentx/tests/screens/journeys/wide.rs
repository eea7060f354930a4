//! 中文, emoji and combining marks where lines end.

use crate::model::Part;
use crate::stage::{Stage, World};
use crate::{Shots, in_every_width};

/// Prose that breaks in other places in every width, each sentence with a number.
fn prose() -> String {
    let sentence = |n: usize| match n % 3 {
        0 => format!("№{n:02} 傍晚时分，灯塔的看守人走到港口，那里一个人也没有，只有风。"),
        1 => format!(
            "№{n:02} Caf\u{e9} cafe\u{301} n\u{303}andu\u{301} 👍 and a 🚢 that waits in the harbour 🌊 all night."
        ),
        _ => {
            format!("№{n:02} ﾊﾝｶｸ and 全角ＡＢＣ mixed with한국어 and a\u{308}o\u{308}u\u{308} at every end.")
        }
    };
    let sentences: Vec<String> = (1..=12).map(sentence).collect();
    let table = "| 名字 | mark |\n| --- | --- |\n| 灯塔 | cafe\u{301} 👍 |\n| 港口 | 🌊🌊🌊 |\n";
    format!("{}\n\n{table}", sentences.join("\n\n"))
}

#[test]
fn wide_letters_at_line_ends() {
    in_every_width("wide_letters_at_line_ends", |width| {
        let world = World::of_model(vec![vec![Part::Say(prose())]]);
        let mut chat = Stage::chat(&world, &[], width);
        let mut shots = Shots::new(width);
        // What is being written is broken at every width too, and may end in a wide letter at the edge.
        let said = "请说说港口的事情，还有灯塔👍".repeat(3) + "cafe\u{301}";
        chat.keys(&said);
        chat.wait_for_words(&said);
        shots.now("the line that is written", &chat);
        chat.keys("\r");
        chat.wait_for_words("🌊🌊🌊");
        chat.wait_for_prompt();
        chat.leave();
        let marks: Vec<String> = (1..=12).map(|n| format!("№{n:02}")).collect();
        chat.each_once(marks.iter().map(String::as_str));
        let all: String = chat.terminal.all().concat().split_whitespace().collect();
        let told: String = prose().lines().take(23).flat_map(str::split_whitespace).collect();
        assert!(all.contains(&told), "every letter is there, in order:\n{all}");
        shots.all(&mut chat)
    });
}
