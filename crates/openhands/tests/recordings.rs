//! Recorded logs, which are kept outside of the project. If they are missing, the tests print that and pass;
//! in CI they fail.

use std::path::{Path, PathBuf};

use agentx_openhands::Log;

use crate::session::{conversation, of_log};

/// Returns a file or folder of the data; `None` if it is missing.
fn find(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("AGENTX_TEST_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = root.join(name);
    if path.exists() {
        return Some(path);
    }
    assert!(
        std::env::var_os("CI").is_none(),
        "CI needs the data: set AGENTX_TEST_DATA"
    );
    println!(
        "not run: recorded logs of OpenHands (nothing at {})",
        path.display()
    );
    None
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn recorded_logs_of_v0_are_whole_sessions() {
    let Some(folder) = find("openhands-logs/v0") else {
        return;
    };
    let mut files = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        for log in Log::read_all(&read(&folder, &name), None).unwrap() {
            let imported = of_log(&log);
            assert!(
                imported.report.left_out.is_empty(),
                "{name}: {:?}",
                imported.report
            );
            assert!(imported.report.added.is_empty(), "{name}: {:?}", imported.report);
            let said = conversation(&imported);
            println!(
                "{name}: {} events, {} messages",
                imported.report.events,
                said.len()
            );
            assert!(said[0].starts_with("user: "), "{name}: {said:?}");
        }
        files += 1;
    }
    assert!(files > 0);
}

/// The transcript beside the log is OpenHands' own rendering: the conversation contains every line of it.
#[test]
fn a_recorded_log_of_v1_has_every_line_of_its_transcript() {
    let Some(folder) = find("openhands-logs/v1/goal") else {
        return;
    };
    let imported = of_log(&Log::read(&read(&folder, "events.jsonl")).unwrap());
    let said = conversation(&imported).join("\n");
    let transcript = read(&folder, "expected_transcript.txt");
    let lines = transcript.lines().map(|line| {
        line.trim_start_matches("assistant: ")
            .trim_start_matches("tool: ")
    });
    let missing: Vec<&str> = lines.filter(|line| !said.contains(line.trim_end())).collect();
    assert!(missing.is_empty(), "{missing:#?}\nin\n{said}");
}
