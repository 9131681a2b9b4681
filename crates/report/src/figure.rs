//! The figures of a report: what each shows, from which results, and why it is missing when it is.

mod bandwidth;
mod clocks;
mod latency;
mod levels;
mod pairs;
pub(crate) mod sockets;
mod stream;
mod translation;
mod wake;

use models::interconnect::SocketAccount;
use record::Record;

use crate::page::Drawn;
use crate::plan;
pub(crate) use pairs::line_transfer;

/// A picture that a report may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Figure {
    /// Found levels beside claimed ones.
    Levels,
    /// Bandwidth against block size.
    Bandwidth,
    /// Latency over block size and stride, with the smallest pages.
    LatencySurface,
    /// The same as numbers in coloured cells.
    LatencyHeatmap,
    /// STREAM by CPU, node and machine.
    Stream,
    /// One cache line between two CPUs.
    LineTransfer,
    /// Slowdown of one CPU by another.
    Sharing,
    /// Wake-up latency against idle time.
    Wake,
    /// Cost of address translation against number of pages.
    Walks,
    /// Counters of CPUs against each other.
    ClockOffsets,
    /// The same over time.
    ClockDrift,
    /// What each way to read the time costs.
    ClockPrices,
    /// How nodes are linked.
    SocketLinks,
    /// Latency from each CPU to each node.
    SocketLatency,
    /// Bandwidth from each CPU to each node.
    SocketBandwidth,
    /// Bandwidth of several CPUs at once.
    SocketTogether,
}

/// Every figure in the order of the report: its name, its heading, and words in the names of the probes that fill it.
const FIGURES: [(Figure, &str, &str, &[&str]); 16] = [
    (Figure::Levels, "levels", "Cache sizes: found and claimed", &["level", "latency", "surface"]),
    (Figure::Bandwidth, "bandwidth", "Bandwidth against block size", &["bandwidth"]),
    (
        Figure::LatencySurface,
        "latency-surface",
        "Latency over block size and stride",
        &["surface", "latency"],
    ),
    (Figure::LatencyHeatmap, "latency-heatmap", "Latency, cell by cell", &["surface", "latency"]),
    (Figure::Walks, "walks", "Address translation against number of pages", &["walk", "tlb", "translation"]),
    (Figure::Stream, "stream", "STREAM bandwidth by CPU", &["stream"]),
    (Figure::LineTransfer, "line-transfer", "Moving a cache line between CPUs", &["line", "transfer"]),
    (Figure::Sharing, "sharing", "What CPUs share", &["shar"]),
    (Figure::Wake, "wake", "Waking an idle CPU", &["wake"]),
    (Figure::ClockOffsets, "clock-offsets", "Counters of CPUs against each other", &["clock-pairs"]),
    (Figure::ClockDrift, "clock-drift", "Counters over time", &["clock-pairs"]),
    (Figure::ClockPrices, "clock-prices", "Price of reading the time", &["clock-reads"]),
    (Figure::SocketLinks, "socket-links", "How the nodes are linked", &["sockets"]),
    (Figure::SocketLatency, "socket-latency", "Latency from each CPU to each node", &["sockets"]),
    (Figure::SocketBandwidth, "socket-bandwidth", "Bandwidth from each CPU to each node", &["sockets"]),
    (Figure::SocketTogether, "socket-together", "Bandwidth of several CPUs at once", &["sockets"]),
];

impl Figure {
    /// Every figure, in the order of the report.
    pub fn all() -> [Self; 16] {
        FIGURES.map(|(figure, ..)| figure)
    }

    fn row(self) -> (Self, &'static str, &'static str, &'static [&'static str]) {
        *FIGURES.iter().find(|(figure, ..)| *figure == self).expect("every figure has a row")
    }

    /// The name by which `--svg` and the page call it.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// The figure of that name, if there is one; `tlb` is another name of `walks`.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = if name == "tlb" { "walks" } else { name };
        Self::all().into_iter().find(|figure| figure.name() == name)
    }

    /// Its heading.
    pub fn title(self) -> &'static str {
        self.row().2
    }
}

/// Draws a figure, or says why there is none; `account` is what the models make of measured sockets.
pub(crate) fn draw(
    record: &Record,
    account: Option<&SocketAccount>,
    figure: Figure,
) -> Result<Drawn, String> {
    let measured = record.sockets.as_ref();
    let drawn = match figure {
        Figure::Levels => levels::draw(record),
        Figure::Bandwidth => bandwidth::draw(record),
        Figure::LatencySurface => latency::surface(record),
        Figure::LatencyHeatmap => latency::heat_map(record),
        Figure::Stream => stream::draw(record),
        Figure::LineTransfer => pairs::line_transfer(&record.cores.line_transfer, figure.name()),
        Figure::Sharing => pairs::sharing(record),
        Figure::Wake => wake::draw(record),
        Figure::Walks => translation::draw(record),
        Figure::ClockOffsets => clocks::offsets(record),
        Figure::ClockDrift => clocks::drift(record),
        Figure::ClockPrices => clocks::prices(record),
        Figure::SocketLinks => measured.zip(account).and_then(|(measured, of)| sockets::links(measured, of)),
        Figure::SocketLatency => measured.and_then(|measured| sockets::latency(measured, account)),
        Figure::SocketBandwidth => measured.and_then(sockets::bandwidth),
        Figure::SocketTogether => measured.and_then(sockets::together),
    };
    drawn.ok_or_else(|| match figure {
        Figure::Levels if !record.levels.caches.is_empty() => {
            "Sizes of caches: undetermined; the table above has what each level takes.".to_owned()
        }
        _ => plan::why_missing(record, figure.row().3),
    })
}

/// A figure as an SVG file that stands alone; `None` if the record has nothing for it. `account` is what the models make of its
/// measured sockets.
pub fn figure_svg(record: &Record, account: Option<&SocketAccount>, figure: Figure) -> Option<String> {
    let drawn = draw(record, account, figure).ok()?;
    Some(drawn.svg.finish(figure.title(), &drawn.reading, true))
}
