//! Colours that stay apart for colour-blind readers and in grey, and the style sheets of light and dark.

/// Categories: Okabe and Ito, "Color Universal Design" (2008), without yellow and black, which need a known ground.
const SERIES: [&str; 6] = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];

/// Colours of levels, nearest first, from the same set: blue, green, orange; memory is vermilion.
const LEVELS: [&str; 4] = ["#0072B2", "#009E73", "#E69F00", "#56B4E9"];
const MEMORY: &str = "#D55E00";
const UNKNOWN_LEVEL: &str = "#9AA5B1";

/// Five stops of the colour map viridis (Smith and van der Walt, CC0): dark is small.
const MAGNITUDE: [[f64; 3]; 5] =
    [[68.0, 1.0, 84.0], [59.0, 82.0, 139.0], [33.0, 145.0, 140.0], [94.0, 201.0, 98.0], [253.0, 231.0, 37.0]];

/// Style of charts on white; also what is printed.
pub(crate) const STYLE_LIGHT: &str = ".chart{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;font-size:12px}\
.chart text{fill:#3c4856}.chart .ink{fill:#16202b}.chart .strong{fill:#16202b;font-weight:600}.chart .dim{fill:#66727f}\
.chart .small{font-size:10.5px}.chart .tiny{font-size:9px}.chart .paper{fill:#fff}.chart .grid{stroke:#e3e8ed;stroke-width:1}\
.chart .axis{stroke:#9aa5b1;stroke-width:1}.chart .wall{stroke:#c8d0d8;stroke-width:.8;fill:none}.chart .empty{fill:#eef1f4}\
.chart .mark{stroke:#66727f;stroke-width:1;stroke-dasharray:2 3}\
.chart .halo{paint-order:stroke;stroke:#fff;stroke-width:3.5px;stroke-linejoin:round}.chart .hollow{fill:#fff}\
.chart .hatch{stroke:#16202b;stroke-width:1.1}.chart .onlight{fill:#000}.chart .ondark{fill:#fff}\
.chart .hit{fill:none;stroke:none;pointer-events:all}";

/// What changes on a dark ground.
pub(crate) const STYLE_DARK: &str = ".chart text{fill:#b9c4cf}.chart .ink,.chart .strong{fill:#eef2f6}.chart .dim{fill:#8f9ba8}\
.chart .paper,.chart .hollow{fill:#11171e}.chart .grid{stroke:#26303a}.chart .axis{stroke:#566270}.chart .wall{stroke:#3b4753}\
.chart .empty{fill:#1b232c}.chart .mark{stroke:#8f9ba8}.chart .halo{stroke:#11171e}\
.chart .onlight{fill:#000}.chart .ondark{fill:#fff}.chart .hatch{stroke:#10161d}";

/// The colour of the n-th series.
pub(crate) fn series_colour(index: usize) -> &'static str {
    SERIES[index % SERIES.len()]
}

/// Order of levels, nearest first; memory is last, a level without a name is beyond it.
pub(crate) fn level_rank(level: &str) -> usize {
    match level.strip_prefix('L').and_then(|digits| digits.parse::<usize>().ok()) {
        Some(number) => number.clamp(1, LEVELS.len()) - 1,
        None if level == "memory" => LEVELS.len(),
        None => LEVELS.len() + 1,
    }
}

/// The colour of a level.
pub(crate) fn level_colour(level: &str) -> &'static str {
    let rank = level_rank(level);
    LEVELS.get(rank).copied().unwrap_or(if rank == LEVELS.len() { MEMORY } else { UNKNOWN_LEVEL })
}

/// A colour for a share between 0 and 1, and the class of text that is readable on it.
pub(crate) fn magnitude(share: f64) -> (String, &'static str) {
    let at = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 } * (MAGNITUDE.len() - 1) as f64;
    let low = (at.floor() as usize).min(MAGNITUDE.len() - 2);
    let part = at - low as f64;
    let mix = |channel: usize| {
        MAGNITUDE[low][channel] + (MAGNITUDE[low + 1][channel] - MAGNITUDE[low][channel]) * part
    };
    let [r, g, b] = [mix(0), mix(1), mix(2)].map(|channel| channel as u8);
    let colour = format!("#{r:02x}{g:02x}{b:02x}");
    let text = ink_on(&colour);
    (colour, text)
}

/// The class of text that is readable on a colour given as `#RRGGBB`: the one of more contrast, as WCAG 2 counts it.
pub(crate) fn ink_on(colour: &str) -> &'static str {
    let ground = luminance(colour) + STRAY;
    if (1.0 + STRAY) / ground >= ground / STRAY { "ondark" } else { "onlight" }
}

/// What WCAG 2 adds to each luminance for stray light.
const STRAY: f64 = 0.05;

/// Relative luminance, WCAG 2: linear light by the weights of ITU-R BT.709.
fn luminance(colour: &str) -> f64 {
    let channel = |at: usize| {
        let byte = colour.get(at..at + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let share = f64::from(byte.unwrap_or_default()) / 255.0;
        if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_on_every_colour_has_the_contrast_that_wcag_asks_for() {
        const LEAST: f64 = 4.5;
        let contrast = |ground: &str, class: &str| {
            let ink = if class == "ondark" { "#ffffff" } else { "#000000" };
            let (a, b) = (luminance(ground) + STRAY, luminance(ink) + STRAY);
            a.max(b) / a.min(b)
        };
        for colour in SERIES.iter().chain(&LEVELS) {
            let got = contrast(colour, ink_on(colour));
            assert!(got >= LEAST, "{colour}: {got:.2}");
        }
        for step in 0..=100 {
            let (colour, class) = magnitude(f64::from(step) / 100.0);
            let got = contrast(&colour, class);
            assert!(got >= LEAST, "{colour} {class}: {got:.2}");
        }
    }
}
