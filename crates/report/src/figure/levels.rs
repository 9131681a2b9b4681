//! Found cache sizes beside claimed ones, on one logarithmic axis of bytes.

use record::{LatencyCell, Level, Record};

use super::Figure;
use crate::draw::{Anchor, Axis, Scale, Svg, level_colour};
use crate::number::{self, gigabytes};
use crate::page::{Drawn, Table};

const WIDTH: f64 = 900.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 612.0;
const ROW: f64 = 44.0;
const TOP: f64 = 40.0;

/// The name of the last level, which has no end. Source: `record::Level::name`.
const MEMORY: &str = "memory";

pub(super) fn draw(record: &Record) -> Option<Drawn> {
    record.levels.caches.iter().find(|level| level.size_bytes.is_some())?;
    let reading = "The band spans from the last block that fitted to the first that did not; the filled mark is the size \
                   found, the hollow diamond what the machine claims. Where they lie apart, others use the cache, or it \
                   is partitioned.";
    Some(Drawn { svg: picture(record), reading: reading.to_owned(), table: Table::default() })
}

fn picture(record: &Record) -> Svg {
    let levels = &record.levels.caches;
    let bottom = TOP + ROW * levels.len() as f64;
    let mut svg = Svg::new(Figure::Levels.name(), WIDTH, bottom + 42.0);
    let sizes = levels.iter().flat_map(|level| {
        let ends = level.size_interval.map(|interval| [interval.low, interval.high]);
        let sizes = [level.size_bytes, level.claimed_bytes].into_iter().flatten().map(|size| size.0 as f64);
        sizes.chain(ends.into_iter().flatten())
    });
    // Half an octave of room on both sides keeps the marks off the frame.
    let sizes: Vec<f64> = sizes.flat_map(|size| [size / 1.5, size * 1.5]).collect();
    let scale = Scale::holding(Axis::Bytes, sizes.into_iter(), LEFT, RIGHT);
    for (value, label) in scale.ticks() {
        if let Some(x) = scale.at(value) {
            svg.line("grid", (x, TOP - 8.0), (x, bottom));
            svg.text((x, bottom + 16.0), "small", Anchor::Middle, &label);
        }
    }
    for (x, title) in [(RIGHT + 30.0, "latency"), (RIGHT + 146.0, "cycles"), (RIGHT + 206.0, "read GB/s")] {
        svg.text((x, TOP - 16.0), "dim small", Anchor::Start, title);
    }
    for (index, level) in levels.iter().enumerate() {
        row(&mut svg, (record, level), scale, TOP + ROW * (index as f64 + 0.5));
    }
    svg.line("axis", (LEFT, bottom), (RIGHT, bottom));
    svg.circle((LEFT + 6.0, 14.0), 4.5, "fill=\"#66727f\"");
    svg.text((LEFT + 17.0, 18.0), "small", Anchor::Start, "found, with its bounds");
    diamond(&mut svg, (LEFT + 170.0, 14.0));
    svg.text((LEFT + 181.0, 18.0), "small", Anchor::Start, "claimed");
    svg
}

fn diamond(svg: &mut Svg, (x, y): (f64, f64)) {
    let corners = [(x, y - 7.0), (x + 7.0, y), (x, y + 7.0), (x - 7.0, y)];
    svg.polygon(&corners, "class=\"whisker\" stroke-width=\"1.6\"");
}

/// What stands where a level has no size: memory has none, a cache may be larger than the blocks that were tried, or
/// its blocks may contradict each other.
fn without_size(record: &Record, level: &Level) -> String {
    if level.name == MEMORY {
        return "main memory: what no cache holds".to_owned();
    }
    let largest = |served: &dyn Fn(&LatencyCell) -> bool| {
        record.memory.latency.iter().filter(|cell| served(cell)).map(|cell| cell.block_bytes).max()
    };
    let name = Some(level.name.as_str());
    match (largest(&|_| true), largest(&|cell| cell.level.as_deref() == name)) {
        (Some(tried), Some(served)) if tried == served => {
            format!("no end found up to {}", number::size(tried))
        }
        (Some(_), Some(served)) => format!("no single end; it serves blocks up to {}", number::size(served)),
        (Some(tried), None) => format!("no end found among blocks up to {}", number::size(tried)),
        (None, _) => "no end found".to_owned(),
    }
}

fn row(svg: &mut Svg, (record, level): (&Record, &Level), scale: Scale, y: f64) {
    let colour = level_colour(&level.name);
    svg.line("grid", (LEFT, y), (RIGHT, y));
    svg.open_mark(&title(level));
    svg.text((LEFT - 12.0, y + 4.0), "strong", Anchor::End, &level.name);
    let ends = level.size_interval.and_then(|i| Some((scale.at(i.low)?, scale.at(i.high)?)));
    if let Some((low, high)) = ends {
        svg.rectangle(
            (low, y - 9.0),
            (high - low, 18.0),
            &format!("fill=\"{colour}\" opacity=\".3\" rx=\"3\""),
        );
    }
    if let Some(size) = level.size_bytes
        && let Some(x) = scale.at(size.0 as f64)
    {
        svg.circle((x, y), 5.5, &format!("fill=\"{colour}\""));
        svg.text((x, y - 13.0), "small ink halo", Anchor::Middle, &number::size(size));
    } else {
        svg.text((LEFT + 10.0, y + 4.0), "dim small halo", Anchor::Start, &without_size(record, level));
    }
    if let Some(x) = level.claimed_bytes.and_then(|size| scale.at(size.0 as f64)) {
        diamond(svg, (x, y));
    }
    let ns = format!("{} ns {}", number::column(level.ns), number::plus_minus(level.ns, level.ns_interval));
    svg.text((RIGHT + 30.0, y + 4.0), "ink", Anchor::Start, &ns);
    let cycles = level.core_cycles.map_or_else(|| "-".to_owned(), number::short);
    svg.text((RIGHT + 146.0, y + 4.0), "ink", Anchor::Start, &cycles);
    let rate = level.read_bytes_per_s.map_or_else(|| "-".to_owned(), |rate| number::column(gigabytes(rate)));
    svg.text((RIGHT + 206.0, y + 4.0), "ink", Anchor::Start, &rate);
    svg.close();
}

/// `L2: 2 MiB [1.5 MiB, 2.5 MiB]; claimed 2 MiB`
fn title(level: &Level) -> String {
    let bytes = |bytes: f64| number::size(machine::Bytes(bytes as u64));
    let found = level.size_bytes.map_or_else(|| number::UNKNOWN.to_owned(), number::size);
    let ends = level.size_interval.map(|i| format!(" [{}, {}]", bytes(i.low), bytes(i.high)));
    let claimed = level.claimed_bytes.map(|size| format!("; claimed {size}"));
    format!("{}: {found}{}{}", level.name, ends.unwrap_or_default(), claimed.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use machine::{Bytes, CpuId};
    use record::{LatencyCell, Level, Record, Spread};
    use stats::Interval;

    use super::{Figure, without_size};

    fn level(name: &str) -> Level {
        Level {
            name: name.to_owned(),
            size_bytes: None,
            size_interval: None,
            claimed_bytes: None,
            ns: 20.0,
            ns_interval: Interval { low: 19.0, high: 21.0 },
            core_cycles: None,
            read_bytes_per_s: None,
            read_interval: None,
            conditions: None,
        }
    }

    fn cell(block_mib: u64, level: &str) -> LatencyCell {
        LatencyCell {
            cpu: CpuId(0),
            block_bytes: Bytes(block_mib << 20),
            stride_bytes: Bytes(64),
            page_bytes: Bytes(4096),
            ns: 20.0,
            core_cycles: None,
            level: Some(level.to_owned()),
            spread: Spread::default(),
        }
    }

    #[test]
    fn without_any_size_there_is_no_picture_but_a_reason() {
        let mut record = Record::default();
        record.levels.caches = vec![Level { claimed_bytes: Some(Bytes(32 << 20)), ..level("L3") }];
        let why = crate::figure::draw(&record, None, Figure::Levels).err();
        assert!(why.is_some_and(|why| why.starts_with("Sizes of caches: undetermined;")));
        record.levels.caches[0].size_bytes = Some(Bytes(16 << 20));
        assert!(crate::figure::draw(&record, None, Figure::Levels).is_ok());
    }

    #[test]
    fn a_level_without_a_size_says_how_far_it_was_looked_for() {
        let mut record = Record::default();
        assert_eq!(without_size(&record, &level("L3")), "no end found");
        record.memory.latency = vec![cell(1, "L2"), cell(32, "L3")];
        for (name, expected) in [
            ("L3", "no end found up to 32 MiB"),
            ("L2", "no single end; it serves blocks up to 1 MiB"),
            ("L4", "no end found among blocks up to 32 MiB"),
            ("memory", "main memory: what no cache holds"),
        ] {
            assert_eq!(without_size(&record, &level(name)), expected);
        }
    }
}
