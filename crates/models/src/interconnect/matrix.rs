//! A table of latencies or distances between nodes or CPUs, as it was measured or as firmware tells it.

use machine::Machine;
use serde::Serialize;

/// Links between more nodes than this are not searched for: it would take minutes.
pub const NODES_MAX: usize = 64;
/// Larger matrices are not read.
pub const MEMBERS_MAX: usize = 1024;

/// Less is no read of any memory, in whatever unit; a register is read in a tenth of a nanosecond. 0 is unknown.
const ENTRY_MIN: f64 = 0.01;
/// More is none either: a second in nanoseconds.
const ENTRY_MAX: f64 = 1e9;

/// ACPI 6.5, 5.2.17: no way between two nodes.
pub(super) const UNREACHABLE: u32 = 255;

/// Linux numbers its nodes below 1024 (`CONFIG_NODES_SHIFT` is at most 10), and its CPUs below 8192 (`CONFIG_NR_CPUS` on x86).
const NUMBER_MAX: u32 = 8191;

machine::named! {
    /// What an entry counts; its name stands behind a number, and is empty for distances.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum Unit {
        /// Measured, nanoseconds.
        Nanoseconds = "ns",
        /// Measured, cycles of some clock.
        Cycles = "cycles",
        /// Told by firmware, without a unit: ACPI SLIT, where 10 is local.
        Distance = "",
    }
}

impl Unit {
    /// Whether somebody measured it.
    pub fn is_measured(self) -> bool {
        self != Self::Distance
    }

    /// What rounding alone leaves of errors.
    pub(super) fn rounding(self) -> f64 {
        match self {
            Self::Nanoseconds => 0.1,
            Self::Cycles | Self::Distance => 0.5,
        }
    }
}

machine::named! {
    /// Whose latencies a matrix holds.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum Member {
        /// Reads of memory: node by node.
        Nodes = "node",
        /// Cache lines that go from CPU to CPU.
        Cpus = "CPU",
    }
}

/// Reads by each node (row) of memory at each node (column), or lines that go from CPU to CPU.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Matrix {
    /// Nodes or CPUs.
    pub members: Member,
    /// Their numbers, which may have gaps.
    pub nodes: Vec<u32>,
    /// What an entry counts.
    pub unit: Unit,
    /// Standard error of an entry, in its unit, if known; else it is taken from what no graph explains.
    pub standard_error: Option<f64>,
    /// Row by row; none where nothing is known. As many as the square of the nodes, each from `ENTRY_MIN` to `ENTRY_MAX`.
    entries: Vec<Option<f64>>,
}

/// Why a table cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MatrixError {
    /// No rows.
    #[error("holds no row of numbers")]
    Empty,
    /// As many columns as rows are needed.
    #[error("row {row} has {columns} values and there are {rows} rows; a matrix has as many columns as rows")]
    NotSquare {
        /// Counted from 1.
        row: usize,
        /// In it.
        columns: usize,
        /// In all.
        rows: usize,
    },
    /// An entry that no machine has.
    #[error(
        "row {row}, column {column} is {value:?}; a latency is from {ENTRY_MIN} to {ENTRY_MAX} (leave unknown ones empty)"
    )]
    Absurd {
        /// Counted from 1.
        row: usize,
        /// Counted from 1.
        column: usize,
        /// What stands there.
        value: f64,
    },
    /// Too many nodes or CPUs.
    #[error("has {0} rows; at most {MEMBERS_MAX} are read, so give a part of the machine")]
    TooLarge(usize),
    /// Numbers that no machine has.
    #[error(
        "has the number {0} twice or above {NUMBER_MAX}; number nodes or CPUs as the kernel does, each once"
    )]
    Numbered(u32),
    /// A machine without distances.
    #[error("it names no distances between its nodes; measure a matrix, or record node*/distance below sys")]
    NoDistances,
}

impl Matrix {
    /// A matrix of rows, nodes counted from 0; an entry of 0 is taken as not measured.
    ///
    /// # Errors
    /// No rows, ragged rows, entries that no machine has, too many nodes.
    pub fn of_rows(unit: Unit, rows: &[Vec<Option<f64>>]) -> Result<Self, MatrixError> {
        if rows.is_empty() {
            return Err(MatrixError::Empty);
        }
        if let Some((place, row)) = rows.iter().enumerate().find(|(_, row)| row.len() != rows.len()) {
            return Err(MatrixError::NotSquare { row: place + 1, columns: row.len(), rows: rows.len() });
        }
        if rows.len() > MEMBERS_MAX {
            return Err(MatrixError::TooLarge(rows.len()));
        }
        let mut entries = Vec::with_capacity(rows.len() * rows.len());
        for (row, values) in rows.iter().enumerate() {
            for (column, value) in values.iter().enumerate() {
                let is_known = |value: &f64| *value != 0.0;
                let is_sane = |value: &f64| (ENTRY_MIN..=ENTRY_MAX).contains(value);
                if let Some(value) = value.filter(|value| is_known(value) && !is_sane(value)) {
                    return Err(MatrixError::Absurd { row: row + 1, column: column + 1, value });
                }
                entries.push(value.filter(is_known));
            }
        }
        let nodes = (0..rows.len() as u32).collect();
        Ok(Self { members: Member::Nodes, nodes, unit, standard_error: None, entries })
    }

    /// The distances of a machine's nodes as ACPI SLIT tells them; 255 says that there is no way.
    ///
    /// # Errors
    /// As `of_rows`.
    pub fn of_distances(nodes: Vec<u32>, rows: &[Vec<u32>]) -> Result<Self, MatrixError> {
        let known = |distance: &u32| (*distance < UNREACHABLE).then(|| f64::from(*distance));
        let rows: Vec<Vec<Option<f64>>> = rows.iter().map(|row| row.iter().map(known).collect()).collect();
        Self::of_rows(Unit::Distance, &rows)?.numbered(nodes)
    }

    /// The same entries, of CPUs; what one exchanges with itself is no latency.
    #[must_use]
    pub fn of_cpus(mut self) -> Self {
        let count = self.count();
        (0..count).for_each(|cpu| self.entries[cpu * count + cpu] = None);
        Self { members: Member::Cpus, ..self }
    }

    /// The same matrix with other numbers of its nodes or CPUs, as many as there are.
    ///
    /// # Errors
    /// `Numbered`: one is there twice, or no kernel has it.
    pub fn numbered(self, nodes: Vec<u32>) -> Result<Self, MatrixError> {
        let is_wrong = |(place, node): &(usize, &u32)| **node > NUMBER_MAX || nodes[..*place].contains(node);
        match nodes.iter().enumerate().find(is_wrong) {
            Some((_, &node)) => Err(MatrixError::Numbered(node)),
            None => Ok(Self { nodes, ..self }),
        }
    }

    /// The distances (ACPI SLIT) of a machine's nodes.
    ///
    /// # Errors
    /// `NoDistances`, or as `of_rows`.
    pub fn of_machine(machine: &Machine) -> Result<Self, MatrixError> {
        let topology = &machine.topology;
        let columns = &topology.distance_nodes;
        // A node without a row tells nothing; a row that is too short does not say of whom it speaks.
        let complete = topology
            .nodes
            .iter()
            .filter(|node| columns.contains(&node.id) && node.distances.len() == columns.len());
        let rows: Vec<Vec<u32>> = complete.clone().map(|node| node.distances.clone()).collect();
        if rows.is_empty() || rows.len() != columns.len() {
            return Err(MatrixError::NoDistances);
        }
        Self::of_distances(complete.map(|node| node.id.0).collect(), &rows)
    }

    /// The same entries with another standard error.
    pub(super) fn with_error(&self, standard_error: Option<f64>) -> Self {
        Self { standard_error, ..self.clone() }
    }

    /// How many nodes or CPUs.
    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    /// An entry, if it is known.
    pub fn at(&self, row: usize, column: usize) -> Option<f64> {
        self.entries[row * self.count() + column]
    }

    /// Every entry that is known, with its row and column.
    pub fn known(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        let count = self.count();
        let place = move |index: usize| (index / count, index % count);
        self.entries.iter().enumerate().filter_map(move |(index, entry)| {
            let (row, column) = place(index);
            Some((row, column, (*entry)?))
        })
    }

    /// The mean of both directions, or the one that is known.
    pub fn between(&self, one: usize, other: usize) -> Option<f64> {
        match (self.at(one, other), self.at(other, one)) {
            (Some(there), Some(back)) => Some(f64::midpoint(there, back)),
            (there, back) => there.or(back),
        }
    }

    /// What a reader should know of a strange matrix, in words.
    pub fn remarks(&self) -> Vec<String> {
        /// From here on, directions differ by more than noise usually makes them.
        const ASYMMETRY_SHARE: f64 = 0.1;
        let mut remarks = Vec::new();
        // A CPU exchanges no lines with itself.
        let own = if self.members == Member::Cpus { self.count() } else { 0 };
        let entries = self.entries.len() - own;
        let missing = entries.saturating_sub(self.known().count());
        if missing > 0 {
            let what = if self.unit.is_measured() {
                "unknown or 0"
            } else {
                "255, which is no connection, or unknown"
            };
            remarks.push(format!("{missing} of {entries} entries are {what}, and left out"));
        }
        let apart = |one: usize, other: usize| {
            let (there, back) = (self.at(one, other)?, self.at(other, one)?);
            Some((one, other, there, back, (there - back).abs() / there.max(back)))
        };
        let pairs = super::graph::pairs(self.count()).filter_map(|(one, other)| apart(one, other));
        let pairs: Vec<_> = pairs.collect();
        let asymmetric = pairs.iter().filter(|pair| pair.4 > ASYMMETRY_SHARE).count();
        let worst = pairs.iter().max_by(|a, b| a.4.total_cmp(&b.4)).filter(|_| asymmetric > 0);
        if let Some(&(one, other, there, back, _)) = worst {
            let how_many = match asymmetric {
                1 => String::new(),
                many => format!(
                    "in {many} of {} pairs the directions differ by more than {:.0} %, most ",
                    pairs.len(),
                    ASYMMETRY_SHARE * 100.0
                ),
            };
            let (one, other) = (self.nodes[one], self.nodes[other]);
            remarks.push(format!(
                "asymmetric: {how_many}from {one} to {other} {}, back {}; links work both ways, so both count",
                shown(there),
                shown(back)
            ));
        }
        let slower = (0..self.count()).find_map(|node| {
            let local = self.at(node, node)?;
            let others = (0..self.count()).filter(|&other| other != node);
            others
                .filter_map(|other| self.at(node, other))
                .find(|&remote| remote < local * (1.0 - ASYMMETRY_SHARE))?;
            Some(self.nodes[node])
        });
        if let Some(node) = slower {
            remarks.push(format!("node {node} reaches another node's memory sooner than its own"));
        }
        remarks
    }
}

/// An entry in a sentence: files hold a dozen digits, of which nobody measured half.
fn shown(entry: f64) -> f64 {
    const TENTHS: f64 = 10.0;
    (entry * TENTHS).round() / TENTHS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(of: &[&[f64]]) -> Vec<Vec<Option<f64>>> {
        of.iter().map(|row| row.iter().copied().map(Some).collect()).collect()
    }

    #[test]
    fn what_is_no_matrix_is_an_error_with_its_place() {
        let message =
            |of: &[&[f64]]| Matrix::of_rows(Unit::Nanoseconds, &rows(of)).expect_err("none").to_string();
        assert!(message(&[]).contains("no row"));
        assert!(message(&[&[1.0, 2.0], &[1.0]]).contains("row 2 has 1 values"));
        assert!(message(&[&[1.0, -2.0], &[1.0, 1.0]]).contains("row 1, column 2 is -2"));
        for absurd in [f64::NAN, f64::INFINITY, 1e308, 1e-300] {
            assert!(message(&[&[1.0, absurd], &[1.0, 1.0]]).contains("row 1, column 2"), "{absurd}");
        }
        let large = vec![vec![Some(1.0); MEMBERS_MAX + 1]; MEMBERS_MAX + 1];
        assert_eq!(Matrix::of_rows(Unit::Cycles, &large), Err(MatrixError::TooLarge(MEMBERS_MAX + 1)));
        let numbered = |nodes: &[u32]| {
            let two = Matrix::of_rows(Unit::Cycles, &rows(&[&[1.0, 2.0], &[2.0, 1.0]])).expect("two nodes");
            two.numbered(nodes.to_vec()).map(|matrix| matrix.nodes)
        };
        assert_eq!(numbered(&[7, 3]), Ok(vec![7, 3]));
        for wrong in [[3, 3], [0, u32::MAX]] {
            assert_eq!(numbered(&wrong), Err(MatrixError::Numbered(wrong[1])));
        }
    }

    #[test]
    fn strange_matrices_are_remarked_upon() {
        let matrix = |of: &[&[f64]]| Matrix::of_rows(Unit::Nanoseconds, &rows(of)).expect("a matrix");
        assert!(matrix(&[&[80.0, 130.0], &[131.0, 81.0]]).remarks().is_empty());
        let said = matrix(&[&[80.0, 130.04], &[90.0, 0.0]]).remarks();
        assert!(said[0].contains("1 of 4") && said[1].contains("from 0 to 1 130, back 90"), "{said:?}");
        assert!(matrix(&[&[80.0, 60.0], &[60.0, 80.0]]).remarks()[0].contains("sooner than its own"));
        let said = matrix(&[&[80.0, 60.0, 61.0], &[80.0, 80.0, 60.0], &[80.0, 61.0, 80.0]]).remarks();
        assert!(
            said[0].contains("in 2 of 3 pairs") && said[0].contains("from 0 to 1 60, back 80"),
            "{said:?}"
        );
    }
}
