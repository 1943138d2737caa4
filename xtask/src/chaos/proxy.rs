//! A TCP proxy that damages what the server sends.

use std::{
    error::Error,
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::sleep,
};

use super::random::Random;

/// What the proxy does to a piece of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Damage {
    /// The connection is closed after half of the piece.
    Cut,
    /// The piece comes 0.1 to 0.6 s later.
    Delay,
    /// The piece comes in pieces of 64 bytes, one every 2 ms.
    Throttle,
    /// One byte of the piece is another one.
    Corrupt,
}

/// Every kind of damage.
pub(super) const DAMAGES: [Damage; 4] = [
    Damage::Cut,
    Damage::Delay,
    Damage::Throttle,
    Damage::Corrupt,
];

/// A running proxy. Dropping it closes its port.
pub(super) struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    server: SocketAddr,
    plan: Mutex<Plan>,
    /// Replies that the client may not have got as they were sent.
    damaged: AtomicU64,
}

#[derive(Debug)]
struct Plan {
    damages: Vec<Damage>,
    share: f64,
    random: Random,
}

impl Proxy {
    /// Starts a proxy before `server` that damages this share of the pieces, each with one of `damages`.
    pub(super) async fn start(
        server: SocketAddr,
        damages: &[Damage],
        share: f64,
        seed: u64,
    ) -> Result<Self, Box<dyn Error>> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            server,
            plan: Mutex::new(Plan {
                damages: damages.to_vec(),
                share,
                random: Random::new(seed),
            }),
            damaged: AtomicU64::new(0),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self {
            address,
            shared,
            accepting,
        })
    }

    pub(super) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Passes everything on unchanged from now on.
    pub(super) fn mend(&self) {
        let mut plan = self
            .shared
            .plan
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        plan.share = 0.0;
    }

    /// Replies that were cut or corrupted, or came late.
    pub(super) fn damaged(&self) -> u64 {
        self.shared.damaged.load(Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Shared {
    /// What happens to the next piece, and a number that decides how.
    fn next(&self) -> (Option<Damage>, u64) {
        let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        let happens = plan.random.unit() < plan.share;
        let number = plan.random.next();
        let kinds = plan.damages.len().max(1) as u64;
        let at = usize::try_from(plan.random.next() % kinds).unwrap_or_default();
        let damage = plan.damages.get(at).copied();
        (damage.filter(|_| happens), number)
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((client, _)) = listener.accept().await {
        tokio::spawn(pass(client, Arc::clone(&shared)));
    }
}

async fn pass(client: TcpStream, shared: Arc<Shared>) -> std::io::Result<()> {
    let server = TcpStream::connect(shared.server).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let requests = tokio::spawn(async move {
        tokio::io::copy(&mut from_client, &mut to_server).await.ok();
    });
    let mut piece = vec![0; 64 << 10];
    loop {
        let read = from_server.read(&mut piece).await.unwrap_or(0);
        let Some(bytes) = piece.get_mut(..read).filter(|bytes| !bytes.is_empty()) else {
            break;
        };
        if !deliver(&mut to_client, bytes, &shared)
            .await
            .unwrap_or(false)
        {
            break;
        }
    }
    requests.abort();
    Ok(())
}

/// Delivers a piece. Whether the connection goes on.
async fn deliver(
    to: &mut (impl AsyncWriteExt + Unpin),
    bytes: &mut [u8],
    shared: &Shared,
) -> std::io::Result<bool> {
    let (damage, number) = shared.next();
    if damage.is_some() {
        shared.damaged.fetch_add(1, Relaxed);
    }
    let at = usize::try_from(number % bytes.len() as u64).unwrap_or_default();
    match damage {
        Some(Damage::Cut) => {
            to.write_all(&bytes[..at]).await?;
            return Ok(false);
        }
        Some(Damage::Delay) => sleep(Duration::from_millis(100 + number % 500)).await,
        Some(Damage::Throttle) => {
            for part in bytes.chunks(64) {
                to.write_all(part).await?;
                sleep(Duration::from_millis(2)).await;
            }
            return Ok(true);
        }
        Some(Damage::Corrupt) => bytes[at] ^= 1 << (number >> 32 & 7),
        None => {}
    }
    to.write_all(bytes).await?;
    Ok(true)
}
