//! Documents that the first version wrote are read, and nothing that they say is lost or changed when they are written again.

use std::path::Path;

use record::{ClockCheck, ClockCost, ComparisonTable, Encoding, Sockets, decode, decode_sockets, encode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Where they are, from this crate.
const FOLDER: &str = "../../tests/first-version";

fn text(name: &str) -> Vec<u8> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER).join(name);
    std::fs::read(file).expect("the document is committed")
}

/// Members that have another name since: arm64 has a counter too, and no time-stamp counter. The value tells whether it was kept.
const RENAMED: [(&str, &str); 3] =
    [("tsc_cycles", "counter_cycles"), ("tsc_error_ppm", "counter_error_ppm"), ("tsc_hz", "counter_hz")];

/// Everything that `old` says and `new` does not.
fn lost(old: &Value, new: &Value, place: &str) -> Vec<String> {
    match (old, new) {
        (Value::Object(members), Value::Object(_)) => members
            .iter()
            .flat_map(|(name, old)| {
                let now =
                    RENAMED.iter().find(|(before, _)| before == name).map_or(name.as_str(), |(_, now)| now);
                lost(old, new.get(now).unwrap_or(&Value::Null), &format!("{place}.{name}"))
            })
            .collect(),
        (Value::Array(items), Value::Array(again)) if items.len() == again.len() => {
            let pairs = items.iter().zip(again).enumerate();
            pairs.flat_map(|(index, (old, new))| lost(old, new, &format!("{place}[{index}]"))).collect()
        }
        _ if old == new => Vec::new(),
        _ => vec![format!("{place}: {old} became {new}")],
    }
}

/// What a document no longer says when it is written again.
fn lost_of(name: &str, again: &impl Serialize) -> Vec<String> {
    let old: Value = serde_json::from_slice(&text(name)).expect("JSON");
    // By its text: as a value alone, a window of four bytes would have more digits.
    let again = serde_json::to_vec(again).expect("JSON");
    lost(&old, &serde_json::from_slice(&again).expect("JSON"), "")
}

fn is_read<T: DeserializeOwned + Serialize>(name: &str) {
    let document: T = serde_json::from_slice(&text(name)).expect(name);
    assert_eq!(lost_of(name, &document), [""; 0], "{name}");
}

#[test]
fn a_record_of_the_first_version_keeps_all_that_it_says() {
    let record = decode(&text("record.json")).expect("a record");
    // Words of the command line that may name a disk are removed wherever a record is read.
    let removed = ".machine.environment.command_line: \"root=/dev/vda1 ro quiet mitigations=auto\" became \"root=... ro quiet mitigations=auto\"";
    assert_eq!(lost_of("record.json", &record), [removed]);
    let again = decode(&encode(&record, Encoding::Zstd).expect("it can be written")).expect("a record");
    assert_eq!(again, record);
}

#[test]
fn its_other_documents_keep_all_that_they_say() {
    is_read::<Sockets>("sockets.json");
    is_read::<ClockCheck>("clock-check.json");
    is_read::<ClockCost>("clock-cost.json");
    is_read::<ComparisonTable>("comparison.json");
    decode_sockets(&text("sockets.json")).expect("sockets alone");
    decode_sockets(&text("record.json")).expect("sockets in a record");
}
