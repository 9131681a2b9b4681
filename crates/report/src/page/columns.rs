//! Which columns of a table fit a width, and how wide each is: columns go by priority, words and numbers are never cut.

use unicode_width::UnicodeWidthStr;

use super::{Column, Kind, Row};

/// Columns between two columns of a table.
pub(super) const GAP_COLUMNS: usize = 2;
/// Sentences in a narrower column than this are read as a list of words.
const PROSE_LEAST_COLUMNS: usize = 24;
/// Columns of the longest bar.
const BAR_COLUMNS: usize = 10;

/// The columns that are shown, with their widths; `None` if not even those of priority 0 fit.
pub(super) fn fitted(columns: &[Column], rows: &[Row], width: usize) -> Option<Vec<(usize, usize)>> {
    let needs: Vec<Need> = (0..columns.len()).map(|index| Need::of(&columns[index], rows, index)).collect();
    let mut shown: Vec<usize> =
        (0..needs.len()).filter(|&index| columns[index].is_used(rows, index)).collect();
    while total(shown.iter().map(|&index| needs[index].least)) > width {
        let priority = |index: &usize| columns[*index].priority;
        // Of equals the last goes first.
        let last = shown.iter().copied().max_by_key(|index| (priority(index), *index))?;
        if priority(&last) == 0 {
            return None;
        }
        shown.retain(|&index| index != last);
    }
    let mut room = width - total(shown.iter().map(|&index| needs[index].least));
    let mut widths: Vec<(usize, usize)> = shown.iter().map(|&index| (index, needs[index].least)).collect();
    // Headers and numbers first, sentences take what is left.
    for is_prose in [false, true] {
        for (index, width) in &mut widths {
            if (columns[*index].kind == Kind::Prose) == is_prose {
                let more = (needs[*index].most - *width).min(room);
                *width += more;
                room -= more;
            }
        }
    }
    Some(widths)
}

fn total(widths: impl ExactSizeIterator<Item = usize>) -> usize {
    let gaps = widths.len().saturating_sub(1) * GAP_COLUMNS;
    widths.sum::<usize>() + gaps
}

/// What a column needs at least, and what it can use at most.
struct Need {
    least: usize,
    most: usize,
}

impl Need {
    fn of(column: &Column, rows: &[Row], index: usize) -> Self {
        let header = column.header();
        let cells = || rows.iter().filter_map(move |row| row.cells.get(index));
        if column.kind == Kind::Bar {
            return Self { least: BAR_COLUMNS, most: BAR_COLUMNS };
        }
        let longest = cells().map(|cell| cell.words().width()).max().unwrap_or(0);
        let word = |text: &str| text.split_whitespace().map(UnicodeWidthStr::width).max().unwrap_or(0);
        let least = match column.kind {
            Kind::Prose => cells()
                .map(|cell| word(cell.words()))
                .max()
                .unwrap_or(0)
                .max(PROSE_LEAST_COLUMNS)
                .min(longest),
            _ => longest,
        };
        Self { least: least.max(word(&header)), most: longest.max(header.width()) }
    }
}
