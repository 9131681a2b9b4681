//! Wrong results of loops whose answer is known.

use record::{Finding, Record, Severity};

use super::finding;

/// Wrong results whose operands are told.
const TOLD: usize = 3;

pub(super) fn judge(record: &Record, found: &mut Vec<Finding>) {
    let mut cpus: Vec<_> =
        record.cores.checked.iter().filter(|one| one.wrong > 0).map(|one| one.cpu).collect();
    cpus.sort_unstable();
    cpus.dedup();
    for cpu in cpus {
        let of_cpu = || record.cores.checked.iter().filter(|one| one.cpu == cpu);
        let (wrong, results) =
            of_cpu().fold((0, 0), |(wrong, all), one| (wrong + one.wrong, all + one.results));
        let text = format!("CPU {cpu} computed {wrong} of {results} results wrong");
        let mut finding = finding("wrong-results", Severity::Warning, text);
        let kept = record.cores.wrong.iter().filter(|one| one.cpu == cpu);
        finding.evidence = kept
            .take(TOLD)
            .map(|one| {
                let heat = one.temperature_c.map_or_else(String::new, |heat| format!(" at {heat:.0} °C"));
                format!(
                    "{} {} of {}: {} in place of {}{heat}, {}; {} of {} repeats wrong",
                    one.kernel,
                    one.isa,
                    one.operands,
                    one.found,
                    one.expected,
                    one.at_utc,
                    one.wrong_repeats,
                    one.repeats
                )
            })
            .collect();
        let others = record.cores.checked.iter().filter(|one| one.cpu != cpu);
        let clean: u64 = others.filter(|one| one.wrong == 0).map(|one| one.results).sum();
        if clean > 0 {
            finding.evidence.push(format!("the other CPUs: none wrong of {clean}"));
        }
        finding.mechanism =
            Some("the core, its registers or its power supply err (silent data corruption)".to_owned());
        finding.remedy = Some(format!(
            "take CPU {cpu} out of use (echo 0 > /sys/devices/system/cpu/cpu{cpu}/online), keep this record, and screen the machine with OpenDCDiag"
        ));
        found.push(finding);
    }
}

#[cfg(test)]
mod tests {
    use machine::CpuId;
    use record::{CheckedLoop, WrongResult};

    use super::*;

    #[test]
    fn a_cpu_that_computes_wrong_is_named_with_its_operands_and_a_sound_machine_says_nothing() {
        let checked = |cpu, wrong| CheckedLoop {
            cpu: CpuId(cpu),
            kernel: "loop".to_owned(),
            isa: "avx2".to_owned(),
            operations: 800,
            results: 100,
            wrong,
        };
        let judged = |record: &Record| {
            let mut found = Vec::new();
            judge(record, &mut found);
            found
        };
        let mut record = Record::default();
        record.cores.checked = vec![checked(0, 0), checked(1, 0)];
        assert!(judged(&record).is_empty());
        record.cores.checked[1].wrong = 2;
        record.cores.wrong.push(WrongResult {
            cpu: CpuId(1),
            kernel: "loop".to_owned(),
            isa: "avx2".to_owned(),
            operands: "6 x 7".to_owned(),
            expected: 42,
            found: 43,
            repeats: 100,
            wrong_repeats: 5,
            temperature_c: Some(81.2),
            at_utc: "2026-01-02T03:04:05Z".to_owned(),
        });
        let found = judged(&record);
        let [finding] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(finding.text, "CPU 1 computed 2 of 100 results wrong");
        assert_eq!(
            finding.evidence,
            [
                "loop avx2 of 6 x 7: 43 in place of 42 at 81 °C, 2026-01-02T03:04:05Z; 5 of 100 repeats wrong",
                "the other CPUs: none wrong of 100"
            ]
        );
    }
}
