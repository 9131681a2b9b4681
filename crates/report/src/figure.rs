//! The figures of a report: what each shows, from which results, and why it is missing when it is.

mod graph;
mod memory;
mod pairs;
pub(crate) mod sockets;

use models::interconnect::SocketAccount;
use record::{Record, Sockets};

use crate::page::Drawn;
use crate::plan;
pub(crate) use graph::{GraphPicture, Reads};
pub(crate) use memory::bandwidth_of_several;

/// What figures are drawn from: a record, and what the models make of its measured sockets.
pub(crate) type Source<'r> = (&'r Record, Option<&'r SocketAccount>);

/// Draws a figure of that name; `None` if there is nothing for it.
type Draw = fn(Source<'_>, &str) -> Option<Drawn>;

/// A picture that a report may hold.
#[derive(Debug, Clone, Copy)]
pub struct Figure {
    name: &'static str,
    pub(crate) title: &'static str,
    /// Words in the names of the probes that fill it.
    probes: &'static [&'static str],
    draw: Draw,
}

impl Figure {
    const fn new(
        name: &'static str,
        title: &'static str,
        probes: &'static [&'static str],
        draw: Draw,
    ) -> Self {
        Self { name, title, probes, draw }
    }

    /// Every figure, in the order of the report.
    pub const ALL: [Self; 10] = [
        Self::new("bandwidth", "Bandwidth against block size", &["bandwidth"], memory::bandwidth),
        Self::new(
            "latency-surface",
            "Latency over block size and stride",
            &["surface", "latency"],
            memory::surface,
        ),
        Self::new(
            "walks",
            "Address translation against number of pages",
            &["walk", "tlb", "translation"],
            memory::walks,
        ),
        Self::new("stream", "STREAM bandwidth by CPU", &["stream"], memory::stream),
        Self::new("line-transfer", "Moving a cache line between CPUs", &["line", "transfer"], pairs::lines),
        Self::new("sharing", "What CPUs share", &["shar"], pairs::sharing),
        Self::new("clock-drift", "Counters over time", &["clock-pairs"], pairs::drift),
        Self::new("socket-links", "How the nodes are linked", &["sockets"], |of, name| {
            of_sockets(of, name, sockets::links)
        }),
        Self::new("socket-latency", "Latency from each CPU to each node", &["sockets"], |of, name| {
            of_sockets(of, name, sockets::latency)
        }),
        Self::new("socket-bandwidth", "Bandwidth from each CPU to each node", &["sockets"], |of, name| {
            of_sockets(of, name, sockets::bandwidth)
        }),
    ];

    /// The name by which `--svg` and the page call it.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// A figure that there is.
    pub(crate) fn named(name: &str) -> Self {
        Self::from_name(name).expect("the table has it")
    }

    /// The figure of that name, if there is one; `tlb` is another name of `walks`.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = if name == "tlb" { "walks" } else { name };
        Self::ALL.into_iter().find(|figure| figure.name == name)
    }
}

/// A figure of the sockets of a record.
fn of_sockets(
    (record, account): Source<'_>,
    name: &str,
    draw: fn(&Sockets, Option<&SocketAccount>, &str) -> Option<Drawn>,
) -> Option<Drawn> {
    draw(record.sockets.as_ref()?, account, name)
}

/// Draws a figure, or says why there is none.
pub(crate) fn draw(source: Source<'_>, figure: Figure) -> Result<Drawn, String> {
    (figure.draw)(source, figure.name).ok_or_else(|| plan::why_missing(source.0, figure.probes))
}

/// A figure as an SVG file that stands alone; `None` if the record has nothing for it. `account` is what the models make of its
/// measured sockets.
pub fn figure_svg(record: &Record, account: Option<&SocketAccount>, figure: Figure) -> Option<String> {
    let drawn = draw((record, account), figure).ok()?;
    Some(drawn.svg.finish(figure.title, &drawn.reading, true))
}
