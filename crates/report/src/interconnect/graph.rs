//! A link graph as a picture: SVG and DOT, nodes coloured by how far their farthest node is.

use std::f64::consts::TAU;
use std::fmt::Write;

use models::interconnect::Graph;

use crate::draw::{Anchor, Svg, series_colour};
use crate::escape::plain;

/// A graph to be drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphPicture {
    /// For people.
    pub title: String,
    /// Who is linked to whom.
    pub graph: Graph,
    /// What each node is called; sysfs numbers may have gaps.
    pub names: Vec<String>,
    /// A further line below each name; empty for none.
    pub notes: Vec<String>,
}

impl GraphPicture {
    /// Links to the farthest node of each; none if some cannot be reached.
    fn eccentricities(&self) -> Option<Vec<u32>> {
        Some(self.graph.hops()?.eccentricities())
    }

    /// Eccentricities in use, smallest first: the place is the colour.
    fn classes(&self) -> Vec<u32> {
        let mut classes = self.eccentricities().unwrap_or_default();
        classes.sort_unstable();
        classes.dedup();
        classes
    }

    fn colour(&self, node: usize) -> &'static str {
        const UNCONNECTED: &str = "#9AA5B1";
        let of = self.eccentricities().map(|all| all[node]);
        let class = of.and_then(|of| self.classes().iter().position(|class| *class == of));
        class.map_or(UNCONNECTED, series_colour)
    }

    fn reading(&self) -> String {
        let classes = self.classes();
        match classes.as_slice() {
            [] => "Some nodes cannot reach others over these links.".to_owned(),
            [one] => format!("Each node is {one} from its farthest, counted in links."),
            [near, .., far] => {
                format!("Colours: links to the farthest node, from {near} to {far}.")
            }
        }
    }
}

/// Where nodes stand, in units of the picture: four as on a board, else in a ring.
fn places(nodes: usize, radius: f64) -> Vec<(f64, f64)> {
    const BOARD: [(f64, f64); 4] = [(-0.8, -0.8), (0.8, -0.8), (-0.8, 0.8), (0.8, 0.8)];
    let ring = |node: usize| {
        let angle = TAU * (node as f64 / nodes as f64 - 0.25);
        (angle.cos(), angle.sin())
    };
    let of = |node: usize| if nodes == BOARD.len() { BOARD[node] } else { ring(node) };
    (0..nodes).map(of).map(|(x, y)| (radius * (1.0 + x), radius * (1.0 + y))).collect()
}

/// The picture, standing alone.
pub fn graph_svg(picture: &GraphPicture) -> String {
    draw(picture, "links").finish(&picture.title, &picture.reading(), true)
}

pub(super) fn draw(picture: &GraphPicture, name: &str) -> Svg {
    const NODE_RADIUS: f64 = 26.0;
    const MARGIN: f64 = 60.0;
    const HEAD: f64 = 30.0;
    let nodes = picture.graph.nodes();
    // Neighbours on the ring keep their distance however many there are.
    let radius = (nodes as f64 * NODE_RADIUS * 3.0 / TAU).max(110.0);
    let (width, height) = (2.0 * (radius + MARGIN), 2.0 * (radius + MARGIN) + HEAD);
    let at: Vec<(f64, f64)> =
        places(nodes, radius).into_iter().map(|(x, y)| (x + MARGIN, y + MARGIN + HEAD)).collect();
    let mut svg = Svg::new(name, width, height);
    svg.text((width / 2.0, 20.0), "strong", Anchor::Middle, &picture.title);
    for [from, to] in picture.graph.links() {
        svg.line("axis", at[from], at[to]);
    }
    let far = picture.eccentricities();
    for (node, &(x, y)) in at.iter().enumerate() {
        svg.circle((x, y), NODE_RADIUS, &format!("fill=\"{}\"", picture.colour(node)));
        svg.open("class=\"ondark\"");
        svg.text((x, y + 1.0), "", Anchor::Middle, &picture.names[node]);
        let links = far.as_ref().map_or_else(String::new, |far| format!("far {}", far[node]));
        svg.text((x, y + 14.0), "tiny", Anchor::Middle, &links);
        svg.close();
        if !picture.notes[node].is_empty() {
            svg.text((x, y + NODE_RADIUS + 14.0), "ink halo", Anchor::Middle, &picture.notes[node]);
        }
    }
    svg
}

/// The graph in the language of Graphviz.
pub fn graph_dot(picture: &GraphPicture) -> String {
    let quoted = |text: &str| plain(text).replace('\\', "\\\\").replace('"', "\\\"");
    let mut text = format!("graph links {{\n  label=\"{}\";\n", quoted(&picture.title));
    text += "  node [style=filled, fontcolor=white];\n";
    let far = picture.eccentricities();
    for node in 0..picture.graph.nodes() {
        let mut label = quoted(&picture.names[node]);
        if let Some(far) = &far {
            let _ = write!(label, "\\nfar {}", far[node]);
        }
        if !picture.notes[node].is_empty() {
            let _ = write!(label, "\\n{}", quoted(&picture.notes[node]));
        }
        let _ = writeln!(text, "  n{node} [label=\"{label}\", fillcolor=\"{}\"];", picture.colour(node));
    }
    for [from, to] in picture.graph.links() {
        let _ = writeln!(text, "  n{from} -- n{to};");
    }
    text + "}\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(nodes: usize, links: &[[usize; 2]]) -> GraphPicture {
        GraphPicture {
            title: "a \"board\" <&>".to_owned(),
            graph: Graph::of_links(nodes, links).expect("a graph"),
            names: (0..nodes).map(|node| node.to_string()).collect(),
            notes: vec![String::new(); nodes],
        }
    }

    #[test]
    fn nodes_are_coloured_by_their_farthest() {
        let picture = picture(4, &[[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]]);
        let dot = graph_dot(&picture);
        assert_eq!(dot.matches(series_colour(0)).count(), 2);
        assert_eq!(dot.matches(series_colour(1)).count(), 2);
        assert_eq!(dot.matches(" -- ").count(), 5);
        assert!(dot.contains("a \\\"board\\\" <&>"));
        let svg = graph_svg(&picture);
        assert_eq!((svg.matches("<circle").count(), svg.matches("<line").count()), (4, 5));
        roxmltree::Document::parse(&svg).expect("well formed");
    }

    #[test]
    fn parts_that_are_apart_and_many_nodes_are_drawn_too() {
        for nodes in [1, 3, 64] {
            let svg = graph_svg(&picture(nodes, &[]));
            assert_eq!(svg.matches("<circle").count(), nodes);
            roxmltree::Document::parse(&svg).expect("well formed");
        }
    }
}
