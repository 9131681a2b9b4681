//! A link graph as a picture: nodes coloured by how far their farthest node is, each with what its reads take.

use std::f64::consts::TAU;

use models::interconnect::Graph;

use crate::draw::{Anchor, Svg, ink_on, series_colour};
use crate::number;

/// What a graph without eccentricities is painted with.
const UNCONNECTED: &str = "#9AA5B1";

/// A graph to be drawn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GraphPicture {
    /// For people.
    pub(crate) title: String,
    /// Who is linked to whom.
    pub(crate) graph: Graph,
    /// What each node is called; sysfs numbers may have gaps.
    pub(crate) names: Vec<String>,
    /// A further line below each name; empty for none.
    pub(crate) notes: Vec<String>,
    /// What each node's reads take, which its mark says.
    pub(crate) reads: Option<Reads>,
}

/// How long reads take, by reader (row) and home (column).
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Reads {
    /// Behind a number.
    pub(crate) unit: String,
    /// Measured; empty if nobody measured.
    pub(crate) measured: Vec<Vec<Option<f64>>>,
    /// As the model of the links has it; empty without one.
    pub(crate) predicted: Vec<Vec<Option<f64>>>,
}

impl Reads {
    /// `146 ns (147)`: measured, then predicted; or the one that there is.
    pub(crate) fn text(&self, reader: usize, home: usize) -> Option<String> {
        let of = |rows: &[Vec<Option<f64>>]| rows.get(reader)?.get(home).copied().flatten();
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        match (of(&self.measured), of(&self.predicted)) {
            (Some(seen), Some(model)) => {
                Some(format!("{}{unit} ({})", number::short(seen), number::short(model)))
            }
            (Some(one), None) => Some(format!("{}{unit}", number::short(one))),
            (None, Some(one)) => Some(format!("({}{unit})", number::short(one))),
            (None, None) => None,
        }
    }
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
        let of = self.eccentricities().map(|all| all[node]);
        let class = of.and_then(|of| self.classes().iter().position(|class| *class == of));
        class.map_or(UNCONNECTED, series_colour)
    }

    /// How to read it, in a sentence or two.
    pub(crate) fn reading(&self) -> String {
        let classes = self.classes();
        let colours = match classes.as_slice() {
            [] => "Some nodes cannot reach others over these links.".to_owned(),
            [one] => format!("Each node is {one} from its farthest, counted in links."),
            [near, .., far] => {
                format!("Colours: links to the farthest node, from {near} to {far}.")
            }
        };
        match &self.reads {
            Some(reads) if reads.measured.is_empty() => {
                format!("{colours} A node's mark says what its reads take by the model.")
            }
            Some(_) => format!(
                "{colours} A node's mark says what its reads take, and in brackets what the links predict."
            ),
            None => colours,
        }
    }
}

/// Where nodes stand and how large they are, in units of the picture.
struct Layout {
    at: Vec<(f64, f64)>,
    node_radius: f64,
    legend_x: f64,
    width: f64,
    height: f64,
}

/// Below the head line, with room for labels on all sides and for the legend on the right.
fn layout(graph: &Graph) -> Layout {
    const MARGIN: f64 = 64.0;
    const HEAD: f64 = 30.0;
    const LEGEND: f64 = 210.0;
    /// As wide as the other pictures of a page, so that its text is as large as theirs.
    const WIDTH: f64 = 900.0;
    /// Room for a label on either side of the outermost nodes.
    const SIDE: f64 = 46.0;
    /// Distance of neighbours on the ring, in radii: room for what stands above and below a node.
    const APART: f64 = 4.4;
    let nodes = graph.nodes();
    let node_radius = match nodes {
        0..=8 => 26.0,
        9..=16 => 21.0,
        _ => 15.0,
    };
    let radius = (nodes as f64 * node_radius * APART / TAU).max(130.0);
    let (left, top) = (MARGIN + SIDE, MARGIN + HEAD);
    let at: Vec<(f64, f64)> = places(nodes)
        .into_iter()
        .map(|(x, y)| (left + radius * (1.0 + x), top + radius * (1.0 + y)))
        .collect();
    let lowest = at.iter().map(|(_, y)| *y).fold(top, f64::max);
    Layout {
        at,
        node_radius,
        legend_x: 2.0 * (radius + MARGIN + SIDE),
        width: (2.0 * (radius + MARGIN + SIDE) + LEGEND).max(WIDTH),
        height: lowest + MARGIN,
    }
}

/// Two nodes side by side, four as on a board, else in a ring; from -1 to 1.
fn places(nodes: usize) -> Vec<(f64, f64)> {
    const BOARD: [(f64, f64); 4] = [(-0.8, -0.8), (0.8, -0.8), (-0.8, 0.8), (0.8, 0.8)];
    let on_ring = |seat: usize| {
        let angle = TAU * (seat as f64 / nodes as f64 - 0.25);
        (angle.cos(), angle.sin())
    };
    match nodes {
        2 | 4 => BOARD[..nodes].to_vec(),
        _ => (0..nodes).map(on_ring).collect(),
    }
}

pub(crate) fn draw(picture: &GraphPicture, name: &str) -> Svg {
    let layout = layout(&picture.graph);
    let mut svg = Svg::new(name, layout.width, layout.height);
    svg.text((20.0, 20.0), "strong", Anchor::Start, &picture.title);
    legend(&mut svg, picture, layout.legend_x);
    for [from, to] in picture.graph.links() {
        svg.line("axis", layout.at[from], layout.at[to]);
    }
    for node in 0..picture.graph.nodes() {
        one_node(&mut svg, picture, &layout, node);
    }
    svg
}

/// A row per colour: how far, and who.
fn legend(svg: &mut Svg, picture: &GraphPicture, x: f64) {
    const ROW: f64 = 40.0;
    /// More names than this do not fit beside the picture.
    const NAMES_MAX: usize = 8;
    let far = picture.eccentricities().unwrap_or_default();
    for (index, class) in picture.classes().into_iter().enumerate() {
        let y = 50.0 + ROW * index as f64;
        svg.rectangle((x, y), (14.0, 14.0), &format!("fill=\"{}\" rx=\"3\"", series_colour(index)));
        let links = number::count(class as usize, "link");
        svg.text((x + 22.0, y + 11.5), "ink", Anchor::Start, &format!("{links} to the farthest"));
        let of = far.iter().zip(&picture.names).filter(|(far, _)| **far == class).map(|(_, name)| name);
        let who = number::first_few(&of.collect::<Vec<_>>(), NAMES_MAX);
        svg.text((x + 22.0, y + 27.0), "dim small", Anchor::Start, &who);
    }
}

fn one_node(svg: &mut Svg, picture: &GraphPicture, layout: &Layout, node: usize) {
    let ((x, y), radius) = (layout.at[node], layout.node_radius);
    let colour = picture.colour(node);
    svg.open_mark(&title(picture, node));
    svg.circle((x, y), radius, &format!("fill=\"{colour}\""));
    svg.text((x, y + 4.5), ink_on(colour), Anchor::Middle, &picture.names[node]);
    if !picture.notes[node].is_empty() {
        svg.text((x, y + radius + 15.0), "ink halo", Anchor::Middle, &picture.notes[node]);
    }
    svg.close();
}

/// `node 1: reads 0 in 102 ns, 2 in 120 ns`; its name alone where nothing is known of its reads.
fn title(picture: &GraphPicture, node: usize) -> String {
    let name = &picture.names[node];
    let Some(reads) = &picture.reads else { return format!("node {name}") };
    let of = |home: usize| Some(format!("{} in {}", picture.names[home], reads.text(node, home)?));
    format!("node {name}: reads {}", number::joined((0..picture.graph.nodes()).filter_map(of), ", "))
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
            reads: None,
        }
    }

    fn drawn(picture: &GraphPicture) -> String {
        let svg = draw(picture, "links").finish(&picture.title, &picture.reading(), true);
        roxmltree::Document::parse(&svg).expect("well formed");
        svg
    }

    #[test]
    fn nodes_are_coloured_by_their_farthest() {
        let svg = drawn(&picture(4, &[[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]]));
        assert_eq!((svg.matches("<circle").count(), svg.matches("<line").count()), (4, 5));
        let circles = |class: usize| svg.matches(&format!("fill=\"{}\"/>", series_colour(class))).count();
        assert_eq!([circles(0), circles(1)], [2, 2], "{svg}");
    }

    #[test]
    fn each_node_says_what_its_reads_take() {
        let rows = vec![vec![Some(102.0), Some(120.0), None]; 3];
        let reads = Reads { unit: "ns".to_owned(), measured: rows.clone(), predicted: rows };
        let svg = drawn(&GraphPicture { reads: Some(reads), ..picture(3, &[[0, 1], [1, 2]]) });
        assert!(svg.contains("<title>node 1: reads 0 in 102 ns (102), 1 in 120 ns (120)</title>"), "{svg}");
    }

    #[test]
    fn parts_that_are_apart_and_many_nodes_are_drawn_too() {
        for nodes in [1, 3, 64] {
            assert_eq!(drawn(&picture(nodes, &[])).matches("<circle").count(), nodes);
        }
    }
}
