//! What a placement should gain, by simulating the program's threads event by event under the kernel's policy and under the arm.
//!
//! What is known of the threads is their profile: CPU time, who wakes whom, for how long they rest. What is known of the machine is
//! what a handover between threads costs on one CPU and on two, measured just before, and the check-up's co-runs and wake-up curve
//! where they are given. Where threads take turns, what the kernel does decides, and it is known to do several things: those count with
//! which runs agree that nobody watched. Programs whose threads do something else than compute, rest, or take turns in twos are not
//! predicted, nor what no kernel that is simulated does.

use models::scheduling::{Class, Compiled, Length, Load, Policy, Step, Thread, thread_speeds};
use probes::cores::handover::Handovers;
use record::{Cores, Sharing, SharingThread};
use stats::Interval;

use super::cpu_slots::CpuSlots;
use super::decision::Busy;
use super::handover_costs::Costs;
use super::kernel::{Kernel, agrees};
use super::roles::{Role, roles};
pub use super::roles::{Unwatched, Watched};

/// Two that take turns and whose median rest is longer than a simulated round by this factor wait for something else, which is simulated
/// as a pause: rests are counted by powers of two, and a partner may wait for its CPU.
const RESTS_FACTOR: f64 = 4.0;
/// Turns that come more often in a profile than simulated by this factor are something else, where nobody saw the program unwatched.
const PACE_FACTOR: f64 = 1.5;
/// Where other programs have more of the CPUs, turns wait for them, which is not simulated. Assumed: so much may hide in the intervals
/// of handovers.
const OTHERS_MAX: f64 = 0.1;
/// Threads that meet in written memory for less of their accesses, which are seen by the time that they take, can gain or lose no
/// more by that than the margin of the experiment.
const WRITTEN_MIN: f64 = 0.02;
/// Of the simulations that figures are taken from.
pub(super) const SEED: u64 = 1;
/// Programs without turns are simulated by so many seeds, which are all that is not known better of them. Assumed: turns have their
/// kernels and costs for that, and take far longer.
const SEEDS_WITHOUT_TURNS: u64 = 5;

/// Change of the time in percent that an arm should bring against the kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Predicted {
    /// By the costs as measured.
    pub percent: f64,
    /// Over all that is not known better: costs within their intervals, what watching cost the profile, the kernel's choice of idle CPUs,
    /// and chance in the simulation.
    pub interval: Interval,
}

/// The program on the machine, ready to be placed in any way.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// What predicted.
    pub by: String,
    /// Wall time of the runs that the kernel's own placement was judged by; `None` where that does not enter.
    pub judged_by_s: Option<Interval>,
    variants: Vec<Variant>,
    /// The threads whose time is the program's.
    deciding: Vec<bool>,
}

/// One way to read what was measured and one of the kernel's.
#[derive(Debug, Clone, PartialEq)]
struct Variant {
    kernel: Kernel,
    machine: Compiled,
    load: Load,
    /// Speed of each thread where the kernel decides, by [`SEED`] and those after it.
    speeds: Vec<Vec<f64>>,
    /// Turns of all pairs per second over those that were seen; `None` without any.
    pace: Option<f64>,
    /// Time of runs that agree with it over the time simulated, the median run's first; none where no run is to agree.
    slower: Vec<f64>,
    /// It agrees with the median run.
    is_median: bool,
}

impl Prediction {
    /// The threads of a profile on the CPUs at hand.
    ///
    /// # Errors
    /// Why nothing can be predicted, in words.
    pub fn of(
        threads: &[Busy],
        sharing: Option<&Sharing>,
        slots: &CpuSlots,
        cores: &Cores,
        handovers: &Result<Handovers, String>,
        watched: Watched,
    ) -> Result<Self, String> {
        let of_thread =
            |busy: &Busy| sharing.and_then(|sharing| sharing.threads.get(busy.place_in(sharing)?));
        let known: Vec<Option<&SharingThread>> = threads.iter().map(of_thread).collect();
        if let Some(why) = sharing.and_then(|sharing| writers(threads, sharing)) {
            return Err(why);
        }
        let roles = roles(threads, &known, sharing, slots.cpus.len(), watched)?;
        let takes_turns = roles.iter().any(|role| matches!(role, Role::Turns { .. }));
        let readings = match handovers {
            Ok(found) => Costs::readings(found),
            Err(why) if takes_turns => {
                return Err(format!("what a handover between threads costs could not be measured: {why}"));
            }
            Err(_) => vec![Costs::default()],
        };
        let program = Doings {
            classes: known.iter().map(|thread| class(*thread)).collect(),
            is_slowed: takes_turns && watched == Watched::AllTheTime,
            far: slots.far_order(),
            roles,
        };
        let mut variants = Vec::new();
        for costs in readings {
            let machine = costs
                .machine(&slots.cpus, &slots.level_sizes(), cores)
                .ok_or("one CPU leaves nothing to choose")?;
            let machine = Compiled::new(&machine, false);
            for kernel in Kernel::candidates(takes_turns) {
                variants.extend(program.variants(*kernel, costs, &machine));
            }
        }
        if takes_turns {
            variants = agreeing(variants, program.turns_per_s(), watched)?;
        }
        // Who rests beside those that take turns waits for them as a rule: a main thread for its workers.
        let decides = |role: &Role| !takes_turns || !matches!(role, Role::Bursts { .. });
        Ok(Self {
            by: by(handovers.as_ref().ok(), &variants, takes_turns),
            judged_by_s: watched.walls_s().filter(|_| takes_turns),
            variants,
            deciding: program.roles.iter().map(decides).collect(),
        })
    }

    /// Change of the time for a slot per thread, in the order of the threads.
    pub fn predicted(&self, slot_of: &[usize]) -> Option<Predicted> {
        let mut percent = None;
        let mut ends = (f64::INFINITY, f64::NEG_INFINITY);
        for variant in &self.variants {
            let ratios = variant.ratios(slot_of, &self.deciding)?;
            let ratio = *ratios.first()?;
            let found = |ratio: f64| 100.0 * (ratio - 1.0);
            // Against the kernel's placement as simulated, and against the runs that were seen.
            for ratio in variant.slower.iter().map(|slower| ratio / slower).chain(ratios) {
                ends = (ends.0.min(found(ratio)), ends.1.max(found(ratio)));
            }
            if percent.is_none() && (variant.is_median || variant.pace.is_none()) {
                let slower = variant.slower.first().copied().unwrap_or(1.0);
                // Halfway between the two.
                percent = Some(found(ratio / slower.sqrt()));
            }
        }
        percent.map(|percent| Predicted { percent, interval: Interval::between(ends.0, ends.1) })
    }
}

impl Variant {
    /// Time over the kernel's by each seed: a program takes as long as the thread that lost most.
    fn ratios(&self, slot_of: &[usize], deciding: &[bool]) -> Option<Vec<f64>> {
        if slot_of.len() != deciding.len() || slot_of.iter().any(|slot| *slot >= self.machine.cpus()) {
            return None;
        }
        let by_seed = |(seed, kernel): (u64, &Vec<f64>)| {
            let placed = thread_speeds(&self.machine, &self.load, Policy::Pinned, slot_of, seed);
            let ratios = kernel.iter().zip(&placed).zip(deciding).filter(|(_, decides)| **decides);
            let slowest = ratios.map(|((kernel, placed), _)| kernel / placed).fold(0.0, f64::max);
            (slowest.is_finite() && slowest > 0.0).then_some(slowest)
        };
        (SEED..).zip(&self.speeds).map(by_seed).collect()
    }
}

/// What the threads do, as far as it was seen.
struct Doings {
    roles: Vec<Role>,
    classes: Vec<Class>,
    /// CPU times hold an unknown part of being watched.
    is_slowed: bool,
    /// CpuSlots, each next one as far as can be from those before.
    far: Vec<usize>,
}

impl Doings {
    /// The program under a kernel: with the CPU time beyond the handover as its own, and as that of being watched where it was.
    fn variants(&self, kernel: Kernel, costs: Costs, machine: &Compiled) -> Vec<Variant> {
        let own = |adds_ns: f64| {
            let of_role = |role: &Role| match role {
                Role::Turns { cpu_ns, .. } => (cpu_ns - costs.together - adds_ns).max(0.0),
                _ => 0.0,
            };
            self.roles.iter().map(of_role).collect::<Vec<f64>>()
        };
        let mut works: Vec<Vec<f64>> = kernel.adds_ns(costs).map(own).to_vec();
        if self.is_slowed {
            works.push(vec![0.0; self.roles.len()]);
        }
        works.dedup();
        works.iter().map(|works| self.variant(kernel, costs, machine, works)).collect()
    }

    fn variant(&self, kernel: Kernel, costs: Costs, machine: &Compiled, works: &[f64]) -> Variant {
        let simulated = |extra: &[(f64, f64)]| {
            let load = load_of(&self.roles, &self.classes, costs, extra);
            let speeds = kernel.speeds(machine, &load, &self.roles, &self.far, SEED);
            (load, speeds)
        };
        let mut extra: Vec<(f64, f64)> = works.iter().map(|work| (*work, 0.0)).collect();
        let (mut load, mut speeds) = simulated(&extra);
        for (index, role) in self.roles.iter().enumerate() {
            let Role::Turns { partner, per_s, rest_ns, .. } = role else { continue };
            // A round is two turns; one of the two rests for nearly as long.
            let round_ns = 2e9 / turns_per_s(&speeds, costs, works, index, *partner).max(f64::MIN_POSITIVE);
            let seen_ns = 2e9 / per_s;
            if *rest_ns > RESTS_FACTOR * round_ns && seen_ns > round_ns {
                let first = index.min(*partner);
                extra[first].1 = extra[first].1.max(seen_ns - round_ns);
            }
        }
        if extra.iter().any(|(_, pause_ns)| *pause_ns > 0.0) {
            (load, speeds) = simulated(&extra);
        }
        let pairs = self.roles.iter().enumerate().filter_map(|(index, role)| match role {
            Role::Turns { partner, .. } if index < *partner => Some((index, *partner)),
            _ => None,
        });
        let per_s: f64 = pairs.map(|(one, other)| turns_per_s(&speeds, costs, works, one, other)).sum();
        let seen_per_s = self.turns_per_s();
        let more = if seen_per_s > 0.0 { 0 } else { SEEDS_WITHOUT_TURNS - 1 };
        let by_seed = |seed| kernel.speeds(machine, &load, &self.roles, &self.far, seed);
        let speeds = [speeds].into_iter().chain((SEED + 1..=SEED + more).map(by_seed)).collect();
        Variant {
            kernel,
            machine: machine.clone(),
            load,
            speeds,
            pace: (seen_per_s > 0.0).then_some(per_s / seen_per_s),
            slower: Vec::new(),
            is_median: false,
        }
    }

    /// Turns of all pairs per second that were seen.
    fn turns_per_s(&self) -> f64 {
        let of_thread = |role: &Role| if let Role::Turns { per_s, .. } = role { per_s / 2.0 } else { 0.0 };
        self.roles.iter().map(of_thread).sum()
    }
}

/// Turns of a pair per second.
fn turns_per_s(speeds: &[f64], costs: Costs, works: &[f64], one: usize, other: usize) -> f64 {
    (speeds[one] + speeds[other]) / (costs.together + works[one]).max(1.0) * 1e9
}

/// The variants that agree with what was seen of the kernel's own placement, `seen_per_s` turns of all pairs per second.
///
/// # Errors
/// There is something that none agrees with, in words.
fn agreeing(variants: Vec<Variant>, seen_per_s: f64, watched: Watched) -> Result<Vec<Variant>, String> {
    let paces: Vec<f64> = variants.iter().filter_map(|variant| variant.pace).collect();
    let simulated = format!(
        "{:.0} to {:.0} in the simulation, whatever the kernel does there: something else takes the time",
        seen_per_s * paces.iter().copied().fold(f64::INFINITY, f64::min),
        seen_per_s * paces.iter().copied().fold(0.0, f64::max)
    );
    let mut kept = variants;
    let Watched::Once(unwatched) = watched else {
        // Being watched makes turns seldom, never frequent.
        kept.retain(|variant| variant.pace.is_none_or(|pace| pace * PACE_FACTOR >= 1.0));
        let first = kept.first_mut();
        let why = || {
            format!("its threads took {seen_per_s:.0} turns per second while it was watched, and {simulated}")
        };
        first.ok_or_else(why)?.is_median = true;
        return Ok(kept);
    };
    if let Some(share) = unwatched.others_share.filter(|share| *share > OTHERS_MAX) {
        return Err(format!(
            "other programs had {:.0} % of the CPUs while it ran by itself, and turns that wait for them are not simulated",
            100.0 * share
        ));
    }
    let walls = unwatched.walls_s;
    for (index, wall_s) in [unwatched.wall_s, walls.low, walls.high].into_iter().enumerate() {
        let longer = wall_s / unwatched.wall_s;
        let mut is_met = false;
        for variant in &mut kept {
            let slower = variant.pace.unwrap_or(1.0) * longer;
            if agrees(slower) {
                variant.slower.push(slower);
                variant.is_median |= index == 0;
                is_met = true;
            }
        }
        if !is_met {
            return Err(format!(
                "its threads took {:.0} turns per second where the kernel placed them unwatched, and {simulated}",
                seen_per_s / longer
            ));
        }
    }
    kept.retain(|variant| !variant.slower.is_empty());
    // The one nearest to the median run is the one that counts; the others are what is not known better.
    let distance =
        |variant: &Variant| variant.slower.first().map_or(f64::INFINITY, |slower| slower.ln().abs());
    kept.sort_by(|a, b| b.is_median.cmp(&a.is_median).then(distance(a).total_cmp(&distance(b))));
    Ok(kept)
}

fn by(handovers: Option<&Handovers>, variants: &[Variant], takes_turns: bool) -> String {
    let simulated = "a simulation of its threads, event by event, under each placement and under";
    let Some(found) = handovers.filter(|_| takes_turns) else {
        return format!("{simulated} the kernel's policy");
    };
    let mut kernels: Vec<&str> = Vec::new();
    for variant in variants {
        if !kernels.contains(&variant.kernel.what()) {
            kernels.push(variant.kernel.what());
        }
    }
    format!(
        "{simulated} a kernel that {}, with which what was seen of it agrees; a handover takes {:.1} us on one CPU, {:.1} us between two, and {:.1} and {:.1} us if two other threads do so there as well, measured",
        kernels.join(", or "),
        found.together.ns / 1e3,
        found.apart.ns / 1e3,
        found.stacked.ns / 1e3,
        found.crowded.ns / 1e3
    )
}

/// Why nothing is predicted of threads that write to the same memory, of the pair that does so most: what a line costs that moves
/// between their CPUs depends on how often they touch it in turn, which samples do not tell.
fn writers(threads: &[Busy], sharing: &Sharing) -> Option<String> {
    let places: Vec<(&Busy, usize)> =
        threads.iter().filter_map(|busy| Some((busy, busy.place_in(sharing)?))).collect();
    let pairs =
        places.iter().enumerate().flat_map(|(at, one)| places[..at].iter().map(move |other| (*other, *one)));
    let amounts =
        pairs.filter_map(|(one, other)| Some((one.0, other.0, sharing.write_shared.get(one.1, other.1)?)));
    let told = amounts.filter(|(.., amount)| amount.value >= WRITTEN_MIN && amount.interval.low > 0.0);
    let (one, other, amount) = told.max_by(|one, other| one.2.value.total_cmp(&other.2.value))?;
    Some(format!(
        "threads {} and {} write to the same memory ({:.0} % of their accesses meet there), and what it costs to move that between \
         CPUs is not simulated",
        one.key.name,
        other.key.name,
        100.0 * amount.value
    ))
}

fn class(thread: Option<&SharingThread>) -> Class {
    let Some(demand) = thread.map(|thread| thread.demand) else { return Class::Integer };
    let shares = [
        (demand.integer, Class::Integer),
        (demand.floating, Class::Floating),
        (demand.front_end, Class::FrontEnd),
        (demand.memory, Class::Memory),
    ];
    shares.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).map_or(Class::Integer, |(_, class)| class)
}

/// Threads as the engine runs them; `extra` is own work per turn and a pause per round, in nanoseconds.
pub(super) fn load_of(roles: &[Role], classes: &[Class], costs: Costs, extra: &[(f64, f64)]) -> Load {
    let thread = |(index, role): (usize, &Role)| {
        let class = classes[index];
        let (own_ns, pause_ns) = extra[index];
        let steps = match role {
            Role::Computes => vec![Step::Compute(class, Length::Endless)],
            Role::Bursts { work_ns, rest_ns } => {
                vec![Step::Compute(class, Length::Random(*work_ns)), Step::Sleep(Length::Random(*rest_ns))]
            }
            Role::Turns { partner, .. } => {
                let turn = Step::Compute(class, Length::Fixed((costs.together + own_ns).max(1.0)));
                if index < *partner {
                    let mut steps = vec![turn, Step::Wake(*partner), Step::Wait];
                    if pause_ns > 0.0 {
                        steps.push(Step::Sleep(Length::Random(pause_ns)));
                    }
                    steps
                } else {
                    vec![Step::Wait, turn, Step::Wake(*partner)]
                }
            }
        };
        Thread { steps, private_bytes: 0, shared_set: None, process: 0 }
    };
    Load { threads: roles.iter().enumerate().map(thread).collect(), shared_sets: Vec::new() }
}

#[cfg(test)]
mod tests;
