//! Any page in every form: nothing is wider than its terminal, no number is cut, nothing from outside becomes markup.

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
        status: vec![Status { tone: Tone::Good, area: "clocks", text: "safe; 26.6 ns a read".to_owned() }],
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
    let text =
        |width_columns| page_of(three_columns()).terminal(Terminal { width_columns, colour: false }, true);
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
    let status = |area| Status { tone: Tone::Look, area, text: clauses.clone() };
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
        short.matches("look  flaws   2 of 9 are open; the machine is busy; 2 of 9 are open …").count(),
        1,
        "{short}"
    );
    assert!(short.contains("do this: do") && short.ends_with("More: sidestep show --long run\n"), "{short}");
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
    assert!(text.starts_with("thp=on makes") && text.lines().any(|line| line.trim() == command), "{text}");
    assert!(
        page.markdown(true).contains(&format!("\n    {command}\n"))
            && page.markdown(true).starts_with("### ")
    );
}
