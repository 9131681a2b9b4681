//! Records that no probe would write: any number, any text, any count. Nothing may panic.

use machine::{Bytes, CpuId, NodeId};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use record::{PlanOutcome, Planted, Quality, Record, Severity, Spread};
use report::{Figure, Terminal, check_up_page, figure_svg, machine_page};
use stats::Interval;
use unicode_width::UnicodeWidthStr;

use super::markup::{check_html, check_xml};
use super::sample::sample_record;

const NUMBERS: [f64; 14] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    1e-300,
    1e300,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MIN_POSITIVE,
    f64::MAX,
    f64::MIN,
    118.0,
    1e9,
];
const SIZES: [u64; 8] = [0, 1, 3, 4096, 4097, 1 << 40, u64::MAX - 1, u64::MAX];
const TEXTS: [&str; 7] =
    ["", "L1", "memory", "L99999999999999999999", "日本語の\u{1b}[0m", "<b>&", "a\nb,\"c\""];

/// A repeatable source of hostile values.
struct Source(u64);

impl Source {
    fn next(&mut self) -> usize {
        // SplitMix64, Steele, Lea and Flood 2014.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed ^ (mixed >> 27)) >> 8) as usize
    }

    /// True once in four times: most values stay as they were, so that some part of each chart is drawn.
    fn strikes(&mut self) -> bool {
        self.next().is_multiple_of(4)
    }

    fn number(&mut self, value: &mut f64) {
        if self.strikes() {
            *value = NUMBERS[self.next() % NUMBERS.len()];
        }
    }

    fn size(&mut self, value: &mut Bytes) {
        if self.strikes() {
            value.0 = SIZES[self.next() % SIZES.len()];
        }
    }

    fn text(&mut self, value: &mut String) {
        if self.strikes() {
            TEXTS[self.next() % TEXTS.len()].clone_into(value);
        }
    }

    fn cpu(&mut self, value: &mut CpuId) {
        if self.strikes() {
            value.0 = SIZES[self.next() % SIZES.len()] as u32;
        }
    }

    fn interval(&mut self, value: &mut Interval) {
        self.number(&mut value.low);
        self.number(&mut value.high);
    }

    fn spread(&mut self, spread: &mut Spread) {
        self.interval(&mut spread.interval);
        spread.quality = [Quality::Converged, Quality::Wide, Quality::Unstable][self.next() % 3];
    }

    fn shorten<T>(&mut self, values: &mut Vec<T>) {
        if self.strikes() {
            values.truncate(self.next() % 4);
        }
    }
}

fn spoil_memory(source: &mut Source, record: &mut Record) {
    let memory = &mut record.memory;
    for point in &mut memory.bandwidth {
        source.number(&mut point.bytes_per_s);
        source.size(&mut point.block_bytes);
        source.spread(&mut point.spread);
        source.text(&mut point.kernel);
    }
    for cell in &mut memory.latency {
        source.number(&mut cell.ns);
        source.size(&mut cell.block_bytes);
        source.size(&mut cell.stride_bytes);
        source.size(&mut cell.page_bytes);
        source.spread(&mut cell.spread);
        if let Some(level) = &mut cell.level {
            source.text(level);
        }
    }
    for result in &mut memory.stream {
        source.number(&mut result.bytes_per_s);
        source.spread(&mut result.spread);
        source.text(&mut result.store);
        if source.strikes() {
            result.node = Some(NodeId(u32::MAX));
            result.cpu = None;
        }
    }
    for point in &mut memory.walks {
        source.number(&mut point.delta_ns);
        source.spread(&mut point.spread);
        point.pages = if source.strikes() { u64::MAX } else { point.pages };
    }
    source.shorten(&mut memory.bandwidth);
    source.shorten(&mut memory.latency);
    source.shorten(&mut memory.stream);
    source.shorten(&mut memory.walks);
}

fn spoil_the_rest(source: &mut Source, record: &mut Record) {
    for pair in &mut record.cores.line_transfer {
        source.number(&mut pair.ns);
        source.cpu(&mut pair.a);
        source.spread(&mut pair.spread);
    }
    for pair in &mut record.cores.sharing {
        source.number(&mut pair.slowdown);
        source.cpu(&mut pair.b);
        source.text(&mut pair.resource);
    }
    for pair in &mut record.cores.unlike {
        source.number(&mut pair.slowdown);
        source.cpu(&mut pair.b);
        source.text(&mut pair.beside);
        source.spread(&mut pair.spread);
    }
    for point in &mut record.cores.wake {
        source.number(&mut point.ns);
        source.number(&mut point.idle_us);
        source.number(&mut point.p90_ns);
    }
    for level in &mut record.levels.caches {
        source.text(&mut level.name);
        source.number(&mut level.ns);
        if let Some(size) = &mut level.size_bytes {
            source.size(size);
        }
        if let Some(interval) = &mut level.size_interval {
            source.interval(interval);
        }
    }
    for read in &mut record.clocks {
        source.number(&mut read.ns);
        source.text(&mut read.name);
    }
    if let Some(cost) = &mut record.clock_cost {
        for read in &mut cost.reads {
            source.number(&mut read.ns);
            source.text(&mut read.name);
        }
        for row in &mut cost.threads {
            source.number(&mut row.ns);
            source.number(&mut row.ratio);
        }
        source.shorten(&mut cost.reads);
        source.shorten(&mut cost.threads);
        source.shorten(&mut cost.rounds);
        source.shorten(&mut cost.published);
    }
    for finding in &mut record.findings {
        source.text(&mut finding.text);
    }
    source.number(&mut record.elapsed_s);
    source.shorten(&mut record.cores.line_transfer);
    source.shorten(&mut record.cores.sharing);
    source.shorten(&mut record.cores.wake);
    source.shorten(&mut record.machine.topology.cpus);
    source.shorten(&mut record.machine.topology.nodes);
    if source.strikes() {
        record.plan.entries[0].outcome = PlanOutcome::Pending;
    }
}

/// Findings that have words of their own on the first screen.
const IDS: [&str; 8] = [
    "thp-off-cost",
    "busy-sibling",
    "steal-high",
    "clock-slow",
    "sockets-unequal",
    "clock-counters",
    "wake-slow",
    "flaws-uneven",
];

/// Huge names, early ends, planted differences, findings of every kind, nothing on flaws.
fn spoil_what_is_on_the_first_screen(source: &mut Source, record: &mut Record) {
    let long = |source: &mut Source| {
        source.strikes().then(|| "a very long name of something [0, 1]; ".repeat(1 + source.next() % 9))
    };
    record.machine.identity.name = long(source);
    record.machine.identity.hypervisor = long(source);
    record.provenance.host_name = long(source);
    record.partial = long(source);
    let rows = long(source).map(|row| Planted { row, factor: 1.05 });
    record.provenance.planted = rows.into_iter().collect();
    record.guards.doubts.extend(long(source));
    for finding in &mut record.findings {
        IDS[source.next() % IDS.len()].clone_into(&mut finding.id);
        finding.text.extend(long(source));
        finding.severity = [Severity::Warning, Severity::Inconclusive, Severity::Good][source.next() % 3];
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, rng_seed: RngSeed::Fixed(20), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_record_makes_a_renderer_panic_or_write_broken_markup(seed: u64, cpu_count in 1_u32..5, width_columns in 0_usize..140) {
        let mut record = sample_record(cpu_count);
        let mut source = Source(seed);
        spoil_memory(&mut source, &mut record);
        spoil_the_rest(&mut source, &mut record);
        let page = check_up_page(&record, None, None);
        for colour in [false, true] {
            page.terminal(Terminal { width_columns, colour }, true);
            machine_page(&record.machine).terminal(Terminal { width_columns, colour }, true);
        }
        for figure in Figure::ALL {
            if let Some(svg) = figure_svg(&record, None, figure) {
                check_xml(&svg);
                prop_assert!(!svg.contains("NaN") && !svg.contains("inf\""));
            }
        }
        check_html(&page.html());
    }

    #[test]
    fn the_first_screen_of_any_record_is_a_screen_and_no_line_is_wider_than_it(seed: u64, cpu_count in 1_u32..70) {
        let mut record = sample_record(cpu_count);
        let mut source = Source(seed);
        spoil_memory(&mut source, &mut record);
        spoil_the_rest(&mut source, &mut record);
        spoil_what_is_on_the_first_screen(&mut source, &mut record);
        let page = check_up_page(&record, Some("sidestep-20260101T120000Z/record.json"), None);
        for is_long in [false, true] {
            for width_columns in [40, 80, 120] {
                let text = page.terminal(Terminal { width_columns, colour: false }, is_long);
                prop_assert!(text.lines().all(|line| line.width() <= width_columns), "{text}");
                // Two lines more say where the record and the report are.
                prop_assert!(is_long || width_columns < 80 || text.lines().count() + 2 <= 24, "{text}");
            }
        }
    }
}
