//! A journal, plain or compressed.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| probity_fuzz::read(parsers::Parser::Journal, input));
