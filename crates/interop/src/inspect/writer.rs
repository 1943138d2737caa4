//! Writes a log: samples one by one, the header at the end.

use std::io::{self, Read, Seek, SeekFrom, Write};

use super::{
    LogFormat,
    header::Header,
    ids, json,
    packer::{Packer, put, start},
    results::Sums,
    sample::SampleParts,
    tools::Tools,
};
use crate::{Run, Sample};

/// Writes one log. Memory holds a few samples at a time, besides what the module's limits list.
pub(super) struct LogWriter<W: Write, S> {
    run: Run,
    eval_id: String,
    tools: Tools,
    sums: Sums,
    out: Out<W>,
    /// Data that follow later in the log: the list of samples (zip) or the samples (JSON).
    scratch: S,
    /// The JSON of one part, reused.
    buffer: Vec<u8>,
    first: bool,
}

enum Out<W: Write> {
    Zip(Packer<W>),
    Json(W),
}

impl<W: Write + Send + 'static, S: Read + Write + Seek> LogWriter<W, S> {
    /// Starts the log of `run`.
    ///
    /// `out` receives the log. `scratch` is an empty file, or memory, that temporarily holds data which follow later in the log:
    /// about 1 kB per sample for [`LogFormat::Eval`], all samples for [`LogFormat::Json`].
    pub(super) fn new(run: &Run, format: LogFormat, out: W, mut scratch: S) -> io::Result<Self> {
        scratch.write_all(b"[")?;
        Ok(Self {
            run: run.clone(),
            eval_id: ids::eval_id(run),
            tools: Tools::of(run)?,
            sums: Sums::new(run),
            out: match format {
                LogFormat::Eval => Out::Zip(Packer::new(out)?),
                LogFormat::Json => Out::Json(out),
            },
            scratch,
            buffer: Vec::new(),
            first: true,
        })
    }

    /// The number of samples in the log.
    pub(super) fn samples(&self) -> u64 {
        self.sums.samples()
    }

    /// Adds one sample. Returns `false` if the log already has this sample of this scenario; it is then left out.
    pub(super) fn push(&mut self, sample: &Sample) -> io::Result<bool> {
        let parts = SampleParts::of(&self.run, &self.eval_id, &self.tools, sample)?;
        if self.sums.has(&parts.id, parts.epoch) {
            return Ok(false);
        }
        self.sums.add(&parts, sample);
        let comma: &[u8] = if self.first { b"" } else { b"," };
        self.first = false;
        self.buffer.clear();
        if let Out::Zip(zip) = &mut self.out {
            json::write(&mut self.buffer, &parts.sample())?;
            let name = format!("samples/{}_epoch_{}.json", parts.id, parts.epoch);
            zip.put(name, &mut self.buffer)?;
            self.buffer.extend_from_slice(comma);
            json::write(&mut self.buffer, &parts.summary())?;
        } else {
            self.buffer.extend_from_slice(comma);
            json::write(&mut self.buffer, &parts.sample())?;
        }
        self.scratch.write_all(&self.buffer)?;
        Ok(true)
    }

    /// Writes the header and returns `out`, flushed.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.scratch.write_all(b"]")?;
        self.scratch.flush()?;
        self.scratch.seek(SeekFrom::Start(0))?;
        let header = Header::of(&self.run, &self.sums);
        let reductions = self.sums.reductions();
        self.buffer.clear();
        json::write(&mut self.buffer, &header)?;
        let mut out = match self.out {
            Out::Zip(packer) => {
                let mut zip = packer.finish()?;
                start(&mut zip, "summaries.json")?;
                io::copy(&mut self.scratch, &mut zip)?;
                if let Some(reductions) = &reductions {
                    start(&mut zip, "reductions.json")?;
                    json::write(&mut zip, reductions)?;
                }
                let mut begin = Vec::new();
                json::write(&mut begin, &header.start())?;
                put(&mut zip, "_journal/start.json", &begin)?;
                put(&mut zip, "header.json", &self.buffer)?;
                zip.finish()?.into_inner()
            }
            Out::Json(mut out) => {
                // The header's closing brace follows the samples.
                self.buffer.pop();
                out.write_all(&self.buffer)?;
                out.write_all(b",\"samples\":")?;
                io::copy(&mut self.scratch, &mut out)?;
                if let Some(reductions) = &reductions {
                    out.write_all(b",\"reductions\":")?;
                    json::write(&mut out, reductions)?;
                }
                out.write_all(b"}\n")?;
                out
            }
        };
        out.flush()?;
        Ok(out)
    }
}
