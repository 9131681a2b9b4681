//! Who a CPU says it is: vendor, family, model, stepping, microcode, hypervisor.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{ArmCpus, Bytes};

/// Who made the CPU.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(from = "String", into = "String")]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
pub enum Vendor {
    /// `GenuineIntel`.
    Intel,
    /// `AuthenticAMD`.
    Amd,
    /// `HygonGenuine`.
    Hygon,
    /// Any other vendor string, as the machine gave it.
    Other(String),
}

impl From<String> for Vendor {
    fn from(text: String) -> Self {
        match text.as_str() {
            "GenuineIntel" => Self::Intel,
            "AuthenticAMD" => Self::Amd,
            "HygonGenuine" => Self::Hygon,
            _ => Self::Other(text),
        }
    }
}

impl From<Vendor> for String {
    fn from(vendor: Vendor) -> String {
        vendor.to_string()
    }
}

impl fmt::Display for Vendor {
    /// The vendor string as CPUID spells it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Intel => "GenuineIntel",
            Self::Amd => "AuthenticAMD",
            Self::Hygon => "HygonGenuine",
            Self::Other(text) => text,
        })
    }
}

/// Who the CPU says it is. Everything can be missing: other architectures have other numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Identity {
    /// CPU maker.
    pub vendor: Option<Vendor>,
    /// Displayed family: base plus extended family.
    pub family: Option<u32>,
    /// Displayed model: with the extended model bits.
    pub model: Option<u32>,
    /// Stepping.
    pub stepping: Option<u32>,
    /// Microcode revision of the first CPU that tells; a hypervisor may make it up.
    pub microcode: Option<u64>,
    /// Marketing name.
    pub name: Option<String>,
    /// Who virtualises this machine: `KVM`, `VMware`, or `unknown` if only the CPUID bit is set.
    pub hypervisor: Option<String>,
    /// Feature flags as /proc/cpuinfo names them, sorted.
    pub flags: Vec<String>,
    /// `x86_64`, `aarch64`; of a recording, as far as it is known.
    pub architecture: Option<String>,
    /// Who each CPU of an Arm machine is, by groups in the order of their first CPUs: big and little cores differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arm: Vec<ArmCpus>,
    /// The system on a chip as firmware names it (`/sys/devices/soc0`): `jep106:0426:8901 revision 0x00000000`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soc: Option<String>,
    /// Board and system from DMI (`/sys/class/dmi/id`), such as `Sun Blade X6440`, or from the device tree.
    pub board: Option<String>,
    /// BIOS vendor, version and date from DMI, in one text.
    pub bios: Option<String>,
    /// Who made the BIOS, from DMI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bios_vendor: Option<String>,
    /// Version of the BIOS, from DMI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bios_version: Option<String>,
    /// Date of the BIOS as DMI spells it: `03/14/2024`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bios_date: Option<String>,
    /// Memory modules in the order of firmware's table, which only root may read; empty where they are unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory_modules: Vec<MemoryModule>,
}

/// A memory module as firmware describes it, without its serial number.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MemoryModule {
    /// Name of the slot: `DIMM_A1`.
    pub slot: String,
    /// Name of the channel or bank: `P0 CHANNEL A`.
    pub channel: String,
    /// Who made it.
    pub maker: String,
    /// Part number.
    pub part: String,
    /// Capacity; `None` if unknown.
    pub bytes: Option<Bytes>,
    /// Million transfers per second that it is run at; `None` if unknown.
    pub megatransfers_per_s: Option<u32>,
}

impl Identity {
    /// The numbers of the design: `GenuineIntel family 6 model 85 stepping 7`, or `MIDR 0x413fd0c1` of Arm; `None` where
    /// nobody is named.
    pub fn signature(&self) -> Option<String> {
        self.main_id_registers().or_else(|| {
            let vendor = self.vendor.as_ref()?;
            let number = |value: Option<u32>| value.map_or_else(|| "?".to_owned(), |value| value.to_string());
            let [family, model, stepping] = [self.family, self.model, self.stepping].map(number);
            Some(format!("{vendor} family {family} model {model} stepping {stepping}"))
        })
    }

    /// The main id registers of Arm CPUs: `MIDR 0x413fd0c1`; `None` where no CPU is one.
    pub fn main_id_registers(&self) -> Option<String> {
        let mut numbers: Vec<String> =
            self.arm.iter().map(|group| format!("MIDR {:#010x}", group.signature.midr())).collect();
        numbers.dedup();
        (!numbers.is_empty()).then(|| numbers.join(", "))
    }

    /// True of x86, and where nobody says what it is.
    pub fn is_x86(&self) -> bool {
        self.architecture.as_ref().is_none_or(|name| name.starts_with("x86"))
    }

    /// True if the CPU reports the flag.
    pub fn has_flag(&self, flag: &str) -> bool {
        self.flags.binary_search_by(|have| have.as_str().cmp(flag)).is_ok()
    }
}
