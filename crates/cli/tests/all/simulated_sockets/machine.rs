//! A model of a machine of sockets, measured with a little noise: the document that `sidestep sockets` would write.

use machine::{Bytes, CpuId, CpuSet, NodeId};
use models::interconnect::{Coherence, Graph, ReadTimes};
use record::{
    NodeBandwidth, NodeLatency, PackageScaling, SOCKETS_SCHEMA, SocketNode, SocketSubject, SocketVerdict,
    Sockets, Spread, SubjectCore, SubjectEquality, SubjectRow,
};
use stats::{Interval, Random};

/// What the sockets of a machine are made of; one CPU of each is measured.
#[derive(Debug, Clone)]
pub(crate) struct Simulated {
    pub(crate) nodes: usize,
    pub(crate) links: Vec<[usize; 2]>,
    pub(crate) times: ReadTimes,
    pub(crate) coherence: Coherence,
    /// Lines that a CPU keeps outstanding.
    pub(crate) lines: f64,
    /// Standard deviation of what is measured, as a share.
    pub(crate) noise: f64,
    /// Half-width of A/A.
    pub(crate) aa_half_width: f64,
    /// What is wrong with one socket.
    pub(crate) fault: Option<(u32, Fault)>,
}

/// What can be wrong with a socket.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Fault {
    /// All CPUs together get this share.
    Together(f64),
    /// Its clock is this share of what it should be.
    Clock(f64),
    /// Somebody on the other thread takes this share of the core, and a tenth of the bandwidth.
    Neighbour(f64),
    /// Its package is cut into two nodes.
    TwoNodes,
    /// A single CPU gets this share of bandwidth, for no reason that is seen.
    Bandwidth(f64),
}

impl Simulated {
    /// Four sockets and five links, snoops broadcast.
    pub(crate) fn blade() -> Self {
        Self {
            nodes: 4,
            links: vec![[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]],
            times: ReadTimes { probe_ns: 66.0, dram_ns: 74.0, hop_ns: 18.0 },
            coherence: Coherence::Broadcast,
            lines: 8.0,
            noise: 0.002,
            aa_half_width: 0.004,
            fault: None,
        }
    }

    /// The same with a probe filter.
    pub(crate) fn probe_filter() -> Self {
        Self { coherence: Coherence::ProbeFilter, ..Self::blade() }
    }

    /// Two CPUs and one memory.
    pub(crate) fn one_node() -> Self {
        Self { nodes: 1, links: Vec::new(), ..Self::blade() }
    }

    /// Four nodes whose memory is all as far.
    pub(crate) fn flat() -> Self {
        Self { times: ReadTimes { probe_ns: 0.0, dram_ns: 100.0, hop_ns: 0.0 }, ..Self::blade() }
    }

    /// Four sockets that are alike, of which one is not.
    pub(crate) fn with_fault(fault: Fault) -> Self {
        Self { fault: Some((2, fault)), ..Self::probe_filter() }
    }

    /// Four sockets that are alike on a machine where the same CPU differs from itself by 6 %.
    pub(crate) fn noisy() -> Self {
        Self { noise: 0.08, aa_half_width: 0.06, ..Self::probe_filter() }
    }

    /// The share that a fault leaves of something of a socket.
    fn left(&self, cpu: CpuId, of: impl Fn(Fault) -> Option<f64>) -> f64 {
        let hit = self.fault.filter(|(socket, _)| cpu.0 / 4 == *socket);
        hit.and_then(|(_, fault)| of(fault)).unwrap_or(1.0)
    }

    /// What would be measured.
    pub(crate) fn sockets(&self) -> Sockets {
        let mut random = Random::new(6440);
        let graph = Graph::of_links(self.nodes, &self.links).expect("links of the machine");
        let hops = graph.hops().expect("they join all");
        let cpus: Vec<CpuId> = (0..self.nodes.max(2)).map(|socket| CpuId(4 * socket as u32)).collect();
        let home = |cpu: CpuId| (cpu.0 as usize / 4).min(self.nodes - 1);
        let mut sockets = Sockets { schema: SOCKETS_SCHEMA, elapsed_s: 15.0, ..Sockets::default() };
        sockets.subjects = cpus
            .iter()
            .map(|&cpu| SocketSubject {
                cpu,
                package: Some(i64::from(cpu.0 / 4)),
                node: Some(NodeId(home(cpu) as u32)),
                stands_for: (cpu.0..cpu.0 + 4).map(CpuId).collect::<CpuSet>(),
            })
            .collect();
        sockets.nodes = (0..self.nodes as u32)
            .map(|node| SocketNode {
                node: NodeId(node),
                block_bytes: Bytes(64 << 20),
                placed_share: Some(1.0),
            })
            .collect();
        for &cpu in &cpus {
            for node in 0..self.nodes {
                let ns = self.times.read_ns(&hops, self.coherence, home(cpu), node);
                let left = self.left(cpu, |fault| match fault {
                    Fault::Bandwidth(share) => Some(share),
                    Fault::Neighbour(_) => Some(0.9),
                    _ => None,
                });
                let triad = self.lines * 64e9 / ns * left;
                let seen = rounded(ns * noisy(&mut random, self.noise));
                sockets.latency.push(NodeLatency {
                    cpu,
                    node: NodeId(node as u32),
                    ns: seen,
                    standard_error_ns: rounded(ns * self.noise.max(0.001)),
                    spread: spread(seen, self.noise),
                });
                let seen = rounded(triad * noisy(&mut random, self.noise));
                sockets.bandwidth.push(NodeBandwidth {
                    cpu,
                    node: NodeId(node as u32),
                    kernel: "triad".to_owned(),
                    isa: "avx2".to_owned(),
                    store: "plain".to_owned(),
                    bytes_per_s: seen,
                    bus_bytes_per_s: rounded(seen * 4.0 / 3.0),
                    spread: spread(seen, self.noise),
                });
            }
        }
        for &cpu in &cpus {
            sockets.cores.push(self.core(cpu));
            sockets.scaling.push(self.together(cpu, &mut random));
        }
        self.judge(&mut sockets, &cpus);
        if let Some((socket, Fault::TwoNodes)) = self.fault {
            let mut other = sockets.subjects[socket as usize].clone();
            other.cpu = CpuId(4 * socket + 2);
            other.node = Some(NodeId(self.nodes as u32));
            sockets.subjects.push(other);
        }
        sockets
    }

    fn core(&self, cpu: CpuId) -> SubjectCore {
        let clock = self.left(cpu, |fault| if let Fault::Clock(share) = fault { Some(share) } else { None });
        let share = self
            .left(cpu, |fault| if let Fault::Neighbour(taken) = fault { Some(1.0 - taken) } else { None });
        let multiply_ns = rounded(1.2 / clock);
        SubjectCore {
            cpu,
            multiply_ns,
            multiply_interval: Interval {
                low: rounded(multiply_ns * 0.999),
                high: rounded(multiply_ns * 1.001),
            },
            port_ns: rounded(0.1 / clock / share),
            disturbed_share: 0.04,
        }
    }

    /// All four CPUs of a socket: a roof that is met by two and a half of them.
    fn together(&self, cpu: CpuId, random: &mut Random) -> PackageScaling {
        let left =
            self.left(cpu, |fault| if let Fault::Together(share) = fault { Some(share) } else { None });
        let rate = rounded(2.5 * self.lines * 64e9 / self.times.dram_ns * left * noisy(random, self.noise));
        PackageScaling {
            package: Some(i64::from(cpu.0 / 4)),
            cpus: (cpu.0..cpu.0 + 4).map(CpuId).collect::<CpuSet>(),
            bytes_per_s: rate,
            spread: spread(rate, self.noise),
        }
    }

    /// The verdict that goes with what was measured.
    fn judge(&self, sockets: &mut Sockets, cpus: &[CpuId]) {
        let own = |cpu: CpuId| {
            let node = NodeId((cpu.0 / 4).min(self.nodes as u32 - 1));
            let latency = sockets.latency.iter().find(|one| one.cpu == cpu && one.node == node);
            let triad = sockets.bandwidth.iter().find(|one| one.cpu == cpu && one.node == node);
            [latency.map_or(1.0, |one| one.ns), triad.map_or(1.0, |one| 1e18 / one.bytes_per_s)]
        };
        let times: Vec<[f64; 2]> = cpus.iter().map(|&cpu| own(cpu)).collect();
        for (place, quantity) in ["latency", "triad"].into_iter().enumerate() {
            let logs: Vec<f64> = times.iter().map(|of| of[place].ln()).collect();
            let sum: f64 = logs.iter().sum();
            let ratio = |log: &f64| (log - (sum - log) / (logs.len() - 1) as f64).exp();
            let half = self.aa_half_width * 1.5;
            let rows: Vec<SubjectRow> = cpus
                .iter()
                .zip(&logs)
                .map(|(&cpu, log)| {
                    let ratio = rounded(ratio(log));
                    let interval = Interval { low: rounded(ratio - half), high: rounded(ratio + half) };
                    let is_beyond = interval.low > 1.015 || interval.high < 1.0 / 1.015;
                    SubjectRow { cpu, ratio, interval, differs: is_beyond && self.aa_half_width <= 0.015 }
                })
                .collect();
            let verdict = if rows.iter().any(|row| row.differs) {
                SocketVerdict::Asymmetric
            } else if self.aa_half_width > 0.015 {
                SocketVerdict::Inconclusive
            } else {
                SocketVerdict::Alike
            };
            sockets.equality.push(SubjectEquality {
                quantity: quantity.to_owned(),
                verdict,
                aa_half_width: self.aa_half_width,
                rounds: 24,
                rows,
            });
        }
        let has = |verdict| sockets.equality.iter().any(|of| of.verdict == verdict);
        sockets.verdict = if has(SocketVerdict::Asymmetric) {
            SocketVerdict::Asymmetric
        } else if has(SocketVerdict::Inconclusive) {
            SocketVerdict::Inconclusive
        } else {
            SocketVerdict::Alike
        };
    }
}

/// One and a little.
fn noisy(random: &mut Random, share: f64) -> f64 {
    1.0 + share * random.normal()
}

/// Six digits: enough for any instrument, and the same on every machine.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().expect("a number")
}

fn spread(value: f64, noise: f64) -> Spread {
    let half = value * noise.max(0.001) * 2.0;
    let interval = Interval { low: rounded(value - half), high: rounded(value + half) };
    Spread { interval, mappings: 3, windows: 192, ..Spread::default() }
}
