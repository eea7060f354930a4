//! A program as analyzer: it reads a request as JSON from its standard input, and writes its verdict as JSON.
//! docs/APPROVALS.md has both forms. It is started once for each call, and killed at the time limit.
//!
//! The program runs in `/`, because the folder of a session may be a stranger's and may hold files that
//! programs read by themselves. It gets none of the variables that hold keys of providers. Its standard error
//! is not read.
//!
//! | the program | the verdict |
//! | --- | --- |
//! | exits with 0 and prints one JSON object of at most 64 KiB | as the object says |
//! | prints anything else, or more | `UNKNOWN`, with the reason |
//! | exits with another code, dies by a signal, or does not start | `UNKNOWN`, with the code |
//! | does not end in the time of its settings | `UNKNOWN`, after it was killed |
//!
//! A program that closes its standard input early is not at fault: its answer counts.

use std::io;
use std::process::Stdio;
use std::sync::Arc;

use agentx_runtime::{AnalyzerAnswer, BoxFuture, CallToAssess, SecurityAnalyzer, verdict_in};
use agentx_types::{AssessRisk, RiskVerdict};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

/// Maximum size of an answer that is read, in bytes.
pub(crate) const ANSWER_BYTES: u64 = 64 * 1024;

/// Runs a program for each call.
pub(crate) struct ProgramAnalyzer {
    /// The program: a path, or a name in `PATH`.
    pub(crate) command: String,
    /// Its arguments.
    pub(crate) args: Vec<String>,
    /// Variables of this process that it does not get: keys of providers, and others that look like secrets.
    pub(crate) withheld: Arc<[String]>,
}

impl SecurityAnalyzer for ProgramAnalyzer {
    fn assess(&self, call: CallToAssess) -> BoxFuture<'static, AnalyzerAnswer> {
        let mut command = Command::new(&self.command);
        command
            .args(&self.args)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        for name in self.withheld.iter() {
            command.env_remove(name);
        }
        Box::pin(async move {
            let name = call.request.analyzer.name.clone();
            let body = document(&call.request).to_string();
            let said = tokio::select! {
                biased;
                () = call.cancel.cancelled() => Err("stopped".to_owned()),
                said = run(command, body) => said,
            };
            AnalyzerAnswer::free(match said {
                Ok(text) => verdict_in(&name, &text),
                Err(reason) => RiskVerdict::unknown(name, reason),
            })
        })
    }
}

/// The request as programs and servers read it:
///
/// | field | content |
/// | --- | --- |
/// | `tool_call_id` | the id of the call, as events name it |
/// | `tool`, `access`, `input` | the name of the tool, what it may do at most, and the arguments |
/// | `workspace` | the directory in which the session works |
/// | `task` | the input of the person that the run answers |
/// | `evidence` | signs of injected instructions that were found in the arguments, as sentences |
/// | `decided` | what people decided about earlier verdicts of this session |
///
/// Output of tools is not part of it: a page or a file could ask for the call in the name of the person.
pub(crate) fn document(assess: &AssessRisk) -> Value {
    json!({
        "tool_call_id": assess.tool_call_id,
        "tool": assess.tool.name,
        "access": assess.tool.access,
        "input": assess.input,
        "workspace": assess.workspace,
        "task": assess.task,
        "evidence": assess.evidence,
        "decided": assess.decided,
    })
}

/// Runs the program with this input; returns its output, or the reason why there is none. Writing and reading
/// go on at the same time, so a program that answers before it has read everything blocks nobody.
async fn run(mut command: Command, input: String) -> Result<String, String> {
    let failed = |error: io::Error| format!("the program failed: {error}");
    let mut child = command
        .spawn()
        .map_err(|error| format!("the program does not start: {error}"))?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let write = async {
        if let Some(mut stdin) = stdin {
            // A program that does not read its input may have an answer all the same.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
    };
    let read = async {
        let mut output = Vec::new();
        if let Some(stdout) = stdout {
            stdout.take(ANSWER_BYTES).read_to_end(&mut output).await?;
        }
        Ok::<_, io::Error>(output)
    };
    let ((), output) = tokio::join!(write, read);
    let output = output.map_err(failed)?;
    let status = child.wait().await.map_err(failed)?;
    if !status.success() {
        return Err(format!("the program ended with {status}"));
    }
    Ok(String::from_utf8_lossy(&output).into_owned())
}

#[cfg(test)]
mod tests {
    use agentx_testing::fixture;
    use agentx_types::{JudgeDecision, SecurityRisk};
    use tokio_util::sync::CancellationToken;

    use super::*;

    async fn said(line: &str) -> RiskVerdict {
        let program = ProgramAnalyzer {
            command: "/bin/sh".into(),
            args: vec!["-c".into(), line.into()],
            withheld: Arc::from([]),
        };
        let call = CallToAssess {
            action: fixture::call_tool("call_1", "bash", json!({})),
            request: fixture::assess_risk("scan"),
            session: None,
            cancel: CancellationToken::new(),
        };
        program.assess(call).await.verdict
    }

    #[tokio::test]
    async fn a_program_reads_the_call_and_says_its_verdict() {
        let line =
            r#"grep -q '"command":"ls"' && echo '{"risk": "low", "decision": "allow", "reason": "r"}'"#;
        let verdict = said(line).await;
        assert_eq!(
            (verdict.risk, verdict.decision),
            (SecurityRisk::Low, Some(JudgeDecision::Allow))
        );
        assert_eq!(verdict.analyzer, "scan");
    }

    #[tokio::test]
    async fn a_program_that_fails_or_says_nothing_knows_nothing() {
        for (line, reason) in [
            ("exit 3", "exit status: 3"),
            ("true", "no JSON object"),
            ("echo '{\"risk\": \"low\"}'; exit 1", "exit status: 1"),
            ("yes | head -c 200000", "the program"),
        ] {
            let verdict = said(line).await;
            assert_eq!(verdict.risk, SecurityRisk::Unknown, "{line}");
            assert!(verdict.decision.is_none(), "{line}");
            assert!(
                line.starts_with("yes") || verdict.reason.contains(reason),
                "{line}: {}",
                verdict.reason
            );
        }
    }
}
