//! What can be done about clocks, given what a check found and what the kernel says.

use record::{Answer, BackwardsCount, ClockCheck, ClockVerdict, FlawVerdict, WorkaroundState};

/// The entry of the catalogue that concerns the counters of AMD's family 0Fh.
const C1_RAMPING: &str = "k8-c1-ramping";

/// Puts into a document what the catalogue's flaw of the counter says, the reasons the kernel gives, and what can be done.
pub fn clock_remedies(check: &mut ClockCheck, flaws: &[FlawVerdict]) {
    let ramping = flaws.iter().find(|flaw| flaw.id == C1_RAMPING && flaw.affected == Answer::Yes);
    if let Some(flaw) = ramping {
        check.kernel.c1_ramping = Some(match flaw.workaround {
            WorkaroundState::On => "off on every node: counters do not crawl in C1".to_owned(),
            WorkaroundState::Off => "on: the counters of halted cores crawl".to_owned(),
            WorkaroundState::Partial => {
                "on in some nodes: the counters of their halted cores crawl".to_owned()
            }
            _ => format!("unknown: {}", flaw.witnesses.registers.says),
        });
        let crawls = matches!(flaw.workaround, WorkaroundState::Off | WorkaroundState::Partial);
        if crawls && matches!(check.verdict, ClockVerdict::Safe | ClockVerdict::CannotTell) {
            check.verdict = ClockVerdict::Unsafe;
            check.because.insert(
                0,
                "C1 clock ramping is on: counters of CPUs that halt for different times drift apart"
                    .to_owned(),
            );
        }
        for line in k8(flaw.workaround) {
            add(&mut check.remedies, line);
        }
    }
    if check.kernel.condemned {
        add(&mut check.because, "the kernel has given the counter up: see its messages".to_owned());
    }
    let went_back: Vec<&BackwardsCount> =
        check.backwards.iter().filter(|count| count.ordered && count.backwards > 0).collect();
    if let Some(worst) = went_back.iter().max_by(|a, b| a.largest_ns.total_cmp(&b.largest_ns)) {
        let step = check.counter_step_ns.filter(|&step_ns| worst.largest_ns < step_ns);
        let sentence = format!(
            "an ordered read went backwards between two CPUs: {} on {}-{} in {} of {} observations, by {:.1} ns at most{}",
            worst.name,
            worst.a,
            worst.b,
            worst.backwards,
            worst.fresh,
            worst.largest_ns,
            step.map_or_else(String::new, |step_ns| format!(
                ", less than a step of the counter, {step_ns:.1} ns"
            ))
        );
        if check.verdict == ClockVerdict::Safe {
            check.verdict = ClockVerdict::Unsafe;
            // What made it safe comes after what does not.
            check.because.insert(0, sentence);
        } else {
            add(&mut check.because, sentence);
        }
    }
    if let Some(line) = by_verdict(check) {
        add(&mut check.remedies, line.to_owned());
    }
    if check.backwards.iter().any(|count| !count.ordered && count.backwards > 0) {
        let line = "never compare bare RDTSC values of two threads: it runs before earlier loads are done; RDTSCP or LFENCE; \
                    RDTSC waits for them";
        add(&mut check.remedies, line.to_owned());
    }
}

/// Adds a sentence once: a document may be judged again.
fn add(sentences: &mut Vec<String>, sentence: String) {
    if !sentences.contains(&sentence) {
        sentences.push(sentence);
    }
}

/// What the verdict asks for, given what the kernel uses.
fn by_verdict(check: &ClockCheck) -> Option<&'static str> {
    let kernel = &check.kernel;
    let uses_tsc = kernel.clocksource.as_deref() == Some("tsc");
    let offers_tsc = kernel.available.iter().any(|name| name == "tsc");
    match check.verdict {
        ClockVerdict::Unsafe if uses_tsc => Some(
            "switch the kernel to another clock source: sidestep toggles show clocksource says which there are; or boot with \
             clocksource=hpet, clocksource=acpi_pm or tsc=unstable",
        ),
        ClockVerdict::Correctable => Some(
            "read time through a clock that corrects each CPU, or through the kernel's with another clock source; programs \
             that read the counter themselves see it go back",
        ),
        ClockVerdict::Safe if kernel.condemned => Some(
            "the counters agree now although the kernel gave them up: if firmware or a hypervisor steps them at boot or \
             restore, measure again after that before booting with tsc=reliable",
        ),
        ClockVerdict::Safe if !uses_tsc && offers_tsc => Some(
            "the counters agree, and reading them is cheaper: sidestep toggles set clocksource=tsc, if the host does not \
             migrate this machine",
        ),
        _ => None,
    }
}

fn k8(state: WorkaroundState) -> Vec<String> {
    let switch = "as root on the machine itself: sidestep toggles set k8-c1-ramping=off";
    let mut lines = Vec::new();
    if state != WorkaroundState::On {
        lines.push(format!("switch C1 clock ramping off, {switch}"));
        lines.push("or keep CPUs from halting: boot with idle=poll, at the price of power".to_owned());
    }
    lines.push(
        "P-states change the rate of each core's counter: hold one frequency, or, with RHEL's kernel, boot with \
         clocksource=tsc powernow-k8.tscsync=1; else clocksource=hpet or acpi_pm"
            .to_owned(),
    );
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{KernelClocks, Witnesses};

    fn ramping(workaround: WorkaroundState) -> FlawVerdict {
        FlawVerdict {
            id: C1_RAMPING.to_owned(),
            title: String::new(),
            affected: Answer::Yes,
            because: String::new(),
            workaround,
            protected: Answer::Unknown,
            paid: Answer::Unknown,
            special: None,
            witnesses: Witnesses::default(),
            disagreements: Vec::new(),
            remedies: Vec::new(),
            costs: Vec::new(),
        }
    }

    #[test]
    fn ramping_that_is_on_makes_time_unsafe_and_its_switch_is_offered() {
        for (state, verdict, offered) in [
            (WorkaroundState::Off, ClockVerdict::Unsafe, true),
            (WorkaroundState::Partial, ClockVerdict::Unsafe, true),
            (WorkaroundState::On, ClockVerdict::CannotTell, false),
            (WorkaroundState::Unknown, ClockVerdict::CannotTell, true),
        ] {
            let mut check = ClockCheck::default();
            clock_remedies(&mut check, &[ramping(state)]);
            assert_eq!(check.verdict, verdict, "{state:?}");
            let once = check.clone();
            clock_remedies(&mut check, &[ramping(state)]);
            assert_eq!(check, once, "judged twice");
            let offers = check.remedies.iter().any(|line| line.contains("toggles set k8-c1-ramping=off"));
            assert_eq!(offers, offered, "{state:?} {:?}", check.remedies);
        }
    }

    #[test]
    fn an_ordered_read_that_goes_back_is_never_safe() {
        let count = |ordered| BackwardsCount {
            name: "x".to_owned(),
            a: machine::CpuId(0),
            b: machine::CpuId(1),
            ordered,
            fresh: 10_000,
            backwards: 1,
            largest_ns: 5.0,
        };
        let verdict_with = |ordered| {
            let mut check = ClockCheck {
                verdict: ClockVerdict::Safe,
                because: vec!["the two counters do not differ".to_owned()],
                counter_step_ns: Some(10.0),
                backwards: vec![count(ordered)],
                kernel: KernelClocks { clocksource: Some("tsc".to_owned()), ..KernelClocks::default() },
                ..ClockCheck::default()
            };
            clock_remedies(&mut check, &[]);
            // A document may be judged again.
            clock_remedies(&mut check, &[]);
            (check.verdict, check.because)
        };
        let (verdict, because) = verdict_with(true);
        assert_eq!((verdict, because.len()), (ClockVerdict::Unsafe, 2));
        assert!(
            because[0].ends_with(
                "x on 0-1 in 1 of 10000 observations, by 5.0 ns at most, less than a step of the counter, 10.0 ns"
            ),
            "{because:?}"
        );
        assert_eq!(verdict_with(false).0, ClockVerdict::Safe);
    }
}
