//! The system calls for which neither the standard library nor `nix` has a safe function: the only place of
//! this crate with `unsafe` (`issues/053`).
//!
//! Each function takes borrowed values whose lengths the compiler knows, makes one system call (or the few
//! that belong together), and returns its error. Nothing here makes decisions: safe code computes the
//! permissions as data. Only the helper calls them, which has one thread and ends with `exec` or `exit`; the
//! program itself calls those that send and receive a descriptor.
#![allow(
    unsafe_code,
    reason = "these system calls have no safe function; each use says why it is sound"
)]

use std::ffi::CStr;
use std::io::{Error, Result};
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd as _, FromRawFd as _, OwnedFd};

use nix::libc::{self, c_int, c_long, c_ulong};
use nix::unistd::{ForkResult, Pid};

/// `struct landlock_ruleset_attr` of `linux/landlock.h`, as of ABI 6.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RulesetAttr {
    pub(crate) handled_access_fs: u64,
    pub(crate) handled_access_net: u64,
    pub(crate) scoped: u64,
}

/// `struct landlock_path_beneath_attr`, which the kernel declares as packed.
#[repr(C, packed)]
struct PathBeneathAttr {
    allowed_access: u64,
    parent_fd: c_int,
}

/// `struct landlock_net_port_attr` of `linux/landlock.h`.
#[repr(C)]
struct NetPortAttr {
    allowed_access: u64,
    port: u64,
}

/// `struct cmsghdr` with one descriptor, as `SCM_RIGHTS` carries it.
#[repr(C)]
struct DescriptorMessage {
    length: usize,
    level: c_int,
    kind: c_int,
    descriptor: c_int,
}

/// Its size without the padding at its end.
const DESCRIPTOR_MESSAGE_BYTES: usize = size_of::<usize>() + 3 * size_of::<c_int>();

/// `struct sock_filter` of `linux/filter.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub(crate) code: u16,
    pub(crate) jump_true: u8,
    pub(crate) jump_false: u8,
    pub(crate) value: u32,
}

/// `struct mount_attr` of `linux/mount.h`.
#[repr(C)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// `struct __user_cap_data_struct` of `linux/capability.h`: effective, permitted, inheritable. Version 3
/// takes two.
type CapabilityData = [u32; 3];

const LANDLOCK_CREATE_RULESET_VERSION: u32 = 1;
const LANDLOCK_RULE_PATH_BENEATH: c_int = 1;
const LANDLOCK_RULE_NET_PORT: c_int = 2;
const CAPABILITY_VERSION_3: u32 = 0x2008_0522;
/// The highest capability that a kernel may know.
const LAST_CAPABILITY: u32 = 63;

fn checked(result: c_long) -> Result<c_long> {
    if result < 0 {
        Err(Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// Returns the version of Landlock's interface.
pub(crate) fn landlock_abi() -> Result<u32> {
    let (none, size): (*const RulesetAttr, usize) = (std::ptr::null(), 0);
    // SAFETY: with this flag the kernel reads no structure; the pointer has to be null and the size 0.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            none,
            size,
            LANDLOCK_CREATE_RULESET_VERSION,
        )
    };
    checked(version).map(|version| u32::try_from(version).unwrap_or(u32::MAX))
}

/// Creates a rule set. `size` is the part of the structure that this kernel knows.
pub(crate) fn landlock_ruleset(attr: &RulesetAttr, size: usize) -> Result<OwnedFd> {
    let size = size.min(size_of::<RulesetAttr>());
    let from: *const RulesetAttr = attr;
    // SAFETY: the kernel reads at most `size` bytes of a structure that lives during the call.
    let fd = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, from, size, 0_u32) };
    let fd = c_int::try_from(checked(fd)?).map_err(Error::other)?;
    // SAFETY: the kernel made this descriptor just now, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Adds a rule: these rights for everything below `beneath`.
pub(crate) fn landlock_rule(ruleset: &OwnedFd, rights: u64, beneath: impl AsFd) -> Result<()> {
    let attr = PathBeneathAttr {
        allowed_access: rights,
        parent_fd: beneath.as_fd().as_raw_fd(),
    };
    add_landlock_rule(ruleset, LANDLOCK_RULE_PATH_BENEATH, &attr)
}

/// Adds a rule: these rights for a TCP port.
pub(crate) fn landlock_port_rule(ruleset: &OwnedFd, rights: u64, port: u16) -> Result<()> {
    let attr = NetPortAttr {
        allowed_access: rights,
        port: port.into(),
    };
    add_landlock_rule(ruleset, LANDLOCK_RULE_NET_PORT, &attr)
}

/// Adds a rule, whose structure has to be the one of its kind.
fn add_landlock_rule<T>(ruleset: &OwnedFd, kind: c_int, attr: &T) -> Result<()> {
    let (ruleset, from): (_, *const T) = (ruleset.as_raw_fd(), attr);
    // SAFETY: the kernel reads one structure, which lives during the call; its descriptors are open.
    let done = unsafe { libc::syscall(libc::SYS_landlock_add_rule, ruleset, kind, from, 0_u32) };
    checked(done).map(|_| ())
}

/// Holds this process, and what it starts, to the rule set. For ever.
pub(crate) fn landlock_restrict(ruleset: &OwnedFd) -> Result<()> {
    // SAFETY: the call takes numbers; the descriptor is open.
    let done = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0_u32) };
    checked(done).map(|_| ())
}

/// Installs a filter of system calls for this process and what it starts. For ever.
pub(crate) fn install_filter(program: &[Instruction]) -> Result<()> {
    let filter = libc::sock_fprog {
        len: u16::try_from(program.len()).map_err(Error::other)?,
        filter: program.as_ptr().cast_mut().cast::<libc::sock_filter>(),
    };
    let from: *const libc::sock_fprog = &raw const filter;
    // SAFETY: `Instruction` has the layout of `sock_filter`; the kernel reads `len` of them, and writes none.
    let done = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0_u32, from) };
    checked(done).map(|_| ())
}

/// Gives up all capabilities but those whose bits `keep` has, for this process and what it starts.
pub(crate) fn keep_capabilities(keep: u64) -> Result<()> {
    for capability in 0..=LAST_CAPABILITY {
        if keep & (1 << capability) == 0 {
            // SAFETY: the call takes numbers.
            let done = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, c_ulong::from(capability), 0, 0, 0) };
            // EPERM: a process without privileges, which cannot gain any either, because of `no_new_privs`.
            // EINVAL: this kernel has no such capability, nor a higher one.
            match checked(done.into()).map_err(|error| (error.raw_os_error(), error)) {
                Ok(_) | Err((Some(libc::EPERM), _)) => {}
                Err((Some(libc::EINVAL), _)) => break,
                Err((_, error)) => return Err(error),
            }
        }
    }
    // SAFETY: the call takes numbers.
    let done = unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) };
    checked(done.into())?;
    set_capabilities(keep)
}

/// Keeps those of the present capabilities that `keep` has.
fn set_capabilities(keep: u64) -> Result<()> {
    let header = [CAPABILITY_VERSION_3, 0];
    let mut data: [CapabilityData; 2] = [[0; 3]; 2];
    // SAFETY: a header is two numbers of 32 bits; version 3 of the interface writes two structures.
    let read = unsafe { libc::syscall(libc::SYS_capget, header.as_ptr(), data.as_mut_ptr()) };
    checked(read)?;
    for (half, data) in [keep & 0xffff_ffff, keep >> 32].into_iter().zip(&mut data) {
        let permitted = data[1] & u32::try_from(half).unwrap_or(0);
        *data = [permitted, permitted, 0];
    }
    // SAFETY: as above; the kernel reads two structures.
    let done = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), data.as_ptr()) };
    checked(done).map(|_| ())
}

/// Sets attributes (`MOUNT_ATTR_*`) of the mount whose root is open as `root`, and of the mounts below it.
pub(crate) fn set_mount(root: impl AsFd, attributes: u64, recursive: bool) -> Result<()> {
    let attr = MountAttr {
        set: attributes,
        clear: 0,
        propagation: 0,
        user_namespace: 0,
    };
    let from: *const MountAttr = &raw const attr;
    let flags = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is empty and ends with a NUL; the kernel reads one structure, whose size is passed.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            root.as_fd().as_raw_fd(),
            c"".as_ptr(),
            flags,
            from,
            size_of::<MountAttr>(),
        )
    };
    checked(done).map(|_| ())
}

/// Copies this process. The helper starts no threads. The allocator has one, which its fork handlers stop
/// safely; `fork` of the C library calls them.
pub(crate) fn fork() -> Result<ForkResult> {
    // SAFETY: no thread of this program holds a lock, because the helper starts none.
    Ok(unsafe { nix::unistd::fork() }?)
}

/// Copies this process like [`fork`], with the flags of `clone(2)` for namespaces and the parent. Only for a
/// process with one thread, the allocator's included: no handler of `fork` is called.
pub(crate) fn clone_process(flags: c_int) -> Result<ForkResult> {
    let flags = c_ulong::from((flags | libc::SIGCHLD).cast_unsigned());
    // SAFETY: without a stack and without shared memory the call is a fork, and the only thread is this one.
    let child = unsafe { libc::syscall(libc::SYS_clone, flags, 0_usize, 0_usize, 0_usize, 0_usize) };
    Ok(match i32::try_from(checked(child)?).map_err(Error::other)? {
        0 => ForkResult::Child,
        child => ForkResult::Parent {
            child: Pid::from_raw(child),
        },
    })
}

/// Returns the number of the mount whose root is at this path; `None` if the path is not such a root.
pub(crate) fn mount_at(path: &CStr) -> Result<Option<u64>> {
    let mask = libc::STATX_MNT_ID;
    // SAFETY: a structure of numbers, for which zero is a value.
    let mut about: libc::statx = unsafe { std::mem::zeroed() };
    let flags = libc::AT_SYMLINK_NOFOLLOW | libc::AT_NO_AUTOMOUNT;
    // SAFETY: the path ends with a NUL, and the kernel writes one structure.
    let done = unsafe { libc::statx(libc::AT_FDCWD, path.as_ptr(), flags, mask, &raw mut about) };
    checked(done.into())?;
    let is_root = about.stx_attributes & u64::try_from(libc::STATX_ATTR_MOUNT_ROOT).unwrap_or(0) != 0;
    Ok((is_root && about.stx_mask & mask != 0).then_some(about.stx_mnt_id))
}

/// Writes over the value of a variable, where `/proc/PID/environ` shows it; zeros fill the rest. Returns
/// whether there was room.
pub(crate) fn write_over_variable(name: &CStr, content: &[u8]) -> bool {
    // SAFETY: the helper has one thread, which changes no variable meanwhile.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    if value.is_null() {
        return false;
    }
    // SAFETY: a value of a variable ends with a NUL.
    let room = unsafe { libc::strlen(value) };
    let has_room = content.len() <= room;
    for at in (0..room).filter(|_| has_room) {
        let byte = content.get(at).copied().unwrap_or(0);
        // SAFETY: `at` is inside of the value, which belongs to this process.
        unsafe { value.add(at).cast::<u8>().write(byte) };
    }
    has_room
}

/// Lets no descriptor but the three standard ones reach the program that is executed.
pub(crate) fn close_on_exec() -> Result<()> {
    const FIRST: u32 = 3;
    let flags = libc::CLOSE_RANGE_CLOEXEC;
    // SAFETY: the call takes numbers, and sets a flag of descriptors without closing one.
    let done = unsafe { libc::syscall(libc::SYS_close_range, FIRST, u32::MAX, flags) };
    checked(done).map(|_| ())
}

/// Brings the loopback device of a new network namespace up.
pub(crate) fn loopback_up() -> Result<()> {
    // SAFETY: the call takes numbers.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    let socket = c_int::try_from(checked(socket.into())?).map_err(Error::other)?;
    // SAFETY: the kernel made this descriptor just now, and nothing else owns it.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // SAFETY: a structure of numbers, for which zero is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, byte) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = libc::c_char::try_from(*byte).unwrap_or(0);
    }
    request.ifr_ifru.ifru_flags = libc::c_short::try_from(libc::IFF_UP | libc::IFF_RUNNING).unwrap_or(0);
    // SAFETY: the request takes this structure, which lives during the call.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    checked(done.into()).map(|_| ())
}

/// The header of a message of one part with one control message.
fn message_header(part: &mut libc::iovec, control: &mut DescriptorMessage) -> libc::msghdr {
    // SAFETY: a structure of numbers and pointers, for which zero is a value.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = part;
    header.msg_iovlen = 1;
    header.msg_control = std::ptr::from_mut(control).cast();
    header.msg_controllen = DESCRIPTOR_MESSAGE_BYTES;
    header
}

/// Sends bytes over a socket without waiting for the other side to read them.
pub(crate) fn send_bytes(socket: impl AsFd, bytes: &[u8]) -> Result<()> {
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel reads the bytes, which live during the call; the descriptor is open.
    let sent = unsafe { libc::send(socket, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
    checked(c_long::try_from(sent).map_err(Error::other)?).map(|_| ())
}

/// Sends bytes over a Unix socket, with a descriptor of which the other side gets a copy.
pub(crate) fn send_descriptor(socket: impl AsFd, descriptor: impl AsFd, bytes: &[u8]) -> Result<()> {
    let mut control = DescriptorMessage {
        length: DESCRIPTOR_MESSAGE_BYTES,
        level: libc::SOL_SOCKET,
        kind: libc::SCM_RIGHTS,
        descriptor: descriptor.as_fd().as_raw_fd(),
    };
    let mut part = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    let header = message_header(&mut part, &mut control);
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the header names structures and bytes that live during the call, which the kernel only reads.
    let sent = unsafe { libc::sendmsg(socket, &raw const header, libc::MSG_NOSIGNAL) };
    checked(c_long::try_from(sent).map_err(Error::other)?).map(|_| ())
}

/// Receives bytes from a Unix socket, and the descriptor that came with them. No child inherits it.
pub(crate) fn receive_descriptor(socket: impl AsFd, bytes: &mut [u8]) -> Result<(usize, Option<OwnedFd>)> {
    let mut control = DescriptorMessage {
        length: 0,
        level: 0,
        kind: 0,
        descriptor: -1,
    };
    let mut part = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    };
    let mut header = message_header(&mut part, &mut control);
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the header names structures and bytes that live during the call, with their sizes.
    let read = unsafe { libc::recvmsg(socket, &raw mut header, libc::MSG_CMSG_CLOEXEC) };
    let read = checked(c_long::try_from(read).map_err(Error::other)?)?;
    let has_descriptor = control.length == DESCRIPTOR_MESSAGE_BYTES
        && control.level == libc::SOL_SOCKET
        && control.kind == libc::SCM_RIGHTS
        && control.descriptor >= 0;
    // SAFETY: the kernel made this descriptor just now, and nothing else owns it.
    let descriptor = has_descriptor.then(|| unsafe { OwnedFd::from_raw_fd(control.descriptor) });
    Ok((usize::try_from(read).map_err(Error::other)?, descriptor))
}
