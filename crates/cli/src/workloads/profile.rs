//! A profile of the Phoronix Test Suite in the folder in which its user installed it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use workloads::{Workload, pts};

/// The two files of a profile.
const DEFINITION: &str = "test-definition.xml";
const RESULTS: &str = "results-definition.xml";

/// The workload of an installed profile. The suite keeps the files of a profile beside what it installed, as
/// `test-profiles/pts/NAME` and `installed-tests/pts/NAME`; a folder that holds both is taken as well.
///
/// # Errors
/// A folder without a profile or its launcher, a file that is none, a choice that it does not have.
pub(crate) fn installed(folder: &Path, chosen: &[(String, String)]) -> anyhow::Result<Workload> {
    let shown = folder.display();
    let folder = fs::canonicalize(folder).with_context(|| format!("cannot use --pts {shown}"))?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let files = files(&folder).with_context(|| {
        format!(
            "--pts {shown} has no {DEFINITION}, and no test-profiles beside it has; name an installed profile"
        )
    })?;
    let text = |file: &str| fs::read_to_string(files.join(file));
    let definition = text(DEFINITION).with_context(|| format!("cannot read {DEFINITION} of {shown}"))?;
    let profile =
        pts::read(&definition, text(RESULTS).ok().as_deref()).with_context(|| format!("--pts {shown}"))?;
    if let Some(why) = profile.rehearse().first() {
        anyhow::bail!("--pts {shown}: this profile is not understood: {why}");
    }
    let chosen: Vec<(&str, &str)> = chosen.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let path = folder.to_str().with_context(|| format!("the name of {shown} is not UTF-8"))?;
    let launcher = profile.launcher(&name).to_owned();
    let workload = Workload::of_profile(profile, &name, path, &chosen)?;
    anyhow::ensure!(
        folder.join(&launcher).is_file(),
        "--pts {shown} has no launcher {launcher}; install it with phoronix-test-suite install {name}"
    );
    Ok(workload)
}

/// Where the files of a profile lie.
fn files(folder: &Path) -> Option<PathBuf> {
    let parent = folder.parent()?;
    let beside =
        parent.parent()?.parent()?.join("test-profiles").join(parent.file_name()?).join(folder.file_name()?);
    [folder.to_owned(), beside].into_iter().find(|place| place.join(DEFINITION).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_lies_in_its_folder_or_beside_what_is_installed() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let installed_at = home.path().join("installed-tests/pts/sieve-1.0.0");
        let profile = home.path().join("test-profiles/pts/sieve-1.0.0");
        fs::create_dir_all(&installed_at).expect("writable");
        let none = installed(&installed_at, &[]).expect_err("no profile").to_string();
        assert!(none.contains("has no test-definition.xml"), "{none}");
        fs::create_dir_all(&profile).expect("writable");
        let definition =
            "<PhoronixTestSuite><TestInformation><Title>Sieve</Title></TestInformation></PhoronixTestSuite>";
        fs::write(profile.join(DEFINITION), definition).expect("writable");
        let none = installed(&installed_at, &[]).expect_err("no results").to_string();
        assert!(none.contains("not understood: it has no results-definition.xml"), "{none}");
        let results = "<PhoronixTestSuite><ResultsParser><OutputTemplate>t #_RESULT_#</OutputTemplate>\
                       </ResultsParser></PhoronixTestSuite>";
        fs::write(profile.join(RESULTS), results).expect("writable");
        let none = installed(&installed_at, &[]).expect_err("no launcher").to_string();
        assert!(
            none.ends_with("has no launcher sieve; install it with phoronix-test-suite install sieve-1.0.0"),
            "{none}"
        );
        fs::write(installed_at.join("sieve"), "").expect("writable");
        assert_eq!(installed(&installed_at, &[]).expect("a profile").id, "pts/sieve-1.0.0");
        let none =
            installed(&installed_at, &[("a".to_owned(), "b".to_owned())]).expect_err("no option").to_string();
        assert!(none.contains("no option a"), "{none}");
    }
}
