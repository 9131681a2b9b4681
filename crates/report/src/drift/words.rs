//! What a simulation of drifting counters says, in words.

use models::tsc::{DriftRow, DriftSimulation, Remedy};

use crate::number;

/// How a source of a number begins that is a guess.
const ASSUMED: &str = "assumed";

/// What happened, what removes it and at which price, and what is assumed.
pub(super) fn sentences(simulation: &DriftSimulation) -> Vec<String> {
    let mut said = Vec::new();
    if let Some(bare) = simulation.rows.iter().find(|row| row.remedy == Remedy::None) {
        said.push(trouble(bare, simulation.scenario.seconds));
        said.extend(cures(simulation, bare));
    }
    said.push(assumptions(simulation));
    said
}

fn trouble(bare: &DriftRow, seconds: f64) -> String {
    if !bare.drifts && bare.safe {
        return "Nothing is wrong here: the counters stay together, and time never goes backwards."
            .to_owned();
    }
    let kind = if bare.rate_changes { "at a rate that keeps changing" } else { "at a steady rate" };
    let drift = format!(
        "Without a remedy the counter of core {} leaves that of core 0 {kind}: by {} within {} s.",
        bare.core,
        number::duration_ns(bare.offset_us * 1e3),
        number::short(seconds)
    );
    let times = if bare.backwards == 0 {
        "No stamp was seen to go backwards.".to_owned()
    } else {
        format!(
            "Of stamps handed from one of them to the other {} are later than the stamp that follows, by up to {}.",
            number::percent(bare.backwards as f64 / bare.observations as f64),
            number::duration_ns(bare.backwards_us * 1e3)
        )
    };
    format!("{drift} {times}")
}

fn cures(simulation: &DriftSimulation, bare: &DriftRow) -> Option<String> {
    if bare.safe {
        return None;
    }
    let others = simulation.rows.iter().filter(|row| row.remedy != Remedy::None);
    let price = |row: &DriftRow| {
        let ratio = row.read_ns / bare.read_ns;
        if (ratio - 1.0).abs() < 1e-9 {
            row.remedy.name().to_owned()
        } else {
            format!("{} ({} times the price of a reading)", row.remedy.name(), number::column(ratio))
        }
    };
    let cures: Vec<String> = others.clone().filter(|row| row.safe).map(price).collect();
    let vain: Vec<String> = others.filter(|row| !row.safe).map(|row| row.remedy.name().to_owned()).collect();
    let safe = match cures.as_slice() {
        [] => "No remedy makes time safe here.".to_owned(),
        cures => format!("Time is safe with {}.", listed(cures)),
    };
    if vain.is_empty() {
        return Some(safe);
    }
    Some(format!("{safe} Not enough in this scenario: {}.", listed(&vain)))
}

fn assumptions(simulation: &DriftSimulation) -> String {
    let machine = &simulation.machine;
    let numbers = [
        ("step_ns", &machine.step_ns.source),
        ("halt_divisor", &machine.halt_divisor.source),
        ("tick_hz", &machine.tick_hz.source),
        ("tick_work_ns", &machine.tick_work_ns.source),
        ("governor_period_ns", &machine.governor_period_ns.source),
    ];
    let assumed: Vec<String> = numbers
        .into_iter()
        .filter(|(_, source)| source.starts_with(ASSUMED))
        .map(|(name, _)| name.to_owned())
        .collect();
    let those = if assumed.is_empty() {
        "every number of the machine has a source".to_owned()
    } else {
        format!("assumed are {}", listed(&assumed))
    };
    format!("On paper, not measured; {those}. The machine file gives the reasons.")
}

fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
