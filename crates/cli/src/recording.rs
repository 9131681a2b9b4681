//! What a command that measures one thing found, kept as a record that `show`, `compare` and the report open like that of a check-up.

use std::path::Path;
use std::time::Instant;

use machine::{CpuId, Machine};
use record::{Record, SCHEMA};

use crate::global::Global;
use crate::output;
use crate::provenance;
use crate::record_page;
use crate::store::Folder;

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
    pub(crate) fn begin(wanted: Option<&Path>) -> anyhow::Result<Option<Self>> {
        let begin =
            |wanted| Ok(Self { folder: Folder::create(Some(wanted), false)?, started: Instant::now() });
        wanted.map(begin).transpose()
    }

    /// What `measure` gives; if that is an error, the folder goes unless something is in it.
    pub(crate) fn around<T>(
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
        let page = record_page::page(&record, &self.folder.record_path()).html();
        let written = self.folder.write_record(&record).and_then(|()| self.folder.write_report(&page));
        written.inspect_err(|_| self.folder.remove_if_empty())
    }
}

/// A record of this machine, or of a recorded one, without results.
pub(crate) fn begun(machine: Machine, cpus: &[CpuId], budget_s: f64) -> Record {
    let provenance = provenance::provenance(&machine, cpus, provenance::seed_of_now(), budget_s);
    Record { schema: SCHEMA, provenance, machine, ..Record::default() }
}
