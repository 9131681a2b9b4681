//! A CPU whose model is made up: it has features that no CPU of the model it names has.
//!
//! A hypervisor can show any family and model; instructions it can hide, but not add. A list by model says nothing then.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use record::{CpuSignature, FlawEvidence};

/// A feature, and CPUs that were made before it.
struct Newer {
    vendor: &'static str,
    flag: &'static str,
    /// Family and models without it.
    older: &'static [(u32, RangeInclusive<u32>)],
    /// The models of that family that have it, where they are few.
    models: &'static [u32],
    /// What the feature tells instead.
    has: &'static str,
}

const NEWER: [Newer; 2] = [
    // Intel, Architecture Instruction Set Extensions Programming Reference, table 1-2: AMX is first in Sapphire Rapids (8f), then in
    // Emerald Rapids (cf) and Granite Rapids (ad, ae), and in no client.
    Newer {
        vendor: "GenuineIntel",
        flag: "amx_tile",
        older: &[(0x6, 0..=0x8e), (0x6, 0x90..=0xac), (0x6, 0xb5..=0xc6)],
        models: &[0x8f, 0xad, 0xae, 0xcf],
        has: "AMX, which no CPU before Sapphire Rapids has",
    },
    // AMD64 Architecture Programmer's Manual; AVX-512 is first in Zen 4. Models: Linux, arch/x86/kernel/cpu/amd.c, bsp_init_amd.
    Newer {
        vendor: "AuthenticAMD",
        flag: "avx512f",
        older: &[
            (0xf, 0..=0xff),
            (0x10, 0..=0xff),
            (0x15, 0..=0xff),
            (0x16, 0..=0xff),
            (0x17, 0..=0xff),
            (0x19, 0..=0xf),
            (0x19, 0x20..=0x5f),
        ],
        models: &[],
        has: "AVX-512, which no CPU before Zen 4 has",
    },
];

/// Why the model that the CPUs name is made up, in a sentence; `None` where nothing speaks against it.
pub fn masked(evidence: &FlawEvidence) -> Option<String> {
    let (cpu, newer) = evidence.cpus.iter().find_map(|cpu| Some((cpu, newer(cpu, &evidence.flags)?)))?;
    let named = [cpu.family, cpu.model, cpu.stepping]
        .map(|part| part.map_or("?".to_owned(), |part| part.to_string()));
    Some(format!(
        "the CPU says it is {}, and has {}: the hypervisor shows another model than it runs on",
        named.join("-"),
        newer.has
    ))
}

/// The evidence with the models that can be in place of those that are made up, by which lists then decide.
pub(crate) fn without_made_up_models(evidence: &FlawEvidence) -> Cow<'_, FlawEvidence> {
    let mut honest = Cow::Borrowed(evidence);
    for (index, cpu) in evidence.cpus.iter().enumerate() {
        if let Some(newer) = newer(cpu, &evidence.flags) {
            let one_of = newer.models.to_vec();
            honest.to_mut().cpus[index] = CpuSignature { model: None, stepping: None, one_of, ..cpu.clone() };
        }
    }
    honest
}

fn newer(cpu: &CpuSignature, flags: &[String]) -> Option<&'static Newer> {
    let (vendor, family, model) = (cpu.vendor.as_deref()?, cpu.family?, cpu.model?);
    let is_older =
        |newer: &Newer| newer.older.iter().any(|(of, models)| *of == family && models.contains(&model));
    NEWER.iter().find(|newer| {
        newer.vendor == vendor && is_older(newer) && flags.iter().any(|flag| flag == newer.flag)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guest(vendor: &str, [family, model]: [u32; 2], flag: &str) -> FlawEvidence {
        let cpu = CpuSignature {
            vendor: Some(vendor.into()),
            family: Some(family),
            model: Some(model),
            stepping: Some(1),
            ..CpuSignature::default()
        };
        FlawEvidence { cpus: vec![cpu], flags: vec![flag.into()], ..FlawEvidence::default() }
    }

    #[test]
    fn a_model_that_cannot_have_its_features_is_made_up() {
        let rocket_lake = guest("GenuineIntel", [6, 167], "amx_tile");
        let said = masked(&rocket_lake).expect("made up");
        assert!(said.starts_with("the CPU says it is 6-167-1, and has AMX"), "{said}");
        let cpu = &without_made_up_models(&rocket_lake).cpus[0];
        assert_eq!((cpu.model, &cpu.one_of[..]), (None, &[0x8f, 0xad, 0xae, 0xcf][..]));
        for honest in [
            guest("GenuineIntel", [6, 167], "avx512f"),
            guest("GenuineIntel", [6, 0x8f], "amx_tile"),
            guest("GenuineIntel", [6, 0xcf], "amx_tile"),
            guest("GenuineIntel", [19, 1], "amx_tile"),
            guest("AuthenticAMD", [0x19, 0x61], "avx512f"),
            guest("AuthenticAMD", [0x1a, 0x2], "avx512f"),
        ] {
            assert_eq!(masked(&honest), None);
            assert_eq!(*without_made_up_models(&honest), honest);
        }
        assert!(masked(&guest("AuthenticAMD", [0x17, 0x31], "avx512f")).is_some());
    }
}
