//! A network between a process and the server, which can be cut.

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
};

use crate::nats::Nats;

pub struct Wire {
    port: u16,
    is_cut: watch::Sender<bool>,
}

impl Wire {
    pub async fn to(nats: &Nats) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (is_cut, watched) = watch::channel(false);
        tokio::spawn(serve(listener, nats.port(), watched));
        Self { port, is_cut }
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Cuts it, or mends it.
    pub fn cut(&self, is_cut: bool) {
        self.is_cut.send_replace(is_cut);
    }
}

async fn serve(listener: TcpListener, port: u16, is_cut: watch::Receiver<bool>) {
    while let Ok((near, _)) = listener.accept().await {
        let mut cut = is_cut.clone();
        if !*cut.borrow() {
            tokio::spawn(async move {
                tokio::select! {
                    () = carry(near, port) => {}
                    _ = cut.wait_for(|is_cut| *is_cut) => {}
                }
            });
        }
    }
}

async fn carry(mut near: TcpStream, port: u16) {
    if let Ok(mut far) = TcpStream::connect(("127.0.0.1", port)).await {
        let _ = copy_bidirectional(&mut near, &mut far).await;
    }
}
