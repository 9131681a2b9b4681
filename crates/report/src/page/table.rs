//! Tables as data: typed columns with a priority, rows, cells; made from the rows of a document, a column at a time. As CSV numbers
//! have all their digits, and intervals two columns more.

use std::borrow::Cow;

use machine::{Bytes, CpuId};
use serde::Serialize;
use serde_json::Value;
use stats::{Interval, Order, text};

use super::{Block, Page, Section, Tone};
use crate::escape::{csv_text, plain};
use crate::number;

/// Of more rows than this a table may show those with the largest numbers.
const LARGEST_MAX: usize = 64;

/// A table; rows hold a cell for each column.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    /// A word of ours: the name of its file as CSV.
    pub(crate) id: &'static str,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
    /// What the words of the header mean, in a sentence.
    pub(crate) legend: Option<String>,
    /// So many rows stand on a first screen; the rest with `--long`.
    pub(crate) first_rows: Option<usize>,
    /// Points of a curve and the like: in CSV only.
    pub(crate) is_data: bool,
}

/// One row, and what is said below it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Row {
    pub(crate) cells: Vec<Cell>,
    pub(crate) detail: Option<String>,
}

impl Table {
    /// A table of these rows, which gets its columns one by one.
    pub(crate) fn of<R>(id: &'static str, rows: impl IntoIterator<Item = R>) -> Rows<R> {
        let rows: Vec<R> = rows.into_iter().collect();
        let table = Self::empty(id, rows.len());
        Rows { rows, table }
    }

    fn empty(id: &'static str, rows: usize) -> Self {
        Self { id, rows: vec![Row::default(); rows], ..Self::default() }
    }

    /// A section of this table alone; none without rows.
    pub(crate) fn under(self, id: &'static str, title: impl Into<String>) -> Option<Section> {
        (!self.rows.is_empty()).then(|| Section::new(id, title).with(Block::Table(self)))
    }

    /// The same under the name of the table.
    pub(crate) fn section(self, title: impl Into<String>) -> Option<Section> {
        let id = self.id;
        self.under(id, title)
    }

    /// The columns that say anything in these rows, with their places: an empty one is not shown.
    pub(super) fn used(&self) -> Vec<(usize, &Column)> {
        self.columns.iter().enumerate().filter(|(index, column)| column.is_used(&self.rows, *index)).collect()
    }

    fn push(&mut self, column: Column, cell: &dyn Fn(usize) -> Cell) {
        self.columns.push(column);
        for (index, row) in self.rows.iter_mut().enumerate() {
            row.cells.push(cell(index));
        }
    }

    fn push_details(&mut self, detail: &dyn Fn(usize) -> Option<String>) {
        for (index, row) in self.rows.iter_mut().enumerate() {
            row.detail = detail(index);
        }
    }
}

/// A table in the making, beside the rows of the document that it is of.
pub(crate) struct Rows<R> {
    rows: Vec<R>,
    table: Table,
}

impl<R> Rows<&R> {
    /// The rows whose number is one; of many those with the largest, which the legend says.
    pub(crate) fn largest(mut self, value: fn(&R) -> f64) -> Self {
        self.rows.retain(|row| value(row).is_finite());
        if self.rows.len() > LARGEST_MAX {
            let all = self.rows.len();
            self.table.legend =
                Some(format!(" The {LARGEST_MAX} largest of {all}; all: sidestep show --csv RECORD"));
            self.rows.order_by(|a, b| value(b).total_cmp(&value(a)));
            self.rows.truncate(LARGEST_MAX);
        }
        self.table.rows.truncate(self.rows.len());
        self
    }
}

impl<R> Rows<R> {
    /// A column of any kind.
    pub(crate) fn column<C: Into<Cell>>(self, column: Column, of: impl Fn(&R) -> C) -> Self {
        self.with(column, &|row| of(row).into())
    }

    /// Through a pointer: one loop, not one for each of a hundred kinds of rows and six hundred columns.
    fn with(mut self, column: Column, cell: &dyn Fn(&R) -> Cell) -> Self {
        self.table.push(column, &|index| cell(&self.rows[index]));
        self
    }

    /// Short words.
    pub(crate) fn word<C: Into<Cell>>(self, head: impl Head, of: impl Fn(&R) -> C) -> Self {
        self.with(head.column(Kind::Word), &|row| of(row).into())
    }

    /// Sentences.
    pub(crate) fn prose<C: Into<Cell>>(self, head: impl Head, of: impl Fn(&R) -> C) -> Self {
        self.with(head.column(Kind::Prose), &|row| of(row).into())
    }

    /// Numbers.
    pub(crate) fn number<C: Into<Cell>>(self, head: impl Head, of: impl Fn(&R) -> C) -> Self {
        self.with(head.column(Kind::Number), &|row| of(row).into())
    }

    /// Bars for shares of the longest.
    pub(crate) fn bar<C: Into<Cell>>(self, of: impl Fn(&R) -> C) -> Self {
        self.column(("", u8::MAX).column(Kind::Bar), of)
    }

    /// What is said below each row.
    pub(crate) fn detail(mut self, of: impl Fn(&R) -> Option<String>) -> Self {
        self.table.push_details(&|index| of(&self.rows[index]));
        self
    }

    /// So many rows on a first screen.
    pub(crate) fn first(mut self, rows: usize) -> Self {
        self.table.first_rows = Some(rows);
        self
    }

    /// The meaning of the header, and the table.
    pub(crate) fn legend(self, text: impl Into<String>) -> Table {
        let legend = text.into() + &self.table.legend.unwrap_or_default();
        Table { legend: Some(legend), ..self.table }
    }

    /// The table, for programs alone.
    pub(crate) fn data(self) -> Table {
        Table { is_data: true, ..self.table }
    }

    pub(crate) fn table(self) -> Table {
        self.table
    }
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Kind {
    /// Short words, left.
    #[default]
    Word,
    /// Numbers, right.
    Number,
    /// Sentences, left, in as many lines as they need.
    Prose,
    /// A bar for the share of the longest.
    Bar,
}

/// One column: what its header says, and when it may go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) title: Cow<'static, str>,
    /// The unit of every number below, such as `ns`; empty for words.
    pub(crate) unit: &'static str,
    pub(crate) kind: Kind,
    /// 0 stays at any width; the highest goes first.
    pub(crate) priority: u8,
}

impl Column {
    /// `latency, ns`; a column whose title is its unit has it once. Titles may be names from elsewhere.
    pub(crate) fn header(&self) -> String {
        match (&*plain(&self.title), self.unit) {
            (title, "") => title.to_owned(),
            ("", unit) => unit.to_owned(),
            (title, unit) => format!("{title}, {unit}"),
        }
    }

    /// Whether it says anything in these rows.
    pub(super) fn is_used(&self, rows: &[Row], index: usize) -> bool {
        let says = |row: &Row| row.cells.get(index).is_some_and(|cell| !cell.words().is_empty());
        self.kind == Kind::Bar || rows.iter().any(says)
    }
}

/// The head of a column: a title, and behind it a unit, a priority, or both.
pub(crate) trait Head {
    fn column(self, kind: Kind) -> Column;
}

impl Head for &'static str {
    fn column(self, kind: Kind) -> Column {
        (self, "", 0).column(kind)
    }
}

impl Head for String {
    fn column(self, kind: Kind) -> Column {
        (self, "", 0).column(kind)
    }
}

impl<T: Into<Cow<'static, str>>> Head for (T, &'static str) {
    fn column(self, kind: Kind) -> Column {
        (self.0, self.1, 0).column(kind)
    }
}

impl<T: Into<Cow<'static, str>>> Head for (T, u8) {
    fn column(self, kind: Kind) -> Column {
        (self.0, "", self.1).column(kind)
    }
}

impl<T: Into<Cow<'static, str>>> Head for (T, &'static str, u8) {
    fn column(self, kind: Kind) -> Column {
        Column { title: self.0.into(), unit: self.1, kind, priority: self.2 }
    }
}

/// One cell.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum Cell {
    /// Nothing applies.
    #[default]
    Empty,
    Text(String),
    /// A word and how it is meant.
    State(Tone, String),
    /// A number as people read it, and as programs do.
    Number {
        text: String,
        value: f64,
        interval: Option<Interval>,
    },
    /// A share of the longest bar.
    Share(f64),
}

impl Cell {
    /// A number with three digits, or nothing for what is none.
    pub(crate) fn known(value: Option<f64>) -> Self {
        value.filter(|value| value.is_finite()).into()
    }

    /// `+4.2 %`, or nothing.
    pub(crate) fn change(percent: Option<f64>) -> Self {
        percent.map(|percent| Self::shown(text::signed_percent(percent), percent)).into()
    }

    /// `2.7 %` of a share.
    pub(crate) fn percent(share: f64) -> Self {
        Self::shown(text::percent(share), share)
    }

    /// A number with its interval: `24.6 ±2 %`, or `4.1 [3.1, 5.9]` where that is wide.
    pub(crate) fn between(value: f64, interval: impl Into<Option<Interval>>) -> Self {
        let interval = interval.into();
        let ends = interval.map_or_else(String::new, |ends| text::uncertainty(value, ends));
        Self::within(format!("{} {ends}", text::column(value)), value, interval)
    }

    /// A duration in the unit that fits.
    pub(crate) fn duration(ns: f64) -> Self {
        Self::shown(text::duration_ns(ns), ns)
    }

    /// A size that was measured.
    pub(crate) fn size(bytes: Bytes) -> Self {
        Self::shown(number::size(bytes), bytes.0 as f64)
    }

    /// Three significant digits.
    pub(crate) fn short(value: f64) -> Self {
        Self::shown(text::short(value), value)
    }

    /// A number with one decimal.
    pub(crate) fn tenths(value: f64) -> Self {
        Self::shown(format!("{value:.1}"), value)
    }

    /// The same with its sign.
    pub(crate) fn signed_tenths(value: f64) -> Self {
        Self::shown(format!("{value:+.1}"), value)
    }

    /// A number without decimals, or nothing.
    pub(crate) fn whole(value: Option<f64>) -> Self {
        value.map(|value| Self::shown(format!("{value:.0}"), value)).into()
    }

    /// A q value, or nothing.
    pub(crate) fn q(q: Option<f64>) -> Self {
        q.map(|q| Self::shown(text::q_value(q), q)).into()
    }

    /// A number and how it is written.
    pub(crate) fn shown(text: impl Into<String>, value: f64) -> Self {
        Self::Number { text: text.into(), value, interval: None }
    }

    /// A number and how it is written, with its interval.
    pub(crate) fn within(text: impl AsRef<str>, value: f64, interval: impl Into<Option<Interval>>) -> Self {
        Self::Number { text: text.as_ref().trim_end().to_owned(), value, interval: interval.into() }
    }

    /// What people read; bars are drawn by whoever can.
    pub(crate) fn words(&self) -> &str {
        match self {
            Self::Empty | Self::Share(_) => "",
            Self::Text(text) | Self::State(_, text) | Self::Number { text, .. } => text,
        }
    }
}

/// Cells of other types, by how each is shown.
macro_rules! cells_of {
    ($($kind:ty, $value:ident => $cell:expr;)*) => {$(
        impl From<$kind> for Cell {
            fn from($value: $kind) -> Self {
                $cell
            }
        }
    )*};
}

cells_of! {
    String, text => Self::Text(text);
    &str, text => Self::Text(text.to_owned());
    &String, text => Self::Text(text.clone());
    f64, value => Self::shown(text::column(value), value);
    usize, count => Self::shown(count.to_string(), count as f64);
    u32, count => Self::shown(count.to_string(), f64::from(count));
    u64, count => Self::shown(count.to_string(), count as f64);
    Bytes, bytes => Self::shown(bytes.to_string(), bytes.0 as f64);
    CpuId, cpu => cpu.0.into();
    bool, is => if is { "yes" } else { "no" }.into();
}

impl<W: Into<String>> From<(Tone, W)> for Cell {
    fn from((tone, word): (Tone, W)) -> Self {
        Self::State(tone, word.into())
    }
}

impl<C: Into<Self>> From<Option<C>> for Cell {
    fn from(cell: Option<C>) -> Self {
        cell.map_or(Self::Empty, Into::into)
    }
}

impl Page {
    /// Each table's name and its CSV, in the order of the page.
    pub fn csv(&self) -> Vec<(&'static str, String)> {
        let blocks = self.sections.iter().flat_map(|section| &section.blocks);
        let csv = |block: &Block| match block {
            Block::Table(table) => Some((table.id, of_table(table))),
            _ => None,
        };
        blocks.filter_map(csv).collect()
    }

    /// A page of rows alone, for programs: a field of each row for every column, empty where it has none.
    pub fn of_rows(
        id: &'static str,
        columns: &[&'static str],
        rows: impl IntoIterator<Item = impl Serialize>,
    ) -> Self {
        let cell = |value: Option<&Value>| match value {
            None | Some(Value::Null) => Cell::Empty,
            Some(Value::String(text)) => text.into(),
            Some(value) => {
                value.as_f64().map_or_else(|| value.to_string().into(), |number| Cell::shown("", number))
            }
        };
        let row = |row| {
            let row = serde_json::to_value(row).unwrap_or_default();
            Row { cells: columns.iter().map(|column| cell(row.get(column))).collect(), detail: None }
        };
        let table = Table {
            id,
            columns: columns
                .iter()
                .map(|title| Column { title: (*title).into(), ..Column::default() })
                .collect(),
            rows: rows.into_iter().map(row).collect(),
            is_data: true,
            ..Table::default()
        };
        Self { sections: vec![Section::new(id, "").with(Block::Table(table))], ..Self::default() }
    }
}

fn of_table(table: &Table) -> String {
    let has_ends = |index: usize| {
        let is_wide =
            |row: &Row| matches!(row.cells.get(index), Some(Cell::Number { interval: Some(_), .. }));
        table.rows.iter().any(is_wide)
    };
    let columns = table.columns.iter().enumerate().filter(|(_, column)| column.kind != Kind::Bar);
    let columns: Vec<(usize, bool, String)> = columns
        .map(|(index, column)| (index, has_ends(index), column.header().replace(", ", "_").replace(' ', "_")))
        .collect();
    let has_detail = table.rows.iter().any(|row| row.detail.is_some());
    let mut head: Vec<String> = Vec::new();
    for (_, is_wide, name) in &columns {
        head.push(csv_text(name));
        head.extend(
            ["low", "high"].iter().filter(|_| *is_wide).map(|end| csv_text(&format!("{name}_{end}"))),
        );
    }
    head.extend(has_detail.then(|| "detail".to_owned()));
    let mut text = head.join(",") + "\n";
    for row in &table.rows {
        let mut fields: Vec<String> = Vec::new();
        for (index, is_wide, _) in &columns {
            let (field, ends) = match &row.cells[*index] {
                Cell::Number { value, interval, .. } => {
                    (digits(*value), interval.map(|ends| [ends.low, ends.high].map(digits)))
                }
                cell => (csv_text(cell.words()), None),
            };
            fields.push(field);
            fields.extend(is_wide.then(|| ends.unwrap_or_default()).into_iter().flatten());
        }
        fields.extend(has_detail.then(|| csv_text(row.detail.as_deref().unwrap_or_default())));
        text += &(fields.join(",") + "\n");
    }
    text
}

/// All digits; nothing for what is no number.
fn digits(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { String::new() }
}
