//! A comparison as CSV: one line per row, then memory as a whole, then one per class of rows, then one per average.

use record::ComparisonTable;
use stats::{Interval, Knowledge, Verdict};

use super::wording;
use crate::escape::csv_text;

/// The columns; averages leave empty what they do not have.
const COLUMNS: &str = "kind,name,group,unit,better,candidate,a,a_low,a_high,b,b_low,b_high,change_percent,change_low,\
change_high,symmetric_percent,verdict,margin_percent,p,q,further_runs,samples_a,samples_b,paired,control,rows,\
floor_percent,geometric_percent,geometric_low,geometric_high,knowledge";

fn cell(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map_or_else(String::new, |value| value.to_string())
}

fn ends(interval: Option<Interval>) -> [String; 2] {
    [cell(interval.map(|i| i.low)), cell(interval.map(|i| i.high))]
}

/// What several rows share.
struct Shared<'t> {
    kind: &'static str,
    name: &'static str,
    candidate: &'t str,
    rows: usize,
}

impl Shared<'_> {
    fn line(
        &self,
        change_percent: f64,
        interval: Interval,
        verdict: Verdict,
        q: f64,
        knowledge: Knowledge,
    ) -> String {
        let mut fields = vec![self.kind.to_owned(), csv_text(self.name), String::new()];
        fields.extend([String::new(), "lower".to_owned(), csv_text(self.candidate)]);
        fields.extend(std::iter::repeat_n(String::new(), 6));
        fields.push(cell(Some(change_percent)));
        fields.extend(ends(Some(interval)));
        fields.push(String::new());
        fields.push(wording::verdict_word(verdict).to_owned());
        fields.extend([String::new(), String::new(), cell(Some(q))]);
        fields.extend(std::iter::repeat_n(String::new(), 5));
        fields.push(self.rows.to_string());
        fields.extend(std::iter::repeat_n(String::new(), 4));
        fields.push(wording::knowledge(knowledge).to_owned());
        fields.join(",") + "\n"
    }
}

/// Rows and averages, with a header line.
pub fn comparison_csv(table: &ComparisonTable) -> String {
    let mut text = format!("{COLUMNS}\n");
    for row in &table.rows {
        let mut fields = vec![
            "row".to_owned(),
            csv_text(&row.name),
            csv_text(&row.group),
            csv_text(&row.unit),
            wording::better(row.better).to_owned(),
            csv_text(&row.candidate),
            cell(Some(row.a)),
        ];
        fields.extend(ends(row.a_interval));
        fields.push(cell(Some(row.b)));
        fields.extend(ends(row.b_interval));
        fields.push(cell(Some(row.change_percent)));
        fields.extend(ends(row.interval));
        fields.push(cell(Some(row.symmetric_percent)));
        fields.push(wording::verdict_word(row.verdict).to_owned());
        fields.extend([Some(row.margin_percent), row.p, row.q].map(cell));
        fields.push(row.further_runs.map_or_else(String::new, |runs| runs.to_string()));
        fields.extend(row.samples.map(|samples| samples.to_string()));
        fields.extend([row.paired, row.control].map(|flag| flag.to_string()));
        fields.extend(std::iter::repeat_n(String::new(), 5));
        fields.push(wording::knowledge(row.knowledge).to_owned());
        text += &(fields.join(",") + "\n");
    }
    for one in &table.memory {
        let shared =
            Shared { kind: "memory", name: "memory as a whole", candidate: &one.candidate, rows: one.rows };
        text += &shared.line(one.change_percent, one.interval, one.verdict, one.q, one.knowledge);
    }
    for one in &table.classes {
        let rows = one.rows.len();
        let shared = Shared { kind: "class", name: one.class.name(), candidate: &one.candidate, rows };
        text += &shared.line(one.change_percent, one.interval, one.verdict, one.q, one.knowledge);
    }
    for average in &table.averages {
        let mut fields = vec!["average".to_owned(), String::new(), csv_text(&average.group)];
        fields.extend([String::new(), String::new(), csv_text(&average.candidate)]);
        fields.extend(std::iter::repeat_n(String::new(), 9));
        fields.push(cell(Some(average.symmetric_percent)));
        fields.extend(std::iter::repeat_n(String::new(), 9));
        fields.push(average.rows.to_string());
        fields.extend([cell(average.floor_percent), cell(Some(average.geometric_percent))]);
        fields.extend(ends(average.geometric_interval));
        fields.push(String::new());
        text += &(fields.join(",") + "\n");
    }
    text
}
