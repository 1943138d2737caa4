//! Prices of models.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| probity_fuzz::read(parsers::Parser::Prices, input));
