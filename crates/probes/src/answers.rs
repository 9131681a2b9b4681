//! Loops whose answer is known: each result is compared as the loop runs, and a wrong one is kept with its operands.
//!
//! A core that errs (a "mercurial core") gives no sign but a wrong result. The known answers are constants: a CPU that errs
//! cannot spoil what it is held against.

use host::Root;
use host::live::{cpu_temperature_c, utc_now};
use machine::CpuId;
use record::{CheckedLoop, Cores, WrongResult};

/// Computed so often again, at once, on the same CPU.
const REPEATS: u64 = 100;
/// Wrong results kept of one probe; all are counted.
const KEPT_MAX: usize = 16;

/// A loop with what its result must be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known {
    /// Its name in records.
    pub(crate) kernel: &'static str,
    /// As `kernels` names it.
    pub(crate) isa: &'static str,
    /// Arithmetic operations behind one result.
    pub(crate) operations: u64,
    /// The answer.
    pub(crate) answer: u64,
}

/// What was checked so far.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    checked: Vec<CheckedLoop>,
    wrong: Vec<WrongResult>,
}

impl Answers {
    /// Counts results of which the last wrong one was `found`, if any was; computes a wrong one again.
    pub(crate) fn count(
        &mut self,
        cpu: CpuId,
        known: &Known,
        results: u64,
        wrong: Option<Wrong>,
        operands: impl FnOnce() -> String,
        again: impl Fn() -> u64,
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
        if self.wrong.len() >= KEPT_MAX {
            return;
        }
        let wrong_repeats = (0..REPEATS).filter(|_| again() != known.answer).count() as u64;
        self.wrong.push(WrongResult {
            cpu,
            kernel: known.kernel.to_owned(),
            isa: known.isa.to_owned(),
            operands: operands(),
            expected: known.answer,
            found,
            repeats: REPEATS,
            wrong_repeats,
            temperature_c: cpu_temperature_c(&Root::live()),
            at_utc: utc_now(),
        });
    }

    /// Puts all of it into a record, whose own it adds to.
    pub(crate) fn store(self, cores: &mut Cores) {
        add(cores, &self.checked, &self.wrong);
    }
}

/// Wrong results among many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// How many.
    pub(crate) count: u64,
    /// The last of them.
    pub(crate) found: u64,
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

    #[test]
    fn counts_add_up_by_cpu_and_loop_and_a_wrong_result_keeps_its_operands() {
        let mut cores = Cores::default();
        for epoch in 0..3 {
            let mut answers = Answers::default();
            for cpu in [CpuId(0), CpuId(1)] {
                let wrong = (epoch == 1 && cpu.0 == 1).then_some(Wrong { count: 2, found: 43 });
                answers.count(cpu, &KNOWN, 10, wrong, || "6 x 7".to_owned(), || 42);
            }
            answers.store(&mut cores);
        }
        let counts: Vec<_> =
            cores.checked.iter().map(|one| (one.cpu.0, one.operations, one.results, one.wrong)).collect();
        assert_eq!(counts, [(0, 240, 30, 0), (1, 240, 30, 2)]);
        let [wrong] = cores.wrong.as_slice() else { panic!("{:?}", cores.wrong) };
        let kept = (
            wrong.cpu.0,
            wrong.operands.as_str(),
            wrong.expected,
            wrong.found,
            wrong.repeats,
            wrong.wrong_repeats,
        );
        assert_eq!(kept, (1, "6 x 7", 42, 43, REPEATS, 0));
    }

    #[test]
    fn of_a_core_that_always_errs_some_are_kept_and_all_are_counted() {
        let mut answers = Answers::default();
        for _ in 0..100 {
            answers.count(CpuId(3), &KNOWN, 5, Some(Wrong { count: 5, found: 0 }), String::new, || 0);
        }
        let mut cores = Cores::default();
        answers.store(&mut cores);
        assert_eq!((cores.wrong.len(), cores.checked[0].wrong), (KEPT_MAX, 500));
        assert!(cores.wrong.iter().all(|one| one.wrong_repeats == one.repeats));
    }
}
