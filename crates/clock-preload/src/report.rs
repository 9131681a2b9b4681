//! What was served, said at exit to whoever asked for it in the environment.

use std::ffi::{CStr, c_char};
use std::fmt::{Display, Formatter, Write};

use crate::server;

/// Set to anything, it asks for the report on standard error.
const REPORT: &CStr = c"SIDESTEP_CLOCK_REPORT";

/// Run by the C library when the program ends by `exit` or by returning from `main`.
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = report;

extern "C" fn report() {
    // SAFETY: the name is a C string; the program is ending, and nobody changes its environment any more.
    if unsafe { libc::getenv(REPORT.as_ptr()) }.is_null() {
        return;
    }
    let mut line = Text::default();
    // A line that is too long is cut.
    let _ = match server::serving().map(server::Server::counts) {
        Some(counts) => writeln!(
            line,
            "sidestep-clock: {} calls served, {} passed on or with a look, {} looks, {} jumps, {} steps of realtime in {Program}",
            counts.served, counts.passed_on, counts.looks, counts.jumps, counts.steps
        ),
        None => writeln!(
            line,
            "sidestep-clock: 0 calls served in {Program}: none was made, or the counter is not trusted here"
        ),
    };
    // SAFETY: the text is as long as is said.
    unsafe { libc::write(libc::STDERR_FILENO, line.bytes.as_ptr().cast(), line.count) };
}

unsafe extern "C" {
    /// The last part of the name under which the program was started: glibc and musl.
    static program_invocation_short_name: *const c_char;
}

/// Who was served: of a script that starts others each says so.
struct Program;

impl Display for Program {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        /// As much of a name as leaves room for the counts.
        const NAME_BYTES: usize = 40;
        // SAFETY: the C library sets it before `main`.
        let name = unsafe { program_invocation_short_name };
        // SAFETY: it is a C string, which nobody changes any more as the program is ending.
        let name = unsafe { CStr::from_ptr(name) };
        for &byte in name.to_bytes().iter().take(NAME_BYTES) {
            // A program is named as somebody likes.
            formatter.write_char(if byte.is_ascii_graphic() { char::from(byte) } else { '?' })?;
        }
        // SAFETY: asks for a number.
        write!(formatter, " ({})", unsafe { libc::getpid() })
    }
}

/// A line of text that allocates nothing.
struct Text {
    bytes: [u8; 256],
    count: usize,
}

impl Default for Text {
    fn default() -> Self {
        Self { bytes: [0; 256], count: 0 }
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let room = self.bytes.len() - self.count;
        let taken = text.len().min(room);
        self.bytes[self.count..self.count + taken].copy_from_slice(&text.as_bytes()[..taken]);
        self.count += taken;
        Ok(())
    }
}
