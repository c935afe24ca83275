//! PostgreSQL: connections.

use std::error::Error;
use std::time::Duration;

use diesel::{ConnectionError, ConnectionResult};
use tokio_postgres::{Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::pool::{PgConn, prepare};

/// A server, and how to speak to it.
pub(crate) struct Server {
    pub(crate) config: Config,
    /// `None` for no encryption.
    pub(crate) tls: Option<MakeRustlsConnect>,
}

/// Opens a connection whose statements the server itself ends: one that nobody waits for any more must hold no lock.
pub(crate) async fn connect(server: &Server, answer_within: Duration) -> ConnectionResult<PgConn> {
    let mut connection = plain(server).await?;
    let ms = answer_within.as_millis().max(1);
    prepare(
        &mut connection,
        &format!(
            "SET statement_timeout = {ms}; SET idle_in_transaction_session_timeout = {idle}; \
             SET default_transaction_isolation = 'read committed'",
            idle = ms.saturating_mul(2),
        ),
    )
    .await?;
    Ok(connection)
}

/// Opens a connection as the server gives it.
pub(crate) async fn plain(server: &Server) -> ConnectionResult<PgConn> {
    let refused =
        |error: tokio_postgres::Error| ConnectionError::BadConnection(with_causes(&error));
    match &server.tls {
        None => {
            let (client, connection) = server.config.connect(NoTls).await.map_err(refused)?;
            PgConn::try_from_client_and_connection(client, connection).await
        }
        Some(tls) => {
            let (client, connection) =
                (server.config.connect(tls.clone()).await).map_err(refused)?;
            PgConn::try_from_client_and_connection(client, connection).await
        }
    }
}

/// The error and what caused it: the driver's own text says no more than "error connecting to server".
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
