//! From the time of a probe to its settings on this machine.

use host::live::PageRequest;
use machine::{Bytes, CpuId, Machine};

use super::pairs::{ChosenPairs, choose_pairs};
use super::{Depth, Options, Probe};
use crate::cores::{compute, control, sharing, transfer, wake};
use crate::memory::surface::{self, Grid};
use crate::memory::{bandwidth, loaded, orders, parallel, sockets, stream, walks};
use crate::signature::check_up as signatures;
use crate::{clock_pairs, clocks, cores::CpuPair};

/// How one probe runs.
#[derive(Debug, Clone, PartialEq)]
pub enum ProbeSettings {
    /// Control loops.
    Control(control::Settings),
    /// A latency surface on one CPU.
    Surface(surface::Settings),
    /// Bandwidth against block size.
    Bandwidth(bandwidth::Settings),
    /// STREAM.
    Stream(stream::Settings),
    /// Page walks.
    Walks(walks::Settings),
    /// Orders of visits.
    Orders(orders::Settings),
    /// Several chases at once.
    Parallel(parallel::Settings),
    /// Latency under load.
    Loaded(loaded::Settings),
    /// Every CPU against the memory of every node.
    Sockets(sockets::Settings),
    /// Line transfer.
    Transfer(transfer::Settings),
    /// Sharing.
    Sharing(sharing::Settings),
    /// Compute loops.
    Compute(compute::Settings),
    /// Waking.
    Wake(wake::Settings),
    /// Clock reads.
    Clocks(clocks::Settings),
    /// Counters against each other.
    ClockPairs(clock_pairs::check_up::Settings),
    /// Signatures of flaws.
    Signatures(signatures::Settings),
}

impl ProbeSettings {
    /// Time it may take at most on so many CPUs of a machine, in seconds.
    pub fn worst_case_s(&self, cpus: usize, machine: &Machine) -> f64 {
        match self {
            Self::Control(settings) => settings.worst_case_s(),
            Self::Surface(settings) => settings.worst_case_s(),
            Self::Transfer(settings) => settings.worst_case_s(),
            Self::Sharing(settings) => settings.worst_case_s(),
            Self::Compute(settings) => settings.worst_case_s(),
            Self::Wake(settings) => settings.worst_case_s(),
            Self::Clocks(settings) => settings.worst_case_s(),
            Self::ClockPairs(settings) => settings.worst_case_s(),
            Self::Signatures(settings) => settings.worst_case_s(),
            Self::Bandwidth(settings) => settings.worst_case_s(cpus, machine),
            Self::Stream(settings) => settings.worst_case_s(cpus, machine),
            Self::Walks(settings) => settings.worst_case_s(cpus, machine),
            Self::Orders(settings) => settings.worst_case_s(cpus, machine),
            Self::Parallel(settings) => settings.worst_case_s(cpus, machine),
            Self::Loaded(settings) => settings.worst_case_s(cpus, machine),
            Self::Sockets(settings) => settings.worst_case_s(machine),
        }
    }
}

/// Block that the memory loop of the sharing probe reads on each CPU: twice the largest cache, within these bounds.
const MEMORY_BLOCK: (Bytes, Bytes) = (Bytes(64 << 20), Bytes(128 << 20));
/// Largest block of the large surface.
const LARGEST_SURFACE: Bytes = Bytes(512 << 20);
/// Stride of the huge-page column that `--quick` measures: a cache line.
const QUICK_HUGE_STRIDES: [usize; 1] = [64];

/// What a plan is made for.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) machine: &'a Machine,
    pub(super) cpus: &'a [CpuId],
    pub(super) options: &'a Options,
    pub(super) seed: u64,
}

/// Value by depth.
fn by_depth<T>(depth: Depth, [quick, default, full]: [T; 3]) -> T {
    match depth {
        Depth::Quick => quick,
        Depth::Default => default,
        Depth::Full => full,
    }
}

impl Subject<'_> {
    /// Memory that one block may take: a quarter of the machine's, half of any limit.
    fn room(&self) -> Bytes {
        let environment = &self.machine.environment;
        let limits = &environment.limits;
        // A surface maps its next block before it lets go of the last one; the address space also holds the program.
        let address_space = limits.address_space_bytes.map(|limit| Bytes(limit.0 / 2));
        let halves = [limits.cgroup_memory_bytes, limits.available_memory_bytes, address_space]
            .into_iter()
            .flatten()
            .map(|limit| Bytes(limit.0 / 2));
        let quarter = environment.memory_bytes.map(|memory| Bytes(memory.0 / 4));
        halves.chain(quarter).min().unwrap_or(LARGEST_SURFACE)
    }

    /// Pairs and, where not all are measured, a line that says which.
    fn pairs(&self, limit: usize) -> (ChosenPairs, Vec<String>) {
        let chosen = choose_pairs(&self.machine.topology, self.cpus, self.seed, limit);
        let line = (chosen.pairs.len() < chosen.possible).then(|| {
            format!(
                "{} of {} pairs of CPUs: one of each of {} kinds of neighbourhood, the others at random",
                chosen.pairs.len(),
                chosen.possible,
                chosen.kinds.min(chosen.pairs.len())
            )
        });
        (chosen, line.into_iter().collect())
    }

    /// Grid without the blocks that memory has no room for, and a line that says so.
    fn grid_in_room(&self, mut grid: Grid) -> (Grid, Vec<String>) {
        let (room, largest) = (self.room(), grid.largest_bytes());
        grid.blocks.retain(|&block| block as u64 <= room.0);
        if grid.blocks.is_empty() {
            // Four KiB are always there; a grid is never empty.
            grid.blocks = vec![4096];
        }
        let line = (grid.largest_bytes() < largest).then(|| {
            format!(
                "blocks up to {} in place of {}: memory has no more room",
                Bytes(grid.largest_bytes() as u64),
                Bytes(largest as u64)
            )
        });
        (grid, line.into_iter().collect())
    }

    fn surface(&self, probe: Probe, seconds: f64) -> (ProbeSettings, Vec<String>) {
        let page = if probe == Probe::Surface { PageRequest::Base } else { PageRequest::Huge };
        let mut settings = surface::Settings::check_up(page, seconds);
        let mut reduced = Vec::new();
        if probe == Probe::SurfaceLarge {
            settings = surface::Settings::large(page, seconds, LARGEST_SURFACE);
        } else if probe == Probe::SurfaceHuge && self.options.depth == Depth::Quick {
            settings.grid.strides = QUICK_HUGE_STRIDES.to_vec();
            reduced.push("strides of 64 B only: --quick".to_owned());
        }
        let (grid, less) = self.grid_in_room(settings.grid);
        settings.grid = grid;
        reduced.extend(less);
        // Its worst case is its budget and something that does not depend on it.
        settings.budget_s = net_s(seconds, settings.worst_case_s() - settings.budget_s);
        (ProbeSettings::Surface(settings), reduced)
    }

    fn transfer(&self, seconds: f64) -> (ProbeSettings, Vec<String>) {
        let (chosen, reduced) = self.pairs(by_depth(self.options.depth, [32, 120, 1000]));
        let mut settings = transfer::Settings {
            pairs: chosen.pairs,
            lines: by_depth(self.options.depth, [4, 6, 10]),
            rounds: by_depth(self.options.depth, [20, 40, 100]),
            budget_s: 0.0,
        };
        settings.budget_s = net_s(seconds, settings.worst_case_s());
        (ProbeSettings::Transfer(settings), reduced)
    }

    fn sharing(&self, seconds: f64) -> (ProbeSettings, Vec<String>) {
        let (chosen, reduced) = self.pairs(by_depth(self.options.depth, [3, 10, 40]));
        let cache = self.machine.topology.largest_cache_bytes().unwrap_or_default();
        let block = Bytes(cache.0 * 2).clamp(MEMORY_BLOCK.0, MEMORY_BLOCK.1);
        let mut settings = sharing::Settings {
            pairs: chosen.pairs,
            unlike_pairs: by_depth(self.options.depth, [0, 1, 4]),
            memory_block: block.min(Bytes(self.room().0 / 2)).max(Bytes::MIB),
            rounds: by_depth(self.options.depth, [8, 16, 40]),
            budget_s: 0.0,
        };
        settings.budget_s = net_s(seconds, settings.worst_case_s());
        (ProbeSettings::Sharing(settings), reduced)
    }

    fn wake(&self, seconds: f64) -> (ProbeSettings, Vec<String>) {
        let (chosen, _) = self.pairs(by_depth(self.options.depth, [4, 4, 8]));
        let siblings = |pair: &CpuPair| self.machine.topology.siblings(pair.a).contains(pair.b);
        let count = by_depth(self.options.depth, [1, 1, 3]);
        // A sibling of a spinning CPU is not idle; where there is nothing else, it has to do.
        let (near, apart): (Vec<CpuPair>, Vec<CpuPair>) = chosen.pairs.into_iter().partition(siblings);
        let pairs: Vec<CpuPair> = apart.into_iter().chain(near).take(count).collect();
        let idle_us =
            by_depth(self.options.depth, [&wake::IDLE_US[..7], &wake::IDLE_US[..], &wake::IDLE_US[..]]);
        let reduced: Vec<String> = (idle_us.len() < wake::IDLE_US.len())
            .then(|| "idle times up to 10 ms in place of 100 ms: --quick".to_owned())
            .into_iter()
            .collect();
        let mut settings = wake::Settings {
            pairs,
            idle_us: idle_us.to_vec(),
            rounds: by_depth(self.options.depth, [10, 16, 40]),
            budget_s: 0.0,
        };
        settings.budget_s = net_s(seconds, settings.worst_case_s());
        (ProbeSettings::Wake(settings), reduced)
    }

    /// One CPU of each package, the first; on a hybrid machine or elsewhere without package numbers the first of all.
    fn one_cpu_per_package(&self) -> Vec<CpuId> {
        let topology = &self.machine.topology;
        let mut packages = Vec::new();
        let mut chosen = Vec::new();
        for &cpu in self.cpus {
            let package = topology.cpu(cpu).map(|cpu| cpu.package);
            if !packages.contains(&package) {
                packages.push(package);
                chosen.push(cpu);
            }
        }
        chosen
    }
}

/// Time for visits: the worst case less what the probe adds to its budget; never below a tenth of a second.
pub(crate) fn net_s(seconds: f64, added_s: f64) -> f64 {
    (seconds - added_s).max(0.05)
}

/// Settings of a memory probe at the depth of the plan, whose worst case is the time given.
macro_rules! shortened {
    ($module:ident, $subject:expr, $seconds:expr) => {{
        let by_depth = [$module::Settings::quick, $module::Settings::check_up, $module::Settings::full];
        let mut settings = by_depth[$subject.options.depth as usize]();
        let worst_s = settings.worst_case_s($subject.cpus.len(), $subject.machine);
        settings.budget_s = net_s($seconds, worst_s - settings.budget_s);
        settings
    }};
}

/// Settings of a probe that takes at most `seconds`, and what was cut.
pub(super) fn settings(subject: &Subject<'_>, probe: Probe, seconds: f64) -> (ProbeSettings, Vec<String>) {
    let depth = subject.options.depth;
    let whole = |settings| (settings, Vec::new());
    match probe {
        Probe::Control => {
            let (cpus, rounds) = (subject.cpus.to_vec(), by_depth(depth, [24, 50, 100]));
            let mut settings = control::Settings { cpus, rounds, budget_s: 0.0 };
            settings.budget_s = net_s(seconds, settings.worst_case_s());
            whole(ProbeSettings::Control(settings))
        }
        Probe::Compute => {
            let (cpus, rounds) = (subject.cpus.to_vec(), by_depth(depth, [20, 50, 100]));
            let mut settings = compute::Settings { cpus, rounds, budget_s: 0.0 };
            settings.budget_s = net_s(seconds, settings.worst_case_s());
            whole(ProbeSettings::Compute(settings))
        }
        Probe::Clocks => {
            let cpus = subject.one_cpu_per_package();
            let (settings, reduced) = clocks::Settings::within(seconds, cpus, depth != Depth::Quick);
            (ProbeSettings::Clocks(settings), reduced)
        }
        Probe::ClockPairs => {
            let (settings, reduced) = clock_pairs::check_up::Settings::within(seconds, depth, subject.cpus);
            (ProbeSettings::ClockPairs(settings), reduced)
        }
        Probe::Sockets => {
            let (settings, reduced) =
                sockets::Settings::within(seconds, depth, subject.machine, subject.cpus);
            (ProbeSettings::Sockets(settings), reduced)
        }
        Probe::Signatures => {
            let probes = subject.options.signatures.clone();
            let mut settings = signatures::Settings { probes, budget_s: 0.0 };
            settings.budget_s = net_s(seconds, settings.worst_case_s());
            whole(ProbeSettings::Signatures(settings))
        }
        Probe::Surface | Probe::SurfaceHuge | Probe::SurfaceLarge => subject.surface(probe, seconds),
        Probe::Transfer => subject.transfer(seconds),
        Probe::Sharing => subject.sharing(seconds),
        Probe::Wake => subject.wake(seconds),
        Probe::Bandwidth => {
            let settings = shortened!(bandwidth, subject, seconds);
            let reduced = settings.reduced(subject.machine);
            (ProbeSettings::Bandwidth(settings), reduced)
        }
        Probe::Stream => {
            let settings = shortened!(stream, subject, seconds);
            let reduced = settings.reduced(subject.machine);
            (ProbeSettings::Stream(settings), reduced)
        }
        Probe::Walks => whole(ProbeSettings::Walks(shortened!(walks, subject, seconds))),
        Probe::Orders => whole(ProbeSettings::Orders(shortened!(orders, subject, seconds))),
        Probe::Parallel => whole(ProbeSettings::Parallel(shortened!(parallel, subject, seconds))),
        Probe::Loaded => whole(ProbeSettings::Loaded(shortened!(loaded, subject, seconds))),
    }
}
