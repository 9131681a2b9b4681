//! A comparison as one page: what was found, what else differs, what can be believed, tables, pictures.

use std::fmt::Write;

use record::{ComparisonRow, ComparisonTable, Record};
use stats::Verdict;

use super::curves::Named;
use super::{curves, effects, surface, wording};
use crate::escape::markup;
use crate::figure::{DataTable, Drawn};
use crate::html::facts::shell_word;
use crate::html::markup::{Charts, placed, table as table_of};
use crate::html::{self, Html};

/// What the page says of the data in it.
const DOWNLOAD: html::Download = html::Download {
    file: "comparison.json",
    note: "This page holds every row and average; the records lie where they were.",
};

/// The page of a comparison. `records` are those of the configurations, in their order, where they have one; `arguments`
/// those after the program's name.
pub fn comparison_html(
    table: &ComparisonTable,
    records: &[Option<&Record>],
    arguments: &[String],
    options: Html,
) -> String {
    let mut charts = Charts::new(options.script);
    let mut body = head(table);
    body += &differences(table);
    body += &validity(table);
    body += &classes(table);
    body += &rows(table);
    body += &averages(table);
    pictures(&mut body, table, records, &mut charts);
    body += &data(arguments, options);
    let names: Vec<&str> = table.configurations.iter().map(|one| one.name.as_str()).collect();
    html::whole_page(&names.join(" against "), &body, table, &DOWNLOAD, charts, options)
}

fn head(table: &ComparisonTable) -> String {
    let baseline = table.configurations.get(table.baseline).map_or("", |one| one.name.as_str());
    let others: Vec<&str> = (table.configurations.iter().enumerate())
        .filter(|(index, _)| *index != table.baseline)
        .map(|(_, one)| one.name.as_str())
        .collect();
    let mut sentences = String::new();
    for text in wording::sentences(table) {
        let _ = write!(sentences, "<p class=\"verdict\">{}.</p>", markup(&text));
    }
    let told = table.configurations.iter().map(|one| {
        let runs = if one.runs == 1 { "1 run".to_owned() } else { format!("{} runs", one.runs) };
        let when = one.started_utc.as_ref().map_or_else(String::new, |when| format!(", from {when}"));
        format!("{}: {}, {runs}{when}", one.name, one.kind)
    });
    let told: Vec<String> = told.collect();
    let links = [
        ("differences", "What differs"),
        ("validity", "Validity"),
        ("rows", "Tests"),
        ("averages", "Averages"),
        ("pictures", "Pictures"),
        ("data", "Data"),
    ]
    .map(|(id, word)| format!("<a href=\"#{id}\">{word}</a>"))
    .concat();
    format!(
        "<header><p class=\"kicker\">sidestep comparison</p><h1>{}</h1><p class=\"sub\">against {}</p>{sentences}\
         <p class=\"run\">{}</p><nav>{links}</nav></header>\n",
        markup(&others.join(", ")),
        markup(baseline),
        markup(&told.join("; "))
    )
}

fn section(id: &str, title: &str, body: &str) -> String {
    format!("<section id=\"{id}\"><h2>{title}</h2>\n{body}</section>\n")
}

/// What else differs between the platforms.
fn differences(table: &ComparisonTable) -> String {
    let mut headers = vec!["fact".to_owned()];
    headers.extend(table.configurations.iter().map(|one| one.name.clone()));
    let rows = table.differences.iter().map(|difference| {
        let mut row = vec![difference.fact.clone()];
        row.extend(
            difference.values.iter().map(|value| value.clone().unwrap_or_else(|| "unknown".to_owned())),
        );
        row
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let body = if rows.is_empty() {
        "<p class=\"note\">Nothing that the files hold of machine, kernel and conditions.</p>".to_owned()
    } else {
        format!("<div class=\"block\">{}</div>", table_of(&DataTable { headers, rows }))
    };
    section("differences", "What else differs", &body)
}

/// What can be believed, and why.
fn validity(table: &ComparisonTable) -> String {
    let mut body = String::new();
    if let Some(drift) = wording::drift(table) {
        let class = if table.drift.moved.is_empty() { "good" } else { "warning" };
        let sign = if table.drift.moved.is_empty() { "✓" } else { "!" };
        let _ = writeln!(
            body,
            "<article class=\"finding {class}\"><span class=\"sign\" aria-hidden=\"true\">{sign}</span><div><h3>{}</h3></div></article>",
            markup(&drift)
        );
    }
    let spread = wording::spread_from(table).map(|spread| format!("spread {spread}"));
    let notes = table.cautions.iter().chain(&spread).chain(&wording::unmatched(table)).fold(
        String::new(),
        |mut list, line| {
            let _ = write!(list, "<li>{}</li>", markup(line));
            list
        },
    );
    let _ = write!(body, "<ul class=\"doubts\">{notes}</ul>");
    section("validity", "What can be believed", &body)
}

/// What the rows of each class share; nothing where no class was judged.
fn classes(table: &ComparisonTable) -> String {
    if table.classes.is_empty() {
        return String::new();
    }
    let rows = table.classes.iter().map(|class| {
        vec![
            class.class.name().to_owned(),
            class.candidate.clone(),
            wording::verdict_word(class.verdict).to_owned(),
            format!("{} %", wording::signed(class.change_percent)),
            wording::interval(class.interval),
            wording::q_value(Some(class.q)),
            format!("{} of {}", class.moved_along, class.rows.len()),
            wording::knowledge(class.knowledge).to_owned(),
        ]
    });
    let headers = [
        "class",
        "configuration",
        "verdict",
        "change of cost",
        "95 % interval",
        "q",
        "rows along",
        "spread from",
    ];
    let data = DataTable { headers: headers.map(str::to_owned).to_vec(), rows: rows.collect() };
    let note = "<p class=\"note\">One cause moves all rows of a class: what they share, against what it does between \
                unchanged runs. Positive is slower, whatever the unit.</p>";
    section("classes", "Classes of tests", &format!("<div class=\"block\">{}</div>{note}", table_of(&data)))
}

/// One table per candidate, a row per test below the name of its group.
fn rows(table: &ComparisonTable) -> String {
    let baseline = table.configurations.get(table.baseline).map_or("", |one| one.name.as_str());
    let mut body = String::new();
    for (_, candidate) in
        table.configurations.iter().enumerate().filter(|(index, _)| *index != table.baseline)
    {
        let headers = [
            "test",
            "verdict",
            baseline,
            &candidate.name,
            "unit",
            "change",
            "95 % interval",
            "difference",
            "q",
            "spread from",
        ];
        // Only rows judged by the spread between runs have anything to say there.
        let headers = &headers[..headers.len() - usize::from(wording::spread_from(table).is_none())];
        let mut rows: Vec<Vec<String>> = Vec::new();
        let mut group = "";
        for one in table.rows.iter().filter(|row| row.candidate == candidate.name) {
            if one.group != group {
                group = &one.group;
                let mut heading = vec![String::new(); headers.len()];
                heading[0] = group.to_uppercase();
                rows.push(heading);
            }
            rows.push(row(one, headers.len()));
        }
        let headers = headers.iter().map(|header| (*header).to_owned()).collect();
        let data = DataTable { headers, rows };
        let _ = write!(
            body,
            "<div class=\"block\"><h3>{}</h3>{}</div>",
            markup(&candidate.name),
            table_of(&data)
        );
    }
    body += "<p class=\"note\">Change with its sign, of the value as measured; difference is |a − b| over the mean of both; \
             q is the probability of such a difference from nothing, over all rows together. An equivalent row lies \
             within its margin with confidence. ? marks an inconclusive one, and about how many more runs of each would \
             decide it.</p>";
    section("rows", "Test by test", &body)
}

fn row(row: &ComparisonRow, columns: usize) -> Vec<String> {
    let mark = match row.verdict {
        Verdict::Slower => "▲ ",
        Verdict::Faster => "▼ ",
        Verdict::Equivalent | Verdict::Inconclusive => "",
    };
    let mut cells = vec![
        wording::test_name(&row.name),
        format!("{mark}{}", wording::verdict_short(row)),
        wording::value(row.a, row.a_interval),
        wording::value(row.b, row.b_interval),
        row.unit.clone(),
        format!("{} %", wording::signed(row.change_percent)),
        row.interval.map_or_else(|| "none".to_owned(), wording::interval),
        format!("{} %", wording::percent(row.symmetric_percent)),
        wording::q_value(row.q),
        wording::knowledge(row.knowledge).to_owned(),
    ];
    cells.truncate(columns);
    cells
}

fn averages(table: &ComparisonTable) -> String {
    let rows = table.averages.iter().map(|average| {
        vec![
            wording::average_of(average),
            average.candidate.clone(),
            format!("{} %", wording::percent(average.symmetric_percent)),
            wording::floor(average),
            wording::geometric(average),
        ]
    });
    let headers =
        ["average of", "configuration", "mean difference", "A/A floor", "geometric mean [95 % over tests]"];
    let data = DataTable { headers: headers.map(str::to_owned).to_vec(), rows: rows.collect() };
    let note = "<p class=\"note\">The mean of differences has no sign, so noise alone makes it rise: the A/A floor is what \
                it would be if nothing differed. The geometric mean has one, and its interval resamples the tests.</p>";
    section("averages", "Averages", &format!("<div class=\"block\">{}</div>{note}", table_of(&data)))
}

fn pictures(body: &mut String, table: &ComparisonTable, records: &[Option<&Record>], charts: &mut Charts) {
    let mut inside = String::new();
    let mut place = |name: &str, title: &str, drawn: Option<Drawn>| {
        inside += &drawn.map_or_else(String::new, |drawn| placed(name, title, drawn, charts));
    };
    let candidates: Vec<(usize, &str)> = (table.configurations.iter().enumerate())
        .filter(|(index, _)| *index != table.baseline)
        .map(|(index, one)| (index, one.name.as_str()))
        .collect();
    for (index, candidate) in &candidates {
        let rows: Vec<&ComparisonRow> = table.rows.iter().filter(|row| row.candidate == *candidate).collect();
        let name = format!("effects-{index}");
        place(&name, &format!("Changes of {candidate}"), effects::draw(&name, &rows));
    }
    let named: Vec<Named<'_>> = (table.configurations.iter().zip(records).enumerate())
        .filter_map(|(style, (one, record))| record.map(|record| Named { style, name: &one.name, record }))
        .collect();
    place("comparison-bandwidth", "Bandwidth against block size", curves::bandwidth(&named));
    place("comparison-latency", "Latency against block size", curves::latency(&named));
    for (index, candidate) in candidates {
        if let (Some(Some(a)), Some(Some(b))) = (records.get(table.baseline), records.get(index)) {
            let name = format!("difference-{index}");
            let margin = table.rows.first().map_or(1.0, |row| row.margin_percent);
            let drawn = surface::draw(&name, a, b, margin);
            place(&name, &format!("Latency of {candidate}, difference by block size and stride"), drawn);
        }
    }
    if table.configurations.iter().any(|one| one.runs > 1) && !named.is_empty() {
        inside += "<p class=\"note\">Curves and surfaces show the first run of each configuration.</p>";
    }
    *body += &section("pictures", "Pictures", &inside);
}

fn data(arguments: &[String], options: Html) -> String {
    let mut command = String::from("sidestep");
    for argument in arguments {
        command.push(' ');
        command += &shell_word(argument);
    }
    let body = format!(
        "<p>To compare again:</p><div class=\"scroll\"><pre class=\"command\">{}</pre></div>{}",
        markup(&command),
        DOWNLOAD.offer(options)
    );
    section("data", "Data", &body)
}
