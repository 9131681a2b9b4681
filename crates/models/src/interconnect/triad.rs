//! STREAM Triad of one core in closed form: outstanding lines, over the time that each takes.
//!
//! A row is one 64-byte line of each of the three arrays: 192 bytes that STREAM counts. A core waits for its lines to
//! read, and for the line to write where stores allocate; with C outstanding lines, of n per row, each of latency L, a row
//! takes n L / C (Little's law), and what is posted or lost besides. The posted write-back is in the latter.

use super::description::{SocketMachine, StreamDescription};
use super::graph::Hops;
use super::latency::{Coherence, ReadTimes};

/// Arrays that STREAM counts for a triad.
const COUNTED_LINES: f64 = 3.0;

/// What a machine's cores get, by socket.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Triad {
    /// 10^6 bytes per second.
    pub(super) mb_per_s: f64,
    /// Lowest and highest that the file's ranges allow, if it has any.
    pub(super) range_mb_per_s: Option<[f64; 2]>,
}

impl SocketMachine {
    /// What the reads of this machine are made of.
    pub(super) fn read_times(&self) -> ReadTimes {
        let hop_ns = self.hop_round_trip_ns.value / 2.0;
        ReadTimes {
            // At one link the round trip of the probe is in the near latency.
            probe_ns: self.near_ns_at(self.core_hz.value) - 2.0 * hop_ns,
            // Where it is unknown probes are slower: the near latency was measured with them.
            dram_ns: self.dram_ns.as_ref().map_or(0.0, |ns| ns.value),
            hop_ns,
        }
    }

    /// Latency of a local read on a socket.
    pub(super) fn local_ns(&self, hops: &Hops, socket: usize) -> f64 {
        self.read_times().read_ns(hops, self.coherence.value, socket, socket)
    }

    /// Triad of a core on a socket.
    pub(super) fn triad(&self, hops: &Hops, socket: usize) -> Option<Triad> {
        let stream = self.stream.as_ref()?;
        let local_ns = self.local_ns(hops, socket);
        if self.coherence.value == Coherence::Broadcast {
            return Some(Triad { mb_per_s: stream.mb_per_s(local_ns, 0.0), range_mb_per_s: None });
        }
        // Without probes the latency is an idle one: what a row takes beyond the waiting stays.
        let [low, high] = self.idle_near_ns.as_ref()?.value;
        let kept_ns = |idle_ns: f64| {
            let near_ns = self.near_ns_at(self.core_hz.value);
            (stream.row_ns(near_ns) - stream.row_ns(idle_ns)).max(0.0)
        };
        let of = |idle_ns: f64| stream.mb_per_s(local_ns, kept_ns(idle_ns));
        Some(Triad { mb_per_s: of(f64::midpoint(low, high)), range_mb_per_s: Some([of(low), of(high)]) })
    }

    /// The triad if nothing but the latency of memory that asks nobody limited it.
    pub(super) fn ceiling_mb_per_s(&self) -> Option<f64> {
        Some(self.stream.as_ref()?.mb_per_s(self.dram_ns.as_ref()?.value, 0.0))
    }
}

impl StreamDescription {
    /// Time for one row at this latency.
    fn row_ns(&self, latency_ns: f64) -> f64 {
        self.demand_lines_per_row.value * latency_ns / self.outstanding_lines.value
    }

    /// Triad at this latency, with so much time lost in each row.
    pub(super) fn mb_per_s(&self, latency_ns: f64, lost_ns: f64) -> f64 {
        COUNTED_LINES * f64::from(self.line_bytes.value) * 1e3 / (self.row_ns(latency_ns) + lost_ns)
    }
}

/// The latency at which so many outstanding lines, of which so many are waited for per row, make this triad.
pub(super) fn latency_ns_of(line_bytes: f64, lines: f64, demand_lines_per_row: f64, mb_per_s: f64) -> f64 {
    COUNTED_LINES * line_bytes * 1e3 * lines / (demand_lines_per_row * mb_per_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_lines_of_which_each_takes_110_ns_make_4655_mb_per_s() {
        let machine: SocketMachine = crate::known("x6440-8380").expect("it comes with sidestep");
        let stream = machine.stream.as_ref().expect("it streams");
        assert!((stream.mb_per_s(110.0, 0.0) - 8.0 * 64.0 / 110.0 * 1e3).abs() < 1e-9);
        assert!((latency_ns_of(64.0, 8.0, 3.0, stream.mb_per_s(123.4, 0.0)) - 123.4).abs() < 1e-9);
    }
}
