//! The fit of latencies to published triads, by several forms, and what each is worth for numbers it was not shown.

use models::interconnect::{SocketMachine, StreamDescription};
use models::least_squares::on_lines;
use models::{Misses, error_percent};

/// A form of the latency: what it is made of, as columns of a straight-line fit.
#[derive(Debug, Clone, Copy)]
struct Form {
    name: &'static str,
    formula: &'static str,
    /// The form that machine files use.
    is_ours: bool,
    parameters: &'static [&'static str],
    column: fn(&Datum, usize) -> f64,
}

/// What was published of one socket, and what of it the forms use.
#[derive(Debug, Clone, Copy)]
struct Datum {
    /// Links to the farthest socket beyond the first.
    further_hops: f64,
    /// Of the core's clock.
    period_ns: f64,
    latency_ns: f64,
    triad_mb_per_s: f64,
}

const FORMS: &[Form] = &[
    Form {
        name: "shared",
        formula: "a + tau (ecc - 1)",
        is_ours: false,
        parameters: &["a_ns", "tau_ns"],
        column: |datum, at| [1.0, datum.further_hops][at],
    },
    Form {
        name: "core-cycles",
        formula: "(k0 + k1 (ecc - 1)) / f",
        is_ours: false,
        parameters: &["k0_cycles", "k1_cycles"],
        column: |datum, at| [1.0, datum.further_hops][at] * datum.period_ns,
    },
    Form {
        name: "near-cycles",
        formula: "K / f + tau (ecc - 1)",
        is_ours: true,
        parameters: &["near_core_cycles", "hop_round_trip_ns"],
        column: |datum, at| [datum.period_ns, datum.further_hops][at],
    },
    Form {
        name: "part-cycles",
        formula: "a + b / f + tau (ecc - 1)",
        is_ours: false,
        parameters: &["a_ns", "b_cycles", "tau_ns"],
        column: |datum, at| [1.0, datum.period_ns, datum.further_hops][at],
    },
];

/// A parameter that was fitted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FittedParameter {
    /// With its unit.
    pub(crate) name: &'static str,
    /// The value with the least squares.
    pub(crate) value: f64,
}

/// How one form meets the published numbers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FormFit {
    /// Short name.
    pub(crate) name: &'static str,
    /// Latency as a function of eccentricity (ecc) and core clock (f).
    pub(crate) formula: &'static str,
    /// The form that machine files use.
    pub(crate) is_ours: bool,
    /// What was fitted.
    pub(crate) parameters: Vec<FittedParameter>,
    /// Root mean square of errors, in per cent of what was published.
    pub(crate) rms_percent: f64,
    /// The largest error.
    pub(crate) max_percent: f64,
    /// The largest error of a number that the fit was not shown; none if the rest does not tell the parameters.
    pub(crate) left_out_max_percent: Option<f64>,
}

/// A machine predicted by a fit that was shown only another.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Transfer {
    /// Shown.
    pub(crate) from: String,
    /// Predicted.
    pub(crate) to: String,
    /// Socket by socket.
    pub(crate) rows: Vec<TransferRow>,
    /// The largest error.
    pub(crate) max_percent: f64,
}

/// One socket of a transfer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TransferRow {
    /// The socket.
    pub(crate) socket: usize,
    /// What the other machine's fit says.
    pub(crate) triad_mb_per_s: f64,
    /// What was published.
    pub(crate) published_mb_per_s: f64,
}

/// All forms on the machines' published numbers, and each machine predicted from each other.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SocketFit {
    /// The machines.
    pub(crate) machines: Vec<String>,
    /// How many published numbers.
    pub(crate) published: usize,
    /// A row per form.
    pub(crate) forms: Vec<FormFit>,
    /// A row per ordered pair of machines.
    pub(crate) transfers: Vec<Transfer>,
    /// Half of the spread between sockets that the model holds for equal: no form can do better in all.
    pub(crate) scatter_percent: f64,
}

/// Fits every form to the numbers that were published of these machines.
pub(crate) fn fit(machines: &[SocketMachine]) -> SocketFit {
    let all = data(machines);
    let transfers = machines.iter().flat_map(|from| {
        let others = machines.iter().filter(move |to| to.name != from.name);
        others.filter_map(move |to| transfer(from, to))
    });
    SocketFit {
        machines: machines.iter().map(|machine| machine.name.clone()).collect(),
        published: all.len(),
        forms: FORMS.iter().filter_map(|form| form_fit(form, &all)).collect(),
        transfers: transfers.collect(),
        scatter_percent: scatter_percent(&all),
    }
}

fn data(machines: &[SocketMachine]) -> Vec<Datum> {
    let mut data = Vec::new();
    for machine in machines {
        let Some(stream) = &machine.stream else { continue };
        let hops = machine.hops();
        data.extend(machine.published.iter().map(|one| Datum {
            further_hops: f64::from(hops.eccentricity(one.socket)) - 1.0,
            period_ns: 1e9 / machine.core_hz.value.0,
            latency_ns: latency_of_triad_ns(stream, one.triad_mb_per_s),
            triad_mb_per_s: one.triad_mb_per_s,
        }));
    }
    data
}

/// The latency that makes this triad, which counts three lines a row, if nothing is lost.
fn latency_of_triad_ns(stream: &StreamDescription, mb_per_s: f64) -> f64 {
    let line_bytes = f64::from(stream.line_bytes.value);
    3.0 * line_bytes * 1e3 * stream.outstanding_lines.value / (stream.demand_lines_per_row.value * mb_per_s)
}

/// Parameters with the least relative squares: an error of a per cent counts the same on every socket.
fn parameters(form: &Form, data: &[Datum]) -> Option<Vec<f64>> {
    let row = |datum: &Datum| {
        (0..form.parameters.len()).map(|at| (form.column)(datum, at) / datum.latency_ns).collect()
    };
    let rows: Vec<Vec<f64>> = data.iter().map(row).collect();
    on_lines(&rows, &vec![1.0; data.len()])
}

fn latency_ns(form: &Form, parameters: &[f64], datum: &Datum) -> f64 {
    parameters.iter().enumerate().map(|(at, value)| (form.column)(datum, at) * value).sum()
}

/// The error of the triad, which goes with the inverse of the latency.
fn error(form: &Form, parameters: &[f64], datum: &Datum) -> f64 {
    error_percent(datum.latency_ns, latency_ns(form, parameters, datum))
}

fn form_fit(form: &Form, data: &[Datum]) -> Option<FormFit> {
    let found = parameters(form, data)?;
    let misses = Misses::of(data.iter().map(|datum| Some(error(form, &found, datum))))?;
    let left_out: Option<Vec<Option<f64>>> = (0..data.len())
        .map(|out| {
            let mut rest = data.to_vec();
            let datum = rest.remove(out);
            Some(Some(error(form, &parameters(form, &rest)?, &datum)))
        })
        .collect();
    Some(FormFit {
        name: form.name,
        formula: form.formula,
        is_ours: form.is_ours,
        parameters: form
            .parameters
            .iter()
            .zip(found)
            .map(|(name, value)| FittedParameter { name, value })
            .collect(),
        rms_percent: misses.rms_percent,
        max_percent: misses.max_percent,
        left_out_max_percent: left_out.and_then(Misses::of).map(|misses| misses.max_percent),
    })
}

fn transfer(from: &SocketMachine, to: &SocketMachine) -> Option<Transfer> {
    let form = FORMS.iter().find(|form| form.is_ours)?;
    let found = parameters(form, &data(std::slice::from_ref(from)))?;
    let data = data(std::slice::from_ref(to));
    let rows: Vec<TransferRow> = data
        .iter()
        .zip(&to.published)
        .map(|(datum, published)| TransferRow {
            socket: published.socket,
            triad_mb_per_s: datum.triad_mb_per_s * datum.latency_ns / latency_ns(form, &found, datum),
            published_mb_per_s: published.triad_mb_per_s,
        })
        .collect();
    let misses = Misses::of(data.iter().map(|datum| Some(error(form, &found, datum))))?;
    Some(Transfer { from: from.name.clone(), to: to.name.clone(), rows, max_percent: misses.max_percent })
}

/// The largest half spread of sockets with one eccentricity and clock.
fn scatter_percent(data: &[Datum]) -> f64 {
    let alike = |a: &Datum, b: &Datum| {
        a.further_hops.total_cmp(&b.further_hops).is_eq() && a.period_ns.total_cmp(&b.period_ns).is_eq()
    };
    let pairs = data.iter().flat_map(|a| data.iter().filter(move |b| alike(a, b)).map(move |b| (a, b)));
    let spread = |(a, b): (&Datum, &Datum)| {
        (a.triad_mb_per_s - b.triad_mb_per_s).abs() / (a.triad_mb_per_s + b.triad_mb_per_s) * 100.0
    };
    pairs.map(spread).fold(0.0, f64::max)
}
