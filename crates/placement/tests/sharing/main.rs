//! Threads of this program, watched while they share memory.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use placement::sharing::{ProfileError, ProfileOptions, Subject, profile};

/// Two threads on one block, one on another: structure only, as what is found of them depends on the machine's load.
#[test]
fn threads_of_a_live_process_are_seen_with_what_they_touch() {
    let stop = AtomicBool::new(false);
    let block = || Arc::new((0..1 << 15).map(AtomicU64::new).collect::<Vec<_>>());
    let (common, own) = (block(), block());
    let options =
        ProfileOptions { rate_hz: 1000.0, limit: Some(Duration::from_secs(20)), memory_samples: Some(60) };
    let profile = thread::scope(|scope| {
        for (name, block) in [("one", &common), ("other", &common), ("stranger", &own)] {
            let stop = &stop;
            let work = move || {
                let mut place = 0_usize;
                while !stop.load(Ordering::Relaxed) {
                    place = black_box(place.wrapping_mul(5).wrapping_add(1)) % block.len();
                    block[place].fetch_add(1, Ordering::Relaxed);
                }
            };
            thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, work).expect("a thread");
        }
        let profile = profile(Subject::Process(std::process::id()), options);
        stop.store(true, Ordering::Relaxed);
        profile
    });
    let sharing = match profile {
        Ok(profile) => profile.sharing,
        Err(ProfileError::Perf(error)) => {
            println!("skipped threads_of_a_live_process_are_seen_with_what_they_touch: {error}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    assert!(sharing.memory_samples >= 60, "{sharing:#?}");
    assert_eq!(sharing.undecodable, 0, "{:?}", sharing.skipped);
    for name in ["one", "other", "stranger"] {
        assert!(sharing.threads.iter().any(|thread| thread.name == name), "{:?}", sharing.threads);
    }
    assert_eq!(sharing.write_shared.rows.len(), sharing.threads.len());
}
