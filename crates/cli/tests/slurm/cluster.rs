//! A Slurm of eight nodes on this machine: munge, a controller and eight slurmd on loopback, ended with the test.

use std::fmt::Write;
use std::fs;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;

/// Nodes n1 to n8.
pub(super) const NODES: usize = 8;
/// Daemons that are not up by then never will be.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is looked.
const NAP: Duration = Duration::from_millis(200);
/// Programs that are needed.
const PROGRAMS: [&str; 7] = ["munged", "slurmctld", "slurmd", "srun", "sbatch", "scancel", "scontrol"];
/// Daemons lie where a user's search path may not lead.
const DAEMON_FOLDERS: &str = "/usr/local/sbin:/usr/sbin:/sbin";

/// The running cluster.
pub(super) struct Cluster {
    folder: PathBuf,
    daemons: Vec<Child>,
}

/// The program that is absent here, if one is.
pub(super) fn missing() -> Option<&'static str> {
    PROGRAMS.into_iter().find(|name| program(name).is_none())
}

/// The release build of the program.
pub(super) fn sidestep() -> PathBuf {
    std::env::var_os("SIDESTEP_PROGRAM").expect("cargo xtask fleet-test names the program").into()
}

/// What a command prints.
pub(super) fn output(command: &mut Command) -> anyhow::Result<String> {
    let done =
        command.output().with_context(|| format!("cannot start {}", command.get_program().display()))?;
    anyhow::ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr).trim());
    Ok(String::from_utf8(done.stdout)?)
}

fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

fn program(name: &str) -> Option<PathBuf> {
    let daemon =
        std::env::split_paths(DAEMON_FOLDERS).map(|folder| folder.join(name)).find(|file| file.is_file());
    find(name).or(daemon)
}

impl Cluster {
    /// Starts it in a folder; `health` is its HealthCheckProgram.
    pub(super) fn start(folder: &Path, health: &Path) -> anyhow::Result<Self> {
        for name in ["munge", "state", "log", "spool"] {
            fs::create_dir_all(folder.join(name)).context("cannot make the folders of Slurm")?;
        }
        fs::write(folder.join("slurm.conf"), configuration(folder, health)?)
            .context("cannot write slurm.conf")?;
        let stub = folder.join("reboot.sh");
        // The machine under all nodes is this one: it does not reboot.
        script(&stub, &format!("#!/bin/sh\necho \"$*\" >> {}/reboots\n", folder.display()))?;
        let mut cluster = Self { folder: folder.to_owned(), daemons: Vec::new() };
        cluster.start_munge()?;
        cluster.daemon("slurmctld", &["-D", "-i"])?;
        for node in 1..=NODES {
            fs::create_dir_all(folder.join(format!("spool/n{node}")))?;
            cluster.daemon("slurmd", &["-D", "-N", &format!("n{node}")])?;
        }
        cluster.wait_until("eight idle nodes", PATIENCE, |cluster| {
            let states = cluster.printed("sinfo", &["-h", "-N", "-o", "%N %T"]).unwrap_or_default();
            states.lines().filter(|line| line.ends_with(" idle")).count() == NODES
        })?;
        Ok(cluster)
    }

    fn start_munge(&mut self) -> anyhow::Result<()> {
        let munge = self.folder.join("munge");
        // Nobody else is to be kept out of this cluster: a key of 128 digits that munge takes is enough.
        let key = format!("{:0>128}", std::process::id());
        fs::write(munge.join("key"), key)?;
        output(Command::new("chmod").args(["600", &munge.join("key").to_string_lossy()]))?;
        output(Command::new("chmod").args(["755", &munge.to_string_lossy()]))?;
        let file = |name: &str| munge.join(name).display().to_string();
        let options = [
            "--foreground".to_owned(),
            "--force".to_owned(),
            format!("--key-file={}", file("key")),
            format!("--socket={}", file("socket")),
            format!("--pid-file={}", file("pid")),
            format!("--log-file={}", file("log")),
            format!("--seed-file={}", file("seed")),
        ];
        self.daemon("munged", &options.each_ref().map(String::as_str))?;
        let socket = munge.join("socket");
        self.wait_until("munge", PATIENCE, |_| socket.exists())
    }

    fn daemon(&mut self, name: &str, arguments: &[&str]) -> anyhow::Result<()> {
        let program = program(name).with_context(|| format!("{name} is absent"))?;
        let log = fs::File::create(self.folder.join(format!("log/{name}-{}.out", self.daemons.len())))?;
        let mut command = self.command(&program.to_string_lossy());
        command.args(arguments).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        self.daemons.push(command.spawn().with_context(|| format!("cannot start {name}"))?);
        Ok(())
    }

    /// A program that knows this cluster, and finds the release build of sidestep first.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let binary = sidestep();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let own = binary.parent().map(Path::to_owned);
        let folders = own.into_iter().chain(std::env::split_paths(&path));
        command.env("SLURM_CONF", self.folder.join("slurm.conf"));
        command.env("PATH", std::env::join_paths(folders).unwrap_or(path)).current_dir(&self.folder);
        command
    }

    /// What a program prints, whatever its exit code.
    pub(super) fn printed(&self, program: &str, arguments: &[&str]) -> anyhow::Result<String> {
        let done = self
            .command(program)
            .args(arguments)
            .output()
            .with_context(|| format!("cannot start {program}"))?;
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    }

    /// Waits until something holds.
    ///
    /// # Errors
    /// It does not within `patience`.
    pub(super) fn wait_until(
        &self,
        what: &str,
        patience: Duration,
        holds: impl Fn(&Self) -> bool,
    ) -> anyhow::Result<()> {
        let begun = Instant::now();
        while !holds(self) {
            anyhow::ensure!(
                begun.elapsed() < patience,
                "no {what} after {} s; logs are in {}/log",
                patience.as_secs(),
                self.folder.display()
            );
            thread::park_timeout(NAP);
        }
        Ok(())
    }

    /// Waits until no job is left.
    pub(super) fn wait_for_jobs(&self, patience: Duration) -> anyhow::Result<()> {
        self.wait_until("end of the jobs", patience, |cluster| {
            cluster.printed("squeue", &["-h"]).is_ok_and(|jobs| jobs.trim().is_empty())
        })
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.printed("scancel", &["--state=RUNNING,PENDING,SUSPENDED", "--partition=all"]);
        let _ = self.wait_for_jobs(Duration::from_secs(10));
        // munge last: the others need it to end in peace.
        for daemon in self.daemons.iter_mut().rev() {
            let _ = Command::new("kill").arg(daemon.id().to_string()).status();
            let ended = Instant::now() + Duration::from_secs(5);
            while matches!(daemon.try_wait(), Ok(None)) && Instant::now() < ended {
                thread::park_timeout(NAP);
            }
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

/// Writes a script that may be executed.
pub(super) fn script(path: &Path, text: &str) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

/// A port that nobody has at this moment.
fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("loopback cannot be listened on")?;
    Ok(listener.local_addr()?.port())
}

/// slurm.conf: everything on loopback, two CPUs a node whatever this machine has.
fn configuration(folder: &Path, health: &Path) -> anyhow::Result<String> {
    let host = output(Command::new("uname").arg("-n"))?;
    let user = output(Command::new("id").arg("-un"))?;
    let (host, user, here) = (host.trim(), user.trim(), folder.display());
    let mut text = format!(
        "ClusterName=fleet\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\nSlurmUser={user}\nSlurmdUser={user}\n\
         AuthType=auth/munge\nAuthInfo=socket={here}/munge/socket\nCredType=cred/munge\n\
         StateSaveLocation={here}/state\nSlurmdSpoolDir={here}/spool/%n\nSlurmctldPidFile={here}/log/slurmctld.pid\n\
         SlurmdPidFile={here}/log/slurmd-%n.pid\nSlurmctldLogFile={here}/log/slurmctld.log\n\
         SlurmdLogFile={here}/log/slurmd-%n.log\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
         JobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\n\
         SelectType=select/linear\nSchedulerType=sched/backfill\nReturnToService=2\nSlurmdParameters=config_overrides\n\
         MpiDefault=none\nSwitchType=switch/none\nSlurmctldTimeout=30\nSlurmdTimeout=30\nKillWait=10\n\
         RebootProgram={here}/reboot.sh\nSlurmctldParameters=reboot_from_controller\n\
         HealthCheckProgram={}\nHealthCheckInterval=5\nHealthCheckNodeState=ANY\n",
        free_port()?,
        health.display()
    );
    for node in 1..=NODES {
        writeln!(
            text,
            "NodeName=n{node} NodeHostname={host} NodeAddr=127.0.0.1 Port={} CPUs=2 RealMemory=500 State=UNKNOWN",
            free_port()?
        )?;
    }
    text.push_str("PartitionName=all Nodes=n[1-8] Default=YES MaxTime=INFINITE State=UP\n");
    Ok(text)
}
