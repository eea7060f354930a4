//! The filter of system calls, as a program for the kernel's BPF machine: what a command never needs, and
//! what would lead around the other layers.
//!
//! It refuses with `EPERM`, so that a program can fall back to another way. Calls of another architecture and
//! unknown forms (`clone3`, whose arguments a filter cannot read) get `ENOSYS`.

use nix::libc::{self, c_long};

use super::kernel::Instruction;

/// The system calls that the filter permits, depending on the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FilterRules {
    /// `AF_INET` and `AF_INET6`.
    pub(crate) internet: bool,
    /// `AF_UNIX`. Landlock cannot tell the paths of sockets apart, so without its own root a command could
    /// talk to any daemon.
    pub(crate) unix: bool,
    /// Memory, semaphores and queues of System V, which all programs of a person share.
    pub(crate) system_v: bool,
}

const LOAD: u16 = 0x20;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_GREATER_OR_EQUAL: u16 = 0x35;
const JUMP_BITS: u16 = 0x45;
const MASK: u16 = 0x54;
const RETURN: u16 = 0x06;

/// Offsets in `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const REFUSE: u32 = libc::SECCOMP_RET_ERRNO | 1;
const UNKNOWN: u32 = libc::SECCOMP_RET_ERRNO | 38;

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
    for number in REFUSED.iter().chain(REFUSED_HERE).chain(system_v) {
        program.extend([jump(JUMP_EQUAL, word(*number), 0, 1), result(REFUSE)]);
    }
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
    let internet = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    let allowed = internet.into_iter().filter(|_| rules.internet);
    let allowed = allowed.chain([libc::AF_UNIX].into_iter().filter(|_| rules.unix));
    let mut part = vec![load(argument(0))];
    for family in allowed {
        let family = u32::try_from(family).unwrap_or(u32::MAX);
        part.extend([jump(JUMP_EQUAL, family, 0, 1), result(ALLOW)]);
    }
    part.push(result(REFUSE));
    part
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

/// Adds a part that decides about one system call. It ends with a result, and the parts behind it see the
/// number of the call again.
fn add_decision(program: &mut Vec<Instruction>, number: c_long, part: &[Instruction]) {
    // A part is shorter than a jump can be long.
    let over = u8::try_from(part.len()).unwrap_or(u8::MAX);
    program.push(jump(JUMP_EQUAL, word(number), 0, over));
    program.extend_from_slice(part);
}

/// The lower half of an argument, which is all that the kernel reads of these.
fn argument(at: u32) -> u32 {
    const FIRST: u32 = 16;
    let half = if cfg!(target_endian = "little") { 0 } else { 4 };
    FIRST + 8 * at + half
}

fn word(number: c_long) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn load(offset: u32) -> Instruction {
    Instruction {
        code: LOAD,
        jump_true: 0,
        jump_false: 0,
        value: offset,
    }
}

fn jump(code: u16, value: u32, jump_true: u8, jump_false: u8) -> Instruction {
    Instruction {
        code,
        jump_true,
        jump_false,
        value,
    }
}

fn result(value: u32) -> Instruction {
    Instruction {
        code: RETURN,
        jump_true: 0,
        jump_false: 0,
        value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
                other => panic!("{other:#x} is no code of the filter"),
            };
            at += usize::from(if is_so { step.jump_true } else { step.jump_false });
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
            internet: false,
            unix: false,
            system_v: false,
        };
        let open = FilterRules {
            internet: true,
            unix: true,
            system_v: true,
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
