//! `validate`, by the name of the file: files of trees, of runs and of safety evaluations.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| probity_fuzz::read(parsers::Parser::TreeFile, input));
