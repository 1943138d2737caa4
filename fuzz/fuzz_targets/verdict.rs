//! The verdict in a judge's reply.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| probity_fuzz::read(parsers::Parser::Verdict, input));
