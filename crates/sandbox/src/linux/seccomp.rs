//! The filter of system calls, as a program for the kernel's BPF machine: what a command never needs, and
//! what would lead around the other layers.
//!
//! It refuses with `EPERM`, so that a program can fall back to another way. Calls of another architecture and
//! unknown forms (`clone3`, whose arguments a filter cannot read) get `ENOSYS`.

use nix::libc::{self, c_long};

use super::bpf::{
    ALLOW, ARCHITECTURE, JUMP_BITS, JUMP_EQUAL, JUMP_GREATER_OR_EQUAL, MASK, NUMBER, REFUSE, UNKNOWN,
    argument, constant, jump, load, result, word,
};
use super::kernel::Instruction;

/// The system calls that the filter permits, depending on the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FilterRules {
    /// `AF_INET` and `AF_INET6`.
    pub(crate) internet: InternetSockets,
    /// `AF_UNIX`. Landlock cannot tell the paths of sockets apart, so without its own root a command could
    /// talk to any daemon.
    pub(crate) unix: bool,
    /// Memory, semaphores and queues of System V, which all programs of a person share.
    pub(crate) system_v: bool,
}

/// Sockets of the internet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InternetSockets {
    /// None.
    None,
    /// Those of TCP, whose connections Landlock holds to a port.
    Tcp,
    /// All.
    All,
}

#[cfg(target_arch = "x86_64")]
const OWN_ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const OWN_ARCHITECTURE: u32 = 0xC000_00B7;

/// Flags of `clone` that make a namespace.
const NAMESPACES: u32 = 0x7E02_0000;
/// `TIOCSTI` and `TIOCLINUX` type into a terminal as if a person did.
const TYPING: [u32; 2] = [0x5412, 0x541C];

/// System calls that are always refused.
const REFUSED: &[c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Mounts, roots, namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    // Files by handle, which paths and their rules do not cover.
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    // Keys of the person's session.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // Parts of the kernel with many holes, which a command does not need.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // The machine.
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
];

/// Those that only this architecture has.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[c_long] = &[libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_kexec_file_load];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[c_long] = &[];

/// Those that reach memory of other programs by a number.
const SYSTEM_V: &[c_long] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_msgget,
    libc::SYS_semget,
];

/// Returns the filter.
pub(crate) fn filter(rules: FilterRules) -> Vec<Instruction> {
    let mut program = vec![
        load(ARCHITECTURE),
        jump(JUMP_EQUAL, OWN_ARCHITECTURE, 1, 0),
        result(UNKNOWN),
        load(NUMBER),
    ];
    // The numbers of the x32 form of calls.
    const X32: u32 = 0x4000_0000;
    program.extend([jump(JUMP_GREATER_OR_EQUAL, X32, 0, 1), result(UNKNOWN)]);
    let system_v = SYSTEM_V.iter().filter(|_| !rules.system_v);
    let refused = REFUSED.iter().chain(REFUSED_HERE).chain(system_v);
    add_refusals(&mut program, refused.map(|number| word(*number)).collect());
    program.extend([jump(JUMP_EQUAL, word(libc::SYS_clone3), 0, 1), result(UNKNOWN)]);
    let clone = [
        load(argument(0)),
        jump(JUMP_BITS, NAMESPACES, 0, 1),
        result(REFUSE),
        result(ALLOW),
    ];
    add_decision(&mut program, libc::SYS_clone, &clone);
    let mut ioctl = vec![load(argument(1))];
    ioctl.extend(
        TYPING
            .into_iter()
            .flat_map(|request| [jump(JUMP_EQUAL, request, 0, 1), result(REFUSE)]),
    );
    ioctl.push(result(ALLOW));
    add_decision(&mut program, libc::SYS_ioctl, &ioctl);
    add_decision(&mut program, libc::SYS_socket, &families(rules));
    if rules.internet == InternetSockets::Tcp {
        add_fast_open(&mut program);
    }
    // `socketpair` reaches no other process.
    add_decision(
        &mut program,
        libc::SYS_socketpair,
        &families(FilterRules { unix: true, ..rules }),
    );
    // Limits of another process; 0 is the process itself.
    let limits = [
        load(argument(0)),
        jump(JUMP_EQUAL, 0, 1, 0),
        result(REFUSE),
        result(ALLOW),
    ];
    add_decision(&mut program, libc::SYS_prlimit64, &limits);
    add_decision(&mut program, libc::SYS_mknodat, &no_device(2));
    #[cfg(target_arch = "x86_64")]
    add_decision(&mut program, libc::SYS_mknod, &no_device(1));
    program.push(result(ALLOW));
    program
}

/// Lets sockets of these families through.
fn families(rules: FilterRules) -> Vec<Instruction> {
    let mut allowed = Vec::new();
    if rules.unix {
        allowed.push(libc::AF_UNIX);
    }
    match rules.internet {
        InternetSockets::None => {}
        // Addresses and names are looked up with it.
        InternetSockets::Tcp => allowed.push(libc::AF_NETLINK),
        InternetSockets::All => allowed.extend([libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]),
    }
    let mut part = vec![load(argument(0))];
    for family in allowed {
        part.extend([jump(JUMP_EQUAL, constant(family), 0, 1), result(ALLOW)]);
    }
    if rules.internet == InternetSockets::Tcp {
        part.extend(only_tcp());
    }
    part.push(result(REFUSE));
    part
}

/// Lets sockets of the internet through that speak TCP. Those of other protocols (UDP, MPTCP, SCTP) would not
/// be held by Landlock's rules for ports. The family is loaded already.
fn only_tcp() -> Vec<Instruction> {
    /// The kind of a socket without its flags.
    const KIND: u32 = 0xf;
    vec![
        jump(JUMP_EQUAL, constant(libc::AF_INET), 2, 0),
        jump(JUMP_EQUAL, constant(libc::AF_INET6), 1, 0),
        result(REFUSE),
        load(argument(1)),
        Instruction {
            code: MASK,
            jump_true: 0,
            jump_false: 0,
            value: KIND,
        },
        jump(JUMP_EQUAL, constant(libc::SOCK_STREAM), 1, 0),
        result(REFUSE),
        load(argument(2)),
        jump(JUMP_EQUAL, 0, 1, 0),
        jump(JUMP_EQUAL, constant(libc::IPPROTO_TCP), 0, 1),
        result(ALLOW),
    ]
}

/// Refuses to connect by sending (`MSG_FASTOPEN`), where Landlock does not look at the port.
fn add_fast_open(program: &mut Vec<Instruction>) {
    const FAST_OPEN: u32 = 0x2000_0000;
    for (number, flags) in [
        (libc::SYS_sendto, 3),
        (libc::SYS_sendmsg, 2),
        (libc::SYS_sendmmsg, 3),
    ] {
        let part = [
            load(argument(flags)),
            jump(JUMP_BITS, FAST_OPEN, 0, 1),
            result(REFUSE),
            result(ALLOW),
        ];
        add_decision(program, number, &part);
    }
}

/// Refuses to make a device, in a call whose argument at this place is the kind of the file.
fn no_device(kind: u32) -> Vec<Instruction> {
    let mut part = vec![
        load(argument(kind)),
        Instruction {
            code: MASK,
            jump_true: 0,
            jump_false: 0,
            value: libc::S_IFMT,
        },
    ];
    for device in [libc::S_IFCHR, libc::S_IFBLK] {
        part.extend([jump(JUMP_EQUAL, device, 0, 1), result(REFUSE)]);
    }
    part.push(result(ALLOW));
    part
}

/// Refuses system calls. They are compared in groups, of which all but one are passed over: the kernel tries
/// the filter with each number when it is installed, which would cost more than all else of it.
fn add_refusals(program: &mut Vec<Instruction>, mut numbers: Vec<u32>) {
    const GROUP: usize = 8;
    numbers.sort_unstable();
    let groups: Vec<&[u32]> = numbers.chunks(GROUP).collect();
    let length = numbers.len() + groups.len().saturating_sub(1);
    let start = program.len();
    for (at, group) in groups.iter().enumerate() {
        if let Some(next) = groups.get(at + 1) {
            program.push(jump(JUMP_GREATER_OR_EQUAL, next[0], distance(group.len()), 0));
        }
        for (at, number) in group.iter().enumerate() {
            let rest = length - (program.len() - start);
            let behind = if at + 1 < group.len() { 0 } else { rest };
            program.push(jump(JUMP_EQUAL, *number, distance(rest - 1), distance(behind)));
        }
    }
    program.push(result(REFUSE));
}

/// The distance of a jump. The filter has none that is longer than can be said.
fn distance(instructions: usize) -> u8 {
    u8::try_from(instructions).unwrap_or(u8::MAX)
}

/// Adds a part that decides about one system call. It ends with a result, and the parts behind it see the
/// number of the call again.
fn add_decision(program: &mut Vec<Instruction>, number: c_long, part: &[Instruction]) {
    program.push(jump(JUMP_EQUAL, word(number), 0, distance(part.len())));
    program.extend_from_slice(part);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::bpf::{LOAD, RETURN};

    /// Returns the result of the kernel's BPF machine for a call, for the part of BPF that the filter uses.
    fn run(program: &[Instruction], architecture: u32, number: c_long, arguments: [u32; 6]) -> u32 {
        let mut data = [0; 64];
        data[0..4].copy_from_slice(&word(number).to_ne_bytes());
        data[4..8].copy_from_slice(&architecture.to_ne_bytes());
        for (at, value) in arguments.into_iter().enumerate() {
            data[16 + 8 * at..20 + 8 * at].copy_from_slice(&value.to_ne_bytes());
        }
        let (mut held, mut at) = (0, 0);
        loop {
            let step = program[at];
            at += 1;
            let is_so = match step.code {
                LOAD => {
                    let from = step.value as usize;
                    held = u32::from_ne_bytes(data[from..from + 4].try_into().unwrap());
                    continue;
                }
                MASK => {
                    held &= step.value;
                    continue;
                }
                RETURN => return step.value,
                JUMP_EQUAL => held == step.value,
                JUMP_GREATER_OR_EQUAL => held >= step.value,
                JUMP_BITS => held & step.value != 0,
                other => panic!("{other:#x} is not a code of the filter"),
            };
            at += usize::from(if is_so { step.jump_true } else { step.jump_false });
        }
    }

    #[test]
    fn each_refused_call_is_refused_and_its_neighbours_are_not() {
        let rules = FilterRules {
            internet: InternetSockets::All,
            unix: true,
            system_v: false,
        };
        let refused: Vec<c_long> = [REFUSED, REFUSED_HERE, SYSTEM_V].concat();
        let others = [
            libc::SYS_clone,
            libc::SYS_clone3,
            libc::SYS_socket,
            libc::SYS_ioctl,
        ];
        for number in 0..700 {
            if others.contains(&number) {
                continue;
            }
            let expected = if refused.contains(&number) { REFUSE } else { ALLOW };
            // The arguments of the calls that are looked at are those of a harmless one.
            let arguments = if number == libc::SYS_socketpair { [1] } else { [0] };
            assert_eq!(decided(rules, number, &arguments), expected, "{number}");
        }
    }

    fn decided(sockets: FilterRules, number: c_long, arguments: &[u32]) -> u32 {
        let mut all = [0; 6];
        all[..arguments.len()].copy_from_slice(arguments);
        run(&filter(sockets), OWN_ARCHITECTURE, number, all)
    }

    #[test]
    fn calls_are_decided_by_their_number_and_arguments() {
        let closed = FilterRules {
            internet: InternetSockets::None,
            unix: false,
            system_v: false,
        };
        let open = FilterRules {
            internet: InternetSockets::All,
            unix: true,
            system_v: true,
        };
        let tcp = FilterRules {
            internet: InternetSockets::Tcp,
            ..closed
        };
        let table: &[(FilterRules, c_long, &[u32], u32)] = &[
            (closed, libc::SYS_read, &[], ALLOW),
            (closed, libc::SYS_execve, &[], ALLOW),
            (closed, libc::SYS_ptrace, &[], REFUSE),
            (closed, libc::SYS_shmget, &[], REFUSE),
            (open, libc::SYS_shmget, &[], ALLOW),
            (open, libc::SYS_mount, &[], REFUSE),
            (open, libc::SYS_clone, &[0x0100_0011], ALLOW),
            (open, libc::SYS_clone, &[0x1000_0011], REFUSE),
            (open, libc::SYS_clone3, &[], UNKNOWN),
            (open, libc::SYS_prlimit64, &[0], ALLOW),
            (open, libc::SYS_prlimit64, &[1], REFUSE),
            (open, libc::SYS_ioctl, &[0, 0x5401], ALLOW),
            (open, libc::SYS_ioctl, &[0, 0x5412], REFUSE),
            (closed, libc::SYS_socket, &[1], REFUSE),
            (closed, libc::SYS_socket, &[2], REFUSE),
            (closed, libc::SYS_socketpair, &[1], ALLOW),
            (open, libc::SYS_socket, &[1], ALLOW),
            (open, libc::SYS_socket, &[2], ALLOW),
            (open, libc::SYS_socket, &[10], ALLOW),
            (open, libc::SYS_socket, &[17], REFUSE),
            (open, libc::SYS_socket, &[38], REFUSE),
            (open, libc::SYS_mknodat, &[0, 0, libc::S_IFIFO | 0o600], ALLOW),
            (open, libc::SYS_mknodat, &[0, 0, libc::S_IFCHR | 0o600], REFUSE),
            (tcp, libc::SYS_socket, &[2, 1, 0], ALLOW),
            (tcp, libc::SYS_socket, &[10, 0x8_0801, 6], ALLOW),
            (tcp, libc::SYS_socket, &[2, 2, 0], REFUSE),
            (tcp, libc::SYS_socket, &[2, 1, 262], REFUSE),
            (tcp, libc::SYS_socket, &[2, 3, 6], REFUSE),
            (tcp, libc::SYS_socket, &[1, 1, 0], REFUSE),
            (tcp, libc::SYS_socket, &[16, 3, 0], ALLOW),
            (tcp, libc::SYS_sendto, &[3, 0, 1, 0x2000_0000], REFUSE),
            (tcp, libc::SYS_sendmsg, &[3, 0, 0x2000_0000], REFUSE),
            (tcp, libc::SYS_sendmmsg, &[3, 0, 1, 0x2000_0000], REFUSE),
            (tcp, libc::SYS_sendto, &[3, 0, 1, 0x4000], ALLOW),
            (open, libc::SYS_sendto, &[3, 0, 1, 0x2000_0000], ALLOW),
            (open, 0x4000_0000, &[], UNKNOWN),
        ];
        for (sockets, number, arguments, expected) in table {
            assert_eq!(
                decided(*sockets, *number, arguments),
                *expected,
                "{number} {arguments:?}"
            );
        }
        assert_eq!(
            run(&filter(open), 0x4000_0003, 1, [0; 6]),
            UNKNOWN,
            "another architecture"
        );
        assert!(
            filter(open).len() < 4096,
            "the longest program that the kernel takes"
        );
    }
}
