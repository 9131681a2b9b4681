//! Registers as a witness: model-specific registers, node configuration, OSVW, CPUID bits, microcode revisions.
//!
//! In a guest none of them counts. KVM ignores writes of HWCR bit 3, tells of erratum 298 when it does not know, and
//! sets GDS_NO for hosts whose microcode only works around it (arch/x86/kvm/x86.c, svm.c).

use record::{Answer, FlawEvidence, RegisterReading, Statement, WorkaroundState};

use crate::cpu_range::{Membership, among};
use crate::{CpuidBit, Flaw, Means, MsrBits};

/// Number of valid bits of the OS-visible workaround status: AMD 41322, MSRC001_0140.
pub(crate) const OSVW_LENGTH: u32 = 0xc001_0140;
/// The OS-visible workaround status: AMD 41322, MSRC001_0141.
pub(crate) const OSVW_STATUS: u32 = 0xc001_0141;

/// The hypervisor of a guest that does not say whose it is.
const UNKNOWN: &str = "unknown";

/// The key of a model-specific register in the evidence.
pub(crate) fn msr_key(number: u32) -> String {
    format!("{number:x}")
}

/// The key of a configuration word in the evidence.
pub(crate) fn pci_key(function: u32, offset: u32) -> String {
    format!("{function:x}.{offset:x}")
}

/// The key of a CPUID answer in the evidence.
pub(crate) fn cpuid_key(leaf: u32, subleaf: u32) -> String {
    format!("{leaf:x}.{subleaf:x}")
}

/// What the registers say, and whether they can know.
#[derive(Default)]
pub(crate) struct RegisterWord {
    /// The statement.
    pub(crate) statement: Statement,
    /// The CPU itself says that it does not have the flaw; OSVW is only what firmware says.
    pub(crate) immune: bool,
}

/// What was heard so far.
#[derive(Default)]
struct Heard {
    says: Vec<String>,
    affected: Answer,
    immune: bool,
    states: Vec<WorkaroundState>,
    /// The CPU lacks the workaround's switch.
    has_no_switch: bool,
}

impl Heard {
    /// The state that all registers give together.
    fn workaround(&self, any_suffices: bool) -> WorkaroundState {
        if self.has_no_switch {
            return WorkaroundState::Off;
        }
        if any_suffices && self.states.contains(&WorkaroundState::On) {
            return WorkaroundState::On;
        }
        together(&self.states)
    }

    fn is_immune(&mut self) {
        self.immune = true;
        self.affected = Answer::No;
    }
}

/// Asks the registers about one flaw.
pub(crate) fn registers(flaw: &Flaw, evidence: &FlawEvidence) -> RegisterWord {
    let is_asked = !flaw.msr.is_empty()
        || !flaw.pci.is_empty()
        || flaw.osvw.is_some()
        || !flaw.cpuid.is_empty()
        || !flaw.microcode.is_empty();
    if !is_asked {
        return silent("no register tells");
    }
    if let Some(hypervisor) = &evidence.hypervisor {
        let whose = if hypervisor == UNKNOWN { String::new() } else { format!(" of {hypervisor}") };
        return silent(&format!("no witness: registers in a guest{whose} are made up"));
    }
    let mut heard = Heard::default();
    // The same bits mean something else on CPUs that the entry is not about.
    let is_about = evidence.cpus.iter().any(|cpu| flaw.concerns(cpu));
    let is_meant = |bits: &&MsrBits| match &bits.cpus[..] {
        [] => is_about,
        cpus => evidence.cpus.iter().any(|cpu| among(cpus, cpu) == Membership::Inside),
    };
    for bits in flaw.msr.iter().filter(is_meant) {
        let readings = evidence.msr.get(&msr_key(bits.number)).map_or(&[][..], Vec::as_slice);
        let name = format!("MSR {:08x}", bits.number);
        hear(&mut heard, &name, readings, &Wanted { mask: bits.mask, on: bits.on, means: bits.means });
    }
    for bits in flaw.pci.iter().filter(|_| is_about) {
        let readings = evidence.pci.get(&pci_key(bits.function, bits.offset)).map_or(&[][..], Vec::as_slice);
        let name = format!("node word F{:x}x{:02x}", bits.function, bits.offset);
        let wanted = Wanted { mask: bits.mask.into(), on: bits.on.into(), means: Means::Workaround };
        hear(&mut heard, &name, readings, &wanted);
    }
    hear_osvw(&mut heard, flaw, evidence);
    flaw.cpuid.iter().for_each(|bit| hear_cpuid(&mut heard, bit, evidence));
    hear_microcode(&mut heard, flaw, evidence);
    if heard.says.is_empty() {
        return silent("no register tells on this CPU");
    }
    let workaround = heard.workaround(flaw.any_register);
    let statement = Statement { says: heard.says.join("; "), affected: heard.affected, workaround };
    RegisterWord { statement, immune: heard.immune }
}

fn silent(why: &str) -> RegisterWord {
    let statement = Statement { says: why.to_owned(), ..Statement::default() };
    RegisterWord { statement, immune: false }
}

/// Bits and what they mean.
struct Wanted {
    mask: u64,
    on: u64,
    means: Means,
}

/// Takes in one register as all CPUs or nodes show it.
fn hear(heard: &mut Heard, name: &str, readings: &[RegisterReading], wanted: &Wanted) {
    let values: Vec<(u32, u64)> =
        readings.iter().filter_map(|reading| Some((reading.unit, *reading.value.value()?))).collect();
    if values.is_empty() {
        let reason = readings.first().and_then(|reading| match &reading.value {
            record::Reading::Missing(reason) => Some(reason.as_str()),
            record::Reading::Is(_) => None,
        });
        heard.says.push(format!("{name}: {}", reason.unwrap_or("not read")));
        return;
    }
    let is_on = |value: u64| value & wanted.mask == wanted.on;
    let on = values.iter().filter(|(_, value)| is_on(*value)).count();
    let bits = values[0].1 & wanted.mask;
    let unread = readings.len() - values.len();
    let silent = if unread == 0 { String::new() } else { format!(", {unread} not readable") };
    if on != 0 && on != values.len() {
        let odd: Vec<String> =
            values.iter().filter(|(_, value)| !is_on(*value)).map(|(unit, _)| unit.to_string()).collect();
        heard.says.push(format!(
            "{name}: unequal, not set as meant on {} of {} ({}){silent}",
            odd.len(),
            values.len(),
            odd.join(", ")
        ));
    } else {
        heard.says.push(format!("{name} & {:x} = {bits:x} on all {}{silent}", wanted.mask, values.len()));
    }
    match wanted.means {
        Means::Workaround => heard.states.push(match on {
            _ if unread > 0 && on == values.len() => WorkaroundState::Unknown,
            0 => WorkaroundState::Off,
            _ if on == values.len() => WorkaroundState::On,
            _ => WorkaroundState::Partial,
        }),
        Means::Immune if on == values.len() && unread == 0 => heard.is_immune(),
        Means::Switch if on < values.len() => heard.has_no_switch = true,
        Means::Immune | Means::Switch => {}
    }
}

fn hear_osvw(heard: &mut Heard, flaw: &Flaw, evidence: &FlawEvidence) {
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
    heard.says.push(format!("OSVW bit {}: {what}", osvw.bit));
    if !heard.immune {
        heard.affected = if is_needed { Answer::Yes } else { Answer::No };
    }
}

fn hear_cpuid(heard: &mut Heard, bit: &CpuidBit, evidence: &FlawEvidence) {
    let Some(answer) = evidence.cpuid.get(&cpuid_key(bit.leaf, bit.subleaf)) else { return };
    let index = match bit.register.as_str() {
        "eax" => 0,
        "ebx" => 1,
        "ecx" => 2,
        _ => 3,
    };
    let is_set = answer[index] >> bit.bit & 1 == 1;
    let name = format!("CPUID {:x} {}[{}] = {}", bit.leaf, bit.register, bit.bit, u32::from(is_set));
    heard.says.push(name);
    match bit.means {
        Means::Immune if is_set => heard.is_immune(),
        Means::Switch if !is_set => heard.has_no_switch = true,
        Means::Immune | Means::Switch => {}
        Means::Workaround => {
            heard.states.push(if is_set { WorkaroundState::On } else { WorkaroundState::Off });
        }
    }
}

fn hear_microcode(heard: &mut Heard, flaw: &Flaw, evidence: &FlawEvidence) {
    let mut states = Vec::new();
    let mut says = Vec::new();
    for cpu in &evidence.cpus {
        let floor = flaw.microcode.iter().find(|floor| floor.cpus.holds(cpu) == Membership::Inside);
        let (Some(floor), Some(revision)) = (floor, cpu.microcode) else { continue };
        let has = revision >= floor.at_least;
        let than = if has { "has" } else { "lacks" };
        let text = format!("microcode {revision:#x} {than} it (from {:#x})", floor.at_least);
        if !says.contains(&text) {
            says.push(text);
        }
        states.push(if has { WorkaroundState::On } else { WorkaroundState::Off });
    }
    heard.says.extend(says);
    if !states.is_empty() {
        heard.states.push(together(&states));
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
