//! The meaning of a failed probe: a lasting reason is one about the machine, a passing one is none. The
//! helpers are made up, except for the real one.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use agentx_sandbox::{SandboxError, SandboxLauncher, SandboxMode, SandboxProfile, SandboxStep};

/// A helper that reads what it says from the file beside it: a line for each time.
const SAYS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/helpers/says.sh");

/// The steps of a launcher for the commands that come one after the other.
fn steps_of(answers: &str, commands: usize) -> Vec<Result<SandboxStep, String>> {
    let place = tempfile::tempdir().unwrap();
    let helper = place.path().join("helper");
    symlink(SAYS, &helper).unwrap();
    fs::write(place.path().join("helper.answers"), answers).unwrap();
    let launcher = SandboxLauncher::new(&helper, SandboxMode::Everyday, SandboxProfile::default());
    let step = |_| launcher.step().map_err(|error| error.to_string());
    (0..commands).map(step).collect()
}

#[test]
fn a_lasting_reason_means_no_sandbox_and_is_asked_for_once() {
    let steps = steps_of("Operation not permitted\nok\n", 2);
    assert_eq!(steps, [Ok(SandboxStep::None), Ok(SandboxStep::None)]);
}

#[test]
fn a_passing_reason_is_tried_once_more() {
    let steps = steps_of("passing: Try again\nok\n", 2);
    assert_eq!(steps, [Ok(SandboxStep::Namespace), Ok(SandboxStep::Namespace)]);
}

/// It neither becomes a command without a sandbox nor stays.
#[test]
fn a_reason_that_does_not_pass_soon_refuses_the_command_and_not_the_next_one() {
    let steps = steps_of("passing: Try again\npassing: Try again\nok\n", 2);
    let refused = steps[0].as_ref().unwrap_err();
    assert!(
        refused.contains("Try again") && refused.contains("was not run"),
        "{refused}"
    );
    assert!(!refused.contains("forbidden"), "{refused}");
    assert_eq!(steps[1], Ok(SandboxStep::Namespace));
}

/// It may have lacked memory or files before it could say so.
#[test]
fn a_helper_that_fails_before_it_answers_says_nothing_about_the_machine() {
    let steps = steps_of("fail\nfail\nok\n", 2);
    assert!(
        steps[0].as_ref().unwrap_err().contains("exit status: 127"),
        "{steps:?}"
    );
    assert_eq!(steps[1], Ok(SandboxStep::Namespace));
}

#[test]
fn a_program_that_is_no_helper_is_a_lasting_reason() {
    let gone = Path::new("/made-up/helper");
    let launcher = SandboxLauncher::new(gone, SandboxMode::Everyday, SandboxProfile::default());
    assert_eq!(launcher.step(), Ok(SandboxStep::None));
    let strict = SandboxMode::Step(SandboxStep::Namespace);
    let launcher = SandboxLauncher::new(gone, strict, SandboxProfile::default());
    assert!(matches!(launcher.step(), Err(SandboxError::Unsupported { .. })));
}
