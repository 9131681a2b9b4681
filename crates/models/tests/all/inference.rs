//! Links inferred from simulated latencies: every graph of four nodes under noise, and what tells nothing.

use models::interconnect::{
    Coherence, Explanation, Graph, Matrix, ReadTimes, Unit, Verdict, connected_graphs, infer,
};
use proptest::prelude::*;
use stats::Random;

/// Data take long enough that every link shows: no two graphs of four nodes predict the same entries.
const CLEAR: ReadTimes = ReadTimes { probe_ns: 40.0, dram_ns: 90.0, hop_ns: 16.5 };
/// Those of the X6440: nearly all reads wait for probes, and many graphs predict the same.
const PROBED: ReadTimes = ReadTimes { probe_ns: 67.0, dram_ns: 74.0, hop_ns: 16.5 };
/// Seeds per graph and noise.
const SEEDS: usize = 20;

fn noisy(
    times: ReadTimes,
    coherence: Coherence,
    graph: &Graph,
    sigma_ns: f64,
    random: &mut Random,
) -> Matrix {
    let hops = graph.hops().expect("connected");
    let exact = times.matrix_ns(&hops, coherence);
    let row = |row: &Vec<f64>| row.iter().map(|value| Some(value + sigma_ns * random.normal())).collect();
    matrix(&exact.iter().map(row).collect::<Vec<_>>())
}

fn matrix(rows: &[Vec<Option<f64>>]) -> Matrix {
    Matrix::of_rows(Unit::Nanoseconds, rows).expect("a matrix")
}

fn of(edges: &[[u32; 2]]) -> Vec<[usize; 2]> {
    edges.iter().map(|[from, to]| [*from as usize, *to as usize]).collect()
}

/// Shares, in per cent, of all graphs of four nodes.
struct Shares {
    exact: f64,
    among_alike: f64,
    wrongly_identified: f64,
}

fn shares(times: ReadTimes, sigma_ns: f64, standard_error: Option<f64>) -> Shares {
    let mut random = Random::new(38);
    let (mut exact, mut among, mut wrong, mut all) = (0_usize, 0_usize, 0_usize, 0_usize);
    for (graph, _) in connected_graphs(4) {
        for _ in 0..SEEDS {
            let mut matrix = noisy(times, Coherence::Broadcast, &graph, sigma_ns, &mut random);
            matrix.standard_error = standard_error;
            let found = infer(&matrix);
            let is_exact = of(&found.edges) == graph.links();
            all += 1;
            exact += usize::from(is_exact);
            among += usize::from(is_exact || found.alike.iter().any(|edges| of(edges) == graph.links()));
            wrong += usize::from(!is_exact && found.verdict == Verdict::Identified);
        }
    }
    let percent = |count: usize| count as f64 / all as f64 * 100.0;
    Shares { exact: percent(exact), among_alike: percent(among), wrongly_identified: percent(wrong) }
}

#[test]
fn every_graph_of_four_nodes_is_found_in_noise_where_links_show() {
    for (sigma_ns, least) in [(0.0, 100.0), (2.0, 99.0), (4.0, 95.0)] {
        let shares = shares(CLEAR, sigma_ns, None);
        assert!(shares.exact >= least, "{sigma_ns} ns: {} %", shares.exact);
        assert!(shares.wrongly_identified <= 1.0, "{sigma_ns} ns: {} %", shares.wrongly_identified);
    }
}

#[test]
fn where_probes_hide_links_the_graph_is_among_those_that_look_alike() {
    for (sigma_ns, least) in [(2.0, 99.0), (4.0, 93.0)] {
        let shares = shares(PROBED, sigma_ns, Some(sigma_ns));
        assert!(shares.among_alike >= least, "{sigma_ns} ns: {} %", shares.among_alike);
        assert!(shares.wrongly_identified <= 1.0, "{sigma_ns} ns: {} %", shares.wrongly_identified);
    }
}

#[test]
fn a_small_error_that_no_graph_meets_makes_none_certain() {
    // As if the model missed each entry by ten times what the measurement errs by.
    let shares = shares(PROBED, 4.0, Some(0.4));
    assert!(shares.wrongly_identified <= 1.0, "{} %", shares.wrongly_identified);
}

#[test]
fn noise_and_equal_distances_show_no_links() {
    let mut random = Random::new(6);
    let (mut guessed, tries) = (0, 300);
    for _ in 0..tries {
        let row = |random: &mut Random| (0..4).map(|_| Some(100.0 + 5.0 * random.normal())).collect();
        let rows: Vec<Vec<Option<f64>>> = (0..4).map(|_| row(&mut random)).collect();
        let found = infer(&matrix(&rows));
        assert_eq!(found.verdict, Verdict::NotIdentifiable, "{found:?}");
        guessed += usize::from(!found.edges.is_empty());
    }
    assert!(guessed * 20 <= tries, "{guessed} of {tries} show a guess");
    for count in [3, 4, 5, 8, 16] {
        let of = |row, column| if row == column { 10 } else { 20 };
        let rows: Vec<Vec<u32>> =
            (0..count).map(|row| (0..count).map(|column| of(row, column)).collect()).collect();
        let slit = Matrix::of_distances((0..count).collect(), &rows).expect("a matrix");
        let found = infer(&slit);
        assert_eq!((found.verdict, found.edges.len()), (Verdict::NotIdentifiable, 0), "{found:?}");
        assert!(found.reason.contains("equally far everywhere"), "{found:?}");
    }
}

#[test]
fn distances_that_differ_are_never_called_equal() {
    // A ring in which every node but the two beside is stated to be as far: two, three and four links have one distance.
    let distance = |from: usize, to: usize| match from.abs_diff(to) {
        0 => 10,
        1 | 7 => 16,
        _ => 20,
    };
    let rows: Vec<Vec<u32>> = (0..8).map(|from| (0..8).map(|to| distance(from, to)).collect()).collect();
    let found = infer(&Matrix::of_distances((0..8).collect(), &rows).expect("a matrix"));
    assert_eq!(found.verdict, Verdict::NotIdentifiable, "{found:?}");
    assert!(found.reason.starts_with("neither links nor groups explain the entries"), "{found:?}");
}

#[test]
fn distances_that_no_graph_meets_identify_none() {
    let rows = [[10, 16, 32, 33], [16, 10, 25, 32], [32, 25, 10, 16], [33, 32, 16, 10]].map(Vec::from);
    let found = infer(&Matrix::of_distances(vec![0, 1, 2, 3], &rows).expect("a matrix"));
    assert_eq!(found.verdict, Verdict::NotIdentifiable, "{found:?}");
    assert!(found.reason.contains("no noise"), "{found:?}");
}

#[test]
fn what_cannot_be_searched_is_an_error() {
    let said = |rows: &[Vec<Option<f64>>]| {
        let found = infer(&matrix(rows));
        assert_eq!((found.verdict, found.edges.len()), (Verdict::NotIdentifiable, 0), "{found:?}");
        found.reason
    };
    assert!(said(&[vec![Some(80.0)]]).contains("one node"));
    assert!(said(&[vec![Some(0.0), Some(0.0)], vec![Some(0.0), Some(0.0)]]).contains("no entry towards"));
    let (near, none) = (Some(80.0), None);
    let parts = [
        vec![near, near, none, none],
        vec![near, near, none, none],
        vec![none, none, near, near],
        vec![none, none, near, near],
    ];
    assert!(said(&parts).contains("no entry towards"));
}

#[test]
fn eight_nodes_on_a_ring_and_twelve_on_a_chain_are_found() {
    let linked = |nodes: usize, links: Vec<[usize; 2]>| Graph::of_links(nodes, &links).expect("a graph");
    let ring = linked(8, (0..8).map(|node| [node, (node + 1) % 8]).collect());
    let clear = infer(&noisy(CLEAR, Coherence::Broadcast, &ring, 2.0, &mut Random::new(8)));
    assert_eq!((clear.verdict, of(&clear.edges)), (Verdict::Identified, ring.links()), "{clear:?}");
    let chain = linked(12, (1..12).map(|node| [node - 1, node]).collect());
    let clear = infer(&noisy(CLEAR, Coherence::ProbeFilter, &chain, 2.0, &mut Random::new(8)));
    assert_eq!((clear.verdict, of(&clear.edges)), (Verdict::Identified, chain.links()), "{clear:?}");
}

#[test]
fn clusters_of_a_package_are_distinguished_from_links() {
    let cluster = |node: usize| [node / 4, node % 2, node / 2 % 2];
    let of = |row: usize, column: usize| {
        let ([package, x, y], [other, to_x, to_y]) = (cluster(row), cluster(column));
        if package == other {
            96.0 + 9.0 * x.abs_diff(to_x) as f64 + 15.0 * y.abs_diff(to_y) as f64
        } else {
            188.0
        }
    };
    let mut random = Random::new(4);
    let rows: Vec<Vec<Option<f64>>> =
        (0..8).map(|row| (0..8).map(|column| Some(of(row, column) + random.normal())).collect()).collect();
    let found = infer(&matrix(&rows));
    let Explanation::Mesh(mesh) = &found.explanation else { panic!("{found:?}") };
    assert_eq!((mesh.packages, mesh.columns, mesh.rows), (2, 2, 2));
    // Neighbours inside packages, and nothing that joins the packages.
    assert_eq!((found.verdict, found.edges.len()), (Verdict::NotIdentifiable, 8));
    assert!(found.eccentricities.is_empty() && found.reason.contains("inside 2 packages"), "{found:?}");
    assert!(found.max_percent < 3.0, "{found:?}");
}

/// Columns and rows, or rows and columns, and what a step costs, as METHODOLOGY has it.
#[test]
fn a_published_matrix_of_clusters_is_met_by_a_mesh() {
    let text = include_str!("../../../../tests/cli/matrices/spr-snc4.csv");
    let read = models::interconnect::read_matrix(text).expect("a matrix");
    let found = infer(&read.matrix);
    let Explanation::Mesh(mesh) = &found.explanation else { panic!("{found:?}") };
    assert_eq!((mesh.packages, mesh.columns, mesh.rows), (2, 2, 2));
    let mut steps = [mesh.column_step, mesh.row_step.expect("two rows")];
    steps.sort_by(f64::total_cmp);
    for (found, published) in
        [(mesh.base, 96.5), (steps[0], 8.7), (steps[1], 14.7), (mesh.remote.expect("two packages"), 187.6)]
    {
        assert!((found - published).abs() < 0.06, "{mesh:?}");
    }
    assert!(found.max_percent < 3.0, "{found:?}");
}

#[test]
fn no_graph_in_parts_is_identified() {
    let pairs = |nodes: usize, near: f64, far: f64| {
        let of = |row: usize, column: usize| match (row == column, row / 2 == column / 2) {
            (true, _) => Some(90.0),
            (_, true) => Some(near),
            _ => Some(far),
        };
        infer(&matrix(
            &(0..nodes).map(|row| (0..nodes).map(|column| of(row, column)).collect()).collect::<Vec<_>>(),
        ))
    };
    let rome = [[10, 16, 22, 22], [16, 10, 22, 22], [22, 22, 10, 16], [22, 22, 16, 10]].map(Vec::from);
    let rome = infer(&Matrix::of_distances(vec![0, 1, 2, 3], &rome).expect("a matrix"));
    for found in [pairs(4, 104.0, 189.0), pairs(8, 130.0, 180.0), rome] {
        assert_eq!(found.verdict, Verdict::NotIdentifiable, "{found:?}");
        assert!(found.reason.contains("packages"), "{found:?}");
    }
}

#[test]
fn two_nodes_identify_no_more_than_two_groups_of_cpus() {
    let nodes = matrix(&[vec![Some(80.0), Some(140.0)], vec![Some(140.0), Some(80.0)]]);
    let of = |row: usize, column: usize| {
        (row != column).then_some(if row / 4 == column / 4 { 80.0 } else { 140.0 })
    };
    let cpus: Vec<Vec<Option<f64>>> =
        (0..8).map(|row| (0..8).map(|column| of(row, column)).collect()).collect();
    let (nodes, cpus) = (infer(&nodes), infer(&matrix(&cpus).of_cpus()));
    assert_eq!((nodes.verdict, &nodes.edges), (cpus.verdict, &cpus.edges));
    assert_eq!(nodes.reason.replace("nodes", "groups"), cpus.reason);
    assert_eq!(nodes.explanation, Explanation::Flat { local: Some(80.0), remote: Some(140.0) });
}

#[test]
fn one_group_beside_a_single_cpu_is_not_two_groups() {
    let of = |row: usize, column: usize| {
        (row != column).then_some(if row == 5 || column == 5 { 120.0 } else { 50.0 })
    };
    let rows: Vec<Vec<Option<f64>>> =
        (0..16).map(|row| (0..16).map(|column| of(row, column)).collect()).collect();
    let found = infer(&matrix(&rows).of_cpus());
    assert_eq!((found.verdict, found.groups.len()), (Verdict::NotIdentifiable, 1));
    assert!(found.reason.contains("one group") && found.reason.ends_with("outside of it: 5"), "{found:?}");
}

proptest! {
    #[test]
    fn no_matrix_makes_it_panic(rows in (1_usize..6).prop_flat_map(|count| {
        let entry = prop_oneof![Just(None), Just(Some(0.0)), (0.01_f64..500.0).prop_map(Some), Just(Some(1e9))];
        proptest::collection::vec(proptest::collection::vec(entry, count), count)
    })) {
        for unit in [Unit::Nanoseconds, Unit::Distance] {
            let found = infer(&Matrix::of_rows(unit, &rows).expect("a matrix"));
            prop_assert!((0.0..=1.0).contains(&found.probability), "{found:?}");
            prop_assert!(found.verdict == Verdict::NotIdentifiable || !found.edges.is_empty(), "{found:?}");
        }
    }
}
