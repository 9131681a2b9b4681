//! Cores: what CPUs cost each other, moving a line, waking, and clocks of cores.

use std::collections::BTreeMap;

use machine::{CpuId, CpuSet, Topology, counted};
use record::{CheckedLoop, Compute, Record, WakePoint};

use crate::naming;
use crate::number;
use crate::page::{Cell, Section, Statement, Table};
use crate::view::cells::measured;

/// What CPUs cost each other: the same loop on both.
pub(super) fn sharing(record: &Record) -> Table {
    let topology = &record.machine.topology;
    let legend = "Time of a loop on the first CPU while the second runs the same, over its time alone. 1 where the \
                  kernel names something in common, or more than 1 where it names nothing, is a finding.";
    Table::of("sharing", &record.cores.sharing)
        .largest(|pair| pair.slowdown)
        .word("CPUs", |pair| format!("{} beside {}", pair.a, pair.b))
        .word(("kernel says: in common", 1), |pair| claim(topology, pair.a, pair.b))
        .word("loop on both", |pair| naming::words(&pair.resource))
        .number("time, over alone", |pair| measured(pair.slowdown, &pair.spread))
        .legend(legend)
}

/// What a loop of one class costs one of another.
pub(super) fn unlike(record: &Record) -> Table {
    let legend = "The same for unlike loops, of the nearest pairs: what a program of one kind loses beside one of \
                  another.";
    Table::of("unlike", &record.cores.unlike)
        .largest(|pair| pair.slowdown)
        .word("CPUs", |pair| format!("{} beside {}", pair.a, pair.b))
        .word("loop", |pair| naming::words(&pair.class))
        .word("beside", |pair| naming::words(&pair.beside))
        .number("time, over alone", |pair| measured(pair.slowdown, &pair.spread))
        .legend(legend)
}

/// The smallest thing that two CPUs share, as the kernel says.
fn claim(topology: &Topology, a: CpuId, b: CpuId) -> &'static str {
    let caches = |level: u8| topology.data_cache(a, level).is_some_and(|cache| cache.shared_by.contains(b));
    let of = |cpu: CpuId| topology.cpu(cpu);
    if topology.siblings(a).contains(b) {
        "core"
    } else if caches(2) {
        "L2"
    } else if caches(3) {
        "L3"
    } else if of(a).zip(of(b)).is_some_and(|(a, b)| a.package == b.package) {
        "package"
    } else {
        "nothing"
    }
}

/// Waking an idle CPU.
pub(super) fn waking(record: &Record) -> Table {
    let duration = |ns: f64, value: f64| Cell::shown(number::duration_ns(ns), value);
    let median = |point: &WakePoint| {
        let ends = point.spread.interval;
        let text = format!("{} {}", number::duration_ns(point.ns), number::plus_minus(point.ns, ends));
        Cell::within(text, point.ns, ends)
    };
    Table::of("wake", &record.cores.wake)
        .largest(|point| point.ns)
        .word("CPUs", |point| format!("{} wakes {}", point.waker, point.sleeper))
        .number("after idling", |point| duration(point.idle_us * 1e3, point.idle_us))
        .number("median", |point| median(point))
        .number(("90 % within", 1), |point| Cell::duration(point.p90_ns))
        .legend("From the call to the first instruction of the sleeping thread.")
}

/// The clock of each core, and how much of it this run had.
pub(super) fn control(record: &Record) -> Option<Section> {
    Table::of("control", &record.cores.control)
        .word("CPU", |one| one.cpu)
        .number("core clock", |one| one.core_hz.map(|hertz| Cell::shown(number::frequency(hertz), hertz.0)))
        .number("share of the core", |one| Cell::percent(one.core_share))
        .number(("multiply", "ns", 1), |one| measured(one.multiply_ns, &one.spread))
        .number(("multiply over rotate", 2), |one| one.multiply_per_rotate)
        .legend(
            "From two control loops. A share well below 100 % with a steady clock: something else ran on the same core.",
        )
        .section("Clock and share of each core")
}

/// Compute loops, and results held against known answers.
pub(super) fn computing(record: &Record) -> impl Iterator<Item = Section> {
    let giga = |rate: f64| rate / 1e9;
    let rate = |one: &Compute| Cell::between(giga(one.iterations_per_s), one.spread.interval.map(giga));
    let compute = Table::of("compute", &record.cores.compute)
        .word("loop", |one| naming::words(&one.kernel))
        .word(("ISA", 1), |one| one.isa.to_uppercase())
        .word("CPU", |one| one.cpu)
        .number("10⁹ iterations/s", |one| rate(one))
        .legend("They touch no memory: if these change between two runs, the core did, not memory.");
    compute.section("Compute loops").into_iter().chain(answers(record))
}

/// A count of operations in few digits.
fn operations(count: f64) -> String {
    number::scaled(count, &[(1e12, "×10¹²"), (1e9, "×10⁹"), (1e6, "×10⁶"), (1e3, "×10³")])
}

/// Results held against known answers: in a sentence, and by CPU and loop.
fn answers(record: &Record) -> Option<Section> {
    let checked = &record.cores.checked;
    let count = |count: u64| Cell::shown(operations(count as f64), count as f64);
    let rate = |one: &CheckedLoop| {
        let rate = record::detectable_rate(one.operations).filter(|_| one.wrong == 0)?;
        Some(Cell::shown(format!("1 in {}", operations(1.0 / rate)), rate))
    };
    let table = Table::of("answers", checked)
        .word("loop", |one| naming::words(&one.kernel))
        .word(("ISA", 1), |one| one.isa.to_uppercase())
        .word("CPU", |one| one.cpu)
        .number("operations", |one| count(one.operations))
        .number(("results", 1), |one| count(one.results))
        .number("wrong", |one| one.wrong)
        .number("would have shown", |one| rate(one))
        .legend(
            "Each result is compared with its known answer. Would have shown: an error rate per operation of this kind that would \
             have given a wrong result with 95 % probability. It says nothing of other instructions, data, or temperatures.",
        );
    let sentence = right_or_wrong(checked)?;
    Some(Section::new("answers", "Results checked").stating([sentence]).table(table))
}

/// Whether any CPU computed wrong, and which error none of them can have without one.
fn right_or_wrong(checked: &[CheckedLoop]) -> Option<Statement> {
    let mut of_cpus: BTreeMap<CpuId, [u64; 2]> = BTreeMap::new();
    for one in checked {
        let [all, wrong] = of_cpus.entry(one.cpu).or_default();
        (*all, *wrong) = (*all + one.operations, *wrong + one.wrong);
    }
    let cpus = |is_wrong: bool| -> CpuSet {
        of_cpus.iter().filter(|(_, of)| (of[1] > 0) == is_wrong).map(|(cpu, _)| *cpu).collect()
    };
    let (right, wrong) = (cpus(false), cpus(true));
    if !wrong.is_empty() {
        let count: u64 = of_cpus.values().map(|of| of[1]).sum();
        let results = counted(count as usize, "wrong result");
        return Some(Statement::look(format!("{results} on {}", naming::cpus(&wrong))));
    }
    let fewest = of_cpus.values().map(|of| of[0]).min()?;
    let rate = record::detectable_rate(fewest)?;
    let each = if of_cpus.len() > 1 { "at least " } else { "" };
    Some(Statement::plain(format!(
        "No wrong result in {each}{} operations on {}; an error in more than 1 of {} would have shown",
        operations(fewest as f64),
        naming::cpus(&right),
        operations(1.0 / rate)
    )))
}
