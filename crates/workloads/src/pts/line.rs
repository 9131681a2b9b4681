//! Lines of a template and of a log, cut into words the same way.

/// Where words part beside blanks.
#[derive(Debug, Clone, Default)]
pub(super) struct Separators {
    /// Fields of CSV.
    pub(super) comma: bool,
    /// The number of the template has a `/` beside it.
    pub(super) slash: bool,
}

impl Separators {
    /// The words of a line; `=` is a word of its own.
    pub(super) fn words(&self, line: &str) -> Vec<String> {
        let mut spaced = String::with_capacity(line.len());
        for letter in line.chars() {
            match letter {
                '=' => spaced.push_str(" = "),
                '(' | ')' | '\t' => spaced.push(' '),
                ',' if self.comma => spaced.push(' '),
                '/' if self.slash => spaced.push(' '),
                other => spaced.push(other),
            }
        }
        // Other white space is part of a word, except around the line.
        spaced.trim().split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }
}

/// Where in a template the number stands.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    /// The line of the number as far as its end; it begins with a line break unless it is the first.
    pub(super) line: String,
    /// What stands before the number on it.
    pub(super) before: String,
    /// The words of the line.
    pub(super) words: Vec<String>,
    /// Which of them is the number; `None` where the template shows none.
    pub(super) position: Option<usize>,
    /// How lines are cut.
    pub(super) separators: Separators,
}

impl Place {
    /// The place of `key` in a template.
    pub(super) fn of(template: &str, key: &str, comma: bool) -> Self {
        // Some templates misspell the key; where it is missing, the first line is all there is.
        let (start, key) = match template.rfind(key) {
            Some(start) => (Some(start), key.to_owned()),
            None => misspelt(template).map_or((None, key.to_owned()), |(start, key)| (Some(start), key)),
        };
        let at = start.unwrap_or(0);
        let end = start.map_or(0, |start| start + key.len());
        let line_end = template[end..].find('\n').map_or(template.len(), |length| end + length);
        let line_start = template[..at].rfind('\n').unwrap_or(0);
        let line = template[line_start..line_end].to_owned();
        let slash = start.is_some() && (template[..at].ends_with('/') || template[end..].starts_with('/'));
        let separators = Separators { comma, slash };
        let words = separators.words(&line.replace(":#", " #"));
        let position = words.iter().position(|word| *word == key);
        let position = position.or_else(|| words.iter().position(|word| word.contains(&key)));
        let before = line.find(&key).map_or("", |length| &line[..length]).to_owned();
        Self { line, before, words, position, separators }
    }
}

/// A word such as `#_RESULTS_#` or `$_RESULT_#`, and where it is.
fn misspelt(template: &str) -> Option<(usize, String)> {
    let start = template.find("_RES")?;
    let end = start + template[start..].find("_#")? + 2;
    let is_word = template[start..end].bytes().all(|byte| byte.is_ascii_uppercase() || b"_#".contains(&byte));
    let before = template[..start].chars().next_back().filter(|letter| "#$".contains(*letter))?;
    let start = start - before.len_utf8();
    is_word.then(|| (start, template[start..end].to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "#_RESULT_#";

    #[test]
    fn lines_are_cut_at_blanks_brackets_and_equal_signs() {
        let cut = |line: &str| Separators::default().words(line).join("|");
        assert_eq!(cut("  a  b(c)\td=5, e/f \r\n"), "a|b|c|d|=|5,|e/f");
        assert_eq!(Separators { comma: true, slash: true }.words("1,2/3").join("|"), "1|2|3");
    }

    #[test]
    fn the_number_of_a_template_is_a_word_of_its_last_line_with_the_key() {
        for (template, words, position) in [
            ("Score: #_RESULT_# fps", "Score:|#_RESULT_#|fps", Some(1)),
            ("Score:#_RESULT_#", "Score|#_RESULT_#", Some(1)),
            ("a #_RESULT_#ms", "a|#_RESULT_#ms", Some(1)),
            ("a 1/#_RESULT_# b", "a|1|#_RESULT_#|b", Some(2)),
            ("one\ntwo #_RESULT_#\nthree", "two|#_RESULT_#", Some(1)),
            ("rate: #_RESULTS_# x", "rate:|#_RESULTS_#|x", Some(1)),
            ("rate: $_RESULT_#", "rate:|$_RESULT_#", Some(1)),
            ("no number here\nnor here", "no|number|here", None),
        ] {
            let place = Place::of(template, KEY, false);
            assert_eq!((place.words.join("|").as_str(), place.position), (words, position), "{template}");
        }
        let place = Place::of("one\ntwo #_RESULT_#\nthree", KEY, false);
        assert_eq!((place.line.as_str(), place.before.as_str()), ("\ntwo #_RESULT_#", "\ntwo "));
    }
}
