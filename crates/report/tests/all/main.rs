//! What is written of each document: as text, HTML, Markdown, CSV and SVG.

mod pages;
mod rendering;
