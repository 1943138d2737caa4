//! Packs of test cases, as YAML, JSONL or CSV.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| probity_fuzz::read(parsers::Parser::TestCases, input));
