//! What a terminal can show, and lines of its width: wrapped and clipped by display width, painted last so that colour never counts.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Narrower than this nothing can be read; the text is made for this width and then clipped.
const LEAST_WIDTH_COLUMNS: usize = 20;

/// Characters that bars are made of; they are painted when colour is on.
const BAR_PARTS: [char; 9] = ['█', '▉', '▊', '▋', '▌', '▍', '▎', '▏', '░'];

/// Units that stay on the line of their number.
const UNITS: [&str; 11] = ["%", "ns", "µs", "ms", "s", "KiB", "MiB", "GiB", "MHz", "GHz", "GB/s"];

/// What the terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminal {
    /// No line is wider than this.
    pub width_columns: usize,
    /// ANSI colours may be used.
    pub colour: bool,
}

impl Default for Terminal {
    /// Eighty columns, no colour: what a pipe gets.
    fn default() -> Self {
        Self { width_columns: 80, colour: false }
    }
}

/// How a whole line looks. Only attributes and colours that are readable on dark and on light ground.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    Plain,
    Strong,
    Faint,
    Warning,
    Doubt,
    Good,
    /// A command to copy: never clipped, as half of one is another.
    Command,
}

impl Ink {
    /// SGR parameters, ECMA-48 section 8.3.117. Yellow and white are missing: they vanish on white.
    fn code(self) -> &'static str {
        match self {
            Self::Plain | Self::Command => "",
            Self::Strong => "1",
            Self::Faint => "2",
            Self::Warning => "1;31",
            Self::Doubt => "1;35",
            Self::Good => "36",
        }
    }
}

/// Lines in the making.
pub(crate) struct Paper {
    width_columns: usize,
    colour: bool,
    lines: Vec<(Ink, String)>,
}

impl Paper {
    pub(crate) fn new(terminal: Terminal) -> Self {
        Self { width_columns: terminal.width_columns.max(1), colour: terminal.colour, lines: Vec::new() }
    }

    /// The width to lay out for; narrower terminals get it clipped.
    pub(crate) fn layout_columns(&self) -> usize {
        self.width_columns.max(LEAST_WIDTH_COLUMNS)
    }

    pub(crate) fn line_count(&self) -> usize {
        self.lines.len()
    }

    pub(crate) fn blank(&mut self) {
        self.lines.push((Ink::Plain, String::new()));
    }

    pub(crate) fn inked(&mut self, ink: Ink, text: &str) {
        self.lines.push((ink, text.to_owned()));
    }

    /// Text after a prefix, wrapped; the lines after the first are indented as far as the prefix reaches.
    pub(crate) fn wrapped(&mut self, prefix: &str, text: &str) {
        self.wrapped_inked(Ink::Plain, prefix, text);
    }

    pub(crate) fn wrapped_inked(&mut self, ink: Ink, prefix: &str, text: &str) {
        let indent = prefix.width().min(self.layout_columns() / 2);
        let room = self.layout_columns() - indent;
        for (index, part) in wrap(text, room).into_iter().enumerate() {
            let start = if index == 0 { prefix.to_owned() } else { " ".repeat(indent) };
            self.inked(ink, &(start + &part));
        }
    }

    pub(crate) fn finish(self) -> String {
        let mut text = String::new();
        for (ink, line) in &self.lines {
            let line = line.trim_end();
            let line = if *ink == Ink::Command { line.to_owned() } else { clip(line, self.width_columns) };
            text += &if self.colour { painted(*ink, &line) } else { line };
            text.push('\n');
        }
        text
    }
}

/// A bar of eighths for a share between 0 and 1.
pub(crate) fn bar(share: f64, width_columns: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if !share.is_finite() {
        return String::new();
    }
    let eighths = (share.clamp(0.0, 1.0) * width_columns as f64 * 8.0).round() as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// Words in lines of at most `room` columns; a word that is longer is cut.
pub(crate) fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for mut word in words(text) {
        let have = lines.last().map_or(0, |line| line.width());
        if have > 0 && have + 1 + word.width() > room {
            lines.push(String::new());
        }
        while word.width() > room {
            let head = prefix_of_width(&word, room).to_owned();
            if head.is_empty() {
                break;
            }
            word = word[head.len()..].to_owned();
            if let Some(last) = lines.last_mut() {
                *last += &head;
            }
            lines.push(String::new());
        }
        if let Some(last) = lines.last_mut() {
            if !last.is_empty() {
                last.push(' ');
            }
            *last += &word;
        }
    }
    lines
}

/// Words of a text, a unit together with its number.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let bare = word.trim_end_matches([',', ';', ')', '.', ']']);
        match words.last_mut() {
            Some(last) if UNITS.contains(&bare) && last.ends_with(|c: char| c.is_ascii_digit()) => {
                last.push(' ');
                *last += word;
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

fn prefix_of_width(text: &str, columns: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > columns {
            return &text[..at];
        }
    }
    text
}

fn clip(line: &str, columns: usize) -> String {
    if line.width() <= columns {
        return line.to_owned();
    }
    format!("{}…", prefix_of_width(line, columns.saturating_sub(1)))
}

fn painted(ink: Ink, line: &str) -> String {
    if line.is_empty() {
        return String::new();
    }
    if !ink.code().is_empty() {
        return format!("\u{1b}[{}m{line}\u{1b}[0m", ink.code());
    }
    let mut text = String::new();
    let mut in_bar = false;
    for c in line.chars() {
        if BAR_PARTS.contains(&c) != in_bar {
            in_bar = !in_bar;
            text += if in_bar { "\u{1b}[34m" } else { "\u{1b}[0m" };
        }
        text.push(c);
    }
    if in_bar {
        text += "\u{1b}[0m";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{bar, clip, wrap};

    #[test]
    fn long_words_are_cut_and_short_ones_kept_whole() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefghij kl", 4), ["abcd", "efgh", "ij", "kl"]);
        assert_eq!(wrap("", 4), [""]);
        assert_eq!(wrap("took 25 ns, or so", 9), ["took", "25 ns, or", "so"]);
    }

    #[test]
    fn clipping_counts_columns_and_not_characters() {
        assert_eq!(clip("日本語", 4), "日…");
        assert_eq!(clip("abc", 3), "abc");
        assert_eq!(clip("abc", 0), "…");
    }

    #[test]
    fn bars_grow_by_eighths_and_survive_nonsense() {
        assert_eq!(bar(0.5, 2), "█");
        assert_eq!(bar(1.0 / 16.0, 2), "▏");
        assert_eq!(bar(7.0, 2), "██");
        assert_eq!(bar(f64::NAN, 2), "");
    }
}
