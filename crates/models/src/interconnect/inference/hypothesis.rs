//! How well one graph explains a matrix: by probes and data, or by a level of latency for each number of hops.

use super::super::graph::Hops;
use super::super::matrix::Matrix;

/// Further hops cost at least this share of the first: a link is a link. Leaving the node costs once, hence no more.
const FURTHER_HOP_SHARE: f64 = 0.25;

/// In which way a graph explains the entries.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reading {
    /// Broadcast snoops: the slower of probes and data.
    Snoops {
        /// Without links; none if no entry waits for probes.
        probe: Option<f64>,
        /// Without links; none if no entry waits for data.
        dram: Option<f64>,
        /// One link one way.
        hop: f64,
    },
    /// A latency for each number of hops.
    Levels(Vec<f64>),
}

/// A graph's best reading of a matrix.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Explained {
    pub(super) reading: Reading,
    /// Sum of squared residuals.
    pub(super) squares: f64,
    /// Logarithm of the evidence, up to a constant of the matrix.
    pub(super) evidence: f64,
}

/// The known entries of a matrix, and what rounding leaves of errors.
pub(super) struct Entries {
    pub(super) values: Vec<(usize, usize, f64)>,
    /// Squares that rounding alone leaves.
    least_squares: f64,
    is_measured: bool,
    standard_error: Option<f64>,
}

/// The likelihood of errors of known or unknown size, and Schwarz's price for so many parameters.
pub(super) fn evidence(entries: &Entries, squares: f64, parameters: usize) -> f64 {
    let count = entries.values.len() as f64;
    let likelihood = match entries.standard_error {
        Some(error) => -0.5 * squares / (error * error),
        None => -0.5 * count * squares.max(entries.least_squares).ln(),
    };
    likelihood - 0.5 * parameters as f64 * count.ln()
}

impl Entries {
    pub(super) fn of(matrix: &Matrix) -> Self {
        let values: Vec<_> = matrix.known().collect();
        let least_squares = values.len() as f64 * matrix.unit.rounding().powi(2);
        let standard_error = matrix.standard_error.map(|error| error.max(matrix.unit.rounding()));
        Self { values, least_squares, is_measured: matrix.unit.is_measured(), standard_error }
    }

    /// Squared deviations from the mean of the entries for which `belongs` holds.
    pub(super) fn squares_about_mean(&self, belongs: impl Fn(usize, usize) -> bool) -> f64 {
        let mut line = Line::default();
        for &(row, column, value) in self.values.iter().filter(|(row, column, _)| belongs(*row, *column)) {
            line.add(f64::from(u8::from(row == column)), value);
        }
        line.yy()
    }
}

/// Sums for a straight line, gathered in one pass.
#[derive(Debug, Clone, Copy, Default)]
struct Line {
    count: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Line {
    fn add(&mut self, x: f64, y: f64) {
        self.count += 1.0;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.xy += x * y;
        self.yy += y * y;
    }

    /// About the means.
    fn xx(&self) -> f64 {
        if self.count > 0.0 { self.xx - self.x * self.x / self.count } else { 0.0 }
    }

    fn xy(&self) -> f64 {
        if self.count > 0.0 { self.xy - self.x * self.y / self.count } else { 0.0 }
    }

    fn yy(&self) -> f64 {
        if self.count > 0.0 { (self.yy - self.y * self.y / self.count).max(0.0) } else { 0.0 }
    }

    /// Where a line of this slope crosses zero; none without points.
    fn start(&self, slope: f64) -> Option<f64> {
        (self.count > 0.0).then(|| (self.y - slope * self.x) / self.count)
    }
}

/// The better of both readings; none if neither can be.
pub(super) fn explain(entries: &Entries, hops: &Hops) -> Option<Explained> {
    let levels = by_levels(entries, hops);
    let snoops = if entries.is_measured { by_snoops(entries, hops) } else { None };
    match (snoops, levels) {
        (Some(snoops), Some(levels)) if levels.evidence > snoops.evidence => Some(levels),
        (snoops, levels) => snoops.or(levels),
    }
}

/// A latency for each number of hops, rising.
fn by_levels(entries: &Entries, hops: &Hops) -> Option<Explained> {
    let mut lines = vec![Line::default(); hops.diameter() as usize + 1];
    for &(row, column, value) in &entries.values {
        lines[hops.between(row, column) as usize].add(0.0, value);
    }
    // Local entries may be unknown; the others tell the links.
    let levels: Vec<f64> = lines.iter().filter_map(|line| line.start(0.0)).collect();
    let steps: Vec<f64> = levels.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let least = steps.first().map_or(0.0, |first| first * FURTHER_HOP_SHARE);
    if steps.iter().any(|step| *step <= 0.0 || *step < least) {
        return None;
    }
    let squares = lines.iter().map(Line::yy).sum();
    let evidence = evidence(entries, squares, levels.len());
    Some(Explained { reading: Reading::Levels(levels), squares, evidence })
}

/// Parameters of the model: time of probes, time of data, one link; all three count whether or not they show.
const SNOOP_PARAMETERS: usize = 3;

/// The slower of probes and data, with the least squares.
///
/// Which of both an entry waits for depends on `(D - P) / t` alone, and that only by whole numbers: each possible split of
/// the entries is a pair of straight lines with one slope, and between two splits lies one line.
fn by_snoops(entries: &Entries, hops: &Hops) -> Option<Explained> {
    let paths: Vec<Path> =
        entries.values.iter().map(|&(row, column, value)| Path::of(hops, row, column, value)).collect();
    let mut margins: Vec<i64> = paths.iter().map(Path::margin).collect();
    margins.sort_unstable();
    margins.dedup();
    let before_all = margins.first().map_or(0, |first| first - 1);
    let splits = [before_all].into_iter().chain(margins);
    let candidates = splits.flat_map(|split| [apart(&paths, split), joined(&paths, split)]).flatten();
    let of = |candidate: &Candidate| (candidate.squares(&paths), *candidate);
    let (squares, best) = candidates.map(|candidate| of(&candidate)).min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(Explained {
        reading: Reading::Snoops { probe: best.probe, dram: best.dram, hop: best.hop },
        squares,
        evidence: evidence(entries, squares, SNOOP_PARAMETERS),
    })
}

/// Links on both ways that an entry may wait for.
struct Path {
    probe: f64,
    data: f64,
    value: f64,
}

impl Path {
    fn of(hops: &Hops, row: usize, column: usize, value: f64) -> Self {
        let data = f64::from(2 * hops.between(row, column));
        Self { probe: f64::from(hops.probe_path(row, column)), data, value }
    }

    /// It waits for data if `(D - P) / t` is at least this.
    fn margin(&self) -> i64 {
        (self.probe - self.data) as i64
    }
}

#[derive(Debug, Clone, Copy)]
struct Candidate {
    probe: Option<f64>,
    dram: Option<f64>,
    hop: f64,
}

impl Candidate {
    fn possible(self) -> Option<Self> {
        let is_time = |start: Option<f64>| start.is_none_or(|start| start >= 0.0);
        (self.hop > 0.0 && self.hop.is_finite() && is_time(self.probe) && is_time(self.dram)).then_some(self)
    }

    fn squares(&self, paths: &[Path]) -> f64 {
        let residual = |path: &Path| {
            let probe = self.probe.map_or(f64::MIN, |start| start + self.hop * path.probe);
            let data = self.dram.map_or(f64::MIN, |start| start + self.hop * path.data);
            (path.value - probe.max(data)).powi(2)
        };
        paths.iter().map(residual).sum()
    }
}

/// Entries with a margin up to `split` wait for data, the others for probes.
fn apart(paths: &[Path], split: i64) -> Option<Candidate> {
    let (mut probes, mut data) = (Line::default(), Line::default());
    for path in paths {
        if path.margin() <= split {
            data.add(path.data, path.value);
        } else {
            probes.add(path.probe, path.value);
        }
    }
    let spread = probes.xx() + data.xx();
    // All of one length: no slope shows, and the entries are flat but for the step between both.
    let hop =
        if spread > 0.5 { (probes.xy() + data.xy()) / spread } else { return flat(probes, data, split) };
    Candidate { probe: probes.start(hop), dram: data.start(hop), hop }.possible()
}

/// Two lines without slope: any hop that keeps the split will do; the middle of what the split allows is as good as any.
fn flat(probes: Line, data: Line, split: i64) -> Option<Candidate> {
    let (probe_at, data_at) = (probes.start(0.0)?, data.start(0.0)?);
    let (probe_links, data_links) = (probes.x / probes.count, data.x / data.count);
    // (D - P) / t = split + 1/2, with P = probe_at - t probe_links and D = data_at - t data_links.
    let hop = (data_at - probe_at) / (split as f64 + 0.5 + data_links - probe_links);
    Candidate { probe: Some(probe_at - hop * probe_links), dram: Some(data_at - hop * data_links), hop }
        .possible()
}

/// Data takes as long as probes do over `split` links: one line through all.
fn joined(paths: &[Path], split: i64) -> Option<Candidate> {
    let mut line = Line::default();
    for path in paths {
        line.add(path.probe.max(path.data + split as f64), path.value);
    }
    if line.xx() < 0.5 {
        return None;
    }
    let hop = line.xy() / line.xx();
    let probe = line.start(hop)?;
    Candidate { probe: Some(probe), dram: Some(probe + split as f64 * hop), hop }.possible()
}
