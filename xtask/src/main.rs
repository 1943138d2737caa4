//! The commands of Probity.
fn main() {}
