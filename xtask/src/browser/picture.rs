//! A photograph of the page, and the question whether something coloured is drawn in a part of it.

use anyhow::Context;
use data_encoding::BASE64;

use super::page::Rectangle;

/// A pixel is coloured when its strongest and weakest channel differ by this much of 255. Text, axes and
/// paper are grey in both colour schemes; lines, bars and surfaces are not.
const COLOURED_SPREAD: u8 = 48;

/// A decoded photograph: rows of red, green, blue.
#[derive(Debug, Clone)]
pub(super) struct Picture {
    width: usize,
    pixels: Vec<[u8; 3]>,
}

impl Picture {
    /// Decodes a PNG file's bytes.
    pub(super) fn decode(bytes: &[u8]) -> anyhow::Result<Self> {
        let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        let mut reader = decoder.read_info().context("the photograph is no PNG")?;
        let size = reader.output_buffer_size().context("the photograph is too large")?;
        let mut buffer = vec![0; size];
        let frame = reader.next_frame(&mut buffer).context("the photograph is cut short")?;
        let channels = frame.color_type.samples();
        anyhow::ensure!(channels >= 3, "the photograph has no colours");
        let pixels = buffer[..frame.buffer_size()].chunks_exact(channels);
        let pixels = pixels.map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
        Ok(Self { width: frame.width as usize, pixels })
    }

    /// Share of coloured pixels inside `part`, 0 to 1.
    pub(super) fn coloured_share(&self, part: Rectangle) -> f64 {
        self.share(part, |[red, green, blue]| {
            let strongest = red.max(green).max(blue);
            strongest - red.min(green).min(blue) >= COLOURED_SPREAD
        })
    }

    /// Mean brightness of the whole picture, 0 (black) to 255 (white).
    pub(super) fn brightness(&self) -> f64 {
        let sum: f64 = self.pixels.iter().flatten().map(|channel| f64::from(*channel)).sum();
        sum / (self.pixels.len() * 3) as f64
    }

    fn share(&self, part: Rectangle, is_meant: impl Fn([u8; 3]) -> bool) -> f64 {
        let height = self.pixels.len() / self.width;
        let clamp = |value: f64, limit: usize| (value.max(0.0) as usize).min(limit);
        let columns = clamp(part.left, self.width)..clamp(part.left + part.width, self.width);
        let rows = clamp(part.top, height)..clamp(part.top + part.height, height);
        let count = columns.len() * rows.len();
        let inside = rows.flat_map(|row| columns.clone().map(move |column| row * self.width + column));
        let meant = inside.filter(|index| is_meant(self.pixels[*index])).count();
        if count == 0 { 0.0 } else { meant as f64 / count as f64 }
    }
}

/// The bytes behind base64 text.
pub(super) fn from_base64(text: &str) -> anyhow::Result<Vec<u8>> {
    BASE64.decode(text.as_bytes()).context("the browser sent no base64")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grey_is_blank_and_colour_is_not() {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, 2, 1);
        encoder.set_color(png::ColorType::Rgb);
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(&[200, 200, 200, 0, 114, 178]).unwrap();
        writer.finish().unwrap();
        let picture = Picture::decode(&bytes).unwrap();
        let part = |left, width| Rectangle { left, top: 0.0, width, height: 1.0 };
        assert!(picture.coloured_share(part(0.0, 1.0)) < 0.1);
        assert!((picture.coloured_share(part(0.0, 2.0)) - 0.5).abs() < 1e-9);
        assert!(picture.coloured_share(part(5.0, 2.0)) < 0.1);
        assert!((picture.brightness() - (600.0 + 292.0) / 6.0).abs() < 1e-9);
    }
}
