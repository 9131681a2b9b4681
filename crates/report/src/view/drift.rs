//! A simulation of drifting counters: what each remedy does, and the machine's numbers with their sources.

use models::tsc::{DriftPoint, DriftRow, DriftSimulation, Remedy};

use super::simulated;
use crate::draw::{LineChart, LinePanel, LinePoint, LineSeries};
use crate::number;
use crate::page::{Cell, Drawn, Page, Section, Statement, Table, Tone};

/// Prices that differ by less are the same.
const SAME_PRICE: f64 = 1e-9;

/// The simulation as a page.
pub fn drift_page(simulation: &DriftSimulation) -> Page {
    let scenario = simulation.scenario;
    let how = simulation.rows.iter().map(|row| (row.remedy.name(), row.how.clone()));
    let drift = figure(simulation).map(|drawn| {
        let heading = "Counter of the worst core against core 0";
        let section = Section::new("drift", "Drift").figure("simulated-drift", heading, Some(drawn));
        section.table(points(simulation))
    });
    let sections = [
        Some(Section::new("remedies", "").table(remedies(simulation))),
        Some(Section::new("how", "How each is switched").facts(how).detailed()),
        drift,
    ];
    let page = Page {
        answer: answer(simulation),
        because: cures(simulation).into_iter().collect(),
        sections: sections.into_iter().flatten().collect(),
        about: vec![format!(
            "governor {}, workload {}, {} s, seed {}",
            scenario.governor.name(),
            scenario.workload.name(),
            number::short(scenario.seconds),
            scenario.seed
        )],
        ..Page::default()
    };
    simulated::page(&simulation.machine.title, simulated::numbers(&simulation.machine), page)
}

fn remedies(simulation: &DriftSimulation) -> Table {
    let observations = simulation.rows.first().map_or(0, |row| row.observations);
    let shown = |text: String, value: f64| Cell::shown(text, value);
    Table::of("remedies", &simulation.rows)
        .word("remedy", |row| row.remedy.name())
        .word("time is", |row| if row.safe { (Tone::Good, "safe") } else { (Tone::Look, "unsafe") })
        .number(("counters apart", 1), |row| shown(number::duration_ns(row.offset_us * 1e3), row.offset_us))
        .number("backwards", |row| shown(backwards(row), row.backwards as f64))
        .number(("by at most", 2), |row| {
            let ns = number::duration_ns(row.backwards_us * 1e3);
            shown(if row.backwards == 0 { "-".to_owned() } else { ns }, row.backwards_us)
        })
        .number(("clock error", 1), |row| shown(clock_error(row.clock_error_ppm), row.clock_error_ppm))
        .number("cost of a read", |row| shown(number::duration_ns(row.read_ns), row.read_ns))
        .legend(format!(
            "counters apart: worst core against core 0; backwards: share of {observations} time stamps handed between cores that are later than the next; clock error: of the kernel's clock on core 0. As CSV: µs, count, µs, ppm, ns."
        ))
}

fn points(simulation: &DriftSimulation) -> Table {
    let points = simulation.rows.iter().flat_map(|row| row.curve.iter().map(move |point| (row, point)));
    Table::of("points", points)
        .word("remedy", |(row, _)| row.remedy.name())
        .number(("at", "s"), |(_, point)| point.at_s)
        .number(("offset", "us"), |(_, point)| point.offset_us)
        .data()
}

fn backwards(row: &DriftRow) -> String {
    if row.backwards == 0 { "never".to_owned() } else { number::percent(back_share(row)) }
}

fn back_share(row: &DriftRow) -> f64 {
    row.backwards as f64 / row.observations as f64
}

/// Parts per million until they are no longer small.
fn clock_error(ppm: f64) -> String {
    /// Above this a share reads better in percent.
    const PPM_SHOWN_MAX: f64 = 10_000.0;
    /// Below this the resolution of the clock is all there is: 1 us in a second.
    const PPM_SHOWN_MIN: f64 = 1.0;
    match ppm.abs() {
        size if size < PPM_SHOWN_MIN => "-".to_owned(),
        size if size < PPM_SHOWN_MAX => format!("{ppm:+.0} ppm"),
        _ => format!("{:+.0} %", ppm / PPM_SHOWN_MAX),
    }
}

/// What happens without a remedy.
fn answer(simulation: &DriftSimulation) -> Statement {
    let Some(bare) = simulation.rows.iter().find(|row| row.remedy == Remedy::None) else {
        return Statement::default();
    };
    if !bare.drifts && bare.safe {
        return Statement::good("Time is safe here without a remedy: the counters stay together.");
    }
    let back = if bare.backwards == 0 {
        "time was never seen to go backwards".to_owned()
    } else {
        format!(
            "time goes backwards between cores in {} of cases, by up to {}",
            number::percent(back_share(bare)),
            number::duration_ns(bare.backwards_us * 1e3)
        )
    };
    let kind = if bare.rate_changes { "a changing rate" } else { "a steady rate" };
    let text = format!(
        "Without a remedy {back}: the counter of core {} drifts from core 0 at {kind}, {} in {} s.",
        bare.core,
        number::duration_ns(bare.offset_us * 1e3),
        number::short(simulation.scenario.seconds)
    );
    Statement::new(if bare.safe { Tone::Doubt } else { Tone::Look }, text)
}

/// Which remedies make time safe, and at which price.
fn cures(simulation: &DriftSimulation) -> Option<Statement> {
    let bare = simulation.rows.iter().find(|row| row.remedy == Remedy::None).filter(|bare| !bare.safe)?;
    let others = simulation.rows.iter().filter(|row| row.remedy != Remedy::None);
    let price = |row: &DriftRow| {
        let ratio = row.read_ns / bare.read_ns;
        if (ratio - 1.0).abs() < SAME_PRICE {
            row.remedy.name().to_owned()
        } else {
            format!("{} (a read costs {}x)", row.remedy.name(), number::column(ratio))
        }
    };
    let cures: Vec<String> = others.clone().filter(|row| row.safe).map(price).collect();
    let others = others.filter(|row| !row.safe).map(|row| row.remedy.name());
    let safe = match cures.as_slice() {
        [] => "No remedy makes time safe here.".to_owned(),
        cures => format!("Time is safe with {}.", cures.join(", ")),
    };
    let others = number::joined(others, ", ");
    let said = if others.is_empty() { safe } else { format!("{safe} Not sufficient: {others}.") };
    Some(Statement::plain(said))
}

/// Offset over time, a curve per remedy that touches the counters.
fn figure(simulation: &DriftSimulation) -> Option<Drawn> {
    let touches = |row: &&DriftRow| !matches!(row.remedy, Remedy::Hpet | Remedy::AcpiPm);
    let series = simulation.rows.iter().filter(touches).enumerate().map(|(style, row)| {
        let point = |point: &DriftPoint| LinePoint::exact(point.at_s, point.offset_us / 1e3);
        let points = row.curve.iter().map(point).collect();
        LineSeries { name: row.remedy.name().to_owned(), style, points }
    });
    let panel = LinePanel::new("Ahead of core 0, ms", series);
    let chart = LineChart::straight("seconds", "ahead of core 0, ms", " ms", panel);
    let reading =
        "A flat line at zero is a trustworthy counter. HPET and the PM timer do not use the counters.";
    Drawn::of(&chart, "simulated-drift", reading)
}
