//! Lists the files of the folder at the root of the repository that bears the name of the crate, so that adding a flaw or a workload is
//! adding one file.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::Path;

fn main() {
    let here = env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it for build scripts");
    let name = env::var("CARGO_PKG_NAME").expect("cargo sets it for build scripts");
    let folder = Path::new(&here).join("../..").join(name);
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut names: Vec<String> = fs::read_dir(&folder)
        .expect("the repository has a folder of that name")
        .map(|entry| entry.expect("the folder can be listed").file_name().to_string_lossy().into_owned())
        .filter(|name| Path::new(name).extension().is_some_and(|extension| extension == "toml"))
        .collect();
    names.sort();
    let mut list = String::from("&[\n");
    for name in names {
        let path = folder.join(&name);
        println!("cargo::rerun-if-changed={}", path.display());
        let path = path.to_str().expect("rustc needs a path it can spell");
        writeln!(list, "    ({name:?}, include_str!({path:?})),").expect("writing to memory cannot fail");
    }
    list.push_str("]\n");
    let out = env::var_os("OUT_DIR").expect("cargo sets it for build scripts");
    fs::write(Path::new(&out).join("catalogue_files.rs"), list).expect("OUT_DIR is writable");
}
