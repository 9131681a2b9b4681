//! The loops of x86-64.

use super::{Functions, Target, function, loops, summary};

/// Functions of the crate for this architecture; `None`, loudly, where they cannot be looked at.
fn functions() -> Option<&'static Functions> {
    static X86_64: Target =
        Target::new("x86_64-unknown-linux-gnu", &["x86_64-linux-gnu-objdump", "objdump"], "#");
    X86_64.functions()
}

/// The innermost loop of `path` is `expected`, in normal form.
fn check(path: &str, expected: &str) {
    if let Some(functions) = functions() {
        super::check(functions, path, expected);
    }
}

/// What is between the load and the store of each loop that stores, for `\k` of eight: instruction set, its function,
/// expected forms.
fn storing_body(operation: &str, isa: &str) -> Vec<String> {
    let (register, mov, suffix, prefix) = match isa {
        "scalar_u64" => ("r", "mov", "", ""),
        "scalar_f64" => ("xmm", "movsd", "sd", ""),
        "sse2" => ("xmm", "movapd", "pd", ""),
        "avx2" => ("ymm", "vmovapd", "pd", "v"),
        "avx512" => ("zmm", "vmovapd", "pd", "v"),
        _ => panic!("{isa}"),
    };
    let load = format!("8 {mov} {register},[m]");
    let three = |mnemonic: &str| format!("8 {prefix}{mnemonic}{suffix} {register},{register},[m]");
    let two = |mnemonic: &str, source: &str| format!("8 {mnemonic}{suffix} {register},{source}");
    match (operation, isa) {
        ("write", _) => vec![],
        ("copy", _) => vec![load],
        ("scale", "scalar_u64") => vec!["8 imul r,[m],i".to_owned()],
        ("add", "scalar_u64") => vec![load, "8 add r,[m]".to_owned()],
        ("triad", "scalar_u64") => vec!["8 imul r,[m],i".to_owned(), "8 add r,[m]".to_owned()],
        ("scale", "avx2" | "avx512") => vec![three("mul")],
        ("add", "avx2" | "avx512") => vec![load, three("add")],
        ("triad", "avx2" | "avx512") => vec![three("mul"), three("add")],
        ("scale", _) => vec![load, two("mul", "xmm")],
        ("add", _) => vec![load, two("add", "[m]")],
        ("triad", _) => vec![load, two("mul", "xmm"), two("add", "[m]")],
        _ => panic!("{operation}"),
    }
}

#[test]
fn loops_that_store_are_eight_elements_of_their_operation_and_nothing_else() {
    let stores = [
        ("scalar_u64", "mov [m],r", Some("movnti [m],r")),
        ("scalar_f64", "movsd [m],xmm", None),
        ("sse2", "movapd [m],xmm", Some("movntpd [m],xmm")),
        ("avx2", "vmovapd [m],ymm", Some("vmovntpd [m],ymm")),
        ("avx512", "vmovapd [m],zmm", Some("vmovntpd [m],zmm")),
    ];
    for (operation, arrays) in [("write", 1), ("copy", 2), ("scale", 2), ("add", 3), ("triad", 3)] {
        for (isa, plain, non_temporal) in stores {
            let rows = [(isa.to_owned(), Some(plain)), (format!("{isa}_non_temporal"), non_temporal)];
            for (name, store) in rows.into_iter().filter_map(|(name, store)| Some((name, store?))) {
                let mut expected = storing_body(operation, isa);
                // Scalar integers are stored under their own form only if it differs from the load's.
                expected.push(format!("8 {store}"));
                expected.push(format!("{arrays} add r,i; 1 cmp r,r; 1 jne"));
                check(&format!("arch::x86_64::stream::storing::{operation}::{name}"), &expected.join("; "));
            }
        }
    }
}

#[test]
fn paced_loops_differ_from_the_fast_ones_by_their_pace_alone() {
    for (operation, arrays) in [("copy", 2), ("scale", 2), ("add", 3), ("triad", 3)] {
        for (isa, register, pace) in [("avx2", "ymm", 64), ("avx512", "zmm", 128)] {
            let mut expected = storing_body(operation, isa);
            expected.push(format!("8 vmovapd [m],{register}; {pace} nop"));
            expected.push(format!("{arrays} add r,i; 1 cmp r,r; 1 jne"));
            check(&format!("arch::x86_64::stream::storing::{operation}::{isa}_paced"), &expected.join("; "));
        }
    }
}

#[test]
fn reads_load_once_per_addition_and_store_nothing() {
    let rows = [
        ("scalar_u64", "16 add r,[m]"),
        ("scalar_f64", "16 addsd xmm,[m]"),
        ("sse2", "16 paddq xmm,[m]"),
        ("avx2", "16 vpaddq ymm,ymm,[m]"),
        ("avx512", "8 vpaddq zmm,zmm,[m]"),
    ];
    for (isa, loads) in rows {
        check(
            &format!("arch::x86_64::stream::read::{isa}"),
            &format!("{loads}; 1 add r,i; 1 cmp r,r; 1 jne"),
        );
    }
}

#[test]
fn non_temporal_sweeps_end_with_a_fence_and_plain_ones_do_not() {
    let Some(functions) = functions() else { return };
    let mut fenced = 0;
    for (path, instructions) in
        functions.iter().filter(|(path, _)| path.starts_with("arch::x86_64::stream::"))
    {
        let Some(body) = loops(instructions).first().copied() else { continue };
        let last = body.last().expect("a loop has its jump").address;
        let next = instructions
            .iter()
            .find(|instruction| instruction.address > last)
            .expect("a loop is not the end");
        assert_eq!(next.text == "sfence", path.ends_with("_non_temporal"), "{path}: {}", next.text);
        fenced += usize::from(next.text == "sfence");
    }
    assert_eq!(fenced, 20);
}

#[test]
fn a_walk_is_64_dependent_loads_and_a_branch() {
    let Some(functions) = functions() else { return };
    let walk = function(functions, "chase::<impl kernels::cursor::Cursor>::walk");
    let body = loops(walk)[0];
    assert_eq!(summary(body), "64 mov r,[m]; 1 dec r; 1 jne");
    let first = &body[0].text;
    let register = &first["mov ".len()..first.find(',').expect("two operands")];
    assert_eq!(*first, format!("mov {register},QWORD PTR [{register}]"));
    assert!(body[..64].iter().all(|load| load.text == *first));
}

#[test]
fn a_walk_of_offsets_is_64_dependent_loads_with_a_mask_each() {
    check("offset_chase::OffsetChase::walk", "64 mov r,[m]; 64 and r,r; 1 dec r; 1 jne");
    let Some(functions) = functions() else { return };
    let body = loops(function(functions, "offset_chase::OffsetChase::walk"))[0];
    assert!(body[..128].chunks(2).all(|step| step[0].text == body[0].text && step[1].text == body[1].text));
}

#[test]
fn parallel_walks_are_16_loads_of_each_chase_and_a_branch() {
    for chases in 1..=12 {
        let expected = format!("{} mov r,[m]; 1 dec r; 1 jne", 16 * chases);
        check(&format!("arch::x86_64::walk_{chases}"), &expected);
    }
}

#[test]
fn control_loops_stay_in_registers_and_are_not_folded() {
    check("multiply::multiply_chain", "64 imul r,r; 1 dec r; 1 jne");
    check("rotate::rotate_chain", "64 ror r,i; 1 dec r; 1 jne");
    check("ports::port_loop", "64 add r,r; 1 dec r; 1 jne");
    check("arch::x86_64::sse2", "48 mulpd xmm,xmm; 48 addpd xmm,xmm; 1 dec r; 1 jne");
    check("arch::x86_64::avx2", "64 vfmadd213pd ymm,ymm,ymm; 32 vaddpd ymm,ymm,ymm; 1 dec r; 1 jne");
}

#[test]
fn control_chains_depend_on_themselves_and_port_adds_do_not() {
    let Some(functions) = functions() else { return };
    for path in ["multiply::multiply_chain", "rotate::rotate_chain"] {
        let body = loops(function(functions, path))[0];
        assert!(body[..64].iter().all(|step| step.text == body[0].text), "{path}");
    }
    let mut adds: Vec<&str> =
        loops(function(functions, "ports::port_loop"))[0][..64].iter().map(|add| add.text.as_str()).collect();
    adds.sort_unstable();
    adds.dedup();
    assert_eq!(adds.len(), 8);
}

#[test]
fn the_store_bypass_loop_is_a_load_beside_a_store_of_late_address() {
    check(
        "store_bypass::StoreBypass::run",
        "16 mov r,r; 80 imul r,r; 16 shr r,i; 16 mov [m],r; 16 mov r,[m]; 1 dec r; 1 jne",
    );
}

#[test]
fn the_forwarding_chain_loads_less_than_it_stores() {
    check("store_bypass::forwarding_chain", "16 add r,r; 16 mov [m],r; 16 movzx r,[m]; 1 dec r; 1 jne");
    let Some(functions) = functions() else { return };
    let body = loops(function(functions, "store_bypass::forwarding_chain"))[0];
    assert!(body[1].text.contains("QWORD PTR") && body[2].text.contains("WORD PTR"));
    assert!(!body[2].text.contains("QWORD PTR"));
}

#[test]
fn the_front_end_loop_is_8192_instructions_in_25600_bytes() {
    let Some(functions) = functions() else { return };
    let body = loops(function(functions, "contention::front_end_loop"))[0];
    assert_eq!(
        summary(body),
        "2048 xor r,r; 2048 mov r,r; 2048 pxor xmm,xmm; 1024 movaps xmm,xmm; 1024 mov r,i; 1 inc r; 1 cmp r,r; 1 jne"
    );
    assert_eq!(body[8192].address - body[0].address, kernels::contention::CODE_BYTES as u64);
}

#[test]
fn mandelbrot_loops_are_three_products_and_touch_no_memory() {
    check(
        "arch::x86_64::mandelbrot::fixed16_sse2",
        "4 movdqa xmm,xmm; 3 pmulhw xmm,xmm; 2 psubw xmm,xmm; 3 paddw xmm,xmm; 1 pcmpgtw xmm,xmm; 1 pandn xmm,xmm; \
         1 pmovmskb r,xmm; 1 test r,r; 1 je; 2 psllw xmm,i; 1 dec r; 1 jne",
    );
    check(
        "arch::x86_64::mandelbrot::fixed16_avx2",
        "3 vpmulhw ymm,ymm,ymm; 3 vpaddw ymm,ymm,ymm; 1 vpcmpgtw ymm,ymm,ymm; 1 vpandn ymm,ymm,ymm; \
         1 vpmovmskb r,ymm; 1 test r,r; 1 je; 2 vpsubw ymm,ymm,ymm; 2 vpsllw ymm,ymm,i; 1 dec r; 1 jne",
    );
    check(
        "arch::x86_64::mandelbrot::float32_sse2",
        "3 movaps xmm,xmm; 3 mulps xmm,xmm; 1 subps xmm,xmm; 4 addps xmm,xmm; 1 cmpleps xmm,xmm; 1 andps xmm,xmm; \
         1 movmskps r,xmm; 1 test r,r; 1 je; 1 psubd xmm,xmm; 1 dec r; 1 jne",
    );
    check(
        "arch::x86_64::mandelbrot::float32_avx2",
        "3 vmulps ymm,ymm,ymm; 4 vaddps ymm,ymm,ymm; 1 vcmpleps ymm,ymm,ymm; 1 vandps ymm,ymm,ymm; \
         1 vmovmskps r,ymm; 1 test r,r; 1 je; 1 vpsubd ymm,ymm,ymm; 1 vsubps ymm,ymm,ymm; 1 dec r; 1 jne",
    );
}

#[test]
fn gathers_and_their_control_load_the_same_number_of_words() {
    let gather = "8 vpxor ymm,ymm,ymm; 8 vpcmpeqd ymm,ymm,ymm; 8 vpgatherdd ymm,[m],ymm";
    check(
        "arch::x86_64::signature::gather::throughput",
        &format!("{gather}; 8 vpaddd ymm,ymm,ymm; 1 dec r; 1 jne"),
    );
    check("arch::x86_64::signature::gather::scalar_loads", "64 add r,[m]; 1 dec r; 1 jne");
}

#[test]
fn every_block_has_five_instructions_and_its_jump_or_nop_where_its_name_says() {
    let Some(functions) = functions() else { return };
    for offset in [0, 8, 16, 24, 30] {
        for (kind, mnemonic) in [("jump", "jb"), ("nop", "xchg ax,ax")] {
            let path = format!("arch::x86_64::signature::branch_edge::{kind}_at_{offset}");
            let body = loops(function(functions, &path))[0];
            let first = body[0].address;
            assert_eq!((first % 64, body.len()), (0, 16 * 5 + 3), "{path}");
            let marked: Vec<u64> =
                body.iter().filter(|i| i.text.starts_with(mnemonic)).map(|i| i.address - first).collect();
            let expected: Vec<u64> = (0..16).map(|block| block * 32 + offset).collect();
            assert_eq!(marked, expected, "{path}");
            let last: Vec<&str> = body[80..].iter().map(|i| i.text.split(' ').next().unwrap_or("")).collect();
            assert_eq!(last, ["lea", "jrcxz", "jmp"], "{path}");
            // The jump back, of at most five bytes, ends inside its own block.
            assert!((body[82].address - first) % 32 + 5 < 32, "{path}");
        }
    }
}

#[test]
fn calls_are_direct_and_nothing_stands_between_them() {
    // The normal form takes the address of a direct call for a number or a register, by its first digit.
    let Some(functions) = functions() else { return };
    let body = loops(function(functions, "arch::x86_64::signature::direct_calls"))[0];
    let is_direct =
        |text: &str| text.starts_with("call ") && (!text.starts_with("call r") || text.contains("0x"));
    let calls = body[..16].iter().filter(|i| is_direct(&i.text)).count();
    assert_eq!((calls, summary(&body[16..]).as_str()), (16, "1 dec r; 1 jne"));
}

#[test]
fn float_divisions_stand_alone_in_their_loop() {
    let division = "16 andpd xmm,xmm; 16 orpd xmm,xmm; 16 divsd xmm,xmm";
    check("float_divide::float_divide_chain", &format!("{division}; 1 dec r; 1 jne"));
}

#[test]
fn a_strided_walk_is_dependent_loads_and_a_locked_addition_stands_alone() {
    check(
        "arch::x86_64::signature::strided_walk::StridedWalk::walk",
        "16 mov r,[m]; 32 add r,r; 16 and r,r; 1 dec r; 1 jne",
    );
    check("arch::x86_64::signature::locked_add::LockedLines::add", "1 lock [m],i; 1 dec r; 1 jne");
}

#[test]
fn batches_of_counter_reads_call_nothing() {
    let Some(functions) = functions() else { return };
    let batch = function(functions, "ticks::TickLoop::read_many");
    let count = |text: &str| batch.iter().filter(|instruction| instruction.text == text).count();
    assert!(count("rdtsc") >= 4 && count("rdtscp") >= 1 && count("lfence") >= 3 && count("mfence") >= 1);
    assert!(!batch.iter().any(|instruction| instruction.text.starts_with("call")));
}
