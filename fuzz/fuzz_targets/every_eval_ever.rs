//! Results in the format of Every Eval Ever.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| probity_fuzz::read(
    parsers::Parser::EveryEvalEver,
    input
));
