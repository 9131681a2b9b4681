//! Tables of what CPUs cost each other: a row per pair with what the kernel says of it, and loops of one class beside another.

use std::collections::BTreeMap;

use machine::{CpuId, Topology};
use record::{Cores, LineTransfer, PairSlowdown, Record};

use super::tables::{data, titled};
use crate::naming;
use crate::number::{finite, told};

/// Longer tables are cut; the CSV has all pairs.
const MOST_ROWS: usize = 24;
const NONE: &str = "-";
/// The protocol whose time stands beside the slowdowns: one request for ownership per hop.
const PROTOCOL: &str = "compare_and_swap";

/// Both tables; nothing without measurements.
pub(super) fn tables(record: &Record) -> String {
    pairs(record) + &unlike(&record.cores)
}

fn pairs(record: &Record) -> String {
    let cores = &record.cores;
    let mut resources: Vec<&str> = Vec::new();
    let mut rows: BTreeMap<(CpuId, CpuId), Vec<&PairSlowdown>> = BTreeMap::new();
    for pair in cores.sharing.iter().filter(|pair| finite(pair.slowdown).is_some()) {
        if !resources.contains(&pair.resource.as_str()) {
            resources.push(&pair.resource);
        }
        rows.entry((pair.a, pair.b)).or_default().push(pair);
    }
    let hop = |a: CpuId, b: CpuId| -> Option<&LineTransfer> {
        let is_it = |hop: &&LineTransfer| {
            hop.protocol == PROTOCOL && (hop.a.min(hop.b), hop.a.max(hop.b)) == (a.min(b), a.max(b))
        };
        cores.line_transfer.iter().find(is_it)
    };
    let row = |(&(a, b), seen): (&(CpuId, CpuId), &Vec<&PairSlowdown>)| {
        let mut cells = vec![format!("{a} beside {b}"), claim(&record.machine.topology, a, b).to_owned()];
        cells.extend(resources.iter().map(|resource| {
            let pair = seen.iter().find(|pair| pair.resource == *resource);
            pair.map_or_else(|| NONE.to_owned(), |pair| told(pair.slowdown, &pair.spread))
        }));
        cells.push(hop(a, b).map_or_else(|| NONE.to_owned(), |hop| told(hop.ns, &hop.spread)));
        cells
    };
    let mut headers = vec!["CPUs".to_owned(), "kernel says: in common".to_owned()];
    headers.extend(resources.iter().map(|resource| naming::words(resource)));
    headers.push("line, ns".to_owned());
    let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
    titled(
        "What CPUs cost each other",
        "Time of a loop on the first CPU while the second runs the same, over its time alone; and one way of a cache line by \
         compare-and-swap. 1 where the kernel names something in common, or more than 1 where it names nothing, is a \
         finding above.",
        &data(&headers, cut(rows.iter().map(row).collect())),
    )
}

/// The smallest thing that two CPUs share, as the kernel says.
fn claim(topology: &Topology, a: CpuId, b: CpuId) -> &'static str {
    let caches = |level: u8| topology.data_cache(a, level).is_some_and(|cache| cache.shared_by.contains(b));
    let of = |cpu: CpuId| topology.cpu(cpu);
    if topology.siblings(a).contains(b) {
        "core"
    } else if caches(2) {
        "L2"
    } else if caches(3) {
        "L3"
    } else if of(a).zip(of(b)).is_some_and(|(a, b)| a.package == b.package) {
        "package"
    } else {
        "nothing"
    }
}

fn unlike(cores: &Cores) -> String {
    let mut besides: Vec<&str> = Vec::new();
    let mut rows: Vec<(CpuId, CpuId, &str)> = Vec::new();
    for pair in cores.unlike.iter().filter(|pair| finite(pair.slowdown).is_some()) {
        if !besides.contains(&pair.beside.as_str()) {
            besides.push(&pair.beside);
        }
        let row = (pair.a, pair.b, pair.class.as_str());
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    // In the order of the other table.
    let place = |name: &str| cores.sharing.iter().position(|pair| pair.resource == name);
    besides.sort_by_key(|name| place(name));
    let cell = |&(a, b, class): &(CpuId, CpuId, &str), beside: &str| {
        let unlike = cores.unlike.iter();
        let mut unlike =
            unlike.filter(|pair| pair.a == a && pair.b == b && pair.class == class && pair.beside == beside);
        let mut like = cores.sharing.iter();
        let like = like.find(|pair| pair.a == a && pair.b == b && pair.resource == class && class == beside);
        let of_unlike = unlike.next().map(|pair| told(pair.slowdown, &pair.spread));
        of_unlike
            .or_else(|| like.map(|pair| told(pair.slowdown, &pair.spread)))
            .unwrap_or_else(|| NONE.to_owned())
    };
    let row = |row: &(CpuId, CpuId, &str)| {
        let mut cells = vec![format!("{} beside {}", row.0, row.1), naming::words(row.2)];
        cells.extend(besides.iter().map(|beside| cell(row, beside)));
        cells
    };
    let mut headers = vec!["CPUs".to_owned(), "loop".to_owned()];
    headers.extend(besides.iter().map(|beside| format!("beside {}", naming::words(beside))));
    let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
    titled(
        "One kind of work beside another",
        "The same for unlike loops, of the nearest pairs: what a program of one kind loses beside a program of another.",
        &data(&headers, cut(rows.iter().map(row).collect())),
    )
}

fn cut(mut rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let more = rows.len().saturating_sub(MOST_ROWS);
    rows.truncate(MOST_ROWS);
    if more > 0 {
        let mut last = vec![String::new(); rows.first().map_or(1, Vec::len)];
        last[0] = format!("{more} more in the CSV");
        rows.push(last);
    }
    rows
}
