//! A picture as pixels.

/// A picture with 8 bits each of red, green and blue, row by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pixels {
    /// Number of pixels per row.
    pub width: usize,
    /// Number of rows.
    pub height: usize,
    /// `3 * width * height` bytes.
    pub rgb: Vec<u8>,
}

impl Pixels {
    /// Creates a picture of one colour.
    #[must_use]
    pub fn filled(width: usize, height: usize, colour: [u8; 3]) -> Self {
        Self { width, height, rgb: colour.repeat(width * height) }
    }

    /// Returns the colour at a place, which must be inside the picture.
    #[must_use]
    pub fn at(&self, x: usize, y: usize) -> [u8; 3] {
        let first = 3 * (y * self.width + x);
        [self.rgb[first], self.rgb[first + 1], self.rgb[first + 2]]
    }

    /// Sets the colour at a place; ignores places outside the picture.
    pub fn set(&mut self, x: usize, y: usize, colour: [u8; 3]) {
        if x < self.width && y < self.height {
            let first = 3 * (y * self.width + x);
            self.rgb[first..first + 3].copy_from_slice(&colour);
        }
    }

    /// Returns the brightness of each pixel, 0 to 255, as in JFIF: ITU-R BT.601.
    #[must_use]
    pub fn luma(&self) -> Vec<f64> {
        let weigh = |pixel: &[u8]| {
            0.299 * f64::from(pixel[0]) + 0.587 * f64::from(pixel[1]) + 0.114 * f64::from(pixel[2])
        };
        self.rgb.chunks_exact(3).map(weigh).collect()
    }

    /// Returns a part of the picture, cut at the picture's edges.
    #[must_use]
    pub fn part(&self, x: usize, y: usize, width: usize, height: usize) -> Self {
        let (x, y) = (x.min(self.width), y.min(self.height));
        let (width, height) = (width.min(self.width - x), height.min(self.height - y));
        let rows = (y..y + height).flat_map(|row| {
            let first = 3 * (row * self.width + x);
            self.rgb[first..first + 3 * width].iter().copied()
        });
        Self { width, height, rgb: rows.collect() }
    }
}
