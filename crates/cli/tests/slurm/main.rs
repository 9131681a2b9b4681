//! Eight nodes of a real Slurm on loopback measure themselves, and what goes wrong on one harms no other.
//!
//! `cargo xtask fleet-test` runs it: it takes minutes, so `cargo test` leaves it out. It starts munge, slurmctld and eight slurmd in a
//! temporary folder and ends them again; of Debian it needs slurm-wlm and munge, and it is skipped by name without them.
#![forbid(unsafe_code)]

mod cluster;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::Value;

use cluster::{Cluster, NODES, output, script, sidestep};

/// A check-up that a loaded machine of two CPUs can do eight times at once.
const OPTIONS: &str = "--only cores --budget 5s --epochs 1";
/// Jobs and nodes that do not come to an end within that never do.
const PATIENCE: Duration = Duration::from_secs(60);
/// Slurm calls a node that never rebooted back in service: after 91 s where it was seen.
const REBOOT_PATIENCE: Duration = Duration::from_secs(150);
/// As `main` makes.
const CHECKS: usize = 8;

/// What each node does in the test of failures, as a script of bash with the node's name in `$n`; `run` measures.
const FAILURES: &str = r#"
set -u
n=$SLURMD_NODENAME
run=(sidestep run OPTIONS -q --drop DROP)
case $n in
n3) ulimit -f 4; exec "${run[@]}" ;;
n5) "${run[@]}" & sleep 1.5; kill -KILL $!; wait $! ;;
n6) "${run[@]}" & sleep 1.5; kill -TERM $!; wait $! ;;
n7) exec "${run[@]}" --onyl cores ;;
*) exec "${run[@]}" ;;
esac
"#;

/// Prints what held, and in the last line how much did; as `cargo xtask` counts.
fn main() -> anyhow::Result<ExitCode> {
    if let Some(program) = cluster::missing() {
        println!(
            "SKIPPED fleet-test: {program} is absent (apt-get install slurm-wlm munge)\n0 passed, 0 failed, 1 skipped"
        );
        return Ok(ExitCode::SUCCESS);
    }
    let begun = Instant::now();
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let mut failures = Vec::new();
    {
        let test = Test::start(folder.path())?;
        let mut check = |name: &str, result: anyhow::Result<()>| {
            println!("{name}: {} s", begun.elapsed().as_secs());
            failures.extend(result.err().map(|why| format!("{name}: {why:#}")));
        };
        check("every node leaves a record under its own name", test.all_measure());
        check("Slurm is asked to reboot a node, and nothing reboots", test.ask_for_reboot());
        check("a node that fails harms no other", test.some_fail());
        check("a cancelled job leaves what was measured", test.cancelled());
        check("documents of many nodes stay whole in one stream", test.documents());
        check("a plan measures every node once", test.planned());
        check("the health check drains the node that got worse alone", test.health());
        check("a node that Slurm calls rebooted shows its old boot", test.not_rebooted());
    }
    if !failures.is_empty() {
        println!("records and logs are in {}", folder.keep().display());
    }
    for line in &failures {
        println!("FAILED fleet-test: {line}");
    }
    println!("{} passed, {} failed, 0 skipped", CHECKS - failures.len(), failures.len());
    Ok(ExitCode::from(u8::from(!failures.is_empty())))
}

struct Test {
    folder: PathBuf,
    cluster: Cluster,
}

impl Test {
    fn start(folder: &Path) -> anyhow::Result<Self> {
        let norm = output(Command::new(sidestep()).args(["flaws", "--no-timing", "--json"]))?;
        fs::write(folder.join("norm.json"), &norm)?;
        fs::write(folder.join("better.json"), better(&norm)?)?;
        let health = folder.join("health.sh");
        let ready =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join("examples/fleet/slurm-health-check.sh");
        let (here, conf) = (folder.display(), folder.join("slurm.conf"));
        let path = sidestep().parent().map(Path::to_owned).unwrap_or_default();
        // slurmd runs it with an environment of its own.
        script(
            &health,
            &format!(
                "#!/bin/sh\nexport SLURM_CONF={} PATH={}:/usr/local/bin:/usr/bin:/bin\nexport SIDESTEP_GUARD={here}/none\n\
                 export SIDESTEP_NORM={here}/norm-$SLURMD_NODENAME.json\n[ -e \"$SIDESTEP_NORM\" ] || export SIDESTEP_NORM={here}/norm.json\n\
                 start=$(date +%s%N); {}; status=$?\necho \"$SLURMD_NODENAME $status $((($(date +%s%N) - start) / 1000000))\" >> {here}/health.log\nexit $status\n",
                conf.display(),
                path.display(),
                ready.display()
            ),
        )?;
        Ok(Self { folder: folder.to_owned(), cluster: Cluster::start(folder, &health)? })
    }

    fn drop(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// The rows of a table.
    fn rows(&self, drop: &str, table: &str) -> anyhow::Result<Vec<Value>> {
        let text = output(self.cluster.command("sidestep").args(["fleet", "rows", drop, "--table", table]))?;
        text.lines().map(|line| serde_json::from_str(line).context("a row is no JSON")).collect()
    }

    /// How the run of each node ended: whole, or why it is partial.
    fn ends(&self, drop: &str) -> anyhow::Result<BTreeMap<String, String>> {
        let word = |row: &Value, column: &str| row[column].as_str().map(str::to_owned);
        let rows = self.rows(drop, "nodes")?;
        Ok(rows
            .iter()
            .filter_map(|row| {
                Some((word(row, "node")?, word(row, "partial").unwrap_or_else(|| "whole".to_owned())))
            })
            .collect())
    }

    fn all_measure(&self) -> anyhow::Result<()> {
        let drop = self.drop("all");
        let options: Vec<&str> = OPTIONS.split(' ').collect();
        let words = [
            &["-N8", "--ntasks-per-node=1", "--no-kill", "--kill-on-bad-exit=0", "sidestep", "run"],
            &options[..],
            &["--drop", &drop],
        ]
        .concat();
        let printed = self.cluster.printed("srun", &words)?;
        let lines = printed.lines().filter(|line| line.starts_with("record n")).count();
        anyhow::ensure!(
            lines == NODES && printed.lines().count() == NODES,
            "{lines} lines of records: {printed}"
        );
        let rows = self.rows(&drop, "nodes")?;
        let names: Vec<&str> = rows.iter().filter_map(|row| row["node"].as_str()).collect();
        anyhow::ensure!(rows.len() == NODES, "{} records of nodes {names:?}", rows.len());
        for row in &rows {
            let whole = row["partial"].is_null() && row["engine"] == "slurm" && row["job"].is_string();
            anyhow::ensure!(whole && row["metrics"].as_u64() > Some(0), "{row}");
        }
        let others = files_below(Path::new(&drop))?;
        let strange =
            others.iter().find(|file| !file.ends_with(".json.zst") && !file.ends_with("serials.key"));
        anyhow::ensure!(strange.is_none(), "{strange:?} is in the drop directory");
        Ok(())
    }

    fn some_fail(&self) -> anyhow::Result<()> {
        let drop = self.drop("failures");
        let text = FAILURES.replace("OPTIONS", OPTIONS).replace("DROP", &drop);
        let file = self.folder.join("failures.sh");
        script(&file, &format!("#!/bin/bash\n{text}"))?;
        // Where the records of n2 should be there is a file: nothing can be written.
        let blocked = folder_of(&self.folder.join("all"), "n2")?;
        let blocked = Path::new(&drop).join(blocked);
        fs::create_dir_all(blocked.parent().context("it lies below the drop")?)?;
        fs::write(&blocked, "")?;
        let nodes = "--nodelist=n[1-7]";
        let done = self
            .cluster
            .command("srun")
            .args([
                "-N7",
                nodes,
                "--ntasks-per-node=1",
                "--no-kill",
                "--kill-on-bad-exit=0",
                &file.to_string_lossy(),
            ])
            .output()?;
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        anyhow::ensure!(!done.status.success(), "srun says that all went well");
        let ends = self.ends(&drop)?;
        let of = |node: &str| ends.get(node).map_or("absent", String::as_str);
        let whole = ["n1", "n4"].iter().all(|node| of(node) == "whole");
        anyhow::ensure!(whole, "nodes that did nothing wrong: {ends:?}");
        anyhow::ensure!(of("n5").contains("killed") && of("n6").contains("Terminate"), "{ends:?}");
        anyhow::ensure!(["n2", "n3", "n7"].iter().all(|node| of(node) == "absent"), "{ends:?}");
        for reason in ["cannot create", "cannot write", "--onyl"] {
            anyhow::ensure!(said.contains(reason), "{reason:?} is not said: {said}");
        }
        Ok(())
    }

    fn cancelled(&self) -> anyhow::Result<()> {
        let drop = self.drop("cancelled");
        let wrap = format!(
            "srun --ntasks-per-node=1 sidestep run --only cores --budget 60s --epochs 1 --drop {drop}"
        );
        let words = ["--parsable", "-N7", "--nodelist=n[1-7]", "--output=none", "--wrap", &wrap];
        let job = self.cluster.printed("sbatch", &words)?;
        let records = |_: &Cluster| files_below(Path::new(&drop)).is_ok_and(|files| files.len() == 7);
        self.cluster.wait_until("seven records that were begun", PATIENCE, records)?;
        self.cluster.printed("scancel", &[job.trim()])?;
        self.cluster.wait_for_jobs(PATIENCE)?;
        let ends = self.ends(&drop)?;
        let reported = |end: &String| end.contains("Terminate") || end.contains("killed");
        anyhow::ensure!(ends.len() == 7 && ends.values().all(reported), "{ends:?}");
        Ok(())
    }

    fn documents(&self) -> anyhow::Result<()> {
        let words = ["-N7", "--nodelist=n[1-7]", "--ntasks-per-node=1", "sidestep", "fleet", "rows"];
        let (drop, out) = (self.drop("all"), self.drop("rows-"));
        let output = format!("{out}%N");
        let each = format!("sidestep fleet rows {drop} -o {output} --json").replace("%N", "$SLURMD_NODENAME");
        let printed = self.cluster.printed("srun", &[&words[..3], &["sh", "-c", &each]].concat())?;
        let whole = printed.lines().filter(|line| serde_json::from_str::<Value>(line).is_ok()).count();
        anyhow::ensure!(
            whole == 7 && printed.lines().count() == 7,
            "{whole} of {} lines",
            printed.lines().count()
        );
        Ok(())
    }

    fn planned(&self) -> anyhow::Result<()> {
        let drop = self.drop("planned");
        let words = [
            &["fleet", "plan", "--engine", "slurm", "--nodes", "n[1-7]", "--drop", &drop, "--"],
            &OPTIONS.split(' ').collect::<Vec<_>>()[..],
        ]
        .concat();
        let plan = output(self.cluster.command("sidestep").args(words))?;
        let file = self.folder.join("plan.sh");
        script(&file, &plan)?;
        let said = output(&mut self.cluster.command(&file.to_string_lossy()))?;
        anyhow::ensure!(said.starts_with("7 nodes submitted, 0 skipped"), "{said}");
        self.cluster.wait_for_jobs(PATIENCE)?;
        let rows = self.rows(&drop, "nodes")?;
        let ends = self.ends(&drop)?;
        let once = rows.len() == 7 && ends.len() == 7 && ends.values().all(|end| end == "whole");
        anyhow::ensure!(once, "{} runs: {ends:?}", rows.len());
        Ok(())
    }

    fn health(&self) -> anyhow::Result<()> {
        // From now on n4 is measured against a norm that it does not reach.
        fs::copy(self.folder.join("better.json"), self.folder.join("norm-n4.json"))?;
        let state =
            |cluster: &Cluster| cluster.printed("sinfo", &["-h", "-N", "-o", "%N %T %E"]).unwrap_or_default();
        self.cluster.wait_until("drained node n4", PATIENCE, |cluster| {
            state(cluster).lines().any(|line| line.starts_with("n4 drained"))
        })?;
        let states = state(&self.cluster);
        let drained: Vec<&str> = states.lines().filter(|line| line.contains("sidestep:")).collect();
        anyhow::ensure!(drained.len() == 1, "{states}");
        println!("  {}", drained[0]);
        let log = fs::read_to_string(self.folder.join("health.log"))?;
        let fine: Vec<u64> = log
            .lines()
            .filter(|line| line.split(' ').nth(1) == Some("0"))
            .filter_map(|line| line.rsplit(' ').next()?.parse().ok())
            .collect();
        let slowest = fine.iter().max().context("no health check ended well")?;
        println!("  {} health checks without a fault, the slowest {slowest} ms", fine.len());
        Ok(())
    }

    fn ask_for_reboot(&self) -> anyhow::Result<()> {
        let words = ["reboot", "ASAP", "nextstate=RESUME", "reason=test", "n8"];
        self.cluster.printed("scontrol", &words)?;
        let asked = self.folder.join("reboots");
        self.cluster.wait_until("call of the reboot program", PATIENCE, |_| asked.exists())
    }

    fn not_rebooted(&self) -> anyhow::Result<()> {
        let begun = Instant::now();
        self.cluster.wait_until("idle node n8", REBOOT_PATIENCE, |cluster| {
            cluster
                .printed("sinfo", &["-h", "-N", "-n", "n8", "-o", "%T"])
                .is_ok_and(|state| state.trim() == "idle")
        })?;
        println!(
            "  Slurm calls n8 idle {} s after this step began; nothing rebooted",
            begun.elapsed().as_secs()
        );
        let drop = self.drop("all");
        let options: Vec<&str> = OPTIONS.split(' ').collect();
        let words = [&["-N1", "--nodelist=n8", "sidestep", "run"], &options[..], &["--drop", &drop]].concat();
        self.cluster.printed("srun", &words)?;
        let rows = self.rows(&drop, "nodes")?;
        let boots: Vec<&Value> =
            rows.iter().filter(|row| row["node"] == "n8").map(|row| &row["boot_id"]).collect();
        anyhow::ensure!(boots.len() == 2 && boots[0] == boots[1] && boots[0].is_string(), "{boots:?}");
        Ok(())
    }
}

/// A norm that is one flaw better than this machine.
fn better(norm: &str) -> anyhow::Result<String> {
    let mut document: Value = serde_json::from_str(norm)?;
    let flaws = document["flaws"].as_array_mut().context("the norm lists flaws")?;
    let open = flaws.iter_mut().find(|flaw| {
        flaw["affected"] == "yes"
            && ["not_protected", "partly", "on_request"].iter().any(|state| flaw["protected"] == *state)
    });
    let open = open.context("this machine has no flaw that a better one would be protected from")?;
    open["protected"] = "protected".into();
    Ok(document.to_string())
}

/// The folder of a node, below a drop directory that has it.
fn folder_of(drop: &Path, node: &str) -> anyhow::Result<PathBuf> {
    let files = files_below(drop)?;
    let file =
        files.iter().find(|file| file.contains(&format!("/{node}/"))).context("the node has a record")?;
    let folder = Path::new(file).parent().context("a record lies in a folder")?;
    Ok(folder.strip_prefix(drop)?.to_owned())
}

fn files_below(folder: &Path) -> anyhow::Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)?.filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else {
            files.push(path.display().to_string());
        }
    }
    Ok(files)
}
