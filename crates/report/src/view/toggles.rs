//! Toggles: what can be switched here, why the rest cannot, and one of them explained.

use serde::Serialize;

use crate::page::{Block, Cell, Column, Page, Section, Statement, Table, Tone};

/// Toggles on a first screen.
const TOGGLES_FIRST: usize = 16;

/// One toggle on one machine, as it stands in the document.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ToggleState {
    /// What it is called.
    pub name: &'static str,
    /// What it is, in a few words.
    pub title: &'static str,
    /// What it does.
    pub does: &'static str,
    /// What it needs.
    pub needs: &'static [&'static str],
    /// `S0` to `S4`.
    pub class: &'static str,
    /// What that class means; no part of the document.
    #[serde(skip)]
    pub class_means: &'static str,
    /// What is at risk, or why it is never switched.
    pub opens: &'static str,
    /// How long it lasts.
    pub lifetime: &'static str,
    /// How long the machine takes to follow, in seconds.
    pub settle_s: f64,
    /// Where that is written.
    pub source: &'static str,
    /// Its value now; `None` if unknown, or not the same everywhere.
    pub now: Option<String>,
    /// Whether `toggles set` can switch it.
    pub settable: bool,
    /// `available`, `missing` or `unknown`.
    pub availability: &'static str,
    /// Why it is not available.
    pub reason: Option<String>,
    /// What would make it available.
    pub remedy: Option<String>,
    /// What it can be set to.
    pub values: Vec<ToggleValue>,
}

/// One value of a toggle.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ToggleValue {
    /// What it is called.
    pub name: String,
    /// What it means.
    pub means: String,
    /// The class of this value.
    pub class: &'static str,
}

impl ToggleState {
    fn is_available(&self) -> bool {
        self.availability == "available"
    }

    fn why_not(&self) -> String {
        let reason = self.reason.as_deref().unwrap_or_default();
        if self.availability == "unknown" { format!("unknown: {reason}") } else { reason.to_owned() }
    }
}

/// The list: those that can be switched, then with reasons those that cannot.
pub fn toggles_page(toggles: &[ToggleState]) -> Page {
    let mut by_class: Vec<&ToggleState> = toggles.iter().collect();
    by_class.sort_by_key(|toggle| toggle.class);
    let mut classes: Vec<(String, String)> =
        by_class.iter().map(|toggle| (toggle.class.to_owned(), toggle.class_means.to_owned())).collect();
    classes.dedup();
    let (here, missing): (Vec<&ToggleState>, Vec<&ToggleState>) =
        by_class.into_iter().partition(|toggle| toggle.is_available());
    let answer =
        format!("{} of {} can be switched here", here.len(), machine::counted(toggles.len(), "toggle"));
    let mut sections = Vec::new();
    if !here.is_empty() {
        let columns = vec![
            Column::word("toggle"),
            Column::prose("values"),
            Column::prose("now").priority(1),
            Column::word("class"),
        ];
        let mut table = Table::new("available", columns);
        for toggle in &here {
            let values: Vec<&str> = toggle.values.iter().map(|value| value.name.as_str()).collect();
            let to = if toggle.settable { "" } else { " (ab only)" };
            table.row(vec![
                Cell::text(toggle.name),
                Cell::text(format!("{}{to}", values.join(", "))),
                Cell::text(toggle.now.as_deref().unwrap_or_default()),
                Cell::text(toggle.class),
            ]);
        }
        table.first_rows = Some(TOGGLES_FIRST);
        sections.push(Section::new("available", "").with(Block::Table(table)));
    }
    if !missing.is_empty() {
        let columns = vec![Column::word("toggle"), Column::prose("reason"), Column::word("class")];
        let mut table = Table::new("missing", columns);
        for toggle in missing {
            table.row(vec![Cell::text(toggle.name), Cell::Text(toggle.why_not()), Cell::text(toggle.class)]);
        }
        sections.push(Section::detail("missing", "Not available here").with(Block::Table(table)));
    }
    sections.push(Section::detail("classes", "Classes").with(Block::Facts(classes)));
    Page {
        answer: Statement::new(if here.is_empty() { Tone::Doubt } else { Tone::Plain }, answer),
        sections,
        next: vec!["Explain one toggle: sidestep toggles show NAME".to_owned()],
        ..Page::default()
    }
}

/// One toggle, explained.
pub fn toggle_page(toggle: &ToggleState) -> Page {
    let name = toggle.name;
    let answer = match (toggle.is_available(), toggle.settable) {
        (true, true) => Statement::new(Tone::Good, "available"),
        (true, false) => Statement::new(
            Tone::Good,
            format!("available to sidestep ab --toggle {name}; toggles set has nothing to set"),
        ),
        (false, _) if toggle.availability == "unknown" => Statement::new(Tone::Doubt, toggle.why_not()),
        (false, _) => Statement::new(Tone::Doubt, format!("not available: {}", toggle.why_not())),
    };
    let now = toggle.now.as_deref().unwrap_or("unknown, or not the same everywhere");
    let mut facts = vec![("now", now.to_owned()), ("remedy", toggle.remedy.clone().unwrap_or_default())];
    for (index, ToggleValue { name, means, class }) in toggle.values.iter().enumerate() {
        facts.push((if index == 0 { "values" } else { "" }, format!("{name} ({class}): {means}")));
    }
    let is_never = toggle.class == "S4";
    facts.extend([
        ("needs", toggle.needs.join("; ")),
        ("class", format!("{}: {}", toggle.class, toggle.class_means)),
        (if is_never { "why never" } else { "risk" }, toggle.opens.to_owned()),
        ("lifetime", toggle.lifetime.to_owned()),
        ("source", toggle.source.to_owned()),
    ]);
    let facts = facts.into_iter().map(|(name, text)| (name.to_owned(), text)).collect();
    Page {
        subject: format!("{name}: {}", toggle.title),
        answer,
        because: vec![Statement::new(Tone::Plain, toggle.does)],
        sections: vec![Section::new("facts", "").with(Block::Facts(facts))],
        ..Page::default()
    }
}
