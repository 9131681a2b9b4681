//! The figures of a report: what each shows, from which results, and why it is missing when it is.

mod bandwidth;
mod clocks;
mod latency;
mod levels;
mod pairs;
mod stream;
mod translation;
mod wake;

use models::interconnect::SocketAccount;
use record::Record;
use serde_json::Value;

use crate::draw::{MatrixChart, Svg};
use crate::page::{Column, Row, Table};
use crate::{interactive, plan, sockets};
pub(crate) use pairs::line_transfer;

/// A picture that a report may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Figure {
    /// Found levels beside claimed ones.
    Levels,
    /// Bandwidth against block size.
    Bandwidth,
    /// Latency over block size and stride, base pages.
    LatencySurface,
    /// The same with huge pages.
    LatencySurfaceHuge,
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

impl Figure {
    /// Every figure, in the order of the report.
    pub fn all() -> [Self; 17] {
        [
            Self::Levels,
            Self::Bandwidth,
            Self::LatencySurface,
            Self::LatencySurfaceHuge,
            Self::LatencyHeatmap,
            Self::Walks,
            Self::Stream,
            Self::LineTransfer,
            Self::Sharing,
            Self::Wake,
            Self::ClockOffsets,
            Self::ClockDrift,
            Self::ClockPrices,
            Self::SocketLinks,
            Self::SocketLatency,
            Self::SocketBandwidth,
            Self::SocketTogether,
        ]
    }

    /// The name by which `--svg` and the page call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Levels => "levels",
            Self::Bandwidth => "bandwidth",
            Self::LatencySurface => "latency-surface",
            Self::LatencySurfaceHuge => "latency-surface-huge",
            Self::LatencyHeatmap => "latency-heatmap",
            Self::Stream => "stream",
            Self::LineTransfer => "line-transfer",
            Self::Sharing => "sharing",
            Self::Wake => "wake",
            Self::Walks => "walks",
            Self::ClockOffsets => "clock-offsets",
            Self::ClockDrift => "clock-drift",
            Self::ClockPrices => "clock-prices",
            Self::SocketLinks => "socket-links",
            Self::SocketLatency => "socket-latency",
            Self::SocketBandwidth => "socket-bandwidth",
            Self::SocketTogether => "socket-together",
        }
    }

    /// The figure of that name, if there is one; `tlb` is another name of `walks`.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = if name == "tlb" { "walks" } else { name };
        Self::all().into_iter().find(|figure| figure.name() == name)
    }

    /// Its heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Levels => "Cache sizes: found and claimed",
            Self::Bandwidth => "Bandwidth against block size",
            Self::LatencySurface => "Latency over block size and stride, base pages",
            Self::LatencySurfaceHuge => "Latency over block size and stride, huge pages",
            Self::LatencyHeatmap => "Latency, cell by cell",
            Self::Stream => "STREAM bandwidth by CPU",
            Self::LineTransfer => "Moving a cache line between CPUs",
            Self::Sharing => "What CPUs share",
            Self::Wake => "Waking an idle CPU",
            Self::Walks => "Address translation against number of pages",
            Self::ClockOffsets => "Counters of CPUs against each other",
            Self::ClockDrift => "Counters over time",
            Self::ClockPrices => "Price of reading the time",
            Self::SocketLinks => "How the nodes are linked",
            Self::SocketLatency => "Latency from each CPU to each node",
            Self::SocketBandwidth => "Bandwidth from each CPU to each node",
            Self::SocketTogether => "Bandwidth of several CPUs at once",
        }
    }

    /// Words in the names of the probes that fill it, for saying why it is missing.
    fn probe_words(self) -> &'static [&'static str] {
        match self {
            Self::Levels => &["level", "latency", "surface"],
            Self::Bandwidth => &["bandwidth"],
            Self::LatencySurface | Self::LatencySurfaceHuge | Self::LatencyHeatmap => &["surface", "latency"],
            Self::Stream => &["stream"],
            Self::LineTransfer => &["line", "transfer"],
            Self::Sharing => &["shar"],
            Self::Wake => &["wake"],
            Self::Walks => &["walk", "tlb", "translation"],
            Self::ClockOffsets | Self::ClockDrift => &["clock-pairs"],
            Self::ClockPrices => &["clock-reads"],
            Self::SocketLinks | Self::SocketLatency | Self::SocketBandwidth | Self::SocketTogether => {
                &["sockets"]
            }
        }
    }
}

/// Rows of text with a header; numbers stand right.
#[derive(Debug, Clone, Default)]
pub(crate) struct DataTable {
    pub(crate) headers: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// What people read of a typed table.
impl From<Table> for DataTable {
    fn from(table: Table) -> Self {
        let words = |row: &Row| row.cells.iter().map(|cell| cell.words().to_owned()).collect();
        Self {
            headers: table.columns.iter().map(Column::header).collect(),
            rows: table.rows.iter().map(words).collect(),
        }
    }
}

/// A figure ready to be placed.
#[derive(Debug, Clone)]
pub(crate) struct Drawn {
    pub(crate) svg: Svg,
    /// How to read it: one or two sentences.
    pub(crate) reading: String,
    pub(crate) table: DataTable,
    /// Traces and layout for plotly; `None` where the picture says all.
    pub(crate) interactive: Option<Value>,
    pub(crate) needs_webgl: bool,
}

impl Drawn {
    /// Matrices with the same as an interactive figure; `None` if they are empty.
    pub(crate) fn of_matrices(
        chart: &MatrixChart,
        name: &str,
        reading: &str,
        table: DataTable,
    ) -> Option<Self> {
        (!chart.is_empty()).then(|| Self {
            svg: chart.draw(name),
            reading: reading.to_owned(),
            table,
            interactive: Some(interactive::matrices(chart)),
            needs_webgl: false,
        })
    }
}

/// Draws a figure, or says why there is none; `account` is what the models make of measured sockets.
pub(crate) fn draw(
    record: &Record,
    account: Option<&SocketAccount>,
    figure: Figure,
) -> Result<Drawn, String> {
    let sockets = record.sockets.as_ref();
    let drawn = match figure {
        Figure::Levels => levels::draw(record),
        Figure::Bandwidth => bandwidth::draw(record),
        Figure::LatencySurface => latency::surface(record, latency::Pages::Base),
        Figure::LatencySurfaceHuge => latency::surface(record, latency::Pages::Huge),
        Figure::LatencyHeatmap => latency::heat_map(record),
        Figure::Stream => stream::draw(record),
        Figure::LineTransfer => pairs::line_transfer(&record.cores.line_transfer, figure.name()),
        Figure::Sharing => pairs::sharing(record),
        Figure::Wake => wake::draw(record),
        Figure::Walks => translation::draw(record),
        Figure::ClockOffsets => clocks::offsets(record),
        Figure::ClockDrift => clocks::drift(record),
        Figure::ClockPrices => clocks::prices(record),
        Figure::SocketLinks => sockets.zip(account).and_then(|(sockets, of)| sockets::links(sockets, of)),
        Figure::SocketLatency => sockets.and_then(|sockets| sockets::latency(sockets, account)),
        Figure::SocketBandwidth => sockets.and_then(sockets::bandwidth),
        Figure::SocketTogether => sockets.and_then(sockets::together),
    };
    drawn.ok_or_else(|| match figure {
        Figure::Levels if !record.levels.caches.is_empty() => {
            "Sizes of caches: undetermined; the table says why.".to_owned()
        }
        _ => plan::why_missing(record, figure.probe_words()),
    })
}

/// A figure as an SVG file that stands alone; `None` if the record has nothing for it. `account` is what the models make of its
/// measured sockets.
pub fn figure_svg(record: &Record, account: Option<&SocketAccount>, figure: Figure) -> Option<String> {
    let drawn = draw(record, account, figure).ok()?;
    Some(drawn.svg.finish(figure.title(), &drawn.reading, true))
}
