//! Records: who measures, when and how; the page, document and verdict of one; and what a command that measures one thing keeps, which
//! `show`, `compare` and the report open like the record of a check-up.

use std::env;
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use host::live;
use machine::{CpuId, CpuSet, Machine};
use models::interconnect::SocketAccount;
use record::{Provenance, Record, SCHEMA, Severity};
use report::{Page, shell_word};

use crate::options::Global;
use crate::outcome::Outcome;
use crate::store::Folder;
use crate::{output, recording};

/// The folder of --record, made before anything is measured.
pub(crate) struct Recording {
    folder: Folder,
    started: Instant,
}

impl Recording {
    /// Nothing, if no folder was asked for.
    ///
    /// # Errors
    /// A folder that cannot be made or holds a run already.
    pub(crate) fn begin(asked: Option<&Path>) -> anyhow::Result<Option<Self>> {
        let begin =
            |folder| Ok(Self { folder: Folder::create(Some(folder), false)?, started: Instant::now() });
        asked.map(begin).transpose()
    }

    /// What `measure` gives; if that is an error, the folder goes unless something is in it.
    pub(crate) fn clearing_up<T>(
        recording: Option<&Self>,
        measure: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        measure().inspect_err(|_| {
            if let Some(recording) = recording {
                recording.folder.remove_if_empty();
            }
        })
    }

    /// Prints what was found, and keeps it if that was asked for: first, as whoever reads the text may go away.
    ///
    /// # Errors
    /// A folder or a stdout that cannot be written; one of them does not keep from the other.
    pub(crate) fn finish(
        recording: Option<&Self>,
        record: impl FnOnce() -> Record,
        text: &str,
        global: &Global,
    ) -> anyhow::Result<()> {
        let Some(recording) = recording else { return output::print(text) };
        let kept = recording.keep(record()).inspect_err(|_| recording.folder.remove_if_empty());
        let printed = output::print(text);
        kept?;
        printed?;
        if !global.json && !global.quiet {
            let (record, report) = (recording.folder.record_path(), recording.folder.report_path());
            output::print_lines(&format!("\nrecord  {}\nreport  {}\n", record.display(), report.display()))?;
        }
        Ok(())
    }

    /// Judges the record and writes it with its report.
    fn keep(&self, mut record: Record) -> anyhow::Result<()> {
        diagnosis::diagnose(&mut record);
        record.elapsed_s = self.started.elapsed().as_secs_f64();
        let page = recording::page(&record, &self.folder.record_path()).html();
        let written = self.folder.write_record(&record).and_then(|()| self.folder.write_report(&page));
        written.inspect_err(|_| self.folder.remove_if_empty())
    }
}

/// A record of this machine, or of a recorded one, without results.
pub(crate) fn begun(machine: Machine, cpus: &[CpuId], budget_s: f64) -> Record {
    let provenance = recording::provenance(&machine, cpus, recording::seed_of_now(), budget_s);
    Record { schema: SCHEMA, provenance, machine, ..Record::default() }
}

/// The page of a record that lies there.
pub(crate) fn page(record: &Record, path: &Path) -> Page {
    let path = shell_word(&path.to_string_lossy());
    report::check_up_page(record, Some(&path), socket_account(record).as_ref())
}

/// What the models make of a record's sockets, if it has any.
pub(crate) fn socket_account(record: &Record) -> Option<SocketAccount> {
    let sockets = record.sockets.as_ref()?;
    Some(diagnosis::socket_account(sockets, Some(&record.machine)))
}

/// What `--gate` and `--strict` make of a record.
pub(crate) fn verdict(record: &Record, global: &Global) -> Outcome {
    let has = |severity| record.findings.iter().any(|finding| finding.severity == severity);
    Outcome::judged(global, has(Severity::Warning), has(Severity::Inconclusive))
}

/// Who measures, when and how, without the host's name.
pub(crate) fn provenance(machine: &Machine, cpus: &[CpuId], seed: u64, budget_s: f64) -> Provenance {
    let root = live::effective_root();
    let mut without = machine.missing.clone();
    if !root {
        without.push("not root: no reserved huge pages, no registers".to_owned());
    }
    Provenance {
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        arguments: env::args().skip(1).map(|argument| record::shareable_argument(&argument)).collect(),
        started_utc: live::utc_now(),
        seed,
        boot_id: live::boot_id(),
        kernel_set: Some(kernels::KERNEL_SET),
        cpus: cpus.iter().copied().collect(),
        budget_s,
        root,
        without,
        ..Provenance::default()
    }
}

/// The CPUs asked for, all of which must be usable; else all that may be used.
pub(crate) fn chosen_cpus(machine: &Machine, asked: Option<&CpuSet>) -> anyhow::Result<Vec<CpuId>> {
    let allowed = live::allowed_cpus();
    let allowed = if allowed.is_empty() { machine.topology.allowed.clone() } else { allowed };
    let Some(asked) = asked else {
        return Ok(allowed.iter().collect());
    };
    anyhow::ensure!(!asked.is_empty(), "--cpus names no CPU; choose among {allowed}");
    let missing = asked.difference(&allowed);
    anyhow::ensure!(missing.is_empty(), "CPU {missing} may not be used here; choose among {allowed}");
    Ok(asked.iter().collect())
}

/// A seed that differs from run to run.
pub(crate) fn seed_of_now() -> u64 {
    // Any number will do; the record keeps it, and --seed repeats it.
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(1, |time| u64::from(time.subsec_nanos()) | time.as_secs() << 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_that_may_not_be_used_are_named_with_those_that_may() {
        let error = chosen_cpus(&Machine::default(), Some(&"16000".parse().expect("a list")))
            .expect_err("no such CPU");
        assert!(error.to_string().contains("choose among"), "{error}");
    }
}
