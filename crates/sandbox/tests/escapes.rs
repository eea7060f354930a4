//! Attempts to get out: each is a line of the shell that succeeds if it got out. The table says in which
//! steps nothing is promised against it; in all others it has to fail.

use std::io::Read as _;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::{Child, Command, Stdio};

use agentx_sandbox::SandboxStep;
use agentx_sandbox::SandboxStep::{Landlock, Namespace, None as Bare};

use crate::held::{FromTemplate, HELD, SECRET, World, said, steps};

/// An attempt.
struct Attempt {
    name: &'static str,
    line: &'static str,
    /// Steps that promise nothing against it, in which it has to succeed, so that the table stays true.
    /// `Bare` for an attempt that is tried without a sandbox as well: it shows that the line would get out.
    open: &'static [SandboxStep],
}

const fn attempt(name: &'static str, line: &'static str, open: &'static [SandboxStep]) -> Attempt {
    Attempt { name, line, open }
}

const BARE: &[SandboxStep] = &[Bare];
const BARE_AND_LANDLOCK: &[SandboxStep] = &[Bare, Landlock];
/// Without a sandbox, only root gets out by it: it is tried so where the tests run as root.
const AS_ROOT: &[SandboxStep] = &[Bare, Bare];
/// Never tried without a sandbox, so no test shows that the line would get out: it would change or end
/// something of this machine, or what it does unheld depends on the machine (its kernel, its devices, its
/// limits).
const NEVER: &[SandboxStep] = &[];

/// Files that may not be read or changed.
const FILES: &[Attempt] = &[
    attempt("a key", "grep -q planted $HOME/.ssh/id_ed25519", BARE),
    attempt(
        "cloud credentials",
        "grep -q planted $HOME/.aws/credentials",
        BARE,
    ),
    attempt(
        "a token in a directory that can be read",
        "grep -q planted $HOME/.cargo/credentials.toml",
        BARE,
    ),
    attempt(
        "a note in the home directory",
        "grep -q planted $HOME/notes",
        BARE,
    ),
    attempt("a file elsewhere", "grep -q planted $ROOT/outside/file", BARE),
    attempt(
        "the names of a home directory",
        "ls $HOME/.ssh | grep -q id_",
        BARE,
    ),
    attempt(
        "the passwords of the system",
        r#"[ -n "$(cat /etc/shadow)" ]"#,
        AS_ROOT,
    ),
    attempt("a new file elsewhere", "touch $ROOT/outside/planted", BARE),
    attempt("a new file in the home directory", "touch $HOME/planted", BARE),
    attempt("a start file of the shell", "echo x >> $HOME/.bashrc", BARE),
    attempt("a file emptied", ": > $ROOT/outside/file", BARE),
    attempt("a file moved away", "mv $ROOT/outside/file taken", BARE),
    attempt("a directory moved away", "mv $ROOT/outside taken", BARE),
    attempt(
        "a file moved over another",
        "echo x > n && mv n $ROOT/outside/file",
        BARE,
    ),
    attempt("a file of the system", "touch /etc/planted", NEVER),
    attempt("a program of the system", "touch /usr/bin/planted", NEVER),
    attempt("a mode", "chmod 640 $ROOT/outside/file", BARE_AND_LANDLOCK),
    attempt(
        "whether a file is there",
        "[ -e $ROOT/outside/file ]",
        BARE_AND_LANDLOCK,
    ),
];

/// Ways around paths.
const PATHS: &[Attempt] = &[
    attempt(
        "a symbolic link to a key",
        "ln -s $HOME/.ssh/id_ed25519 l1 && grep -q planted l1",
        BARE,
    ),
    attempt(
        "a symbolic link to a directory",
        "ln -s $ROOT/outside l2 && touch l2/planted",
        BARE,
    ),
    attempt(
        "a hard link to a key",
        "ln $HOME/.ssh/id_ed25519 l3 && grep -q planted l3",
        BARE,
    ),
    attempt("two dots", "grep -q planted ../home/.ssh/id_ed25519", BARE),
    attempt(
        "the root of the process",
        "grep -q planted /proc/self/root$HOME/.ssh/id_ed25519",
        BARE,
    ),
    attempt(
        "the directory of the process",
        "grep -q planted /proc/self/cwd/../home/.ssh/id_ed25519",
        BARE,
    ),
    attempt(
        "a link that changes while it is read",
        "for i in 1 2 3 4 5 6 7 8 9; do ln -sfn .git/config l4; ln -sfn $HOME/.ssh/id_ed25519 l4; \
         grep -q planted l4 && exit 0; done; exit 1",
        BARE,
    ),
    attempt("a hook", "echo x > .git/hooks/post-commit", BARE_AND_LANDLOCK),
    attempt(
        "the configuration of Git",
        "echo x >> .git/config",
        BARE_AND_LANDLOCK,
    ),
    attempt(
        "another place for the settings of Git",
        "echo ../evil > .git/commondir",
        BARE_AND_LANDLOCK,
    ),
    attempt(
        "that place under another name",
        "echo ../evil > .git/c && mv -f .git/c .git/commondir",
        BARE_AND_LANDLOCK,
    ),
    attempt(
        "the settings of a worktree",
        "echo x > .git/config.worktree",
        BARE_AND_LANDLOCK,
    ),
    attempt(
        "the settings of a submodule",
        "echo x >> .git/modules/sub/config",
        BARE_AND_LANDLOCK,
    ),
    attempt(
        "a submodule in the place of another",
        "mv .git/modules/sub .git/modules/sub2 && mv .git/modules/sub2 .git/modules/sub",
        BARE_AND_LANDLOCK,
    ),
    attempt(
        "the repositories of all submodules",
        "mv .git/modules .git/m && mv .git/m .git/modules",
        BARE_AND_LANDLOCK,
    ),
    attempt(
        "a new repository below the workspace",
        "mkdir -p sub/.git && touch sub/.git/config",
        &[Bare, Landlock, Namespace],
    ),
    attempt(
        "a repository in the place of another",
        "mv .git .g && mv .g .git",
        BARE_AND_LANDLOCK,
    ),
];

/// Other processes: `$VICTIM` is one, with the secret in its environment and on its command line.
const PROCESSES: &[Attempt] = &[
    attempt(
        "the environment of another",
        "grep -qa planted /proc/$VICTIM/environ",
        BARE,
    ),
    attempt(
        "the directory of another",
        "ls /proc/$VICTIM/cwd/ >/dev/null",
        BARE,
    ),
    attempt(
        "files through the root of another",
        "grep -q planted /proc/$VICTIM/root$HOME/notes",
        BARE,
    ),
    attempt("the descriptors of another", "ls /proc/$VICTIM/fd/0", BARE),
    attempt("the memory of another", ": < /proc/$VICTIM/mem", BARE),
    attempt(
        "the command line of another",
        "grep -qa planted /proc/$VICTIM/cmdline",
        BARE_AND_LANDLOCK,
    ),
    attempt("a signal", "kill -0 $VICTIM", BARE),
    attempt("a signal that ends", "kill -TERM $VICTIM", NEVER),
    attempt("the namespaces of another", "nsenter -t $VICTIM -m true", AS_ROOT),
    attempt(
        "the priority of another by its limits",
        "prlimit --pid $VICTIM --nofile=100:100",
        AS_ROOT,
    ),
    attempt("tracing", "py 'c(101, 16, V, 0, 0)'", NEVER),
    attempt(
        "memory by a system call",
        "py 'c(310, V, 0, 0, 0, 0, 0)'",
        AS_ROOT,
    ),
    attempt(
        "a descriptor of another",
        "py 'c(438, c(434, V, 0), 0, 0)'",
        AS_ROOT,
    ),
];

/// Sockets: servers listen at `$PORT`, at a path and at an abstract name.
const SOCKETS: &[Attempt] = &[
    attempt(
        "a server of this machine",
        "py 's(2, 1).connect((\"127.0.0.1\", PORT))'",
        BARE,
    ),
    attempt(
        "the same in another protocol",
        "py 's(10, 1).connect((\"::ffff:127.0.0.1\", PORT))'",
        BARE,
    ),
    attempt(
        "the same from a process that it starts",
        "(py 's(2, 1).connect((\"127.0.0.1\", PORT))')",
        BARE,
    ),
    attempt(
        "another machine by packets",
        "py 's(2, 2).connect((\"192.0.2.1\", 53))'",
        NEVER,
    ),
    attempt(
        "a daemon at a path",
        "py 's(1, 1).connect(ROOT + \"outside/agent\")'",
        BARE,
    ),
    attempt(
        "a daemon at an abstract name",
        "py 's(1, 1).connect(b\"\\0\" + NAME)'",
        BARE,
    ),
    attempt("raw packets", "py 's(17, 3)'", AS_ROOT),
    attempt("the cryptography of the kernel", "py 's(38, 5)'", NEVER),
    attempt("a virtual machine's host", "py 's(40, 1)'", NEVER),
    attempt("the agent of keys", r#"[ -n "$SSH_AUTH_SOCK" ]"#, BARE),
    attempt(
        "the agent of keys from the helper",
        "grep -qa SSH_AUTH_SOCK=$ROOT /proc/*/environ",
        BARE,
    ),
];

/// With a network, what else listens on this machine is still out of reach.
const SOCKETS_WITH_NETWORK: &[Attempt] = &[
    attempt(
        "a daemon at a path",
        "py 's(1, 1).connect(ROOT + \"outside/agent\")'",
        BARE,
    ),
    attempt(
        "a daemon at an abstract name",
        "py 's(1, 1).connect(b\"\\0\" + NAME)'",
        BARE,
    ),
    attempt("raw packets", "py 's(17, 3)'", AS_ROOT),
];

/// Mounts, devices, privileges, the kernel. None is tried without a sandbox. Numbers of system calls are
/// those of x86-64; a call with arguments that make no sense would fail otherwise than by being refused.
const KERNEL: &[Attempt] = &[
    attempt("a user namespace", "unshare -U true", NEVER),
    attempt("a mount namespace", "unshare -m true", NEVER),
    attempt("a mount", "mount -t tmpfs none /proc/self/cwd", NEVER),
    attempt("a bind mount", "mount --bind /usr /etc", NEVER),
    attempt("what was mounted over a secret", "umount /etc/shadow", NEVER),
    attempt("another root", "chroot / true", AS_ROOT),
    attempt(
        "a namespace by clone",
        "py 'c(56, 0x10000011, 0, 0, 0, 0)'",
        NEVER,
    ),
    attempt("a namespace by clone3", "py 'n(38, 435, 0, 0)'", NEVER),
    attempt("a tree of mounts", "py 'r(428, -100, 0, 1)'", BARE),
    attempt("a new file system", "py 'r(430, 0, 0)'", NEVER),
    attempt("a file by its handle", "py 'r(304, -100, 0, 0)'", NEVER),
    attempt("a device node", "mknod node c 1 1", NEVER),
    attempt("a disk", "py 'disk()'", NEVER),
    attempt("the memory of the machine", "head -c 1 /dev/mem", NEVER),
    attempt("the terminal", ": > /dev/tty", NEVER),
    attempt("typing into a terminal", "py 'r(16, 0, 0x5412, 0)'", BARE),
    attempt("capabilities over the machine", "py 'caps()'", NEVER),
    attempt(
        "privileges by a program",
        "grep -q 'NoNewPrivs:.0' /proc/self/status",
        BARE,
    ),
    attempt("a setting of the kernel", ": >> /proc/sys/kernel/hostname", NEVER),
    attempt("a key of the kernel", ": >> /proc/sysrq-trigger", NEVER),
    attempt(
        "a setting of the hardware",
        ": >> /sys/kernel/mm/transparent_hugepage/enabled",
        NEVER,
    ),
    attempt("a program in the kernel", "py 'r(321, 0, 0, 0)'", NEVER),
    attempt("counters of the kernel", "py 'r(298, 0, 0, 0, 0, 0)'", NEVER),
    attempt("a queue of system calls", "py 'r(425, 1, 0)'", NEVER),
    attempt("faults in user space", "py 'r(323, 0)'", NEVER),
    attempt("a key ring", "py 'r(250, 0, 0, 0, 0, 0)'", BARE),
    attempt("a kernel module", "py 'r(313, -1, 0, 0)'", NEVER),
    attempt("another kernel", "py 'r(246, 0, 0, 0, 0)'", NEVER),
    attempt("the name of the machine", "py 'r(170, 0, 0)'", NEVER),
    attempt("a memory dump", r#"[ "$(ulimit -c)" != 0 ]"#, NEVER),
    attempt(
        "a file without an end",
        r#"[ "$(ulimit -f)" = unlimited ]"#,
        NEVER,
    ),
];

/// The meaning of `py` in an attempt: `c` a system call that has to succeed, `r` one that has to be anything
/// but refused, `n` one that has to fail otherwise than so, `s` a socket.
const PYTHON: &str = r#"
import ctypes, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
V, PORT, ROOT, NAME = int(os.environ["VICTIM"]), int(os.environ["PORT"]), os.environ["ROOT"], os.environ["NAME"].encode()
def call(*a):
    found = libc.syscall(*[ctypes.c_long(x) for x in a])
    return found, ctypes.get_errno()
def c(*a):
    found, error = call(*a)
    if found == 0 and a[0] == 56: os._exit(0)
    if found < 0: sys.exit(f"error {error}")
    return found
def n(expected, *a):
    found, error = call(*a)
    if found < 0 and error == expected: sys.exit("refused")
def r(*a): n(1, *a)
def s(family, kind): return socket.socket(family, kind)
def disk():
    import glob
    for name in glob.glob("/dev/[svn][dv][a-z]*"):
        try: return open(name, "rb").read(1)
        except OSError: pass
    sys.exit("none can be read")
def caps():
    held = [int(l.split()[1], 16) for l in open("/proc/self/status") if l.startswith(("CapEff", "CapPrm", "CapBnd"))]
    if os.getuid() != 0: held = held[:1]
    if not any(h & (1 << 21 | 1 << 19 | 1 << 16 | 1 << 2) for h in held): sys.exit("none")
"#;

/// A process that sleeps, with the secret in its environment. Ends with the test.
struct Victim(Child);

impl Victim {
    fn new() -> Self {
        let mut command = Command::new("sh");
        // The shell says that it is there, and then stays.
        command
            .args(["-c", "echo; read -r word", SECRET])
            .env("OWN", SECRET);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        Self(child)
    }

    fn lives(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Tries the attempts in each step, and without one where the table says that they get out then.
fn check(attempts: &[Attempt], network: bool) {
    let mut wrong = Vec::new();
    let steps = steps();
    let from_template = steps.contains(&Namespace).then_some((Namespace, true));
    let by_helper = [Bare].into_iter().chain(steps).map(|step| (step, false));
    for (step, from_template) in by_helper.chain(from_template) {
        for attempt in attempts
            .iter()
            .filter(|attempt| step != Bare || is_tried_bare(attempt))
        {
            let got_out = tried(attempt, step, from_template, network);
            let is_open = attempt.open.contains(&step);
            match got_out {
                Ok(said) if !is_open => wrong.push(format!("{step}: {} got out: {said}", attempt.name)),
                Err(said) if is_open => {
                    wrong.push(format!("{step}: {} is said to get out: {said}", attempt.name))
                }
                Ok(_) | Err(_) => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether an attempt is made without a sandbox, in which it has to get out.
fn is_tried_bare(attempt: &Attempt) -> bool {
    let is_root = || std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    attempt.open.contains(&Bare) && (attempt.open != AS_ROOT || is_root())
}

/// Returns what the attempt said: `Ok` if it got out, `Err` if it did not.
fn tried(attempt: &Attempt, step: SandboxStep, from_template: bool, network: bool) -> Result<String, String> {
    let mut world = World::new();
    world.network = network;
    let mut victim = Victim::new();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let _daemon = UnixListener::bind(world.path("outside/agent")).unwrap();
    let name = format!("made-up-{}", victim.0.id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _abstract = UnixListener::bind_addr(&address).unwrap();
    let line = format!(
        "py() {{ /usr/bin/python3 -c \"$PYTHON\n$1\"; }}; {}",
        attempt.line
    );
    let mut command = world.command(step, &["sh", "-c", &line]);
    command
        .env("VICTIM", victim.0.id().to_string())
        .env("PORT", server.local_addr().unwrap().port().to_string())
        .env("NAME", &name)
        .env("PYTHON", PYTHON);
    let (status, said) = if from_template {
        FromTemplate::new(&world, network).finish(&command)
    } else {
        let output = command.stdin(Stdio::null()).output().unwrap();
        (output.status, said(&output))
    };
    assert!(victim.lives(), "{step}: {} ended another process", attempt.name);
    if step != Bare {
        std::fs::remove_file(world.path("outside/agent")).unwrap();
        assert!(world.is_unharmed(), "{step}: {} changed something", attempt.name);
    }
    assert!(
        step == Bare || !said.contains(SECRET),
        "{step}: {} told the secret",
        attempt.name
    );
    if status.success() { Ok(said) } else { Err(said) }
}

#[test]
fn files_are_out_of_reach() {
    check(FILES, false);
}

#[test]
fn no_path_leads_around() {
    check(PATHS, false);
}

#[test]
fn other_processes_are_out_of_reach() {
    check(PROCESSES, false);
}

#[test]
fn nothing_listens_for_it() {
    check(SOCKETS, false);
    check(SOCKETS_WITH_NETWORK, true);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_kernel_refuses() {
    check(KERNEL, false);
}

#[test]
fn the_table_is_long_and_its_names_are_unique() {
    let tables = [FILES, PATHS, PROCESSES, SOCKETS, SOCKETS_WITH_NETWORK, KERNEL];
    let count: usize = tables.iter().map(|table| table.len()).sum();
    assert!(count >= 80, "{count}");
}

/// A descriptor that a program forgot to close is not inherited.
#[test]
fn an_open_descriptor_is_not_inherited() {
    let world = World::new();
    for step in steps() {
        let key = world.path("home/.ssh/id_ed25519");
        let line = format!("exec 9<{}; exec \"$@\"", key.display());
        let mut words = vec![HELD.to_owned(), step.as_str().to_owned()];
        words.push(world.path("work").display().to_string());
        words.extend(["sh", "-c", "cat <&9"].map(str::to_owned));
        let output = Command::new("sh")
            .args(["-c", &line, "sh"])
            .args(&words)
            .env("HOME", world.path("home"))
            .output();
        let output = output.unwrap();
        assert!(
            !output.status.success() && !said(&output).contains(SECRET),
            "{step}: {}",
            said(&output)
        );
    }
}

/// A file that a command in a sandbox plants does not let the next command out.
#[test]
fn a_planted_repository_opens_nothing() {
    for step in steps() {
        let world = World::new();
        std::fs::rename(world.path("work/.git"), world.path("work/.g")).unwrap();
        std::os::unix::fs::symlink(world.path("outside"), world.path("work/.git")).unwrap();
        let output = world.run(step, "touch .git/planted");
        assert!(
            !output.status.success() && world.is_unharmed(),
            "{step}: {}",
            said(&output)
        );
    }
}

/// A link that one command put in a directory of programs, or of Cargo, does not let the next one out.
#[test]
fn a_planted_link_leads_nowhere() {
    for step in steps() {
        let world = World::new();
        let plant = "mkdir -p .venv .cargo && ln -s $HOME .venv/bin && ln -s $ROOT/outside .cargo/registry";
        let output = world.run(step, plant);
        assert!(output.status.success(), "{step}: {}", said(&output));
        let held = |line: &str| {
            let mut command = world.command(step, &["sh", "-c", line]);
            let path = format!("{}:/usr/bin:/bin", world.path("work/.venv/bin").display());
            command
                .env("PATH", path)
                .env("CARGO_HOME", world.path("work/.cargo"));
            command.output().unwrap()
        };
        for line in [
            "cat $HOME/notes",
            "touch $ROOT/outside/planted",
            "cat .venv/bin/.ssh/id_ed25519",
        ] {
            let output = held(line);
            assert!(
                !output.status.success() && world.is_unharmed(),
                "{step}: {line}: {}",
                said(&output)
            );
        }
        assert!(held("touch built").status.success());
    }
}

/// A pointer to other settings of Git, which only Landlock lets a command write, stops the next command.
#[test]
fn a_planted_pointer_stops_the_next_command() {
    for step in steps() {
        let world = World::new();
        std::fs::write(world.path("work/.git/commondir"), "../evil\n").unwrap();
        let output = world.run(step, "true");
        assert!(!output.status.success(), "{step}");
        assert!(said(&output).contains("commondir"), "{}", said(&output));
    }
}

/// Directories that all programs share are the command's own, or out of reach.
#[test]
fn shared_directories_are_not_shared() {
    let world = World::new();
    let name = format!("agentx-planted-{}", std::process::id());
    for step in steps() {
        for directory in ["/tmp", "/dev/shm", "/var/tmp"] {
            let path = format!("{directory}/{name}");
            world.run(step, &format!("touch {path}"));
            assert!(!std::path::Path::new(&path).exists(), "{step}: {path}");
        }
    }
}

/// A file that a command leaves in its directory for temporary files is found by the next command and, at the
/// same path, by other programs. A command that puts something else in the way leads nobody astray.
#[test]
fn temporary_files_are_found_outside_by_the_path_in_the_environment() {
    for step in steps() {
        let world = World::new();
        let kept = world.run(
            step,
            "echo kept > $TMPDIR/a; cat $TMPDIR/a >&2; printf %s $TMPDIR",
        );
        assert_eq!(String::from_utf8_lossy(&kept.stderr), "kept\n", "{step}");
        let directory = std::path::PathBuf::from(String::from_utf8(kept.stdout).unwrap());
        let found = std::fs::read_to_string(directory.join("a")).unwrap();
        assert_eq!(found, "kept\n", "{step}: {}", directory.display());
        let again = world.run(step, "cat $TMPDIR/a");
        assert_eq!(said(&again), "kept\n", "{step}");
        if step == Namespace {
            assert_eq!(said(&world.run(step, "cat /tmp/a")), "kept\n");
            let line = "at=/tmp/agentx-$(id -u); rm -rf $at && ln -s $ROOT/outside $at";
            assert!(world.run(step, line).status.success());
            let other = world.run(step, "echo kept > $TMPDIR/b; cat /tmp/b");
            assert_eq!(said(&other), "kept\n");
            assert!(world.is_unharmed());
        }
        std::fs::remove_dir_all(directory).unwrap();
    }
}
