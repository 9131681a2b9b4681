//! Pages protected in a program that runs, whatever becomes of it and of who watches: this test program itself, started again.

use std::env;
use std::fs::File;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Lines, Read, Write, stdin};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use host::live::{
    ChildOutput, Ending, Forked, Given, WriteFault, WritePost, WriteWatch, in_forked_child, page_bytes,
    run_child, thread_cpu_time_ns, wait_for_any,
};
use host::{AddressSpace, Root};
use record::WriterVerdict;
use sharing::{ProfileOptions, SourceChoice, source_of, watch_while, write_watched};

/// Says as what the program was started again.
const ROLE: &str = "SIDESTEP_WRITE_WATCH_ROLE";
/// Something that takes longer than this has failed; a loaded machine gives everybody a turn within a second.
const PATIENCE: Duration = Duration::from_secs(60);
/// Pages of the target that are protected.
const PAGES: usize = 32;
/// What they are laid out for.
const PAGE_BYTES: u64 = 4096;
const WORDS: usize = PAGE_BYTES as usize / size_of::<u64>();
/// Steps of a watcher after which it may be killed.
const STEPS: [&str; 6] = ["received", "covered", "protected", "waited for", "heard", "let one through"];

/// True if writes cannot be watched here, which is said.
fn is_skipped(name: &str) -> bool {
    if page_bytes() as u64 != PAGE_BYTES {
        println!("skipped {name}: pages have {} bytes here, {PAGE_BYTES} are expected", page_bytes());
        return true;
    }
    WriteWatch::of_self().inspect_err(|error| println!("skipped {name}: {error}")).is_err()
}

fn again(name: &str, role: &str) -> Command {
    let mut command = Command::new(env::current_exe().expect("a program knows itself"));
    command
        .args(["--exact", &format!("write_watch::{name}"), "--nocapture", "--test-threads=1"])
        .env(ROLE, role);
    command
}

/// Memory of its own mapping, as the C library maps what is larger than 128 KiB alone. Of ones: zeros would not be written, and
/// what was never touched cannot be protected.
fn block() -> Arc<Vec<AtomicU64>> {
    Arc::new((0..(PAGES + 1) * WORDS).map(|_| AtomicU64::new(1)).collect())
}

/// The first whole page of a block.
fn first_page(block: &[AtomicU64]) -> usize {
    block
        .iter()
        .position(|word| ((&raw const *word) as u64).is_multiple_of(PAGE_BYTES))
        .expect("it has more than a page")
}

/// One line in one piece: others write to the same pipe.
fn tell(line: &str) {
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).expect("the test listens");
}

/// Says where its pages are, waits until it may go on, and writes to all of them: two threads by turns, and the kernel.
fn target() {
    let block = block();
    let first = first_page(&block);
    let mut buffer = vec![1_u8; (PAGES + 1) * PAGE_BYTES as usize];
    println!("pages {} {}", (&raw const block[first]) as u64, buffer.as_ptr() as u64);
    tell(&format!("target {}", std::process::id()));
    // The end of a watcher that was killed is the end of this too.
    let _ = stdin().read_line(&mut String::new());
    for thread_index in 0..2 {
        let block = block.clone();
        let write = move || {
            for page in 0..PAGES {
                block[first + page * WORDS + thread_index].fetch_add(1, Ordering::Relaxed);
            }
        };
        thread::spawn(write).join().expect("it ends");
    }
    let sum: u64 = block.iter().map(|word| word.load(Ordering::Relaxed)).sum();
    assert_eq!(sum, (block.len() + 2 * PAGES) as u64);
    File::open("/dev/zero")
        .and_then(|mut zeros| zeros.read_exact(&mut buffer))
        .expect("no write of the kernel fails");
    assert!(buffer.iter().all(|byte| *byte == 0));
    tell("done");
}

/// A watcher's target, and the right to watch it.
struct Target {
    child: Child,
    go_on: Option<ChildStdin>,
    /// Kept open: the target's own test prints in the end.
    _said: Lines<BufReader<ChildStdout>>,
    watch: WriteWatch,
    pages: Vec<u64>,
}

impl Target {
    fn start(name: &str, post: &WritePost) -> Self {
        let mut command = again(name, "target");
        post.invitation().prepare(&mut command);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts again");
        let mut said = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        // The test's frame speaks too, and not always with whole lines.
        let words = said
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| Some(line.split_once("pages ")?.1.to_owned()));
        let words = words.expect("it says where its pages are");
        let starts = words.split_whitespace().map(|word| word.parse::<u64>().expect("an address"));
        let pages = starts.flat_map(|start| {
            let first = start.next_multiple_of(PAGE_BYTES);
            (0..PAGES as u64).map(move |page| first + page * PAGE_BYTES)
        });
        let Given { process, watch } = post.receive().expect("it has handed over before it began");
        assert_eq!(process, child.id());
        Self { go_on: child.stdin.take(), _said: said, pages: pages.collect(), watch, child }
    }

    fn cover(&self) {
        let space = AddressSpace::of_process(&Root::live(), self.child.id()).expect("it runs");
        for page in &self.pages {
            let range = space.find(*page).expect("it is mapped");
            self.watch.cover(range.start, range.end - range.start).expect("private memory");
        }
    }

    fn wait(&self) {
        wait_for_any(&[self.watch.as_fd()], Some(PATIENCE)).expect("it can be waited for");
    }

    fn heard(&self) -> Vec<WriteFault> {
        let mut faults = Vec::new();
        self.watch.take(|fault| faults.push(fault)).expect("it can be read");
        faults
    }
}

/// Goes through all steps, and stays at that of this name until it is killed.
fn watcher(name: &str, last: &str) {
    let stay = |step: &str| {
        if step == last {
            tell(&format!("at {step}"));
            loop {
                thread::park();
            }
        }
    };
    let post = WritePost::open().expect("a library, and a socket");
    let mut target = Target::start(name, &post);
    stay(STEPS[0]);
    target.cover();
    stay(STEPS[1]);
    for page in &target.pages {
        target.watch.protect(*page).expect("it is covered");
    }
    stay(STEPS[2]);
    drop(target.go_on.take());
    target.wait();
    stay(STEPS[3]);
    let mut heard = target.heard();
    stay(STEPS[4]);
    target.watch.let_through(heard[0].page);
    stay(STEPS[5]);
    for fault in &heard {
        target.watch.let_through(fault.page);
    }
    while target.child.try_wait().expect("it is ours").is_none() {
        wait_for_any(&[target.watch.as_fd()], Some(Duration::from_millis(10))).expect("it can be waited for");
        let more = target.heard();
        for fault in &more {
            target.watch.let_through(fault.page);
        }
        heard.extend(more);
    }
    assert!(target.child.wait().expect("it is ours").success());
    // By the kernel's account: those of the first thread, and those of the kernel for the last.
    let mut pages: Vec<u64> = heard.iter().map(|fault| fault.page).collect();
    pages.sort_unstable();
    pages.dedup();
    target.pages.sort_unstable();
    assert_eq!(pages, target.pages);
    let mut threads: Vec<u32> = heard.iter().map(|fault| fault.tid).collect();
    threads.sort_unstable();
    threads.dedup();
    assert_eq!(threads.len(), 2, "the second finds what the first has written to: {heard:?}");
    tell("answered");
}

fn lines_of(child: &mut Child) -> Receiver<String> {
    let (sender, lines) = channel();
    let said = BufReader::new(child.stderr.take().expect("a pipe"));
    thread::spawn(move || said.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    lines
}

#[test]
fn whenever_the_watcher_is_killed_the_program_goes_on() {
    let name = "whenever_the_watcher_is_killed_the_program_goes_on";
    match env::var(ROLE).as_deref() {
        Ok("target") => return target(),
        Ok(step) => return watcher(name, step),
        Err(_) if is_skipped(name) => return,
        Err(_) => {}
    }
    for step in STEPS.into_iter().chain(["never"]) {
        let mut watcher =
            again(name, step).stdin(Stdio::null()).stderr(Stdio::piped()).stdout(Stdio::null()).spawn();
        let watcher = watcher.as_mut().expect("it starts again");
        let lines = lines_of(watcher);
        let (mut target, mut is_done, mut is_killed) = (None, false, false);
        while let Ok(line) = lines.recv_timeout(PATIENCE) {
            if let Some(number) = line.strip_prefix("target ") {
                target = Some(number.to_owned());
            } else if line == format!("at {step}") {
                watcher.kill().expect("it is ours");
                is_killed = true;
            }
            is_done |= line == "done";
            if line == "answered" || is_done && is_killed {
                break;
            }
        }
        if let (Some(target), false) = (&target, is_done) {
            Command::new("kill").args(["-9", target]).status().expect("every Linux has kill");
        }
        let ended = watcher.wait().expect("it is ours");
        assert!(is_done, "killed when {step}: {ended}");
        assert!(is_killed || ended.success(), "{step}: {ended}");
    }
}

/// CPU time of each thread that writes.
const WORK_NS: u64 = 300_000_000;
/// A page that a child writes to; zeros are memory without a file.
static SEEN_BY_CHILDREN: [AtomicU64; 3 * WORDS] = [const { AtomicU64::new(0) }; 3 * WORDS];

/// Threads that come and go, one after the other on a block of two; children; memory that is given back; and another program in the end.
fn restless() {
    let common = block();
    thread::scope(|scope| {
        for name in ["one", "other"] {
            let common = &common;
            let work = move || {
                let mut place = 0_usize;
                while thread_cpu_time_ns() < WORK_NS {
                    for _ in 0..10_000 {
                        place = black_box(place.wrapping_mul(5).wrapping_add(1)) % common.len();
                        common[place].fetch_add(1, Ordering::Relaxed);
                        SEEN_BY_CHILDREN[place % SEEN_BY_CHILDREN.len()].fetch_add(1, Ordering::Relaxed);
                    }
                    let given_back = block();
                    let short =
                        move || given_back.iter().for_each(|word| _ = word.fetch_add(1, Ordering::Relaxed));
                    thread::Builder::new()
                        .name("short".to_owned())
                        .spawn(short)
                        .expect("a thread")
                        .join()
                        .expect("it ends");
                    let write = |sums: &mut [u64; 1]| {
                        for word in &SEEN_BY_CHILDREN {
                            sums[0] += 1 | word.fetch_add(1, Ordering::Relaxed) >> 63;
                        }
                    };
                    let child = in_forked_child(write, PATIENCE).expect("a child");
                    assert_eq!(child, Forked::Numbers([SEEN_BY_CHILDREN.len() as u64]));
                }
            };
            thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, work).expect("a thread");
        }
    });
    let error = Command::new("true").exec();
    panic!("{error}");
}

/// Ends in the midst of its writes.
fn doomed() {
    let common = block();
    for _ in 0..2 {
        let common = common.clone();
        thread::spawn(move || {
            loop {
                common.iter().for_each(|word| _ = word.fetch_add(1, Ordering::Relaxed));
            }
        });
    }
    while thread_cpu_time_ns() < WORK_NS {
        common.iter().for_each(|word| _ = word.fetch_add(1, Ordering::Relaxed));
    }
    std::process::abort();
}

/// How the program ends in its role, and who writes to the pages that it shares.
fn watched(name: &str, role: &str) -> (Ending, record::Sharing) {
    let mut command = again(name, role);
    let period = Duration::from_millis(1);
    let source = source_of(command.get_program(), SourceChoice::Preload, period).expect("nothing forbids it");
    // All of its time: what is looked for is what breaks.
    let mut source = write_watched(source, command.get_program(), 1.0);
    source.prepare(&mut command);
    let options = ProfileOptions { rate_hz: 1000.0, ..ProfileOptions::default() };
    let (run, sharing) =
        watch_while(&mut *source, options, || run_child(command, &[], ChildOutput::Discard, Some(PATIENCE)))
            .expect("a thread");
    let run = run.expect("it was run");
    println!(
        "{} {}",
        String::from_utf8_lossy(&run.errors),
        sharing.writers.as_ref().expect("asked").sentence
    );
    (run.ending, sharing)
}

#[test]
fn programs_that_fork_unmap_execute_and_die_are_watched_and_unharmed() {
    let name = "programs_that_fork_unmap_execute_and_die_are_watched_and_unharmed";
    match env::var(ROLE).as_deref() {
        Ok("restless") => return restless(),
        Ok(_) => return doomed(),
        Err(_) if is_skipped(name) => return,
        Err(_) => {}
    }
    let (ending, sharing) = watched(name, "restless");
    assert_eq!(ending, Ending::Code(0));
    let writers = sharing.writers.as_ref().expect("asked");
    assert_eq!(writers.refused, None);
    assert!(writers.fault_us_count > 0);
    let number = |name: &str| sharing.threads.iter().position(|thread| thread.name == name);
    for pair in &writers.pairs {
        assert!(pair.changes <= pair.turns && pair.turns <= pair.first_writes.iter().sum());
        let is_known = [number("one"), number("other")] == pair.threads.map(Some);
        assert!(!is_known || pair.verdict != WriterVerdict::OwnPages, "{pair:?}");
    }
    let offered = sharing.offers.iter().find(|offer| offer.name.contains("userfaultfd"));
    assert!(offered.is_some_and(|offer| offer.refused.is_none()));
    // SIGABRT.
    assert_eq!(watched(name, "doomed").0, Ending::Signal(6));
}
