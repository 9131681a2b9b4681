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

use super::decision::Busy;
use super::handover_costs::Costs;
use super::kernel::{Kernel, agrees};
use super::roles::{Role, roles};
pub use super::roles::{Unwatched, Watched};
use super::seats::Seats;

/// Two that take turns and whose median rest is longer than a simulated round by this factor wait for something else, which is simulated
/// as a pause: rests are counted by powers of two, and a partner may wait for its CPU.
const RESTS_FACTOR: f64 = 4.0;
/// Turns that come more often in a profile than simulated by this factor are something else, where nobody saw the program unwatched.
const PACE_FACTOR: f64 = 1.5;
/// Where other programs have more of the CPUs, turns wait for them, which is not simulated. Assumed: so much may hide in the intervals
/// of handovers.
const OTHERS_MAX: f64 = 0.1;
/// Of all simulations.
pub(super) const SEED: u64 = 1;

/// Change of the time in percent that an arm should bring against the kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Predicted {
    /// By the costs as measured.
    pub percent: f64,
    /// Over all that is not known better: costs within their intervals, what watching cost the profile, the kernel's choice of idle CPUs.
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
    /// Speed of each thread where the kernel decides.
    speeds: Vec<f64>,
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
        seats: &Seats,
        cores: &Cores,
        handovers: &Result<Handovers, String>,
        watched: Watched,
    ) -> Result<Self, String> {
        let of_thread =
            |busy: &Busy| sharing.and_then(|sharing| sharing.threads.get(busy.place_in(sharing)?));
        let known: Vec<Option<&SharingThread>> = threads.iter().map(of_thread).collect();
        let roles = roles(threads, &known, sharing, seats.cpus.len(), watched)?;
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
            far: seats.far_order(),
            roles,
        };
        let mut variants = Vec::new();
        for costs in readings {
            let machine = costs
                .machine(&seats.cpus, &seats.level_sizes(), cores)
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

    /// Change of the time for a seat per thread, in the order of the threads.
    pub fn predicted(&self, seat_of: &[usize]) -> Option<Predicted> {
        let mut percent = None;
        let mut ends = (f64::INFINITY, f64::NEG_INFINITY);
        for variant in &self.variants {
            let ratio = variant.ratio(seat_of, &self.deciding)?;
            let found = |ratio: f64| 100.0 * (ratio - 1.0);
            // Against the kernel's placement as simulated, and against the runs that were seen.
            for ratio in variant.slower.iter().map(|slower| ratio / slower).chain([ratio]) {
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
    /// Time over the kernel's: a program takes as long as the thread that lost most.
    fn ratio(&self, seat_of: &[usize], deciding: &[bool]) -> Option<f64> {
        if seat_of.len() != self.speeds.len() || seat_of.iter().any(|seat| *seat >= self.machine.cpus()) {
            return None;
        }
        let placed = thread_speeds(&self.machine, &self.load, Policy::Pinned, seat_of, SEED);
        let ratios = self.speeds.iter().zip(&placed).zip(deciding).filter(|(_, decides)| **decides);
        let slowest = ratios.map(|((kernel, placed), _)| kernel / placed).fold(0.0, f64::max);
        (slowest.is_finite() && slowest > 0.0).then_some(slowest)
    }
}

/// What the threads do, as far as it was seen.
struct Doings {
    roles: Vec<Role>,
    classes: Vec<Class>,
    /// CPU times hold an unknown part of being watched.
    is_slowed: bool,
    /// Seats, each next one as far as can be from those before.
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
            let speeds = kernel.speeds(machine, &load, &self.roles, &self.far);
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
                "its threads took {:.0} turns per second where the kernel placed them and nobody watched, and {simulated}",
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
        "{simulated} a kernel that {}, with which its runs agree; a handover takes {:.1} us on one CPU, {:.1} us between two, and {:.1} and {:.1} us if two other threads do so there as well, measured",
        kernels.join(", or "),
        found.together.ns / 1e3,
        found.apart.ns / 1e3,
        found.stacked.ns / 1e3,
        found.crowded.ns / 1e3
    )
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
mod tests {
    use machine::{CpuId, CpuSet, Topology};
    use record::{IdleGaps, SharedAmount, SharingMatrix};

    use probes::cores::handover::Handover;

    use super::super::roster::Key;
    use super::*;

    fn busy(shares: &[f64]) -> Vec<Busy> {
        let one = |(nth, cpu_share): (usize, &f64)| Busy {
            key: Key { process: 0, name: "w".to_owned(), nth },
            order: nth,
            process: 7,
            thread: 100 + nth as u32,
            cpu_share: *cpu_share,
        };
        shares.iter().enumerate().map(one).collect()
    }

    fn two_cpus() -> Seats {
        let set: CpuSet = (0..2).map(CpuId).collect();
        Seats::of(&Topology::default(), &set)
    }

    /// Threads 0 and 1 wake each other so often per second, 2 and 3 too.
    fn turns(threads: &[Busy], per_s: f64) -> Sharing {
        let amount = |value| SharedAmount { value, interval: Interval::between(value, value) };
        let thread =
            |busy: &Busy| SharingThread { tid: busy.thread, pid: busy.process, ..SharingThread::default() };
        let is_pair = |row: usize, column: usize| row / 2 == column / 2;
        Sharing {
            seconds: 1.0,
            threads: threads.iter().map(thread).collect(),
            wakes: Some(SharingMatrix::from_fn(threads.len(), |row, column| {
                Some(amount(if is_pair(row, column) { per_s } else { 0.0 }))
            })),
            ..Sharing::default()
        }
    }

    /// Of the order of what a guest of two CPUs takes: 2 us on one CPU, 6 between two, of which 4 are CPU time, 5 in a crowd.
    fn handovers() -> Handovers {
        let of = |ns: f64, cpu_ns: f64| Handover {
            ns,
            interval: Interval { low: 0.95 * ns, high: 1.05 * ns },
            cpu_ns,
        };
        Handovers {
            together: of(2e3, 2e3),
            apart: of(6e3, 4e3),
            crowded: of(5e3, 5e3),
            stacked: of(5e3, 2.5e3),
        }
    }

    fn predict(shares: &[f64], sharing: Option<&Sharing>) -> Result<Prediction, String> {
        predict_by(shares, sharing, Watched::AllTheTime)
    }

    fn predict_by(shares: &[f64], sharing: Option<&Sharing>, watched: Watched) -> Result<Prediction, String> {
        Prediction::of(&busy(shares), sharing, &two_cpus(), &Cores::default(), &Ok(handovers()), watched)
    }

    const PAIRS_ON_TWO: [[usize; 4]; 2] = [[0, 0, 1, 1], [0, 1, 0, 1]];

    /// Two pairs whose turns take so much CPU time beyond the handover, under a kernel: turns of a pair per second, CPU share of a thread,
    /// and change of the time by placement in percent.
    fn truth(kernel: Kernel, own_ns: f64) -> (f64, f64, [f64; 2]) {
        let costs = Costs::readings(&handovers())[0];
        let machine = costs.machine(&two_cpus().cpus, &[], &Cores::default()).expect("two CPUs");
        let machine = Compiled::new(&machine, false);
        let turns = |partner: usize| Role::Turns { partner, cpu_ns: 0.0, per_s: 0.0, rest_ns: 0.0 };
        let roles = [1, 0, 3, 2].map(turns);
        let load = load_of(&roles, &[Class::Integer; 4], costs, &[(own_ns, 0.0); 4]);
        let speeds = kernel.speeds(&machine, &load, &roles, &[0, 1]);
        let per_s = turns_per_s(&speeds, costs, &[own_ns; 4], 0, 1);
        let [least, most] = kernel.adds_ns(costs);
        let cpu_ns = costs.together + own_ns + f64::midpoint(least, most);
        let change = |seats: [usize; 4]| {
            let placed = thread_speeds(&machine, &load, Policy::Pinned, &seats, SEED);
            100.0 * (speeds[0] / placed[0] - 1.0)
        };
        (per_s, per_s * cpu_ns / 2e9, PAIRS_ON_TWO.map(change))
    }

    /// Runs of so many seconds, the median 1.
    fn unwatched(low_s: f64, high_s: f64) -> Unwatched {
        Unwatched {
            slower: 1.0,
            wall_s: 1.0,
            walls_s: Interval::between(low_s, high_s),
            others_share: Some(0.02),
        }
    }

    const KERNELS: [Kernel; 4] = [Kernel::IdleSibling, Kernel::AnyIdle, Kernel::Stacked, Kernel::Grouped];

    #[test]
    fn whatever_the_kernel_does_its_pairs_gain_what_the_interval_says() {
        for (kernel, own_ns) in KERNELS.into_iter().flat_map(|kernel| [(kernel, 0.0), (kernel, 4e3)]) {
            let (per_s, share, changes) = truth(kernel, own_ns);
            let sharing = turns(&busy(&[share; 4]), per_s / 2.0);
            for watched in [Watched::Once(unwatched(0.95, 1.05)), Watched::AllTheTime] {
                let found = predict_by(&[share; 4], Some(&sharing), watched).expect("two pairs");
                for (seats, change) in PAIRS_ON_TWO.iter().zip(changes) {
                    let foreseen = found.predicted(seats).expect("four seats");
                    let reached = foreseen.interval.low - 0.5..=foreseen.interval.high + 0.5;
                    assert!(reached.contains(&change), "{kernel:?} {own_ns} {change}: {foreseen:?}");
                    assert!(foreseen.interval.contains(foreseen.percent), "{foreseen:?}");
                }
                assert_eq!(found.predicted(&[0, 0, 1]), None, "a seat is missing");
                assert_eq!(found.predicted(&[0, 0, 1, 2]), None, "there is no third CPU");
            }
        }
    }

    #[test]
    fn runs_tell_a_kernel_that_stacks_pairs_from_one_that_gives_each_a_cpu() {
        let together = |kernel: Kernel, runs: Unwatched| {
            let (per_s, share, _) = truth(kernel, 0.0);
            let sharing = turns(&busy(&[share; 4]), per_s / 2.0);
            let found = predict_by(&[share; 4], Some(&sharing), Watched::Once(runs)).expect("two pairs");
            found.predicted(&PAIRS_ON_TWO[0]).expect("four seats").interval
        };
        let (stacked, grouped) = (truth(Kernel::Stacked, 0.0).2[0], truth(Kernel::Grouped, 0.0).2[0]);
        assert!(stacked < -50.0 && grouped.abs() < 0.5, "{stacked} {grouped}");
        let sure = together(Kernel::Stacked, unwatched(0.98, 1.02));
        assert!(sure.contains(stacked) && sure.high < -20.0, "{sure:?}");
        let sure = together(Kernel::Grouped, unwatched(0.98, 1.02));
        assert!(sure.contains(grouped) && sure.low > -25.0, "{sure:?}");
        let either = together(Kernel::Stacked, unwatched(0.4, 1.02));
        assert!(either.contains(stacked) && either.contains(grouped), "runs of both kinds: {either:?}");
    }

    #[test]
    fn what_no_simulated_kernel_does_is_not_predicted() {
        let (per_s, share, _) = truth(Kernel::Stacked, 0.0);
        let refusal = |per_s: f64, share: f64, runs: Unwatched| {
            let sharing = turns(&busy(&[share; 4]), per_s / 2.0);
            predict_by(&[share; 4], Some(&sharing), Watched::Once(runs)).expect_err("nothing agrees")
        };
        let slow = refusal(per_s / 10.0, share / 10.0, unwatched(0.95, 1.05));
        assert!(slow.contains("turns per second") && slow.contains("in the simulation"), "{slow}");
        let torn = refusal(per_s, share, unwatched(0.95, 20.0));
        assert!(torn.contains("in the simulation"), "some runs take far longer: {torn}");
        let crowd = refusal(per_s, share, Unwatched { others_share: Some(0.3), ..unwatched(0.95, 1.05) });
        assert!(crowd.contains("other programs had 30 %"), "{crowd}");
    }

    #[test]
    fn turns_are_counted_where_nobody_need_be_woken_as_well() {
        let (per_s, share, changes) = truth(Kernel::Stacked, 0.0);
        let mut sharing = turns(&busy(&[share; 4]), per_s / 4.0);
        for thread in &mut sharing.threads {
            thread.arrivals = Some((per_s / 2.0) as u64);
        }
        let runs = Watched::Once(unwatched(0.98, 1.02));
        let found = predict_by(&[share; 4], Some(&sharing), runs).expect("two pairs");
        let together = found.predicted(&PAIRS_ON_TWO[0]).expect("four seats");
        assert!(together.interval.contains(changes[0]) && together.interval.high < -20.0, "{together:?}");
    }

    #[test]
    fn free_threads_gain_nothing() {
        for shares in [vec![1.0, 1.0], vec![0.5; 4]] {
            let found = predict(&shares, None).expect("they only compute");
            let seats: Vec<usize> = (0..shares.len()).map(|thread| thread % 2).collect();
            let apart = found.predicted(&seats).expect("a seat for each");
            assert!(apart.percent.abs() < 0.5 && apart.interval.half_width() < 0.5, "{apart:?}");
        }
        let found = predict(&[1.0, 1.0], None).expect("they only compute");
        let stacked = found.predicted(&[0, 0]).expect("two seats");
        assert!((stacked.percent - 100.0).abs() < 1.0, "two on one CPU take twice as long: {stacked:?}");
    }

    #[test]
    fn what_is_not_known_is_said() {
        let check = |found: Result<Prediction, String>, told: &str| {
            let error = found.expect_err(told);
            assert!(error.contains(told), "{error}");
        };
        check(predict(&[0.3, 0.3], None), "nobody saw for what");
        check(predict(&[0.7, 0.7, 0.6], None), "how the kernel moves them");
        let sharing = turns(&busy(&[0.4; 4]), 90_000.0);
        let seats = two_cpus();
        check(
            Prediction::of(
                &busy(&[0.4; 4]),
                Some(&sharing),
                &seats,
                &Cores::default(),
                &Err("no thread".to_owned()),
                Watched::AllTheTime,
            ),
            "could not be measured",
        );
        let mut pool = sharing.clone();
        let amount = SharedAmount { value: 5e3, interval: Interval::between(5e3, 5e3) };
        pool.wakes = Some(SharingMatrix::from_fn(4, |row, _| (row == 0).then_some(amount)));
        check(predict(&[0.4; 4], Some(&pool)), "another way than in turns");
        let frantic = turns(&busy(&[0.4; 4]), 2e6);
        check(predict(&[0.4; 4], Some(&frantic)), "in the simulation");
    }

    #[test]
    fn turns_that_wait_for_something_else_gain_less() {
        let mut sharing = turns(&busy(&[0.005; 2]), 1_000.0);
        for thread in &mut sharing.threads {
            thread.idle_gaps = Some(vec![IdleGaps { from_us: 512.0, below_us: 1024.0, count: 990 }]);
        }
        let found = predict(&[0.005; 2], Some(&sharing)).expect("one pair");
        let together = found.predicted(&[0, 0]).expect("two seats");
        assert!((-5.0..=0.0).contains(&together.percent), "a millisecond of waiting per round: {together:?}");
    }

    #[test]
    fn threads_that_rest_are_simulated_with_their_rests() {
        let threads = busy(&[0.5, 0.5]);
        let mut sharing = turns(&threads, 0.0);
        for thread in &mut sharing.threads {
            thread.idle_gaps = Some(vec![IdleGaps { from_us: 512.0, below_us: 1024.0, count: 690 }]);
        }
        let found = predict(&[0.5, 0.5], Some(&sharing)).expect("bursts and rests");
        let apart = found.predicted(&[0, 1]).expect("two seats");
        let stacked = found.predicted(&[0, 0]).expect("two seats");
        assert!(apart.percent.abs() < 5.0 && stacked.percent > 10.0, "{apart:?} {stacked:?}");
    }
}
