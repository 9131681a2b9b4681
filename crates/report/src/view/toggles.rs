//! Toggles: what can be switched here, why the rest cannot, and one of them explained.

use serde::Serialize;
use stats::Order;

use crate::number::joined;
use crate::page::{Block, Page, Section, Statement, Table, Tone};

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
    by_class.order_by_key(|toggle| toggle.class);
    let mut classes: Vec<(&str, &str)> =
        by_class.iter().map(|toggle| (toggle.class, toggle.class_means)).collect();
    classes.dedup();
    let (here, missing): (Vec<&ToggleState>, Vec<&ToggleState>) =
        by_class.into_iter().partition(|toggle| toggle.is_available());
    let all = machine::counted(toggles.len(), "toggle");
    let answer = format!("{} of {all} can be switched here", here.len());
    let tone = if here.is_empty() { Tone::Doubt } else { Tone::Plain };
    let values = |toggle: &ToggleState| {
        let names = joined(toggle.values.iter().map(|value| &value.name), ", ");
        names + if toggle.settable { "" } else { " (ab only)" }
    };
    let available = Table::of("available", here)
        .word("toggle", |toggle| toggle.name)
        .prose("values", |toggle| values(toggle))
        .prose(("now", 1), |toggle| toggle.now.as_ref())
        .word("class", |toggle| toggle.class)
        .first(TOGGLES_FIRST)
        .table();
    let missing = Table::of("missing", missing)
        .word("toggle", |toggle| toggle.name)
        .prose("reason", |toggle| toggle.why_not())
        .word("class", |toggle| toggle.class)
        .table();
    let classes = classes.into_iter().map(|(class, means)| (class.to_owned(), means.to_owned())).collect();
    let sections = [
        available.section(""),
        missing.section("Not available here").map(Section::detailed),
        Some(Section::new("classes", "Classes").with(Block::Facts(classes)).detailed()),
    ];
    Page {
        answer: Statement::new(tone, answer),
        sections: sections.into_iter().flatten().collect(),
        next: vec!["Explain one toggle: sidestep toggles show NAME".to_owned()],
        ..Page::default()
    }
}

/// One toggle, explained.
pub fn toggle_page(toggle: &ToggleState) -> Page {
    let name = toggle.name;
    let answer = match (toggle.is_available(), toggle.settable) {
        (true, true) => Statement::good("available"),
        (true, false) => Statement::good(format!(
            "available to sidestep ab --toggle {name}; toggles set has nothing to set"
        )),
        (false, _) if toggle.availability == "unknown" => Statement::doubt(toggle.why_not()),
        (false, _) => Statement::doubt(format!("not available: {}", toggle.why_not())),
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
    Page {
        subject: format!("{name}: {}", toggle.title),
        answer,
        because: vec![Statement::plain(toggle.does)],
        sections: vec![Section::new("facts", "").facts(facts)],
        ..Page::default()
    }
}
