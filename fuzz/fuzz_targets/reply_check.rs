//! A check that decides in the place of a judge.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| probity_fuzz::read(parsers::Parser::ReplyCheck, input));
