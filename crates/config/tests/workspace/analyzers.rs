//! Analyzers of risk: only the person names them and lets a judge allow calls; a folder may have more calls
//! asked about.

use agentx_config::AnalyzerTarget;
use agentx_types::{ConfirmationPolicy, SecurityRisk};

use super::{Desk, ignored};

#[test]
fn a_folder_may_only_have_more_calls_asked_about() {
    let desk = Desk::new(
        "security: {judge: allow, policy: never, threshold: low, analyzers: [rules]}\n\
         analyzers: {theirs: {command: ./evil}}\n",
    );
    desk.write("home/config.yaml", "security: {analyzers: [model]}\n");
    let strange = desk.load();
    for key in [
        "security.judge",
        "security.policy",
        "security.analyzers",
        "analyzers.theirs.command",
    ] {
        assert!(ignored(&strange).contains(&key), "{key}: {:?}", ignored(&strange));
    }
    for loaded in [strange, desk.trusted()] {
        let security = loaded.settings.security.unwrap();
        let names: Vec<&str> = security.analyzers.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["rules", "model"], "`rules` is always one of them");
        assert!(!security.judge_allows);
        assert_eq!(security.policy, ConfirmationPolicy::Risky);
        assert_eq!(security.threshold, SecurityRisk::Low, "the folder is stricter");
        assert!(loaded.settings.analyzers.is_empty());
    }
}

#[test]
fn programs_and_servers_of_the_person_are_read() {
    let desk = Desk::new("");
    desk.write(
        "home/config.yaml",
        "security: {analyzers: [gate, scan], policy: always, unknown: ignore, judge: allow, timeout: 2s}\n\
         analyzers:\n  gate: {command: gate, args: [--strict]}\n  scan: {url: 'https://scan.example/v1', headers: {X-Key: '${WORK_KEY}'}}\n",
    );
    let settings = desk.load().settings;
    let security = settings.security.unwrap();
    assert_eq!(security.analyzers.len(), 3);
    assert!(security.analyzers.iter().all(|one| one.timeout_ms == 2_000));
    assert!(security.judge_allows && !security.asks_unknown);
    assert_eq!(security.policy, ConfirmationPolicy::Always);
    let [gate, scan] = &settings.analyzers[..] else {
        panic!("{:?}", settings.analyzers);
    };
    let program = AnalyzerTarget::Program {
        command: "gate".into(),
        args: vec!["--strict".into()],
    };
    assert_eq!((gate.name.as_str(), &gate.target), ("gate", &program));
    let AnalyzerTarget::Address { url, headers } = &scan.target else {
        panic!("{scan:?}");
    };
    assert_eq!(url, "https://scan.example/v1");
    assert_eq!(
        headers[0].value.value().map(|value| value.expose()),
        Some("made-up-work")
    );
    assert!(Desk::new("").load().settings.security.is_none(), "off by default");
}
