//! The sockets section of the page, for simulated machines: what is identified is drawn, what is not is said.

use models::interconnect::{Explanation, Matrix, MeasuredSocket, SocketAccount, Unit, account};
use record::{NodeBandwidth, Record, Sockets};
use report::{Terminal, check_up_page};

use super::html;
use super::markup::check_html;
use super::sample::{of_clusters, of_known, of_latencies, of_one_node};

/// The page stays below this; the other sections are empty here.
const LIMIT_BYTES: usize = 260_000;
/// With all kernels and 16 nodes, the most that a page shows.
const LARGEST_BYTES: usize = 300_000;

/// What the models make of the sockets, as `diagnosis` would: rows of CPUs are not asked for here.
pub(crate) fn accounted(sockets: &Sockets) -> SocketAccount {
    let nodes: Vec<u32> = sockets.subjects.iter().filter_map(|subject| Some(subject.node?.0)).collect();
    let entry = |reader: usize, home: &u32| {
        let cpu = sockets.subjects[reader].cpu;
        sockets.latency.iter().find(|one| one.cpu == cpu && one.node.0 == *home).map(|one| one.ns)
    };
    let row = |reader: usize| nodes.iter().map(|home| entry(reader, home)).collect();
    let rows: Vec<Vec<Option<f64>>> = (0..nodes.len()).map(row).collect();
    let mut matrix = Matrix::of_rows(Unit::Nanoseconds, &rows).expect("a matrix");
    matrix.standard_error = Some(0.8);
    matrix.nodes.clone_from(&nodes);
    let own = |(reader, subject): (usize, &record::SocketSubject)| MeasuredSocket {
        cpu: subject.cpu.0,
        node: Some(nodes[reader]),
        latency_ns: entry(reader, &nodes[reader]),
        triad_mb_per_s: entry(reader, &nodes[reader]).map(|ns| 8.0 * 64e3 / ns),
    };
    let measured: Vec<MeasuredSocket> = sockets.subjects.iter().enumerate().map(own).collect();
    account(&measured, Some(&matrix).filter(|_| nodes.len() > 1), &[])
}

/// The page of a record that holds sockets alone.
fn page(sockets: Sockets, account: Option<&SocketAccount>) -> String {
    let record = Record { sockets: Some(sockets), ..Record::default() };
    let page = html(&record, account);
    check_html(&page);
    assert!(page.len() < LIMIT_BYTES, "{} bytes", page.len());
    page
}

fn has_figure(page: &str, name: &str) -> bool {
    page.contains(&format!("data-figure=\"{name}\""))
}

/// A ring of nodes, `step` ns more for each link.
fn ring(nodes: usize, step: f64) -> Vec<Vec<f64>> {
    let hops = |a: usize, b: usize| a.abs_diff(b).min(nodes - a.abs_diff(b)) as f64;
    (0..nodes).map(|a| (0..nodes).map(|b| 80.0 + step * hops(a, b)).collect()).collect()
}

#[test]
fn the_blade_is_drawn_with_its_links_its_maps_and_what_its_reads_take() {
    let sockets = of_known("x6440-8380");
    let account = accounted(&sockets);
    let page = page(sockets, Some(&account));
    for name in ["socket-links", "socket-latency", "socket-bandwidth"] {
        assert!(has_figure(&page, name), "{name}");
    }
    assert!(page.contains("<p class=\"said t-look\">Latency ") && page.contains("2 links to the farthest"));
    assert_eq!(page.matches("<title>node ").count(), 4);
    assert!(page.contains("as the model predicts") && page.contains("0-1 0-2 1-2 1-3 2-3"));
}

#[test]
fn many_nodes_sparse_numbers_and_memory_without_cpus_are_drawn_too() {
    let sparse: Vec<u32> = (0..8).map(|node| node * 3).collect();
    let mut with_memory = ring(4, 25.0);
    for row in &mut with_memory {
        row.push(250.0);
    }
    for (latency_ns, nodes) in
        [(ring(8, 25.0), sparse), (ring(16, 25.0), (0..16).collect()), (with_memory, vec![0, 1, 2, 3, 9])]
    {
        let sockets = of_latencies(&latency_ns, &nodes);
        let account = accounted(&sockets);
        let page = page(sockets, Some(&account));
        let last = nodes.last().expect("nodes");
        assert!(
            has_figure(&page, "socket-latency") && page.contains(&format!(">{last}</text>")),
            "{nodes:?}"
        );
    }
}

#[test]
fn clusters_of_a_die_are_a_mesh_in_words_and_two_maps() {
    let sockets = of_clusters();
    let account = accounted(&sockets);
    let inference = account.inference.as_ref().expect("eight nodes");
    let mesh = matches!(&inference.explanation, Explanation::Mesh(mesh) if (mesh.packages, mesh.columns, mesh.rows) == (2, 2, 2));
    assert!(mesh && inference.max_percent < 3.0, "{inference:?}");
    let page = page(sockets, Some(&account));
    for part in ["2 packages of 2 by 2 clusters", "more per column", "as the model predicts, by node"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(has_figure(&page, "socket-latency") && has_figure(&page, "socket-bandwidth"));
}

#[test]
fn sixteen_nodes_with_all_kernels_stay_light() {
    let mut sockets = of_latencies(&ring(16, 25.0), &(0..16).collect::<Vec<_>>());
    let triads: Vec<_> = sockets.bandwidth.iter().filter(|one| one.kernel == "triad").cloned().collect();
    for (kernel, store) in [("triad", "non_temporal"), ("write", "plain"), ("write", "non_temporal")] {
        sockets.bandwidth.extend(triads.iter().cloned().map(|one| NodeBandwidth {
            kernel: kernel.to_owned(),
            store: store.to_owned(),
            ..one
        }));
    }
    let account = accounted(&sockets);
    let record = Record { sockets: Some(sockets), ..Record::default() };
    let page = html(&record, Some(&account));
    check_html(&page);
    assert!(page.len() < LARGEST_BYTES, "{} bytes", page.len());
}

#[test]
fn flat_latencies_draw_no_links_and_say_so() {
    let rows: Vec<Vec<f64>> =
        (0..4).map(|a| (0..4).map(|b| if a == b { 90.0 } else { 140.0 }).collect()).collect();
    let sockets = of_latencies(&rows, &[0, 1, 2, 3]);
    let account = accounted(&sockets);
    let page = page(sockets, Some(&account));
    assert!(!has_figure(&page, "socket-links") && page.contains("not identifiable"));
    assert!(has_figure(&page, "socket-latency") && !page.contains("as the model predicts"));
}

#[test]
fn one_node_gets_its_table_and_no_empty_picture() {
    let sockets = of_one_node();
    let page = page(sockets, None);
    assert!(page.contains("There is one node") && page.contains("differs from itself"));
    for name in ["socket-links", "socket-latency", "socket-bandwidth"] {
        assert!(!has_figure(&page, name), "{name}");
    }
    assert!(
        !page.contains("id=\"findings\"") && page.contains("sidestep sockets"),
        "a page of sockets alone"
    );
    let none = html(&Record::default(), None);
    assert!(none.contains("data-missing=\"sockets\""));
}

#[test]
fn a_simulation_draws_the_same_graph() {
    let machine: models::interconnect::SocketMachine = models::known("x6440-8380").expect("a known machine");
    let run = models::interconnect::simulate(&machine, &models::interconnect::Variant::default());
    let page = report::linked_sockets_page(&run.expect("it runs")).html();
    assert!(has_figure(&page, "socket-links"));
    check_html(&page);
}

#[test]
fn the_check_up_shows_the_verdict_in_80_columns_and_nothing_where_there_is_none() {
    let shown = |sockets: Option<Sockets>| {
        check_up_page(&Record { sockets, ..Record::default() }, None, None)
            .terminal(Terminal::default(), true)
    };
    let blade = shown(Some(of_known("x6440-8380")));
    assert!(blade.contains("longer on CPUs 0,12") && blade.contains("nodes  own memory"), "{blade}");
    let many = shown(Some(of_latencies(&ring(16, 25.0), &(0..16).collect::<Vec<_>>())));
    assert!(many.contains("alike: 16 CPUs in their own memory, latency within ±0 %"), "{many}");
    let one = shown(Some(of_one_node()));
    assert!(one.contains("undetermined: latency: the same") && !one.contains("nodes  "), "{one}");
    assert!(!shown(None).contains("Sockets"));
    for text in [blade, many, one] {
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
