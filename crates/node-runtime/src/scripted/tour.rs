//! The tour of the demo: it writes a file, reads, changes and tests it, and explains how to view and undo the
//! change.
//!
//! It works in the folder of the session with the real tools, so it asks for real approvals and leaves a real
//! file until it is undone. The file has a name that no other program uses. Each step is one model call; a
//! person who refuses a call still sees the next step.

use super::demo_intent::{DemoIntent, ToolWish};

/// The file of the tour, in the folder that the demo works in.
const FILE: &str = "agentx-tour.txt";

/// The steps of the tour, if `input` asks for it.
pub(super) fn steps(input: &str) -> Option<Vec<Vec<DemoIntent>>> {
    let asked = input.trim().trim_end_matches(['.', '!', '?', '。', '！']);
    let chinese = asked == "导览";
    let is_tour = ["tour", "the tour", "take the tour", "start the tour"]
        .iter()
        .any(|words| asked.eq_ignore_ascii_case(words));
    (is_tour || chinese).then(|| {
        let texts = if chinese { CHINESE } else { ENGLISH };
        let mut wishes = wishes().into_iter();
        let step = |text: &str| {
            let said = DemoIntent::Echo(text.to_owned());
            std::iter::once(said).chain(wishes.next()).collect()
        };
        texts.into_iter().map(step).collect()
    })
}

/// Returns the intents of the steps, except for the last one, which only prints text.
fn wishes() -> [DemoIntent; 4] {
    let path = || FILE.to_owned();
    let wishes = [
        ToolWish::Write {
            path: path(),
            content: "one\ntow\nthree\n".to_owned(),
        },
        ToolWish::Read { path: path() },
        ToolWish::Replace {
            path: path(),
            old: "tow".to_owned(),
            new: "two".to_owned(),
        },
        ToolWish::Run {
            command: format!("grep -n two {FILE}"),
        },
    ];
    wishes.map(DemoIntent::Tool)
}

const ENGLISH: [&str; 5] = [
    "A tour in five steps. Step 1: I write a small file. Changing files needs your approval, so AgentX shows the change and \
     asks: `y` allows it once, `s` for this session, `n` refuses it.",
    "Step 2: I read the file. Reading inside the folder needs no approval.",
    "Step 3: the second line is misspelt, and I correct it. The question shows the difference.",
    "Step 4: I test the result with a command. Running programs needs your approval, too, \
     except for commands that only read, such as this one, in a folder that you trust.",
    "Step 5 is yours. Type `/rewind 1`: it shows the difference to the files as they were before the tour, asks, and undoes \
     both changes. `/rewind undo` takes that back. Afterwards try Ctrl-C while I `tell a long story`, and Ctrl-D and \
     `agentx -c` to leave and continue.",
];

const CHINESE: [&str; 5] = [
    "导览共五步。第一步：我写一个小文件。修改文件需要你的批准，所以 AgentX 会先显示修改再询问：`y` 允许一次，`s` 在本会话中允许，`n` 拒绝。",
    "第二步：我读取这个文件。读取文件夹里的文件不需要批准。",
    "第三步：第二行拼错了，我来改正。询问时会显示差异。",
    "第四步：我用一条命令检验结果。运行程序也需要你的批准；在你信任的文件夹中，像这样只读取的命令除外。",
    "第五步由你来：输入 `/rewind 1`，它会显示与导览之前的差异，询问之后撤销两次修改；`/rewind undo` 可以恢复。然后在我“讲一个长故事”时试试 Ctrl-C，再用 Ctrl-D 离开、`agentx -c` 继续。",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tour_writes_reads_changes_tests_and_ends_with_words() {
        for asked in ["tour", "Take the tour!", "导览"] {
            let steps = steps(asked).expect(asked);
            let sizes: Vec<usize> = steps.iter().map(Vec::len).collect();
            assert_eq!(sizes, [2, 2, 2, 2, 1], "{asked}");
        }
        assert_eq!(steps("a tour of Rome"), None);
    }
}
