//! Tables of figures that exports and reports share.

mod differences;
mod people;
mod rates;
mod safety;

pub use differences::corrected_differences_sheet;
pub use people::{coefficient, people_notes, people_sheet};
pub use rates::{RateColumn, RateFigures, is_bounded};
pub use safety::safety_rates_sheet;
