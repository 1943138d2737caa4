//! What a run and its workers send each other.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| probity_fuzz::read(
    parsers::Parser::ClusterMessage,
    input
));
