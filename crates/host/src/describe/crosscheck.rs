//! Comparing what the kernel says with what CPUID says, and filling what the kernel leaves out.

use std::collections::{BTreeMap, BTreeSet};

use machine::{CoreKind, CpuId, Disagreement, Machine, Vendor};

use super::source::CpuInfo;
use crate::Cpuid;

/// Where the two sources contradict each other; what only one of them tells is no contradiction.
pub(super) fn compare(machine: &Machine, claimed: &Machine, cpuid: &Cpuid) -> Vec<Disagreement> {
    let mut found = Vec::new();
    let mut check = |subject: &str, sysfs: Option<String>, cpuid: Option<String>| {
        if let (Some(sysfs), Some(cpuid)) = (sysfs, cpuid)
            && sysfs != cpuid
        {
            found.push(Disagreement { subject: subject.to_owned(), sysfs, cpuid, sources: None });
        }
    };
    let (kernel, claim) = (&machine.identity, &claimed.identity);
    let text = |number: Option<u32>| number.map(|number| number.to_string());
    let vendor = |vendor: &Option<Vendor>| vendor.as_ref().map(|name| name.to_string().trim().to_owned());
    check("vendor", vendor(&kernel.vendor), vendor(&claim.vendor));
    check("family", text(kernel.family), text(claim.family));
    check("model", text(kernel.model), text(claim.model));
    check("stepping", text(kernel.stepping), text(claim.stepping));
    if !kernel.flags.is_empty() {
        let shown = |identity: &machine::Identity| Some(identity.has_flag("hypervisor").to_string());
        check("hypervisor flag", shown(kernel), shown(claim));
    }
    let is_comparable = cpuid.is_whole() && !machine.topology.cpus.is_empty();
    if is_comparable && machine.topology.online() == claimed.topology.online() {
        let count = |number: usize| Some(number.to_string());
        check("packages", count(machine.topology.packages().len()), count(claimed.topology.packages().len()));
        check("cores", count(machine.topology.cores.len()), count(claimed.topology.cores.len()));
        for (name, (kernel_caches, claimed_caches)) in joined(machine, claimed) {
            let instances = |caches: &[Option<u64>]| Some(caches.len().to_string());
            check(&format!("{name} instances"), instances(&kernel_caches), instances(&claimed_caches));
        }
    }
    for (name, (kernel_caches, claimed_caches)) in joined(machine, claimed) {
        let sizes = |caches: &[Option<u64>]| caches.iter().flatten().copied().collect::<BTreeSet<u64>>();
        let (kernel_sizes, claimed_sizes) = (sizes(&kernel_caches), sizes(&claimed_caches));
        // One CPU of a hybrid knows only its own caches.
        let is_covered = !cpuid.is_whole() && claimed_sizes.is_subset(&kernel_sizes);
        if !kernel_sizes.is_empty() && !is_covered {
            check(
                &format!("{name} size in bytes"),
                Some(listed(&kernel_sizes)),
                Some(listed(&claimed_sizes)),
            );
        }
    }
    found
}

fn listed(sizes: &BTreeSet<u64>) -> String {
    sizes.iter().map(u64::to_string).collect::<Vec<String>>().join(", ")
}

/// The sizes of the caches of each name that both sources have.
type SizesByName = BTreeMap<String, (Vec<Option<u64>>, Vec<Option<u64>>)>;

fn joined(machine: &Machine, claimed: &Machine) -> SizesByName {
    let by_name = |machine: &Machine| {
        let mut caches: BTreeMap<String, Vec<Option<u64>>> = BTreeMap::new();
        for cache in &machine.topology.caches {
            caches.entry(cache.name()).or_default().push(cache.size_bytes.map(|size| size.0));
        }
        caches
    };
    let mut claims = by_name(claimed);
    by_name(machine)
        .into_iter()
        .filter_map(|(name, caches)| claims.remove(&name).map(|claim| (name, (caches, claim))))
        .collect()
}

/// Fills from CPUID what the kernel's files do not say.
pub(super) fn fill(machine: &mut Machine, claimed: Machine, cpuid: &Cpuid, info: &CpuInfo) {
    let (kernel, claim) = (&mut machine.identity, claimed.identity);
    kernel.vendor = kernel.vendor.take().or(claim.vendor);
    kernel.family = kernel.family.or(claim.family);
    kernel.model = kernel.model.or(claim.model);
    kernel.stepping = kernel.stepping.or(claim.stepping);
    kernel.name = kernel.name.take().or(claim.name);
    kernel.architecture = kernel.architecture.take().or(claim.architecture);
    // DMI and the CPU flag only hint at who it is; leaf 4000_0000h is the hypervisor's own word.
    kernel.hypervisor = claim.hypervisor.filter(|name| name != "unknown").or(kernel.hypervisor.take());
    if kernel.flags.is_empty() {
        kernel.flags = claim.flags;
    }
    machine.tlbs = claimed.tlbs;
    machine.disagreements.extend(claimed.disagreements);
    machine.missing.extend(claimed.missing);
    if machine.topology.cpus.is_empty() && cpuid.is_whole() {
        machine.topology = claimed.topology;
        return;
    }
    fill_caches(machine, &claimed.topology, cpuid, info);
    let kinds: BTreeMap<CpuId, CoreKind> =
        claimed.topology.cpus.iter().map(|cpu| (cpu.id, cpu.core_kind)).collect();
    let is_unreported = machine.topology.cpus.iter().all(|cpu| cpu.core_kind == CoreKind::Uniform);
    if cpuid.is_whole() && is_unreported {
        for cpu in &mut machine.topology.cpus {
            cpu.core_kind = kinds.get(&cpu.id).copied().unwrap_or_default();
        }
    }
}

/// Caches from CPUID where sysfs has none: of each CPU's own dump, or of one CPU with the APIC ids of /proc/cpuinfo.
fn fill_caches(machine: &mut Machine, claimed: &machine::Topology, cpuid: &Cpuid, info: &CpuInfo) {
    if !machine.topology.caches.is_empty() {
        return;
    }
    let online = machine.topology.online();
    if cpuid.is_whole() {
        machine.topology.caches = claimed
            .caches
            .iter()
            .cloned()
            .map(|mut cache| {
                cache.shared_by = cache.shared_by.intersection(&online);
                cache
            })
            .filter(|cache| !cache.shared_by.is_empty())
            .collect();
        return;
    }
    let apic_of = |cpu: CpuId| info.of(cpu, "apicid").and_then(|value| value.parse().ok());
    let apics: BTreeMap<CpuId, u32> = online.iter().filter_map(|cpu| Some((cpu, apic_of(cpu)?))).collect();
    if apics.len() == online.len() {
        machine.topology.caches = cpuid.caches_by_apic(&apics);
        if !machine.topology.caches.is_empty() {
            machine.missing.push(
                "/sys/devices/system/cpu lists no caches; CPUID of one CPU was taken for all".to_owned(),
            );
        }
    }
}
