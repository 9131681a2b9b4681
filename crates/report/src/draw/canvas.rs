//! A picture in the making: shapes with classes, numbers rounded to tenths, text escaped.

use std::fmt::Write;

use super::{STYLE_DARK, STYLE_LIGHT};
use crate::escape::markup;

/// Which point of a text stands at its coordinates.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
    /// As the group around it says.
    Inherit,
}

impl Anchor {
    /// As an attribute, with a blank before it.
    const fn attribute(self) -> &'static str {
        match self {
            Self::Start | Self::Inherit => "",
            Self::Middle => " text-anchor=\"middle\"",
            Self::End => " text-anchor=\"end\"",
        }
    }
}

/// A text and where it stands.
pub(crate) struct Word {
    pub(crate) at: (f64, f64),
    pub(crate) text: String,
}

/// An SVG in user units; the page scales it.
#[derive(Debug, Clone)]
pub(crate) struct Svg {
    width: f64,
    height: f64,
    name: String,
    body: String,
}

/// A coordinate with one decimal, without a trailing `.0`.
pub(crate) fn coordinate(value: f64) -> String {
    let value = if value.is_finite() { value.clamp(-1e5, 1e5) } else { 0.0 };
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

impl Svg {
    /// An empty picture; `name` makes its ids unique in a page.
    pub(crate) fn new(name: &str, width: f64, height: f64) -> Self {
        Self { width, height, name: name.to_owned(), body: String::new() }
    }

    pub(crate) fn id(&self, what: &str) -> String {
        format!("{}-{what}", self.name)
    }

    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(coordinate);
        let _ =
            write!(self.body, "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>");
    }

    /// A rectangle; `paint` holds further attributes, made by the caller from constants.
    pub(crate) fn rectangle(&mut self, at: (f64, f64), size: (f64, f64), paint: &str) {
        let [x, y, width, height] = [at.0, at.1, size.0.max(0.0), size.1.max(0.0)].map(coordinate);
        let _ =
            write!(self.body, "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" {paint}/>");
    }

    pub(crate) fn circle(&mut self, at: (f64, f64), radius: f64, paint: &str) {
        let [x, y, r] = [at.0, at.1, radius].map(coordinate);
        let gap = if paint.is_empty() { "" } else { " " };
        let _ = write!(self.body, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\"{gap}{paint}/>");
    }

    pub(crate) fn polyline(&mut self, points: &[(f64, f64)], paint: &str) {
        let _ = write!(self.body, "<polyline points=\"{}\" {paint}/>", joined(points));
    }

    pub(crate) fn polygon(&mut self, points: &[(f64, f64)], paint: &str) {
        let _ = write!(self.body, "<polygon points=\"{}\" {paint}/>", joined(points));
    }

    pub(crate) fn path(&mut self, data: &str, paint: &str) {
        let _ = write!(self.body, "<path d=\"{data}\" {paint}/>");
    }

    /// Text; escaped here, and only here.
    pub(crate) fn text(&mut self, at: (f64, f64), class: &str, anchor: Anchor, text: &str) {
        let [x, y] = [at.0, at.1].map(coordinate);
        let anchor = anchor.attribute();
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let _ = write!(self.body, "<text x=\"{x}\" y=\"{y}\"{class}{anchor}>{}</text>", markup(text));
    }

    /// Words at places of their own that look alike: one text, so that hundreds keep the file small.
    pub(crate) fn words(&mut self, class: &str, anchor: Anchor, words: &[Word]) {
        if words.is_empty() {
            return;
        }
        let _ = write!(self.body, "<text class=\"{class}\"{}>", anchor.attribute());
        let mut line = String::new();
        for word in words {
            let [x, y] = [word.at.0, word.at.1].map(coordinate);
            let _ = write!(self.body, "<tspan x=\"{x}\"");
            if y != line {
                let _ = write!(self.body, " y=\"{y}\"");
                line = y;
            }
            let _ = write!(self.body, ">{}</tspan>", markup(&word.text));
        }
        self.body += "</text>";
    }

    /// The label of a vertical axis, read from below.
    pub(crate) fn upright_text(&mut self, at: (f64, f64), text: &str) {
        let [x, y] = [at.0, at.1].map(coordinate);
        let _ = write!(
            self.body,
            "<text class=\"dim\" transform=\"translate({x} {y}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            markup(text)
        );
    }

    /// Opens a group with attributes made from constants and numbers.
    pub(crate) fn open(&mut self, attributes: &str) {
        let _ = write!(self.body, "<g {attributes}>");
    }

    /// Opens a group that says this to a pointer that rests on it.
    pub(crate) fn open_mark(&mut self, title: &str) {
        let _ = write!(self.body, "<g><title>{}</title>", markup(title));
    }

    /// A place without paint that says this to a pointer that rests on it; the group around it lets pointers find it.
    pub(crate) fn hint(&mut self, data: &str, title: &str) {
        let _ = write!(self.body, "<path d=\"{data}\"><title>{}</title></path>", markup(title));
    }

    pub(crate) fn close(&mut self) {
        self.body += "</g>";
    }

    /// The pattern that marks doubtful cells; filled by `fill="url(#ID)"`.
    pub(crate) fn hatch(&mut self) -> String {
        let id = self.id("hatch");
        let _ = write!(
            self.body,
            "<defs><pattern id=\"{id}\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" \
             patternTransform=\"rotate(45)\"><line class=\"hatch\" x1=\"0\" y1=\"0\" x2=\"0\" y2=\"6\"/></pattern></defs>"
        );
        id
    }

    /// The element. `standalone` adds style, ground and name space; in a page the page has them.
    pub(crate) fn finish(self, title: &str, description: &str, standalone: bool) -> String {
        let [width, height] = [self.width, self.height].map(coordinate);
        let name = &self.name;
        let mut svg = format!(
            "<svg class=\"chart\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"{name}-title {name}-desc\""
        );
        if standalone {
            let _ =
                write!(svg, " xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\"");
        }
        let _ = write!(
            svg,
            "><title id=\"{name}-title\">{}</title><desc id=\"{name}-desc\">{}</desc>",
            markup(title),
            markup(description)
        );
        if standalone {
            let _ = write!(
                svg,
                "<style>{STYLE_LIGHT}@media screen and (prefers-color-scheme:dark){{{STYLE_DARK}}}</style>\
                 <rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>"
            );
        }
        svg + &self.body + "</svg>"
    }
}

fn joined(points: &[(f64, f64)]) -> String {
    let mut text = String::new();
    for (index, (x, y)) in points.iter().enumerate() {
        if index > 0 {
            text.push(' ');
        }
        let _ = write!(text, "{},{}", coordinate(*x), coordinate(*y));
    }
    text
}
