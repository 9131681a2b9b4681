//! A comparison: what became slower or faster, what else differs, test by test, and the averages.

mod data;
mod tests_table;

pub use data::ID as COMPARISON_DATA;
use record::{ComparisonRow, ComparisonTable, FactDifference, Record};
use stats::{Interval, Knowledge, Verdict};

use crate::comparison::curves::Named;
use crate::comparison::{cells, curves, effects, surface, wording};
use crate::figure::Drawn;
use crate::html::facts::shell_word;
use crate::number;
use crate::page::{Block, Cell, Column, Page, Placed, Section, Statement, Table, Tone};

/// Notes and facts on a first screen.
const CAUTIONS_FIRST: usize = 1;
const FACTS_FIRST: usize = 2;
/// Of values this long, such as command lines, only the words that differ are shown.
const LONG_VALUE_CHARACTERS: usize = 36;

/// The comparison as a page. `records` are those of the configurations, in their order, where they have one, for the pictures;
/// `arguments` those after the program's name.
pub fn comparison_page(table: &ComparisonTable, records: &[Option<&Record>], arguments: &[String]) -> Page {
    let subject = subject(table);
    let mut statements = statements(table).into_iter();
    let mut answer = statements.next().unwrap_or_default();
    if table.configurations.len() == 2 {
        answer.text = format!("{subject}: {}", answer.text);
    }
    let cautions = table.cautions.iter().map(|one| Statement::new(Tone::Plain, one));
    Page {
        subject,
        answer,
        because: statements.chain(cautions.take(CAUTIONS_FIRST)).collect(),
        sections: sections(table, records),
        about: about(table, arguments),
        ..Page::default()
    }
}

fn baseline(table: &ComparisonTable) -> &str {
    table.configurations.get(table.baseline).map_or("", |one| one.name.as_str())
}

/// Places and names of all configurations but the baseline.
fn candidates(table: &ComparisonTable) -> impl Iterator<Item = (usize, &str)> {
    let named = table.configurations.iter().enumerate().map(|(index, one)| (index, one.name.as_str()));
    named.filter(|(index, _)| *index != table.baseline)
}

fn subject(table: &ComparisonTable) -> String {
    let names: Vec<&str> = candidates(table).map(|(_, name)| name).collect();
    format!("{} against {}", names.join(", "), baseline(table))
}

/// The answer first: doubt, what memory and classes of rows did together, then the rows, then the controls.
fn statements(table: &ComparisonTable) -> Vec<Statement> {
    let several = table.configurations.len() > 2;
    let of = |candidate: &str| if several { format!("{candidate}: ") } else { String::new() };
    let memory = table.memory.iter().map(|one| {
        let over = format!(" over {}", machine::counted(one.rows, "row"));
        let said = shared("memory as a whole", one.change_percent, one.verdict, one.interval) + &over;
        (one.verdict, format!("{}{said}", of(&one.candidate)))
    });
    let classes = table.classes.iter().map(|one| {
        let rows = match one.rows.len() {
            all if all == one.moved_along => format!("all {}", machine::counted(all, "row")),
            all => format!("{} of {}", one.moved_along, machine::counted(all, "row")),
        };
        let said = shared(one.class.name(), one.change_percent, one.verdict, one.interval);
        (one.verdict, format!("{}{said} in {rows}", of(&one.candidate)))
    });
    let claims = memory.chain(classes).filter_map(|(verdict, text)| match verdict {
        Verdict::Slower => Some(Statement::new(Tone::Look, text)),
        Verdict::Faster => Some(Statement::new(Tone::Good, text)),
        Verdict::Equivalent | Verdict::Inconclusive => None,
    });
    let summaries = candidates(table).map(|(_, name)| {
        let (tone, text) = summary(table, name);
        Statement::new(tone, of(name) + &text)
    });
    let (doubt, controls) = match drift(table) {
        Some(one) if one.tone == Tone::Doubt => (Some(one), None),
        other => (None, other),
    };
    doubt
        .into_iter()
        .chain(claims)
        .chain(summaries)
        .chain(further_runs(table))
        .chain(controls)
        .chain(unmatched(table))
        .collect()
}

/// What rows did together: said of the cost, whichever way their unit goes.
fn shared(what: &str, change_percent: f64, verdict: Verdict, interval: Interval) -> String {
    let (change, word) = (wording::percent(change_percent.abs()), wording::verdict_word(verdict));
    format!("{what}: {change} % {word} {}", wording::interval(interval))
}

/// One candidate in a sentence.
fn summary(table: &ComparisonTable, candidate: &str) -> (Tone, String) {
    let rows: Vec<&ComparisonRow> = table.rows.iter().filter(|row| row.candidate == candidate).collect();
    let tests = machine::counted(rows.len(), "test");
    let all = table.averages.iter().find(|one| one.candidate == candidate && one.group == "all");
    let average = all.map_or_else(String::new, |all| format!("; on average {}", wording::geometric(all)));
    if rows.iter().all(|row| row.interval.is_none()) {
        return (Tone::Doubt, format!("{tests} of single runs, which allow no verdict{average}"));
    }
    let of = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
    let counted = |verdicts: &[Verdict]| -> Vec<String> {
        let some = verdicts.iter().map(|verdict| (of(*verdict), *verdict)).filter(|(count, _)| *count > 0);
        some.map(|(count, verdict)| format!("{count} {}", wording::shown_verdict(verdict))).collect()
    };
    let rest = [Verdict::Equivalent, Verdict::Inconclusive];
    let claimed = rows.iter().filter(|row| cells::is_claim(row));
    let Some(largest) = claimed.max_by(|a, b| a.symmetric_percent.total_cmp(&b.symmetric_percent)) else {
        let tone = if of(Verdict::Inconclusive) == 0 { Tone::Good } else { Tone::Plain };
        return (tone, format!("no difference detected in {tests} ({}){average}", counted(&rest).join(", ")));
    };
    let all = counted(&[&[Verdict::Slower, Verdict::Faster], &rest[..]].concat()).join(", ");
    let ends = largest.interval.map_or_else(String::new, |ends| format!(" {}", wording::interval(ends)));
    let largest = format!("{} {} %{ends}", largest.name, wording::signed(largest.change_percent));
    let tone = if of(Verdict::Slower) > 0 { Tone::Look } else { Tone::Good };
    (tone, format!("{all} of {tests}; largest: {largest}{average}"))
}

/// How many more runs would determine half of what is undetermined.
fn further_runs(table: &ComparisonTable) -> Option<Statement> {
    let unclear = table.rows.iter().filter(|row| row.verdict == Verdict::Inconclusive);
    let mut needed: Vec<usize> = unclear.filter_map(|row| row.further_runs).collect();
    needed.sort_unstable();
    let half = needed.get(needed.len() / 2)?;
    let of = if needed.len() == 1 { "the undetermined test" } else { "half of the undetermined tests" };
    let text = format!("about {} more runs of each would determine {of}", wording::runs(*half));
    Some(Statement::new(Tone::Plain, text))
}

/// What the controls say, if there are any.
fn drift(table: &ComparisonTable) -> Option<Statement> {
    let drift = &table.drift;
    let moved = format!("{} % ({})", wording::percent(drift.moved_percent), drift.moved.join(", "));
    let (tone, text) = match (drift.controls.as_slice(), drift.moved.as_slice()) {
        ([], _) => return None,
        _ if drift.doubtful => (
            Tone::Doubt,
            format!(
                "undetermined: the controls moved by up to {moved}, more than between unchanged runs: no test is judged"
            ),
        ),
        (controls, []) => (
            Tone::Faint,
            format!(
                "controls stable: {} moved by at most {} %",
                controls.join(", "),
                wording::percent(drift.stayed_percent)
            ),
        ),
        _ => {
            (Tone::Look, format!("the controls moved by up to {moved}: smaller differences are undetermined"))
        }
    };
    Some(Statement::new(tone, text))
}

/// That there are tests which not all hold; their names stand with the details.
fn unmatched(table: &ComparisonTable) -> Option<Statement> {
    let tests = machine::counted(table.unmatched.len(), "test");
    let text = format!("{tests} not compared: not in all configurations");
    (!table.unmatched.is_empty()).then(|| Statement::new(Tone::Faint, text))
}

fn sections(table: &ComparisonTable, records: &[Option<&Record>]) -> Vec<Section> {
    let mut tests = tests_table::table(table);
    let has_intervals = table.rows.iter().any(|row| row.interval.is_some());
    tests.legend = has_intervals.then(|| "change ± distance to the end of its 95 % interval".to_owned());
    let tests = Section::new("tests", "").with(Block::Table(tests));
    let tests = tests.with(Block::Table(data::table(table)));
    // Of tests of which none is judged the averages are the news.
    let has_claim = table.rows.iter().any(cells::is_claim);
    let averages = Section { is_detail: has_claim, ..averages(table) };
    let (first, second) = if has_claim { (tests, averages) } else { (averages, tests) };
    let mut sections = vec![differences(table), first, second, classes(table), notes(table)];
    sections.extend(pictures(table, records));
    sections.retain(|section| !section.blocks.is_empty());
    sections
}

/// What else differs between the platforms.
fn differences(table: &ComparisonTable) -> Section {
    let section = Section::new("differences", "What else differs");
    if table.differences.is_empty() {
        return Section { blocks: Vec::new(), ..section };
    }
    let names = table.configurations.iter().map(|one| Column::prose(one.name.clone()));
    let mut facts = Table::new("differences", [Column::word("fact")].into_iter().chain(names).collect());
    for difference in &table.differences {
        let values = differing_words(difference).into_iter().map(Cell::Text);
        facts.row([Cell::text(&difference.fact)].into_iter().chain(values).collect());
    }
    facts.first_rows = Some(FACTS_FIRST);
    section.with(Block::Table(facts))
}

/// The values of a fact; of long ones the words that differ.
fn differing_words(difference: &FactDifference) -> Vec<String> {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| number::UNKNOWN.to_owned());
    let values: Vec<String> = difference.values.iter().map(value).collect();
    if values.iter().any(|value| value.chars().count() < LONG_VALUE_CHARACTERS) {
        return values;
    }
    let words: Vec<Vec<&str>> = values.iter().map(|value| value.split(' ').collect()).collect();
    let differs = |word: &&&str| !words.iter().all(|other| other.contains(*word));
    let kept = words.iter().map(|words| words.iter().filter(differs).copied().collect::<Vec<_>>());
    kept.map(|kept| if kept.is_empty() { "(the same words)".to_owned() } else { kept.join(" ") }).collect()
}

/// What the rows of each class share; nothing where no class was judged.
fn classes(table: &ComparisonTable) -> Section {
    let section = Section::detail("classes", "Classes of tests");
    if table.classes.is_empty() {
        return section;
    }
    let columns = vec![
        Column::word("class"),
        Column::word("configuration").priority(1),
        Column::number("change of cost", "%"),
        Column::word("verdict"),
        Column::number("q", "").priority(3),
        Column::number("rows along", "").priority(2),
        Column::word("spread from").priority(3),
    ];
    let mut rows = Table::new("classes", columns);
    for one in &table.classes {
        let change = wording::signed(one.change_percent) + " " + &wording::interval(one.interval);
        rows.row(vec![
            Cell::text(one.class.name()),
            Cell::text(several_only(table, &one.candidate)),
            Cell::within(change, one.change_percent, one.interval),
            cells::verdict(one.verdict),
            cells::q_value(Some(one.q)),
            Cell::text(format!("{} of {}", one.moved_along, one.rows.len())),
            Cell::text(wording::knowledge(one.knowledge)),
        ]);
    }
    rows.legend = Some(
        "One cause moves all rows of a class: what they share, against what it does between unchanged runs. \
         Positive is slower, whatever the unit."
            .to_owned(),
    );
    section.with(Block::Table(rows))
}

/// The candidate where there are several.
fn several_only<'t>(table: &ComparisonTable, candidate: &'t str) -> &'t str {
    if table.configurations.len() > 2 { candidate } else { "" }
}

fn averages(table: &ComparisonTable) -> Section {
    let columns = vec![
        Column::prose("average of"),
        Column::word("configuration").priority(1),
        Column::number("difference", "%"),
        Column::number("A/A floor", "%"),
        Column::number("geometric mean of costs", ""),
    ];
    let mut rows = Table::new("averages", columns);
    for one in &table.averages {
        let floor = |floor: f64| Cell::shown(wording::percent(floor), floor);
        let mean = one.geometric_percent;
        let geometric = wording::geometric(one);
        rows.row(vec![
            Cell::text(wording::average_of(one)),
            Cell::text(several_only(table, &one.candidate)),
            Cell::shown(wording::percent(one.symmetric_percent), one.symmetric_percent),
            one.floor_percent.map_or_else(|| Cell::text("no interval"), floor),
            Cell::Number { text: geometric, value: mean, interval: one.geometric_interval },
        ]);
    }
    let section = Section::new("averages", "Averages");
    if rows.rows.is_empty() { section } else { section.with(Block::Table(rows)) }
}

/// What the columns of the averages mean.
fn meaning_of_averages(table: &ComparisonTable) -> Option<String> {
    let is_of_records = table.rows.iter().any(|row| row.knowledge != Knowledge::None);
    let interval = if is_of_records { "is one between runs" } else { "resamples the tests" };
    (!table.averages.is_empty()).then(|| {
        format!(
            "averages: the difference is the mean of |a - b| over the mean of both, without sign, so noise alone makes it rise; \
             the A/A floor is what it would be if nothing differed; the interval of the geometric mean {interval}"
        )
    })
}

/// What there was no room for on the first screen: further notes, where the spread is from, tests that were not compared.
fn notes(table: &ComparisonTable) -> Section {
    let mut lines: Vec<String> = table.cautions.iter().skip(CAUTIONS_FIRST).cloned().collect();
    lines.extend(spread_from(table));
    lines.extend(meaning_of_averages(table));
    let mut by_holder: Vec<(String, Vec<&str>)> = Vec::new();
    for test in &table.unmatched {
        let holders = test.present_in.join(", ");
        match by_holder.iter_mut().find(|(have, _)| *have == holders) {
            Some((_, tests)) => tests.push(&test.name),
            None => by_holder.push((holders, vec![&test.name])),
        }
    }
    lines.extend(by_holder.iter().map(|(holders, tests)| format!("only in {holders}: {}", tests.join("; "))));
    let section = Section::detail("notes", "Notes");
    if lines.is_empty() { section } else { section.with(Block::List(lines)) }
}

/// How many rows rest on which knowledge of the spread between runs; `None` where none does.
fn spread_from(table: &ComparisonTable) -> Option<String> {
    let told: Vec<String> = [Knowledge::History, Knowledge::Replicates, Knowledge::Prior]
        .into_iter()
        .map(|one| (one, table.rows.iter().filter(|row| row.knowledge == one).count()))
        .filter(|(_, rows)| *rows > 0)
        .map(|(one, rows)| {
            let rows = machine::counted(rows, "row");
            match table.earlier_runs.filter(|_| one == Knowledge::History) {
                Some(earlier) if earlier.own_history => {
                    format!("this machine's own history: {} runs ({rows})", earlier.runs)
                }
                Some(earlier) => format!("earlier records: {} runs ({rows})", earlier.runs),
                None => format!("{} ({rows})", wording::knowledge(one)),
            }
        })
        .collect();
    (!told.is_empty()).then(|| format!("spread between runs, from {}", told.join(", ")))
}

fn pictures(table: &ComparisonTable, records: &[Option<&Record>]) -> Option<Section> {
    let mut section = Section::new("pictures", "Pictures");
    let mut place = |name: &'static str, heading: String, drawn: Option<Drawn>| {
        let placed = drawn.map(|drawn| Block::Figure(Box::new(Placed { name, heading, drawn })));
        section.blocks.extend(placed);
    };
    for (index, candidate) in candidates(table) {
        let rows: Vec<&ComparisonRow> = table.rows.iter().filter(|row| row.candidate == candidate).collect();
        let drawn = effects::draw(&format!("effects-{index}"), &rows);
        place("effects", format!("Changes of {candidate}"), drawn);
    }
    let named: Vec<Named<'_>> = (table.configurations.iter().zip(records).enumerate())
        .filter_map(|(style, (one, record))| record.map(|record| Named { style, name: &one.name, record }))
        .collect();
    place("bandwidth", "Bandwidth against block size".to_owned(), curves::bandwidth(&named));
    place("latency", "Latency against block size".to_owned(), curves::latency(&named));
    for (index, candidate) in candidates(table) {
        if let (Some(Some(a)), Some(Some(b))) = (records.get(table.baseline), records.get(index)) {
            let margin = table.rows.first().map_or(1.0, |row| row.margin_percent);
            let drawn = surface::draw(&format!("difference-{index}"), a, b, margin);
            let heading = format!("Latency of {candidate}, difference by block size and stride");
            place("difference", heading, drawn);
        }
    }
    let is_first_of_many = table.configurations.iter().any(|one| one.runs > 1) && !named.is_empty();
    if is_first_of_many {
        let note =
            Statement::new(Tone::Faint, "Curves and surfaces show the first run of each configuration.");
        section.blocks.push(Block::Text(note));
    }
    (!section.blocks.is_empty()).then_some(section)
}

/// The configurations, and the command that compares them again.
fn about(table: &ComparisonTable, arguments: &[String]) -> Vec<String> {
    let configuration = table.configurations.iter().map(|one| {
        let when = one.started_utc.as_ref().map_or_else(String::new, |when| format!(", from {when}"));
        format!("{}: {}, {}{when}", one.name, one.kind, machine::counted(one.runs, "run"))
    });
    let words: Vec<String> = arguments.iter().map(|argument| shell_word(argument)).collect();
    let again = (!words.is_empty()).then(|| format!("Compare again: sidestep {}", words.join(" ")));
    configuration.chain(again).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_words_that_differ_are_shown_of_a_long_command_line() {
        let line = |end: &str| Some(format!("console=ttyS0 quiet panic=1 ro {end}"));
        let difference = FactDifference {
            fact: "command line".to_owned(),
            values: vec![line("mitigations=off"), line("nosmt")],
        };
        assert_eq!(differing_words(&difference), ["mitigations=off", "nosmt"]);
    }
}
