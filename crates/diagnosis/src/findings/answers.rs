//! Wrong results of loops whose answer is known.

use machine::CpuId;
use record::{Area, Finding, Record, Severity};

use super::finding;

/// Wrong results whose operands are named.
const NAMED: usize = 3;

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
        let mut finding = finding(Area::Cores, "wrong-results", Severity::Warning, text);
        let kept = record.cores.wrong.iter().filter(|one| one.cpu == cpu);
        finding.evidence = kept
            .take(NAMED)
            .map(|one| {
                let heat = one.temperature_c.map_or_else(String::new, |heat| format!(" at {heat:.0} °C"));
                let revision =
                    one.microcode.map_or_else(String::new, |revision| format!(", microcode {revision:#x}"));
                let elsewhere = one.elsewhere.map_or_else(String::new, |other| {
                    format!(", {} of {} on CPU {}", other.wrong, other.repeats, other.cpu)
                });
                format!(
                    "{} {} of {}: {} in place of {}{heat}{revision}, {}; {} of {} repeats wrong{elsewhere}",
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
            Some("the core, its caches, memory or its power supply err (silent data corruption)".to_owned());
        finding.remedy = Some(out_of_use(cpu));
        found.push(finding);
    }
    found.extend(scans(record));
}

/// In-field scans that failed.
fn scans(record: &Record) -> impl Iterator<Item = Finding> {
    let failed = record.machine.environment.field_scans.iter().filter(|scan| scan.status == "fail");
    failed.map(|scan| {
        let text = format!("The last in-field scan (intel_ifs_{}) failed", scan.device);
        let mut finding = finding(Area::Cores, "field-scan-failed", Severity::Warning, text);
        let facts = [("details", &scan.details), ("image", &scan.image_version)];
        finding.evidence =
            facts.into_iter().filter_map(|(name, fact)| Some(format!("{name} {}", fact.as_ref()?))).collect();
        finding.evidence.push("the kernel log names the CPU".to_owned());
        finding.remedy = Some(format!(
            "Scan that core again, as root: echo CPU > /sys/devices/virtual/misc/intel_ifs_{}/run_test",
            scan.device
        ));
        finding
    })
}

/// How to keep programs off a CPU.
fn out_of_use(cpu: CpuId) -> String {
    if cpu == CpuId(0) {
        // Linux has no switch for CPU 0 of x86 since 6.5, and before only where it was booted with `cpu0_hotplug`.
        return "Keep programs off CPU 0, at the next boot: isolcpus=0".to_owned();
    }
    format!("Take CPU {cpu} out of use, as root: echo 0 > /sys/devices/system/cpu/cpu{cpu}/online")
}

#[cfg(test)]
mod tests {
    use machine::FieldScan;
    use record::{CheckedLoop, RepeatsElsewhere, WrongResult};

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
            elsewhere: Some(RepeatsElsewhere { cpu: CpuId(0), repeats: 100, wrong: 0 }),
            microcode: Some(0x0a00_11d1),
            temperature_c: Some(81.2),
            at_utc: "2026-01-02T03:04:05Z".to_owned(),
        });
        let found = judged(&record);
        let [finding] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(finding.text, "CPU 1 computed 2 of 100 results wrong");
        assert_eq!(
            finding.evidence,
            [
                "loop avx2 of 6 x 7: 43 in place of 42 at 81 °C, microcode 0xa0011d1, 2026-01-02T03:04:05Z; \
                 5 of 100 repeats wrong, 0 of 100 on CPU 0",
                "the other CPUs: none wrong of 100"
            ]
        );
        let remedy = finding.remedy.as_deref().unwrap_or_default();
        assert!(remedy.ends_with("as root: echo 0 > /sys/devices/system/cpu/cpu1/online"), "{remedy}");
    }

    #[test]
    fn a_field_scan_that_failed_is_reported() {
        let mut record = Record::default();
        let scan = |status: &str| FieldScan { status: status.to_owned(), ..FieldScan::default() };
        record.machine.environment.field_scans = vec![scan("untested")];
        let judged = |record: &Record| {
            let mut found = Vec::new();
            judge(record, &mut found);
            found.into_iter().map(|one| one.text).collect::<Vec<_>>()
        };
        assert!(judged(&record).is_empty());
        record.machine.environment.field_scans.push(scan("fail"));
        assert_eq!(judged(&record), ["The last in-field scan (intel_ifs_0) failed"]);
    }
}
