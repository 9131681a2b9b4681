//! ACPI's tables of memory and its ways, from their bytes: SRAT (who lies where) and HMAT (latency and bandwidth of every pair).
//!
//! The kernel shows of HMAT the best initiator only; the table has all pairs. Domains are ACPI's proximity domains: the kernel
//! numbers its nodes in the order in which domains appear, which is nearly always the same. ACPI 6.5, 5.2.16 and 5.2.28.

use serde::Serialize;

/// Bytes of the head that all tables have: ACPI 6.5, 5.2.6.
const HEAD_BYTES: usize = 36;
/// SRAT has a reserved doubleword and quadword before its first structure; HMAT a reserved doubleword.
const SRAT_START: usize = HEAD_BYTES + 12;
const HMAT_START: usize = HEAD_BYTES + 4;
/// Structures of SRAT.
const PROCESSOR: u8 = 0;
const MEMORY: u8 = 1;
const PROCESSOR_X2APIC: u8 = 2;
const GENERIC_INITIATOR: u8 = 5;
/// Bit 0 of the flags of each of them; bit 2 of those of memory.
const ENABLED: u32 = 1;
const NON_VOLATILE: u32 = 4;
/// The structure of HMAT with latencies and bandwidths.
const LOCALITY: u16 = 1;
/// Entry that says nothing, and entry that says that there is no way.
const NOT_GIVEN: u16 = 0;
const NO_WAY: u16 = 0xffff;
/// Domains that a matrix may have.
const DOMAINS_MAX: usize = 1024;

/// Why a table cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AcpiError {
    /// Shorter than its head.
    #[error("{0} is cut off; read /sys/firmware/acpi/tables/{0} as root")]
    CutOff(&'static str),
    /// Another table.
    #[error("the table begins with {found:?} and not with {expected}")]
    Signature {
        /// What was asked for.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// Bytes do not add up to 0.
    #[error("{0} has a wrong checksum: it is altered, or firmware wrote it wrongly")]
    Checksum(&'static str),
    /// A structure that ends before it begins, or behind the table.
    #[error("{table}: the structure at byte {at} is {bytes} bytes long, which cannot be")]
    Structure {
        /// Of which table.
        table: &'static str,
        /// Where it begins.
        at: usize,
        /// What it says.
        bytes: usize,
    },
}

/// What ACPI SRAT says of one proximity domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AffinityDomain {
    /// Its number.
    pub domain: u32,
    /// Processors.
    pub processors: u32,
    /// Bytes of memory that is there and forgets.
    pub memory_bytes: u64,
    /// Bytes of memory that does not.
    pub persistent_bytes: u64,
    /// Devices that load and store.
    pub initiators: u32,
}

/// What an entry of a matrix of HMAT counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalityKind {
    /// Any access, read or write, in picoseconds.
    Latency(Access),
    /// The same in 10^6 bytes per second.
    Bandwidth(Access),
}

/// Which accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Both.
    Any,
    /// Loads.
    Read,
    /// Stores.
    Write,
}

/// One matrix of HMAT: from initiators (rows) to targets (columns).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalityMatrix {
    /// What it counts.
    pub kind: LocalityKind,
    /// Whether it is of memory itself and not of a cache before it.
    pub is_memory: bool,
    /// Domains of the rows.
    pub initiators: Vec<u32>,
    /// Domains of the columns.
    pub targets: Vec<u32>,
    /// Row by row; none where the table does not tell.
    pub entries: Vec<Option<u64>>,
}

/// The domains of SRAT, in the order of their numbers.
///
/// # Errors
/// What is wrong with the bytes; a structure that is not known is passed over.
pub fn affinity_domains(bytes: &[u8]) -> Result<Vec<AffinityDomain>, AcpiError> {
    const TABLE: &str = "SRAT";
    let table = checked(bytes, TABLE, SRAT_START)?;
    let mut domains: Vec<AffinityDomain> = Vec::new();
    let mut at = SRAT_START;
    while at < table.len() {
        let length = usize::from(byte(table, at + 1).unwrap_or(0));
        let wrong = AcpiError::Structure { table: TABLE, at, bytes: length };
        let of = table.get(at..at + length).filter(|of| of.len() >= 2).ok_or(wrong.clone())?;
        if let Some((domain, add)) = affinity(of) {
            let place = domains.binary_search_by_key(&domain, |of| of.domain).unwrap_or_else(|place| {
                domains.insert(place, AffinityDomain { domain, ..AffinityDomain::default() });
                place
            });
            if domains.len() > DOMAINS_MAX {
                return Err(wrong);
            }
            let to = &mut domains[place];
            to.processors = to.processors.saturating_add(add.processors);
            to.memory_bytes = to.memory_bytes.saturating_add(add.memory_bytes);
            to.persistent_bytes = to.persistent_bytes.saturating_add(add.persistent_bytes);
            to.initiators = to.initiators.saturating_add(add.initiators);
        }
        at += length;
    }
    Ok(domains)
}

/// One structure of SRAT: its domain and what it adds; none if it is not enabled, not known or too short.
fn affinity(of: &[u8]) -> Option<(u32, AffinityDomain)> {
    let nothing = AffinityDomain::default();
    let is_enabled = |at: usize| Some(word32(of, at)? & ENABLED != 0);
    match byte(of, 0)? {
        PROCESSOR if is_enabled(4)? => {
            let high = [byte(of, 9)?, byte(of, 10)?, byte(of, 11)?];
            let domain = u32::from_le_bytes([byte(of, 2)?, high[0], high[1], high[2]]);
            Some((domain, AffinityDomain { processors: 1, ..nothing }))
        }
        PROCESSOR_X2APIC if is_enabled(12)? => {
            Some((word32(of, 4)?, AffinityDomain { processors: 1, ..nothing }))
        }
        GENERIC_INITIATOR if is_enabled(24)? => {
            Some((word32(of, 4)?, AffinityDomain { initiators: 1, ..nothing }))
        }
        MEMORY if is_enabled(28)? => {
            let bytes = word64(of, 16)?;
            let add = if word32(of, 28)? & NON_VOLATILE != 0 {
                AffinityDomain { persistent_bytes: bytes, ..nothing }
            } else {
                AffinityDomain { memory_bytes: bytes, ..nothing }
            };
            Some((word32(of, 2)?, add))
        }
        _ => None,
    }
}

/// The matrices of HMAT, in the order of the table.
///
/// # Errors
/// What is wrong with the bytes; a structure that is not known is passed over.
pub fn locality_matrices(bytes: &[u8]) -> Result<Vec<LocalityMatrix>, AcpiError> {
    const TABLE: &str = "HMAT";
    const STRUCTURE_HEAD_BYTES: usize = 8;
    let table = checked(bytes, TABLE, HMAT_START)?;
    let mut matrices = Vec::new();
    let mut at = HMAT_START;
    while at < table.len() {
        let length = word32(table, at + 4).map_or(0, |length| length as usize);
        let wrong = AcpiError::Structure { table: TABLE, at, bytes: length };
        let end = at.checked_add(length).filter(|_| length >= STRUCTURE_HEAD_BYTES).ok_or(wrong.clone())?;
        let of = table.get(at..end).ok_or(wrong.clone())?;
        if word16(of, 0) == Some(LOCALITY) {
            matrices.push(locality(of).ok_or(wrong)?);
        }
        at = end;
    }
    Ok(matrices)
}

fn locality(of: &[u8]) -> Option<LocalityMatrix> {
    /// Bits of the flags that name the memory: 0 is memory, others are its caches.
    const HIERARCHY: u8 = 0xf;
    const LISTS: usize = 32;
    let kind = match byte(of, 9)? {
        0 => LocalityKind::Latency(Access::Any),
        1 => LocalityKind::Latency(Access::Read),
        2 => LocalityKind::Latency(Access::Write),
        3 => LocalityKind::Bandwidth(Access::Any),
        4 => LocalityKind::Bandwidth(Access::Read),
        5 => LocalityKind::Bandwidth(Access::Write),
        _ => return None,
    };
    let (rows, columns) = (word32(of, 12)? as usize, word32(of, 16)? as usize);
    if rows > DOMAINS_MAX || columns > DOMAINS_MAX {
        return None;
    }
    let unit = word64(of, 24)?;
    let list = |start: usize, count: usize| (0..count).map(|place| word32(of, start + 4 * place)).collect();
    let initiators: Option<Vec<u32>> = list(LISTS, rows);
    let targets: Option<Vec<u32>> = list(LISTS + 4 * rows, columns);
    let first = LISTS + 4 * (rows + columns);
    let entry = |place: usize| {
        let raw = word16(of, first + 2 * place)?;
        let is_given = raw != NOT_GIVEN && raw != NO_WAY;
        Some(is_given.then(|| u64::from(raw).saturating_mul(unit)).filter(|value| *value > 0))
    };
    let entries: Option<Vec<Option<u64>>> = (0..rows * columns).map(entry).collect();
    Some(LocalityMatrix {
        kind,
        is_memory: byte(of, 8)? & HIERARCHY == 0,
        initiators: initiators?,
        targets: targets?,
        entries: entries?,
    })
}

/// The table's own bytes, if they are of that table and whole.
fn checked<'b>(bytes: &'b [u8], name: &'static str, start: usize) -> Result<&'b [u8], AcpiError> {
    let signature = bytes.get(..4).ok_or(AcpiError::CutOff(name))?;
    if signature != name.as_bytes() {
        let found = String::from_utf8_lossy(signature).into_owned();
        return Err(AcpiError::Signature { expected: name, found });
    }
    let length = word32(bytes, 4).map_or(0, |length| length as usize);
    let table = bytes.get(..length).filter(|table| table.len() >= start).ok_or(AcpiError::CutOff(name))?;
    let sum = table.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    if sum == 0 { Ok(table) } else { Err(AcpiError::Checksum(name)) }
}

fn byte(bytes: &[u8], at: usize) -> Option<u8> {
    bytes.get(at).copied()
}

fn word16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn word32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn word64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A table of these structures with the right length and checksum.
    fn table(name: &str, start: usize, structures: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = vec![0; start];
        bytes[..4].copy_from_slice(name.as_bytes());
        bytes.extend(structures.concat());
        let length = bytes.len() as u32;
        bytes[4..8].copy_from_slice(&length.to_le_bytes());
        let sum = bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        bytes[9] = 0_u8.wrapping_sub(sum);
        bytes
    }

    fn memory(domain: u32, bytes: u64, flags: u32) -> Vec<u8> {
        let mut of = vec![0; 40];
        (of[0], of[1]) = (MEMORY, 40);
        of[2..6].copy_from_slice(&domain.to_le_bytes());
        of[16..24].copy_from_slice(&bytes.to_le_bytes());
        of[28..32].copy_from_slice(&flags.to_le_bytes());
        of
    }

    fn latencies(unit: u64, entries: [u16; 4]) -> Vec<u8> {
        let mut of = vec![0; 32 + 16 + 8];
        of[0] = 1;
        let length = of.len() as u32;
        of[4..8].copy_from_slice(&length.to_le_bytes());
        of[9] = 1;
        (of[12], of[16]) = (2, 2);
        of[24..32].copy_from_slice(&unit.to_le_bytes());
        (of[36], of[44]) = (1, 1);
        for (place, entry) in entries.into_iter().enumerate() {
            of[48 + 2 * place..50 + 2 * place].copy_from_slice(&entry.to_le_bytes());
        }
        of
    }

    #[test]
    fn domains_hold_their_processors_and_memory() {
        let mut processor = vec![0; 16];
        (processor[0], processor[1], processor[2], processor[4]) = (PROCESSOR, 16, 1, 1);
        let mut x2apic = vec![0; 24];
        (x2apic[0], x2apic[1], x2apic[4], x2apic[12]) = (PROCESSOR_X2APIC, 24, 1, 1);
        let unknown = vec![200, 6, 0, 0, 0, 0];
        let structures =
            [memory(0, 1 << 30, 1), processor, unknown, x2apic, memory(1, 7, 0), memory(2, 9, 5)];
        let found = affinity_domains(&table("SRAT", SRAT_START, &structures)).expect("a table");
        let of = |domain, processors, memory_bytes, persistent_bytes| AffinityDomain {
            domain,
            processors,
            memory_bytes,
            persistent_bytes,
            initiators: 0,
        };
        assert_eq!(found, [of(0, 0, 1 << 30, 0), of(1, 2, 0, 0), of(2, 0, 0, 9)]);
    }

    #[test]
    fn all_pairs_of_hmat_are_read_in_picoseconds_and_what_is_not_given_is_none() {
        let found = locality_matrices(&table("HMAT", HMAT_START, &[latencies(1000, [80, 130, 0, 0xffff])]));
        let found = found.expect("a table");
        assert_eq!(found[0].kind, LocalityKind::Latency(Access::Read));
        assert_eq!(
            (found[0].initiators.as_slice(), found[0].targets.as_slice()),
            ([0, 1].as_slice(), [0, 1].as_slice())
        );
        assert_eq!(found[0].entries, [Some(80_000), Some(130_000), None, None]);
        assert!(found[0].is_memory);
    }

    #[test]
    fn what_is_wrong_is_an_error() {
        let message = |bytes: &[u8]| locality_matrices(bytes).expect_err("wrong").to_string();
        assert!(message(b"").contains("cut off") && message(b"HMAT\xff\xff\xff\xff").contains("cut off"));
        assert!(message(b"SRATxxxxxx").contains("begins with"));
        let mut table = table("HMAT", HMAT_START, &[latencies(1, [1; 4])]);
        table[50] ^= 1;
        assert!(message(&table).contains("checksum"));
        let mut endless = latencies(1, [1; 4]);
        endless[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(message(&super::tests::table("HMAT", HMAT_START, &[endless])).contains("at byte 40"));
        let mut still = memory(0, 1, 1);
        still[1] = 0;
        let srat = super::tests::table("SRAT", SRAT_START, &[still]);
        assert!(affinity_domains(&srat).is_err_and(|error| error.to_string().contains("0 bytes long")));
        let mut many = latencies(1, [1; 4]);
        many[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(message(&super::tests::table("HMAT", HMAT_START, &[many])).contains("cannot be"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(structures in proptest::collection::vec(any::<u8>(), 0..200), is_srat: bool) {
            let name = if is_srat { "SRAT" } else { "HMAT" };
            for bytes in [structures.clone(), table(name, if is_srat { SRAT_START } else { HMAT_START }, std::slice::from_ref(&structures))] {
                let _ = affinity_domains(&bytes);
                let _ = locality_matrices(&bytes);
            }
        }

        #[test]
        fn no_structure_with_a_plausible_head_makes_it_panic(
            rest in proptest::collection::vec(any::<u8>(), 8..120),
            kind in 0_u8..6,
        ) {
            let mut of = rest;
            let length = of.len() as u8;
            (of[0], of[1]) = (kind, length);
            let _ = affinity_domains(&table("SRAT", SRAT_START, std::slice::from_ref(&of)));
            (of[0], of[1], of[4], of[5], of[6], of[7]) = (1, 0, length, 0, 0, 0);
            let _ = locality_matrices(&table("HMAT", HMAT_START, &[of]));
        }
    }
}
