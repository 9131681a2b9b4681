//! Clusters on a die (sub-NUMA clusters, Intel SNC): a mesh whose columns and rows cost differently, fitted to a published matrix.
//!
//! ```text
//! own package     base + column_step |x - x'| + row_step |y - y'|
//! other package   remote
//! ```
//! The places of the clusters are the file's claim; a test holds them to what the published matrix chooses by itself.
//!
//! Left out: directions differ by a few ns in what was published, and from which cluster links to other packages leave.

use record::TomlError;
use serde::{Deserialize, Serialize};

use super::inference::Mesh;
use super::matrix::NODES_MAX;
use crate::machine_file::{MachineFile, MachineKind, Possible, Sourced, require, within};
use crate::published::{Misses, missed_percent};

/// More packages, columns or rows than this are typing errors.
const COUNT_MAX: usize = 8;
/// Latencies outside of this are typing errors.
const TIME_NS: std::ops::RangeInclusive<f64> = 0.1..=1e6;

/// Version of the document.
const SCHEMA: u32 = 1;

/// A matrix that somebody measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PublishedMatrix {
    /// Reads by each node (row) of memory at each node (column).
    pub latency_ns: Vec<Vec<f64>>,
    /// Who published it.
    pub source: String,
}

/// A machine of packages that are cut into clusters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ClusterMachine {
    /// What such files state.
    pub kind: String,
    /// Short name.
    pub name: String,
    /// For people.
    pub title: String,
    /// Packages; their nodes are numbered one package after the other.
    pub packages: usize,
    /// Column and row of each cluster of a package, in the order of its nodes.
    pub places: Sourced<Vec<[usize; 2]>>,
    /// A read of a cluster's own memory.
    pub base_ns: Sourced<f64>,
    /// One column further.
    pub column_step_ns: Sourced<f64>,
    /// One row further.
    pub row_step_ns: Sourced<f64>,
    /// A read of another package's memory.
    pub remote_ns: Sourced<f64>,
    /// Joined to predictions after they were made.
    #[serde(default)]
    pub published: Option<PublishedMatrix>,
}

/// A run of such a machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClusterSimulation {
    /// Version of the document.
    pub schema: u32,
    /// Short name.
    pub machine: String,
    /// For people.
    pub title: String,
    /// Place of each node: package, column, row.
    pub places: Vec<[usize; 3]>,
    /// What a step costs and what is added to: base, column, row, other package, in ns.
    pub base_ns: f64,
    /// One column further.
    pub column_step_ns: f64,
    /// One row further.
    pub row_step_ns: f64,
    /// Another package.
    pub remote_ns: f64,
    /// A row per pair of nodes.
    pub rows: Vec<ClusterRow>,
    /// Root mean square of the errors, in per cent of what was published.
    pub rms_percent: Option<f64>,
    /// The largest error.
    pub max_percent: Option<f64>,
    /// Numbers of the file: key, value, source.
    pub numbers: Vec<[String; 3]>,
}

/// One read.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClusterRow {
    /// The node of the core.
    pub reader: usize,
    /// The node of the memory.
    pub home: usize,
    /// As the model has it.
    pub latency_ns: f64,
    /// As others measured it.
    pub published_ns: Option<f64>,
    /// By how much the prediction misses that, in per cent of it.
    pub error_percent: Option<f64>,
}

impl MachineFile for ClusterMachine {
    const KIND: MachineKind = MachineKind::Clusters;

    fn read(text: &str) -> Result<Self, TomlError> {
        record::read_toml(text)
    }

    fn possible(&self) -> Possible {
        possible(self)
    }
}

fn possible(machine: &ClusterMachine) -> Possible {
    within("packages", machine.packages, 1..=COUNT_MAX)?;
    let places = &machine.places.value;
    let is_sane = |place: &[usize; 2]| place.iter().all(|at| *at < COUNT_MAX);
    let is_twice = |at: usize| places[..at].contains(&places[at]);
    let are_sane = !places.is_empty() && places.iter().all(is_sane) && !(0..places.len()).any(is_twice);
    require(are_sane, "places", || {
        format!("need a column and a row for each cluster, below {COUNT_MAX}, none twice")
    })?;
    require(machine.nodes() <= NODES_MAX, "places", || format!("make more than {NODES_MAX} nodes"))?;
    within("base_ns", machine.base_ns.value, TIME_NS)?;
    within("column_step_ns", machine.column_step_ns.value, TIME_NS)?;
    within("row_step_ns", machine.row_step_ns.value, TIME_NS)?;
    within("remote_ns", machine.remote_ns.value, TIME_NS)?;
    let Some(published) = &machine.published else { return Ok(()) };
    let rows = &published.latency_ns;
    let is_square = rows.len() == machine.nodes() && rows.iter().all(|row| row.len() == rows.len());
    let are_times = rows.iter().flatten().all(|value| TIME_NS.contains(value));
    require(is_square && are_times, "published", || {
        format!("need {0} rows of {0} latencies, in ns and more than 0", machine.nodes())
    })
}

impl ClusterMachine {
    fn nodes(&self) -> usize {
        self.packages * self.places.value.len()
    }

    fn mesh(&self) -> Mesh {
        let clusters = &self.places.value;
        let place = |node: usize| {
            let [column, row] = clusters[node % clusters.len()];
            [node / clusters.len(), column, row]
        };
        let most = |axis: usize| clusters.iter().map(|place| place[axis] + 1).max().unwrap_or(1);
        Mesh {
            packages: self.packages,
            columns: most(0),
            rows: most(1),
            places: (0..self.nodes()).map(place).collect(),
            base: self.base_ns.value,
            column_step: self.column_step_ns.value,
            row_step: Some(self.row_step_ns.value),
            remote: Some(self.remote_ns.value),
        }
    }
}

/// Runs a machine.
pub fn simulate_clusters(machine: &ClusterMachine) -> ClusterSimulation {
    let mesh = machine.mesh();
    let nodes = machine.nodes();
    let row = |(reader, home)| {
        let latency_ns = mesh.predicted(reader, home);
        let published_ns = machine.published.as_ref().map(|published| published.latency_ns[reader][home]);
        let error_percent = missed_percent(Some(latency_ns), published_ns);
        ClusterRow { reader, home, latency_ns, published_ns, error_percent }
    };
    let rows: Vec<ClusterRow> = (0..nodes * nodes).map(|entry| row((entry / nodes, entry % nodes))).collect();
    let misses = Misses::of(rows.iter().map(|row| row.error_percent));
    ClusterSimulation {
        schema: SCHEMA,
        machine: machine.name.clone(),
        title: machine.title.clone(),
        base_ns: mesh.base,
        column_step_ns: machine.column_step_ns.value,
        row_step_ns: machine.row_step_ns.value,
        remote_ns: machine.remote_ns.value,
        rms_percent: misses.map(|misses| misses.rms_percent),
        max_percent: misses.map(|misses| misses.max_percent),
        numbers: numbers(machine),
        places: mesh.places,
        rows,
    }
}

fn numbers(machine: &ClusterMachine) -> Vec<[String; 3]> {
    let places: Vec<String> =
        machine.places.value.iter().map(|[column, row]| format!("{column}/{row}")).collect();
    let nanoseconds =
        |key: &str, of: &Sourced<f64>| [key.to_owned(), format!("{} ns", of.value), of.source.clone()];
    vec![
        ["places".to_owned(), places.join(" "), machine.places.source.clone()],
        nanoseconds("base_ns", &machine.base_ns),
        nanoseconds("column_step_ns", &machine.column_step_ns),
        nanoseconds("row_step_ns", &machine.row_step_ns),
        nanoseconds("remote_ns", &machine.remote_ns),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interconnect::{Explanation, Matrix, Unit, infer};
    use crate::machine_file::tests::are_refused;

    fn sapphire_rapids() -> ClusterMachine {
        crate::known("spr-snc4").expect("it comes with sidestep")
    }

    #[test]
    fn the_file_holds_what_the_fit_finds_and_meets_the_published_matrix_within_3_percent() {
        let machine = sapphire_rapids();
        let simulation = simulate_clusters(&machine);
        assert!(simulation.max_percent.is_some_and(|error| error < 3.0), "{:?}", simulation.max_percent);
        let published = machine.published.as_ref().expect("a matrix was published");
        let rows: Vec<Vec<Option<f64>>> =
            published.latency_ns.iter().map(|row| row.iter().copied().map(Some).collect()).collect();
        let found = infer(&Matrix::of_rows(Unit::Nanoseconds, &rows).expect("a matrix"));
        let Explanation::Mesh(mesh) = found.explanation else { panic!("{found:?}") };
        // Mirrored and turned places have the same neighbours.
        assert_eq!(mesh.graph(), machine.mesh().graph());
        // Which axis is called a column is a matter of taste.
        let mut found = [mesh.column_step, mesh.row_step.expect("two rows")];
        found.sort_by(f64::total_cmp);
        let mut ours = [machine.column_step_ns.value, machine.row_step_ns.value];
        ours.sort_by(f64::total_cmp);
        for (found, ours) in found.iter().chain([&mesh.base]).zip(ours.iter().chain([&machine.base_ns.value]))
        {
            assert!((found - ours).abs() < 0.06, "{found} {ours}");
        }
        assert!(
            (mesh.remote.expect("two packages") - machine.remote_ns.value).abs() < 0.06,
            "{:?}",
            mesh.remote
        );
    }

    #[test]
    fn no_prediction_depends_on_what_was_published() {
        let mut machine = sapphire_rapids();
        let before: Vec<f64> = simulate_clusters(&machine).rows.iter().map(|row| row.latency_ns).collect();
        machine.published = None;
        let after = simulate_clusters(&machine);
        assert_eq!(before, after.rows.iter().map(|row| row.latency_ns).collect::<Vec<_>>());
        assert!(after.rms_percent.is_none());
    }

    #[test]
    fn what_cannot_be_is_named_with_its_key() {
        let changes = [
            ("packages = 2", "packages = 0", "packages"),
            ("[[0, 0]", "[[1, 0]", "places"),
            ("[[0, 0]", "[[99, 0]", "places"),
            ("packages = 2", "packages = 1", "published"),
            ("95.4", "-95.4", "published"),
            ("kind = \"clusters-on-die\"", "kind = \"x\"", "kind"),
        ];
        are_refused::<ClusterMachine>("spr-snc4", &changes);
    }
}
