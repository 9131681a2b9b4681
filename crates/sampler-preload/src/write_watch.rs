//! Hands over the right to watch which threads write to which pages: a userfaultfd of this process, sent to sidestep.
//!
//! The library keeps no copy: the kernel lifts all protection and wakes all who wait once the last holder has closed it, and sidestep
//! alone shall be that, whatever ends it. If it is not there, what was sent is closed with the message. Nothing is waited for.

use std::ffi::{CStr, c_int};
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::begin;

/// Names sidestep's socket.
const POST: &CStr = c"SIDESTEP_WRITE_POST";
/// Letters of a name that the kernel chose; unix(7), "Autobind feature".
const NAME_LETTERS: usize = 5;

/// The name of the socket; 0 while there is none. In one word, for the child of a fork, where the environment may be in the midst of
/// a change.
static NAME: AtomicU64 = AtomicU64::new(0);

/// Hands over for this program, and for the children of its forks.
pub(crate) fn at_load() {
    // SAFETY: the name is a C string; the program has not begun to change its environment.
    let name = unsafe { libc::getenv(POST.as_ptr()) };
    if name.is_null() {
        return;
    }
    // SAFETY: a C string of the environment.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    if name.len() != NAME_LETTERS || !begin::is_numbered_as_seen() {
        return;
    }
    let mut letters = [0; 8];
    letters[..NAME_LETTERS].copy_from_slice(name);
    NAME.store(u64::from_le_bytes(letters), Ordering::Relaxed);
    // SAFETY: the handler is a function of this library, which is never unloaded.
    unsafe { libc::pthread_atfork(None, None, Some(hand_over)) };
    hand_over();
}

/// The memory of a child is another, with a right of its own. Only system calls: the lock of an allocator may be held here.
extern "C" fn hand_over() {
    // SAFETY: takes numbers only.
    let watch = unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | libc::O_NONBLOCK) };
    let Ok(watch @ 0..) = c_int::try_from(watch) else { return };
    // SAFETY: takes numbers only.
    let socket = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if socket >= 0 {
        send(socket, watch);
        // SAFETY: the socket is ours.
        unsafe { libc::close(socket) };
    }
    // SAFETY: the descriptor is ours.
    unsafe { libc::close(watch) };
}

/// Sends a descriptor, with a byte that says nothing.
fn send(socket: c_int, watch: c_int) {
    /// Aligned as the header in it has to be; the descriptor stands behind it.
    #[repr(C)]
    struct Control {
        header: libc::cmsghdr,
        watch: c_int,
        padding: c_int,
    }
    // SAFETY: plain numbers.
    let mut address: libc::sockaddr_un = unsafe { mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    let letters = NAME.load(Ordering::Relaxed).to_le_bytes();
    for (to, letter) in address.sun_path[1..=NAME_LETTERS].iter_mut().zip(letters) {
        *to = libc::c_char::from_ne_bytes([letter]);
    }
    let mut control = Control {
        header: libc::cmsghdr {
            cmsg_len: mem::offset_of!(Control, padding),
            cmsg_level: libc::SOL_SOCKET,
            cmsg_type: libc::SCM_RIGHTS,
        },
        watch,
        padding: 0,
    };
    let mut byte = 0_u8;
    let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    // SAFETY: plain numbers and null pointers.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_name = (&raw mut address).cast();
    message.msg_namelen =
        (mem::offset_of!(libc::sockaddr_un, sun_path) + 1 + NAME_LETTERS) as libc::socklen_t;
    (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
    (message.msg_control, message.msg_controllen) = ((&raw mut control).cast(), size_of::<Control>());
    // A queue that is full is no reason to wait: this program is then not watched.
    // SAFETY: all buffers are ours, and as long as is said.
    unsafe { libc::sendmsg(socket, &raw const message, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) };
}
