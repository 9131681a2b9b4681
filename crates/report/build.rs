//! Packs the chart library that the page embeds: taken from the `plotly` crate while building, compressed, without
//! the typesetting library that the crate hands out with it, so that neither weighs on the binary.

use std::env;
use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::DeflateEncoder;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let sources = plotly::Plot::offline_js_sources();
    // The first script element is the chart library.
    let start = sources.find('>').expect("the crate hands out script elements") + 1;
    let end = sources.find("</script").expect("the crate closes its script elements");
    let mut packed = DeflateEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&sources.as_bytes()[start..end]).expect("writing to memory cannot fail");
    let packed = packed.finish().expect("writing to memory cannot fail");
    let directory = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR for build scripts");
    fs::write(Path::new(&directory).join("plotly.js.deflate"), packed).expect("OUT_DIR is writable");
}
