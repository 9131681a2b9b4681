//! Many texts one after the other: a file, every file below a folder, or every file of a tarball.
//!
//! Nothing is kept: a tarball of a hundred thousand reports passes through one buffer.

use std::io::{self, Read};
use std::path::Path;

use super::{Look, RootError, archive, store};

/// The most bytes of one text; a report of `lscpu` has about 3 KiB, /proc/cpuinfo of 1,024 CPUs 2 MiB.
const TEXT_BYTES_MAX: u64 = 4 << 20;
/// The most bytes of a tarball, unpacked: half a million reports.
const UNPACKED_BYTES_MAX: u64 = 2 << 30;
/// Folders deeper than this are not entered.
const DEPTH_MAX: usize = 32;

/// Hands each text with its name to `take`, that of a pipe too, and of standard input as `-`; UTF-16 with its mark is decoded, broken
/// letters are replaced. Links are not followed.
///
/// # Errors
/// The path is not there, or the tarball breaks off; a file that cannot be read is handed over as the reason.
pub fn each_text(path: &Path, take: &mut dyn FnMut(&str, Result<String, String>)) -> Result<(), RootError> {
    let unreadable = |source| RootError::NoText { path: path.to_owned(), source };
    if path == Path::new("-") {
        take("standard input", bounded(std::io::stdin().lock()).map_err(&unreadable)?);
        return Ok(());
    }
    let metadata = std::fs::metadata(path).map_err(&unreadable)?;
    if metadata.is_dir() {
        std::fs::read_dir(path).map_err(&unreadable)?;
        below(path, 0, take);
        return Ok(());
    }
    if !metadata.is_file() {
        // A pipe, such as `<(ssh host lscpu)` of a shell, gives its text once and cannot be looked at before.
        let file = std::fs::File::open(path).map_err(&unreadable)?;
        take(&path.to_string_lossy(), bounded(file).map_err(&unreadable)?);
        return Ok(());
    }
    match archive::decoded(path) {
        Ok(decoded) => unpack(path, decoded, take),
        Err(RootError::NotAnArchive { .. }) => {
            one(path, take);
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// The first bytes of a file or pipe that is named on the command line, or of standard input as `-`.
pub(crate) fn start_of(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        std::io::stdin().lock().take(bytes_max).read_to_end(&mut bytes)?;
    } else {
        std::fs::File::open(path)?.take(bytes_max).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

fn below(path: &Path, depth: usize, take: &mut dyn FnMut(&str, Result<String, String>)) {
    for name in store::names(path) {
        let inside = path.join(name);
        match store::look(&inside) {
            Look::Directory if depth < DEPTH_MAX => below(&inside, depth + 1, take),
            Look::File => one(&inside, take),
            Look::Directory | Look::Link(_) | Look::Missing => {}
        }
    }
}

fn one(path: &Path, take: &mut dyn FnMut(&str, Result<String, String>)) {
    let text = store::read_file(path).and_then(|bytes| bounded(bytes.as_slice()));
    take(&path.to_string_lossy(), text.unwrap_or_else(|error| Err(error.to_string())));
}

fn unpack(
    path: &Path,
    decoded: impl Read,
    take: &mut dyn FnMut(&str, Result<String, String>),
) -> Result<(), RootError> {
    let damaged = |error: io::Error| RootError::damaged(path, &error);
    let mut tarball = tar::Archive::new(decoded.take(UNPACKED_BYTES_MAX));
    for entry in tarball.entries().map_err(damaged)? {
        let entry = entry.map_err(damaged)?;
        if entry.header().entry_type().is_file() {
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            take(&name, bounded(entry).map_err(damaged)?);
        }
    }
    Ok(())
}

/// A whole text, or why it is none.
fn bounded(from: impl Read) -> io::Result<Result<String, String>> {
    let mut bytes = Vec::new();
    from.take(TEXT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    let is_whole = bytes.len() as u64 <= TEXT_BYTES_MAX;
    Ok(if is_whole { decoded_text(&bytes) } else { Err("it is longer than 4 MiB".to_owned()) })
}

/// The letters of a text: of UTF-16 where a byte order mark says so, as PowerShell writes it.
fn decoded_text(bytes: &[u8]) -> Result<String, String> {
    let wide = |unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xff, 0xfe, ..] => Ok(wide(u16::from_le_bytes)),
        [0xfe, 0xff, ..] => Ok(wide(u16::from_be_bytes)),
        _ if bytes.contains(&0) => Err("it has NUL bytes, so it is no text".to_owned()),
        _ => Ok(String::from_utf8_lossy(bytes).trim_start_matches('\u{feff}').to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_folders_and_tarballs_hand_over_the_same_texts() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let reports = folder.path().join("reports");
        std::fs::create_dir_all(reports.join("b")).expect("folders");
        std::fs::write(reports.join("a.txt"), "one").expect("a file");
        std::fs::write(reports.join("b/c.txt"), [b't', 0xff]).expect("a file");
        let tarball = folder.path().join("reports.tar");
        let mut builder = tar::Builder::new(std::fs::File::create(&tarball).expect("a file"));
        builder.append_dir_all("reports", &reports).expect("a tarball");
        builder.finish().expect("a tarball");
        let texts = |path: &Path| {
            let mut found = Vec::new();
            each_text(path, &mut |_, text| found.push(text)).expect("readable");
            found.sort();
            found
        };
        let both = vec![Ok("one".to_owned()), Ok("t\u{fffd}".to_owned())];
        assert_eq!(texts(&reports), both);
        assert_eq!(texts(&tarball), both);
        assert_eq!(texts(&reports.join("a.txt")), both[..1]);
        let mut long = Vec::new();
        each_text(Path::new("/dev/zero"), &mut |_, text| long.push(text)).expect("readable");
        assert!(matches!(&long[..], [Err(reason)] if reason.contains("4 MiB")), "{long:?}");
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        std::io::Write::write_all(&mut writer, b"piped").expect("room in a pipe");
        drop(writer);
        let pipe = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
        assert_eq!(texts(Path::new(&pipe)), [Ok("piped".to_owned())]);
        assert!(each_text(&reports.join("none"), &mut |_, _| ()).is_err());
    }

    #[test]
    fn a_text_is_decoded_by_its_mark_and_nul_bytes_are_none() {
        let cases: [(&[u8], Result<&str, &str>); 5] = [
            (&[0xff, 0xfe, b'a', 0, b'\n', 0], Ok("a\n")),
            (&[0xfe, 0xff, 0, b'a', 0], Ok("a")),
            (&[0xef, 0xbb, 0xbf, b'a'], Ok("a")),
            (&[b'a', 0, b'b'], Err("it has NUL bytes, so it is no text")),
            (&[], Ok("")),
        ];
        for (bytes, text) in cases {
            let decoded = bounded(bytes).expect("readable");
            assert_eq!(decoded.as_deref().map_err(String::as_str), text, "{bytes:?}");
        }
    }
}
