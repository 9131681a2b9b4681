//! A page as data: what a document says, in its order, with typed tables. No widths, no markup, no colours.
//!
//! A view makes a page of one kind of document; the renderers below make text of any page and know no document.

mod html;
mod markdown;
mod table;
mod terminal;

use crate::draw::{Chart, Svg};
pub(crate) use table::{Cell, Column, Kind, Row, Rows, Table};
pub use terminal::paragraph;

/// One page: the answer first, then what it rests on.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// What kind of page it is, behind the name of the program; empty where the subject says it.
    pub(crate) kind: &'static str,
    /// What the page is about: a machine, a comparison.
    pub(crate) subject: String,
    /// The verdict in one sentence, with its number.
    pub(crate) answer: Statement,
    /// What the answer rests on, a sentence each.
    pub(crate) because: Vec<Statement>,
    /// Areas at a glance.
    pub(crate) status: Vec<Status>,
    pub(crate) sections: Vec<Section>,
    /// What to do next: complete commands with what they are for.
    pub(crate) next: Vec<String>,
    /// The command that shows all of it, where that is not the same one with `--long`.
    pub(crate) more: Option<String>,
    /// What a reader looks up and does not read: seed, version, duration.
    pub(crate) about: Vec<String>,
}

/// How a statement is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Tone {
    #[default]
    Plain,
    /// All is well.
    Good,
    /// Deserves a look.
    Look,
    /// Could not be determined.
    Doubt,
    /// Beside the point, for who looks it up.
    Faint,
}

/// A sentence and how it is meant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Statement {
    pub(crate) tone: Tone,
    pub(crate) text: String,
}

impl Page {
    /// Ends the commands that may come next with options, so that they are of the same machine.
    pub fn extend_next(&mut self, words: &str) {
        self.next.iter_mut().for_each(|next| next.push_str(words));
    }
}

impl Statement {
    pub(crate) fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self { tone, text: text.into() }
    }

    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self::new(Tone::Plain, text)
    }

    pub(crate) fn good(text: impl Into<String>) -> Self {
        Self::new(Tone::Good, text)
    }

    pub(crate) fn look(text: impl Into<String>) -> Self {
        Self::new(Tone::Look, text)
    }

    pub(crate) fn doubt(text: impl Into<String>) -> Self {
        Self::new(Tone::Doubt, text)
    }

    pub(crate) fn faint(text: impl Into<String>) -> Self {
        Self::new(Tone::Faint, text)
    }
}

/// One area or question at a glance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) tone: Tone,
    /// The verdict in a word.
    pub(crate) word: &'static str,
    pub(crate) area: String,
    pub(crate) text: String,
}

/// A part of the page under a heading.
#[derive(Debug, Clone, Default)]
pub(crate) struct Section {
    /// A word of ours, for anchors and names of files.
    pub(crate) id: &'static str,
    /// Empty for a part that needs no heading.
    pub(crate) title: String,
    pub(crate) depth: Depth,
    /// Of pages that are read by chapters: the one it is of.
    pub(crate) chapter: Option<&'static Chapter>,
    pub(crate) blocks: Vec<Block>,
}

/// How much of the page a reader asks for before a section is shown; HTML and CSV always have all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Depth {
    #[default]
    First,
    /// With `--long`.
    Long,
    /// In HTML only: what a terminal has in other words, or cannot show.
    Report,
}

/// Sections under one heading of the HTML page, which can be folded and is reached from the top.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Chapter {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) is_folded: bool,
}

impl Section {
    /// Whether there is anything to read in words.
    fn has_words(&self) -> bool {
        self.blocks.iter().any(|block| match block {
            Block::Figure(_) => false,
            Block::Table(table) => !table.is_data,
            Block::Text(_) | Block::List(_) | Block::Facts(_) | Block::Command(_) | Block::Card(_) => true,
        })
    }

    pub(crate) fn new(id: &'static str, title: impl Into<String>) -> Self {
        Self { id, title: title.into(), ..Self::default() }
    }

    /// The same, but a detail.
    pub(crate) fn detailed(self) -> Self {
        Self { depth: Depth::Long, ..self }
    }

    /// The same, a detail if that holds.
    pub(crate) fn detailed_if(self, is_detail: bool) -> Self {
        if is_detail { self.detailed() } else { self }
    }

    /// The same, of a chapter.
    pub(crate) fn within(self, chapter: &'static Chapter) -> Self {
        Self { chapter: Some(chapter), ..self }
    }

    /// The same, in HTML only.
    pub(crate) fn of_report(self) -> Self {
        Self { depth: Depth::Report, ..self }
    }

    /// Whether words show it to a reader who asked for everything, or did not.
    fn is_shown(&self, is_long: bool) -> bool {
        match self.depth {
            Depth::First => true,
            Depth::Long => is_long,
            Depth::Report => false,
        }
    }

    pub(crate) fn with(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }

    /// The same with a table.
    pub(crate) fn table(self, table: Table) -> Self {
        self.with(Block::Table(table))
    }

    /// The same with a list, unless it is empty.
    pub(crate) fn list(self, lines: impl IntoIterator<Item = String>) -> Self {
        let lines: Vec<String> = lines.into_iter().collect();
        if lines.is_empty() { self } else { self.with(Block::List(lines)) }
    }

    /// The same with names and what is so of each.
    pub(crate) fn facts<N: Into<String>>(self, facts: impl IntoIterator<Item = (N, String)>) -> Self {
        let facts: Vec<(String, String)> =
            facts.into_iter().map(|(name, text)| (name.into(), text)).collect();
        if facts.is_empty() { self } else { self.with(Block::Facts(facts)) }
    }

    /// The same with a picture, if there is one.
    pub(crate) fn figure(self, name: &'static str, heading: impl Into<String>, drawn: Option<Drawn>) -> Self {
        let heading = heading.into();
        match drawn {
            Some(drawn) => self.with(Block::Figure(Box::new(Placed { name, heading, drawn: Ok(drawn) }))),
            None => self,
        }
    }

    /// The same with a sentence more.
    pub(crate) fn saying(self, tone: Tone, text: impl Into<String>) -> Self {
        self.stating([Statement::new(tone, text)])
    }

    /// The same with sentences more.
    pub(crate) fn stating(mut self, statements: impl IntoIterator<Item = Statement>) -> Self {
        self.blocks.extend(statements.into_iter().map(Block::Text));
        self
    }

    /// The section, unless nothing is in it.
    pub(crate) fn filled(self) -> Option<Self> {
        (!self.blocks.is_empty()).then_some(self)
    }
}

/// What a section is made of.
#[derive(Debug, Clone)]
pub(crate) enum Block {
    Text(Statement),
    List(Vec<String>),
    /// Names and what is so of each.
    Facts(Vec<(String, String)>),
    Table(Table),
    /// A command to copy: on a line of its own, however long.
    Command(String),
    /// A picture; in HTML a table behind it is folded, as its numbers.
    Figure(Box<Placed>),
    Card(Card),
}

/// A statement with what it rests on, as a thing of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Card {
    pub(crate) statement: Statement,
    pub(crate) facts: Vec<(String, String)>,
}

/// A picture with its name and heading, or the reason why there is none.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    /// A word of ours.
    pub(crate) name: &'static str,
    pub(crate) heading: String,
    pub(crate) drawn: Result<Drawn, String>,
}

/// A figure ready to be placed.
#[derive(Debug, Clone)]
pub(crate) struct Drawn {
    pub(crate) svg: Svg,
    /// How to read it: one or two sentences.
    pub(crate) reading: String,
}

impl Drawn {
    /// A chart for print; `None` if it is empty.
    pub(crate) fn of(chart: &dyn Chart, name: &str, reading: impl Into<String>) -> Option<Self> {
        let reading = reading.into();
        (!chart.is_empty()).then(|| Self { svg: chart.draw(name), reading })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use stats::Interval;
    use unicode_width::UnicodeWidthStr;

    use super::table::Head;
    use super::*;
    use crate::Terminal;

    const KINDS: [Kind; 4] = [Kind::Word, Kind::Number, Kind::Prose, Kind::Bar];

    fn table(id: &'static str, columns: Vec<Column>, rows: Vec<Vec<Cell>>) -> Table {
        let rows = rows.into_iter().map(|cells| Row { cells, detail: None }).collect();
        Table { id, columns, rows, ..Table::default() }
    }

    fn cell(kind: Kind, text: &str, value: f64) -> Cell {
        match kind {
            Kind::Number => Cell::shown(format!("{value}"), value),
            Kind::Bar => Cell::Share(value),
            Kind::Word | Kind::Prose => text.into(),
        }
    }

    /// Tables of up to seven columns of any kind and priority; the first is a word that stays.
    fn tables() -> impl Strategy<Value = Table> {
        let columns = prop::collection::vec((0..KINDS.len(), 0_u8..4), 0..6);
        let texts = prop::collection::vec(("[a-z <|&]{0,40}", -1e6..1e6_f64), 0..5);
        (columns, texts).prop_map(|(columns, texts)| {
            let columns = columns.into_iter().map(|(kind, priority)| Column {
                title: "some <b>| \u{1b}title".into(),
                unit: "ns",
                kind: KINDS[kind],
                priority,
            });
            let columns: Vec<Column> = ["name".column(Kind::Word)].into_iter().chain(columns).collect();
            let row = |(text, value): (String, f64)| {
                columns.iter().map(|column| cell(column.kind, &text, value)).collect()
            };
            let rows = texts.into_iter().map(row).collect();
            table("table", columns, rows)
        })
    }

    fn page_of(table: Table) -> Page {
        Page {
            subject: "a machine with a long name <b>".to_owned(),
            answer: Statement::new(Tone::Look, "two of nine | are not"),
            status: vec![Status {
                tone: Tone::Good,
                word: "OK",
                area: "clocks".to_owned(),
                text: "safe; 26.6 ns a read".to_owned(),
            }],
            sections: vec![Section::new("table", "").with(Block::Table(table))],
            about: vec!["seed 1".to_owned()],
            ..Page::default()
        }
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_terminal_and_no_number_of_a_shown_row_is_cut(table in tables(), width in 40_usize..120) {
            let numbers: Vec<String> = table
                .rows
                .iter()
                .flat_map(|row| row.cells.iter().zip(&table.columns))
                .filter(|(cell, column)| matches!(cell, Cell::Number { .. }) && column.priority == 0)
                .map(|(cell, _)| cell.words().to_owned())
                .collect();
            let text = page_of(table).terminal(Terminal { width_columns: width, colour: false }, true);
            prop_assert!(text.lines().all(|line| line.width() <= width) && !text.contains('\u{1b}'), "{text}");
            for number in numbers {
                prop_assert!(text.contains(&number), "{number} in {text}");
            }
        }

        #[test]
        fn every_line_of_csv_has_the_fields_of_its_head_and_markdown_its_columns(table in tables()) {
            let page = page_of(table);
            for (_, csv) in page.csv() {
                let fields: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
                prop_assert!(fields.iter().all(|count| *count == fields[0]), "{csv}");
            }
            let lines: Vec<String> = page.markdown(true).lines().filter(|line| line.starts_with("| ")).map(|line| line.replace("\\|", "")).collect();
            let bars: Vec<usize> = lines.iter().map(|line| line.matches('|').count()).collect();
            prop_assert!(bars.iter().all(|count| *count == bars[0]), "{lines:?}");
        }

        #[test]
        fn html_is_well_formed_whatever_the_cells_say(table in tables()) {
            let html = page_of(table).html();
            let body = html.split_once("<body>").and_then(|(_, rest)| rest.split_once("</body>")).expect("it has a body").0;
            prop_assert!(roxmltree::Document::parse(&format!("<body>{body}</body>")).is_ok(), "{body}");
        }
    }

    fn three_columns() -> Table {
        Table::of("reads", (0..3).map(|index| f64::from(index) + 0.5))
            .word("read", |_| "clock_gettime(CLOCK_MONOTONIC)")
            .number(("cost", "ns"), |value| *value)
            .number(("core cycles", 1), |value| *value)
            .number(("resolution", "ms", 2), |value| *value)
            .table()
    }

    #[test]
    fn columns_of_low_priority_give_way_first_and_are_named() {
        let text = |width_columns| {
            page_of(three_columns()).terminal(Terminal { width_columns, colour: false }, true)
        };
        assert!(text(80).contains("resolution, ms") && !text(80).contains("wider"), "{}", text(80));
        let narrow = text(52);
        assert!(narrow.contains("on a wider terminal also: resolution, ms"), "{narrow}");
        assert!(narrow.contains("core") && text(42).contains("also: core cycles;"), "{}", text(42));
    }

    #[test]
    fn a_first_screen_says_that_there_is_more() {
        let mut table = three_columns();
        table.first_rows = Some(1);
        let page = page_of(table);
        let short = page.terminal(Terminal::default(), false);
        assert!(short.contains("2 more rows with --long") && short.contains("More: --long"), "{short}");
        assert!(!short.contains("seed 1"), "{short}");
        let long = page.terminal(Terminal::default(), true);
        assert!(long.contains("seed 1") && !long.contains("more rows"), "{long}");
    }

    #[test]
    fn a_first_screen_has_one_line_for_the_subject_and_each_area_and_room_for_what_to_do() {
        let clauses = "2 of 9 are open; the machine is busy; ".repeat(9);
        let status = |area: &str| Status {
            tone: Tone::Look,
            word: "WARN",
            area: area.to_owned(),
            text: clauses.clone(),
        };
        let page = Page {
            subject: "a machine of many words, ".repeat(9),
            status: ["flaws", "memory", "cores", "clocks", "noise"].map(status).into(),
            sections: vec![Section::new("table", "").with(Block::Table(three_columns()))],
            next: vec!["do this: ".repeat(12), "then that: ".repeat(12), "and the other: ".repeat(12)],
            more: Some("sidestep show --long run".to_owned()),
            about: vec!["seed 1".to_owned()],
            ..Page::default()
        };
        let short = page.terminal(Terminal::default(), false);
        assert!(short.lines().count() <= 22, "{short}");
        assert_eq!(
            short.matches("WARN  flaws   2 of 9 are open; the machine is busy; 2 of 9 are open …").count(),
            1,
            "{short}"
        );
        assert!(
            short.contains("do this: do") && short.ends_with("More: sidestep show --long run\n"),
            "{short}"
        );
        let long = page.terminal(Terminal::default(), true);
        assert!(long.contains("and the other") && !long.contains('…'), "{long}");
    }

    #[test]
    fn numbers_keep_all_digits_and_their_interval_as_csv() {
        let columns = vec!["name".column(Kind::Word), ("cost", "ns").column(Kind::Number)];
        let measured = Cell::within("1.23", 1.234_567, Interval { low: 1.0, high: 2.0 });
        let rows = vec![vec!["=1+1".into(), measured], vec!["b".into(), Cell::Empty]];
        let page = page_of(table("t", columns, rows));
        let csv = &page.csv()[0].1;
        assert_eq!(csv, "name,cost_ns,cost_ns_low,cost_ns_high\n'=1+1,1.234567,1,2\nb,,,\n");
    }

    #[test]
    fn a_command_is_never_cut_and_a_subject_that_the_answer_names_is_said_once() {
        let command = format!("sidestep ab --toggle thp -- ./program {}", "--option ".repeat(12).trim_end());
        let page = Page {
            subject: "thp=on".to_owned(),
            answer: Statement::new(Tone::Good, "thp=on makes no difference"),
            sections: vec![Section::new("proof", "").with(Block::Command(command.clone()))],
            ..Page::default()
        };
        let text = page.terminal(Terminal::default(), false);
        assert!(
            text.starts_with("thp=on makes") && text.lines().any(|line| line.trim() == command),
            "{text}"
        );
        assert!(
            page.markdown(true).contains(&format!("\n    {command}\n"))
                && page.markdown(true).starts_with("### ")
        );
    }
}
