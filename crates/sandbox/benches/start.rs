//! The time that a sandbox adds to the start and end of a command: `true` bare, by a helper of its own, and
//! from a template, in turn. `AGENTX_HELPER=target/release/agentx` measures the program itself as the helper.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints figures and stops at the first surprise"
)]

#[cfg(target_os = "linux")]
fn main() {
    measured::run();
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod measured {
    use std::ffi::OsStr;
    use std::os::fd::AsFd as _;
    use std::path::Path;
    use std::process::Command;
    use std::time::{Duration, Instant};

    use agentx_sandbox::{
        CommandPlace, SandboxLauncher, SandboxMode, SandboxNetwork, SandboxProfile, SandboxStep,
        SandboxedCommand, TemplateStart,
    };

    const ROUNDS: usize = 15;
    const STARTS: u32 = 20;
    /// The most that a command from a template may add, beside what a helper of its own adds.
    const MOST: f64 = 0.5;

    pub(super) fn run() {
        let helper = std::env::var("AGENTX_HELPER");
        let helper = helper.unwrap_or_else(|_| env!("CARGO_BIN_EXE_agentx-held").to_owned());
        let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        std::fs::create_dir_all(place.path().join("work/.git/hooks")).unwrap();
        let launcher = launcher(&helper, place.path());
        let support = launcher.support();
        if let Some(why) = support.why_not(SandboxStep::Namespace) {
            println!("namespaces do not work here: {why}");
            return;
        }
        let workspace = place.path().join("work");
        let bare = || wait_for(Command::new("/bin/true"));
        let by_helper = || {
            let held = held(&launcher, &workspace);
            let mut command = Command::new(&held.program);
            command.args(&held.arguments).current_dir(&workspace);
            wait_for(command);
        };
        let from_template = || start_from_template(&launcher, &workspace);
        let ways: [(&str, &dyn Fn()); 3] = [
            ("bare", &bare),
            ("helper", &by_helper),
            ("template", &from_template),
        ];
        let mut times = ways.map(|_| Vec::new());
        for _ in 0..ROUNDS {
            for ((_, way), times) in ways.iter().zip(&mut times) {
                way();
                let started = Instant::now();
                (0..STARTS).for_each(|_| way());
                times.push(started.elapsed() / STARTS);
            }
        }
        let [bare, by_helper, from_template] = times.map(median);
        let added = |time: Duration| time.saturating_sub(bare).as_secs_f64() * 1e3;
        let (helper, template) = (added(by_helper), added(from_template));
        println!(
            "`true`: {:.2} ms; a sandbox adds {helper:.2} ms by a helper, {template:.2} ms from a template: {:.1}x less",
            bare.as_secs_f64() * 1e3,
            helper / template
        );
        assert!(template <= helper * MOST, "a template saves too little");
    }

    fn launcher(helper: &str, home: &Path) -> SandboxLauncher {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let profile = SandboxProfile {
            home: Some(home.join("home")),
            program_directories: std::env::split_paths(&path).collect(),
            network: SandboxNetwork::On,
            ..SandboxProfile::default()
        };
        std::fs::create_dir_all(home.join("home")).unwrap();
        SandboxLauncher::new(helper, SandboxMode::Everyday, profile)
    }

    fn held(launcher: &SandboxLauncher, workspace: &Path) -> SandboxedCommand {
        let place = CommandPlace {
            workspace,
            session: "bench",
        };
        let command = launcher.command(Path::new("/bin/true"), &[OsStr::new("true")], place);
        command.unwrap().unwrap()
    }

    fn wait_for(mut command: Command) {
        assert!(command.status().unwrap().success());
    }

    /// Starts `true` and waits until it has ended and its output is closed, as the tools do.
    fn start_from_template(launcher: &SandboxLauncher, workspace: &Path) {
        let sandboxed = held(launcher, workspace);
        let (mut output, theirs) = std::io::pipe().unwrap();
        let start = TemplateStart {
            directory: workspace,
            variables: vec![(OsStr::new("AGENTX_CALL"), OsStr::new("bench"))],
            mark: OsStr::new("AGENTX_CALL"),
            output: theirs.as_fd(),
        };
        let mut process = launcher.start_from_template(&sandboxed, &start).unwrap().unwrap();
        drop(theirs);
        let mut said = String::new();
        std::io::Read::read_to_string(&mut output, &mut said).unwrap();
        let status = process.wait().unwrap();
        assert!(status.success() && said.is_empty(), "{status} {said}");
    }

    fn median(mut times: Vec<Duration>) -> Duration {
        times.sort();
        times[times.len() / 2]
    }
}
