//! The forms in which programs print a number, and what counts as one.

/// What is taken away from a word before it is a number.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cleaning<'a> {
    /// This text, wherever it stands.
    pub(super) anywhere: Option<&'a str>,
    /// This text, at the end.
    pub(super) postfix: Option<&'a str>,
}

impl Cleaning<'_> {
    /// The number of a word on a line; `None` if it is none.
    pub(super) fn number(&self, word: &str, line: &str) -> Option<f64> {
        let word = self.anywhere.map_or(word.to_owned(), |text| word.replace(text, ""));
        let word = self.postfix.and_then(|end| word.strip_suffix(end)).unwrap_or(&word);
        plain(word).or_else(|| of_thousands(word)).or_else(|| duration_s(word, line))
    }
}

/// Digits with sign, point and exponent.
fn plain(word: &str) -> Option<f64> {
    let is_made_of = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
    let number: f64 = word.bytes().all(is_made_of).then(|| word.parse().ok()).flatten()?;
    number.is_finite().then_some(number)
}

/// `12.5k` and `3M`.
fn of_thousands(word: &str) -> Option<f64> {
    let factor = match word.chars().last()? {
        'k' | 'K' => 1e3,
        'm' | 'M' => 1e6,
        _ => return None,
    };
    Some(plain(&word[..word.len() - 1])? * factor)
}

/// `1h2m3s`, `01h:04m:33s`, and `03:03.17` on a line that speaks of time, in seconds.
fn duration_s(word: &str, line: &str) -> Option<f64> {
    let word = word.to_ascii_lowercase();
    let seconds = match word.split_once(':') {
        _ if word.ends_with('s') => word.split(':').map(of_units).sum::<Option<f64>>()?,
        Some((minutes, seconds)) if seconds.contains('.') && line.to_ascii_lowercase().contains("time") => {
            plain(minutes)? * 60.0 + plain(seconds)?
        }
        _ => return None,
    };
    (seconds > 0.0).then_some(seconds)
}

/// `1h2m3s`, in this order, each at most once.
fn of_units(word: &str) -> Option<f64> {
    let mut rest = word;
    let mut seconds = 0.0;
    for (unit, seconds_each) in [('h', 3600.0), ('m', 60.0), ('s', 1.0)] {
        if let Some((number, behind)) = rest.split_once(unit) {
            seconds += plain(number)? * seconds_each;
            rest = behind;
        }
    }
    rest.is_empty().then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_in_many_forms() {
        for (word, line, expected) in [
            ("12", "", Some(12.0)),
            ("-1.5e3", "", Some(-1500.0)),
            (".5", "", Some(0.5)),
            ("12.5k", "", Some(12_500.0)),
            ("3M", "", Some(3e6)),
            ("12s", "", Some(12.0)),
            ("1h2m3.5s", "", Some(3723.5)),
            ("01h:04m:33s", "", Some(3873.0)),
            ("03:03.17", "Render time", Some(183.17)),
            ("00h:04m:33s", "", Some(273.0)),
            ("03:03.17", "at", None),
            ("0s", "", None),
            ("", "", None),
            ("-", "", None),
            ("inf", "", None),
            ("nan", "", None),
            ("1e999", "", None),
            ("1,234", "", None),
            ("12ms", "", None),
            ("12:30", "time", None),
            ("0x10", "", None),
            ("s", "", None),
            ("k", "", None),
            ("ä", "", None),
        ] {
            assert_eq!(Cleaning::default().number(word, line), expected, "{word}");
        }
    }

    #[test]
    fn what_surrounds_a_number_is_taken_away_first() {
        let cleaning = |anywhere, postfix| Cleaning { anywhere, postfix };
        assert_eq!(cleaning(Some(","), None).number("1,234,567.8", ""), Some(1_234_567.8));
        assert_eq!(cleaning(Some("ms"), None).number("12ms", ""), Some(12.0));
        assert_eq!(cleaning(None, Some(".")).number("12.5.", ""), Some(12.5));
        assert_eq!(cleaning(None, Some("s")).number("s12s", ""), None);
    }
}
