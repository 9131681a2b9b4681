//! The same by a library in the program: this test program itself, started again.

use std::env;
use std::hint::black_box;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use host::live::{ChildOutput, Ending, thread_cpu_time_ns};
use record::SharingSource;
use sharing::{ProfileOptions, SourceChoice, Subject, profile};

/// Says that the program was started again.
const ROLE: &str = "SIDESTEP_SHARING_ROLE";
/// CPU time of each thread: a tick of any kernel is far shorter.
const WORK_NS: u64 = 400_000_000;

/// Two threads on one block, one on another, for so much CPU time each.
fn work() {
    let block = || Arc::new((0..1 << 15).map(AtomicU64::new).collect::<Vec<_>>());
    let (common, own) = (block(), block());
    thread::scope(|scope| {
        for (name, block) in [("one", &common), ("other", &common), ("stranger", &own)] {
            let work = move || {
                let mut place = 0_usize;
                while thread_cpu_time_ns() < WORK_NS {
                    for _ in 0..10_000 {
                        place = black_box(place.wrapping_mul(5).wrapping_add(1)) % block.len();
                        block[place].fetch_add(1, Ordering::Relaxed);
                    }
                }
            };
            thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, work).expect("a thread");
        }
    });
}

#[test]
fn a_library_in_the_program_tells_what_its_threads_touch() {
    if env::var_os(ROLE).is_some() {
        work();
        return;
    }
    let mut command = Command::new(env::current_exe().expect("a program knows itself"));
    command.args(["--exact", "preload::a_library_in_the_program_tells_what_its_threads_touch"]).env(ROLE, "");
    let options =
        ProfileOptions { rate_hz: 1000.0, source: SourceChoice::Preload, ..ProfileOptions::default() };
    let seen = profile(Subject::Command(command, ChildOutput::Discard), options).expect("nothing forbids it");
    assert_eq!(seen.run.expect("it was run").ending, Ending::Code(0));
    let sharing = seen.sharing;
    assert_eq!(sharing.source, SharingSource::SignalRegisters);
    assert_eq!((sharing.undecodable, sharing.lost), (0, 0), "{:?}", sharing.skipped);
    assert!(sharing.memory_samples > 0 && !sharing.cost.is_empty() && !sharing.privilege.is_empty());
    let find = |name: &str| sharing.threads.iter().find(|thread| thread.name == name);
    for name in ["one", "other", "stranger"] {
        assert!(find(name).is_some_and(|thread| thread.samples > 0), "{name}: {:?}", sharing.threads);
    }
    assert!(
        !sharing.blind_spots.iter().any(|spot| spot.contains("no program took")),
        "{:?}",
        sharing.blind_spots
    );
}
