//! Pages of documents that models and samples make, and what is written for other programs.

use flaws::{Advice, Catalogue, ExcludedVector, Flaw, Population, PopulationRow, Purpose, VectorTable};
use machine::acpi::AffinityDomain;
use models::interconnect::{self, FirmwareGraph};
use models::memory::{self, MemoryMachine};
use models::scheduling::{self, Pattern, Policy};
use models::tsc;
use record::{
    AttackVector, ClockCheck, ClockCost, ClockVerdict, FlawVerdict, Record, SocketGate, Sockets, VectorState,
};
use report::{FirmwareLinks, MemoryClaim, Page, PciClaim, ToggleState, ToggleValue};

use crate::pages::documents::{saved, verdicts};
use crate::rendering::sample::{
    of_clusters, of_known, of_latencies, of_one_node, sample_machine, sample_record,
};
use crate::rendering::sockets::accounted;

/// A check of an arm64 machine whose firmware left CNTFRQ_EL0 alone.
fn stated() -> ClockCheck {
    ClockCheck {
        verdict: ClockVerdict::Safe,
        because: vec!["the firmware states 0 Hz (CNTFRQ_EL0)".to_owned()],
        counter_hz: Some(62.5e6),
        counter_stated_hz: Some(0.0),
        counter_error_ppm: Some(2.9),
        counter_step_ns: Some(16.0),
        blind_below_ns: Some(64.0),
        ..ClockCheck::default()
    }
}

/// Every page of a document that is made.
pub(super) fn pages() -> Vec<(&'static str, Page)> {
    let record = sample_record(2);
    let check = record.clock_check.clone().expect("the sample has one");
    let cost = record.clock_cost.clone().expect("the sample has one");
    let mut pages = vec![
        ("record", report::check_up_page(&thinned(&record), Some("run.json"), None)),
        ("record-empty", report::check_up_page(&Record::default(), None, None)),
        ("machine", report::machine_page(&record.machine)),
        ("machine-many", report::machine_page(&sample_machine(64))),
        ("plan", report::plan_page(&record.plan)),
        ("clock-check", report::clock_check_page(&check)),
        ("clock-check-stated", report::clock_check_page(&stated())),
        ("clock-check-empty", report::clock_check_page(&ClockCheck::default())),
        ("clock-cost", report::clock_cost_page(&cost)),
        ("clock-cost-empty", report::clock_cost_page(&ClockCost::default())),
        ("toggles", report::toggles_page(&toggles())),
        ("toggle", report::toggle_page(&toggles()[0])),
        ("toggle-never", report::toggle_page(&toggles()[2])),
    ];
    pages.extend(of_flaws());
    pages.extend(of_sockets());
    pages.extend(simulated());
    pages
}

/// What stands in files for other programs.
pub(super) fn exports() -> Vec<(&'static str, String)> {
    vec![("export-metrics", metrics())]
}

/// What a watch tells a scraper.
fn metrics() -> String {
    let check = sample_record(2).clock_check.expect("the sample has one");
    let mut counts = report::ClockMetrics::no_counts();
    counts.insert("step", 2);
    let summary = record::ClockWatchSummary {
        watched_s: 60.0,
        cpu_share: 0.0005,
        watched_share: Some(0.75),
        probes: 60,
        usable: 50,
        ..record::ClockWatchSummary::default()
    };
    let metrics = report::ClockMetrics {
        pairs: &check.pairs,
        counts: &counts,
        summary,
        clock_source: Some("tsc"),
        synchronised: Some(true),
        last_probe_s: 1.7e9,
    };
    report::clock_metrics(&metrics)
}

/// A record with few of its many points.
fn thinned(record: &Record) -> Record {
    fn every<T: Clone>(nth: usize, all: &[T]) -> Vec<T> {
        all.iter().step_by(nth).cloned().collect()
    }
    let mut record = record.clone();
    record.memory.latency = every(61, &record.memory.latency);
    record.memory.bandwidth = every(47, &record.memory.bandwidth);
    record.memory.walks = every(9, &record.memory.walks);
    record.cores.unlike.truncate(3);
    record.cores.wake.truncate(3);
    record.cores.sharing.truncate(4);
    record.flaws = verdicts().into_iter().take(2).collect();
    record.flaws_uneven = vec!["microcode differs: CPU 0 has 0x1, CPU 1 has 0x2".to_owned()];
    record
}

/// One that can be switched, one for `ab` alone, one that never is, and one of which nothing is known.
fn toggles() -> Vec<ToggleState> {
    let value = |name: &str, class: &'static str| ToggleValue {
        name: name.to_owned(),
        means: format!("huge pages are used {name}"),
        class,
    };
    let thp = ToggleState {
        name: "thp",
        title: "transparent huge pages",
        does: "The kernel backs memory with pages of 2 MiB where it can.",
        needs: &["root", "a kernel with CONFIG_TRANSPARENT_HUGEPAGE"],
        class: "S1",
        class_means: "root can put it back whole",
        opens: "programs may use more memory",
        lifetime: "until the next boot",
        settle_s: 0.0,
        source: "Linux, Documentation/admin-guide/mm/transhuge.rst",
        now: Some("madvise".to_owned()),
        settable: true,
        availability: "available",
        reason: None,
        remedy: None,
        values: vec![value("always", "S1"), value("madvise", "S1"), value("never", "S1")],
    };
    let aslr = ToggleState {
        name: "aslr",
        settable: false,
        class: "S0",
        class_means: "ends with a process",
        ..thp.clone()
    };
    let fuse = ToggleState {
        name: "fuse",
        class: "S4",
        class_means: "has no way back",
        settable: false,
        availability: "missing",
        reason: Some("it is never switched".to_owned()),
        now: None,
        ..thp.clone()
    };
    let smt = ToggleState {
        name: "smt",
        availability: "unknown",
        reason: Some("/sys/devices/system/cpu/smt is not readable".to_owned()),
        remedy: Some("run as root".to_owned()),
        now: None,
        ..thp.clone()
    };
    vec![thp, aslr, fuse, smt]
}

/// A flaw with something in every field that is shown.
const FLAW: &str = r#"
id = "gds"
title = "Gather instructions leak stale vector registers (Downfall)"
aliases = ["CVE-2022-40982", "Downfall"]
kind = "vulnerability"
effect = "A gather can forward what an earlier vector load left in a shared buffer."
suffers = "gather: about 27 in place of 5 core cycles"
vulnerability_file = "gather_data_sampling"
sources = ["Intel, Gather Data Sampling, 2023", "Linux 6.18, arch/x86/kernel/cpu/common.c"]

[[affected]]
vendor = "GenuineIntel"
family = 0x6
models = [[0x55, 0x55]]
source = "Linux 6.18, arch/x86/kernel/cpu/common.c"

[[workaround]]
does = "microcode keeps a gather from forwarding before it is complete"
by = ["microcode", "kernel"]
switch = { boot = "gather_data_sampling=force|off" }
fix = "gather_data_sampling=force"

[[cost]]
text = "up to 50 % in programs that gather"
source = "Intel, 2023"
"#;

/// A guest that excludes guests, on a kernel that contradicts its table.
fn vectors() -> VectorTable {
    use AttackVector::{CrossThread, GuestGuest, GuestHost, UserKernel, UserUser};
    let row = |id: &str, vectors: &[(AttackVector, VectorState)], differences: &[&str]| FlawVerdict {
        id: id.to_owned(),
        vectors: vectors.iter().copied().collect(),
        disagreements: differences.iter().map(|text| (*text).to_owned()).collect(),
        ..FlawVerdict::default()
    };
    let difference =
        "by the kernel's own table it is mitigated for user_kernel, the kernel says \"BHI: Vulnerable\"";
    VectorTable {
        excluded: vec![GuestHost, GuestGuest],
        refused: vec!["no_user".to_owned()],
        unsupported: None,
        flaws: vec![
            row(
                "spectre-bhi",
                &[(UserKernel, VectorState::Open), (GuestHost, VectorState::OffByChoice)],
                &[difference],
            ),
            row("mds", &[(UserKernel, VectorState::Closed), (CrossThread, VectorState::Unknown)], &[]),
            row("spectre-v2-user", &[(UserUser, VectorState::OnRequest)], &[]),
        ],
    }
}

/// Words that leave two flaws open.
fn advice() -> Advice {
    let excluded = |vector: AttackVector, flaws: &[&str]| ExcludedVector {
        vector,
        exposes: vector.exposes().to_owned(),
        flaws: flaws.iter().map(|id| (*id).to_owned()).collect(),
    };
    Advice {
        purpose: Purpose::VmHost,
        words: "mitigations=auto,no_user_kernel,no_user_user".to_owned(),
        unsupported: Some(
            "Linux 6.12.1 is older than 6.17, the first with attack vectors, and refuses words for them"
                .to_owned(),
        ),
        excluded: vec![
            excluded(AttackVector::UserKernel, &["meltdown", "spectre-v1"]),
            excluded(AttackVector::UserUser, &[]),
        ],
        still_open: [("retbleed".to_owned(), Some("retbleed=stuff".to_owned())), ("its".to_owned(), None)]
            .into(),
        smt_off_for: vec!["mds".to_owned(), "taa".to_owned()],
    }
}

fn of_flaws() -> Vec<(&'static str, Page)> {
    let catalogue = Catalogue::parse(&[("gds.toml", FLAW)]).expect("an entry");
    let flaw: &Flaw = &catalogue.flaws[0];
    let verdicts = verdicts();
    let of = |id: &str| verdicts.iter().find(|one| one.id == id).expect("a verdict");
    let row = |id: &str, affected: usize| PopulationRow {
        id: id.to_owned(),
        affected,
        protected: 3,
        on_request: 1,
        partly: 0,
        not_protected: 2,
        protection_unknown: 1,
        paying_without_protection: 1,
        unknown: 5,
        fails_gate: 2,
    };
    let counts = Population {
        reports: 12,
        population: vec![row("gds", 7), row("meltdown", 0), row("spectre-v2", 12)],
        by_signature: [("6-85-7".to_owned(), 9), ("25-1-1".to_owned(), 3)].into(),
        named: vec![flaws::NamedReport {
            name: "hosts.txt#1".to_owned(),
            signature: "6-85-7".to_owned(),
            open: vec!["gds".to_owned(), "spectre-v2".to_owned()],
            unknown: 3,
            verdict: None,
        }],
        unreadable: Vec::new(),
        unreadable_count: 1,
    };
    let machine = sample_machine(2);
    vec![
        ("flaw-vectors", report::flaw_vectors_page(&machine, &vectors())),
        ("flaw-purpose", report::flaw_purpose_page(&machine, &advice())),
        ("flaws-index", report::flaw_index_page(&[flaw])),
        ("flaw", report::flaw_page(flaw, of("gds"))),
        ("flaw-not-here", report::flaw_page(flaw, of("meltdown"))),
        ("flaws-census", report::population_page(&counts, false)),
        ("flaws-census-all", report::population_page(&counts, true)),
    ]
}

/// Links that three sources report, of which two differ.
fn firmware() -> FirmwareLinks {
    let graph = |source: &str, undetermined: Option<&str>, edges: Vec<[u32; 2]>| FirmwareGraph {
        source: source.to_owned(),
        undetermined: undetermined.map(str::to_owned),
        nodes: vec![0, 1, 2],
        eccentricities: if edges.is_empty() { Vec::new() } else { vec![2, 1, 2] },
        probe_depths: if edges.is_empty() { Vec::new() } else { vec![2, 1, 2] },
        edges,
    };
    FirmwareLinks {
        schema: 1,
        graphs: vec![
            graph("routing tables", None, vec![[0, 1], [1, 2]]),
            graph("ACPI SLIT", Some("all distances are alike"), Vec::new()),
            graph("latency", None, vec![[0, 1], [0, 2]]),
        ],
        claims: vec![MemoryClaim {
            node: 0,
            initiators: vec![0, 1],
            read_latency_ns: Some(90),
            read_bandwidth_mb_per_s: Some(20_500),
        }],
        domains: vec![AffinityDomain { processors: 4, memory_bytes: 1 << 34, ..AffinityDomain::default() }],
        pci_roots: vec![PciClaim { root: "pci0000:00".to_owned(), node: None, devices: 12 }],
        measured: vec!["routing tables: 1 link 120 ns, 2 links 146 ns".to_owned()],
        findings: vec!["0-2 is a link by latency only".to_owned(), "1-2 by the tables only".to_owned()],
        missing: vec!["UPI: no such device".to_owned()],
    }
}

fn of_sockets() -> Vec<(&'static str, Page)> {
    let blade = of_known("x6440-8380");
    let account = accounted(&blade);
    let flat: Vec<Vec<f64>> =
        (0..4).map(|a| (0..4).map(|b| if a == b { 90.0 } else { 140.0 }).collect()).collect();
    let flat = of_latencies(&flat, &[0, 1, 2, 3]);
    let clusters = of_clusters();
    let gate: SocketGate = saved!("sockets-gate");
    let gated = Sockets { gate: Some(gate.clone()), ..blade.clone() };
    let inferred = |csv: &str| {
        let matrix = interconnect::read_matrix(csv).expect("a matrix").matrix;
        report::inferred_links_page(&interconnect::infer(&matrix), "matrix.csv")
    };
    let explained = |sockets: &Sockets| {
        report::socket_account_page(&accounted(sockets), &SocketGate::default(), sockets, "record.json")
    };
    vec![
        ("sockets-measured", report::measured_sockets_page(&gated, Some(&account))),
        ("sockets-one-node", report::measured_sockets_page(&of_one_node(), None)),
        ("sockets-explained", report::socket_account_page(&account, &gate, &blade, "record.json")),
        ("sockets-explained-flat", explained(&flat)),
        ("sockets-explained-clusters", explained(&clusters)),
        (
            "sockets-inferred",
            inferred("# unit: ns\n138,138,138,146\n138,102,120,138\n138,120,102,138\n146,138,138,138\n"),
        ),
        ("sockets-inferred-not", inferred("10,20,20\n20,10,20\n20,20,10\n")),
        ("sockets-firmware", report::firmware_links_page(&firmware())),
    ]
}

/// The Phenom with its small tests.
fn phenom() -> MemoryMachine {
    let mut machine: MemoryMachine = models::known("phenom-9600").expect("a machine of ours");
    machine.test.retain(|test| test.block_bytes.0 < 1 << 26);
    machine.published.truncate(1);
    machine
}

fn simulated() -> Vec<(&'static str, Page)> {
    let mut all = memory::simulate(&phenom(), true);
    all.surface.retain(|cell| {
        let (block, stride) = (cell.block_bytes.0.trailing_zeros(), cell.stride_bytes.0.trailing_zeros());
        cell.block_bytes.0.is_power_of_two() && block % 4 == 0 && stride % 3 == 0
    });
    all.bandwidth = all.bandwidth.into_iter().step_by(5).collect();
    let sockets = |name: &str, variant: &interconnect::Variant| {
        let machine: interconnect::SocketMachine = models::known(name).expect(name);
        report::linked_sockets_page(&interconnect::simulate(&machine, variant).expect(name))
    };
    let counters: tsc::TscMachine = models::known("k8-opteron").expect("it comes with sidestep");
    let scenario = tsc::Scenario {
        governor: tsc::Governor::Ondemand,
        workload: tsc::Workload::Bursts,
        seconds: 2.0,
        seed: 1,
    };
    let mut drift = tsc::simulate(&counters, scenario);
    for row in &mut drift.rows {
        row.curve.truncate(2);
    }
    let threads = |machine: &str, policy: Policy, sharing: f64| {
        let machine: scheduling::SchedulingMachine = models::known(machine).expect("it comes with sidestep");
        let pattern = Pattern::Copies;
        let scenario = scheduling::Scenario { policy, pattern, threads: [3, 4], sharing, seed: 1 };
        report::schedulers_page(&scheduling::simulate(&machine, scenario))
    };
    let default = interconnect::Variant::default();
    let square = interconnect::Variant { remove: vec![[1, 2]], ..interconnect::Variant::default() };
    let filtered = interconnect::Variant { snoop_filter: true, ..interconnect::Variant::default() };
    vec![
        ("simulated-memory", report::memory_page(&all)),
        ("simulated-sockets", sockets("x6440-8380", &default)),
        ("simulated-sockets-square", sockets("x6440-8384", &square)),
        ("simulated-sockets-filtered", sockets("x6440-8384", &filtered)),
        ("simulated-clocks", report::drift_page(&drift)),
        ("simulated-threads", threads("fx-8150", Policy::ModulesFirst, 0.0)),
        ("simulated-threads-sharing", threads("jacobsville", Policy::DataAware, 0.2)),
    ]
}
