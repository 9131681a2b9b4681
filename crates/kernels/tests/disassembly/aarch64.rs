//! The loops of arm64.

use super::{Functions, Instruction, Target, check, function, loops, summary};

/// The end of most loops.
const ROUND: &str = "1 subs x,x,i; 1 b.ne";

/// Functions of the crate for this architecture; `None`, loudly, where they cannot be looked at.
fn functions() -> Option<&'static Functions> {
    static AARCH64: Target = Target::new(
        "aarch64-unknown-linux-gnu",
        &["aarch64-linux-gnu-objdump", "objdump", "llvm-objdump"],
        "//",
    );
    AARCH64.functions()
}

#[test]
fn loops_of_the_core_are_their_instructions_and_touch_no_other_memory() {
    let Some(functions) = functions() else { return };
    let rows = [
        ("multiply::multiply_chain", "64 mul w,w,w"),
        ("rotate::rotate_chain", "64 ror x,x,i"),
        ("ports::port_loop", "64 add x,x,x"),
        ("arch::aarch64::neon", "64 fmla v.2d,v.2d,v.2d; 32 fadd v.2d,v.2d,v.2d"),
        ("float_divide::float_divide_chain", "16 and v.8b,v.8b,v.8b; 16 orr v.8b,v.8b,v.8b; 16 fdiv d,d,d"),
        ("store_bypass::forwarding_chain", "16 add x,x,x; 16 str x,[m]; 16 ldrh w,[m]"),
        (
            "store_bypass::StoreBypass::run",
            "16 mov w,w; 80 mul w,w,w; 16 lsr w,w,i; 16 str x,[m]; 16 ldr x,[m]",
        ),
        ("chase::<impl kernels::cursor::Cursor>::walk", "64 ldr x,[m]"),
        ("offset_chase::OffsetChase::walk", "64 ldr x,[m]; 64 and x,x,x"),
        ("arch::aarch64::atomics::lse_adds", "16 ldaddal x,x,[m]"),
    ];
    for (path, body) in rows {
        check(functions, path, &format!("{body}; {ROUND}"));
    }
    for chases in 1..=16 {
        let body = format!("{} ldr x,[m]; {ROUND}", 16 * chases);
        check(functions, &format!("arch::aarch64::walk_{chases}"), &body);
    }
}

/// The first loop of a function without the end of the round.
fn steps<'f>(functions: &'f Functions, path: &str) -> &'f [Instruction] {
    let body = loops(function(functions, path))[0];
    &body[..body.len() - 2]
}

#[test]
fn chains_depend_on_themselves_and_the_adds_of_the_ports_do_not() {
    let Some(functions) = functions() else { return };
    for (path, period) in [
        ("multiply::multiply_chain", 1),
        ("rotate::rotate_chain", 1),
        ("chase::<impl kernels::cursor::Cursor>::walk", 1),
        ("offset_chase::OffsetChase::walk", 2),
        ("float_divide::float_divide_chain", 3),
        ("store_bypass::forwarding_chain", 3),
    ] {
        let steps = steps(functions, path);
        assert!(steps.iter().zip(&steps[period..]).all(|(one, next)| one.address < next.address), "{path}");
        assert!(
            steps
                .chunks(period)
                .all(|step| step.iter().map(|i| &i.text).eq(steps[..period].iter().map(|i| &i.text)))
        );
        // What the first instruction of a step reads is what the last one wrote.
        let operands = |text: &str| -> Vec<String> {
            let words = text.split([' ', ',', '[', ']']).filter(|word| !word.is_empty());
            words
                .skip(1)
                .map(|word| word.trim_start_matches(['x', 'w', 'd', 'v']).replace(".8b", ""))
                .collect()
        };
        let (first, last) = (operands(&steps[0].text), operands(&steps[period - 1].text));
        assert!(first[1..].contains(&last[0]), "{path}: {} after {}", steps[0].text, steps[period - 1].text);
    }
    let mut adds: Vec<&str> =
        steps(functions, "ports::port_loop").iter().map(|add| add.text.as_str()).collect();
    adds.sort_unstable();
    adds.dedup();
    assert_eq!(adds.len(), 8);
}

#[test]
fn reads_load_pairs_and_store_nothing() {
    let Some(functions) = functions() else { return };
    for (isa, register, sum) in [
        ("scalar_u64", "x", "add x,x,x"),
        ("scalar_f64", "d", "fadd d,d,d"),
        ("neon", "q", "add v.2d,v.2d,v.2d"),
    ] {
        let expected = format!("4 ldp {register},{register},[m]; 8 {sum}; 1 add x,x,i; 1 cmp x,x; 1 b.ne");
        check(functions, &format!("arch::aarch64::stream::read::{isa}"), &expected);
    }
}

#[test]
fn loops_that_store_are_four_pairs_of_their_operation_and_nothing_else() {
    let Some(functions) = functions() else { return };
    let kinds = [
        ("scalar_u64", "x", "x", "", "p"),
        ("scalar_u64_non_temporal", "x", "x", "", "np"),
        ("scalar_f64", "d", "d", "f", "p"),
        ("neon", "q", "v.2d", "f", "p"),
        ("neon_non_temporal", "q", "v.2d", "f", "np"),
    ];
    for (name, moved, computed, float, pair) in kinds {
        let load = |count: u32| format!("{count} ld{pair} {moved},{moved},[m]");
        let compute = |mnemonic: &str| format!("8 {float}{mnemonic} {computed},{computed},{computed}");
        let rows = [
            ("write", 1, vec![]),
            ("copy", 2, vec![load(4)]),
            ("scale", 2, vec![load(4), compute("mul")]),
            ("add", 3, vec![load(8), compute("add")]),
            ("triad", 3, vec![load(8), compute("mul"), compute("add")]),
        ];
        for (operation, arrays, mut expected) in rows {
            let path = format!("arch::aarch64::stream::storing::{operation}::{name}");
            expected.push(format!("4 st{pair} {moved},{moved},[m]; {arrays} add x,x,i; 1 cmp x,x; 1 b.ne"));
            check(functions, &path, &expected.join("; "));
            let instructions = function(functions, &path);
            let end = loops(instructions)[0].last().expect("a loop has its jump").address;
            let next = instructions.iter().find(|instruction| instruction.address > end);
            assert_eq!(next.is_some_and(|next| next.text == "dmb ishst"), pair == "np", "{path}");
        }
    }
}

#[test]
fn words_are_taken_over_by_one_instruction_or_by_an_exclusive_pair() {
    let Some(functions) = functions() else { return };
    let swaps = function(functions, "arch::aarch64::atomics::swaps");
    for mnemonic in ["casal w", "ldaxr w", "stlxr w"] {
        assert!(swaps.iter().any(|i| i.text.starts_with(mnemonic)), "{mnemonic}");
    }
    // The calls that a compiler puts in for a compare-and-swap choose anew at each of them.
    let calls = swaps.iter().filter(|i| i.text.starts_with("bl ")).count();
    assert_eq!(calls, 1, "the one that looks for LSE");
    let adds = loops(function(functions, "arch::aarch64::atomics::exclusive_adds"));
    let (retries, round) = adds.split_at(16);
    assert!(
        retries.iter().all(|retry| summary(retry) == "1 ldaxr x,[m]; 1 add x,x,x; 1 stlxr w,x,[m]; 1 cbnz")
    );
    assert_eq!(
        summary(round[0]),
        format!("16 ldaxr x,[m]; 16 add x,x,x; 16 stlxr w,x,[m]; 16 cbnz; {ROUND}")
    );
}
