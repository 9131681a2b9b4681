//! What the operator says of nodes: a file of CSV with a column `node` and any others.

use machine::table_lines;

/// What may stand between the columns.
const DELIMITERS: [char; 4] = [',', ';', '\t', '|'];
const NODE: &str = "node";

/// Nodes with what is said of each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inventory {
    /// The columns beside `node`.
    pub columns: Vec<String>,
    /// The nodes in the order of the file, each with its fields in the order of the columns.
    pub nodes: Vec<(String, Vec<Option<String>>)>,
}

impl Inventory {
    /// Reads CSV; `None` if no column of its first line is called `node`. Lines without a node are passed over.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim_start_matches('\u{feff}');
        let (head, lines, node) = DELIMITERS.into_iter().find_map(|delimiter| {
            let mut lines = lines(text, delimiter).into_iter();
            let head = lines.next()?;
            let node = head.iter().position(|name| name.eq_ignore_ascii_case(NODE))?;
            Some((head, lines, node))
        })?;
        let beside = |fields: Vec<String>| {
            fields.into_iter().enumerate().filter(move |(column, _)| *column != node).map(|(_, field)| field)
        };
        let columns: Vec<String> = beside(head).collect();
        let of_line = |mut line: Vec<String>| {
            let name = line.get(node).filter(|name| !name.is_empty())?.clone();
            line.resize(columns.len() + 1, String::new());
            Some((name, beside(line).map(|field| Some(field).filter(|field| !field.is_empty())).collect()))
        };
        let nodes = lines.filter_map(of_line).collect();
        Some(Self { columns, nodes })
    }

    /// The index of a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.eq_ignore_ascii_case(name))
    }
}

/// Fields of each line that is not empty, without blanks around them; none of a text with a quote that is not closed.
fn lines(text: &str, delimiter: char) -> Vec<Vec<String>> {
    let lines = table_lines(text, delimiter).unwrap_or_default().into_iter();
    lines.map(|line| line.fields.iter().map(|field| field.trim().to_owned()).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_they_are_quoted_whatever_stands_between_them() {
        let text = "\u{feff}slot;\"Node\";rack\r\n0;n2;\"a;\"\"b\"\"\"\n\n1;\"n1\"\n3;;r9\n; n3; \n";
        let found = Inventory::parse(text).expect("an inventory");
        assert_eq!(found.columns, ["slot", "rack"]);
        let some = |text: &str| Some(text.to_owned());
        let expected = [
            ("n2", vec![some("0"), some("a;\"b\"")]),
            ("n1", vec![some("1"), None]),
            ("n3", vec![None, None]),
        ];
        assert_eq!(found.nodes, expected.map(|(node, fields)| (node.to_owned(), fields)));
        assert_eq!((found.column("Rack"), found.column("node")), (Some(1), None));
    }

    #[test]
    fn without_a_column_of_nodes_there_is_no_inventory() {
        for text in ["", "a,b\nn1,r1\n", "# nodes\n", "nodes,rack\n"] {
            assert_eq!(Inventory::parse(text), None, "{text}");
        }
        assert_eq!(Inventory::parse("node").expect("no more columns").columns, [""; 0]);
    }
}
