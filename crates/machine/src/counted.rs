//! A number of things in English: one way, two ways.

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
}
