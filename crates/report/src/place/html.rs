//! A placement as a page: what is recommended, predicted against measured, who shares what, who goes where.

use record::{PlaceOutcome, SharedAmount, Sharing, SharingMatrix};

use super::sharers::{names, regions, strongest_pairs};
use super::terminal::{
    alarms, arm_name, confirmed, learnt_by, parking_words, predicted, thread_name, verdict,
};
use crate::draw::{BarChart, BarGroup, BarRow, MatrixCell, MatrixChart, MatrixPanel};
use crate::escape::markup;
use crate::figure::{DataTable, Drawn};
use crate::html::markup::{Charts, list, placed, section, table, terms};
use crate::html::{self, Html};
use crate::view::experiment::dropped;
use crate::{interactive, number};

/// Threads of a heat map; --json has all.
const THREADS_DRAWN: usize = 64;

/// The page of a placement.
pub fn place_html(found: &PlaceOutcome, options: Html) -> String {
    let mut charts = Charts::new(options.script);
    let title = format!("Placement of {}", found.subject);
    let mut body = format!(
        "<header><p class=\"kicker\">sidestep place</p><h1>{}</h1><p class=\"sub\">{}</p></header>\n",
        markup(&title),
        markup(&found.sentence)
    );
    if !found.arms.is_empty() {
        body += &section("arms", "What was tried", &table(&arms(found)));
    }
    let bars = gains(found);
    let is_predicted = found.arms.iter().any(|arm| arm.predicted_percent.is_some());
    if !bars.is_empty() {
        let drawn = Drawn {
            svg: bars.draw("place-gains"),
            reading: format!(
                "{} of each placement in per cent of the kernel's own: {}measured with its 95 % interval. 100 is no difference.",
                found.metric,
                if is_predicted {
                    "predicted before any run, with what is not known better, and "
                } else {
                    ""
                }
            ),
            table: DataTable::default(),
            interactive: Some(interactive::bars(&bars)),
            needs_webgl: false,
        };
        body += &section(
            "gains",
            if is_predicted { "Predicted against measured" } else { "Measured" },
            &placed("place-gains", "Against the kernel's own placement", drawn, &mut charts),
        );
    }
    if let Some(sharing) = &found.sharing {
        body += &shared(found, sharing, &mut charts);
    }
    if !found.threads.is_empty() {
        body += &section("threads", "Threads", &table(&threads(found)));
    }
    body += &section("facts", "How it was found", &terms(&facts(found)));
    if !found.notes.is_empty() {
        body += &section("notes", "Notes", &list(&found.notes));
    }
    html::document_page(&title, &body, found, "place.json", charts, options)
}

fn arms(found: &PlaceOutcome) -> DataTable {
    let unit = if found.unit.is_empty() { String::new() } else { format!(", {}", found.unit) };
    let value = format!("{}{unit}", found.metric);
    let headers =
        ["placement", "what it is", &value, "predicted %", "measured %", "95 %", "q", "verdict", "runs"];
    let signed = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:+.1}"));
    let row = |arm: &record::PlaceArm| {
        vec![
            arm_name(arm),
            arm.what.clone(),
            arm.value.map_or(String::new(), number::short),
            predicted(arm),
            signed(arm.change_percent),
            arm.change_interval
                .map_or(String::new(), |ends| format!("{:+.1} to {:+.1}", ends.low, ends.high)),
            arm.q.map_or(String::new(), number::short),
            verdict(arm).to_owned(),
            arm.runs.to_string(),
        ]
    };
    DataTable { headers: headers.map(str::to_owned).to_vec(), rows: found.arms.iter().map(row).collect() }
}

fn gains(found: &PlaceOutcome) -> BarChart {
    let bar = |name: String, change: f64, ends: [f64; 2], doubtful: bool| BarRow {
        name,
        value: 100.0 + change,
        low: 100.0 + ends[0],
        high: 100.0 + ends[1],
        doubtful,
        told: format!("{change:+.1} %"),
    };
    let foreseen = found.arms.iter().filter_map(|arm| {
        let change = arm.predicted_percent?;
        let ends = arm.predicted_interval.map_or([change, change], |ends| [ends.low, ends.high]);
        Some(bar(arm_name(arm), change, ends, false))
    });
    let measured = found.arms.iter().filter_map(|arm| {
        let change = arm.change_percent?;
        let ends = arm.change_interval.map_or([change, change], |ends| [ends.low, ends.high]);
        Some(bar(arm_name(arm), change, ends, arm.verdict == stats::Verdict::Inconclusive))
    });
    let group =
        |title: &str, style: usize, rows: Vec<BarRow>| BarGroup { title: title.to_owned(), style, rows };
    let groups = [group("predicted", 0, foreseen.collect()), group("measured", 1, measured.collect())];
    BarChart {
        x_label: "per cent of the kernel's own placement",
        groups: groups.into_iter().filter(|group| !group.rows.is_empty()).collect(),
    }
}

/// The strongest pairs in words, then all pairs as pictures, then the memory.
fn shared(found: &PlaceOutcome, sharing: &Sharing, charts: &mut Charts) -> String {
    let pairs = strongest_pairs(found);
    let pairs = if pairs.is_empty() { String::new() } else { list(&pairs) };
    let memory = table(&regions(found, sharing));
    let both = pairs + &heat_maps(found, sharing, charts) + &memory;
    if both.is_empty() { both } else { section("sharing", "Who shares what", &both) }
}

fn heat_maps(found: &PlaceOutcome, sharing: &Sharing, charts: &mut Charts) -> String {
    let numbered = |(index, name): (usize, &String)| format!("{index} {name}");
    let names: Vec<String> =
        names(found, sharing).iter().take(THREADS_DRAWN).enumerate().map(numbered).collect();
    let wakes = sharing.wakes.as_ref().map(|wakes| ("Wake-ups per second, row wakes column", wakes));
    let shares = [("Written memory", &sharing.write_shared), ("Memory only read", &sharing.read_shared)];
    let shares = heat_map("place-sharing", "Who shares memory", " of accesses", &shares, &names, charts);
    let wakes = wakes.map_or_else(String::new, |wakes| {
        heat_map("place-wakes", "Who wakes whom", " per second", &[wakes], &names, charts)
    });
    shares + &wakes
}

fn heat_map(
    name: &str,
    heading: &str,
    unit: &'static str,
    matrices: &[(&str, &SharingMatrix)],
    names: &[String],
    charts: &mut Charts,
) -> String {
    let cell = |row: usize, column: usize, amount: SharedAmount| MatrixCell {
        row,
        column,
        value: amount.value,
        doubtful: amount.interval.low <= 0.0 && amount.value > 0.0,
    };
    let panel = |(title, matrix): &(&str, &SharingMatrix)| {
        let places = (0..names.len()).flat_map(|row| (0..names.len()).map(move |column| (row, column)));
        let cells = places.filter_map(|(row, column)| Some(cell(row, column, matrix.get(row, column)?)));
        MatrixPanel {
            title: (*title).to_owned(),
            rows: names.to_vec(),
            columns: (0..names.len()).map(|index| index.to_string()).collect(),
            cells: cells.collect(),
        }
    };
    let chart = MatrixChart {
        row_label: "thread",
        column_label: "thread",
        unit,
        logarithmic: false,
        least: Some(0.0),
        panels_per_row: 2,
        square: true,
        panels: matrices.iter().map(panel).collect(),
    };
    if chart.is_empty() {
        return String::new();
    }
    let drawn = Drawn {
        svg: chart.draw(name),
        reading: "Threads in the order of the profile. Hatched cells are not told from nothing.".to_owned(),
        table: DataTable::default(),
        interactive: Some(interactive::matrices(&chart)),
        needs_webgl: false,
    };
    placed(name, heading, drawn, charts)
}

fn threads(found: &PlaceOutcome) -> DataTable {
    let arms: Vec<&record::PlaceArm> = found.arms.iter().filter(|arm| !arm.cpus.is_empty()).collect();
    let headers = ["thread", "busy %"]
        .into_iter()
        .map(str::to_owned)
        .chain(arms.iter().map(|arm| format!("CPUs by {}", arm.name)));
    let row = |(index, thread): (usize, &record::PlacedThread)| {
        let cpus = arms.iter().map(|arm| arm.cpus.get(index).cloned().unwrap_or_default());
        [thread_name(thread), format!("{:.0}", 100.0 * thread.cpu_share)].into_iter().chain(cpus).collect()
    };
    DataTable { headers: headers.collect(), rows: found.threads.iter().enumerate().map(row).collect() }
}

fn facts(found: &PlaceOutcome) -> Vec<(&'static str, String)> {
    let mut facts = learnt_by(found);
    facts.extend(confirmed(found));
    if let Some(decision) = &found.decision {
        let gap = decision.gap_percent.map_or(number::UNKNOWN.to_owned(), |gap| format!("{gap:.2} %"));
        facts.push(("decided by", decision.learnt_by.clone()));
        facts.push((
            "value",
            format!(
                "{} speeds of a thread; by chance {}; at most {} ({}), gap {gap}",
                number::short(decision.value),
                number::short(decision.chance_value),
                number::short(decision.bound),
                decision.proof
            ),
        ));
        let level = |level: &record::PlaceLevel| {
            format!(
                "{} x {}: saves {} ({})",
                level.units,
                level.name,
                number::percent(level.benefit),
                level.source
            )
        };
        facts.push(("levels", decision.levels.iter().map(level).collect::<Vec<_>>().join("; ")));
    }
    if let Some(by) = &found.predicted_by {
        facts.push(("predicted by", by.clone()));
    }
    if let Some(why) = &found.unpredicted {
        facts.push(("predicted by", format!("nothing: {why}")));
    }
    facts.push(("CPUs", found.cpus.clone()));
    facts.push((
        "runs of each",
        format!(
            "{} taken, {} kept{}",
            found.pair_counts.taken,
            found.pair_counts.kept,
            dropped(&found.pair_counts)
        ),
    ));
    facts.push(("A/A inside", alarms(&found.aa)));
    if let Some(parking) = &found.parking {
        facts.push(("parking", parking_words(parking)));
    }
    facts.push(("begun", found.started_utc.clone()));
    facts.push(("seed", found.seed.to_string()));
    facts
}
