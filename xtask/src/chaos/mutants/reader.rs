//! What is given the changed files.

use std::{error::Error, io, path::Path};

use parsers::{Parser, Parsers};

use super::interfaces::{Interface, Interfaces};

/// What reads a changed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    Parser(Parser),
    Interface(Interface),
}

impl Reader {
    /// All of them.
    pub(super) fn all() -> Vec<Self> {
        let parsers = Parser::ALL.map(Self::Parser);
        let interfaces = Interface::ALL.map(Self::Interface);
        parsers.into_iter().chain(interfaces).collect()
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Parser(parser) => parser.name(),
            Self::Interface(interface) => interface.name(),
        }
    }
}

/// A file, and what reads it.
pub(super) struct Original {
    pub(super) reader: Reader,
    /// The name decides how some files are read.
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

/// The files of the repository, and `more` that a run wrote.
pub(super) fn originals(repository: &Path, more: &Path) -> io::Result<Vec<Original>> {
    let seeds = parsers::seeds(repository, more)?.into_iter();
    let files = seeds.map(|seed| Original {
        reader: Reader::Parser(seed.parser),
        name: seed.name,
        bytes: seed.bytes,
    });
    let replies = Interface::ALL.map(|interface| Original {
        reader: Reader::Interface(interface),
        name: "reply.json".to_owned(),
        bytes: interface.sample().into(),
    });
    Ok(files.chain(replies).collect())
}

/// Everything that reads.
pub(super) struct Readers {
    parsers: Parsers,
    interfaces: Interfaces,
}

impl Readers {
    /// Readers that write into `folder`, which exists.
    pub(super) fn new(folder: &Path) -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            parsers: Parsers::new(folder.to_owned())?,
            interfaces: Interfaces::start()?,
        })
    }

    pub(super) fn read(&self, reader: Reader, name: &str, bytes: &[u8]) -> io::Result<()> {
        match reader {
            Reader::Parser(parser) => self.parsers.read(parser, name, bytes),
            Reader::Interface(interface) => {
                self.interfaces.reply(interface, bytes);
                Ok(())
            }
        }
    }
}
