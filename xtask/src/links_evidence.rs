//! `cargo xtask links-evidence`: which graphs the inference finds in noise, what it makes of machines that others measured, and
//! how long it takes: the tables of METHODOLOGY, measured again.

use std::path::{Path, PathBuf};

use anyhow::Context;
use host::Root;
use host::live::thread_cpu_time_ns;
use models::interconnect::{
    Coherence, Graph, Inference, MEMBERS_MAX, Matrix, ReadTimes, Unit, Verdict, connected_graphs, infer,
    read_matrix,
};
use stats::Random;

use crate::cargo;
use crate::table::{head, percent};
use crate::totals::Totals;

/// Links inferred from simulated and published matrices: shares, fits, times
///
/// Prints Markdown tables. Fails if less than 99 % (2 ns) or 95 % (4 ns) of the 38 graphs of four nodes are found where links show, if
/// a published matrix comes out differently than is known, or if four nodes take more than 0.5 s, eight or 1,024 CPUs more than 10 s of
/// CPU time. Times are those of a build for development; the models are optimised in it.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Simulated matrices per graph
    #[arg(long, default_value_t = 20)]
    seeds: usize,
    /// Recorded machines and published matrices; else ../shared/zoo
    #[arg(long, value_name = "DIR")]
    zoo: Option<PathBuf>,
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

/// `cargo xtask links-evidence`.
pub fn run(arguments: &Arguments) -> anyhow::Result<Totals> {
    let seeds = arguments.seeds;
    let mut totals = Totals::default();
    head("P, D, t in ns | noise | exact | among those listed | identified and wrong");
    let mut slowest_s = 0.0_f64;
    for (index, (name, times)) in TIMES.into_iter().enumerate() {
        for (sigma_ns, promised) in NOISE {
            // Where links hide, noise of a known size tells more.
            let known_error = (index > 0).then_some(sigma_ns);
            let tally = four_nodes(times, sigma_ns, known_error, seeds);
            let [exact, listed, wrong] =
                [tally.exact, tally.listed, tally.wrong].map(|count| percent(count, tally.all));
            println!("| {name} | {sigma_ns} ns | {exact:.1} % | {listed:.1} % | {wrong:.1} % |");
            slowest_s = slowest_s.max(tally.slowest_s);
            if index == 0 {
                totals.add(verdict(
                    &format!("graphs of four nodes at {sigma_ns} ns"),
                    exact >= 100.0 * promised,
                ));
            }
        }
    }
    println!();
    head("members | longest CPU time, ms");
    let (found, of_cpus_s) = timed(&grouped_cpus());
    for (members, found_s, promised_s) in [
        ("4 nodes".to_owned(), slowest_s, 0.5),
        ("8 nodes".to_owned(), eight_nodes_s(seeds), 10.0),
        (format!("{MEMBERS_MAX} CPUs"), of_cpus_s, 10.0),
    ] {
        println!("| {members} | {:.1} |", found_s * 1e3);
        totals.add(verdict(&format!("{members} took {found_s:.1} s"), found_s <= promised_s));
    }
    let levels = found.groups.len();
    totals.add(verdict(&format!("{levels} levels of CPUs"), levels == CPU_LEVELS.len() - 1));
    let zoo = arguments.zoo.clone().unwrap_or_else(|| cargo::root().join("../shared/zoo"));
    if zoo.join("matrices").is_dir() {
        totals.add(published(&zoo)?);
    } else {
        totals.add(Totals::one_skipped(format!("links-evidence: no matrices below {}", zoo.display())));
    }
    Ok(totals)
}

fn verdict(what: &str, holds: bool) -> Totals {
    Totals::one(holds, format!("links-evidence: {what}"))
}

/// What simulated matrices came to.
#[derive(Default)]
struct Tally {
    all: usize,
    exact: usize,
    listed: usize,
    wrong: usize,
    slowest_s: f64,
}

/// All connected graphs of four nodes.
fn four_nodes(times: ReadTimes, sigma_ns: f64, known_error: Option<f64>, seeds: usize) -> Tally {
    let mut random = Random::new(SEED);
    let mut tally = Tally::default();
    for (graph, _) in connected_graphs(4) {
        for _ in 0..seeds {
            let mut matrix = noisy(times, &graph, sigma_ns, &mut random);
            matrix.standard_error = known_error;
            let (found, seconds) = timed(&matrix);
            let is_graph = |edges: &[[u32; 2]]| {
                Graph::of_numbered(&matrix.nodes, edges).is_some_and(|found| found == graph)
            };
            let is_exact = is_graph(&found.edges);
            tally.all += 1;
            tally.exact += usize::from(is_exact);
            tally.listed += usize::from(is_exact || found.alike.iter().any(|edges| is_graph(edges)));
            tally.wrong += usize::from(!is_exact && found.verdict == Verdict::Identified);
            tally.slowest_s = tally.slowest_s.max(seconds);
        }
    }
    tally
}

/// A ring, a cube, and rings with random chords.
fn eight_nodes_s(seeds: usize) -> f64 {
    const NODES: usize = 8;
    let mut random = Random::new(SEED);
    let ring: Vec<[usize; 2]> = (0..NODES).map(|node| [node, (node + 1) % NODES]).collect();
    let near = |one: usize, bit: usize| (one & bit == 0).then_some([one, one | bit]);
    let cube: Vec<[usize; 2]> =
        (0..NODES).flat_map(|one| [1, 2, 4].map(|bit| near(one, bit))).flatten().collect();
    let mut graphs = vec![ring.clone(), cube];
    for _ in 0..seeds {
        let mut links = ring.clone();
        for one in 0..NODES {
            for other in one + 2..NODES {
                if [one, other] != [0, NODES - 1] && random.next_u64().is_multiple_of(3) {
                    links.push([one, other]);
                }
            }
        }
        graphs.push(links);
    }
    let mut slowest_s = 0.0_f64;
    for links in graphs {
        let graph = Graph::of_links(NODES, &links).expect("links between eight nodes");
        slowest_s = slowest_s.max(timed(&noisy(TIMES[0].1, &graph, NOISE[0].0, &mut random)).1);
    }
    slowest_s
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

/// The inference and its CPU time in seconds.
fn timed(matrix: &Matrix) -> (Inference, f64) {
    let begun_ns = thread_cpu_time_ns();
    let found = infer(matrix);
    (found, (thread_cpu_time_ns() - begun_ns) as f64 / 1e9)
}

/// Machines that others measured, and one that was recorded.
fn published(zoo: &Path) -> anyhow::Result<Totals> {
    let of_file = |name: &str| -> anyhow::Result<Inference> {
        let text = std::fs::read_to_string(zoo.join(name)).with_context(|| format!("cannot read {name}"))?;
        Ok(infer(&read_matrix(&text).with_context(|| format!("cannot use {name}"))?.matrix))
    };
    let recorded = Root::open(&zoo.join("sysfs/32amd64-4s2n4c-cgroup2.tar.bz2"))?;
    let slit = infer(&Matrix::of_machine(&host::describe(&recorded, None))?);
    let magny_cours = of_file("matrices/mctop/lpd48core.mct")?;
    let full_mesh = of_file("matrices/mctop/lpdquad.mct")?;
    let clusters = of_file("matrices/mlc/sapphirerapids_mlc.txt")?;
    println!();
    head("matrix | verdict | links | most an entry is missed by");
    for (name, found) in [
        ("lpd48core (4 Magny-Cours)", &magny_cours),
        ("SLIT of 32amd64-4s2n4c-cgroup2", &slit),
        ("lpdquad (full mesh)", &full_mesh),
        ("Sapphire Rapids, SNC4", &clusters),
    ] {
        let (verdict, links) = (found.verdict.name(), found.edges.len());
        println!("| {name} | {verdict} | {links} | {:.1} % |", found.max_percent);
    }
    let is_board = magny_cours.edges.len() == 16 && magny_cours.edges == slit.edges;
    let mut totals = verdict("lpd48core is not the graph of the SLIT", is_board);
    totals.add(verdict("lpdquad shows links", full_mesh.verdict == Verdict::NotIdentifiable));
    totals.add(verdict("the mesh of SNC4 is missed by 3 % or more", clusters.max_percent < 3.0));
    Ok(totals)
}
