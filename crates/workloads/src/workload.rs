//! One workload: a file of `workloads/`, as it is written.

use serde::Deserialize;

use crate::Metric;

/// The variable that names an empty folder for what a turn writes.
pub(crate) const SCRATCH: &str = "SCRATCH";

/// A list of workloads that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Suite {
    /// The rows of the application tables of the articles that this project began with.
    Article,
    /// What servers do.
    Server,
    /// What people wait for.
    Desktop,
    /// Numbers, in cores and in memory.
    Hpc,
    /// What the kernel does for programs.
    Kernel,
}

impl Suite {
    /// All suites.
    pub const ALL: [Self; 5] = [Self::Article, Self::Server, Self::Desktop, Self::Hpc, Self::Kernel];

    /// As it is typed.
    pub fn name(self) -> &'static str {
        ["article", "server", "desktop", "hpc", "kernel"][self as usize]
    }
}

/// A server that a command talks to. Each turn has its own, so that the settings of a process hold for both.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Becomes it, in the foreground: `exec` and its command line (sh).
    pub start: String,
    /// Succeeds once it answers (sh).
    pub ready: String,
}

/// One program to measure with.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Stable name, the file's name: `js-dom`.
    pub id: String,
    /// What it does, in one line.
    pub title: String,
    /// Where it belongs.
    pub suites: Vec<Suite>,
    /// Under which heading it stands in a table; an average over each group is shown.
    pub group: String,
    /// The row of an article for which it stands.
    #[serde(default)]
    pub article_row: Option<String>,
    /// Debian packages that it requires.
    #[serde(default)]
    pub debian: Vec<String>,
    /// The same of Fedora.
    #[serde(default)]
    pub fedora: Vec<String>,
    /// Makes its input in the current folder (sh): always the same bytes, without a network.
    #[serde(default)]
    pub generate: Option<String>,
    /// One turn (sh), in the folder of the input, which it leaves as it is; what it writes goes to `$SCRATCH`.
    pub command: String,
    /// What must run beside the command.
    #[serde(default)]
    pub server: Option<Server>,
    /// What is measured.
    #[serde(default)]
    pub metric: Metric,
    /// Seconds of a turn on a current machine.
    pub seconds_a_turn: f64,
    /// Threads that it keeps busy; one for each CPU that it may use where none is named.
    #[serde(default)]
    pub threads: Option<u16>,
    /// Parts of a machine on which its time depends, the most important first.
    pub stresses: Vec<String>,
    /// Licence of the program.
    pub licence: String,
    /// True where a mitigation in memory or kernel cannot move it.
    #[serde(default)]
    pub control: bool,
    /// Why turns differ by more than 3 % in CPU time, where they do.
    #[serde(default)]
    pub why_noisy: Option<String>,
}

impl Workload {
    /// One turn as a script for `sh -c`: the server if there is one, the command, and an end that leaves nothing running.
    pub fn script(&self) -> String {
        let Self { command, .. } = self;
        let Some(Server { start, ready }) = &self.server else { return command.clone() };
        // Its end is waited for, so that the kernel adds its CPU time to that of the turn.
        format!(
            "({start}) >\"${SCRATCH}/server.log\" 2>&1 & server=$!
trap 'kill $server 2>/dev/null; wait $server' EXIT
tries=0
until ({ready}) >/dev/null 2>&1; do
  tries=$((tries + 1))
  if [ $tries -gt 200 ] || ! kill -0 $server 2>/dev/null; then
    echo \"the server does not answer: $(tail -n 1 \"${SCRATCH}/server.log\")\" >&2; exit 1
  fi
  sleep 0.05
done
{command}"
        )
    }

    /// What makes two inputs the same: a number of the script that generates them, FNV-1a of 64 bits; `None` without input.
    /// Source: RFC draft-eastlake-fnv, section 5.
    pub fn input_hash(&self) -> Option<u64> {
        const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
        const PRIME: u64 = 0x0000_0100_0000_01b3;
        let script = self.generate.as_ref()?;
        Some(script.bytes().fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME)))
    }

    /// Packages of a family of distributions.
    pub fn packages(&self, is_fedora: bool) -> &[String] {
        if is_fedora { &self.fedora } else { &self.debian }
    }
}
