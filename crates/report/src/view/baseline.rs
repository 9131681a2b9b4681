//! The baseline of a machine: whether it is as it was, what changed, which experiment proves a cause, and what a baseline can show; and
//! the history behind it, a line for each check-up, the newest first, or the trend of each row.

use record::{
    FactDifference, GuardClass, GuardOutcome, GuardVerdict, HistoryLine, HistoryListing, HistoryTrend,
};

use crate::number;
use crate::page::{Block, Cell, Page, Section, Statement, Table, Tone};

/// Facts and numbers on a first screen.
const FIRST: usize = 6;

/// The page of a check.
pub fn guard_page(found: &GuardOutcome) -> Page {
    let tone = match found.verdict {
        GuardVerdict::AsBefore => Tone::Good,
        GuardVerdict::Changed => Tone::Look,
        GuardVerdict::CannotTell => Tone::Doubt,
    };
    let mut proofs = Section::new("proofs", "Prove the cause");
    for proof in &found.proofs {
        let text = format!("{}:", proof.fact);
        proofs = proofs.saying(Tone::Plain, text).with(Block::Command(proof.command.clone()));
    }
    let classes = classes(&found.classes).section("What this baseline can show");
    let sections = [
        departures(found).section(""),
        facts(found).section(""),
        proofs.filled(),
        classes.map(Section::detailed),
    ];
    let is_changed = !found.facts.is_empty() || !found.changes.is_empty();
    let fix = "Is this intended? Take a new baseline: sidestep guard init".to_owned();
    Page {
        answer: Statement::new(tone, &found.sentence),
        because: found.notes.iter().map(Statement::plain).collect(),
        sections: sections.into_iter().flatten().collect(),
        next: if is_changed { vec![fix] } else { Vec::new() },
        about: vec![format!(
            "baseline: {} from {} on; one false alarm a year by design, of which this check spends 1/{:.0}",
            machine::counted(found.baseline_runs, "run"),
            found.baseline_utc,
            found.alarms_per_check.recip()
        )],
        ..Page::default()
    }
}

fn departures(found: &GuardOutcome) -> Table {
    Table::of("changes", &found.changes)
        .prose("number", |change| {
            change.row.clone().unwrap_or_else(|| format!("{} as a whole", change.class))
        })
        .number(("cost", "%"), |change| Cell::signed_tenths(change.slower_percent))
        .number(("limit", "%"), |change| Cell::tenths(change.limit_percent))
        .first(FIRST)
        .legend("cost: now against the baseline, above zero is slower")
}

fn facts(found: &GuardOutcome) -> Table {
    Table::of("facts", &found.facts)
        .word("fact", |fact| &fact.fact)
        .prose("baseline", |fact| fact_value(fact, 0))
        .prose("now", |fact| fact_value(fact, 1))
        .first(FIRST)
        .table()
}

/// What a fact was on one side.
fn fact_value(fact: &FactDifference, side: usize) -> &str {
    fact.values.get(side).and_then(Option::as_deref).unwrap_or("none")
}

fn classes(classes: &[GuardClass]) -> Table {
    Table::of("classes", classes)
        .word("class", |one| &one.class)
        .number(("rows", 1), |one| one.rows)
        .number(("smallest change shown", "%"), |one| one.smallest_percent.map(Cell::tenths))
        .number(("cost now", "%"), |one| one.now_percent.map(Cell::signed_tenths))
        .table()
}

/// The page of a baseline that was taken: what it can show.
pub fn guard_baseline_page(found: &[GuardClass], runs: usize, busy_runs: usize) -> Page {
    let runs = machine::counted(runs, "run");
    let (tone, load) = match busy_runs {
        0 => (Tone::Good, String::new()),
        busy => (Tone::Look, format!(", {busy} of them while the machine was busy: its limits are wide")),
    };
    let none = "facts are watched; numbers are judged from 20 runs on";
    let section = classes(found).section("");
    let section = section.unwrap_or_else(|| Section::new("classes", "").saying(Tone::Plain, none));
    Page {
        answer: Statement::new(tone, format!("baseline taken: {runs}{load}")),
        sections: vec![section],
        ..Page::default()
    }
}

/// Trends on a first screen.
const TRENDS_FIRST: usize = 12;

/// The page of a listing that lies in `folder`, without its oldest `hidden` entries.
pub fn history_page(listing: &HistoryListing, hidden: usize, folder: &str) -> Page {
    if listing.entries.is_empty() {
        let none = format!("no check-ups yet in {folder}; sidestep run adds one");
        return Page { answer: Statement::plain(none), ..Page::default() };
    }
    let is_of_trends = !listing.trends.is_empty();
    let of = match listing.machines.len() {
        1 => String::new(),
        machines if is_of_trends => format!(" of {machines} machines; trends are of this one alone"),
        machines => format!(" of {machines} machines"),
    };
    let check_ups = format!("{}{of} in {folder}", machine::counted(listing.entries.len(), "check-up"));
    let answer = if is_of_trends {
        let changed = listing.trends.iter().filter(|trend| !trend.changes.is_empty()).count();
        let tone = if changed > 0 { Tone::Look } else { Tone::Good };
        let rows = machine::counted(listing.trends.len(), "row");
        Statement::new(tone, format!("{changed} of {rows} changed level; {check_ups}"))
    } else {
        Statement::plain(check_ups)
    };
    let table = if is_of_trends { trends(listing) } else { entries(listing, hidden) };
    let older = (hidden > 0 && !is_of_trends).then(|| format!("{hidden} older ones with --last"));
    let section = Section::new("history", "").table(table).stating(older.map(Statement::faint));
    Page { answer, sections: vec![section], ..Page::default() }
}

fn entries(listing: &HistoryListing, hidden: usize) -> Table {
    let known = |value: &Option<String>| value.clone().unwrap_or_else(|| "?".to_owned());
    Table::of("history", listing.entries[hidden..].iter().rev())
        .word("started (UTC)", |line| &line.started_utc)
        .word(("boot", 2), |line| known(&line.boot))
        .word(("microcode", 3), |line| known(&line.microcode))
        .number("warnings", |line| line.warnings)
        .number("undetermined", |line| line.inconclusive)
        .word(("kernel", 1), |line| known(&line.kernel))
        .detail(|line| remarks(line, listing))
        .table()
}

/// What to know of one check-up; `None` if nothing.
fn remarks(line: &HistoryLine, listing: &HistoryListing) -> Option<String> {
    let machine = listing.machines.get(line.machine).filter(|_| line.machine > 0);
    let remarks = [
        line.partial.as_ref().map(|why| format!("partial: {why}")),
        line.doubts.first().map(|why| format!("noisy: {why}")),
        machine.map(|machine| format!("another machine: {} CPUs of {}", machine.cpus, machine.cpu)),
    ];
    Some(number::joined(remarks.into_iter().flatten(), "; ")).filter(|remarks| !remarks.is_empty())
}

fn trends(listing: &HistoryListing) -> Table {
    let last = |trend: &HistoryTrend| trend.values.last().copied().unwrap_or(f64::NAN);
    Table::of("trends", &listing.trends)
        .prose("row", |trend| &trend.row)
        .number("last", |trend| Cell::shown(number::significant(last(trend), 4), last(trend)))
        .word(("unit", 1), |trend| &trend.unit)
        .number(("runs", 2), |trend| trend.values.len())
        .number(("a day", "%", 1), |trend| {
            trend.percent_per_day.map(|percent| Cell::shown(format!("{percent:+.2}"), percent))
        })
        .word("level", |trend| {
            if trend.changes.is_empty() { (Tone::Plain, "stable") } else { (Tone::Look, "changed") }
        })
        .detail(|trend| changes(trend))
        .first(TRENDS_FIRST)
        .table()
}

/// Where a row changed its level, and what changed beside it; `None` if it did not.
fn changes(trend: &HistoryTrend) -> Option<String> {
    let change = |change: &record::HistoryChange| {
        let facts = number::joined(change.facts.iter().map(fact), "; ");
        let beside = if facts.is_empty() {
            "no fact changed at the same time".to_owned()
        } else {
            format!("at the same time, which is no proof: {facts}")
        };
        format!("{} {:+.1} %: {beside}", change.started_utc, change.percent)
    };
    (!trend.changes.is_empty()).then(|| number::joined(trend.changes.iter().map(change), "; "))
}

fn fact(fact: &FactDifference) -> String {
    format!("{} from {} to {}", fact.fact, fact_value(fact, 0), fact_value(fact, 1))
}

#[cfg(test)]
mod tests {
    use record::{Better, Fingerprint, GuardChange, GuardToggle, HistoryChange};

    use super::*;
    use crate::Terminal;

    #[test]
    fn a_change_shows_its_number_its_fact_and_the_whole_command_that_proves_it() {
        let command =
            format!("sidestep ab --toggle governor=performance:powersave -- {}", "./program ".repeat(8));
        let found = GuardOutcome {
            verdict: GuardVerdict::Changed,
            sentence: "changed: latency costs 6.1 % more".to_owned(),
            changes: vec![GuardChange {
                row: None,
                class: "latency".to_owned(),
                slower_percent: 6.1,
                limit_percent: 2.0,
                trend: None,
            }],
            facts: vec![FactDifference {
                fact: "governor".to_owned(),
                values: vec![Some("performance".to_owned()), None],
            }],
            proofs: vec![GuardToggle { fact: "governor".to_owned(), command: command.clone() }],
            alarms_per_check: 1.0 / 365.0,
            ..GuardOutcome::default()
        };
        let page = guard_page(&found);
        let text = page.terminal(Terminal::default(), false);
        assert!(text.starts_with("changed: latency costs 6.1 % more\n"), "{text}");
        for part in ["latency as a whole", "+6.1", "performance", "none", command.trim_end(), "guard init"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(page.markdown(true).contains("1/365"), "{}", page.markdown(true));
    }

    fn line(started_utc: &str, machine: usize) -> HistoryLine {
        HistoryLine {
            file: "a".to_owned(),
            started_utc: started_utc.to_owned(),
            machine,
            boot: Some("1234abcd".to_owned()),
            kernel: None,
            microcode: None,
            warnings: 2,
            inconclusive: 1,
            doubts: Vec::new(),
            partial: None,
        }
    }

    fn listing() -> HistoryListing {
        HistoryListing {
            machines: vec![Fingerprint::default(), Fingerprint { cpus: 8, ..Fingerprint::default() }],
            entries: vec![line("2026-01-01", 0), line("2026-01-02", 1), line("2026-01-03", 0)],
            ..HistoryListing::default()
        }
    }

    #[test]
    fn the_newest_check_up_comes_first_and_the_oldest_are_only_counted() {
        let text = history_page(&listing(), 1, "/state").terminal(Terminal::default(), false);
        assert!(text.starts_with("3 check-ups of 2 machines in /state\n"), "{text}");
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
        assert!(at("2026-01-03") < at("2026-01-02") && at("another machine: 8 CPUs") < at("1 older ones"));
        assert!(!text.contains("2026-01-01"), "{text}");
        let none = history_page(&HistoryListing::default(), 0, "/state");
        assert!(none.terminal(Terminal::default(), false).contains("sidestep run adds one"));
    }

    #[test]
    fn a_trend_says_where_its_level_changed() {
        let change = HistoryChange {
            started_utc: "2026-01-03".to_owned(),
            point: stats::ChangePoint { index: 1, before: 3.0, after: 3.1, p: 0.001 },
            percent: 7.5,
            facts: Vec::new(),
        };
        let trend = HistoryTrend {
            row: "rdtsc".to_owned(),
            class: stats::RowClass::ClockReads,
            unit: "ns".to_owned(),
            better: Better::Lower,
            started_utc: Vec::new(),
            values: vec![20.0, 21.5],
            percent_per_day: Some(0.1),
            changes: vec![change],
        };
        let found = HistoryListing { trends: vec![trend], ..listing() };
        let text = history_page(&found, 0, "/state").terminal(Terminal::default(), false);
        assert!(text.starts_with("1 of 1 row changed level; 3 check-ups"), "{text}");
        assert!(text.contains("2026-01-03 +7.5 %: no fact changed at the same time"), "{text}");
    }
}
