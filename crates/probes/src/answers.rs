//! Loops whose answer is known: each result is compared as the loop runs, and a wrong one is kept with its operands.
//!
//! A core that errs (a "mercurial core") gives no sign but a wrong result. A known answer is a constant, a closed form, or what a naive
//! twin makes of the same operands by other instructions. Probes compare between windows, never inside one, and report to the sampler
//! they measure with; a session takes over what its samplers learned.

use std::thread;

use host::Root;
use host::live::{Pinned, cpu_temperature_c, start_on, utc_now};
use machine::CpuId;
use record::{CheckedLoop, Cores, RepeatsElsewhere, WrongResult};

/// Computed so often again, at once, on the same CPU and on one of another core.
const REPEATS: u64 = 100;
/// Wrong results kept of one record; all are counted.
const KEPT_MAX: usize = 16;

/// A loop with what its result must be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known {
    /// Its name in records.
    pub(crate) kernel: &'static str,
    /// As `kernels` names it.
    pub(crate) isa: &'static str,
    /// Operations behind one result.
    pub(crate) operations: u64,
    /// The answer.
    pub(crate) answer: u64,
}

/// Results of a loop, held against the one they must be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    /// The loop.
    pub(crate) known: Known,
    /// How many results.
    pub(crate) results: u64,
    /// Those that were wrong, if any.
    pub(crate) wrong: Option<Wrong>,
}

/// Wrong results among many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// How many.
    pub(crate) count: u64,
    /// One of them.
    pub(crate) found: u64,
}

impl Answer {
    /// One result.
    pub(crate) fn of(known: Known, found: u64) -> Self {
        Self { known, results: 1, wrong: (found != known.answer).then_some(Wrong { count: 1, found }) }
    }
}

/// What was checked on one CPU, and where a wrong result is computed again.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answers {
    /// A CPU of another core.
    other: Option<CpuId>,
    microcode: Option<u64>,
    checked: Vec<CheckedLoop>,
    wrong: Vec<WrongResult>,
}

impl Answers {
    /// None yet; a wrong one will be computed again on this CPU of another core, too.
    pub(crate) fn new(other: Option<CpuId>, microcode: Option<u64>) -> Self {
        Self { other, microcode, ..Self::default() }
    }

    /// Counts results; computes a wrong one again, here and elsewhere.
    pub(crate) fn count(
        &mut self,
        cpu: CpuId,
        Answer { known, results, wrong }: Answer,
        operands: impl FnOnce() -> String,
        mut again: impl FnMut() -> u64 + Send,
    ) {
        let is_it = |one: &CheckedLoop| one.cpu == cpu && one.kernel == known.kernel && one.isa == known.isa;
        let place = self.checked.iter().position(is_it).unwrap_or_else(|| {
            let (kernel, isa) = (known.kernel.to_owned(), known.isa.to_owned());
            self.checked.push(CheckedLoop { cpu, kernel, isa, operations: 0, results: 0, wrong: 0 });
            self.checked.len() - 1
        });
        let row = &mut self.checked[place];
        row.results += results;
        row.operations += results * known.operations;
        let Some(Wrong { count, found }) = wrong else { return };
        row.wrong += count;
        // To compute it again takes a hundred times as long: once in a visit is enough.
        if self.wrong.iter().any(|one| one.kernel == known.kernel && one.isa == known.isa) {
            return;
        }
        let mut wrong_of_repeats = || (0..REPEATS).filter(|_| again() != known.answer).count() as u64;
        let wrong_repeats = wrong_of_repeats();
        let elsewhere = self.other.and_then(|cpu| {
            let wrong = on(cpu, wrong_of_repeats)?;
            Some(RepeatsElsewhere { cpu, repeats: REPEATS, wrong })
        });
        self.wrong.push(WrongResult {
            cpu,
            kernel: known.kernel.to_owned(),
            isa: known.isa.to_owned(),
            operands: operands(),
            expected: known.answer,
            found,
            repeats: REPEATS,
            wrong_repeats,
            elsewhere,
            microcode: self.microcode,
            temperature_c: cpu_temperature_c(&Root::live()),
            at_utc: utc_now(),
        });
    }

    /// Hands all of it to a record, whose own it adds to.
    pub(crate) fn hand_to(&mut self, cores: &mut Cores) {
        add(cores, &std::mem::take(&mut self.checked), &std::mem::take(&mut self.wrong));
    }
}

/// What work gives on a CPU; `None` where it may not be used.
fn on(cpu: CpuId, work: impl FnOnce() -> u64 + Send) -> Option<u64> {
    let pinned = move || {
        let _pinned = Pinned::to(cpu).ok()?;
        Some(work())
    };
    thread::scope(|scope| start_on(scope, cpu, pinned).ok()?.join().ok()?)
}

/// Adds counts to those of the same loop on the same CPU, and wrong results as far as they are kept.
pub(crate) fn add(cores: &mut Cores, checked: &[CheckedLoop], wrong: &[WrongResult]) {
    for one in checked {
        let is_it =
            |row: &&mut CheckedLoop| (row.cpu, &row.kernel, &row.isa) == (one.cpu, &one.kernel, &one.isa);
        match cores.checked.iter_mut().find(is_it) {
            Some(row) => {
                row.operations += one.operations;
                row.results += one.results;
                row.wrong += one.wrong;
            }
            None => cores.checked.push(one.clone()),
        }
    }
    let room = KEPT_MAX.saturating_sub(cores.wrong.len());
    cores.wrong.extend(wrong.iter().take(room).cloned());
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: Known = Known { kernel: "loop", isa: "avx2", operations: 8, answer: 42 };

    fn answer(results: u64, wrong: u64, found: u64) -> Answer {
        Answer { known: KNOWN, results, wrong: (wrong > 0).then_some(Wrong { count: wrong, found }) }
    }

    #[test]
    fn counts_add_up_by_cpu_and_loop_and_a_wrong_result_keeps_its_operands() {
        let mut cores = Cores::default();
        let other = host::live::allowed_cpus().first();
        for epoch in 0..3 {
            let mut answers = Answers::new(other, Some(7));
            for cpu in [CpuId(0), CpuId(1)] {
                let wrong = if epoch == 1 && cpu.0 == 1 { 2 } else { 0 };
                answers.count(cpu, answer(10, wrong, 43), || "6 x 7".to_owned(), || 42);
            }
            answers.hand_to(&mut cores);
            answers.hand_to(&mut cores);
        }
        let counts: Vec<_> =
            cores.checked.iter().map(|one| (one.cpu.0, one.operations, one.results, one.wrong)).collect();
        assert_eq!(counts, [(0, 240, 30, 0), (1, 240, 30, 2)]);
        let [wrong] = cores.wrong.as_slice() else { panic!("{:?}", cores.wrong) };
        let kept = (wrong.cpu.0, wrong.operands.as_str(), wrong.expected, wrong.found);
        assert_eq!(kept, (1, "6 x 7", 42, 43));
        assert_eq!((wrong.repeats, wrong.wrong_repeats, wrong.microcode), (REPEATS, 0, Some(7)));
        let elsewhere = wrong.elsewhere.expect("a CPU that may be used");
        assert_eq!((Some(elsewhere.cpu), elsewhere.repeats, elsewhere.wrong), (other, REPEATS, 0));
    }

    #[test]
    fn of_a_core_that_always_errs_some_are_kept_and_all_are_counted() {
        let mut cores = Cores::default();
        for _ in 0..50 {
            let mut answers = Answers::default();
            for _ in 0..2 {
                answers.count(CpuId(3), answer(5, 5, 0), String::new, || 0);
            }
            answers.hand_to(&mut cores);
        }
        assert_eq!((cores.wrong.len(), cores.checked[0].wrong), (KEPT_MAX, 500));
        assert!(cores.wrong.iter().all(|one| one.wrong_repeats == one.repeats && one.elsewhere.is_none()));
    }
}
