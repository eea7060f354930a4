//! The texts of the demo, in English and Chinese. Each makes clear that it comes from a script, not from a
//! model.
//!
//! A text is chosen by the language of the input: one Chinese character in its first line makes it Chinese.
//! Texts name commands as they are typed, so they change with the commands.

/// A text in both languages.
#[derive(Clone, Copy)]
pub(super) struct BilingualText {
    en: &'static str,
    zh: &'static str,
}

impl BilingualText {
    /// The text for a person who writes Chinese, otherwise the English one.
    pub(super) fn get(self, chinese: bool) -> &'static str {
        if chinese { self.zh } else { self.en }
    }
}

pub(super) const GREETING: BilingualText = BilingualText {
    en: "Hello! I am AgentX's built-in demo: a script, not a language model. I need no key and no network, and I only \
         understand a few phrases, but tools, approvals, interrupts, sessions and replay around me are the real ones. \
         Try `list the files here`, or say `help`.",
    zh: "你好！我是 AgentX 内置的演示：一段脚本，不是语言模型。我不需要密钥，也不联网，只听得懂几句话；但我周围的工具、审批、中断、会话和重放都是真的。\
         试试“列出这里的文件”，或者说“帮助”。",
};

pub(super) const HELP: BilingualText = BilingualText {
    en: "I am a scripted demo, not a language model. I understand:\n\n\
         - `tour`: read, edit, test, diff and undo in five steps\n\
         - `list the files here`, `list *.rs files in src`\n\
         - `read README.md`\n\
         - `run uname -a`\n\
         - `write hello to notes.txt`, `replace hello with bye in notes.txt`\n\
         - `search for main in src`\n\
         - two at once (`read a.md and b.md`) or one after the other (`list the files here, then run uname -a`)\n\
         - `echo something`, `count to 100`, `tell a long story`, `think about rain` (try Ctrl-C while I talk)\n\
         - `how do I connect a real model?`\n\n\
         Token counts are estimates here, and nothing costs anything.",
    zh: "我是一段演示脚本，不是语言模型。我听得懂：\n\n\
         - “导览”：用五步演示读取、修改、检验、差异和撤销\n\
         - “列出这里的文件”\n\
         - “读取 README.md”\n\
         - “运行 uname -a”\n\
         - “把 你好 写到 notes.txt”，“把 notes.txt 里的 你好 改成 再见”\n\
         - “在 src 里搜索 main”\n\
         - 一步接一步：“读取 README.md，然后运行 uname -a”\n\
         - “说 早安”，“数到 100”，“讲一个长故事”，“想想下雨”（我说话时可以试试 Ctrl-C）\n\
         - “怎么接入真实模型？”\n\n\
         这里的 token 数是估算的，一切免费。",
};

pub(super) const IDENTITY: BilingualText = BilingualText {
    en: "I am AgentX's scripted demo: a table of phrases that lets you try the program without a key. I am not a language \
         model and not a person. Ask `how do I connect a real model?` to talk to one.",
    zh: "我是 AgentX 的演示脚本：一张短语表，让你没有密钥也能试用。我不是语言模型，也不是人。想和真正的模型对话，问我“怎么接入真实模型？”。",
};

pub(super) const CONNECT: BilingualText = BilingualText {
    en: "To talk to a real model, set one of these and start again:\n\n\
         - `export ANTHROPIC_API_KEY=…` (and `ANTHROPIC_BASE_URL` for another address)\n\
         - `export OPENAI_API_KEY=…` (and `OPENAI_BASE_URL` for any compatible server, for example \
         `http://localhost:11434/v1` for Ollama)\n\
         - or set a model and its provider in the config file; `agentx config path` prints its path\n\n\
         `agentx models` lists the models for `--model`.",
    zh: "要接入真实模型，设置下面之一，然后重新启动：\n\n\
         - `export ANTHROPIC_API_KEY=…`（别的地址用 `ANTHROPIC_BASE_URL`）\n\
         - `export OPENAI_API_KEY=…`（任何兼容的服务器用 `OPENAI_BASE_URL`，例如 Ollama 是 `http://localhost:11434/v1`）\n\
         - 或者在配置文件里写明模型和提供方；`agentx config path` 会说出文件在哪里\n\n\
         `agentx models` 列出 `--model` 可以选的模型。",
};

pub(super) const THANKS: BilingualText = BilingualText {
    en: "You are welcome.",
    zh: "不客气。",
};

pub(super) const BYE: BilingualText = BilingualText {
    en: "Goodbye. This session is saved: `agentx resume --last` continues it.",
    zh: "再见。这个会话会保留下来：`agentx resume --last` 可以继续。",
};

pub(super) const UNCLEAR: BilingualText = BilingualText {
    en: "I am only a scripted demo and do not understand that. Say \
         `how do I connect a real model?`, or `help` for what I know.",
    zh: "我只是一段演示脚本，听不懂这句话。说“帮助”看看我会什么，或者问“怎么接入真实模型？”。",
};

pub(super) const THOUGHT: BilingualText = BilingualText {
    en: "I am a script: this text only shows how reasoning looks on your screen. The topic is: ",
    zh: "我是脚本，所以这不是推理，只是让你看到推理在屏幕上的样子。题目是：",
};

pub(super) const THOUGHT_ENDS: BilingualText = BilingualText {
    en: "That was a demonstration of streamed thinking. A real model would now answer.",
    zh: "刚才演示的是流式的思考过程。真正的模型接下来会给出回答。",
};

pub(super) const DONE_COUNTING: BilingualText = BilingualText {
    en: "Done.",
    zh: "数完了。",
};

/// The number of chapters in the story.
const CHAPTERS: usize = 24;
/// The heroes, places and finds of the story: in English and Chinese.
const HEROES: [(&str, &str); 4] = [
    ("a lamplighter", "点灯人"),
    ("a ferryman", "摆渡人"),
    ("a clockmaker", "钟表匠"),
    ("a mapmaker", "制图师"),
];
const PLACES: [(&str, &str); 4] = [
    ("the harbour", "港口"),
    ("the hills", "山丘"),
    ("the old bridge", "老桥"),
    ("the quiet wood", "寂静的树林"),
];
const FINDS: [(&str, &str); 5] = [
    ("a letter", "一封信"),
    ("a key", "一把钥匙"),
    ("a bell", "一口钟"),
    ("a blue stone", "一块蓝色的石头"),
    ("a song", "一支歌"),
];

/// A story of many chapters, always the same: long enough to interrupt.
pub(super) fn story(chinese: bool) -> String {
    let end = if chinese {
        "故事讲完了。"
    } else {
        "That is the end of the story."
    };
    let mut parts: Vec<String> = (0..CHAPTERS).map(|n| chapter(n, chinese)).collect();
    parts.push(end.to_owned());
    parts.join("\n\n")
}

fn chapter(n: usize, chinese: bool) -> String {
    let number = n + 1;
    let (hero, place, find) = (HEROES[n % 4], PLACES[(n / 4 + n) % 4], FINDS[n % 5]);
    if chinese {
        format!(
            "第{number}章。清晨，{}走到{}，那里没有人。风停了一会儿，地上放着{}。{}想了很久，把它带在身上，继续往前走，直到天黑。",
            hero.1, place.1, find.1, hero.1
        )
    } else {
        format!(
            "Chapter {number}. Early in the morning {} came to {}, and nobody was there. The wind stopped for a while, and \
             on the ground lay {}. It belonged to no one, so it was picked up, looked at for a long time, and carried on \
             until it was dark.",
            hero.0, place.0, find.0
        )
    }
}
