//! The fit of a model to the machine that it is run on: how near it comes, what it tells, what it leaves open.

use std::collections::BTreeSet;

use machine::Bytes;
use models::memory::{MeasuredFit, PagePlacement, RegionResidual, Scenario};

use super::terminal::headers;
use crate::figure::DataTable;
use crate::html::markup;
use crate::number;
use crate::terminal::{Ink, Paper, table_of};

/// A region whose median error is larger than this is not described by the model.
const DOUBTFUL_PERCENT: f64 = 20.0;

/// A fitted time that may as well be nothing or twice as long is no result.
const UNDETERMINED_ABOVE_PERCENT: f64 = 100.0;

/// What the fit cannot tell, in words.
pub(super) fn sentences(fit: &MeasuredFit) -> Vec<String> {
    let mut sentences = Vec::new();
    sentences.push(match &fit.memory_withheld {
        Some(why) => format!("What rests on the latency of memory is withheld: {why}."),
        None => by_choices(fit),
    });
    let poor: Vec<String> = fit
        .regions
        .iter()
        .filter(|region| region.median_error_percent > DOUBTFUL_PERCENT)
        .map(|region| format!("{} ({:.0} %)", region.place, region.median_error_percent))
        .collect();
    if !poor.is_empty() {
        sentences.push(format!(
            "The model does not describe the chains served by {}: take its numbers there for their order of size only.",
            poor.join(", ")
        ));
    }
    if fit.is_guest {
        sentences.push(
            "In a guest each entry of its page table is translated by the host's own: that is inside the fitted walk, and \
             stays as it is. A workaround in the host would come on top."
                .to_owned(),
        );
    }
    sentences.push(
        "Walks of a stream are taken to hold it up. A core that walks ahead of its loads, as newer ones do, pays less."
            .to_owned(),
    );
    sentences
}

/// What the choices that nothing here tells make of the largest test.
fn by_choices(fit: &MeasuredFit) -> String {
    let factors = fit.scenarios.iter().map(|one| one.random_200mb_ns / one.random_200mb_off_ns);
    let (least, most) =
        factors.fold((f64::INFINITY, 0.0_f64), |(low, high), one| (low.min(one), high.max(one)));
    format!(
        "Nothing here can tell what one read past all caches costs, nor how many a walk would make: this CPU has no such \
         switch. By the choices below a random load over 200 MiB becomes {} to {} times as long.",
        number::short(least),
        number::short(most)
    )
}

fn region_row(region: &RegionResidual) -> [String; 5] {
    [
        region.place.clone(),
        region.chains.to_string(),
        format!("{:+.0} %", region.bias_percent),
        format!("{:.0} %", region.median_error_percent),
        format!("{:+.0} %", region.worst_percent),
    ]
}

fn scenario_row(one: &Scenario) -> [String; 5] {
    [
        one.reads_per_walk.to_string(),
        number::column(one.ns_per_read),
        number::column(one.random_200mb_off_ns),
        number::column(one.random_200mb_ns),
        format!("{:+.0} %", (one.random_200mb_ns / one.random_200mb_off_ns - 1.0) * 100.0),
    ]
}

const REGIONS: [&str; 5] = ["served by", "chains", "median", "median size", "worst"];
const SCENARIOS: [&str; 5] = ["reads per walk", "ns per read", "off, ns", "on, ns", "change"];

fn placement(fit: &MeasuredFit) -> String {
    let where_pages_lie = match fit.page_placement {
        PagePlacement::Scattered => "scattered over memory",
        PagePlacement::Contiguous => "one behind the other",
    };
    let last = if fit.last_cache_bytes == fit.last_cache_claimed_bytes {
        format!("all {} that the last cache claims fit best", fit.last_cache_bytes)
    } else {
        format!(
            "of the {} that the last cache claims {} fit best (all of it {} times as badly): others may have the rest",
            fit.last_cache_claimed_bytes,
            fit.last_cache_bytes,
            number::short(fit.claimed_worse)
        )
    };
    format!(
        "{} chains in random order, median error {:.1} %; {last}. Pages are taken to lie {where_pages_lie}: the other way \
         fits {} times as badly.",
        fit.chains.len(),
        fit.median_error_percent,
        number::short(fit.other_placement_worse)
    )
}

fn told(fit: &MeasuredFit) -> String {
    let one = |one: &models::memory::Identified| {
        let within = match one.uncertainty_percent {
            Some(percent) if percent < 1.0 => "±<1 %".to_owned(),
            Some(percent) if percent <= UNDETERMINED_ABOVE_PERCENT => format!("±{percent:.0} %"),
            // The best of the fits is no measurement: a number here would be copied.
            _ => return format!("{}: undetermined", one.parameter),
        };
        format!("{} {} {within}", one.parameter, number::short(one.value))
    };
    format!(
        "Fitted, ± by the scatter of the chains: {}.",
        fit.fitted.iter().map(one).collect::<Vec<String>>().join("; ")
    )
}

/// How the read past all caches was chosen.
fn choices(fit: &MeasuredFit) -> String {
    format!(
        "a read is taken to last as long as a load from memory, or {} times as long, as the Phenom's numbers are fitted; \
         the tables above take all reads at the former",
        number::short(fit.phenom_reads_in_loads)
    )
}

/// The fit in the terminal.
pub(super) fn fit(paper: &mut Paper, fit: &MeasuredFit) {
    paper.blank();
    paper.strong("Fit to the measured surface, error of the model");
    let mut table = table_of(&headers(REGIONS));
    fit.regions.iter().for_each(|region| {
        table.add_row(region_row(region));
    });
    paper.table(table);
    paper.wrapped("- ", &placement(fit));
    paper.wrapped("- ", &told(fit));
    if fit.scenarios.is_empty() {
        return;
    }
    paper.blank();
    paper.strong("A random load over 200 MiB, by what nobody knows of the workaround here");
    let mut table = table_of(&headers(SCENARIOS));
    fit.scenarios.iter().for_each(|one| {
        table.add_row(scenario_row(one));
    });
    paper.table(table);
    paper.wrapped_inked(Ink::Faint, "", &choices(fit));
}

/// The fit as tables of a page.
pub(super) fn tables(fit: &MeasuredFit) -> String {
    let table = |headers: [&str; 5], rows: Vec<[String; 5]>| {
        let rows = rows.into_iter().map(Vec::from).collect();
        markup::table(&DataTable { headers: headers.map(str::to_owned).to_vec(), rows })
    };
    let note = |text: &str| format!("<p class=\"note\">{}</p>", crate::escape::markup(text));
    let regions = table(REGIONS, fit.regions.iter().map(region_row).collect());
    let scenarios = if fit.scenarios.is_empty() {
        String::new()
    } else {
        [
            "<h3>A random load over 200 MiB, by what nobody knows of the workaround here</h3>".to_owned(),
            table(SCENARIOS, fit.scenarios.iter().map(scenario_row).collect()),
            note(&choices(fit)),
        ]
        .concat()
    };
    [
        note(&placement(fit)),
        regions,
        note(&told(fit)),
        "<h3>Error of the model by block and stride, in per cent of the measured latency</h3>".to_owned(),
        markup::table(&surface(fit)),
        scenarios,
    ]
    .concat()
}

/// Errors by block and stride.
fn surface(fit: &MeasuredFit) -> DataTable {
    let blocks: BTreeSet<Bytes> = fit.chains.iter().map(|chain| chain.block_bytes).collect();
    let strides: BTreeSet<Bytes> = fit.chains.iter().map(|chain| chain.stride_bytes).collect();
    let error = |block: Bytes, stride: Bytes| {
        let chain =
            fit.chains.iter().find(|chain| (chain.block_bytes, chain.stride_bytes) == (block, stride));
        chain.map_or_else(String::new, |chain| format!("{:+.0}", chain.error_percent))
    };
    let rows = blocks.iter().map(|block| {
        let errors = strides.iter().map(|stride| error(*block, *stride));
        [block.to_string()].into_iter().chain(errors).collect()
    });
    DataTable {
        headers: ["block".to_owned()].into_iter().chain(strides.iter().map(Bytes::to_string)).collect(),
        rows: rows.collect(),
    }
}
