//! Where samples come from: one trait, and which of its sources serves a program here.

use std::ffi::OsStr;
use std::io;
use std::process::Command;
use std::time::Duration;

use host::arch::no_decoder;
use host::live::{Observation, PerfError, PreloadError, PreloadObstacle, preload_obstacle};
use record::{SharingOffer, SharingSource};

use crate::clock_registers::ClockRegisters;
use crate::signal_registers::SignalRegisters;
use crate::touch::Touches;
use crate::writers::WritesSeen;

/// What no source sees that interrupts the program's own code.
pub(super) const OF_USER_SAMPLES: [&str; 2] = [
    "data that the kernel copies (pipes, sockets, files) is not seen: it samples user mode only",
    "each sample names the next instruction, so slow instructions are seen more often: shares are of time",
];

/// Takes samples of threads until it is dropped.
pub trait Source: Send {
    /// Which it is.
    fn kind(&self) -> SharingSource;

    /// Changes what a command is started with, if that is how it is watched.
    fn prepare(&self, _command: &mut Command) {}

    /// Waits until there is something to take or the time is over.
    ///
    /// # Errors
    /// What the kernel said.
    fn wait(&mut self, patience: Duration) -> io::Result<()>;

    /// Takes what there is.
    fn drain(&mut self, take: &mut dyn FnMut(Observation));

    /// Takes what has been seen so far, and of how much CPU time of the program.
    fn heed(&mut self, _touches: &Touches, _cpu_s: f64) {}

    /// Ends asking who writes to shared pages, and tells; `None` if it does not ask.
    fn writes(&mut self) -> Option<WritesSeen> {
        None
    }

    /// True if it tells of each wake, so that none is seen where there is none.
    fn sees_wakes(&self) -> bool;

    /// True if it tells of each time that a thread sleeps.
    fn sees_gaps(&self) -> bool;

    /// Itself, and what else a program can be watched by but for the processor's own samples, the best first.
    fn offers(&self) -> Vec<SharingOffer>;

    /// What it costs the program, in a sentence.
    fn cost(&self) -> String;

    /// What it needs, in a sentence.
    fn privilege(&self) -> String;

    /// What it cannot see, one sentence each.
    fn blind_spots(&self) -> Vec<String>;
}

/// Which source is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SourceChoice {
    /// The best that serves: the kernel's clock, else the library in the program.
    #[default]
    Best,
    /// The kernel's clock alone.
    Clock,
    /// The library in the program alone.
    Preload,
}

impl SourceChoice {
    /// As it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Best => "best",
            Self::Clock => "clock",
            Self::Preload => "preload",
        }
    }
}

/// Why a command cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The kernel's clock is refused, and nothing else is wanted.
    #[error(transparent)]
    Clock(#[from] PerfError),
    /// The library cannot serve.
    #[error(transparent)]
    Preload(#[from] PreloadError),
    /// The loader would not take the library into this program.
    #[error("{0}")]
    Obstacle(PreloadObstacle),
    /// What the library samples cannot be decoded.
    #[error("a library in the program does not serve: {0}")]
    NoDecoder(String),
    /// Neither serves.
    #[error("{clock}; by a library in the program neither: {preload}")]
    Neither {
        /// Of the kernel's clock.
        clock: PerfError,
        /// Of the library.
        preload: Box<SourceError>,
    },
}

/// A source of a command that the calling thread will start, with a sample per so much CPU time.
///
/// # Errors
/// What is wanted does not serve here, or not with this command.
pub fn source_of(
    command: &OsStr,
    choice: SourceChoice,
    period: Duration,
) -> Result<Box<dyn Source>, SourceError> {
    let clock =
        |period| ClockRegisters::of_children(period).map(|source| Box::new(source) as Box<dyn Source>);
    let preload = |denied: Option<String>| -> Result<Box<dyn Source>, SourceError> {
        if let Some(why) = no_decoder() {
            return Err(SourceError::NoDecoder(why));
        }
        if let Some(obstacle) = preload_obstacle(command) {
            return Err(SourceError::Obstacle(obstacle));
        }
        Ok(Box::new(SignalRegisters::new(period, denied)?))
    };
    match choice {
        SourceChoice::Clock => Ok(clock(period)?),
        SourceChoice::Preload => preload(None),
        SourceChoice::Best => clock(period).or_else(|clock| {
            let found = preload(Some(clock.to_string()));
            found.map_err(|preload| SourceError::Neither { clock, preload: Box::new(preload) })
        }),
    }
}
