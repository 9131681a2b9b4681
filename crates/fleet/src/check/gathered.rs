//! The runs of a fleet as far as a check needs them: of each node the latest check-up, and the repeats of earlier suspects.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;
use std::io::{self, BufRead, Read};

use record::{MetricRow, NodeRow, StateKind, StateRow};
use serde::de::DeserializeOwned;

use crate::rows::{CHECK_UP, Flattened, key, worse_log};

/// What the experiments of `fleet confirm` begin with.
const REPEAT: &str = "confirm-";
/// What the pairs of CPUs whose clocks were compared are called; of a node they are one state together.
const PAIR: &str = "pair/";
const PAIRS: &str = "counters";
/// Of several values of one state the worst counts.
const WORST_FIRST: [&str; 4] = ["moves", "offset", "unknown", "agrees"];
/// Between the workaround of a flaw and its protection.
const AND: &str = ", ";

/// Each of what occurs often, once, with a number for it.
#[derive(Debug)]
pub(super) struct Interned<T> {
    numbers: HashMap<T, u32>,
    all: Vec<T>,
}

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Self { numbers: HashMap::new(), all: Vec::new() }
    }
}

impl<T: Hash + Eq + Clone> Interned<T> {
    pub(super) fn number(&mut self, one: T) -> u32 {
        let next = self.all.len() as u32;
        *self.numbers.entry(one).or_insert_with_key(|one| {
            self.all.push(one.clone());
            next
        })
    }

    pub(super) fn of(&self, number: u32) -> &T {
        &self.all[number as usize]
    }
}

/// What a number is: the numbers of its key and its family, and its socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Heading {
    pub(super) key: u32,
    pub(super) family: u32,
    pub(super) socket: Option<i64>,
}

/// A state of a node: its id and its value by their numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct State {
    pub(super) kind: StateKind,
    pub(super) id: u32,
    pub(super) value: u32,
    pub(super) rate_ppb: Option<f64>,
    rank: usize,
}

/// A run that counts.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub(super) row: NodeRow,
    pub(super) states: Vec<State>,
    /// Numbers of headings, and logarithms of which more is worse.
    pub(super) values: Vec<(u32, f64)>,
}

/// The check-ups of one node.
#[derive(Debug, Default)]
pub(super) struct CheckUps {
    /// The index of the latest.
    pub(super) latest: usize,
    pub(super) count: usize,
    pub(super) serials: BTreeSet<String>,
}

/// The runs of a fleet.
#[derive(Debug, Default)]
pub struct Gathered {
    pub(super) runs: Vec<Run>,
    /// By the name of the node.
    pub(super) check_ups: BTreeMap<String, CheckUps>,
    /// Indices of runs that repeat a suspect beside healthy nodes.
    pub(super) repeats: Vec<usize>,
    /// All names of nodes.
    pub(super) names: BTreeSet<String>,
    pub(super) words: Interned<String>,
    pub(super) headings: Interned<Heading>,
}

impl Gathered {
    /// Adds what one record says.
    pub fn add(&mut self, rows: Flattened) {
        let Some(run) = self.add_run(rows.node) else { return };
        for state in &rows.states {
            self.add_state(run, state);
        }
        for number in &rows.metrics {
            self.add_number(run, number);
        }
    }

    /// Adds rows as `fleet rows` writes them. Lines that are none are passed over.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn add_rows(
        &mut self,
        nodes: impl BufRead,
        states: impl BufRead,
        metrics: impl BufRead,
    ) -> io::Result<()> {
        each_row(nodes, |row| _ = self.add_run(row))?;
        // A check-up that a later one replaced has no name any more.
        let named = self.runs.iter().enumerate().filter(|(_, run)| !run.row.run_id.is_empty());
        let runs: HashMap<String, usize> =
            named.map(|(index, run)| (run.row.run_id.clone(), index)).collect();
        each_row(states, |row: StateRow| {
            if let Some(run) = runs.get(&row.run_id) {
                self.add_state(*run, &row);
            }
        })?;
        each_row(metrics, |row: MetricRow| {
            if let Some(run) = runs.get(&row.run_id) {
                self.add_number(*run, &row);
            }
        })
    }

    /// The index of a run that counts so far.
    fn add_run(&mut self, row: NodeRow) -> Option<usize> {
        self.names.insert(row.node.clone());
        let index = self.runs.len();
        if row.run.experiment.starts_with(REPEAT) {
            self.repeats.push(index);
        } else if row.run.experiment == CHECK_UP {
            let check_ups = self.check_ups.entry(row.node.clone()).or_default();
            check_ups.count += 1;
            check_ups.serials.extend(row.serials_hash.clone());
            if check_ups.count > 1 {
                let latest = &mut self.runs[check_ups.latest];
                if (&row.run.started_utc, &row.run_id) <= (&latest.row.run.started_utc, &latest.row.run_id) {
                    return None;
                }
                *latest = Run::default();
            }
            check_ups.latest = index;
        } else {
            return None;
        }
        self.runs.push(Run { row, ..Run::default() });
        Some(index)
    }

    fn add_state(&mut self, run: usize, row: &StateRow) {
        let of_flaw = || [&row.workaround, &row.protected].map(|word| word.as_deref()).into_iter().flatten();
        let value = row.value.clone().unwrap_or_else(|| of_flaw().collect::<Vec<_>>().join(AND));
        if value.is_empty() {
            return;
        }
        let id = if row.id.starts_with(PAIR) { PAIRS } else { &row.id };
        let rank = WORST_FIRST.iter().position(|word| *word == value).unwrap_or(WORST_FIRST.len());
        let id = self.words.number(id.to_owned());
        let state =
            State { kind: row.kind, id, value: self.words.number(value), rate_ppb: row.rate_ppb, rank };
        let states = &mut self.runs[run].states;
        let Some(known) = states.iter_mut().find(|known| (known.kind, known.id) == (state.kind, state.id))
        else {
            states.push(state);
            return;
        };
        let size = |rate: Option<f64>| rate.map_or(-1.0, f64::abs);
        if size(state.rate_ppb) > size(known.rate_ppb) {
            known.rate_ppb = state.rate_ppb;
        }
        if state.rank < known.rank {
            (known.rank, known.value) = (state.rank, state.value);
        }
    }

    fn add_number(&mut self, run: usize, row: &MetricRow) {
        let Some(log) = worse_log(row) else { return };
        let (key, family) = (self.words.number(key(row)), self.words.number(row.family.clone()));
        let heading = self.headings.number(Heading { key, family, socket: row.socket });
        self.runs[run].values.push((heading, log));
    }
}

/// A row has some hundred bytes; a doubt in it, or the name of a file, some thousand.
const ROW_BYTES_MAX: u64 = 1 << 20;

fn each_row<T: DeserializeOwned>(mut input: impl BufRead, mut take: impl FnMut(T)) -> io::Result<()> {
    let mut line = Vec::new();
    while (&mut input).take(ROW_BYTES_MAX).read_until(b'\n', &mut line)? > 0 {
        if line.len() as u64 == ROW_BYTES_MAX && !line.ends_with(b"\n") {
            let why = format!("a line is longer than any row, {}", machine::Bytes(ROW_BYTES_MAX));
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        serde_json::from_slice(&line).into_iter().for_each(&mut take);
        line.clear();
    }
    Ok(())
}
