//! `cargo evidence links`: which graphs the inference finds in noise, and which groups among a thousand CPUs.

use std::time::Instant;

use models::interconnect::{
    Coherence, Graph, MEMBERS_MAX, Matrix, ReadTimes, Unit, Verdict, connected_graphs, infer,
};
use stats::Random;

use crate::table::{head, percent};
use crate::{Broken, unless};

/// Links inferred from simulated matrices: shares that are exact, listed, wrong
///
/// Prints a Markdown table. Fails if less than 99 % (2 ns) or 95 % (4 ns) of the 38 graphs of four nodes are found where links show, if
/// a graph is identified and wrong, or if the levels of 1,024 CPUs in groups are not those that were put in.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Simulated matrices per graph
    #[arg(long, default_value_t = 20)]
    seeds: usize,
}

/// P, D and t: links show; and those of the X6440, where nearly all reads wait for probes.
const TIMES: [(&str, ReadTimes); 2] = [
    ("40, 90, 16.5", ReadTimes { probe_ns: 40.0, dram_ns: 90.0, hop_ns: 16.5 }),
    ("67, 74, 16.5", ReadTimes { probe_ns: 67.0, dram_ns: 74.0, hop_ns: 16.5 }),
];
/// Noise in ns, and the share of exact graphs that is promised where links show.
const NOISE: [(f64, f64); 2] = [(2.0, 0.99), (4.0, 0.95)];
/// The seed of all simulated noise.
const SEED: u64 = 38;
/// Groups of CPUs: how many parts each level has, outermost first, and the latency between them in ns.
const CPU_LEVELS: [(usize, f64); 5] = [(4, 250.0), (4, 120.0), (4, 70.0), (8, 30.0), (2, 8.0)];

pub(crate) fn run(arguments: &Arguments) -> Broken {
    let mut broken = Broken::new();
    head("P, D, t in ns | noise | exact | among those listed | identified and wrong");
    for (index, (name, times)) in TIMES.into_iter().enumerate() {
        for (sigma_ns, promised) in NOISE {
            // Where links hide, noise of a known size shows more.
            let known_error = (index > 0).then_some(sigma_ns);
            let tally = four_nodes(times, sigma_ns, known_error, arguments.seeds);
            let [exact, listed, wrong] =
                [tally.exact, tally.listed, tally.wrong].map(|count| percent(count, tally.all));
            println!("| {name} | {sigma_ns} ns | {exact:.1} % | {listed:.1} % | {wrong:.1} % |");
            let holds = index > 0 || exact >= 100.0 * promised;
            broken
                .extend(unless(holds, format!("graphs of four nodes at {sigma_ns} ns: {exact:.1} % exact")));
            broken.extend(unless(tally.wrong == 0, format!("{} graphs identified and wrong", tally.wrong)));
        }
    }
    let begun = Instant::now();
    let levels = infer(&grouped_cpus()).groups.len();
    println!("{MEMBERS_MAX} CPUs: {levels} levels in {:.1} s", begun.elapsed().as_secs_f64());
    broken.extend(unless(levels == CPU_LEVELS.len() - 1, format!("{levels} levels of CPUs")));
    broken
}

/// What simulated matrices came to.
#[derive(Default)]
struct Tally {
    all: usize,
    exact: usize,
    listed: usize,
    wrong: usize,
}

/// All connected graphs of four nodes.
fn four_nodes(times: ReadTimes, sigma_ns: f64, known_error: Option<f64>, seeds: usize) -> Tally {
    let mut random = Random::new(SEED);
    let mut tally = Tally::default();
    for (graph, _) in connected_graphs(4) {
        for _ in 0..seeds {
            let mut matrix = noisy(times, &graph, sigma_ns, &mut random);
            matrix.standard_error = known_error;
            let found = infer(&matrix);
            let is_graph = |edges: &[[u32; 2]]| {
                Graph::of_numbered(&matrix.nodes, edges).is_some_and(|found| found == graph)
            };
            let is_exact = is_graph(&found.edges);
            tally.all += 1;
            tally.exact += usize::from(is_exact);
            tally.listed += usize::from(is_exact || found.alike.iter().any(|edges| is_graph(edges)));
            tally.wrong += usize::from(!is_exact && found.verdict == Verdict::Identified);
        }
    }
    tally
}

fn noisy(times: ReadTimes, graph: &Graph, sigma_ns: f64, random: &mut Random) -> Matrix {
    let hops = graph.hops().expect("a connected graph");
    let exact = times.matrix_ns(&hops, Coherence::Broadcast);
    let row = |row: &Vec<f64>| row.iter().map(|ns| Some(ns + sigma_ns * random.normal())).collect();
    let rows: Vec<Vec<Option<f64>>> = exact.iter().map(row).collect();
    Matrix::of_rows(Unit::Nanoseconds, &rows).expect("rows of a matrix")
}

/// CPUs in groups within groups, with noise.
fn grouped_cpus() -> Matrix {
    /// Standard deviation, as a share of the latency.
    const NOISE_SHARE: f64 = 0.05;
    let mut random = Random::new(SEED);
    let latency = |one: usize, other: usize| {
        let mut size = MEMBERS_MAX;
        let apart = CPU_LEVELS.iter().find(|(parts, _)| {
            size /= parts;
            one / size != other / size
        });
        apart.map(|(_, ns)| *ns)
    };
    let row = |one: usize, random: &mut Random| {
        (0..MEMBERS_MAX)
            .map(|other| {
                latency(one, other).map(|ns| ns * (1.0 + NOISE_SHARE * random.normal()).max(NOISE_SHARE))
            })
            .collect()
    };
    let rows: Vec<Vec<Option<f64>>> = (0..MEMBERS_MAX).map(|one| row(one, &mut random)).collect();
    Matrix::of_rows(Unit::Nanoseconds, &rows).expect("rows of a matrix").of_cpus()
}
