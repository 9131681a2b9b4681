//! Which parameters meet the published numbers, which of them the numbers identify, and what the model says of a number
//! that it was not shown.
//!
//! Weighted least squares of the logarithm of predicted over published, each in units of the tolerance that the file
//! gives it. Counts do not depend on the parameters, so each trace runs once.

use std::collections::HashMap;

use machine::Bytes;

use models::error_percent;
use models::memory::{
    Board, Costs, Counters, Geometry, MemoryMachine, Parameters, Program, RUN_LINES_MAX, Test, Workaround,
    trace, value,
};

use super::least_squares::{Weighed, least_squares, weigh};

/// One published number, and how near the model shall come.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Datum {
    /// The test.
    pub(crate) test: Test,
    /// Without or with the workaround.
    pub(crate) workaround: Workaround,
    /// The number.
    pub(crate) published: f64,
    /// One unit of error.
    pub(crate) tolerance_percent: f64,
    /// The number that shows what a fit without it is worth.
    pub(crate) hold_out: bool,
}

/// A prediction beside its published number.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Residual {
    /// The test.
    pub(crate) name: String,
    /// Without or with the workaround.
    pub(crate) workaround: Workaround,
    /// By the model.
    pub(crate) predicted: f64,
    /// By others.
    pub(crate) published: f64,
    /// Of the published number.
    pub(crate) error_percent: f64,
    /// One unit of error.
    pub(crate) tolerance_percent: f64,
}

/// What a fit found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fit {
    /// The parameters.
    pub(crate) parameters: Parameters,
    /// How near each number is.
    pub(crate) residuals: Vec<Residual>,
    /// Sum of squared errors in units of tolerance.
    pub(crate) squares: f64,
}

impl Fit {
    /// The largest error in units of its tolerance.
    pub(crate) fn worst(&self) -> f64 {
        let units = self.residuals.iter().map(|one| (one.error_percent / one.tolerance_percent).abs());
        units.fold(0.0, f64::max)
    }
}

/// One free parameter: what it is, and how well the numbers tell it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Identified {
    /// Its name in the machine file.
    pub(crate) parameter: String,
    /// Fitted.
    pub(crate) value: f64,
    /// By how many per cent it may move while all errors together grow by one unit; none if nothing holds it.
    pub(crate) uncertainty_percent: Option<f64>,
}

/// How well the published numbers tell the parameters.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Identification {
    /// Published numbers.
    pub(crate) numbers: usize,
    /// Those that are fitted.
    pub(crate) fitted: Vec<Identified>,
    /// Rank of the sensitivities of all numbers to the fitted parameters.
    pub(crate) rank: usize,
    /// Rank when the number of outstanding lines is free as well.
    pub(crate) rank_with_outstanding_lines: usize,
    /// Best fit for each number of outstanding lines: startup lines and sum of squares.
    pub(crate) outstanding_lines: Vec<OutstandingProfile>,
}

/// The best fit with a given number of outstanding lines.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct OutstandingProfile {
    /// Given.
    pub(crate) outstanding_lines: f64,
    /// Fitted to it.
    pub(crate) startup_lines: f64,
    /// Sum of squared errors in units of tolerance.
    pub(crate) squares: f64,
}

/// The published numbers that take part in a fit.
pub(crate) fn data(machine: &MemoryMachine) -> Vec<Datum> {
    let mut data = Vec::new();
    for one in &machine.published {
        let test = machine.test.iter().find(|test| test.name == one.test);
        let (Some(test), Some(tolerance_percent)) = (test, one.tolerance_percent) else { continue };
        for (workaround, number) in [(Workaround::Off, one.off), (Workaround::On, one.on)] {
            if let Some(published) = number {
                let hold_out = one.hold_out_on && workaround == Workaround::On;
                data.push(Datum { test: test.clone(), workaround, published, tolerance_percent, hold_out });
            }
        }
    }
    data
}

/// Traces that were run, so that none runs twice.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    known: HashMap<(Geometry, Program, Bytes, Bytes), Counters>,
}

impl Traces {
    fn of(&mut self, geometry: Geometry, test: &Test) -> &Counters {
        let key = (geometry, test.program, test.block_bytes, test.stride_bytes.value);
        self.known.entry(key).or_insert_with_key(|(geometry, program, block_bytes, stride_bytes)| {
            trace(geometry, *program, *block_bytes, *stride_bytes)
        })
    }
}

/// A datum with its counts: what is left is arithmetic.
struct Counted<'a> {
    datum: &'a Datum,
    counters: Counters,
}

/// The numbers of a machine as functions of its parameters.
struct Problem<'a> {
    machine: &'a MemoryMachine,
    counted: Vec<Counted<'a>>,
}

impl<'a> Problem<'a> {
    fn new(machine: &'a MemoryMachine, data: &'a [Datum], traces: &mut Traces) -> Self {
        let counted = data.iter().map(|datum| {
            let board = board(machine, datum);
            let counters = traces.of(machine.geometry(board, datum.workaround), &datum.test).clone();
            Counted { datum, counters }
        });
        Self { machine, counted: counted.collect() }
    }

    fn predicted(&self, parameters: &Parameters) -> Vec<f64> {
        let one = |counted: &Counted<'_>| {
            let costs = Costs::new(self.machine, board(self.machine, counted.datum), parameters);
            let time = costs.time(&counted.counters, counted.datum.test.program.waits());
            value(&counted.datum.test, &time)
        };
        self.counted.iter().map(one).collect()
    }

    /// Errors in units of tolerance.
    fn errors(&self, parameters: &Parameters) -> Vec<f64> {
        let predicted = self.predicted(parameters);
        let unit = |counted: &Counted<'_>| (1.0 + counted.datum.tolerance_percent / 100.0).ln();
        let pairs = predicted.iter().zip(&self.counted);
        pairs.map(|(value, counted)| (value / counted.datum.published).ln() / unit(counted)).collect()
    }

    fn fit_with_startup(&self, start: Parameters) -> Fit {
        let at = |logarithms: &[f64]| Parameters {
            dram_ns: logarithms[0].exp(),
            uncached_read_ns: logarithms[1].exp(),
            walk_core_cycles: logarithms[2].exp(),
            ..start
        };
        let first = [start.dram_ns, start.uncached_read_ns, start.walk_core_cycles.max(1.0)].map(f64::ln);
        let found = least_squares(&first, |logarithms| self.errors(&at(logarithms)));
        self.judged(at(&found))
    }

    fn judged(&self, parameters: Parameters) -> Fit {
        let squares = self.errors(&parameters).iter().map(|error| error * error).sum();
        let pairs = self.predicted(&parameters).into_iter().zip(&self.counted);
        let residuals = pairs.map(|(predicted, counted)| residual(counted.datum, predicted)).collect();
        Fit { parameters, residuals, squares }
    }

    /// The best parameters; lines at the start of a stream are whole, so each number of them is tried.
    fn fit(&self, start: Parameters) -> Fit {
        let fits = (1..RUN_LINES_MAX)
            .map(|lines| self.fit_with_startup(Parameters { startup_lines: lines as f64, ..start }));
        fits.reduce(|best, fit| if fit.squares < best.squares { fit } else { best })
            .expect("there is at least one number of lines")
    }

    fn identification(&self, fit: &Fit) -> Identification {
        let best = fit.parameters;
        let at = |logarithms: &[f64]| {
            let mut parameters = best;
            let places = [
                &mut parameters.dram_ns,
                &mut parameters.uncached_read_ns,
                &mut parameters.walk_core_cycles,
                &mut parameters.startup_lines,
                &mut parameters.outstanding_lines,
            ];
            for (place, logarithm) in places.into_iter().zip(logarithms) {
                *place = logarithm.exp();
            }
            self.errors(&parameters)
        };
        let all = [
            best.dram_ns,
            best.uncached_read_ns,
            best.walk_core_cycles,
            best.startup_lines,
            best.outstanding_lines,
        ];
        let names = ["dram_ns", "uncached_read_ns", "walk_core_cycles", "startup_lines"];
        let logarithms = all.map(f64::ln);
        let free = names.len();
        let shown = weigh(&logarithms[..free], at);
        let with_outstanding = weigh(&logarithms, at);
        let Weighed { rank, deviations } = shown;
        let fitted = names.iter().zip(all).zip(deviations).map(|((name, value), deviation)| Identified {
            parameter: (*name).to_owned(),
            value,
            uncertainty_percent: deviation.map(|deviation| deviation.exp_m1() * 100.0),
        });
        let profile = (4..=8_u32).map(|lines| {
            let fit = self.fit(Parameters { outstanding_lines: f64::from(lines), ..best });
            OutstandingProfile {
                outstanding_lines: f64::from(lines),
                startup_lines: fit.parameters.startup_lines,
                squares: fit.squares,
            }
        });
        Identification {
            numbers: self.counted.len(),
            fitted: fitted.collect(),
            rank,
            rank_with_outstanding_lines: with_outstanding.rank,
            outstanding_lines: profile.collect(),
        }
    }
}

fn board<'m>(machine: &'m MemoryMachine, datum: &Datum) -> &'m Board {
    machine.board(datum.test.board(datum.workaround)).expect("the parser holds tests to boards of the file")
}

fn residual(datum: &Datum, predicted: f64) -> Residual {
    Residual {
        name: datum.test.name.clone(),
        workaround: datum.workaround,
        predicted,
        published: datum.published,
        error_percent: error_percent(predicted, datum.published),
        tolerance_percent: datum.tolerance_percent,
    }
}

/// Fits a machine to its published numbers; `None` without any.
pub(crate) fn fit(machine: &MemoryMachine, data: &[Datum], traces: &mut Traces) -> Option<Fit> {
    if data.is_empty() {
        return None;
    }
    Some(Problem::new(machine, data, traces).fit(Parameters::of(machine)))
}

/// How well the numbers tell the parameters of a fit.
pub(crate) fn identify(
    machine: &MemoryMachine,
    data: &[Datum],
    fit: &Fit,
    traces: &mut Traces,
) -> Identification {
    Problem::new(machine, data, traces).identification(fit)
}

/// Leaves each number out in turn, fits the others, and predicts it.
pub(crate) fn hold_out(machine: &MemoryMachine, data: &[Datum], traces: &mut Traces) -> Vec<Residual> {
    (0..data.len())
        .filter_map(|index| without(machine, data, index, traces).map(|(_, shown)| shown))
        .collect()
}

/// The fit without one number, and that number by it.
pub(crate) fn without(
    machine: &MemoryMachine,
    data: &[Datum],
    left_out: usize,
    traces: &mut Traces,
) -> Option<(Fit, Residual)> {
    let mut others = data.to_vec();
    let alone = [others.remove(left_out)];
    let fit = fit(machine, &others, traces)?;
    let predicted = Problem::new(machine, &alone, traces).predicted(&fit.parameters);
    let shown = residual(&alone[0], predicted[0]);
    Some((fit, shown))
}
