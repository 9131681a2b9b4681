//! The time that a kernel serves: interpolated from counters as Linux 2.6 did on x86-64, or read from one timer.
//!
//! Source: Linux 2.6.9 as in RHEL 4, arch/x86_64/kernel/time.c: `timer_interrupt`, `do_gettimeoffset_tsc`, and
//! `time_cpufreq_notifier`, which says of itself that it assumes the same frequency on all CPUs. One CPU takes the timer
//! interrupt and remembers its counter; every CPU adds what its own counter shows beyond that, never less than
//! nothing. A tick whose counter says that more than one has passed counts the others as lost and adds them.

use stats::Order;

use super::counter::Counter;
use super::description::TscMachine;
use super::power::FrequencyCourse;

/// gettimeofday counts whole microseconds.
const RESOLUTION_NS: f64 = 1e3;

/// What the kernel knows since a timer interrupt.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Tick {
    time_ns: f64,
    last_tsc: f64,
}

/// A kernel that interpolates from counters.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CounterClock {
    tick_ns: f64,
    /// By number of the timer interrupt; the first is at time 0.
    ticks: Vec<Tick>,
    /// From a time on, nanoseconds per count, for all CPUs; the first is at time 0.
    quotients: Vec<(f64, f64)>,
}

impl CounterClock {
    /// Runs the kernel until `until_ns` on a machine whose core 0 has `first`.
    pub(super) fn run(
        machine: &TscMachine,
        courses: &[FrequencyCourse],
        first: &Counter,
        until_ns: f64,
    ) -> Self {
        let tick_ns = 1e9 / machine.tick_hz.value;
        let mut quotients: Vec<(f64, f64)> = courses
            .iter()
            .flat_map(|course| &course.transitions)
            .map(|one| (one.reported_ns, 1e9 / one.hz))
            .collect();
        quotients.order_by(|a, b| a.0.total_cmp(&b.0));
        quotients.insert(0, (0.0, 1e9 / courses[0].changes[0].1));
        let mut clock = Self { tick_ns, ticks: vec![Tick { time_ns: 0.0, last_tsc: 0.0 }], quotients };
        let mut last = clock.ticks[0];
        for number in 1..=(until_ns / tick_ns) as u32 {
            let at_ns = f64::from(number) * tick_ns;
            last = clock.tick(last, first.at(at_ns), clock.quotient(at_ns));
            clock.ticks.push(last);
        }
        clock
    }

    /// The timer interrupt.
    fn tick(&self, last: Tick, tsc: f64, quotient: f64) -> Tick {
        let mut offset_ns = ((tsc - last.last_tsc) * quotient - self.tick_ns).max(0.0);
        let mut lost = 0.0;
        if offset_ns > self.tick_ns {
            lost = (offset_ns / self.tick_ns).floor();
            offset_ns %= self.tick_ns;
        }
        // What is left of an interval stays in front of the next, so that time on this CPU does not step back.
        Tick { time_ns: last.time_ns + self.tick_ns * (1.0 + lost), last_tsc: tsc - offset_ns / quotient }
    }

    /// What gettimeofday says on a CPU with this counter.
    pub(super) fn time_ns(&self, counter: &Counter, at_ns: f64) -> f64 {
        let number = (at_ns / self.tick_ns) as usize;
        let tick = self.ticks[number.min(self.ticks.len() - 1)];
        let beyond = (counter.at(at_ns) - tick.last_tsc).max(0.0);
        whole(tick.time_ns + beyond * self.quotient(at_ns))
    }

    fn quotient(&self, at_ns: f64) -> f64 {
        let place = self.quotients.partition_point(|(from, _)| *from <= at_ns).max(1);
        self.quotients[place - 1].1
    }
}

/// What gettimeofday says where one timer serves all CPUs.
pub(super) fn of_platform_timer(at_ns: f64) -> f64 {
    whole(at_ns)
}

fn whole(ns: f64) -> f64 {
    (ns / RESOLUTION_NS).floor() * RESOLUTION_NS
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: f64 = 1e9;

    fn steady(hz: f64) -> FrequencyCourse {
        FrequencyCourse { changes: vec![(0.0, hz)], transitions: Vec::new() }
    }

    #[test]
    fn a_steady_counter_serves_the_time() {
        let machine: TscMachine = crate::known("k8-opteron").expect("it comes with sidestep");
        let counter = Counter::new(2.4e9);
        let clock = CounterClock::run(&machine, &[steady(2.4e9)], &counter, SECOND_NS);
        for at_ns in [0.0, 1234.0, 5e8 + 777.0, 9.999e8] {
            let error = clock.time_ns(&counter, at_ns) - at_ns;
            assert!((-2.0 * RESOLUTION_NS..=1.0).contains(&error), "{at_ns}: {error}");
        }
    }

    #[test]
    fn time_never_steps_back_on_the_cpu_that_ticks() {
        let machine: TscMachine = crate::known("k8-opteron").expect("it comes with sidestep");
        // It runs fast for a while, which the kernel takes for lost ticks.
        let mut counter = Counter::new(2.4e9);
        counter.change(3e8, 5.9e9);
        counter.change(6e8, 2.4e9);
        let clock = CounterClock::run(&machine, &[steady(2.4e9)], &counter, SECOND_NS);
        let times: Vec<f64> =
            (0..90_000).map(|step| clock.time_ns(&counter, f64::from(step) * 11_000.0)).collect();
        assert!(times.windows(2).all(|pair| pair[1] >= pair[0]));
        assert!(times[times.len() - 1] > 1.3e9, "lost ticks are added: {}", times[times.len() - 1]);
    }

    #[test]
    fn a_counter_that_is_behind_serves_the_time_of_the_last_tick() {
        let machine: TscMachine = crate::known("k8-opteron").expect("it comes with sidestep");
        let (first, slow) = (Counter::new(2.4e9), Counter::new(1.0e9));
        let clock = CounterClock::run(&machine, &[steady(2.4e9)], &first, SECOND_NS);
        assert!((clock.time_ns(&slow, 5.005e8) - 5e8).abs() < 1.0);
    }
}
