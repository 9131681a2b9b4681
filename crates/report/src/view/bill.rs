//! A bill: what every setting costs a program, the most expensive first, with what is exposed without it.

use record::{Better, Bill, BillAmount, BillEnded, BillEntry, BillVerdict, ProgramBill};

use crate::number;
use crate::page::{Block, Cell, Column, Page, Row, Section, Statement, Table, Tone};

/// Entries of one program on a first screen.
const ENTRIES_SHOWN: usize = 12;

/// The bill as a page.
pub fn bill_page(bill: &Bill) -> Page {
    let mut sections: Vec<Section> = match bill.programs.as_slice() {
        [one] => of_program(one, ""),
        several => {
            let mut sections = vec![Section::new("programs", "Programs").with(Block::Table(programs(several)))];
            sections.extend(averages(bill));
            sections.push(Section::new("settings", "Settings").with(Block::Table(settings(several))));
            let details = several.iter().flat_map(|one| of_program(one, &one.program));
            sections.extend(details.map(|section| Section { is_detail: true, ..section }));
            sections
        }
    };
    if !bill.skipped.is_empty() {
        let mut table = Table::new("skipped", vec![Column::word("setting"), Column::prose("skipped because")]);
        for skipped in &bill.skipped {
            table.row(vec![Cell::text(&skipped.setting), Cell::text(&skipped.why)]);
        }
        sections.push(Section::detail("skipped", "Skipped").with(Block::Table(table)));
    }
    if !bill.notes.is_empty() {
        sections.push(Section::detail("notes", "Notes").with(Block::List(bill.notes.clone())));
    }
    let subject = match bill.programs.as_slice() {
        [one] => one.program.clone(),
        several => format!("{} programs", several.len()),
    };
    Page {
        subject,
        answer: Statement::new(tone(bill), &bill.sentence),
        sections,
        next: bill.boot_commands.iter().map(|line| format!("What only a boot can switch: {line}")).collect(),
        about: super::experiment::about(bill.seed, &bill.tool_version, &bill.started_utc),
        ..Page::default()
    }
}

fn tone(bill: &Bill) -> Tone {
    let any = |verdict: BillVerdict| {
        bill.programs.iter().flat_map(|one| &one.entries).any(|entry| entry.verdict == verdict)
    };
    if bill.programs.iter().any(|one| one.ended == BillEnded::Failing) {
        Tone::Doubt
    } else if any(BillVerdict::Costs) {
        Tone::Look
    } else {
        Tone::Plain
    }
}

fn of_program(bill: &ProgramBill, title: &str) -> Vec<Section> {
    let mut table = Table::new("bill", vec![
        Column::word("setting"),
        Column::number("cost", "%"),
        Column::word("verdict"),
        Column::number("p", "").priority(2),
        Column::number("detectable", "%").priority(3),
        Column::word("risk").priority(4),
        Column::number("runs", "").priority(5),
    ]);
    table.first_rows = Some(ENTRIES_SHOWN);
    table.legend = Some(
        "cost: what the present value takes beyond the other; detectable: the smallest cost that would be found"
            .to_owned(),
    );
    for entry in &bill.entries {
        table.rows.push(Row { cells: cells(entry), detail: advice(entry) });
    }
    let mut section = Section::new("bill", title).with(Block::Table(table));
    if let Some(line) = together(bill) {
        section = section.saying(Tone::Plain, line);
    }
    section = section.saying(Tone::Faint, conditions(bill));
    vec![section]
}

fn cells(entry: &BillEntry) -> Vec<Cell> {
    let (tone, word) = verdict(entry.verdict);
    let p = |p: f64| Cell::shown(if p < 0.001 { "<.001".to_owned() } else { format!("{p:.3}") }, p);
    let shown = entry.verdict != BillVerdict::Fails;
    vec![
        Cell::text(format!("{}: {} -> {}", entry.setting, entry.now, entry.other)),
        entry.amount.filter(|_| shown).map_or(Cell::Empty, amount),
        Cell::State(tone, word.to_owned()),
        entry.p.filter(|_| shown).map_or(Cell::Empty, p),
        entry.smallest_percent.map_or(Cell::Empty, |percent| Cell::shown(format!("{percent:.1}"), percent)),
        Cell::text(&entry.risk),
        Cell::count(entry.runs),
    ]
}

fn amount(amount: BillAmount) -> Cell {
    Cell::within(
        format!(
            "{:+.1} [{:+.1}, {:+.1}]",
            amount.cost_percent, amount.interval.low, amount.interval.high
        ),
        amount.cost_percent,
        amount.interval,
    )
}

/// One word, and how it is meant.
fn verdict(verdict: BillVerdict) -> (Tone, &'static str) {
    match verdict {
        BillVerdict::Costs => (Tone::Look, "costs"),
        BillVerdict::Saves => (Tone::Good, "saves"),
        BillVerdict::NotShown => (Tone::Plain, "undetected"),
        BillVerdict::BelowMargin => (Tone::Good, "negligible"),
        BillVerdict::Fails => (Tone::Doubt, "fails"),
    }
}

/// What to do, with what is exposed then; never one without the other.
fn advice(entry: &BillEntry) -> Option<String> {
    match entry.verdict {
        BillVerdict::Costs => {
            let exposed = match (entry.needless, entry.exposes.as_str()) {
                (Some(true), _) => "this CPU is not affected, so nothing is exposed without it".to_owned(),
                (_, "") => "no protection is lost".to_owned(),
                (_, exposes) => format!("without it exposed: {exposes}"),
            };
            Some(format!("{}: {exposed}. For good: {}", entry.title, entry.how))
        }
        BillVerdict::Fails => {
            entry.failure.as_ref().map(|failure| format!("with {}={}: {failure}", entry.setting, entry.other))
        }
        BillVerdict::Saves | BillVerdict::NotShown | BillVerdict::BelowMargin => None,
    }
}

/// All recommended changes at once, and whether the parts add up.
fn together(bill: &ProgramBill) -> Option<String> {
    let joint = bill.joint?;
    let beyond = bill.remainder?;
    let adds_up = beyond.interval.low <= 0.0 && 0.0 <= beyond.interval.high;
    let words = if adds_up { "the parts add up" } else { "the parts do not add up: settings act on each other" };
    Some(format!(
        "All recommended changes at once: {:.1} % [{:.1}, {:.1}]; beyond the sum of the parts {:+.1} % [{:+.1}, {:+.1}]: {words}.",
        joint.cost_percent,
        joint.interval.low,
        joint.interval.high,
        beyond.cost_percent,
        beyond.interval.low,
        beyond.interval.high
    ))
}

fn conditions(bill: &ProgramBill) -> String {
    let as_is = bill.as_is.map_or_else(String::new, |value| {
        format!("{} {} {} as things are; ", bill.measured, number::short(value), bill.unit)
    });
    let noise = bill.noise_percent.map_or_else(String::new, |noise| format!("one run varies by {noise:.1} %; "));
    let ended = match bill.ended {
        BillEnded::Answered => "every question answered within the margin",
        BillEnded::TimeUp => "ended by --for; more time shows smaller costs",
        BillEnded::Interrupted => "interrupted; sidestep bill --resume goes on",
        BillEnded::Failing => "the program fails as things are",
    };
    format!("{as_is}{noise}{} runs; {ended}", bill.runs)
}

/// The table of the article: one row for each program in its own unit.
fn programs(bills: &[ProgramBill]) -> Table {
    let mut table = Table::new("programs", vec![
        Column::word("program"),
        Column::number("as is", "").priority(1),
        Column::number("recommended", "").priority(1),
        Column::word("unit").priority(2),
        Column::word("better").priority(4),
        Column::number("cost", "%"),
        Column::number("symmetric", "%").priority(3),
        Column::word("most expensive"),
    ]);
    for bill in bills {
        let mark = if bill.control { " (control)" } else { "" };
        let largest = bill.entries.iter().find(|entry| entry.verdict == BillVerdict::Costs);
        let symmetric = bill.as_is.zip(bill.recommended).map(|(a, b)| stats::symmetric_percent(a, b));
        table.row(vec![
            Cell::text(format!("{}{mark}", bill.program)),
            Cell::known(bill.as_is),
            Cell::known(bill.recommended),
            Cell::text(&bill.unit),
            Cell::text(if bill.better == Better::Lower { "lower" } else { "higher" }),
            bill.joint.map_or(Cell::text("undetected"), amount),
            symmetric.map_or(Cell::Empty, |percent| Cell::shown(format!("{percent:.1}"), percent)),
            largest.map_or(Cell::Empty, |entry| Cell::text(format!("{}={}", entry.setting, entry.now))),
        ]);
    }
    table
}

fn averages(bill: &Bill) -> Option<Section> {
    let mut table = Table::new("averages", vec![
        Column::word("group"),
        Column::number("symmetric", "%"),
        Column::number("noise alone", "%"),
        Column::number("programs", "").priority(1),
    ]);
    for average in &bill.averages {
        let group = average.group.strip_prefix("without:").map_or_else(
            || average.group.clone(),
            |group| format!("without {group}"),
        );
        table.row(vec![
            Cell::text(group),
            Cell::shown(format!("{:.2}", average.symmetric_percent), average.symmetric_percent),
            Cell::shown(format!("{:.2}", average.floor_percent), average.floor_percent),
            Cell::count(average.programs),
        ]);
    }
    table.under("averages", "Averages")
}

/// Every setting over all programs.
fn settings(bills: &[ProgramBill]) -> Table {
    let mut table = Table::new("settings", vec![
        Column::word("setting"),
        Column::number("costs in", ""),
        Column::number("saves in", ""),
        Column::number("fails in", "").priority(2),
        Column::number("largest cost", "%"),
        Column::word("in").priority(1),
    ]);
    let mut names: Vec<&str> = Vec::new();
    for entry in bills.iter().flat_map(|one| &one.entries) {
        if !names.contains(&entry.setting.as_str()) {
            names.push(&entry.setting);
        }
    }
    for name in names {
        let of = bills.iter().flat_map(|bill| bill.entries.iter().map(move |entry| (bill, entry)));
        let all: Vec<(&ProgramBill, &BillEntry)> = of.filter(|(_, entry)| entry.setting == name).collect();
        let count = |verdict: BillVerdict| all.iter().filter(|(_, entry)| entry.verdict == verdict).count();
        let costs = all.iter().filter(|(_, entry)| entry.verdict == BillVerdict::Costs);
        let largest = costs
            .filter_map(|(bill, entry)| Some((bill, entry.amount?)))
            .max_by(|a, b| a.1.cost_percent.total_cmp(&b.1.cost_percent));
        let label = all.first().map_or_else(String::new, |(_, entry)| {
            format!("{name}: {} -> {}", entry.now, entry.other)
        });
        table.row(vec![
            Cell::text(label),
            Cell::count(count(BillVerdict::Costs)),
            Cell::count(count(BillVerdict::Saves)),
            Cell::count(count(BillVerdict::Fails)),
            largest.map_or(Cell::Empty, |(_, found)| amount(found)),
            largest.map_or(Cell::Empty, |(bill, _)| Cell::text(&bill.program)),
        ]);
    }
    table
}
