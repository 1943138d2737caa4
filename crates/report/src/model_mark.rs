//! The colour and the shape that stand for a model in every drawing.

/// The mark of a model. It follows from the model's id alone, so that a model looks the same in every report. Two models may share a mark:
/// a name always stands beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ModelMark {
    /// The number of the colour, below [`ModelMark::COLOURS`].
    pub(crate) colour: u32,
    /// The number of the shape, below [`ModelMark::SHAPES`].
    pub(crate) shape: u32,
}

impl ModelMark {
    /// How many colours there are.
    pub(crate) const COLOURS: u32 = 8;
    /// How many shapes there are: circle, square, diamond, triangle.
    pub(crate) const SHAPES: u32 = 4;

    /// The mark of the model with this id.
    pub(crate) fn for_id(id: &str) -> Self {
        let hash = fnv1a(id.as_bytes());
        Self {
            colour: hash % Self::COLOURS,
            shape: (hash >> 8) % Self::SHAPES,
        }
    }

    /// The class of the colour.
    pub(crate) fn class(self) -> String {
        format!("k{}", self.colour)
    }

    /// The outline of the shape around its centre, about nine pixels wide.
    pub(crate) fn outline(self) -> &'static str {
        match self.shape {
            0 => "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0Z",
            1 => "M-4.5-4.5h9v9h-9Z",
            2 => "M0-6L6 0L0 6L-6 0Z",
            _ => "M0-5.5L5.5 4.5H-5.5Z",
        }
    }
}

/// FNV-1a with 32 bits: <http://www.isthe.com/chongo/tech/comp/fnv/>.
fn fnv1a(bytes: &[u8]) -> u32 {
    let start = 0x811c_9dc5;
    let step = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    bytes.iter().fold(start, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_follows_from_the_id() {
        let marks = [
            "aster-large-2",
            "birch-4.1",
            "cedar-pro",
            "dune-3.3-70b-instruct",
        ]
        .map(|id| {
            let mark = ModelMark::for_id(id);
            (mark.colour, mark.shape)
        });
        assert_eq!(marks, [(5, 0), (1, 3), (2, 1), (3, 1)]);
        // The values of the hash's authors.
        assert_eq!([fnv1a(b""), fnv1a(b"foobar")], [0x811c_9dc5, 0xbf9c_f968]);
    }
}
