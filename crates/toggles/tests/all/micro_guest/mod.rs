//! Erratum 298 on CPUs that execute the instructions: detector and switch against a virtual machine that says it is
//! a Phenom and whose registers are the test's.
//!
//! Nothing is mocked above `host::Registers`: the register source reads every CPU, the catalogue judges, the toggle names its
//! targets, the engine journals, writes masked, reads back and puts back. Without KVM each test says that it is skipped.
#![cfg(target_arch = "x86_64")]

mod board;
mod guest;

use board::Board;
use guest::{Nature, Part, Written};
use record::{Answer, WorkaroundState};
use toggles::ExperimentError;

/// DR-B2 and DR-B3: AMD 41322, table "CPUID values".
const B2: u32 = 0x0010_0f22;
const B3: u32 = 0x0010_0f23;
/// Barcelona of the same family: DR-BA.
const BA: u32 = 0x0010_0f2a;
const HWCR: u32 = 0xc001_0015;
const BU_CFG: u32 = 0xc001_1023;
/// The time-stamp counter, by which the reader of registers sees that there are any.
const TSC: u32 = 0x10;
const OSVW_LENGTH: u32 = 0xc001_0140;
const OSVW_STATUS: u32 = 0xc001_0141;

/// Registers of a Phenom 9500 as recorded with the workaround on; bits beside the two of the erratum are set too.
const ON: &[(u32, u64)] =
    &[(TSC, 1), (HWCR, 0x0100_0018), (BU_CFG, 0x7_0000_0022), (OSVW_LENGTH, 4), (OSVW_STATUS, 0xf)];
/// The same CPU as firmware leaves it when the item is off.
const OFF: &[(u32, u64)] =
    &[(TSC, 1), (HWCR, 0x0100_0010), (BU_CFG, 0x7_0000_0020), (OSVW_LENGTH, 4), (OSVW_STATUS, 0xf)];
/// A repaired stepping: OSVW bit 0 is clear.
const REPAIRED: &[(u32, u64)] =
    &[(TSC, 1), (HWCR, 0x0100_0010), (BU_CFG, 0x20), (OSVW_LENGTH, 4), (OSVW_STATUS, 0xe)];

fn part(signature: u32, registers: &'static [(u32, u64)]) -> Part {
    Part { signature, registers }
}

#[test]
fn the_detector_reads_both_registers_of_every_cpu() {
    for (parts, affected, workaround) in [
        ([part(B2, ON), part(B2, ON)], Answer::Yes, WorkaroundState::On),
        ([part(BA, ON), part(BA, ON)], Answer::Yes, WorkaroundState::On),
        ([part(B2, OFF), part(B2, OFF)], Answer::Yes, WorkaroundState::Off),
        ([part(BA, OFF), part(BA, OFF)], Answer::Yes, WorkaroundState::Off),
        ([part(B2, ON), part(B2, OFF)], Answer::Yes, WorkaroundState::Partial),
        ([part(B3, REPAIRED), part(B3, REPAIRED)], Answer::No, WorkaroundState::Off),
        // One affected CPU makes the board affected, and then every CPU needs both bits.
        ([part(B2, ON), part(B3, REPAIRED)], Answer::Yes, WorkaroundState::Partial),
        ([part(B3, REPAIRED), part(B2, ON)], Answer::Yes, WorkaroundState::Partial),
        ([part(B3, ON), part(B2, ON)], Answer::Yes, WorkaroundState::On),
    ] {
        let Some(board) = Board::of(&parts) else { return };
        let verdict = board.verdict();
        assert_eq!((verdict.affected, verdict.workaround), (affected, workaround), "{parts:x?}: {verdict:?}");
        let is_even = parts[0].signature == parts[1].signature && workaround != WorkaroundState::Partial;
        assert_eq!(board.uneven().is_empty(), is_even, "{parts:x?}: {:?}", board.uneven());
    }
}

#[test]
fn the_repaired_stepping_is_called_repaired_and_offers_no_switch() {
    let Some(board) = Board::of(&[part(B3, REPAIRED), part(B3, REPAIRED)]) else { return };
    let verdict = board.verdict();
    assert!(verdict.because.contains("repaired in this stepping"), "{verdict:?}");
    let refusal = board.changes("off").expect_err("a repaired CPU");
    assert!(refusal.contains("not on its list"), "{refusal}");
    assert_eq!(board.guest.written(), []);
}

#[test]
fn a_cpu_without_the_register_leaves_the_verdict_open_and_is_never_switched() {
    let Some(board) = Board::of(&[part(B2, ON), part(B2, ON)]) else { return };
    board.guest.remove(1, BU_CFG);
    let verdict = board.verdict();
    assert_eq!(verdict.workaround, WorkaroundState::Unknown, "{verdict:?}");
    assert!(verdict.evidence.registers.says.contains("1 not readable"), "{verdict:?}");
    let refusal = board.changes("off").expect_err("one register is not there");
    assert!(refusal.contains("CPU 1 MSR 0xc0011023 mask 0x2 cannot be read"), "{refusal}");
}

#[test]
fn the_switch_writes_masked_on_every_cpu_reads_back_and_puts_back() {
    let parts = [part(B2, ON), part(B2, ON), part(B3, ON)];
    let Some(board) = Board::of(&parts) else { return };
    assert_eq!(board.now().as_deref(), Some("on"));
    let changes = board.changes("off").expect("available");
    let mut experiment = board.begin(&changes);
    experiment.switch(&changes).expect("every register takes it");
    assert_eq!((board.now().as_deref(), board.verdict().workaround), (Some("off"), WorkaroundState::Off));
    let write = |register: u32, value: u64| (0..3).map(move |cpu| Written { cpu, register, value });
    let off: Vec<Written> = write(HWCR, 0x0100_0010).chain(write(BU_CFG, 0x7_0000_0020)).collect();
    assert_eq!(board.guest.written(), off, "the other bits are written as they were");
    experiment.end();
    assert_eq!((board.now().as_deref(), board.verdict().workaround), (Some("on"), WorkaroundState::On));
    for (cpu, &(register, value)) in (0..3).flat_map(|cpu| ON.iter().map(move |cell| (cpu, cell))) {
        assert_eq!(board.guest.holds(cpu, register), value, "CPU {cpu} {register:x}");
    }
    assert_eq!(board.guest.written().len(), 2 * off.len(), "each register once there and once back");
}

#[test]
fn a_cpu_that_refuses_or_does_not_take_the_write_has_all_others_put_back() {
    for (nature, register) in
        [(Nature::Refusing, HWCR), (Nature::Refusing, BU_CFG), (Nature::Deaf, HWCR), (Nature::Deaf, BU_CFG)]
    {
        for value in ["off", "on"] {
            let before = if value == "off" { ON } else { OFF };
            let Some(board) = Board::of(&[part(B2, before), part(B2, before)]) else { return };
            board.guest.make(1, register, nature);
            let error = board.fails(value);
            let named = format!("CPU 1 MSR {register:#010x}");
            assert!(error.to_string().contains(&named), "{error}");
            match (nature, &error) {
                (Nature::Refusing, ExperimentError::SystemWriter(_))
                | (Nature::Deaf, ExperimentError::NotTaken { .. }) => {}
                _ => panic!("{nature:?}: {error}"),
            }
            for cpu in [0, 1] {
                for &(register, value) in before {
                    assert_eq!(board.guest.holds(cpu, register), value, "{nature:?}: CPU {cpu} {register:x}");
                }
            }
        }
    }
}
