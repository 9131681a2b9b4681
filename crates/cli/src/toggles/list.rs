//! The list of toggles as a table, one toggle as a page, and both as JSON.

use serde_json::{Value as Json, json};
use toggles::{About, Availability, Lifetime, Risk, Surroundings, Toggle, Value, catalogue};

/// All classes in the order of the list.
const CLASSES: [Risk; 6] =
    [Risk::Process, Risk::Reversible, Risk::Disruptive, Risk::LowersSecurity, Risk::RisksData, Risk::OneWay];
/// Column of the state.
const NOW_COLUMN: usize = 26;
/// Column of the values, or of the reason why not.
const TEXT_COLUMN: usize = 38;
/// A state longer than this is cut.
const NOW_WIDTH: usize = TEXT_COLUMN - NOW_COLUMN - 2;

/// The list, by class.
pub(super) fn table(around: &Surroundings, width_columns: usize) -> String {
    let mut blocks = Vec::new();
    for class in CLASSES {
        let toggles: Vec<&&dyn Toggle> =
            catalogue().iter().filter(|toggle| toggle.about().risk == class).collect();
        if toggles.is_empty() {
            continue;
        }
        let heading = format!("{:<3}  {}\n", class.class(), class.meaning());
        let rows: String = toggles.iter().map(|toggle| row(**toggle, around, width_columns)).collect();
        blocks.push(heading + &rows);
    }
    blocks.push("sidestep toggles show NAME says what one does, needs and risks.\n".to_owned());
    blocks.join("\n")
}

fn row(toggle: &dyn Toggle, around: &Surroundings, width_columns: usize) -> String {
    let now = toggle.now(around).unwrap_or_else(|| "-".to_owned());
    let said = match toggle.availability(around) {
        Availability::Available => {
            let names: Vec<String> = toggle.values(around).into_iter().map(|value| value.name).collect();
            let to = if is_settable(toggle) { "" } else { " to ab" };
            format!("available{to}: {}", names.join(", "))
        }
        Availability::Missing { reason, .. } => reason,
        Availability::Unknown { reason } => format!("unknown: {reason}"),
    };
    let head = format!(
        "  {:<w$}{:<n$}",
        toggle.about().name,
        cut(&now),
        w = NOW_COLUMN - 2,
        n = TEXT_COLUMN - NOW_COLUMN
    );
    let lines = wrap(&said, width_columns.saturating_sub(TEXT_COLUMN));
    let indented = lines.join(&format!("\n{}", " ".repeat(TEXT_COLUMN)));
    format!("{head}{indented}\n")
}

/// True if `toggles set` can switch it: what ends with a process is switched for programs and probes only, what cannot be
/// taken back never.
fn is_settable(toggle: &dyn Toggle) -> bool {
    let About { lifetime, risk, .. } = toggle.about();
    *lifetime != Lifetime::Process && *risk != Risk::OneWay
}

fn cut(text: &str) -> String {
    if text.chars().count() <= NOW_WIDTH {
        return text.to_owned();
    }
    text.chars().take(NOW_WIDTH - 2).chain("..".chars()).collect()
}

/// Words in lines of at most `width` columns; a longer word, which is a path, breaks before a slash.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace().flat_map(|word| pieces(word, width)) {
        let last = lines.last_mut().expect("there is always a line");
        if last.is_empty() {
            last.push_str(word);
        } else if last.chars().count() + 1 + word.chars().count() <= width {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// A word in pieces of at most `width` columns, as far as it has slashes to break at.
fn pieces(word: &str, width: usize) -> Vec<&str> {
    let fits = |end: &usize| word[..*end].chars().count() <= width;
    if fits(&word.len()) {
        return vec![word];
    }
    match word.match_indices('/').map(|(at, _)| at).rfind(|at| *at > 0 && fits(at)) {
        Some(at) => [vec![&word[..at]], pieces(&word[at..], width)].concat(),
        None => vec![word],
    }
}

/// One toggle, explained.
pub(super) fn page(toggle: &dyn Toggle, around: &Surroundings, width_columns: usize) -> String {
    /// Where the facts begin.
    const COLUMN: usize = 12;
    let about = toggle.about();
    let mut lines = vec![format!("{}: {}", about.name, about.title), String::new()];
    lines.extend(wrap(about.does, width_columns));
    lines.push(String::new());
    let mut fact = |name: &str, value: &str| {
        if !value.is_empty() {
            let value = wrap(value, width_columns.saturating_sub(COLUMN));
            lines.push(format!("{name:<COLUMN$}{}", value.join(&format!("\n{}", " ".repeat(COLUMN)))));
        }
    };
    fact("now", &toggle.now(around).unwrap_or_else(|| "unknown, or not the same everywhere".to_owned()));
    match toggle.availability(around) {
        Availability::Available if is_settable(toggle) => fact("here", "available"),
        Availability::Available => {
            fact(
                "here",
                &format!("available to sidestep ab --toggle {}; toggles set has nothing to set", about.name),
            );
        }
        Availability::Missing { reason, remedy } => {
            fact("here", &reason);
            fact("remedy", &remedy);
        }
        Availability::Unknown { reason } => fact("here", &format!("unknown: {reason}")),
    }
    for (index, value) in toggle.values(around).iter().enumerate() {
        let Value { name, means, risk } = value;
        fact(if index == 0 { "values" } else { "" }, &format!("{name} ({risk}): {means}"));
    }
    fact("needs", &about.needs.join("; "));
    fact("class", &format!("{}: {}", about.risk, about.risk.meaning()));
    fact(if about.risk == Risk::OneWay { "why never" } else { "risk" }, about.opens);
    fact("lifetime", about.lifetime.name());
    fact("source", about.source);
    lines.join("\n") + "\n"
}

/// The list as JSON.
pub(super) fn rows_json(around: &Surroundings) -> Vec<Json> {
    catalogue().iter().map(|toggle| row_json(*toggle, around)).collect()
}

/// One toggle as JSON.
pub(super) fn row_json(toggle: &dyn Toggle, around: &Surroundings) -> Json {
    let About { name, title, does, needs, risk, opens, lifetime, settle, source } = toggle.about();
    let (state, reason, remedy) = match toggle.availability(around) {
        Availability::Available => ("available", None, None),
        Availability::Missing { reason, remedy } => ("missing", Some(reason), Some(remedy)),
        Availability::Unknown { reason } => ("unknown", Some(reason), None),
    };
    let values: Vec<Json> = toggle
        .values(around)
        .into_iter()
        .map(|value| json!({ "name": value.name, "means": value.means, "class": value.risk.class() }))
        .collect();
    json!({
        "name": name, "title": title, "does": does, "needs": needs, "class": risk.class(), "opens": opens,
        "lifetime": lifetime.name(), "settle_s": settle.as_secs_f64(), "source": source,
        "now": toggle.now(around), "settable": is_settable(toggle), "availability": state, "reason": reason, "remedy": remedy, "values": values,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_long_states_are_cut() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("", 7), [""]);
        assert_eq!(wrap("see /one/two/three here", 8), ["see", "/one/two", "/three", "here"]);
        assert_eq!(cut("short"), "short");
        assert_eq!(cut("0=fffff;1=fffff").chars().count(), NOW_WIDTH);
    }

    #[test]
    fn every_toggle_of_the_catalogue_has_a_row_of_at_most_80_columns_and_a_page() {
        let machine = machine::Machine::default();
        let root = host::Root::live();
        let around = Surroundings { root: &root, machine: &machine, user: toggles::User::Unprivileged };
        let table = table(&around, 80);
        for toggle in catalogue() {
            assert!(table.contains(&format!("  {} ", toggle.about().name)), "{}", toggle.about().name);
            let page = page(*toggle, &around, 80);
            assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
        }
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    }
}
