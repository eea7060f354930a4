//! The demo's short text about the result of a tool, taken from the real result.
//!
//! At most 8 lines of 160 characters are repeated, in a separate block, with fences in them replaced.

use agentx_types::{ContentPart, ToolResultPart};

/// Maximum number of lines of a result to repeat.
const SHOWN_LINES: usize = 8;
/// Maximum number of characters of one line.
const SHOWN_CHARS: usize = 160;

/// A few sentences about the result of a tool.
pub(super) fn summary(result: &ToolResultPart, chinese: bool) -> String {
    let text: String = result.content.iter().filter_map(ContentPart::as_text).collect();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let head = headline(result, lines.len(), chinese);
    if lines.is_empty() {
        return head;
    }
    let shown: Vec<String> = lines.iter().take(SHOWN_LINES).map(|line| cut(line)).collect();
    let rest = lines.len().saturating_sub(SHOWN_LINES);
    let more = match (rest, chinese) {
        (0, _) => String::new(),
        (_, true) => format!("\n（还有 {rest} 行）"),
        (_, false) => format!("\n({rest} more lines)"),
    };
    format!("{head}\n\n```\n{}\n```{more}", shown.join("\n"))
}

fn headline(result: &ToolResultPart, lines: usize, chinese: bool) -> String {
    let name = &result.name;
    let count = match lines {
        1 => "1 line".to_owned(),
        _ => format!("{lines} lines"),
    };
    match (result.is_error, lines, chinese) {
        (true, 0, true) => format!("`{name}` 没有成功，也没有说原因。"),
        (true, 0, false) => format!("`{name}` did not work and gave no reason."),
        (true, _, true) => format!("`{name}` 没有成功。它说："),
        (true, _, false) => format!("`{name}` did not work. It said:"),
        (false, 0, true) => format!("`{name}` 完成了，没有输出。"),
        (false, 0, false) => format!("`{name}` is done and printed nothing."),
        (false, _, true) => format!("`{name}` 返回了 {lines} 行："),
        (false, _, false) => format!("`{name}` answered with {count}:"),
    }
}

fn cut(line: &str) -> String {
    // A fence inside the result would end the block around it.
    let line = line.replace("```", "'''");
    match line.char_indices().nth(SHOWN_CHARS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentx_types::ToolCallId;

    fn result(text: &str, is_error: bool) -> ToolResultPart {
        ToolResultPart {
            tool_call_id: ToolCallId::new("call_1"),
            name: "bash".into(),
            content: vec![ContentPart::text(text)],
            is_error,
        }
    }

    #[test]
    fn summaries_quote_the_real_result() {
        assert_eq!(
            summary(&result("Linux\n", false), false),
            "`bash` answered with 1 line:\n\n```\nLinux\n```"
        );
        assert_eq!(summary(&result("", false), true), "`bash` 完成了，没有输出。");
        assert_eq!(
            summary(&result("no", true), false),
            "`bash` did not work. It said:\n\n```\nno\n```"
        );
        let long = (0..20).map(|n| format!("line {n}\n")).collect::<String>();
        let said = summary(&result(&long, false), false);
        assert!(
            said.contains("line 7\n```\n(12 more lines)") && !said.contains("line 8"),
            "{said}"
        );
        let wide = summary(&result(&"宽".repeat(500), false), true);
        assert_eq!(wide.matches('宽').count(), SHOWN_CHARS);
    }
}
