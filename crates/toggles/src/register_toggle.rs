//! Toggles that are bits of registers: only on CPUs of an allow-list, on every CPU, never in a guest or under lockdown.

use host::{NodeFunction, Target};
use machine::{Identity, Vendor};

use crate::{About, Availability, Change, Risk, Switch, SwitchError, SystemState, Toggle, User, Value};

/// What all register toggles share.
pub(crate) const ABOUT: About = About {
    needs: &["root", "a CPU on its list, not in a guest", "the msr module, without lockdown"],
    ..About::SYSTEM
};

/// What toggles of a workaround share: without it there is the risk of the toggle.
pub(crate) const WORKAROUND: RegisterToggle = RegisterToggle {
    about: ABOUT,
    models: &[],
    bits: &[],
    off: "the workaround is off",
    on: "the workaround is on",
};

/// CPUs that a toggle is for.
#[derive(Debug, Clone)]
pub(crate) struct Models {
    /// Who made them.
    pub(crate) vendor: Vendor,
    /// Displayed family.
    pub(crate) family: u32,
    /// Displayed models.
    pub(crate) numbers: &'static [(u32, u32)],
    /// First and last stepping.
    pub(crate) steppings: (u32, u32),
}

impl Models {
    /// All steppings of these models of an AMD family.
    pub(crate) const fn amd(family: u32, numbers: &'static [(u32, u32)]) -> Self {
        Self { vendor: Vendor::Amd, family, numbers, steppings: (0, 15) }
    }

    /// All steppings of these models of Intel's family 6.
    pub(crate) const fn intel(numbers: &'static [(u32, u32)]) -> Self {
        Self { vendor: Vendor::Intel, family: 6, numbers, steppings: (0, 15) }
    }

    fn holds(&self, identity: &Identity) -> bool {
        let (Some(family), Some(model), Some(stepping)) =
            (identity.family, identity.model, identity.stepping)
        else {
            return false;
        };
        identity.vendor.as_ref() == Some(&self.vendor)
            && family == self.family
            && self.numbers.iter().any(|&(first, last)| (first..=last).contains(&model))
            && (self.steppings.0..=self.steppings.1).contains(&stepping)
    }
}

/// Where the bits are.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    /// A model-specific register of every CPU.
    Msr(u32),
    /// A 32-bit word of a PCI function of every AMD node (device 18h plus the node's number).
    AmdNode {
        function: u32,
        /// Offset in bytes.
        offset: u32,
    },
}

/// Bits with their state without and with the workaround.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bits {
    /// Where.
    pub(crate) place: Place,
    /// Which.
    pub(crate) mask: u64,
    /// Their state without.
    pub(crate) off: u64,
    /// Their state with.
    pub(crate) on: u64,
}

/// A toggle of register bits with the values `off` and `on`.
pub(crate) struct RegisterToggle {
    /// What stays the same.
    pub(crate) about: About,
    /// The CPUs it is for.
    pub(crate) models: &'static [Models],
    /// The bits, all of which are switched together.
    pub(crate) bits: &'static [Bits],
    /// What `off` means; its risk is that of the toggle.
    pub(crate) off: &'static str,
    /// What `on` means.
    pub(crate) on: &'static str,
}

impl RegisterToggle {
    /// Every target with its bits: each register of each CPU that is online.
    fn targets(&self, system: &SystemState) -> Vec<(Target, &Bits)> {
        let cpus: Vec<u32> = system.machine.topology.cpus.iter().map(|cpu| cpu.id.0).collect();
        let mut found = Vec::new();
        for bits in self.bits {
            match bits.place {
                Place::Msr(register) => {
                    let target = |&cpu: &u32| (Target::Msr { cpu, register, mask: bits.mask }, bits);
                    found.extend(cpus.iter().map(target));
                }
                Place::AmdNode { function, offset } => {
                    let mask = bits.mask as u32;
                    let target =
                        |found: NodeFunction| (Target::Pci { function: found.name(), offset, mask }, bits);
                    found.extend(host::node_functions(system.root, function).into_iter().map(target));
                }
            }
        }
        found
    }

    fn read(system: &SystemState, target: &Target) -> Option<String> {
        let bits = match target {
            Target::Msr { cpu, register, mask } => system.root.register(*cpu, *register).ok()? & mask,
            Target::Pci { function, offset, mask } => {
                u64::from(system.root.configuration_word(function, *offset)? & mask)
            }
            _ => return None,
        };
        Some(host::system_writer::hexadecimal(bits))
    }
}

impl Toggle for RegisterToggle {
    fn about(&self) -> &About {
        &self.about
    }

    fn availability(&self, system: &SystemState) -> Availability {
        let identity = &system.machine.identity;
        // Model-specific registers and nodes of AMD.
        let about = About { x86_only: true, ..self.about };
        if let Some(missing) = about.foreign(system) {
            return missing;
        }
        if !self.models.iter().any(|models| models.holds(identity)) {
            return Availability::missing("this CPU is not on its list", "");
        }
        if let Some(hypervisor) = &identity.hypervisor {
            let reason = format!("a guest of {hypervisor} sees registers that are made up");
            return Availability::missing(reason, "run on the host itself");
        }
        let lockdown = system.root.read("sys/kernel/security/lockdown").unwrap_or_default();
        if lockdown.contains("[integrity]") || lockdown.contains("[confidentiality]") {
            return Availability::missing("the kernel is locked down", "boot without lockdown");
        }
        if system.user == User::Unprivileged {
            return Availability::missing("it needs root", "run as root");
        }
        let targets = self.targets(system);
        if targets.is_empty() {
            return Availability::missing("none of its registers is there", "");
        }
        // One CPU that cannot be read would be left without what all others have.
        let Some((target, _)) = targets.iter().find(|(target, _)| Self::read(system, target).is_none())
        else {
            return Availability::Available;
        };
        let hint = if matches!(target, Target::Msr { .. }) { "modprobe msr" } else { "" };
        Availability::missing(format!("{target} cannot be read"), hint)
    }

    fn now(&self, system: &SystemState) -> Option<String> {
        let targets = self.targets(system);
        let all = |of: fn(&Bits) -> u64| {
            let holds = |(target, bits): &(Target, &Bits)| {
                Self::read(system, target) == Some(host::system_writer::hexadecimal(of(bits)))
            };
            !targets.is_empty() && targets.iter().all(holds)
        };
        if all(|bits| bits.off) {
            return Some("off".to_owned());
        }
        all(|bits| bits.on).then(|| "on".to_owned())
    }

    fn values(&self, _around: &SystemState) -> Vec<Value> {
        let value = |name: &str, means: &str, risk: Risk| Value {
            name: name.to_owned(),
            means: means.to_owned(),
            risk,
        };
        vec![value("off", self.off, self.about.risk), value("on", self.on, Risk::Reversible)]
    }

    fn switch(&self, system: &SystemState, value: &str) -> Result<Switch, SwitchError> {
        let is_on = self.value(system, value)?.name == "on";
        let change = |(target, bits): (Target, &Bits)| Change {
            target,
            value: host::system_writer::hexadecimal(if is_on { bits.on } else { bits.off }),
        };
        Ok(Switch::System(self.targets(system).into_iter().map(change).collect()))
    }
}
