//! What a placement should gain, by simulating the program's threads event by event under the kernel's policy and under the arm.
//!
//! What is known of the threads is their profile: CPU time, who wakes whom, for how long they rest. What is known of the machine is
//! what a handover between threads costs on one CPU and on two, measured just before, and the check-up's co-runs and wake-up curve
//! where they are given. Programs whose threads do something else than compute, rest, or take turns in twos are not predicted.

use machine::{CpuId, Hertz};
use models::scheduling::{
    Class, Compiled, Length, Load, Measured, Policy, SchedulingMachine, Step, Thread, measured, thread_speeds,
};
use probes::cores::handover::{Handover, Handovers};
use record::{Cores, Sharing, SharingThread};
use stats::Interval;

use super::decision::Busy;
pub use super::roles::Watched;
use super::roles::{Role, roles};
use super::seats::Seats;

/// Two that take turns and whose median rest is longer than a simulated round by this factor wait for something else, which is simulated
/// as a pause: rests are counted by powers of two, and being watched makes them longer.
const RESTS_FACTOR: f64 = 4.0;
/// Where CPUs are busy for more of the time, a wake finds a CPU that another thread has.
const CPUS_CROWDED: f64 = 0.7;
/// Turns that come more often in the profile than simulated by this factor are something else.
const PACE_FACTOR: f64 = 1.5;
/// Halvings of what a wake on a busy CPU costs: to a hundredth of it.
const HALVINGS: usize = 8;
/// Of all simulations.
const SEED: u64 = 1;

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
    variants: Vec<Variant>,
}

/// One way to read what was measured.
#[derive(Debug, Clone, PartialEq)]
struct Variant {
    machine: Compiled,
    load: Load,
    /// Speed of each thread where the kernel decides.
    kernel: Vec<f64>,
}

/// What a handover costs, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Costs {
    /// Work of one on the same CPU.
    together: f64,
    /// What it adds to the work if the other thread is on an idle CPU.
    remote: f64,
    /// How long the idle CPU takes beyond that.
    exit: f64,
    /// What it adds to the work if another thread has that CPU.
    queue: f64,
}

impl Costs {
    fn of(found: &Handovers) -> Self {
        let together = found.together.ns;
        let beyond = (found.apart.ns - together).max(0.0);
        let remote = (found.apart.cpu_ns - together).clamp(0.0, beyond);
        let costs = Self { together, remote, exit: beyond - remote, queue: 0.0 };
        Self { queue: costs.queue_of(found.crowded.ns), ..costs }
    }

    /// What a wake adds on a busy CPU, so that two pairs across two CPUs take as long as the crowd did.
    fn queue_of(self, crowded_ns: f64) -> f64 {
        let two = [CpuId(0), CpuId(1)];
        let turns = |partner: usize| Role::Turns { partner, cpu_ns: 0.0, per_s: 0.0, rest_ns: 0.0 };
        let load = load_of(&[1, 0, 3, 2].map(turns), &[Class::Integer; 4], self, &[(0.0, 0.0); 4]);
        let simulated_ns = |queue: f64| {
            let costs = Self { queue, ..self };
            let machine = machine(&two, &[], &Cores::default(), costs)?;
            let compiled = Compiled::new(&machine, false);
            let speeds = thread_speeds(&compiled, &load, Policy::Pinned, &[0, 1, 0, 1], SEED);
            Some(self.together / (speeds[0] + speeds[1]).max(f64::MIN_POSITIVE))
        };
        let (mut low, mut high) = (0.0, crowded_ns);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            match simulated_ns(middle) {
                Some(ns) if ns < crowded_ns => low = middle,
                _ => high = middle,
            }
        }
        low
    }

    /// The same with handovers that take so much more or less.
    fn shifted(self, together_ns: f64, apart_ns: f64, crowded_ns: f64) -> Self {
        Self {
            together: self.together + together_ns,
            remote: self.remote,
            exit: (self.exit + apart_ns - together_ns).max(0.0),
            queue: (self.queue + crowded_ns - together_ns).max(0.0),
        }
    }
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
        let classes: Vec<Class> = known.iter().map(|thread| class(*thread)).collect();
        let takes_turns = roles.iter().any(|role| matches!(role, Role::Turns { .. }));
        let measured_costs = match handovers {
            Ok(found) => readings(found),
            Err(why) if takes_turns => {
                return Err(format!("what a handover between threads costs could not be measured: {why}"));
            }
            Err(_) => vec![Costs::default()],
        };
        let busy: f64 = threads.iter().map(|thread| thread.cpu_share).sum();
        let is_crowded = busy >= CPUS_CROWDED * seats.cpus.len() as f64;
        let levels = seats.level_sizes();
        let mut variants = Vec::new();
        for (index, costs) in measured_costs.iter().enumerate() {
            let machine =
                machine(&seats.cpus, &levels, cores, *costs).ok_or("one CPU leaves nothing to choose")?;
            let compiled = Compiled::new(&machine, false);
            let load = fitted(&roles, &classes, *costs, &compiled, is_crowded)?;
            variants.push(Variant::new(compiled.clone(), load.clone(), Policy::KernelLike));
            if index == 0 {
                variants.push(Variant::new(compiled.clone(), load, Policy::Random));
                if takes_turns && watched == Watched::AllTheTime {
                    // Watching takes CPU time as well: as if all that is not the handover itself had been that.
                    let bare = load_of(&roles, &classes, *costs, &vec![(0.0, 0.0); roles.len()]);
                    variants.push(Variant::new(compiled, bare, Policy::KernelLike));
                }
            }
        }
        Ok(Self { by: by(handovers.as_ref().ok(), takes_turns), variants })
    }

    /// Change of the time for a seat per thread, in the order of the threads.
    pub fn predicted(&self, seat_of: &[usize]) -> Option<Predicted> {
        let percents: Vec<f64> =
            self.variants.iter().filter_map(|variant| variant.percent(seat_of)).collect();
        let percent = *percents.first().filter(|_| percents.len() == self.variants.len())?;
        let ends =
            percents.iter().fold((percent, percent), |(low, high), one| (low.min(*one), high.max(*one)));
        Some(Predicted { percent, interval: Interval::between(ends.0, ends.1) })
    }
}

/// Speeds where the kernel decides, each thread created on the next CPU, as an idle machine has it.
fn under_kernel(machine: &Compiled, load: &Load, policy: Policy) -> Vec<f64> {
    let created: Vec<usize> = (0..load.threads.len()).map(|thread| thread % machine.cpus()).collect();
    thread_speeds(machine, load, policy, &created, SEED)
}

impl Variant {
    fn new(machine: Compiled, load: Load, policy: Policy) -> Self {
        let kernel = under_kernel(&machine, &load, policy);
        Self { machine, load, kernel }
    }

    /// A program takes as long as the thread that lost most.
    fn percent(&self, seat_of: &[usize]) -> Option<f64> {
        if seat_of.len() != self.kernel.len() || seat_of.iter().any(|seat| *seat >= self.machine.cpus()) {
            return None;
        }
        let placed = thread_speeds(&self.machine, &self.load, Policy::Pinned, seat_of, SEED);
        let ratios = self.kernel.iter().zip(&placed).map(|(kernel, placed)| kernel / placed);
        let slowest = ratios.fold(0.0, f64::max);
        (slowest.is_finite() && slowest > 0.0).then_some(100.0 * (slowest - 1.0))
    }
}

fn by(handovers: Option<&Handovers>, takes_turns: bool) -> String {
    let simulated =
        "a simulation of its threads, event by event, under the kernel's policy and under each placement";
    match handovers.filter(|_| takes_turns) {
        Some(found) => format!(
            "{simulated}; a handover takes {:.1} us on one CPU, {:.1} us between two, and {:.1} us if two other threads do so there as well, measured",
            found.together.ns / 1e3,
            found.apart.ns / 1e3,
            found.crowded.ns / 1e3
        ),
        None => simulated.to_owned(),
    }
}

/// The costs as measured, then with the ends of their intervals against each other.
fn readings(found: &Handovers) -> Vec<Costs> {
    let costs = Costs::of(found);
    let below = |one: &Handover| one.interval.low - one.ns;
    let above = |one: &Handover| one.interval.high - one.ns;
    let Handovers { together, apart, crowded } = found;
    vec![
        costs,
        costs.shifted(below(together), above(apart), above(crowded)),
        costs.shifted(above(together), below(apart), below(crowded)),
    ]
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

/// The machine whose cycles are nanoseconds, with what a handover costs.
fn machine(
    cpus: &[CpuId],
    levels: &[(&'static str, usize)],
    cores: &Cores,
    costs: Costs,
) -> Option<SchedulingMachine> {
    let mut machine = measured(&Measured { title: "this machine", cpus, levels, cores })?;
    machine.clock.hz_by_awake.value = vec![Hertz(1e9)];
    let source = "measured: handovers of two threads";
    // The curve's first point is a handover as well, of another kind: what longer rests add is taken from it.
    let base_ns = machine.idle.first().map_or(0.0, |rest| rest.exit_ns.value);
    for rest in &mut machine.idle {
        rest.exit_ns.value = costs.exit + rest.exit_ns.value - base_ns;
    }
    if machine.idle.is_empty() {
        machine.idle.push(models::scheduling::IdleDescription::of_any_rest(costs.exit, source));
    }
    machine.remote_wake_ns = Some(models::Sourced::new(costs.remote, source));
    machine.remote_queue_ns = Some(models::Sourced::new(costs.queue, source));
    Some(machine)
}

/// The load whose pace under the kernel's policy is that of the profile.
fn fitted(
    roles: &[Role],
    classes: &[Class],
    costs: Costs,
    machine: &Compiled,
    is_crowded: bool,
) -> Result<Load, String> {
    // Where CPUs are busy most wakes find them so.
    let beyond_ns = if is_crowded { costs.queue } else { costs.remote };
    let own = |role: &Role| match role {
        Role::Turns { cpu_ns, .. } => (cpu_ns - costs.together - beyond_ns).max(0.0),
        _ => 0.0,
    };
    let works: Vec<(f64, f64)> = roles.iter().map(|role| (own(role), 0.0)).collect();
    let load = load_of(roles, classes, costs, &works);
    let speeds = under_kernel(machine, &load, Policy::KernelLike);
    let mut pauses = works.clone();
    for (index, role) in roles.iter().enumerate() {
        let Role::Turns { partner, per_s, rest_ns, .. } = role else { continue };
        let turn_ns = costs.together + works[index].0;
        let simulated_per_s = (speeds[index] + speeds[*partner]) / turn_ns * 1e9;
        if *per_s > PACE_FACTOR * simulated_per_s {
            return Err(format!(
                "its threads took {per_s:.0} turns per second in the profile and {simulated_per_s:.0} in the simulation"
            ));
        }
        // A round is two turns; one of the two rests for nearly as long.
        let round_ns = 2e9 / simulated_per_s.max(f64::MIN_POSITIVE);
        if *rest_ns > RESTS_FACTOR * round_ns {
            let first = index.min(*partner);
            pauses[first].1 = pauses[first].1.max(rest_ns - round_ns);
        }
    }
    Ok(load_of(roles, classes, costs, &pauses))
}

/// Threads as the engine runs them; `extra` is own work per turn and a pause per round, in nanoseconds.
fn load_of(roles: &[Role], classes: &[Class], costs: Costs, extra: &[(f64, f64)]) -> Load {
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
    use machine::{CpuSet, Topology};
    use record::{IdleGaps, SharedAmount, SharingMatrix};

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
        Handovers { together: of(2e3, 2e3), apart: of(6e3, 4e3), crowded: of(5e3, 5e3) }
    }

    fn predict(shares: &[f64], sharing: Option<&Sharing>) -> Result<Prediction, String> {
        Prediction::of(
            &busy(shares),
            sharing,
            &two_cpus(),
            &Cores::default(),
            &Ok(handovers()),
            Watched::AllTheTime,
        )
    }

    #[test]
    fn pairs_that_take_turns_gain_what_handovers_between_cpus_cost() {
        let sharing = turns(&busy(&[0.4; 4]), 80_000.0);
        let found = predict(&[0.4; 4], Some(&sharing)).expect("two pairs");
        let together = found.predicted(&[0, 0, 1, 1]).expect("four seats");
        assert!((-65.0..-20.0).contains(&together.percent), "{together:?}");
        assert!(
            together.interval.contains(together.percent) && together.interval.high < -5.0,
            "{together:?}"
        );
        let apart = found.predicted(&[0, 1, 0, 1]).expect("four seats");
        assert!(apart.percent.abs() < 15.0, "that is what the kernel does: {apart:?}");
        assert_eq!(found.predicted(&[0, 0, 1]), None, "a seat is missing");
        assert_eq!(found.predicted(&[0, 0, 1, 2]), None, "there is no third CPU");
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
