//! The verdict grid: affected, workaround, protected and what it costs for each flaw, with every contradiction shown.
//!
//! No source silences another. Where they differ, time goes before registers and registers before the kernel for the
//! state of the workaround, because a price that is measured is being paid, and the difference is printed.

use std::collections::BTreeSet;

use record::{
    Answer, Evidence, FlawEvidence, FlawVerdict, PciWord, Protection, Reading, RegistersAsked,
    SignatureReading, Special, Statement, WorkaroundState, WorkaroundSwitch,
};

use crate::cause::{Case, cause};
use crate::cpu_range::{Membership, among};
use crate::fix::fix;
use crate::kernel::{KernelWord, kernel};
use crate::masked::without_made_up_models;
use crate::presence::{Said, presence};
use crate::registers::{OSVW_LENGTH, OSVW_STATUS, RegisterVerdict, registers};
use crate::vectors::{difference, states};
use crate::wording::protection;
use crate::{Baseline, Catalogue, Choice, Flaw, Signature, Switch};

/// Judges every flaw of the catalogue on the evidence of one machine.
pub fn judge(catalogue: &Catalogue, evidence: &FlawEvidence) -> Vec<FlawVerdict> {
    let evidence = without_made_up_models(evidence);
    let choice = Choice::of(&evidence);
    catalogue.flaws.iter().map(|flaw| verdict(flaw, &evidence, &choice)).collect()
}

fn verdict(flaw: &Flaw, evidence: &FlawEvidence, choice: &Choice) -> FlawVerdict {
    let KernelWord { statement: kernel, is_unsure } = kernel(flaw, evidence);
    let RegisterVerdict { statement: registers, immune, by_microcode } = registers(flaw, evidence);
    let time = time(flaw, evidence);
    let said = Said { kernel: &kernel, registers: &registers, time: &time, immune, is_unsure };
    let presence = presence(flaw, evidence, &said);
    let mut disagreements = presence.disagreements;
    disagreements.extend(state_disagreements(&said));
    let known = |statement: &Statement| {
        (statement.workaround != WorkaroundState::Unknown).then_some(statement.workaround)
    };
    let workaround =
        known(&time).or(known(&registers)).or(known(&kernel)).unwrap_or(WorkaroundState::Unknown);
    let protected = protected(presence.affected, workaround, &kernel);
    let is_here = presence.affected == Answer::Yes;
    let case = Case { flaw, evidence, protected, kernel_says: &kernel.says, choice, is_here };
    let cause = cause(&case);
    let kind = cause.as_ref().map(|cause| cause.kind);
    let fix = cause.as_ref().and_then(|cause| fix(&case, cause));
    let vectors = states(&case, kind);
    disagreements.extend(difference(&case, kind));
    let paid = match paid(presence.affected, workaround, &time) {
        Answer::Yes if time.workaround != WorkaroundState::On => priced(flaw, by_microcode),
        answer => answer,
    };
    let special = special(presence.affected, &said);
    FlawVerdict {
        id: flaw.id.clone(),
        title: flaw.title.clone(),
        affected: presence.affected,
        because: presence.because,
        workaround,
        protected,
        paid,
        special,
        evidence: Evidence { kernel, registers, time },
        disagreements,
        cause,
        vectors,
        switches: switches(flaw, evidence),
        fix,
        costs: flaw.cost.iter().map(|cost| format!("{} ({})", cost.text, cost.source)).collect(),
    }
}

/// Pairs of sources that contradict each other on the workaround.
fn state_disagreements(said: &Said) -> Vec<String> {
    let has_price = |state| {
        use WorkaroundState::{Attempted, Off, On, Partial, Unknown};
        match state {
            On | Attempted | Partial => Some(true),
            Off => Some(false),
            Unknown => None,
        }
    };
    let named = [("time", said.time), ("registers", said.registers), ("the kernel", said.kernel)];
    let mut found = Vec::new();
    for (index, (name, statement)) in named.iter().enumerate() {
        for (other_name, other) in &named[index + 1..] {
            let pair = (has_price(statement.workaround), has_price(other.workaround));
            if let (Some(a), Some(b)) = pair
                && a != b
            {
                found.push(contradiction((name, statement), (other_name, other)));
            }
        }
    }
    // "In part" of registers means some CPUs without it, which "on" denies; of the kernel it means open siblings or the like.
    if said.registers.workaround == WorkaroundState::Partial {
        let sure = named.iter().filter(|(_, statement)| statement.workaround == WorkaroundState::On);
        found.extend(sure.map(|&other| contradiction(named[1], other)));
    }
    found
}

fn contradiction((name, one): (&str, &Statement), (other_name, other): (&str, &Statement)) -> String {
    format!("{name} says \"{}\", {other_name} says \"{}\"", one.says, other.says)
}

fn protected(affected: Answer, state: WorkaroundState, kernel: &Statement) -> Protection {
    let by_state = protection(state);
    match affected {
        Answer::No => Protection::NotAffected,
        // Without its workaround only those are open who have the flaw.
        Answer::Unknown if by_state.is_open() => Protection::Unknown,
        // The kernel thinks itself safe as it thinks itself not affected: whoever doubts the one doubts the other.
        _ if kernel.affected == Answer::No => by_state,
        // Whatever registers or time see, they see it in a program that asked or did not ask.
        _ if kernel.protected == Protection::OnRequest => Protection::OnRequest,
        _ if state == kernel.workaround && kernel.affected == Answer::Yes => kernel.protected,
        _ => by_state,
    }
}

/// Whether it costs: time knows best, otherwise a workaround that is on costs.
fn paid(affected: Answer, state: WorkaroundState, time: &Statement) -> Answer {
    match (time.workaround, state) {
        (WorkaroundState::On, _) => Answer::Yes,
        (WorkaroundState::Off, _) | (_, WorkaroundState::Off) => Answer::No,
        (_, WorkaroundState::On | WorkaroundState::Partial | WorkaroundState::Attempted) => Answer::Yes,
        (_, WorkaroundState::Unknown) if affected == Answer::No => Answer::No,
        (_, WorkaroundState::Unknown) => Answer::Unknown,
    }
}

/// Whether a workaround that is on costs anything, by what the entry says of it. What suffers is what the kernel's workaround
/// slows down: a repair by microcode has a price only where one is stated.
fn priced(flaw: &Flaw, by_microcode: bool) -> Answer {
    if !flaw.cost.is_empty() {
        return Answer::Yes;
    }
    match flaw.suffers.split([' ', ':', ';', ',']).next() {
        Some("none" | "negligible") => Answer::No,
        Some("unknown") => Answer::Unknown,
        _ if by_microcode => Answer::Unknown,
        _ => Answer::Yes,
    }
}

fn special(affected: Answer, said: &Said) -> Option<Special> {
    let is_reported = !matches!(said.kernel.workaround, WorkaroundState::Unknown | WorkaroundState::Off);
    if said.time.workaround == WorkaroundState::On && !is_reported {
        return Some(Special::UndeclaredCost);
    }
    if affected == Answer::No && said.kernel.affected == Answer::Yes && is_reported {
        return Some(Special::WithoutNeed);
    }
    (affected == Answer::Yes && said.kernel.workaround == WorkaroundState::Attempted)
        .then_some(Special::PayingUnprotected)
}

/// How each workaround is switched.
fn switches(flaw: &Flaw, evidence: &FlawEvidence) -> Vec<WorkaroundSwitch> {
    flaw.workaround
        .iter()
        .filter(|workaround| workaround.is_applied_on(evidence))
        .map(|workaround| WorkaroundSwitch {
            does: workaround.does.clone(),
            how: switch(&workaround.switch, evidence),
            applied_by: workaround.by.iter().map(|by| by.name().to_owned()).collect(),
        })
        .collect()
}

fn switch(switch: &Switch, evidence: &FlawEvidence) -> String {
    let missing = |toggle: &String| evidence.toggles_missing.get(toggle);
    let ways = [
        switch
            .toggle
            .as_ref()
            .filter(|&toggle| missing(toggle).is_none())
            .map(|toggle| format!("sidestep toggles show {toggle}")),
        switch.boot.as_ref().map(|boot| format!("boot option {boot}")),
        switch.recompile.as_ref().map(|option| format!("recompile with {option}")),
        switch.firmware.as_ref().map(|setting| format!("firmware setting: {setting}")),
        switch.arrange.clone(),
        switch.never.as_ref().map(|reason| format!("cannot be switched: {reason}")),
    ];
    let ways: Vec<String> = ways.into_iter().flatten().collect();
    match switch.toggle.as_ref().and_then(missing) {
        Some(reason) if ways.is_empty() => format!("cannot be switched here: {reason}"),
        _ => ways.join("; or "),
    }
}

/// Asks time about one flaw.
fn time(flaw: &Flaw, evidence: &FlawEvidence) -> Statement {
    let says = |text: String| Statement { says: text, ..Statement::default() };
    let Some(signature) = &flaw.signature else { return says("no signature known".into()) };
    let Some(baseline) = baseline(signature, evidence) else {
        return says("no baseline for this CPU".into());
    };
    let measured = match evidence.timing.get(&signature.quantity) {
        None => return says("not measured".into()),
        Some(Reading::Missing(reason)) => return says(format!("not measured: {reason}")),
        Some(Reading::Is(measured)) => measured,
    };
    let value = number(measured);
    if !measured.control_holds {
        let control = format!("{} moved to {:.3}", measured.control, measured.control_ratio);
        return says(format!("{value}; cannot tell: the control ({control})"));
    }
    let expected = expectation(baseline);
    let state = if measured.interval.low >= baseline.on_at_least {
        WorkaroundState::On
    } else if measured.interval.high <= baseline.off_at_most {
        WorkaroundState::Off
    } else {
        return says(format!("{value}; cannot tell: it lies between off and on ({expected})"));
    };
    let says = format!("{value} ({expected})");
    Statement { says, workaround: state, protected: protection(state), ..Statement::default() }
}

/// Whether it is known what a signature comes to on these CPUs.
fn has_baseline(signature: &Signature, evidence: &FlawEvidence) -> bool {
    baseline(signature, evidence).is_some()
}

fn baseline<'s>(signature: &'s Signature, evidence: &FlawEvidence) -> Option<&'s Baseline> {
    signature.baseline.iter().find(|baseline| is_for(baseline, evidence))
}

fn is_for(baseline: &Baseline, evidence: &FlawEvidence) -> bool {
    baseline.cpus.is_empty()
        || evidence.cpus.iter().any(|cpu| among(&baseline.cpus, cpu) == Membership::Inside)
}

fn number(measured: &SignatureReading) -> String {
    let unit = if measured.unit == "ratio" { "x".to_owned() } else { format!(" {}", measured.unit) };
    format!("{:.3}{unit} [{:.3}, {:.3}]", measured.value, measured.interval.low, measured.interval.high)
}

fn expectation(baseline: &Baseline) -> String {
    let one = |name: &str, value: Option<f64>| value.map(|value| format!("{name} {value}"));
    let known: Vec<String> =
        [one("without", baseline.without), one("with", baseline.with)].into_iter().flatten().collect();
    if known.is_empty() {
        return format!("off up to {}, on from {}", baseline.off_at_most, baseline.on_at_least);
    }
    known.join(", ")
}

impl Catalogue {
    /// The registers that its entries name.
    pub fn registers(&self) -> RegistersAsked {
        let mut required = RegistersAsked::default();
        for flaw in &self.flaws {
            required.msr.extend(flaw.msr.iter().map(|bits| bits.number));
            if flaw.osvw.is_some() {
                required.msr.extend([OSVW_LENGTH, OSVW_STATUS]);
            }
            required
                .pci
                .extend(flaw.pci.iter().map(|bits| PciWord { function: bits.function, offset: bits.offset }));
            let needed = flaw.need.iter().flat_map(|need| need.flag.iter().chain(&need.without_flag));
            let fixing = flaw.workaround.iter().flat_map(|workaround| &workaround.fix_flags);
            let of_some = &flaw.causes.of;
            let by_default = of_some.iter().flat_map(|of| of.default_flags.iter().chain(&of.without_flag));
            required.flags.extend(needed.chain(fixing).chain(by_default).cloned());
            required.kernel_options.extend(flaw.causes.kernel_options().map(str::to_owned));
            required.kernel_flags.extend(flaw.hidden_flag.iter().map(|flag| flag.name.clone()));
            required.cpuid.extend(flaw.cpuid.iter().map(|bit| (bit.leaf, bit.subleaf)));
            required.cpuid.extend(of_some.iter().filter_map(|of| Some((of.eax_bit.as_ref()?.leaf, 0))));
        }
        required
    }

    /// Names of the signature probes of flaws that may concern a machine, each once. Without a baseline for its CPUs a value
    /// could not decide, and is not measured.
    pub fn telling_probes(&self, evidence: &FlawEvidence) -> Vec<&str> {
        let verdicts = judge(self, evidence);
        let concerned =
            self.flaws.iter().zip(&verdicts).filter(|(_, verdict)| verdict.affected != Answer::No);
        let signatures = concerned.filter_map(|(flaw, _)| flaw.signature.as_ref());
        let mut named = BTreeSet::new();
        signatures
            .filter(|signature| has_baseline(signature, evidence))
            .map(|signature| signature.probe.as_str())
            .filter(|name| named.insert(*name))
            .collect()
    }
}
