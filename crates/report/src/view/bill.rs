//! A bill: what every setting costs a program, the most expensive first, with what is exposed without it.

use record::{Better, Bill, BillAmount, BillEnded, BillEntry, BillTurn, BillVerdict, ProgramBill};

use stats::Order;
use stats::text::{signed_ends, signed_points};

use crate::page::{Cell, Page, Section, Statement, Table, Tone};
use crate::{naming, number};

/// Entries of one program on a first screen.
const ENTRIES_SHOWN: usize = 12;
/// Below this a chance is only said to be small.
const SMALLEST_P: f64 = 0.001;

/// The bill as a page.
pub fn bill_page(bill: &Bill) -> Page {
    let mut sections: Vec<Section> = match bill.programs.as_slice() {
        [one] => vec![of_program(one, "")],
        several => {
            let tables = [
                programs(several).section("Programs"),
                averages(bill).section("Averages"),
                settings(bill).section("Settings"),
            ];
            let details = several.iter().map(|one| of_program(one, &one.about.name).detailed());
            tables.into_iter().flatten().chain(details).collect()
        }
    };
    let skipped = Table::of("skipped", &bill.skipped)
        .word("setting", |one| &one.setting)
        .prose("skipped because", |one| &one.why);
    sections.extend(skipped.table().section("Skipped").map(Section::detailed));
    sections
        .extend(Section::new("notes", "Notes").list(bill.head.notes.clone()).filled().map(Section::detailed));
    let subject = match bill.programs.as_slice() {
        [one] => one.about.name.clone(),
        several => machine::counted(several.len(), "program"),
    };
    Page {
        subject,
        answer: Statement::new(tone(bill), &bill.head.sentence),
        sections,
        next: bill.boot_commands.iter().map(|line| format!("What only a boot can switch: {line}")).collect(),
        about: super::experiment::about(bill.head.seed, &bill.head.tool_version, &bill.head.started_utc),
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

fn of_program(bill: &ProgramBill, title: &str) -> Section {
    let works = |entry: &BillEntry| entry.verdict != BillVerdict::Fails;
    let table = Table::of("bill", &bill.entries)
        .word("setting", |entry| format!("{}: {} → {}", entry.about.name, entry.about.now, entry.about.other))
        .number(("cost", "%"), |entry| entry.amount.filter(|_| works(entry)).map(amount))
        .word("verdict", |entry| if bill.runs == 0 { (Tone::Plain, "not run") } else { verdict(entry.verdict) })
        .number(("p", 2), |entry| entry.p.filter(|_| works(entry)).map(chance))
        .number(("detectable", "%", 3), |entry| entry.smallest_percent.map(Cell::tenths))
        .word(("risk", 4), |entry| &entry.about.risk)
        .number(("runs", 5), |entry| entry.runs)
        .detail(|entry| advice(entry))
        .first(ENTRIES_SHOWN)
        .legend(
            "cost: what the present value takes beyond the other; detectable: the smallest cost that would be found",
        );
    let section = Section::new("bill", title).table(table);
    let section = section.stating(together(bill).map(Statement::plain));
    let section = section.stating(failures(bill).map(Statement::look));
    if bill.runs == 0 { section } else { section.saying(Tone::Faint, conditions(bill)) }
}

fn chance(p: f64) -> Cell {
    Cell::shown(if p < SMALLEST_P { "<.001".to_owned() } else { format!("{p:.3}") }, p)
}

fn amount(amount: BillAmount) -> Cell {
    let text = signed_points(amount.cost_percent) + " " + &signed_ends(amount.interval);
    Cell::within(text, amount.cost_percent, amount.interval)
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
            let exposed = match (entry.about.needless, entry.about.exposes.as_str()) {
                (Some(true), _) => "this CPU is not affected, so nothing is exposed without it".to_owned(),
                (_, "") => "no protection is lost".to_owned(),
                (_, exposes) => format!("without it exposed: {exposes}"),
            };
            Some(format!("{}: {exposed}. For good: {}", entry.about.title, entry.about.how))
        }
        BillVerdict::Fails => entry
            .failure
            .as_ref()
            .map(|failure| format!("with {}={}: {failure}", entry.about.name, entry.about.other)),
        BillVerdict::Saves | BillVerdict::NotShown | BillVerdict::BelowMargin => None,
    }
}

/// All recommended changes at once, and whether the parts add up.
fn together(bill: &ProgramBill) -> Option<String> {
    let joint = bill.joint?;
    let beyond = bill.remainder?;
    let adds_up = beyond.interval.low <= 0.0 && 0.0 <= beyond.interval.high;
    let words =
        if adds_up { "the parts add up" } else { "the parts do not add up: some settings act on each other" };
    let beyond = format!("{} % {}", signed_points(beyond.cost_percent), signed_ends(beyond.interval));
    let joint = format!("{} % {}", signed_points(joint.cost_percent), signed_ends(joint.interval));
    Some(format!("All recommended changes at once: {joint}; beyond the sum of the parts {beyond}: {words}."))
}

/// Runs that failed although others in the same state worked, or those with all recommended changes.
fn failures(bill: &ProgramBill) -> Option<String> {
    let joint: Vec<&BillTurn> = bill.turns.iter().filter(|turn| turn.switched.len() > 1).collect();
    if let Some(first) = joint.first().filter(|_| joint.iter().all(|turn| turn.value.is_none())) {
        let how = first.failure.as_deref().unwrap_or("no number");
        return Some(format!("With all recommended changes at once the program fails: {how}."));
    }
    let never = |turn: &BillTurn| {
        bill.turns.iter().all(|other| other.switched != turn.switched || other.value.is_none())
    };
    let failed: Vec<&BillTurn> =
        bill.turns.iter().filter(|turn| turn.value.is_none() && !never(turn)).collect();
    let first = failed.first()?.failure.as_deref().unwrap_or("no number");
    Some(format!("{} of {} runs failed ({first}) and are left out.", failed.len(), bill.runs))
}

fn conditions(bill: &ProgramBill) -> String {
    let as_is = bill.as_is.map_or_else(String::new, |value| {
        format!("{} {} {} as things are; ", bill.about.measured, number::short(value), bill.about.unit)
    });
    let noise =
        bill.noise_percent.map_or_else(String::new, |noise| format!("one run varies by {noise:.1} %; "));
    let ended = match bill.ended {
        BillEnded::Answered => "answered within the margin",
        BillEnded::TimeUp => "ended by --for; more time shows smaller costs",
        BillEnded::Interrupted => "interrupted; sidestep bill --resume goes on",
        BillEnded::Failing => "the program fails as things are",
    };
    format!("{as_is}{noise}{} runs; {ended}", bill.runs)
}

/// The table of the article: one row for each program in its own unit.
fn programs(bills: &[ProgramBill]) -> Table {
    let symmetric = |bill: &ProgramBill| {
        bill.joint.map(|joint| Cell::tenths(stats::symmetric_percent(1.0, 1.0 + joint.cost_percent / 100.0)))
    };
    Table::of("programs", bills)
        .word("program", |bill| {
            format!("{}{}", bill.about.name, if bill.about.control { " (control)" } else { "" })
        })
        .number(("as is", 1), |bill| Cell::known(bill.as_is))
        .number(("recommended", 2), |bill| Cell::known(bill.recommended))
        .word(("unit", 1), |bill| &bill.about.unit)
        .word(("better", 4), |bill| if bill.about.better == Better::Lower { "lower" } else { "higher" })
        .number(("cost", "%"), |bill| {
            let any = bill.entries.iter().any(|entry| entry.verdict == BillVerdict::Costs);
            let without = match (bill.noise_percent, any) {
                (None, _) => "not priced",
                (_, true) => "not measured",
                (_, false) => "undetected",
            };
            bill.joint.map_or_else(|| without.into(), amount)
        })
        .number(("symmetric", "%", 3), |bill| symmetric(bill))
        .word("most expensive", |bill| {
            let costs = bill.entries.iter().filter(|entry| entry.verdict == BillVerdict::Costs);
            let percent = |entry: &BillEntry| entry.amount.map_or(0.0, |amount| amount.cost_percent);
            let largest = costs.max_by(|a, b| percent(a).total_cmp(&percent(b)));
            largest.map(|entry| format!("{}={}", entry.about.name, entry.about.now))
        })
        .table()
}

fn averages(bill: &Bill) -> Table {
    let hundredths = |percent: f64| Cell::shown(format!("{percent:.2}"), percent);
    Table::of("averages", &bill.averages)
        .word("group", |average| average.group.replacen("without:", "without ", 1))
        .number(("symmetric", "%"), |average| hundredths(average.symmetric_percent))
        .number(("noise alone", "%"), |average| hundredths(average.floor_percent))
        .number(("programs", 1), |average| average.programs)
        .table()
}

/// Every setting over all programs.
fn settings(bill: &Bill) -> Table {
    let entries = bill
        .programs
        .iter()
        .flat_map(|one| one.entries.iter().map(move |entry| (entry.about.name.as_str(), (one, entry))));
    let mut by_setting = naming::grouped(entries);
    let rank = |name: &str| bill.settings.iter().position(|one| one.setting == name).unwrap_or(usize::MAX);
    by_setting.order_by_key(|(name, _)| rank(name));
    let count = |all: &[(&ProgramBill, &BillEntry)], verdict: BillVerdict| {
        all.iter().filter(|(_, entry)| entry.verdict == verdict).count()
    };
    let largest = |all: &[(&ProgramBill, &BillEntry)]| {
        let costs = all.iter().filter(|(_, entry)| entry.verdict == BillVerdict::Costs);
        costs
            .filter_map(|(bill, entry)| Some((bill.about.name.clone(), entry.amount?)))
            .max_by(|a, b| a.1.cost_percent.total_cmp(&b.1.cost_percent))
    };
    Table::of("settings", by_setting)
        .word("setting", |(name, all)| {
            all.first().map(|(_, entry)| format!("{name}: {} → {}", entry.about.now, entry.about.other))
        })
        .number(("mean cost", "%"), |(name, _)| {
            bill.settings.iter().find(|one| one.setting == *name).map(|one| amount(one.amount))
        })
        .number("costs in", |(_, all)| count(all, BillVerdict::Costs))
        .number("saves in", |(_, all)| count(all, BillVerdict::Saves))
        .number(("fails in", 3), |(_, all)| count(all, BillVerdict::Fails))
        .number(("largest cost", "%", 2), |(_, all)| largest(all).map(|(_, found)| amount(found)))
        .word(("in", 2), |(_, all)| largest(all).map(|(program, _)| program))
        .table()
}
