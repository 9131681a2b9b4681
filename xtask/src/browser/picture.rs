//! A photograph of the page, and the question whether something coloured is drawn in a part of it.

use anyhow::Context;

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

/// The bytes behind base64 text (RFC 4648, section 4).
pub(super) fn from_base64(text: &str) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let mut waiting = 0_u32;
    let mut waiting_bits = 0;
    for letter in text.bytes().filter(|letter| *letter != b'=') {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => anyhow::bail!("{letter:#x} does not belong into base64"),
        };
        waiting = waiting << 6 | u32::from(value);
        waiting_bits += 6;
        if waiting_bits >= 8 {
            waiting_bits -= 8;
            bytes.push((waiting >> waiting_bits & 0xff) as u8);
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_as_rfc_4648_writes_it() {
        // The test vectors of RFC 4648, section 10.
        for (text, bytes) in
            [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYmFy", "foobar")]
        {
            assert_eq!(from_base64(text).unwrap(), bytes.as_bytes(), "{text}");
        }
        assert!(from_base64("Z\n").is_err());
    }

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
