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

/// A row of the table of leaf 2: descriptor, level, kind, pages, entries, ways (0 is full, `None` is unknown).
type Descriptor = (u8, u8, TlbKind, &'static [Bytes], u32, Option<u32>);

/// The TLB descriptors of leaf 2. Intel SDM vol. 2A, table "Encoding of CPUID Leaf 2 Descriptors".
const DESCRIPTORS: [Descriptor; 43] = [
    (0x01, 1, TlbKind::Instruction, &[PAGE_4K], 32, Some(4)),
    (0x02, 1, TlbKind::Instruction, &[PAGE_4M], 2, Some(0)),
    (0x03, 1, TlbKind::Data, &[PAGE_4K], 64, Some(4)),
    (0x04, 1, TlbKind::Data, &[PAGE_4M], 8, Some(4)),
    (0x05, 1, TlbKind::Data, &[PAGE_4M], 32, Some(4)),
    (0x0b, 1, TlbKind::Instruction, &[PAGE_4M], 4, Some(4)),
    (0x4f, 1, TlbKind::Instruction, &[PAGE_4K], 32, None),
    (0x50, 1, TlbKind::Instruction, &[PAGE_4K, PAGE_2M, PAGE_4M], 64, None),
    (0x51, 1, TlbKind::Instruction, &[PAGE_4K, PAGE_2M, PAGE_4M], 128, None),
    (0x52, 1, TlbKind::Instruction, &[PAGE_4K, PAGE_2M, PAGE_4M], 256, None),
    (0x55, 1, TlbKind::Instruction, &[PAGE_2M, PAGE_4M], 7, Some(0)),
    (0x56, 1, TlbKind::Data, &[PAGE_4M], 16, Some(4)),
    (0x57, 1, TlbKind::Data, &[PAGE_4K], 16, Some(4)),
    (0x59, 1, TlbKind::Data, &[PAGE_4K], 16, Some(0)),
    (0x5a, 1, TlbKind::Data, &[PAGE_2M, PAGE_4M], 32, Some(4)),
    (0x5b, 1, TlbKind::Data, &[PAGE_4K, PAGE_4M], 64, None),
    (0x5c, 1, TlbKind::Data, &[PAGE_4K, PAGE_4M], 128, None),
    (0x5d, 1, TlbKind::Data, &[PAGE_4K, PAGE_4M], 256, None),
    (0x61, 1, TlbKind::Instruction, &[PAGE_4K], 48, Some(0)),
    (0x63, 1, TlbKind::Data, &[PAGE_2M, PAGE_4M], 32, Some(4)),
    (0x63, 1, TlbKind::Data, &[PAGE_1G], 4, Some(4)),
    (0x64, 1, TlbKind::Data, &[PAGE_4K], 512, Some(4)),
    (0x6a, 1, TlbKind::Data, &[PAGE_4K], 64, Some(8)),
    (0x6b, 2, TlbKind::Data, &[PAGE_4K], 256, Some(8)),
    (0x6c, 2, TlbKind::Data, &[PAGE_2M, PAGE_4M], 128, Some(8)),
    (0x6d, 2, TlbKind::Data, &[PAGE_1G], 16, Some(0)),
    (0x76, 1, TlbKind::Instruction, &[PAGE_2M, PAGE_4M], 8, Some(0)),
    (0xa0, 1, TlbKind::Data, &[PAGE_4K], 32, Some(0)),
    (0xb0, 1, TlbKind::Instruction, &[PAGE_4K], 128, Some(4)),
    (0xb1, 1, TlbKind::Instruction, &[PAGE_2M], 8, Some(4)),
    (0xb2, 1, TlbKind::Instruction, &[PAGE_4K], 64, Some(4)),
    (0xb3, 1, TlbKind::Data, &[PAGE_4K], 128, Some(4)),
    (0xb4, 1, TlbKind::Data, &[PAGE_4K], 256, Some(4)),
    (0xb5, 1, TlbKind::Instruction, &[PAGE_4K], 64, Some(8)),
    (0xb6, 1, TlbKind::Instruction, &[PAGE_4K], 128, Some(8)),
    (0xba, 1, TlbKind::Data, &[PAGE_4K], 64, Some(4)),
    (0xc0, 1, TlbKind::Data, &[PAGE_4K, PAGE_4M], 8, Some(4)),
    (0xc1, 2, TlbKind::Unified, &[PAGE_4K, PAGE_2M], 1024, Some(8)),
    (0xc2, 1, TlbKind::Data, &[PAGE_4K, PAGE_2M], 16, Some(4)),
    (0xc3, 2, TlbKind::Unified, &[PAGE_4K, PAGE_2M], 1536, Some(6)),
    (0xc3, 2, TlbKind::Unified, &[PAGE_1G], 16, Some(4)),
    (0xc4, 1, TlbKind::Data, &[PAGE_2M, PAGE_4M], 32, Some(4)),
    (0xca, 2, TlbKind::Unified, &[PAGE_4K], 512, Some(4)),
];

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
        .flat_map(|byte| DESCRIPTORS.iter().filter(move |row| row.0 == byte))
        .map(|&(_, level, kind, pages, entries, ways)| Tlb {
            level,
            kind,
            page_bytes: pages.to_vec(),
            entries,
            ways,
        })
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
