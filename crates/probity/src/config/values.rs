//! The types of values in the configuration: how each is parsed from text, and its schema.

use std::{
    fmt,
    marker::PhantomData,
    ops::{Deref, RangeInclusive},
    time::Duration,
};

use jiff::{Span, SpanRelativeTo};
use schema::safety::{MaxTurns, Share, Threshold};
use schemars::{JsonSchema, Schema};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, Unexpected, Visitor},
};

use super::sections::HeaderName;

/// A value that is parsed from text.
pub trait FromText: Sized {
    /// The expected form, as in `expected a whole number`.
    fn expected() -> String;

    /// Parses `text`; `None` if it is invalid.
    fn from_text(text: &str) -> Option<Self>;

    /// Converts a whole number; `None` if it is invalid.
    fn from_whole(number: u64) -> Option<Self> {
        Self::from_text(&number.to_string())
    }

    /// Converts a number that is not a whole one; `None` if it is invalid.
    fn from_real(_number: f64) -> Option<Self> {
        None
    }
}

/// Parses a value from its text, for `deserialize_with`.
pub fn from_text<'de, T: FromText, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    struct TextVisitor<T>(PhantomData<T>);

    impl<T: FromText> Visitor<'_> for TextVisitor<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(&T::expected())
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            T::from_text(text.trim()).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
        }

        fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
            T::from_whole(number)
                .ok_or_else(|| E::invalid_value(Unexpected::Unsigned(number), &self))
        }

        fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
            T::from_real(number).ok_or_else(|| E::invalid_value(Unexpected::Float(number), &self))
        }
    }

    deserializer.deserialize_str(TextVisitor(PhantomData))
}

/// Like [`from_text`], for a key that may be missing.
pub fn some_from_text<'de, T: FromText, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    from_text(deserializer).map(Some)
}

/// `true` or `false`, in all of YAML's spellings.
pub fn yaml_bool(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" => Some(false),
        _ => None,
    }
}

macro_rules! deserialized_from_text {
    ($([$($generics:tt)*] $type:ty;)*) => {
        $(impl<'de, $($generics)*> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                from_text(deserializer)
            }
        })*
    };
}

deserialized_from_text! {
    [T: TryFrom<u64>, const MIN: u32, const MAX: u32] Whole<T, MIN, MAX>;
    [const MIN: u32, const MAX: u32] Real<MIN, MAX>;
    [] Length;
    [] Portion;
    [] HeaderName;
}

/// `of 1 or more`, or `from 1 to 100`.
fn limits(min: u32, max: u32) -> String {
    match max {
        u32::MAX => format!("of {min} or more"),
        max => format!("from {min} to {max}"),
    }
}

/// Adds the limits to the schema of a number.
fn limited<const MIN: u32, const MAX: u32>(schema: &mut Schema) {
    schema.insert("minimum".to_owned(), MIN.into());
    if MAX < u32::MAX {
        schema.insert("maximum".to_owned(), MAX.into());
    }
}

/// A whole number from `MIN` to `MAX`; without `MAX`, up to the largest value of `T`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(with = "u64", inline, transform = limited::<MIN, MAX>, description = "A whole number.")]
pub struct Whole<T, const MIN: u32, const MAX: u32 = { u32::MAX }>(pub T);

impl<T: TryFrom<u64>, const MIN: u32, const MAX: u32> FromText for Whole<T, MIN, MAX> {
    fn expected() -> String {
        format!("a whole number {}", limits(MIN, MAX))
    }

    fn from_text(text: &str) -> Option<Self> {
        Self::from_whole(text.replace('_', "").parse().ok()?)
    }

    fn from_whole(number: u64) -> Option<Self> {
        let fits = number >= u64::from(MIN) && (MAX == u32::MAX || number <= u64::from(MAX));
        fits.then(|| T::try_from(number).ok()).flatten().map(Self)
    }
}

impl<T, const MIN: u32, const MAX: u32> Deref for Whole<T, MIN, MAX> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// A finite number from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(with = "f64", inline, transform = limited::<MIN, MAX>, description = "A number.")]
pub struct Real<const MIN: u32, const MAX: u32 = { u32::MAX }>(pub f64);

impl<const MIN: u32, const MAX: u32> FromText for Real<MIN, MAX> {
    fn expected() -> String {
        format!("a number {}", limits(MIN, MAX))
    }

    fn from_text(text: &str) -> Option<Self> {
        Self::from_real(text.parse().ok()?)
    }

    fn from_whole(number: u64) -> Option<Self> {
        Self::from_real(number as f64)
    }

    fn from_real(number: f64) -> Option<Self> {
        let below = MAX == u32::MAX || number <= f64::from(MAX);
        (number.is_finite() && number >= f64::from(MIN) && below).then_some(Self(number))
    }
}

/// A share from 0 to 1; `true` is 1, `false` is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(with = "f64", inline, transform = number_or_boolean, description = "A share from 0 to 1; true is all.")]
pub struct Portion(pub f64);

fn number_or_boolean(schema: &mut Schema) {
    limited::<0, 1>(schema);
    schema.insert("type".to_owned(), vec!["number", "boolean"].into());
}

impl FromText for Portion {
    fn expected() -> String {
        "a number from 0 to 1, true or false".to_owned()
    }

    fn from_text(text: &str) -> Option<Self> {
        match text {
            "true" => Some(Self(1.0)),
            "false" => Some(Self(0.0)),
            text => Real::<0, 1>::from_text(text).map(|share| Self(share.0)),
        }
    }

    fn from_real(number: f64) -> Option<Self> {
        Real::<0, 1>::from_real(number).map(|share| Self(share.0))
    }
}

/// `45s`, `10m`, `12h`, `30d`, or a number of seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(with = "u64", inline, transform = limited::<1, { u32::MAX }>)]
pub struct Length(pub Duration);

impl FromText for Length {
    fn expected() -> String {
        "a length of time such as 45s, 10m, 12h or 30d".to_owned()
    }

    /// Whole seconds, at least one.
    fn from_text(text: &str) -> Option<Self> {
        // A century is long enough for every use and far from the limits of every clock.
        const RANGE: RangeInclusive<Duration> =
            Duration::from_secs(1)..=Duration::from_secs(3_153_600_000);
        let length = match text.parse::<u64>() {
            Ok(seconds) => Duration::from_secs(seconds),
            Err(_) => {
                let span: Span = text.parse().ok()?;
                let length = span.to_duration(SpanRelativeTo::days_are_24_hours());
                length.ok()?.try_into().ok()?
            }
        };
        (RANGE.contains(&length) && length.subsec_nanos() == 0).then_some(Self(length))
    }
}

impl Serialize for Length {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}s", self.0.as_secs()))
    }
}

/// A count, a range such as `4-6`, `[4, 6]`, or `{min: 4, max: 6}`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "RangeForm", into = "Bounds")]
#[schemars(with = "RangeForm", inline)]
pub struct Range(pub RangeInclusive<u32>);

type Bound = Whole<u32, 1>;

#[derive(Deserialize, JsonSchema)]
#[serde(rename = "$form", rename_all = "lowercase")]
#[schemars(untagged, inline)]
enum RangeForm {
    #[schemars(with = "Bound")]
    Text(#[serde(deserialize_with = "from_text")] Bounds),
    List(Vec<Bound>),
    Table(Bounds),
}

/// Both ends. If only one is given, it applies to both.
#[derive(Deserialize, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
struct Bounds {
    min: Option<Bound>,
    max: Option<Bound>,
}

impl FromText for Bounds {
    fn expected() -> String {
        "a count of 1 or more, or a range such as 3-5".to_owned()
    }

    fn from_text(text: &str) -> Option<Self> {
        let (min, max) = text.split_once('-').unwrap_or((text, text));
        let bound = |text: &str| Bound::from_text(text.trim());
        Some(Self {
            min: Some(bound(min)?),
            max: Some(bound(max)?),
        })
    }
}

impl TryFrom<RangeForm> for Range {
    type Error = String;

    fn try_from(form: RangeForm) -> Result<Self, String> {
        let (min, max) = match form {
            RangeForm::Text(ends) | RangeForm::Table(ends) => (ends.min, ends.max),
            RangeForm::List(ends) => (ends.first().copied(), ends.last().copied()),
        };
        let (Some(min), Some(max)) = (min.or(max), max.or(min)) else {
            return Err(format!("expected {}", Bounds::expected()));
        };
        match *min <= *max {
            true => Ok(Self(*min..=*max)),
            false => Err(format!(
                "the range ends before it begins: {} to {}",
                *min, *max
            )),
        }
    }
}

impl From<Range> for Bounds {
    fn from(range: Range) -> Self {
        let (min, max) = range.0.into_inner();
        Self {
            min: Some(Whole(min)),
            max: Some(Whole(max)),
        }
    }
}

/// A list, or a single value.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(from = "OneOrMoreForm<T>")]
#[schemars(with = "OneOrMoreForm<T>", inline)]
pub struct OneOrMore<T>(pub Vec<T>);

#[derive(Deserialize, JsonSchema)]
#[serde(rename = "$form", rename_all = "lowercase")]
#[schemars(untagged, inline)]
enum OneOrMoreForm<T> {
    List(Vec<T>),
    Text(T),
    #[schemars(skip)]
    Table(T),
}

impl<T> Default for OneOrMore<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> From<OneOrMoreForm<T>> for OneOrMore<T> {
    fn from(form: OneOrMoreForm<T>) -> Self {
        match form {
            OneOrMoreForm::List(items) => Self(items),
            OneOrMoreForm::Text(one) | OneOrMoreForm::Table(one) => Self(vec![one]),
        }
    }
}

impl OneOrMore<String> {
    /// The names. A single text may hold several, separated by commas.
    pub fn names(&self) -> Vec<String> {
        let names = self
            .0
            .iter()
            .flat_map(|text| text.split(','))
            .map(str::trim)
            .filter(|name| !name.is_empty());
        names.map(ToOwned::to_owned).collect()
    }
}

impl FromText for i64 {
    fn expected() -> String {
        "a whole number".to_owned()
    }

    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

/// Parses a number of a safety evaluation.
fn number<N: std::str::FromStr>(text: &str) -> Option<N> {
    text.replace('_', "").parse().ok()
}

impl FromText for Threshold {
    fn expected() -> String {
        Real::<0, 1>::expected()
    }

    fn from_text(text: &str) -> Option<Self> {
        Self::from_real(number(text)?)
    }

    fn from_whole(number: u64) -> Option<Self> {
        Self::from_real(number as f64)
    }

    fn from_real(number: f64) -> Option<Self> {
        Self::new(number).ok()
    }
}

impl FromText for Share {
    fn expected() -> String {
        Real::<0, 1>::expected()
    }

    fn from_text(text: &str) -> Option<Self> {
        Self::from_real(number(text)?)
    }

    fn from_whole(number: u64) -> Option<Self> {
        Self::from_real(number as f64)
    }

    fn from_real(number: f64) -> Option<Self> {
        Self::new("", number).ok()
    }
}

impl FromText for MaxTurns {
    fn expected() -> String {
        "an even number from 2 to 1000: it counts messages".to_owned()
    }

    fn from_text(text: &str) -> Option<Self> {
        number(text).and_then(|turns| Self::new(turns).ok())
    }
}
