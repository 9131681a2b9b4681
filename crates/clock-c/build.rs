//! Names the shared library, so that programs ask for a version of it, however they were linked, and keeps it loaded once its
//! thread runs in it.

fn main() {
    let version = std::env::var("CARGO_PKG_VERSION_MAJOR").expect("cargo sets it for build scripts");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libsidestep_clock.so.{version}");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo::rerun-if-changed=build.rs");
}
