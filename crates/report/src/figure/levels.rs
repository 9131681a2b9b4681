//! Found cache sizes beside claimed ones, on one logarithmic axis of bytes.

use record::{Level, Record};

use super::{DataTable, Drawn, Figure};
use crate::draw::{Anchor, Axis, Scale, Svg, level_colour};
use crate::number;

const WIDTH: f64 = 900.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 612.0;
const ROW: f64 = 44.0;
const TOP: f64 = 40.0;

pub(super) fn draw(record: &Record) -> Option<Drawn> {
    let levels = &record.levels.caches;
    if levels.is_empty() {
        return None;
    }
    Some(Drawn {
        svg: picture(levels),
        reading: "The band spans from the last block that fitted to the first that did not; the filled mark is the \
                  size found, the hollow diamond what the machine claims. Where they lie apart, others use the cache, \
                  or it is partitioned."
            .to_owned(),
        table: table(levels),
        interactive: None,
        needs_webgl: false,
    })
}

fn picture(levels: &[Level]) -> Svg {
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
        row(&mut svg, level, scale, TOP + ROW * (index as f64 + 0.5));
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

fn row(svg: &mut Svg, level: &Level, scale: Scale, y: f64) {
    let colour = level_colour(&level.name);
    svg.line("grid", (LEFT, y), (RIGHT, y));
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
        svg.text((LEFT + 10.0, y + 4.0), "dim small halo", Anchor::Start, "no end found: main memory");
    }
    if let Some(x) = level.claimed_bytes.and_then(|size| scale.at(size.0 as f64)) {
        diamond(svg, (x, y));
    }
    let ns = format!("{} ns {}", number::column(level.ns), number::plus_minus(level.ns, level.ns_interval));
    svg.text((RIGHT + 30.0, y + 4.0), "ink", Anchor::Start, &ns);
    let cycles = level.core_cycles.map_or_else(|| "-".to_owned(), number::short);
    svg.text((RIGHT + 146.0, y + 4.0), "ink", Anchor::Start, &cycles);
    let rate =
        level.read_bytes_per_s.map_or_else(|| "-".to_owned(), |rate| number::column(number::gigabytes(rate)));
    svg.text((RIGHT + 206.0, y + 4.0), "ink", Anchor::Start, &rate);
}

fn table(levels: &[Level]) -> DataTable {
    let size =
        |bytes: Option<machine::Bytes>| bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string());
    let rows = levels.iter().map(|level| {
        let bounds = level.size_interval.map_or_else(
            || "-".to_owned(),
            |i| {
                format!(
                    "{} to {}",
                    number::size(machine::Bytes(i.low as u64)),
                    number::size(machine::Bytes(i.high as u64))
                )
            },
        );
        let read = level.read_bytes_per_s.zip(level.read_interval).map(|(rate, interval)| {
            let told = number::uncertainty(number::gigabytes(rate), interval.map(number::gigabytes));
            format!("{} {told}", number::column(number::gigabytes(rate)))
        });
        vec![
            level.name.clone(),
            level.size_bytes.map_or_else(|| "-".to_owned(), number::size),
            bounds,
            size(level.claimed_bytes),
            format!("{} {}", number::column(level.ns), number::uncertainty(level.ns, level.ns_interval)),
            level.core_cycles.map_or_else(|| "-".to_owned(), number::short),
            read.unwrap_or_else(|| "-".to_owned()),
        ]
    });
    let headers = ["level", "found", "between", "claimed", "ns", "core cycles", "read of one CPU, GB/s"];
    DataTable { headers: headers.map(str::to_owned).to_vec(), rows: rows.collect() }
}
