//! Logs in a single JSON file.

use std::{
    fmt,
    fs::File,
    io::{BufReader, Read},
    marker::PhantomData,
    ops::ControlFlow,
    path::Path,
};

use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{header::Header, roles::Speaker, sample::ReadSample};
use crate::import::{ImportError, Take, clean::Clean, file_name};

/// The header of the log at `path`. Skips its samples.
pub(super) fn header(path: &Path) -> Result<Header, ImportError> {
    let mut clean = open(path)?;
    let mut reader = serde_json::Deserializer::from_reader(BufReader::new(&mut clean));
    let header: Header = serde::Deserialize::deserialize(&mut reader)
        .map_err(|error| ImportError::json(path.display(), &error))?;
    reader
        .end()
        .map_err(|error| ImportError::json(path.display(), &error))?;
    Ok(header)
}

/// Passes the samples of the log at `path`, read as `S`, to `take`, one at a time. Returns the number of replaced halves of surrogate
/// pairs.
pub(super) fn samples<S: ReadSample>(
    path: &Path,
    speaker: Speaker,
    take: &mut Take<'_>,
) -> Result<u64, ImportError> {
    let mut clean = open(path)?;
    let mut reader = serde_json::Deserializer::from_reader(BufReader::new(&mut clean));
    let mut log = Log {
        place: file_name(path),
        speaker,
        sample: PhantomData::<S>,
        take,
        stopped: false,
        number: 0,
    };
    let read = serde::Deserializer::deserialize_map(&mut reader, &mut log);
    let (stopped, number) = (log.stopped, log.number);
    match read {
        Ok(()) => {}
        Err(_) if stopped => {}
        Err(error) => {
            let place = format!("{}: sample {}", path.display(), number + 1);
            return Err(ImportError::json(place, &error));
        }
    }
    drop(reader);
    Ok(clean.replaced())
}

fn open(path: &Path) -> Result<Clean<File>, ImportError> {
    files::open(path)
        .map(Clean::new)
        .map_err(|error| ImportError::read(path, error))
}

/// Parses the JSON text of one sample.
pub(super) fn one_sample<S: ReadSample>(reader: impl Read) -> Result<(S, u64), serde_json::Error> {
    let mut clean = Clean::new(reader);
    let mut json = serde_json::Deserializer::from_reader(BufReader::new(&mut clean));
    let sample = serde::Deserialize::deserialize(&mut json)?;
    json.end()?;
    drop(json);
    Ok((sample, clean.replaced()))
}

struct Log<'a, 't, S> {
    place: String,
    speaker: Speaker,
    sample: PhantomData<S>,
    take: &'a mut Take<'t>,
    stopped: bool,
    number: u64,
}

impl<'de, S: ReadSample> Visitor<'de> for &mut Log<'_, '_, S> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an Inspect log")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut log: A) -> Result<(), A::Error> {
        while let Some(key) = log.next_key::<String>()? {
            if key == "samples" {
                log.next_value_seed(Samples(self))?;
            } else {
                log.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

struct Samples<'l, 'a, 't, S>(&'l mut Log<'a, 't, S>);

impl<'de, S: ReadSample> DeserializeSeed<'de> for Samples<'_, '_, '_, S> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, samples: D) -> Result<(), D::Error> {
        samples.deserialize_any(self)
    }
}

impl<'de, S: ReadSample> Visitor<'de> for Samples<'_, '_, '_, S> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of samples")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut samples: A) -> Result<(), A::Error> {
        while let Some(sample) = samples.next_element::<S>()? {
            let found = sample
                .found(&self.0.place, self.0.speaker)
                .map_err(A::Error::custom)?;
            self.0.number += 1;
            if let ControlFlow::Break(()) = (self.0.take)(found) {
                self.0.stopped = true;
                return Err(A::Error::custom("stopped"));
            }
        }
        Ok(())
    }
}
