//! Importers take what others wrote: the right thing is read, the wrong thing is refused with its place, nothing panics.

use proptest::prelude::*;

use super::*;
use crate::compare::SourceKind;

const CSV: &str = "name,unit,better,group,values\n# a note\n\"a, \"\"b\"\"\",s,lower,apps,1.5;1.6 1.7\nrate,MB/s,higher,memory,6527\n";
const HYPERFINE: &str = r#"{"results":[{"command":"sort big","mean":1.0,"stddev":0.1,"median":1.0,"user":0.9,"system":0.1,
    "min":0.9,"max":1.1,"times":[0.9,1.0,1.1],"exit_codes":[0,0,1],"parameters":{"threads":"4"}}]}"#;
const PHORONIX: &str = r#"<?xml version="1.0"?>
<PhoronixTestSuite><Generated><Title>x</Title></Generated>
<System><Identifier>before</Identifier><Hardware>Processor: AMD X @ 3GHz, Memory: 8GB</Hardware>
<Software>OS: Debian, Kernel: 6.1.0</Software><JSON>{"cpu-microcode":"0x1"}</JSON></System>
<System><Identifier>after</Identifier><Hardware>Processor: AMD X @ 3GHz, Memory: 8GB</Hardware>
<Software>OS: Debian, Kernel: 6.2.0</Software><JSON>{"cpu-microcode":"0x2"}</JSON></System>
<Result><Identifier>pts/stream-1.3.1</Identifier><Title>Stream</Title><Description>Type: Copy</Description>
<Scale>MB/s</Scale><Proportion>HIB</Proportion><DisplayFormat>BAR_GRAPH</DisplayFormat><Data>
<Entry><Identifier>before</Identifier><Value>100.5</Value><RawString>100:101</RawString></Entry>
<Entry><Identifier>after</Identifier><Value>90</Value><RawString></RawString></Entry></Data></Result>
<Result><Identifier>pts/broken-1.0</Identifier><Title>Broken</Title><Description></Description>
<Scale>s</Scale><Proportion>LIB</Proportion><Data><Entry><Identifier>after</Identifier><Value></Value></Entry></Data></Result>
</PhoronixTestSuite>"#;

fn values(configuration: &Configuration, test: usize) -> Vec<f64> {
    configuration.tests[test].cells.values().flat_map(|cell| &cell.samples).map(|s| s.value).collect()
}

#[test]
fn a_table_is_read_with_quotes_notes_and_several_values() {
    let found = &read("x", CSV.as_bytes()).expect("a table")[0];
    assert_eq!((found.kind, found.tests.len()), (SourceKind::Csv, 2));
    assert_eq!((found.tests[0].name.as_str(), values(found, 0)), ("a, \"b\"", vec![1.5, 1.6, 1.7]));
}

#[test]
fn one_value_per_line_makes_replicates() {
    let text = "group,name,value,unit,better\r\nm,a,1,s,lower\r\nm,a,2,s,lower\r\n";
    assert_eq!(values(&read("x", text.as_bytes()).expect("a table")[0], 0), [1.0, 2.0]);
}

#[test]
fn an_export_is_reported_by_its_content() {
    let hyperfine = &read("x", HYPERFINE.as_bytes()).expect("an export")[0];
    assert_eq!((hyperfine.kind, values(hyperfine, 0)), (SourceKind::Hyperfine, vec![0.9, 1.0, 1.1]));
    assert_eq!(hyperfine.tests[0].name, "sort big (threads=4)");
    assert_eq!(hyperfine.cautions, ["1 of 3 runs of sort big (threads=4) did not exit with 0"]);
}

#[test]
fn a_composite_holds_one_configuration_per_identifier() {
    let found = read("x", PHORONIX.as_bytes()).expect("a composite");
    let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["before", "after"]);
    assert_eq!((values(&found[0], 0), values(&found[1], 0)), (vec![100.0, 101.0], vec![90.0]));
    assert_eq!(
        (found[0].tests[0].name.as_str(), found[0].tests[0].group.as_str()),
        ("Stream, Type: Copy", "stream")
    );
    let fact = |of: &Configuration, name: &str| {
        of.facts.iter().find(|fact| fact.name == name).map(|f| f.value.clone())
    };
    assert_eq!(fact(&found[0], "CPU").as_deref(), Some("AMD X @ 3GHz"));
    assert_eq!(fact(&found[1], "microcode").as_deref(), Some("0x2"));
    assert_eq!(found[1].cautions, ["without a result: Broken (no value)"]);
}

#[test]
fn bad_input_is_refused_with_its_place() {
    let deep = "<a>".repeat(100_000);
    for (text, expected) in [
        ("", "it holds no test"),
        ("hello\n", "neither a record nor results"),
        ("{}", "neither a record nor results"),
        ("{\"a\":", "broken JSON"),
        ("<html></html>", "neither a record nor results"),
        ("<a>", "broken XML"),
        (deep.as_str(), "nested more than 64 deep"),
        ("{\"schema\":9}", "use a newer sidestep"),
        ("{\"schema\":1}", "it holds no test"),
        ("{\"schema\":1,\"rows\":[],\"averages\":[]}", "a comparison, not a record"),
        ("{\"schema\":1,\"view\":{}}", "the description of a machine, not a record"),
        ("name,values\na,1\n", "line 1: there is no column unit"),
        ("name,unit,better,group,values\na,s,lower,g,\n", "line 2: a has no value"),
        ("name,unit,better,group,values\n\na,s,lower,g,-3\n", "line 3: the value -3 is no positive number"),
        ("name,unit,better,group,values\na,s,lower,g,NaN\n", "line 2: the value NaN is no positive number"),
        ("name,unit,better,group,values\na,s,lower,g,1x\n", "line 2: the value 1x is no positive number"),
        (
            "name,unit,better,group,values\na,s,sideways,g,1\n",
            "better is \"sideways\"; write higher or lower",
        ),
        (
            "name,unit,better,group,values\na,s,lower,g,1\na,ms,lower,g,1\n",
            "line 3: a stands here with another unit",
        ),
        ("name,unit,better,group,values\n\"a,s,lower,g,1\n", "line 2: a quote is not closed"),
        ("[1]", "neither a record nor results"),
    ] {
        let error = read("x", text.as_bytes()).expect_err(text).to_string();
        assert!(error.contains(expected), "{text:.80}: {error}");
    }
    assert!(
        read("x", &[b'a', 0xff]).expect_err("no text").to_string().contains("not UTF-8 text from byte 1 on")
    );
}

#[test]
fn entities_that_grow_without_bound_are_refused() {
    let bomb = "<!DOCTYPE a [<!ENTITY x \"xxxxxxxxxx\"><!ENTITY y \"&x;&x;&x;\">]><PhoronixTestSuite>&y;</PhoronixTestSuite>";
    assert!(matches!(read("x", bomb.as_bytes()), Err(ImportError::Xml(_))));
}

proptest! {
    #[test]
    fn no_byte_sequence_makes_an_importer_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = read("x", &bytes);
    }

    #[test]
    fn no_damage_to_a_good_file_makes_an_importer_panic(
        which in 0_usize..3,
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>(), 0_u8..3), 1..6),
    ) {
        let mut bytes = [CSV, HYPERFINE, PHORONIX][which].as_bytes().to_vec();
        for (place, byte, what) in changes {
            let at = place.index(bytes.len());
            match what {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => bytes.truncate(at.max(1)),
            }
        }
        let _ = read("x", &bytes);
    }
}
