//! The section `demographics`.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::text::Text;

/// The demographic axes in the user's order.
pub type Demographics = IndexMap<String, Axis>;

/// The values of an axis, in the user's order.
#[derive(Clone, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "Vec<Text>")]
#[schemars(inline)]
pub struct Axis(pub Vec<Text>);

impl TryFrom<Vec<Text>> for Axis {
    type Error = String;

    fn try_from(values: Vec<Text>) -> Result<Self, String> {
        if values.is_empty() {
            return Err("no values; add some, or leave the axis out".to_owned());
        }
        let mut numbered = values.iter().enumerate();
        let is_second = |(n, value): &(usize, &Text)| {
            values.iter().take(*n).any(|other| other.raw == value.raw)
        };
        match numbered.find(is_second) {
            Some((_, value)) => Err(format!("duplicate value `{}`", value.raw)),
            None => Ok(Self(values)),
        }
    }
}
