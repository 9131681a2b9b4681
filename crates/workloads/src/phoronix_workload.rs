//! An installed profile of the Phoronix Test Suite as a workload: its launcher, its log, its number.

use crate::pts::{PtsError, PtsProfile};
use crate::{Metric, Workload};

/// Name of the log in `$SCRATCH`.
pub(crate) const LOG: &str = "phoronix.log";
/// What is assumed of a turn of a profile, which does not say: most take longer than our own workloads.
const SECONDS_A_TURN: f64 = 30.0;

impl Workload {
    /// A workload that runs the launcher of `profile` in the folder in which it is installed, with these choices of its options.
    /// `name` is that of the profile with its version: `stockfish-1.7.0`.
    ///
    /// # Errors
    /// There is no such option or entry.
    pub fn of_profile(
        profile: PtsProfile,
        name: &str,
        folder: &str,
        chosen: &[(&str, &str)],
    ) -> Result<Self, PtsError> {
        let arguments = profile.arguments(chosen)?;
        // The launcher of a profile expects these variables; it leaves its exit code in a file of its home.
        let command = format!(
            "cd {home} || exit 1
export HOME={home} LOG_FILE=\"$SCRATCH/{LOG}\" OS_TYPE=Linux NUM_CPU_CORES=$(nproc) NUM_CPU_JOBS=$(($(nproc) * 2))
export NUM_CPU_PHYSICAL_CORES=$(nproc)
rm -f test-exit-status
./{launcher} {arguments} 2>&1
code=$?
[ $code -ne 0 ] || [ ! -s test-exit-status ] || code=$(cat test-exit-status)
rm -f test-exit-status
exit $code",
            home = quoted(folder),
            launcher = quoted(profile.launcher(name)),
        );
        Ok(Self {
            id: format!("pts/{name}"),
            title: profile.title.clone(),
            suites: Vec::new(),
            group: "Phoronix profiles".to_owned(),
            article_row: None,
            debian: Vec::new(),
            fedora: Vec::new(),
            generate: None,
            command,
            server: None,
            seconds_a_turn: SECONDS_A_TURN,
            threads: None,
            stresses: vec![profile.kind.clone()],
            licence: profile.licence.clone(),
            control: false,
            why_noisy: None,
            metric: if profile.is_timed {
                Metric::Time
            } else {
                Metric::Phoronix { profile: Box::new(profile), arguments }
            },
        })
    }
}

/// A word of sh that means exactly this text.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Output;
    use crate::pts;

    #[test]
    fn an_installed_profile_runs_its_launcher_and_reads_its_log() {
        let definition =
            "<PhoronixTestSuite><TestInformation><Title>A</Title></TestInformation></PhoronixTestSuite>";
        let results = "<PhoronixTestSuite><ResultsParser><OutputTemplate>t #_RESULT_#</OutputTemplate>\
                       </ResultsParser></PhoronixTestSuite>";
        let profile = pts::read(definition, Some(results)).expect("a profile");
        let workload = Workload::of_profile(profile, "a-b-1.0.0", "/o'k", &[]).expect("no choices");
        assert_eq!(workload.id, "pts/a-b-1.0.0");
        assert!(workload.command.contains("cd '/o'\\''k' ") && workload.command.contains("./'a-b' "));
        assert_eq!(workload.metric.file(), Some(LOG));
        let read = |file: Option<&[u8]>, stdout: &[u8]| {
            workload.metric.read(&Output { stdout, file, ..Output::default() })
        };
        assert_eq!(read(Some(b"t 5\n"), b"t 6\n"), Ok(5.0));
        assert_eq!(read(None, b"t 6\n"), Ok(6.0), "a launcher may leave LOG_FILE alone");
        let none = read(Some(b"u 5\n"), b"").expect_err("no number").to_string();
        assert!(
            none.starts_with("no number where the metric looks for one in the log of the profile")
                && none.ends_with("\"u 5\""),
            "{none}"
        );
        let timed =
            "<PhoronixTestSuite><SystemMonitor><Sensor>sys.time</Sensor></SystemMonitor></PhoronixTestSuite>";
        let profile = pts::read(definition, Some(timed)).expect("a profile");
        let timed = Workload::of_profile(profile, "x", "/x", &[]).expect("no choices");
        assert!(matches!(timed.metric, Metric::Time) && timed.command.contains("./'x' "));
    }
}
