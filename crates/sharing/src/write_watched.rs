//! Another source's samples, with the kernel asked who writes to the pages that they call shared.

use std::ffi::OsStr;
use std::io;
use std::process::Command;
use std::time::Duration;

use host::live::{Observation, WriteInvitation, WritePost, WriteWatch, preload_obstacle};
use record::{SharingOffer, SharingSource};

use crate::epochs::Epochs;
use crate::offered::{OF_WRITES, offer};
use crate::page_choice::{SharedPage, shared_pages};
use crate::segment::segments;
use crate::source::Source;
use crate::touch::Touches;
use crate::writers::WritesSeen;

/// The part of a program's CPU time that its writes may wait.
pub const WRITES_WAIT_SHARE: f64 = 0.01;
/// Touches from which on stretches are looked for; and again each time that there are twice as many.
const TOUCHES_MIN: usize = 64;

/// A source, and epochs beside it.
struct WriteWatched {
    inner: Box<dyn Source>,
    asking: Result<Asking, String>,
}

/// What is asked.
struct Asking {
    epochs: Epochs,
    invitation: WriteInvitation,
    /// Of the program's CPU time.
    share: f64,
    pages: Vec<SharedPage>,
    /// Touches from which on pages are chosen anew.
    next_at: usize,
}

/// A source of a command that is not started yet, which asks besides who writes to shared pages, in this share of the program's CPU
/// time; where that cannot be, all that it adds is why.
pub fn write_watched(inner: Box<dyn Source>, command: &OsStr, share: f64) -> Box<dyn Source> {
    Box::new(WriteWatched { inner, asking: Asking::of(command, share) })
}

impl Asking {
    fn of(command: &OsStr, share: f64) -> Result<Self, String> {
        // Asked first: it is what most are refused, and says what to do.
        let own = WriteWatch::of_self().map_err(|error| error.to_string())?;
        if let Some(obstacle) = preload_obstacle(command) {
            return Err(obstacle.to_string());
        }
        let post = WritePost::open().map_err(|error| error.to_string())?;
        let invitation = post.invitation();
        let epochs = Epochs::begin(post, own).map_err(|error| format!("cannot protect a page: {error}"))?;
        Ok(Self { epochs, invitation, share, pages: Vec::new(), next_at: TOUCHES_MIN })
    }
}

impl Source for WriteWatched {
    fn kind(&self) -> SharingSource {
        self.inner.kind()
    }

    fn prepare(&self, command: &mut Command) {
        self.inner.prepare(command);
        if let Ok(asking) = &self.asking {
            asking.invitation.prepare(command);
        }
    }

    fn wait(&mut self, patience: Duration) -> io::Result<()> {
        self.inner.wait(patience)
    }

    fn drain(&mut self, take: &mut dyn FnMut(Observation)) {
        self.inner.drain(take);
    }

    fn sees_wakes(&self) -> bool {
        self.inner.sees_wakes()
    }

    fn sees_gaps(&self) -> bool {
        self.inner.sees_gaps()
    }

    fn heed(&mut self, touches: &Touches, cpu_s: f64) {
        let Ok(asking) = &mut self.asking else { return };
        asking.epochs.allow(asking.share * cpu_s);
        if touches.touches.len() >= asking.next_at {
            asking.next_at = 2 * touches.touches.len();
            asking.pages = shared_pages(&segments(touches), touches, &asking.pages);
            asking.epochs.ask_for(asking.pages.clone());
        }
    }

    fn writes(&mut self) -> Option<WritesSeen> {
        Some(match &mut self.asking {
            Ok(asking) => asking.epochs.end(),
            Err(why) => WritesSeen { refused: Some(why.clone()), ..WritesSeen::default() },
        })
    }

    fn offers(&self) -> Vec<SharingOffer> {
        let mut offers = self.inner.offers();
        offers.push(offer(OF_WRITES, self.asking.as_ref().err().cloned()));
        offers
    }

    fn cost(&self) -> String {
        let inner = self.inner.cost();
        self.asking.as_ref().map_or(inner.clone(), |asking| {
            format!(
                "{inner}; writes to some shared pages wait, {:.0} % of the CPU time or so, and huge pages under them are split",
                100.0 * asking.share
            )
        })
    }

    fn privilege(&self) -> String {
        let inner = self.inner.privilege();
        format!(
            "{inner}; who writes to shared pages is for root, or for all with vm.unprivileged_userfaultfd = 1"
        )
    }

    fn blind_spots(&self) -> Vec<String> {
        let mut spots = self.inner.blind_spots();
        if self.asking.is_ok() {
            spots.push(
                "who writes is asked by pages of 4 KiB, of private memory without a file alone; who only reads is not seen so".to_owned(),
            );
        }
        spots
    }
}
