//! A machine as it was measured: levels from its CPUs' co-runs, states of rest from its wake-up curve; and what a class of work loses beside
//! another on CPUs that share a unit.

use machine::{CpuId, Hertz};
use record::{Cores, UnlikeSlowdown, WakePoint};
use stats::median;

use super::description::{
    CLASSES, ClockDescription, IdleDescription, LevelDescription, SPEED_MIN, SchedulingMachine, Speeds,
};
use crate::machine_file::{MachineKind, Sourced};

/// How long a thread runs before another of the same CPU gets its turn, in nanoseconds.
const SLICE_NS: f64 = 3e6;
/// Where no clock was measured: cycles are nanoseconds then.
const CLOCK_UNKNOWN_HZ: f64 = 1e9;
/// The kernel leaves a thread that waits where it is until it has not run for so long: `sysctl_sched_migration_cost` of Linux,
/// kernel/sched/fair.c, 0.5 ms unless somebody changed it.
const HOT_NS: f64 = 5e5;

/// What is known of a machine before its levels have costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured<'a> {
    /// For people.
    pub title: &'a str,
    /// The CPUs in the order of the tree: those of one unit stand together.
    pub cpus: &'a [CpuId],
    /// Levels with more than one CPU in a unit, the smallest first: name, and CPUs in a unit. The whole is no level.
    pub levels: &'a [(&'static str, usize)],
    /// The level whose units have a last-level cache each; none where one cache serves all CPUs or that is not known.
    pub last_level_cache: Option<&'a str>,
    /// What was measured of them; empty if nothing was.
    pub cores: &'a Cores,
}

/// The machine as measured; `None` for fewer than two CPUs, of which there is nothing to choose.
pub fn measured(subject: &Measured<'_>) -> Option<SchedulingMachine> {
    let cpus = subject.cpus.len();
    if cpus < 2 {
        return None;
    }
    let mut sizes = subject.levels.to_vec();
    sizes.push(("machine", cpus));
    let slowdowns = Slowdowns { subject, sizes: &sizes };
    let mut outer = [[1.0; CLASSES]; CLASSES];
    let mut levels: Vec<LevelDescription> = Vec::new();
    // From the largest: what a smaller unit costs beyond the one around it.
    for (index, (name, size)) in sizes.iter().enumerate().rev() {
        let found = slowdowns.of(index);
        let source = found.map_or("not measured: no more than the level around it", |_| {
            "measured: loops of two CPUs at once, unlike ones where they were not run the smaller of the two"
        });
        let total = found.unwrap_or(outer);
        let speed = |own: usize, beside: usize| {
            (outer[own][beside] / total[own][beside].max(1.0)).clamp(SPEED_MIN, 1.0)
        };
        let speeds = std::array::from_fn(|own| std::array::from_fn(|beside| speed(own, beside)));
        let whole = *name == "machine";
        levels.push(LevelDescription {
            name: (*name).to_owned(),
            cpus: Sourced::new(*size, "what the kernel says"),
            speed_of_two: Some(Sourced::new(Speeds::ByClass(speeds), source)),
            shares_data: (!whole)
                .then(|| Sourced::new(1.0, "assumed: data are shared where a cache or a core is")),
            cache_bytes: None,
            overflow_slowdown: None,
            kernel_balances: Some(Sourced::new(true, "assumed: the kernel balances over what it names")),
            last_level_cache: (subject.last_level_cache == Some(*name))
                .then(|| Sourced::new(true, "what the kernel says of the caches")),
        });
        for (outer, total) in outer.iter_mut().flatten().zip(total.iter().flatten()) {
            *outer = outer.max(*total);
        }
    }
    levels.reverse();
    Some(SchedulingMachine {
        kind: MachineKind::Threads.name().to_owned(),
        name: "host".to_owned(),
        title: subject.title.to_owned(),
        cpus: Sourced::new(cpus, "CPUs that may be used"),
        clock: ClockDescription { level: levels[0].name.clone(), hz_by_awake: clock(subject.cores) },
        level: levels,
        idle: rests(&subject.cores.wake),
        slice_ns: Sourced::new(
            SLICE_NS,
            "assumed: the order of Linux's slices; matters only with more threads than CPUs",
        ),
        hot_ns: Some(Sourced::new(HOT_NS, "Linux, kernel/sched/fair.c: sysctl_sched_migration_cost")),
        published: Vec::new(),
    })
}

fn clock(cores: &Cores) -> Sourced<Vec<Hertz>> {
    let clocks: Vec<f64> = cores.control.iter().filter_map(|control| Some(control.core_hz?.0)).collect();
    match median(&clocks).filter(|hz| hz.is_finite() && *hz > 0.0) {
        Some(hz) => {
            Sourced::new(vec![Hertz(hz)], "measured: the control loops; the same however many CPUs are awake")
        }
        None => Sourced::new(vec![Hertz(CLOCK_UNKNOWN_HZ)], "unknown: a cycle is a nanosecond"),
    }
}

/// Slowdowns of pairs by the smallest unit that holds both.
struct Slowdowns<'a> {
    subject: &'a Measured<'a>,
    sizes: &'a [(&'static str, usize)],
}

impl Slowdowns<'_> {
    /// The level of the smallest unit that holds both; `None` for CPUs that are not ours.
    fn level(&self, a: CpuId, b: CpuId) -> Option<usize> {
        let place = |cpu: CpuId| self.subject.cpus.iter().position(|own| *own == cpu);
        let (a, b) = (place(a)?, place(b)?);
        self.sizes.iter().position(|(_, size)| a / size == b / size).filter(|_| a != b)
    }

    /// Time together over time alone by class and class beside it; `None` where no pair of this level was measured.
    fn of(&self, level: usize) -> Option<[[f64; CLASSES]; CLASSES]> {
        class_slowdowns(self.subject.cores, |a, b| self.level(a, b) == Some(level))
    }
}

/// A state of rest per idle time of the curve, each as deep as the median pair of CPUs took to wake.
fn rests(wake: &[WakePoint]) -> Vec<IdleDescription> {
    let mut idle_us: Vec<f64> = wake.iter().map(|point| point.idle_us).filter(|us| us.is_finite()).collect();
    idle_us.sort_by(f64::total_cmp);
    idle_us.dedup();
    let mut rests: Vec<IdleDescription> = Vec::new();
    for us in idle_us {
        let of = wake.iter().filter(|point| (point.idle_us - us).abs() < f64::EPSILON * us.abs());
        let ns: Vec<f64> = of.map(|point| point.ns).filter(|ns| ns.is_finite() && *ns >= 0.0).collect();
        let Some(exit_ns) = median(&ns) else { continue };
        // A longer rest is never left sooner: where the curve falls that is noise.
        if rests.last().is_none_or(|last| exit_ns > last.exit_ns.value) {
            let after_ns = if rests.is_empty() { 0.0 } else { us * 1e3 };
            rests.push(IdleDescription {
                name: format!("rest of {us} us"),
                level: None,
                after_ns: Sourced::new(after_ns, "the idle times of the wake-up curve"),
                patient_after_ns: None,
                exit_ns: Sourced::new(exit_ns, "measured: from the call to the first instruction"),
                asleep: false,
            });
        }
    }
    rests
}

/// Names of the classes in records, in the order of [`super::Class`].
const NAMES: [&str; CLASSES] = ["integer", "simd", "front_end", "memory"];

/// Time together over time alone by class and class beside it: the median of the pairs of CPUs that are `together`. Unlike loops that were
/// not run beside each other are taken to lose the smaller of the two. `None` where no such pair was measured.
pub fn class_slowdowns(
    cores: &Cores,
    together: impl Fn(CpuId, CpuId) -> bool,
) -> Option<[[f64; CLASSES]; CLASSES]> {
    let typical = |pairs: &mut dyn Iterator<Item = (CpuId, CpuId, f64)>| {
        let usable =
            pairs.filter(|(a, b, slowdown)| slowdown.is_finite() && *slowdown > 0.0 && together(*a, *b));
        median(&usable.map(|(.., slowdown)| slowdown).collect::<Vec<_>>())
    };
    let like = NAMES.map(|name| {
        let pairs = cores.sharing.iter().filter(|pair| pair.resource == name);
        typical(&mut pairs.map(|pair| (pair.a, pair.b, pair.slowdown)))
    });
    if like.iter().all(Option::is_none) {
        return None;
    }
    let unlike = |own: usize, beside: usize| {
        let is_it = |pair: &&UnlikeSlowdown| pair.class == NAMES[own] && pair.beside == NAMES[beside];
        typical(&mut cores.unlike.iter().filter(is_it).map(|pair| (pair.a, pair.b, pair.slowdown)))
    };
    let alone = |class: usize| like[class].unwrap_or(1.0);
    let of = |own: usize, beside: usize| {
        if own == beside { alone(own) } else { unlike(own, beside).unwrap_or(alone(own).min(alone(beside))) }
    };
    Some(std::array::from_fn(|own| std::array::from_fn(|beside| of(own, beside))))
}

#[cfg(test)]
mod tests {
    use record::{PairSlowdown, Spread, UnlikeSlowdown};

    use super::*;

    fn like(a: u32, b: u32, resource: &str, slowdown: f64) -> PairSlowdown {
        PairSlowdown {
            a: CpuId(a),
            b: CpuId(b),
            resource: resource.to_owned(),
            slowdown,
            overlapped_windows: 9,
            spread: Spread::default(),
        }
    }

    fn wake(idle_us: f64, ns: f64) -> WakePoint {
        WakePoint { waker: CpuId(0), sleeper: CpuId(1), idle_us, ns, p90_ns: ns, spread: Spread::default() }
    }

    #[test]
    fn each_level_costs_what_it_adds_to_the_one_around_it() {
        let cores = Cores {
            // Siblings are 0 and 2, 1 and 3; memory is slowed by any other CPU, by a sibling twice as much.
            sharing: vec![
                like(0, 2, "integer", 1.6),
                like(0, 2, "memory", 2.0),
                like(0, 1, "integer", 0.99),
                like(0, 1, "memory", 1.25),
            ],
            unlike: vec![UnlikeSlowdown {
                a: CpuId(0),
                b: CpuId(2),
                class: "integer".to_owned(),
                beside: "memory".to_owned(),
                slowdown: 1.2,
                overlapped_windows: 9,
                spread: Spread::default(),
            }],
            wake: vec![wake(10.0, 5e3), wake(100.0, 4e3), wake(1000.0, 2e4)],
            ..Cores::default()
        };
        let cpus = [0, 2, 1, 3].map(CpuId);
        let subject = Measured {
            title: "four",
            cpus: &cpus,
            levels: &[("core", 2)],
            last_level_cache: Some("core"),
            cores: &cores,
        };
        let machine = measured(&subject).expect("four CPUs");
        assert_eq!(machine.last_level().map(|level| level.name.as_str()), Some("core"));
        let speed = |level: usize, own: usize, beside: usize| {
            machine.level[level].speed_of_two.as_ref().expect("always").value.of(own, beside)
        };
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(near(speed(1, 0, 0), 1.0), "a loop that gained in noise is not slowed");
        assert!(near(speed(1, 3, 3), 0.8) && near(speed(0, 3, 3) * speed(1, 3, 3), 0.5));
        assert!(near(speed(0, 0, 0), 1.0 / 1.6) && near(speed(0, 0, 3), 1.0 / 1.2), "unlike as measured");
        assert!(near(speed(0, 3, 0), 1.0 / 1.6), "not measured: the smaller of the two");
        let exits: Vec<(f64, f64)> =
            machine.idle.iter().map(|idle| (idle.after_ns.value, idle.exit_ns.value)).collect();
        assert_eq!(exits, [(0.0, 5e3), (1e6, 2e4)]);
        assert_eq!(measured(&Measured { cpus: &cpus[..1], levels: &[], ..subject }), None);
    }

    #[test]
    fn a_machine_of_which_nothing_was_measured_costs_nothing_and_says_so() {
        let cpus = [0, 1].map(CpuId);
        let cores = Cores::default();
        let subject =
            Measured { title: "bare", cpus: &cpus, levels: &[], last_level_cache: None, cores: &cores };
        let machine = measured(&subject).expect("two CPUs");
        assert_eq!(machine.last_level(), None);
        let text = toml::to_string(&machine).expect("a machine is a file");
        assert_eq!(crate::parse::<SchedulingMachine>(&text, "host").expect("and the file is read"), machine);
        assert!(machine.clock.hz_by_awake.source.starts_with("unknown") && machine.idle.is_empty());
        assert!(
            machine.level[0].speed_of_two.as_ref().is_some_and(|one| one.source.starts_with("not measured"))
        );
    }
}
