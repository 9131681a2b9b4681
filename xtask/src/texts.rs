//! The text files of the repository, which rules look at.

use std::path::Path;

use anyhow::Context;

/// Folders that hold no text of ours; run folders of a check-up in the root count as well.
const FOREIGN_NAMES: &[&str] = &[".git", "target"];

/// All text files below `root` as (path from `root`, text), sorted; files that are not UTF-8 are pictures or archives.
///
/// # Errors
/// A folder cannot be listed.
pub fn texts(root: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries =
            std::fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))?;
        for entry in entries {
            let path = entry.context("cannot list a folder")?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_symlink() || FOREIGN_NAMES.contains(&&*name) || is_run_folder(&name) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                let inside = path.strip_prefix(root).expect("the walk began at the root");
                found.push((inside.to_string_lossy().into_owned(), text));
            }
        }
    }
    found.sort();
    Ok(found)
}

fn is_run_folder(name: &str) -> bool {
    name.starts_with("sidestep-") && name.ends_with('Z')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_folders_are_not_ours() {
        assert!(is_run_folder("sidestep-20260101T000000Z"));
        assert!(!is_run_folder("sidestep-notes"));
    }
}
