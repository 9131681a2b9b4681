//! Pages of saved documents, which are made up and small enough to check by hand.

use record::{
    Bill, ComparisonTable, ExperimentOutcome, FlawVerdict, FleetCheck, FleetRows, GuardOutcome,
    HistoryListing, PlaceOutcome, RebootOutcome, Record,
};
use report::{
    Page, bill_page, comparison_page, experiment_page, flaws_page, fleet_check_page, fleet_rows_page,
    guard_baseline_page, guard_page, history_page, place_page, reboots_page,
};
use serde::de::DeserializeOwned;

use crate::rendering::sample::{sample_machine, sample_record};

/// The saved document of that name.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> T {
    serde_json::from_str(text).expect("a document of its kind")
}

macro_rules! saved {
    ($name:literal) => {
        crate::pages::documents::read(include_str!(concat!("documents/", $name, ".json")))
    };
}
pub(super) use saved;

/// A comparison of records that are the same but for one that streams faster.
fn compared(table: &ComparisonTable) -> Page {
    let mut records: Vec<Record> = table.configurations.iter().map(|_| sample_record(2)).collect();
    for cell in &mut records[1].memory.latency {
        cell.ns *= 1.1;
    }
    let records: Vec<Option<&Record>> = records.iter().map(Some).collect();
    let arguments = ["compare", "before.json", "the other.json"].map(str::to_owned);
    comparison_page(table, &records, &arguments)
}

pub(super) fn verdicts() -> Vec<FlawVerdict> {
    saved!("flaws")
}

/// Every page of a saved document.
pub(super) fn pages() -> Vec<(&'static str, Page)> {
    let experiment: ExperimentOutcome = saved!("experiment");
    let reboots: RebootOutcome = saved!("reboots");
    let mut running = RebootOutcome { phase: "running".to_owned(), ..reboots.clone() };
    running.head.sentence.clear();
    let place: PlaceOutcome = saved!("place");
    let guard: GuardOutcome = saved!("guard");
    let [bill, suite]: [Bill; 2] = [saved!("bill"), saved!("bill-suite")];
    let [listing, trends]: [HistoryListing; 2] = [saved!("history"), saved!("history-trends")];
    let rows: FleetRows = saved!("fleet-rows");
    let fleet: FleetCheck = saved!("fleet-check");
    let machine = sample_machine(2);
    let uneven = ["microcode differs: CPU 0 has 0x1, CPU 1 has 0x2".to_owned()];
    let verdicts = verdicts();
    let flaws = |all| flaws_page(&machine, &verdicts, &uneven, all);
    vec![
        ("bill", bill_page(&bill)),
        ("bill-suite", bill_page(&suite)),
        ("experiment", experiment_page(&experiment)),
        ("reboots", reboots_page(&reboots)),
        ("reboots-running", reboots_page(&running)),
        ("place", place_page(&place)),
        ("comparison", compared(&saved!("comparison"))),
        ("comparison-three", compared(&saved!("comparison-three"))),
        ("guard", guard_page(&guard)),
        ("guard-baseline", guard_baseline_page(&guard.classes, 24, 3)),
        ("guard-baseline-empty", guard_baseline_page(&[], 1, 0)),
        ("history", history_page(&listing, 1, "/state")),
        ("history-trends", history_page(&trends, 0, "/state")),
        ("fleet-rows", fleet_rows_page(&rows)),
        ("flaws", flaws(false)),
        ("flaws-all", flaws(true)),
        ("fleet-check", fleet_check_page(&fleet)),
        ("fleet-check-empty", fleet_check_page(&FleetCheck::default())),
    ]
}
