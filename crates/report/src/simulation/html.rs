//! A simulation as a page: predictions, words, where the time goes, pictures, every number with its source.

use models::memory::{Row, Simulation};

use super::{curves, measured, state, words};
use crate::escape::markup;
use crate::figure::DataTable;
use crate::html::markup::{Charts, list, placed, section, table};
use crate::html::{self, Html};
use crate::number;

/// The page of a simulation.
pub fn simulation_html(simulation: &Simulation, options: Html) -> String {
    let mut charts = Charts::new(options.script);
    let mut body = format!(
        "<header><p class=\"kicker\">sidestep simulation</p><h1>{}</h1><p class=\"sub\">on paper, {} off and on</p></header>\n",
        markup(&simulation.title),
        markup(&simulation.workaround)
    );
    body += &section("tests", &format!("Predicted and {}", words::known(simulation)), &tests(simulation));
    body += &section("words", "Why", &list(&words::sentences(simulation)));
    body += &section("time", "Where the time goes", &table(&times(simulation)));
    let mut pictures = String::new();
    if let Some(drawn) = curves::bandwidth(simulation) {
        pictures += &placed("simulated-bandwidth", "Bandwidth against block size", drawn, &mut charts);
    }
    for on in [false, true] {
        let name = format!("simulated-surface-{}", state(on));
        if let Some(drawn) = curves::surface(simulation, &name, on) {
            let title =
                format!("Latency over block size and stride, {} {}", simulation.workaround, state(on));
            pictures += &placed(&name, &title, drawn, &mut charts);
        }
    }
    if !pictures.is_empty() {
        body += &section("pictures", "Pictures", &pictures);
    }
    if let Some(fit) = &simulation.measured {
        body += &section("measured", "How near the model comes to this machine", &measured::tables(fit));
    }
    let told = words::of_the_fit(simulation);
    if !told.is_empty() {
        body += &section("fit", "What the numbers tell", &list(&told));
    }
    html::document_page(&simulation.title, &body, simulation, "simulation.json", charts, options)
}

fn tests(simulation: &Simulation) -> String {
    let row = |row: &Row| {
        vec![
            row.name.clone(),
            row.title.clone(),
            number::column(row.off),
            number::column(row.on),
            row.unit.text().to_owned(),
            words::change(row),
            words::published(row),
            words::errors(row),
            row.published_source.clone().unwrap_or_default(),
        ]
    };
    let headers = [
        "test",
        "what it is",
        "off",
        "on",
        "unit",
        "change",
        words::known(simulation),
        "error",
        "published by",
    ];
    table(&DataTable {
        headers: headers.map(str::to_owned).to_vec(),
        rows: simulation.rows.iter().map(row).collect(),
    })
}

fn times(simulation: &Simulation) -> DataTable {
    let mut headers = vec!["test".to_owned(), simulation.workaround.clone()];
    if let Some(first) = simulation.rows.iter().find(|row| !row.parts_off.is_empty()) {
        headers.extend(first.parts_off.iter().map(|part| format!("{}, ns", part.name)));
    }
    let rows = simulation.rows.iter().filter(|row| row.withheld.is_none()).flat_map(|row| {
        [(false, &row.parts_off), (true, &row.parts_on)].map(|(on, parts)| {
            let start = [row.name.clone(), state(on).to_owned()];
            start.into_iter().chain(parts.iter().map(|part| number::column(part.ns))).collect()
        })
    });
    DataTable { headers, rows: rows.collect() }
}
