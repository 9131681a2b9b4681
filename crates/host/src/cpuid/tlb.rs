//! TLBs as CPUID claims them: Intel leaf 18H or the descriptors of leaf 2, AMD Fn8000_0005/0006/0019.
//!
//! Sources: Intel SDM vol. 2A, "Encoding of CPUID Leaf 2 Descriptors" and leaf 18H; AMD64 APM vol. 3.

use machine::{Bytes, Tlb, TlbKind};
use raw_cpuid::CpuIdReader;

use super::caches::coded_ways;
use super::{Leaves, bits};

const PAGE_4K: Bytes = Bytes(4 << 10);
const PAGE_2M: Bytes = Bytes(2 << 20);
const PAGE_4M: Bytes = Bytes(4 << 20);
const PAGE_1G: Bytes = Bytes(1 << 30);

/// The most subleaves of leaf 18H read.
const SUBLEAVES_MAX: u32 = 32;

/// The TLB descriptors of leaf 2, one a line.
const DESCRIPTORS: &str = include_str!("tlb-descriptors.txt");

/// The TLB of a line, if it is of this descriptor.
fn described(line: &str, descriptor: u8) -> Option<Tlb> {
    let (_, rest) =
        line.split_once(' ').filter(|(code, _)| u8::from_str_radix(code, 16) == Ok(descriptor))?;
    let [level, kind, pages, entries, ways] = rest.split(' ').collect::<Vec<_>>().try_into().ok()?;
    let page = |page| match page {
        "4K" => PAGE_4K,
        "2M" => PAGE_2M,
        "4M" => PAGE_4M,
        _ => PAGE_1G,
    };
    let kind = match kind {
        "data" => TlbKind::Data,
        "instruction" => TlbKind::Instruction,
        _ => TlbKind::Unified,
    };
    let (level, entries) = (level.parse().ok()?, entries.parse().ok()?);
    Some(Tlb {
        level,
        kind,
        page_bytes: pages.split('+').map(page).collect(),
        entries,
        ways: ways.parse().ok(),
    })
}

/// The TLBs of the CPU that gives these answers, by level, kind and page size.
pub(super) fn read(leaves: &Leaves) -> Vec<Tlb> {
    let mut tlbs = if leaves.is_amd() { amd(leaves) } else { deterministic(leaves) };
    if tlbs.is_empty() && !leaves.is_amd() {
        tlbs = descriptors(leaves);
    }
    tlbs.sort_by_key(|tlb| (tlb.level, tlb.kind, tlb.page_bytes.clone()));
    tlbs
}

/// Leaf 18H.
fn deterministic(leaves: &Leaves) -> Vec<Tlb> {
    let Some(first) = leaves.get(0x18, 0) else { return Vec::new() };
    (0..=first.eax.min(SUBLEAVES_MAX))
        .filter_map(|subleaf| {
            let answer = leaves.cpuid2(0x18, subleaf);
            let kind = match bits(answer.edx, 4, 0) {
                1 => TlbKind::Data,
                2 => TlbKind::Instruction,
                3 => TlbKind::Unified,
                4 => TlbKind::Load,
                5 => TlbKind::Store,
                _ => return None,
            };
            let pages = [PAGE_4K, PAGE_2M, PAGE_4M, PAGE_1G];
            let ways = bits(answer.ebx, 31, 16);
            Some(Tlb {
                level: u8::try_from(bits(answer.edx, 7, 5)).unwrap_or_default(),
                kind,
                page_bytes: (0..4)
                    .filter(|bit| bits(answer.ebx, *bit, *bit) == 1)
                    .map(|bit| pages[bit as usize])
                    .collect(),
                entries: ways.saturating_mul(answer.ecx),
                ways: Some(if bits(answer.edx, 8, 8) == 1 { 0 } else { ways }),
            })
        })
        .collect()
}

/// Leaf 2: fifteen bytes, each a descriptor; the lowest byte of EAX is a repeat count that is always 1.
fn descriptors(leaves: &Leaves) -> Vec<Tlb> {
    const INVALID: u32 = 1 << 31;
    let Some(answer) = leaves.get(2, 0) else { return Vec::new() };
    [answer.eax & !0xff, answer.ebx, answer.ecx, answer.edx]
        .into_iter()
        .filter(|register| register & INVALID == 0)
        .flat_map(u32::to_le_bytes)
        .flat_map(|byte| DESCRIPTORS.lines().filter_map(move |line| described(line, byte)))
        .collect()
}

/// Fn8000_0005 (L1), Fn8000_0006 (L2) and Fn8000_0019 (1 GiB pages); the low half of a register is for instructions.
fn amd(leaves: &Leaves) -> Vec<Tlb> {
    let mut tlbs = Vec::new();
    let mut push = |level, kind, page: Bytes, entries: u32, ways: Option<u32>| {
        if let (1.., Some(ways)) = (entries, ways) {
            tlbs.push(Tlb { level, kind, page_bytes: vec![page], entries, ways: Some(ways) });
        }
    };
    if let Some(answer) = leaves.get(0x8000_0005, 0) {
        const FULL: u32 = 0xff;
        let ways = |ways: u32| (ways != 0).then_some(if ways == FULL { 0 } else { ways });
        for (page, register) in [(PAGE_2M, answer.eax), (PAGE_4K, answer.ebx)] {
            push(1, TlbKind::Instruction, page, bits(register, 7, 0), ways(bits(register, 15, 8)));
            push(1, TlbKind::Data, page, bits(register, 23, 16), ways(bits(register, 31, 24)));
        }
    }
    let second =
        leaves.get(0x8000_0006, 0).map(|answer| [(2, PAGE_2M, answer.eax), (2, PAGE_4K, answer.ebx)]);
    let large = leaves.get(0x8000_0019, 0).map(|answer| [(1, PAGE_1G, answer.eax), (2, PAGE_1G, answer.ebx)]);
    for (level, page, register) in second.into_iter().chain(large).flatten() {
        push(level, TlbKind::Instruction, page, bits(register, 11, 0), coded_ways(bits(register, 15, 12)));
        push(level, TlbKind::Data, page, bits(register, 27, 16), coded_ways(bits(register, 31, 28)));
    }
    tlbs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_of_descriptors_is_read() {
        let lines = DESCRIPTORS.lines().filter(|line| !line.starts_with('#'));
        let read = |line: &&str| (0..=u8::MAX).any(|byte| described(line, byte).is_some());
        assert_eq!((lines.clone().count(), lines.filter(read).count()), (43, 43));
    }
}
