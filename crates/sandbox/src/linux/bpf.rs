//! Instructions of the kernel's BPF machine, as far as the filter of system calls uses them.

use nix::libc::{self, c_long};

use super::kernel::Instruction;

pub(super) const LOAD: u16 = 0x20;
pub(super) const JUMP_EQUAL: u16 = 0x15;
pub(super) const JUMP_GREATER_OR_EQUAL: u16 = 0x35;
pub(super) const JUMP_BITS: u16 = 0x45;
pub(super) const MASK: u16 = 0x54;
pub(super) const RETURN: u16 = 0x06;

/// Offsets in `struct seccomp_data`.
pub(super) const NUMBER: u32 = 0;
pub(super) const ARCHITECTURE: u32 = 4;

/// Results of a filter: the call is made, refused with `EPERM`, or answered with `ENOSYS`.
pub(super) const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
pub(super) const REFUSE: u32 = libc::SECCOMP_RET_ERRNO | 1;
pub(super) const UNKNOWN: u32 = libc::SECCOMP_RET_ERRNO | 38;

/// A constant of the C library as the kernel compares it.
pub(super) fn constant(value: libc::c_int) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// The lower half of an argument, which is all that the kernel reads of these.
pub(super) fn argument(at: u32) -> u32 {
    const FIRST: u32 = 16;
    let half = if cfg!(target_endian = "little") { 0 } else { 4 };
    FIRST + 8 * at + half
}

pub(super) fn word(number: c_long) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

pub(super) fn load(offset: u32) -> Instruction {
    Instruction {
        code: LOAD,
        jump_true: 0,
        jump_false: 0,
        value: offset,
    }
}

pub(super) fn jump(code: u16, value: u32, jump_true: u8, jump_false: u8) -> Instruction {
    Instruction {
        code,
        jump_true,
        jump_false,
        value,
    }
}

pub(super) fn result(value: u32) -> Instruction {
    Instruction {
        code: RETURN,
        jump_true: 0,
        jump_false: 0,
        value,
    }
}
