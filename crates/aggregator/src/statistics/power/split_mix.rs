//! A small generator of random numbers, the same on every machine and in every version.

/// Steele, Lea and Flood's SplitMix64.
///
/// Its own few lines, because the numbers are part of what the reference vectors hold: a library may change its stream.
#[derive(Clone, Debug)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// The generator that starts at `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next number, all 64 bits random.
    pub fn next_u64(&mut self) -> u64 {
        self.skip(1);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Leaves out the next `numbers` numbers.
    pub fn skip(&mut self, numbers: u64) {
        let step = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(numbers);
        self.state = self.state.wrapping_add(step);
    }

    /// The next number from 0 to below 1, in steps of 2^-53.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit a double")]
    pub fn next_unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * 2.0_f64.powi(-53)
    }
}
