//! Lists of nodes; every name that comes out of one is safe as the name of a folder.
#![cfg_attr(fuzzing, no_main)]

use fleet::node::NodeName;
use fleet::plan::node_list;
use fuzz::fuzz_target;

fuzz_target!(|text: &str| {
    for name in node_list(text).into_iter().flatten() {
        assert!(NodeName::parse(name.as_str()).is_ok());
    }
});
