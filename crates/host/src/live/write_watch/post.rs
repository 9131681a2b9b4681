//! Where programs hand over the right to watch their writes: a socket with a name that only the kernel knows, told by the environment.
//!
//! The library in the program sends the descriptor and closes its own: from then on only who receives it holds it, and if nobody
//! does, the kernel closes it with the socket.

use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::process::Command;

use super::WriteWatch;
use crate::answer::owned;
use crate::live::preload::{PreloadError, PreloadLibrary};
use crate::live::process::effective_user;

/// Names the socket to the library.
const POST_VARIABLE: &str = "SIDESTEP_WRITE_POST";
/// Letters of a name that the kernel chooses, behind a NUL; unix(7), "Autobind feature".
const NAME_LETTERS: usize = 5;
/// What one descriptor and the sender's numbers take, with room to spare.
const CONTROL_BYTES: usize = 128;

/// A process, and the right to watch its writes.
#[derive(Debug)]
pub struct Given {
    /// The process, as the kernel says.
    pub process: u32,
    /// The right.
    pub watch: WriteWatch,
}

/// What makes programs hand over.
#[derive(Debug, Clone)]
pub struct WriteInvitation {
    name: String,
    library: PreloadLibrary,
}

impl WriteInvitation {
    /// Lets a command, and all that it starts, begin by handing over.
    pub fn prepare(&self, command: &mut Command) {
        self.library.load_into(command);
        command.env(POST_VARIABLE, &self.name);
    }
}

/// The socket.
#[derive(Debug)]
pub struct WritePost {
    socket: OwnedFd,
    invitation: WriteInvitation,
}

impl WritePost {
    /// Opens it.
    ///
    /// # Errors
    /// There is no library to speak to it, or no socket.
    pub fn open() -> Result<Self, PreloadError> {
        Self::of(PreloadLibrary::find()?)
    }

    fn of(library: PreloadLibrary) -> Result<Self, PreloadError> {
        let (socket, name) = open().map_err(PreloadError::Socket)?;
        Ok(Self { socket, invitation: WriteInvitation { name, library } })
    }

    /// What commands are to be prepared by.
    pub fn invitation(&self) -> WriteInvitation {
        self.invitation.clone()
    }

    /// The next that was handed over by a process of this user; `None` if there is none.
    pub fn receive(&self) -> Option<Given> {
        loop {
            let (file, sender) = receive(&self.socket)?;
            // Anybody may write to a socket with a name.
            let is_own = sender.is_some_and(|sender| sender.uid == effective_user());
            if let (Some(file), Some(sender), true) = (file, sender, is_own)
                && let Ok(watch) = WriteWatch::given(file)
            {
                return Some(Given { process: sender.pid.unsigned_abs(), watch });
            }
        }
    }
}

impl AsFd for WritePost {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn open() -> io::Result<(OwnedFd, String)> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: takes numbers only.
    let socket = owned(unsafe { libc::socket(libc::AF_UNIX, kind, 0) })?;
    let on: libc::c_int = 1;
    let bytes = size_of_val(&on) as libc::socklen_t;
    // SAFETY: the option is a number of as many bytes as is said.
    let set = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PASSCRED,
            (&raw const on).cast(),
            bytes,
        )
    };
    // SAFETY: plain numbers.
    let mut address: libc::sockaddr_un = unsafe { mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    let mut bytes = size_of::<libc::sa_family_t>() as libc::socklen_t;
    // SAFETY: an address with nothing but its family, which is all that is read.
    let bound = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), bytes) };
    bytes = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the address is ours to fill, and as long as is said.
    let named = unsafe { libc::getsockname(socket.as_raw_fd(), (&raw mut address).cast(), &raw mut bytes) };
    if set != 0 || bound != 0 || named != 0 {
        return Err(io::Error::last_os_error());
    }
    let name = address.sun_path[1..=NAME_LETTERS]
        .iter()
        .map(|letter| char::from(u8::from_ne_bytes(letter.to_ne_bytes())))
        .collect();
    Ok((socket, name))
}

/// The next message: the descriptor in it, and who sent it; `None` if there is none.
fn receive(socket: &OwnedFd) -> Option<(Option<OwnedFd>, Option<libc::ucred>)> {
    /// Aligned as the headers in it have to be.
    #[repr(C, align(8))]
    struct Control([MaybeUninit<u8>; CONTROL_BYTES]);
    let mut control = Control([MaybeUninit::new(0); CONTROL_BYTES]);
    let mut byte = 0_u8;
    let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    // SAFETY: plain numbers and null pointers.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
    (message.msg_control, message.msg_controllen) = ((&raw mut control.0).cast(), CONTROL_BYTES);
    // SAFETY: all buffers are ours, and as long as is said.
    let length = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) };
    if length < 0 {
        return None;
    }
    let (mut file, mut sender) = (None, None);
    // SAFETY: the kernel has filled the headers and said how far.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
    // SAFETY: null, or a header that the kernel wrote.
    while let Some(header) = unsafe { next.as_ref() } {
        // SAFETY: the data lies behind its header.
        let data = unsafe { libc::CMSG_DATA(next) };
        // SAFETY: takes a number.
        let count = (header.cmsg_len - unsafe { libc::CMSG_LEN(0) } as usize) / size_of::<libc::c_int>();
        match (header.cmsg_level, header.cmsg_type) {
            (libc::SOL_SOCKET, libc::SCM_RIGHTS) => {
                for index in 0..count {
                    let place = data.wrapping_add(index * size_of::<libc::c_int>());
                    // SAFETY: as many descriptors as the header says; bytes have no alignment.
                    let bytes = unsafe { place.cast::<[u8; size_of::<libc::c_int>()]>().read() };
                    let number = libc::c_int::from_ne_bytes(bytes);
                    // SAFETY: the kernel has just made it for us; a second one is closed with the first.
                    file = Some(unsafe { OwnedFd::from_raw_fd(number) });
                }
            }
            (libc::SOL_SOCKET, libc::SCM_CREDENTIALS) => {
                // SAFETY: that is what the kernel writes with this type.
                sender = Some(unsafe { data.cast::<libc::ucred>().read_unaligned() });
            }
            _ => {}
        }
        // SAFETY: the message and the header are those of this call.
        next = unsafe { libc::CMSG_NXTHDR(&raw const message, next) };
    }
    Some((file, sender))
}

#[cfg(test)]
mod tests {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram};

    use super::*;

    #[test]
    fn what_strangers_write_is_passed_over() {
        let library = PreloadLibrary::at("/none/library.so".into()).expect("a plain name");
        let post = WritePost::of(library).expect("a socket");
        let name = post.invitation().name;
        assert_eq!(name.len(), NAME_LETTERS);
        let address = SocketAddr::from_abstract_name(&name).expect("short");
        let sender = UnixDatagram::unbound().expect("a socket");
        for bytes in [&b"x"[..], b"", b"more than is read"] {
            sender.send_to_addr(bytes, &address).expect("it takes all");
        }
        assert!(post.receive().is_none(), "no descriptor, and nothing left");
    }
}
