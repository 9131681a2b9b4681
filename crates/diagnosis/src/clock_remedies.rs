//! What can be done about clocks, given what a check found and what the kernel says.

use record::{Answer, BackwardsCount, ClockCheck, ClockVerdict, FlawVerdict, KernelClocks, WorkaroundState};

/// The entry of the catalogue that concerns the counters of AMD's family 0Fh.
const C1_RAMPING: &str = "k8-c1-ramping";
/// That of timers that fire at a value of the counter.
const DEADLINE: &str = "tsc-deadline";

/// How far a stated rate may be from the measured one, parts per million: twice what NTP corrects (Linux, include/linux/timex.h,
/// MAXFREQ: 500 ppm), so that no discipline of a clock hides more. A crystal is within 100 ppm.
const STATED_OFF_PPM: f64 = 1_000.0;

/// How every reason begins for which counters that agree are not called safe.
const GIVEN_UP: &str = "the kernel does not trust the counter";
/// Reasons of the kernel that hold for a kind of CPU or hypervisor, whatever its counters do. Linux, arch/x86/kernel/tsc.c,
/// `unsynchronized_tsc`: CPUs other than Intel's, several of them, and no constant_tsc; arch/x86/kernel/cpu/mshyperv.c.
const RULES: [&str; 2] = ["TSCs unsynchronized", "running on Hyper-V"];
/// How it begins to say that it gives the counter up, for whatever reason.
const MARKING: &str = "Marking TSC unstable";
/// Words of the command line by which it does. Linux, arch/x86/kernel/tsc.c, `tsc_setup` and `notsc_setup`.
const BY_USER: [&str; 2] = ["tsc=unstable", "notsc"];

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
            _ => format!("unknown: {}", flaw.evidence.registers.says),
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
        // The judge names the toggle only where the machine has its registers.
        let can_switch =
            flaw.switches.iter().any(|switch| switch.how.contains("sidestep toggles show k8-c1-ramping"));
        for line in k8(flaw.workaround, can_switch) {
            add(&mut check.remedies, line);
        }
    }
    if let Some(line) = deadline(flaws) {
        add(&mut check.remedies, line.to_owned());
    }
    if check.kernel.condemned {
        condemned(check);
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
    if let Some(sentence) = stated_rate(check) {
        add(&mut check.because, sentence);
        add(&mut check.remedies, WITHOUT_STATED_RATE.to_owned());
    }
    if let Some(line) = by_verdict(check) {
        add(&mut check.remedies, line);
    }
    if let Some(bare) = check.backwards.iter().find(|count| !count.ordered && count.backwards > 0) {
        let line = without_bare_reads(&bare.name);
        add(&mut check.remedies, line);
    }
}

/// What to do about a wrong rate in CNTFRQ_EL0. Linux, Documentation/arch/arm64/booting.rst: firmware must program it on all CPUs.
const WITHOUT_STATED_RATE: &str = "take durations from clock_gettime, not from CNTFRQ_EL0, until firmware programs that register \
                                   with the counter's rate on every CPU";

/// What is wrong with the rate that firmware states, and whom it costs how much; `None` if nothing is, or nothing is stated.
fn stated_rate(check: &ClockCheck) -> Option<String> {
    let (stated_hz, hz, error_ppm) =
        (check.counter_stated_hz?, check.counter_hz?, check.counter_error_ppm.unwrap_or(0.0));
    let limit_ppm = error_ppm.max(STATED_OFF_PPM);
    let cost = if stated_hz == 0.0 {
        "find no rate".to_owned()
    } else {
        // A program that divides by too small a rate finds too long a time: its clock runs fast.
        let share = hz / stated_hz - 1.0;
        if share.abs() * 1e6 <= limit_ppm {
            return None;
        }
        format!("run {:.3} % {}", share.abs() * 100.0, if share > 0.0 { "fast" } else { "slow" })
    };
    let stated = if stated_hz == 0.0 { "0 Hz".to_owned() } else { format!("{:.3} MHz", stated_hz / 1e6) };
    Some(format!(
        "the firmware states {stated} (CNTFRQ_EL0), the kernel's clock gives {:.3} MHz within {error_ppm:.0} ppm: programs that \
         divide CNTVCT_EL0 by CNTFRQ_EL0 {cost}",
        hz / 1e6
    ))
}

/// What to do instead of the bare read of this name.
fn without_bare_reads(name: &str) -> String {
    let (counter, fenced) = if name.starts_with(ARM_COUNTER) {
        ("CNTVCT_EL0", "put ISB before it, or use CNTVCTSS_EL0")
    } else {
        ("RDTSC", "use RDTSCP, or LFENCE before RDTSC")
    };
    let why = "of two threads: it may run before earlier loads are done";
    format!("never compare bare {counter} values {why}; {fenced}")
}

/// How reads of arm64's counter are named.
const ARM_COUNTER: &str = "cntvct";

/// What a counter that the kernel gave up means: as much as its own words say, unless it was told to.
fn condemned(check: &mut ClockCheck) {
    if let Some(word) = by_user(&check.kernel) {
        let reason = format!("the kernel was told on its command line not to use the counter: {word}");
        return add(&mut check.because, reason);
    }
    let log = check.kernel.messages.as_deref();
    let against: Vec<&String> =
        log.into_iter().flatten().filter(|text| is_against_the_counter(text)).collect();
    let seen = against.iter().find(|text| !RULES.iter().any(|rule| text.contains(rule)));
    let reason = match (seen, against.first(), log) {
        (Some(seen), ..) => format!("{GIVEN_UP}: \"{seen}\""),
        (None, Some(rule), _) => {
            let reason =
                format!("the kernel leaves the counter alone by a rule, not for what it saw: \"{rule}\"");
            return add(&mut check.because, reason);
        }
        (None, None, Some(_)) => {
            format!("{GIVEN_UP}, as it does not offer it: no message left in its log says why")
        }
        (None, None, None) => {
            format!("{GIVEN_UP}, as it does not offer it: without its log the reason is unknown")
        }
    };
    if check.verdict == ClockVerdict::Safe {
        check.verdict = ClockVerdict::CannotTell;
        check.because.insert(0, reason);
    } else {
        add(&mut check.because, reason);
    }
}

/// Whether a message gives a reason against the counter. Linux, arch/x86/kernel/tsc.c, tsc_sync.c, kernel/time/clocksource.c.
fn is_against_the_counter(text: &str) -> bool {
    [MARKING, "TSC found unstable", "TSC warp", "as unstable because"].iter().any(|part| text.contains(part))
}

/// The word by which the user disabled the counter.
fn by_user(kernel: &KernelClocks) -> Option<&'static str> {
    BY_USER.into_iter().find(|known| kernel.boot_words.iter().any(|word| word == known))
}

/// Whether the counter goes on at one rate whatever its CPU does: CPUID 8000_0007h, EDX bit 8, gives the kernel both flags
/// (arch/x86/kernel/cpu/amd.c and intel.c).
fn is_invariant(kernel: &KernelClocks) -> bool {
    ["constant_tsc", "nonstop_tsc"].into_iter().all(|flag| kernel.flags.iter().any(|has| has == flag))
}

/// Adds a sentence once: a document may be judged again.
fn add(sentences: &mut Vec<String>, sentence: String) {
    if !sentences.contains(&sentence) {
        sentences.push(sentence);
    }
}

/// What the verdict asks for, given what the kernel uses.
fn by_verdict(check: &ClockCheck) -> Option<String> {
    let kernel = &check.kernel;
    let uses_tsc = kernel.clocksource.as_deref() == Some("tsc");
    let offers_tsc = kernel.available.iter().any(|name| name == "tsc");
    let by_user = by_user(kernel).filter(|_| kernel.condemned && is_invariant(kernel));
    let text = match check.verdict {
        ClockVerdict::Unsafe if uses_tsc => {
            "switch the kernel to another clock source: sidestep toggles show clocksource says which there are; or boot with \
             clocksource=hpet, clocksource=acpi_pm or tsc=unstable"
        }
        ClockVerdict::Correctable => {
            "read time through a clock that corrects each CPU, or through the kernel's with another clock source; programs \
             that read the counter themselves see it go back"
        }
        ClockVerdict::Safe if let Some(word) = by_user => {
            return Some(format!("the counters agree: if the reason for {word} is gone, boot without it"));
        }
        ClockVerdict::Safe | ClockVerdict::CannotTell if kernel.condemned && !is_invariant(kernel) => {
            "keep the kernel's clock source: no flag shows that the counter keeps its rate (constant_tsc with nonstop_tsc)"
        }
        ClockVerdict::CannotTell
            if check.because.first().is_some_and(|reason| reason.starts_with(GIVEN_UP)) =>
        {
            "the counters agree now although the kernel does not trust them: if firmware or a hypervisor steps them at boot or \
             restore, measure again after that before booting with tsc=reliable"
        }
        ClockVerdict::Safe if !uses_tsc && offers_tsc && is_invariant(kernel) => {
            "the counters agree, and the kernel offers them: sidestep toggles set clocksource=tsc, if the host does not \
             migrate this machine; sidestep clock cost prices both"
        }
        _ => return None,
    };
    Some(text.to_owned())
}

/// What brings timers on the counter back, where the kernel goes without them or takes them with their errata.
fn deadline(flaws: &[FlawVerdict]) -> Option<&'static str> {
    let flaw = flaws.iter().find(|flaw| flaw.id == DEADLINE && flaw.affected == Answer::Yes)?;
    if flaw.evidence.kernel.workaround == WorkaroundState::On {
        return Some(
            "timers run without the TSC deadline, as the microcode is older than its repair: update firmware or microcode",
        );
    }
    (flaw.workaround == WorkaroundState::Off).then_some(
        "timers use the TSC deadline with microcode older than its repair: update firmware or microcode, or boot with \
         lapic=notscdeadline",
    )
}

fn k8(state: WorkaroundState, can_switch: bool) -> Vec<String> {
    let switch = "as root on the machine itself: sidestep toggles set k8-c1-ramping=off";
    let mut lines = Vec::new();
    if state != WorkaroundState::On {
        if can_switch {
            lines.push(format!("switch C1 clock ramping off, {switch}"));
        }
        let or = if can_switch { "or keep" } else { "keep" };
        lines.push(format!("{or} CPUs from halting: boot with idle=poll, at the price of power"));
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
    use record::{Evidence, KernelClocks, Protection};

    fn ramping(workaround: WorkaroundState, remedies: &[&str]) -> FlawVerdict {
        FlawVerdict {
            id: C1_RAMPING.to_owned(),
            title: String::new(),
            affected: Answer::Yes,
            because: String::new(),
            workaround,
            protected: Protection::Unknown,
            paid: Answer::Unknown,
            special: None,
            evidence: Evidence::default(),
            disagreements: Vec::new(),
            cause: None,
            vectors: [].into(),
            switches: remedies
                .iter()
                .map(|&how| record::WorkaroundSwitch {
                    does: String::new(),
                    how: how.to_owned(),
                    applied_by: Vec::new(),
                })
                .collect(),
            fix: None,
            costs: Vec::new(),
        }
    }

    #[test]
    fn ramping_that_is_on_makes_time_unsafe_and_its_switch_is_offered() {
        let there = &["off on every node: sidestep toggles show k8-c1-ramping"][..];
        let absent = &["off on every node: cannot be switched here: none of its registers is there"];
        for (state, remedies, verdict, offered) in [
            (WorkaroundState::Off, there, ClockVerdict::Unsafe, true),
            (WorkaroundState::Partial, there, ClockVerdict::Unsafe, true),
            (WorkaroundState::On, there, ClockVerdict::CannotTell, false),
            (WorkaroundState::Unknown, there, ClockVerdict::CannotTell, true),
            (WorkaroundState::Unknown, absent, ClockVerdict::CannotTell, false),
        ] {
            let mut check = ClockCheck::default();
            clock_remedies(&mut check, &[ramping(state, remedies)]);
            assert_eq!(check.verdict, verdict, "{state:?}");
            let once = check.clone();
            clock_remedies(&mut check, &[ramping(state, remedies)]);
            assert_eq!(check, once, "judged twice");
            let offers = check.remedies.iter().any(|line| line.contains("toggles set k8-c1-ramping=off"));
            assert_eq!(offers, offered, "{state:?} {:?}", check.remedies);
        }
    }

    #[test]
    fn a_rate_that_firmware_states_wrongly_is_a_finding_once_and_no_verdict() {
        for (stated_hz, error_ppm, found) in [
            (None, None, ""),
            (Some(62_500_000.0), Some(3.0), ""),
            (Some(62_450_000.0), Some(3.0), ""),
            (Some(62_000_000.0), Some(9_000.0), ""),
            (Some(62_000_000.0), Some(3.0), "states 62.000 MHz"),
            (Some(50_000_000.0), Some(3.0), "run 25.000 % fast"),
            (Some(125_000_000.0), Some(3.0), "run 50.000 % slow"),
            (
                Some(0.0),
                Some(3.0),
                "states 0 Hz (CNTFRQ_EL0), the kernel's clock gives 62.500 MHz within 3 ppm",
            ),
            (Some(0.0), None, "find no rate"),
        ] {
            let mut check = ClockCheck {
                counter_hz: Some(62_500_000.0),
                counter_stated_hz: stated_hz,
                counter_error_ppm: error_ppm,
                ..ClockCheck::default()
            };
            clock_remedies(&mut check, &[]);
            clock_remedies(&mut check, &[]);
            assert_eq!(check.verdict, ClockCheck::default().verdict, "the counters agree all the same");
            let lines = usize::from(!found.is_empty());
            assert_eq!(
                (check.because.len(), check.remedies.len()),
                (lines, lines),
                "{stated_hz:?}: {check:?}"
            );
            assert!(check.because.join("").contains(found), "{stated_hz:?}: {check:?}");
        }
    }

    #[test]
    fn timers_with_old_microcode_get_the_advice_to_update_it() {
        for (kernel, workaround, advice) in [
            (WorkaroundState::On, WorkaroundState::On, "run without the TSC deadline"),
            (WorkaroundState::Unknown, WorkaroundState::Off, "lapic=notscdeadline"),
            (WorkaroundState::Unknown, WorkaroundState::On, ""),
        ] {
            let mut flaw = FlawVerdict { id: DEADLINE.to_owned(), ..ramping(workaround, &[]) };
            flaw.evidence.kernel.workaround = kernel;
            let mut check = ClockCheck::default();
            clock_remedies(&mut check, &[flaw]);
            assert_eq!(check.verdict, ClockCheck::default().verdict, "the counter itself is sound");
            let remedies = check.remedies.join("; ");
            assert_eq!(remedies.contains("microcode"), !advice.is_empty(), "{remedies}");
            assert!(remedies.contains(advice), "{remedies}");
        }
    }

    #[test]
    fn a_counter_that_the_kernel_gave_up_is_not_called_safe_and_the_advice_fits_the_reason() {
        let invariant = ["constant_tsc", "nonstop_tsc"].map(str::to_owned).to_vec();
        for (boot_words, flags, verdict, advice) in [
            (vec![], invariant.clone(), ClockVerdict::CannotTell, "before booting with tsc=reliable"),
            (
                vec!["tsc=unstable"],
                invariant.clone(),
                ClockVerdict::Safe,
                "reason for tsc=unstable is gone, boot without it",
            ),
            (vec!["notsc"], invariant, ClockVerdict::Safe, "reason for notsc is gone, boot without it"),
            (vec![], vec![], ClockVerdict::CannotTell, "no flag shows that the counter keeps its rate"),
            (
                vec!["tsc=unstable"],
                vec![],
                ClockVerdict::Safe,
                "no flag shows that the counter keeps its rate",
            ),
        ] {
            let mut check = ClockCheck {
                verdict: ClockVerdict::Safe,
                because: vec!["the two counters do not differ".to_owned()],
                kernel: KernelClocks {
                    clocksource: Some("hpet".to_owned()),
                    condemned: true,
                    boot_words: boot_words.into_iter().map(str::to_owned).collect(),
                    flags,
                    ..KernelClocks::default()
                },
                ..ClockCheck::default()
            };
            clock_remedies(&mut check, &[]);
            let once = check.clone();
            clock_remedies(&mut check, &[]);
            assert_eq!(check, once, "judged twice");
            assert_eq!((check.verdict, check.remedies.len()), (verdict, 1), "{check:?}");
            assert!(check.remedies[0].contains(advice), "{:?}", check.remedies);
        }
    }

    #[test]
    fn a_kernel_that_leaves_counters_alone_by_rule_has_seen_nothing_of_them() {
        let rule = "tsc: Marking TSC unstable due to TSCs unsynchronized";
        let hyperv = "tsc: Marking TSC unstable due to running on Hyper-V";
        let seen = "tsc: Marking TSC unstable due to clocksource watchdog";
        let warp = "TSC synchronization [CPU#0 -> CPU#1]: Measured 9 cycles TSC warp between CPUs, turning off TSC clock.";
        let switched = "clocksource: Switched to clocksource hpet";
        for (messages, verdict, reason) in [
            (
                Some(vec![switched, rule]),
                ClockVerdict::Safe,
                "by a rule, not for what it saw: \"tsc: Marking",
            ),
            (Some(vec![hyperv]), ClockVerdict::Safe, "due to running on Hyper-V\""),
            (
                Some(vec![rule, seen]),
                ClockVerdict::CannotTell,
                "does not trust the counter: \"tsc: Marking TSC unstable due to clocksource watchdog\"",
            ),
            (Some(vec![rule, warp]), ClockVerdict::CannotTell, "9 cycles TSC warp"),
            (Some(vec![seen]), ClockVerdict::CannotTell, "clocksource watchdog\""),
            (Some(vec![]), ClockVerdict::CannotTell, "no message left in its log says why"),
            (None, ClockVerdict::CannotTell, "without its log the reason is unknown"),
        ] {
            let mut check = ClockCheck {
                verdict: ClockVerdict::Safe,
                kernel: KernelClocks {
                    condemned: true,
                    messages: messages.as_ref().map(|all| all.iter().map(|&text| text.to_owned()).collect()),
                    ..KernelClocks::default()
                },
                ..ClockCheck::default()
            };
            clock_remedies(&mut check, &[]);
            let once = check.clone();
            clock_remedies(&mut check, &[]);
            assert_eq!((&check, check.verdict), (&once, verdict), "{messages:?}");
            assert!(
                check.because.iter().any(|line| line.contains(reason)),
                "{messages:?}: {:?}",
                check.because
            );
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
