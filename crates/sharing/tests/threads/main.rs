//! Threads of this program, watched while they share memory.

use std::hint::black_box;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use sharing::{ProfileOptions, Samplers, profile, watch_while};

/// One test at a time: who watches this process sees the programs that another test starts in it, whose code is gone with them.
static ALONE: Mutex<()> = Mutex::new(());

/// Two threads on one block, one on another: structure only, as what is found of them depends on the machine's load.
#[test]
fn threads_of_a_live_process_are_seen_with_what_they_touch() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
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
        let profile = profile(std::process::id(), options);
        stop.store(true, Ordering::Relaxed);
        profile
    });
    let sharing = match profile {
        Ok(sharing) => sharing,
        Err(error) => {
            println!("skipped threads_of_a_live_process_are_seen_with_what_they_touch: {error}");
            return;
        }
    };
    assert_eq!(sharing.memory_samples, 60, "{sharing:#?}");
    assert_eq!(sharing.undecodable, 0, "{:?}", sharing.skipped);
    for name in ["one", "other", "stranger"] {
        assert!(sharing.threads.iter().any(|thread| thread.name == name), "{:?}", sharing.threads);
    }
    assert_eq!(sharing.write_shared.rows.len(), sharing.threads.len());
}

/// Two programs with a pipe between them, which holds less than one has to say: one must wait for the other.
#[test]
fn who_wakes_whom_is_seen_by_the_privileged_and_sleep_by_all() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let options = ProfileOptions::default();
    let mut samplers = match Samplers::of_children(options.period()) {
        Ok(samplers) => samplers,
        Err(error) => {
            println!("skipped who_wakes_whom_is_seen_by_the_privileged_and_sleep_by_all: {error}");
            return;
        }
    };
    let run = || Command::new("sh").args(["-c", "yes | head -c 20000000 > /dev/null"]).status();
    let (status, sharing) = watch_while(&mut samplers, options, run).expect("a thread that watches");
    assert!(status.expect("sh is there").success());
    let find = |name: &str| sharing.threads.iter().position(|thread| thread.name == name);
    let (yes, head) = (find("yes").expect("it came to a CPU"), find("head").expect("it came to a CPU"));
    let said = |what: &str| sharing.blind_spots.iter().any(|spot| spot.starts_with(what));
    match [yes, head].map(|thread| sharing.threads[thread].idle_gaps.as_ref()) {
        [Some(yes), Some(head)] => {
            assert!(!yes.is_empty() || !head.is_empty());
            assert!(yes.iter().chain(head).all(|gap| gap.from_us < gap.below_us && gap.count > 0));
        }
        _ => assert!(said("how long threads sleep is not seen"), "{:?}", sharing.blind_spots),
    }
    match &sharing.wakes {
        Some(wakes) => {
            let both = [wakes.get(head, yes), wakes.get(yes, head)].map(|wakes| wakes.expect("seen").value);
            assert!(both.iter().sum::<f64>() > 0.0, "{wakes:?}");
        }
        None => assert!(said("who wakes whom is not seen"), "{:?}", sharing.blind_spots),
    }
}
