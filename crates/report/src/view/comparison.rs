//! A comparison: what became slower or faster, what else differs, test by test, and the averages.

use std::cmp::Reverse;

use record::{ComparisonAverage, ComparisonClass, ComparisonRow, ComparisonTable, FactDifference, Record};
use stats::text::{points, runs, signed_ends, signed_points, value, with_distances};
use stats::{Interval, Knowledge, Verdict};

use super::cells;
use crate::escape::shell_word;
use crate::page::{Cell, Page, Section, Statement, Table, Tone};
use crate::{figure, naming, number};

/// Notes and facts on a first screen; of what was left out the notes of two files.
const CAUTIONS_FIRST: usize = 1;
const LEFT_OUT_FIRST: usize = 2;
const FACTS_FIRST: usize = 2;
/// Of values this long, such as command lines, only the words that differ are shown.
const LONG_VALUE_CHARACTERS: usize = 36;

/// Percentages are printed with two decimals at most: what is smaller would read as zero with a direction.
const SMALLEST_PERCENT: f64 = 0.005;

/// Tests on a first screen, and as many where none is called slower or faster.
const TESTS_FIRST: usize = 8;
const UNCLAIMED_FIRST: usize = 2;
/// Longer names of configurations do not stand above a column of numbers.
const NAME_CHARACTERS: usize = 12;

/// The comparison as a page. `records` are those of the configurations, in their order, where they have one, for the pictures;
/// `arguments` those after the program's name.
pub fn comparison_page(table: &ComparisonTable, records: &[Option<&Record>], arguments: &[String]) -> Page {
    let subject = subject(table);
    let mut statements = statements(table).into_iter();
    let mut answer = statements.next().unwrap_or_default();
    if table.configurations.len() == 2 {
        answer.text = format!("{subject}: {}", answer.text);
    }
    let cautions = table.cautions.iter().map(Statement::plain);
    Page {
        subject,
        answer,
        because: statements.chain(cautions.take(cautions_first(table))).collect(),
        sections: sections(table, records),
        about: about(table, arguments),
        ..Page::default()
    }
}

/// How many notes stand on the first screen.
fn cautions_first(table: &ComparisonTable) -> usize {
    let of_left_out = table.cautions.iter().take_while(|caution| caution.contains(": left out: ")).count();
    CAUTIONS_FIRST + of_left_out.min(LEFT_OUT_FIRST)
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
    let names = number::joined(candidates(table).map(|(_, name)| name), ", ");
    format!("{names} against {}", baseline(table))
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
        Verdict::Slower => Some(Statement::look(text)),
        Verdict::Faster => Some(Statement::good(text)),
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
    failed(table)
        .into_iter()
        .chain(doubt)
        .chain(claims)
        .chain(summaries)
        .chain(further_runs(table))
        .chain(controls)
        .chain(unmatched(table))
        .collect()
}

/// That runs failed: what they took is no time of the work.
fn failed(table: &ComparisonTable) -> Option<Statement> {
    let first = table.failed.first()?;
    let more = match table.failed.len() {
        1 => String::new(),
        all => format!("; so did runs of {}", machine::counted(all - 1, "more test")),
    };
    Some(Statement::doubt(format!(
        "undetermined: {first}{more}; make the programs succeed and measure again"
    )))
}

/// What rows did together: said of the cost, whichever way their unit goes.
fn shared(what: &str, change_percent: f64, verdict: Verdict, interval: Interval) -> String {
    let (change, word) = (points(change_percent.abs()), verdict.name());
    format!("{what}: {change} % {word} {}", signed_ends(interval))
}

/// One candidate in a sentence.
fn summary(table: &ComparisonTable, candidate: &str) -> (Tone, String) {
    let rows: Vec<&ComparisonRow> = table.rows.iter().filter(|row| row.candidate == candidate).collect();
    let tests = machine::counted(rows.len(), "test");
    let all = table.averages.iter().find(|one| one.candidate == candidate && one.group == "all");
    let average = all.map_or_else(String::new, |all| format!("; on average {}", geometric(all)));
    if rows.iter().all(|row| row.interval.is_none()) {
        return (Tone::Doubt, format!("{tests} of single runs, which allow no verdict{average}"));
    }
    let of = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
    let counted = |verdicts: &[Verdict]| -> Vec<String> {
        let some = verdicts.iter().map(|verdict| (of(*verdict), *verdict)).filter(|(count, _)| *count > 0);
        some.map(|(count, verdict)| format!("{count} {}", verdict.word())).collect()
    };
    let rest = [Verdict::Equivalent, Verdict::Inconclusive];
    let claimed = rows.iter().filter(|row| cells::is_claim(row));
    let Some(largest) = claimed.max_by(|a, b| a.symmetric_percent.total_cmp(&b.symmetric_percent)) else {
        let tone = if of(Verdict::Inconclusive) == 0 { Tone::Good } else { Tone::Plain };
        let answer = if table.failed.is_empty() { "no difference detected in " } else { "" };
        return (tone, format!("{answer}{tests} ({}){average}", counted(&rest).join(", ")));
    };
    let all = counted(&[&[Verdict::Slower, Verdict::Faster], &rest[..]].concat()).join(", ");
    let ends = largest.interval.map_or_else(String::new, |ends| format!(" {}", signed_ends(ends)));
    let largest = format!("{} {} %{ends}", largest.name, signed_points(largest.change_percent));
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
    Some(Statement::plain(format!("about {} more runs of each would determine {of}", runs(*half))))
}

/// What the controls say, if there are any.
fn drift(table: &ComparisonTable) -> Option<Statement> {
    let drift = &table.drift;
    let moved = format!("{} % ({})", points(drift.moved_percent), drift.moved.join(", "));
    Some(match (drift.controls.as_slice(), drift.moved.as_slice()) {
        ([], _) => return None,
        _ if drift.doubtful => Statement::doubt(format!(
            "undetermined: the controls moved by up to {moved}, more than between unchanged runs: no test is judged"
        )),
        (controls, []) => {
            let (controls, most) = (controls.join(", "), points(drift.stayed_percent));
            Statement::faint(format!("controls stable: {controls} moved by at most {most} %"))
        }
        _ => Statement::look(format!(
            "the controls moved by up to {moved}: smaller differences are undetermined"
        )),
    })
}

/// That there are tests which not all hold; their names stand with the details.
fn unmatched(table: &ComparisonTable) -> Option<Statement> {
    let tests = machine::counted(table.unmatched.len(), "test");
    let text = format!("{tests} not compared: not in all configurations");
    (!table.unmatched.is_empty()).then(|| Statement::faint(text))
}

fn sections(table: &ComparisonTable, records: &[Option<&Record>]) -> Vec<Section> {
    let mut tests = tests(table);
    let has_intervals = table.rows.iter().any(|row| row.interval.is_some());
    tests.legend = has_intervals.then(|| cells::legend(table.rows.iter()));
    let tests = Section::new("tests", "").table(tests);
    // Of tests of which none is judged the averages are the news.
    let has_claim = table.rows.iter().any(cells::is_claim);
    let averages = averages(table).map(|averages| averages.detailed_if(has_claim));
    let (first, second) = if has_claim { (Some(tests), averages) } else { (averages, Some(tests)) };
    let sections = [differences(table), first, second, classes(table), notes(table), picture(table, records)];
    sections.into_iter().flatten().collect()
}

/// The tests, largest changes first: two configurations side by side, or a column for each of several.
fn tests(table: &ComparisonTable) -> Table {
    let shown = if table.configurations.len() == 2 { of_pair(table) } else { of_several(table) };
    let has_claim = table.rows.iter().any(cells::is_claim);
    Table { first_rows: Some(if has_claim { TESTS_FIRST } else { UNCLAIMED_FIRST }), ..shown }
}

fn side(of: f64, interval: Option<Interval>) -> Cell {
    Cell::within(value(of, interval), of, interval)
}

/// Of claims the largest first, then all others in the order of the document.
fn weight(rows: &[&ComparisonRow]) -> Reverse<u64> {
    let claims = rows.iter().filter(|row| cells::is_claim(row)).map(|row| row.symmetric_percent);
    // The order of positive numbers is that of their bits.
    Reverse(claims.fold(0.0, f64::max).to_bits())
}

/// What the columns of values are called.
fn titles(table: &ComparisonTable) -> [String; 2] {
    let candidate = 1 - table.baseline.min(1);
    let names = [table.baseline, candidate].map(|index| table.configurations[index].name.clone());
    if names.iter().all(|name| name.chars().count() <= NAME_CHARACTERS) {
        names
    } else {
        ["baseline", "candidate"].map(str::to_owned)
    }
}

fn of_pair(table: &ComparisonTable) -> Table {
    let [a, b] = titles(table);
    let mut rows: Vec<&ComparisonRow> = table.rows.iter().collect();
    rows.sort_by_key(|row| weight(&[row]));
    // Where no row has an interval, the answer says so once; a verdict says which way is better as well.
    let is_judged = rows.iter().any(|row| row.interval.is_some());
    Table::of("tests", rows)
        .prose("test", |row| test_name(&row.name))
        .number((a, 1), |row| side(row.a, row.a_interval))
        .number((b, 1), |row| side(row.b, row.b_interval))
        .word(("unit", 2), |row| &row.unit)
        .number(("change", "%"), |row| cells::change(row))
        .word("verdict", |row| is_judged.then(|| cells::verdict_of(row)))
        .number(("q", 3), |row| Cell::q(row.q))
        .word(("better", 3), |row| (!is_judged).then(|| naming::word(&row.better)))
        .word(("group", 4), |row| &row.group)
        .table()
}

fn of_several(table: &ComparisonTable) -> Table {
    let mut by_test = naming::grouped(table.rows.iter().map(|row| ((&row.name, &row.group), row)));
    by_test.sort_by_key(|(_, rows)| weight(rows));
    let rows = Table::of("tests", by_test)
        .prose("test", |(_, rows)| test_name(&rows[0].name))
        .number((baseline(table).to_owned(), 1), |(_, rows)| side(rows[0].a, rows[0].a_interval))
        .word(("unit", 2), |(_, rows)| &rows[0].unit);
    let columns = candidates(table).fold(rows, |rows, (_, name)| {
        rows.number((name.to_owned(), "%"), |(_, rows)| {
            rows.iter().find(|row| row.candidate == name).map(|row| change_and_verdict(row))
        })
    });
    columns.word(("group", 3), |(_, rows)| &rows[0].group).table()
}

/// `+6.1 ±0.2 slower`.
fn change_and_verdict(row: &ComparisonRow) -> Cell {
    let change = with_distances(row.change_percent, row.interval);
    let verdict = row.interval.map_or("", |_| row.verdict.word());
    Cell::within(format!("{change} {verdict}"), row.change_percent, row.interval)
}

/// What else differs between the platforms.
fn differences(table: &ComparisonTable) -> Option<Section> {
    let rows = Table::of("differences", table.differences.iter().map(|one| (one, differing_words(one))))
        .word("fact", |(one, _)| one.fact.clone());
    let columns = table.configurations.iter().enumerate().fold(rows, |rows, (index, one)| {
        rows.prose(one.name.clone(), |(_, words)| words.get(index).cloned())
    });
    columns.first(FACTS_FIRST).table().section("What else differs")
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
fn classes(table: &ComparisonTable) -> Option<Section> {
    let change = |one: &ComparisonClass| {
        let text = signed_points(one.change_percent) + " " + &signed_ends(one.interval);
        Cell::within(text, one.change_percent, one.interval)
    };
    let classes = Table::of("classes", &table.classes)
        .word("class", |one| one.class.name())
        .word(("configuration", 1), |one| several_only(table, &one.candidate))
        .number(("change of cost", "%"), |one| change(one))
        .word("verdict", |one| cells::verdict(one.verdict))
        .number(("q", 3), |one| Cell::q(Some(one.q)))
        .number(("rows along", 2), |one| format!("{} of {}", one.moved_along, one.rows.len()))
        .word(("spread from", 3), |one| {
            Some(one.knowledge.name()).filter(|_| one.knowledge != Knowledge::None)
        })
        .legend(
            "One cause moves all rows of a class: what they share, against what it does between unchanged runs. \
             Positive is slower, whatever the unit.",
        );
    classes.section("Classes of tests").map(Section::detailed)
}

/// The candidate where there are several.
fn several_only<'t>(table: &ComparisonTable, candidate: &'t str) -> &'t str {
    if table.configurations.len() > 2 { candidate } else { "" }
}

fn averages(table: &ComparisonTable) -> Option<Section> {
    let floor = |floor: f64| Cell::shown(points(floor), floor);
    Table::of("averages", &table.averages)
        .prose("average of", |one| average_of(one))
        .word(("configuration", 1), |one| several_only(table, &one.candidate))
        .number(("difference", "%"), |one| Cell::shown(points(one.symmetric_percent), one.symmetric_percent))
        .number(("A/A floor", "%"), |one| one.floor_percent.map_or_else(|| "no interval".into(), floor))
        .number("geometric mean of costs", |one| {
            Cell::within(geometric(one), one.geometric_percent, one.geometric_interval)
        })
        .table()
        .section("Averages")
}

/// The name of a test in little room: calls of one family go without what they share.
fn test_name(name: &str) -> String {
    name.replace("(CLOCK_", "(").replace("clock_gettime", "gettime")
}

/// What an average was taken over.
fn average_of(average: &ComparisonAverage) -> String {
    let tests = machine::counted(average.rows, "test");
    match average.group.as_str() {
        "all" => format!("all {tests}"),
        other => match other.strip_prefix("without:") {
            Some(name) => format!("without {name}, {tests}"),
            None => format!("{other}, {tests}"),
        },
    }
}

/// The geometric mean in words, with its interval over the tests.
fn geometric(average: &ComparisonAverage) -> String {
    let mean = average.geometric_percent;
    if mean.abs() < SMALLEST_PERCENT && average.geometric_interval.is_none() {
        return "no change".to_owned();
    }
    let word = if mean > 0.0 { "slower" } else { "faster" };
    let ends = average.geometric_interval.map(|ends| format!(" {}", signed_ends(ends)));
    format!("{} % {word}{}", points(mean.abs()), ends.unwrap_or_default())
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
fn notes(table: &ComparisonTable) -> Option<Section> {
    let only =
        naming::grouped(table.unmatched.iter().map(|test| (test.present_in.join(", "), test.name.as_str())));
    let only = only.into_iter().map(|(holders, tests)| format!("only in {holders}: {}", tests.join("; ")));
    Section::new("notes", "Notes")
        .detailed()
        .list(
            (table.cautions.iter().skip(cautions_first(table)).cloned())
                .chain(table.failed.iter().skip(1).cloned())
                .chain(spread_from(table))
                .chain(meaning_of_averages(table))
                .chain(only),
        )
        .filled()
}

/// How many rows rest on which knowledge of the spread between runs; `None` where none does.
fn spread_from(table: &ComparisonTable) -> Option<String> {
    let sources = [Knowledge::History, Knowledge::Replicates, Knowledge::Prior]
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
                None => format!("{} ({rows})", one.name()),
            }
        });
    let sources = number::joined(sources, ", ");
    (!sources.is_empty()).then(|| format!("spread between runs, from {sources}"))
}

/// Bandwidth of the configurations over each other.
fn picture(table: &ComparisonTable, records: &[Option<&Record>]) -> Option<Section> {
    let named = table.configurations.iter().zip(records).enumerate();
    let named: Vec<_> =
        named.filter_map(|(style, (one, record))| Some((style, one.name.as_str(), (*record)?))).collect();
    let drawn = figure::bandwidth_of_several(&named);
    Section::new("pictures", "").figure("bandwidth", "Bandwidth against block size", drawn).filled()
}

/// The configurations, and the command that compares them again.
fn about(table: &ComparisonTable, arguments: &[String]) -> Vec<String> {
    let configuration = table.configurations.iter().map(|one| {
        let when = one.started_utc.as_ref().map_or_else(String::new, |when| format!(", from {when}"));
        format!("{}: {}, {}{when}", one.name, one.kind, machine::counted(one.runs, "run"))
    });
    let words = number::joined(arguments.iter().map(|argument| shell_word(argument)), " ");
    let again = (!words.is_empty()).then(|| format!("Compare again: sidestep {words}"));
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
