//! How results are called: one name per series, whoever shows it.

use std::collections::HashMap;
use std::hash::Hash;

use machine::{CpuId, CpuSet};
pub(crate) use record::word;
use record::{Scope, StreamResult, isa_words};

/// `triad AVX2`, `triad AVX2 non-temporal`: kernel, instruction set and kind of store.
pub(crate) fn series(kernel: &str, isa: &str, store: &str) -> String {
    let isa = isa_words(isa);
    match store {
        "none" | "plain" | "" => format!("{kernel} {isa}"),
        "non_temporal" => format!("{kernel} {isa} non-temporal"),
        other => format!("{kernel} {isa} {other}"),
    }
}

/// Kernel, instruction set and store.
pub(crate) fn kernel_of(result: &StreamResult) -> (&str, &str, &str) {
    (&result.kernel, &result.isa, &result.store)
}

/// The same in the least space, for the terminal: `triad nt`.
pub(crate) fn series_short(kernel: &str, store: &str) -> String {
    format!("{kernel}{}", if store == "non_temporal" { " nt" } else { "" })
}

/// `compare_and_swap` as words, abbreviations as they are written.
pub(crate) fn words(identifier: &str) -> String {
    match identifier {
        "l1" | "l2" | "l3" | "simd" => identifier.to_uppercase(),
        other => other.replace('_', " "),
    }
}

/// `CPU 3`, `CPUs 0-15`.
pub(crate) fn cpus(cpus: &CpuSet) -> String {
    format!("CPU{} {cpus}", if cpus.len() == 1 { "" } else { "s" })
}

/// Who worked: `CPU 3`, `node 1 (CPUs 8-15)`, `all (CPUs 0-15)`.
pub(crate) fn workers(
    scope: Scope,
    cpu: Option<CpuId>,
    node: Option<machine::NodeId>,
    cpus: &CpuSet,
) -> String {
    match (scope, cpu, node) {
        (Scope::Cpu, Some(cpu), _) => format!("CPU {cpu}"),
        (Scope::Node, _, Some(node)) => format!("node {node} (CPUs {cpus})"),
        (Scope::Machine, ..) => format!("all (CPUs {cpus})"),
        _ => format!("CPUs {cpus}"),
    }
}

/// Each once, in the order of their first appearance.
pub(crate) fn distinct<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for one in all {
        if !distinct.contains(&one) {
            distinct.push(one);
        }
    }
    distinct
}

/// What belongs to each key, keys in the order of their first appearance.
pub(crate) fn grouped<K: Clone + Eq + Hash, T>(all: impl IntoIterator<Item = (K, T)>) -> Vec<(K, Vec<T>)> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    let mut places: HashMap<K, usize> = HashMap::new();
    for (key, one) in all {
        let at = *places.entry(key.clone()).or_insert(groups.len());
        if at == groups.len() {
            groups.push((key, Vec::new()));
        }
        groups[at].1.push(one);
    }
    groups
}
