//! Reads the clock, says where times come from, and orders two stamps of two threads.

use std::time::Duration;

use clock::Clock;

fn main() -> Result<(), clock::ClockError> {
    let clock = Clock::new()?;
    if !clock.wait_for_counter(Duration::from_secs(1)) {
        println!("the kernel's clock: {:?}", clock.no_counter());
    }
    let start = clock.now();
    let reads = 1_000_000;
    for _ in 0..reads {
        std::hint::black_box(clock.now());
    }
    let ns_per_read = clock.elapsed(start).as_secs_f64() * 1e9 / f64::from(reads);
    println!("{ns_per_read:.1} ns a read from {:?}, within {:?}", clock.source(), clock.uncertainty());

    let other = clock.clone();
    let earlier = std::thread::spawn(move || other.ordered()).join().expect("a reading does not panic");
    let later = clock.ordered();
    println!("certainly later: {} (boundary {} ns)", later.after(&earlier), later.boundary_ns);
    Ok(())
}
