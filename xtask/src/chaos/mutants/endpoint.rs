//! An endpoint that answers each request with the bytes that it was given.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

/// A running endpoint. Its thread ends with the process.
pub(super) struct Endpoint {
    address: SocketAddr,
    answer: Arc<Mutex<Vec<u8>>>,
}

impl Endpoint {
    pub(super) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let answer = Arc::new(Mutex::new(Vec::new()));
        let body = Arc::clone(&answer);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let body = body.lock().unwrap_or_else(PoisonError::into_inner).clone();
                // A client that has gone got what it needed.
                let _ = serve(stream, &body);
            }
        });
        Ok(Self { address, answer })
    }

    pub(super) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Sets the body of the next answers.
    pub(super) fn answer(&self, body: &[u8]) {
        body.clone_into(&mut self.answer.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Reads one request, whose body is small, and answers it.
fn serve(mut stream: TcpStream, body: &[u8]) -> io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    // The body of each request ends with the last brace of its JSON.
    while !request.ends_with(b"}") {
        match stream.read(&mut piece)? {
            0 => return Ok(()),
            read => request.extend(piece.iter().take(read)),
        }
    }
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), body].concat())
}
