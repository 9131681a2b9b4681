//! Words of messages: a number of things in English, the name that somebody meant who typed another, words as sh takes them.

/// `1 pair`, `3 pairs`, `2 entries`, `4 processes`, of a noun in the singular.
pub fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {}", plural(noun)) }
}

fn plural(noun: &str) -> String {
    let hisses = ["s", "x", "ch", "sh"].iter().any(|end| noun.ends_with(end));
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ if hisses => format!("{noun}es"),
        _ => format!("{noun}s"),
    }
}

/// More wrong letters than this are another word, whatever its length.
const EDITS_MAX: usize = 3;
/// One wrong letter in so many is a slip; more in a short word make another word.
const LETTERS_PER_EDIT: usize = 3;

/// `did you mean NAME? `, to be followed by what else can be done, or nothing where no name is near.
pub fn did_you_mean<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let allowed = (typed.chars().count() / LETTERS_PER_EDIT).clamp(1, EDITS_MAX);
    let typed = typed.to_lowercase();
    let near = names.into_iter().map(|name| (distance(&name.to_lowercase(), &typed), name));
    let near = near.filter(|(edits, _)| *edits <= allowed).min_by_key(|(edits, _)| *edits);
    near.map(|(_, name)| format!("did you mean {name}? ")).unwrap_or_default()
}

/// Optimal string alignment distance: the fewest letters to insert, remove or change, or neighbours to swap.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let change = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut edits = change.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                edits = edits.min(rows[i - 2][j - 2] + 1);
            }
            row.push(edits);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

/// In single quotes.
pub fn shell_quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// In single quotes where that is needed.
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) { word.to_owned() } else { shell_quoted(word) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_all_else_is_plural() {
        for (count, noun, expected) in [
            (1, "way", "1 way"),
            (2, "way", "2 ways"),
            (0, "pair", "0 pairs"),
            (3, "entry", "3 entries"),
            (4, "process", "4 processes"),
            (2, "switch", "2 switches"),
            (1, "CPU", "1 CPU"),
        ] {
            assert_eq!(counted(count, noun), expected);
        }
    }

    #[test]
    fn a_name_typed_almost_right_is_suggested_and_another_word_is_not() {
        let names = ["clocksource", "ssbd", "smt", "thp"];
        for (typed, hint) in [
            ("clocksorce", "did you mean clocksource? "),
            ("clokcsource", "did you mean clocksource? "),
            ("THP", "did you mean thp? "),
            ("sbsd", "did you mean ssbd? "),
            ("disk", ""),
            ("entirely-different", ""),
            ("", ""),
        ] {
            assert_eq!(did_you_mean(typed, names), hint, "{typed}");
        }
        assert_eq!((distance("", "abc"), distance("abc", "abd"), distance("ab", "ba")), (3, 1, 1));
    }

    #[test]
    fn what_a_shell_would_read_otherwise_is_quoted() {
        for (word, expected) in
            [("a-b/c.d=1,2:3@4%+", "a-b/c.d=1,2:3@4%+"), ("", "''"), ("a b", "'a b'"), ("it's", r"'it'\''s'")]
        {
            assert_eq!(shell_word(word), expected);
        }
        assert_eq!(shell_quoted("a"), "'a'");
    }
}
