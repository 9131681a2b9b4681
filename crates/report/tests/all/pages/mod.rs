//! Pages of a small document of every kind, against the texts beside this file: at 40, 80 and 120 columns, as Markdown and as CSV.
//!
//! `UPDATE_EXPECT=1 cargo test -p report --test all pages` rewrites the texts; read the difference before you commit it.

mod documents;
mod made;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use report::{Page, Terminal};
use unicode_width::UnicodeWidthStr;

/// Widths of the texts: the least that tables fit into, a usual one, a wide one.
const WIDTHS_COLUMNS: [usize; 3] = [40, 80, 120];

/// Every page with its name, which is that of its text.
static PAGES: LazyLock<Vec<(&'static str, Page)>> =
    LazyLock::new(|| documents::pages().into_iter().chain(made::pages()).collect());

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/pages/expected")
}

/// A page in all its forms.
fn forms(page: &Page) -> String {
    let mut text = String::new();
    let mut add = |form: &str, shown: &str| {
        let _ = write!(text, "==== {form}\n{}\n", shown.trim_end());
    };
    let mut shown = |width_columns: usize, is_long: bool| {
        let form = format!("{width_columns} columns{}", if is_long { ", --long" } else { "" });
        add(&form, &page.terminal(Terminal { width_columns, colour: false }, is_long));
    };
    // Markdown and CSV hold all columns of all tables: of a wide terminal the first screen is enough.
    for (width_columns, is_long) in [(80, false), (40, true), (80, true), (120, false)] {
        shown(width_columns, is_long);
    }
    add("Markdown", &page.markdown(true));
    for (table, csv) in page.csv() {
        add(&format!("CSV of {table}"), &csv);
    }
    text
}

/// Holds a text against the file of that name, or writes that.
fn compare(name: &str, text: &str) {
    let path = folder().join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::create_dir_all(folder()).expect("the folder of texts");
        std::fs::write(&path, text).expect("a text");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    let first = text.lines().zip(expected.lines()).find(|(is, was)| is != was);
    assert!(
        text == expected,
        "{} differs; UPDATE_EXPECT=1 rewrites it; first difference, and what was expected: {first:#?}",
        path.display()
    );
}

#[test]
fn every_kind_of_document_has_the_page_that_is_expected() {
    for (name, page) in PAGES.iter() {
        compare(name, &forms(page));
    }
    for (name, text) in made::exports() {
        compare(name, &text);
    }
}

#[test]
fn no_line_is_wider_than_the_terminal_and_the_first_says_something() {
    for (name, page) in PAGES.iter() {
        for width_columns in WIDTHS_COLUMNS {
            let terminal = Terminal { width_columns, colour: false };
            for text in [page.terminal(terminal, false), page.terminal(terminal, true)] {
                let first = text.lines().next().unwrap_or_default();
                assert!(!first.trim().is_empty(), "{name} begins with nothing: {text}");
                // A command to copy is never broken.
                let is_command = |line: &str| line.trim_start().starts_with("sidestep ");
                let wide = text.lines().find(|line| line.width() > width_columns && !is_command(line));
                assert!(wide.is_none(), "{name}, {width_columns} columns: {wide:?}");
            }
        }
    }
}

#[test]
fn every_text_is_of_a_page() {
    let mut names: Vec<&str> = PAGES.iter().map(|(name, _)| *name).collect();
    names.extend(made::exports().into_iter().map(|(name, _)| name));
    let is_known = |name: &str| names.iter().any(|known| name == format!("{known}.txt"));
    for entry in std::fs::read_dir(folder()).expect("the folder of texts") {
        let file = entry.expect("an entry").file_name();
        let file = file.to_string_lossy();
        assert!(is_known(&file), "{file} is left over");
    }
}
