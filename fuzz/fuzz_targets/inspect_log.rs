//! Logs of Inspect, as zip or JSON.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| probity_fuzz::read(parsers::Parser::InspectLog, input));
