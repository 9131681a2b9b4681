//! Tables as text: lines of fields with a delimiter between them, quoted as RFC 4180 says.

/// A line of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableLine {
    /// Counted from 1, over all lines of the text.
    pub number: usize,
    /// Its fields, as they stand.
    pub fields: Vec<String>,
}

/// The line whose quote is not closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnclosedQuote(pub usize);

impl TableLine {
    /// A field without the blanks around it; empty where the line is too short.
    pub fn field(&self, column: usize) -> &str {
        self.fields.get(column).map_or("", |field| field.trim())
    }

    /// Of a line of titles the column that has one of these, in any case.
    pub fn column(&self, titles: &[&str]) -> Option<usize> {
        let is_it = |field: &String| titles.iter().any(|title| title.eq_ignore_ascii_case(field.trim()));
        self.fields.iter().position(is_it)
    }
}

/// A text as a field of such a table. One that a spreadsheet would run as a formula gets an apostrophe before it.
pub fn table_field(text: &str) -> String {
    let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    let is_plain = !text.contains([',', '"', '\n', '\r']);
    if is_plain { format!("{guard}{text}") } else { format!("\"{guard}{}\"", text.replace('"', "\"\"")) }
}

/// The lines that hold something, but notes, which begin with `#`. A quoted field may hold delimiters, doubled quotes and line ends.
///
/// # Errors
/// A quote that is not closed.
pub fn table_lines(text: &str, delimiter: char) -> Result<Vec<TableLine>, UnclosedQuote> {
    let mut lines = Vec::new();
    let mut line = TableLine { number: 1, fields: vec![String::new()] };
    let (mut quoted, mut number) = (false, 1);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        number += usize::from(character == '\n');
        let field = line.fields.last_mut().expect("a line begins with one field");
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => field.extend(characters.next()),
            '"' if quoted || field.trim().is_empty() => quoted = !quoted,
            '\n' if !quoted => {
                let next = TableLine { number, fields: vec![String::new()] };
                lines.push(std::mem::replace(&mut line, next));
            }
            '\r' if !quoted => {}
            other if other == delimiter && !quoted => line.fields.push(String::new()),
            other => field.push(other),
        }
    }
    if quoted {
        return Err(UnclosedQuote(line.number));
    }
    lines.push(line);
    let is_note = |line: &TableLine| line.fields[0].trim_start().starts_with('#');
    lines.retain(|line| !is_note(line) && line.fields.iter().any(|field| !field.trim().is_empty()));
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hold_delimiters_and_line_ends_and_notes_are_none() {
        let text = "\n Name ;\"a \"\"b\"\"; c\nd\"\r\n# note\n;\nx\n";
        let lines = table_lines(text, ';').expect("closed");
        let found: Vec<(usize, &str, &str)> =
            lines.iter().map(|line| (line.number, line.field(0), line.field(1))).collect();
        assert_eq!(found, [(2, "Name", "a \"b\"; c\nd"), (6, "x", "")]);
        assert_eq!((lines[0].column(&["title", "name"]), lines[0].column(&["d"])), (Some(0), None));
        assert_eq!(table_lines("a\n\"b\n", ','), Err(UnclosedQuote(2)));
    }
}
