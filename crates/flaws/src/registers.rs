//! Registers as evidence: model-specific registers, node configuration, OSVW, CPUID bits, microcode revisions.
//!
//! In a guest none of them counts. KVM ignores writes of HWCR bit 3, tells of erratum 298 when it does not know, and
//! sets GDS_NO for hosts whose microcode only works around it (arch/x86/kvm/x86.c, svm.c).

use std::collections::BTreeMap;

use record::{
    Answer, CpuSignature, FlawEvidence, Protection, RegisterReading, Statement, WorkaroundState, msr_key,
    pair_key,
};

use crate::cpu_range::{Membership, among};
use crate::kernel::messages_seen;
use crate::wording::protection;
use crate::{Catalogue, CpuidBit, Flaw, Means, MsrBits};

/// Number of valid bits of the OS-visible workaround status: AMD 41322, MSRC001_0140.
pub(crate) const OSVW_LENGTH: u32 = 0xc001_0140;
/// The OS-visible workaround status: AMD 41322, MSRC001_0141.
pub(crate) const OSVW_STATUS: u32 = 0xc001_0141;

/// The hypervisor of a guest that does not say whose it is.
const UNKNOWN: &str = "unknown";
/// How the sentence begins that dismisses the registers of a guest.
pub(crate) const MADE_UP: &str = "no evidence: registers in a guest";

/// What the registers say, and whether they can know.
#[derive(Default)]
pub(crate) struct RegisterVerdict {
    /// The statement.
    pub(crate) statement: Statement,
    /// The CPU itself says that it does not have the flaw; OSVW is only what firmware says.
    pub(crate) immune: bool,
    /// The workaround is on by the microcode's revision alone.
    pub(crate) by_microcode: bool,
}

/// What the registers have shown so far.
#[derive(Default)]
struct Shown {
    says: Vec<String>,
    affected: Answer,
    immune: bool,
    states: Vec<WorkaroundState>,
    /// The CPU lacks the workaround's switch.
    has_no_switch: bool,
    /// Not every CPU shows whether it has the switch.
    switch_unknown: bool,
    by_microcode: bool,
}

impl Shown {
    /// The state that all registers give together.
    fn workaround(&self, any_suffices: bool) -> WorkaroundState {
        if self.has_no_switch {
            return WorkaroundState::Off;
        }
        let state = if any_suffices && self.states.contains(&WorkaroundState::On) {
            WorkaroundState::On
        } else {
            together(&self.states)
        };
        // Without its switch the workaround is off whatever other bits say: "off" stands, anything else is open.
        if self.switch_unknown && state != WorkaroundState::Off { WorkaroundState::Unknown } else { state }
    }

    fn is_affected(&mut self) {
        if !self.immune {
            self.affected = Answer::Yes;
        }
    }

    fn is_immune(&mut self) {
        self.immune = true;
        self.affected = Answer::No;
    }

    /// Takes in that bits were not read.
    fn miss(&mut self, means: Means) {
        match means {
            // What could not be asked may be on: without it the others do not know that the workaround is off.
            Means::Workaround => self.states.push(WorkaroundState::Unknown),
            Means::Switch => self.switch_unknown = true,
            Means::Immune | Means::Affected => {}
        }
    }
}

/// Asks the registers about one flaw.
pub(crate) fn registers(flaw: &Flaw, evidence: &FlawEvidence) -> RegisterVerdict {
    let is_asked = !flaw.msr.is_empty()
        || !flaw.pci.is_empty()
        || flaw.osvw.is_some()
        || !flaw.cpuid.is_empty()
        || !flaw.hidden_flag.is_empty()
        || !flaw.microcode.is_empty();
    if !is_asked {
        return silent("no register tells");
    }
    if let Some(hypervisor) = &evidence.hypervisor {
        let whose = if hypervisor == UNKNOWN { String::new() } else { format!(" of {hypervisor}") };
        return silent(&format!("{MADE_UP}{whose} are made up"));
    }
    let mut shown = Shown::default();
    // The same bits mean something else on CPUs that the entry is not about.
    let is_about = evidence.cpus.iter().any(|cpu| flaw.concerns(cpu));
    let is_meant = |bits: &&MsrBits| match &bits.cpus[..] {
        [] => is_about,
        cpus => evidence.cpus.iter().any(|cpu| among(cpus, cpu) == Membership::Inside),
    };
    for bits in flaw.msr.iter().filter(is_meant) {
        let readings = evidence.msr.get(&msr_key(bits.number)).map_or(&[][..], Vec::as_slice);
        let name = format!("MSR {:08x}", bits.number);
        add_bits(
            &mut shown,
            &name,
            readings,
            &RequiredBits { mask: bits.mask, on: bits.on, means: bits.means },
        );
    }
    for bits in flaw.pci.iter().filter(|_| is_about) {
        let readings = evidence.pci.get(&pair_key(bits.function, bits.offset)).map_or(&[][..], Vec::as_slice);
        let name = format!("node word F{:x}x{:02x}", bits.function, bits.offset);
        let required = RequiredBits { mask: bits.mask.into(), on: bits.on.into(), means: Means::Workaround };
        add_bits(&mut shown, &name, readings, &required);
    }
    add_osvw(&mut shown, flaw, evidence);
    flaw.cpuid.iter().for_each(|bit| add_cpuid(&mut shown, bit, evidence, is_about));
    if is_about {
        add_hidden_flags(&mut shown, flaw, evidence);
    }
    add_microcode(&mut shown, flaw, evidence);
    if shown.says.is_empty() {
        return silent("no register tells on this CPU");
    }
    let workaround = shown.workaround(flaw.any_register);
    let protected = if shown.immune { Protection::NotAffected } else { protection(workaround) };
    let statement =
        Statement { says: shown.says.join("; "), affected: shown.affected, workaround, protected };
    let by_microcode = shown.by_microcode && workaround == WorkaroundState::On;
    RegisterVerdict { statement, immune: shown.immune, by_microcode }
}

fn silent(why: &str) -> RegisterVerdict {
    let statement = Statement { says: why.to_owned(), ..Statement::default() };
    RegisterVerdict { statement, ..RegisterVerdict::default() }
}

/// Bits and what they mean.
struct RequiredBits {
    mask: u64,
    on: u64,
    means: Means,
}

/// Takes in one register as all CPUs or nodes show it.
fn add_bits(shown: &mut Shown, name: &str, readings: &[RegisterReading], required: &RequiredBits) {
    let values: Vec<(u32, u64)> =
        readings.iter().filter_map(|reading| Some((reading.unit, *reading.value.value()?))).collect();
    if values.is_empty() {
        let reason = readings.first().and_then(|reading| match &reading.value {
            record::Reading::Missing(reason) => Some(reason.as_str()),
            record::Reading::Is(_) => None,
        });
        shown.says.push(format!("{name}: {}", reason.unwrap_or("not read")));
        shown.miss(required.means);
        return;
    }
    let is_on = |value: u64| value & required.mask == required.on;
    let on = values.iter().filter(|(_, value)| is_on(*value)).count();
    let bits = values[0].1 & required.mask;
    let unread = readings.len() - values.len();
    let silent = if unread == 0 { String::new() } else { format!(", {unread} not readable") };
    if on != 0 && on != values.len() {
        let odd: Vec<String> =
            values.iter().filter(|(_, value)| !is_on(*value)).map(|(unit, _)| unit.to_string()).collect();
        shown.says.push(format!(
            "{name}: unequal, not set as meant on {} of {} ({}){silent}",
            odd.len(),
            values.len(),
            odd.join(", ")
        ));
    } else {
        shown.says.push(format!("{name} & {:x} = {bits:x} on all {}{silent}", required.mask, values.len()));
    }
    match required.means {
        Means::Workaround => shown.states.push(match on {
            _ if unread > 0 && on == values.len() => WorkaroundState::Unknown,
            0 => WorkaroundState::Off,
            _ if on == values.len() => WorkaroundState::On,
            _ => WorkaroundState::Partial,
        }),
        Means::Immune if on == values.len() && unread == 0 => shown.is_immune(),
        Means::Switch if on < values.len() => shown.has_no_switch = true,
        Means::Switch if unread > 0 => shown.switch_unknown = true,
        Means::Affected if on > 0 => shown.is_affected(),
        Means::Affected if unread == 0 => shown.is_immune(),
        Means::Immune | Means::Switch | Means::Affected => {}
    }
}

fn add_osvw(shown: &mut Shown, flaw: &Flaw, evidence: &FlawEvidence) {
    let Some(osvw) = &flaw.osvw else { return };
    let of = |number: u32| evidence.msr.get(&msr_key(number)).map_or(&[][..], Vec::as_slice);
    let lengths = of(OSVW_LENGTH);
    let mut needed = Vec::new();
    for status in of(OSVW_STATUS) {
        let length = lengths.iter().find(|length| length.unit == status.unit);
        if let (Some(status), Some(length)) =
            (status.value.value(), length.and_then(|length| length.value.value()))
            && *length > u64::from(osvw.bit)
        {
            needed.push(status >> osvw.bit & 1 == 1);
        }
    }
    if needed.is_empty() {
        return;
    }
    let is_needed = needed.contains(&true);
    let what = if is_needed { "a workaround is needed" } else { "repaired" };
    shown.says.push(format!("OSVW bit {}: {what}", osvw.bit));
    if !shown.immune {
        shown.affected = if is_needed { Answer::Yes } else { Answer::No };
    }
}

fn add_cpuid(shown: &mut Shown, bit: &CpuidBit, evidence: &FlawEvidence, is_about: bool) {
    let Some(answer) = evidence.cpuid.get(&pair_key(bit.leaf, bit.subleaf)) else {
        if is_about {
            shown.says.push(format!("CPUID {:x} {}[{}]: not read", bit.leaf, bit.register, bit.bit));
            shown.miss(bit.means);
        }
        return;
    };
    let index = match bit.register.as_str() {
        "eax" => 0,
        "ebx" => 1,
        "ecx" => 2,
        _ => 3,
    };
    let is_set = answer[index] >> bit.bit & 1 == 1;
    let name = format!("CPUID {:x} {}[{}] = {}", bit.leaf, bit.register, bit.bit, u32::from(is_set));
    shown.says.push(name);
    match bit.means {
        Means::Immune if is_set => shown.is_immune(),
        Means::Switch if !is_set => shown.has_no_switch = true,
        Means::Affected if is_set => shown.is_affected(),
        Means::Affected => shown.is_immune(),
        Means::Immune | Means::Switch => {}
        Means::Workaround => {
            shown.states.push(if is_set { WorkaroundState::On } else { WorkaroundState::Off });
        }
    }
}

/// Flags whose absence is the workaround; without any flag at all nothing is known.
fn add_hidden_flags(shown: &mut Shown, flaw: &Flaw, evidence: &FlawEvidence) {
    if evidence.flags.is_empty() {
        shown.states.extend(flaw.hidden_flag.iter().map(|_| WorkaroundState::Unknown));
        return;
    }
    for flag in &flaw.hidden_flag {
        if evidence.flags_unreported.contains(&flag.name) {
            shown.says.push(format!("flag {}: not shown here", flag.name));
            shown.states.push(WorkaroundState::Unknown);
            continue;
        }
        let is_there = evidence.flags.contains(&flag.name);
        shown.says.push(format!("flag {} is {}", flag.name, if is_there { "offered" } else { "hidden" }));
        if !is_there {
            shown.states.push(WorkaroundState::On);
        } else if !evidence.cpus.iter().any(|cpu| flaw.microcode_from(cpu).is_some()) {
            // Where microcode can have repaired this CPU, the kernel offers it as well: the revision decides.
            shown.states.push(WorkaroundState::Off);
        }
    }
}

/// Bits of an AMD microcode revision below the stepping, model and family of the CPU that it is for: Linux,
/// arch/x86/include/asm/cpu.h, `union zen_patch_rev`.
const AMD_REVISION_BITS: u32 = 8;

impl Flaw {
    /// The microcode revision from which on a CPU has the workaround, if the entry knows one.
    pub fn microcode_from(&self, cpu: &CpuSignature) -> Option<u64> {
        self.microcode.iter().find(|floor| floor.cpus.has(cpu)).map(|floor| floor.at_least)
    }
}

/// Whether two revisions were made for the same CPU: of AMD only then the larger one is the newer one.
fn is_of_one_cpu(cpu: &CpuSignature, revision: u64, floor: u64) -> bool {
    cpu.vendor.as_deref() != Some("AuthenticAMD")
        || revision >> AMD_REVISION_BITS == floor >> AMD_REVISION_BITS
}

fn add_microcode(shown: &mut Shown, flaw: &Flaw, evidence: &FlawEvidence) {
    // The kernel sets the bit where it finds the microcode too old. Its message stays when the bit is cleared later.
    let kernel_set_the_bit = flaw.any_register
        && messages_seen(flaw, evidence).any(|message| message.state == WorkaroundState::On);
    let mut states = Vec::new();
    let mut says = Vec::new();
    for cpu in &evidence.cpus {
        let Some(at_least) = flaw.microcode_from(cpu) else { continue };
        let Some(revision) = cpu.microcode else {
            states.push(WorkaroundState::Unknown);
            continue;
        };
        let (says_it, state) = if !is_of_one_cpu(cpu, revision, at_least) && kernel_set_the_bit {
            ("is too old for the kernel", WorkaroundState::Off)
        } else if !is_of_one_cpu(cpu, revision, at_least) {
            ("is for another model or stepping than the first that has it", WorkaroundState::Unknown)
        } else if revision >= at_least {
            ("has it", WorkaroundState::On)
        } else {
            ("lacks it", WorkaroundState::Off)
        };
        let text = format!("microcode {revision:#x} {says_it} (from {at_least:#x})");
        if !says.contains(&text) {
            says.push(text);
        }
        states.push(state);
    }
    shown.says.extend(says);
    if !states.is_empty() {
        // Registers, which were read before, show the other workaround.
        shown.by_microcode = !shown.states.contains(&WorkaroundState::On);
        shown.states.push(together(&states));
    }
}

/// The state that several registers give together: all of them belong to one workaround.
fn together(states: &[WorkaroundState]) -> WorkaroundState {
    match states {
        [] => WorkaroundState::Unknown,
        [first, rest @ ..] if rest.iter().all(|state| state == first) => *first,
        _ if states.contains(&WorkaroundState::Unknown) => WorkaroundState::Unknown,
        _ => WorkaroundState::Partial,
    }
}

/// Differences between the CPUs of a machine, one sentence each.
///
/// Boards with mixed steppings are legal and need the union of all workarounds; unequal microcode or register bits
/// mean that a CPU lacks what the others have.
pub fn uneven(catalogue: &Catalogue, evidence: &FlawEvidence) -> Vec<String> {
    let mut found = Vec::new();
    let signature = |cpu: &CpuSignature| {
        let number = |number: Option<u32>| number.map_or_else(|| "?".to_owned(), |number| number.to_string());
        format!("{}-{}-{}", number(cpu.family), number(cpu.model), number(cpu.stepping))
    };
    let microcode = |cpu: &CpuSignature| {
        cpu.microcode.map_or_else(|| "unknown".to_owned(), |revision| format!("{revision:#x}"))
    };
    found.extend(differing("family-model-stepping", evidence.cpus.iter().map(signature)));
    found.extend(differing("microcode revision", evidence.cpus.iter().map(microcode)));
    if evidence.hypervisor.is_some() {
        return found;
    }
    // Only the bits that the catalogue knows: others may differ by design.
    let mut masks: BTreeMap<u32, u64> = BTreeMap::new();
    for bits in catalogue.flaws.iter().flat_map(|flaw| &flaw.msr) {
        *masks.entry(bits.number).or_default() |= bits.mask;
    }
    for (number, mask) in masks {
        let readings = evidence.msr.get(&record::msr_key(number)).map_or(&[][..], Vec::as_slice);
        let bits = readings.iter().filter_map(|reading| reading.value.value());
        let name = format!("MSR {number:08x} & {mask:x}");
        found.extend(differing(&name, bits.map(|value| format!("{:x}", value & mask))));
    }
    found
}

/// A sentence when the values are not all alike.
fn differing(name: &str, values: impl Iterator<Item = String>) -> Option<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for value in values {
        *counts.entry(value).or_default() += 1;
    }
    if counts.len() < 2 {
        return None;
    }
    let each: Vec<String> = counts.iter().map(|(value, count)| format!("{value} on {count}")).collect();
    Some(format!("{name} differs between CPUs: {}", each.join(", ")))
}
