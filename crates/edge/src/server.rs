//! A listener's server: the HTTP library's, over connections that are read in turn.

use std::{fmt, net::TcpListener, time::Duration};

use actix_http::{HttpService, Request, Response};
use actix_server::{Server, ServerHandle};
use actix_service::{
    IntoServiceFactory, Service, ServiceFactory, ServiceFactoryExt as _, apply_fn_factory,
    fn_service, map_config,
};
use actix_web::{Error, body::MessageBody, dev::AppConfig, rt::net::TcpStream};

use crate::{
    connections::{Connections, Limits, running},
    turns::InTurn,
};

/// Bytes of an answer that are gathered before they are written: one call of the system for most of them, and no more memory than this for a
/// client that does not read.
const WRITTEN_AT_ONCE: usize = 128 * 1024;

/// How long the end of a connection may take.
const DISCONNECT: Duration = Duration::from_secs(1);

/// How long running requests have at the end, in seconds.
const SHUTDOWN: u64 = 25;

/// Serves what `app` makes on `listener` until the handle stops it. Running requests finish first. Must be called within a runtime.
///
/// # Errors
/// When the listener cannot be used.
pub fn serve<F, I, S, B>(
    listener: TcpListener,
    limits: &Limits,
    workers: usize,
    app: F,
) -> std::io::Result<(ServerHandle, Server)>
where
    F: Fn() -> I + Send + Clone + 'static,
    I: IntoServiceFactory<S, Request>,
    S: ServiceFactory<Request, Config = AppConfig> + 'static,
    S::Error: Into<Error> + 'static,
    S::InitError: fmt::Debug,
    S::Response: Into<Response<B>> + 'static,
    <S::Service as Service<Request>>::Future: 'static,
    S::Service: 'static,
    B: MessageBody + 'static,
{
    let limits = *limits;
    let address = listener.local_addr()?;
    let connections = Connections::watched(&limits);
    let builder = Server::build();
    let ending = builder.graceful_shutdown_signal();
    let service = move || {
        let (connections, ending) = (connections.clone(), ending.clone());
        // Whatever is served: a request that is not noted would keep the next of its connection from its turn.
        let app = apply_fn_factory(app(), |request: Request, app: &S::Service| {
            let running = running(&request);
            let answer = app.call(request);
            async move {
                let answer = answer.await;
                drop(running);
                answer
            }
        });
        let app = app.map_err(|error| error.into().error_response());
        let http = HttpService::build()
            .graceful_shutdown_signal(move || {
                let ending = ending.clone();
                async move { ending.notified().await }
            })
            .local_addr(address)
            .client_request_timeout(limits.head)
            .client_disconnect_timeout(DISCONNECT)
            .keep_alive(limits.keep_alive)
            .h1_write_buffer_size(WRITTEN_AT_ONCE)
            .on_connect_ext(move |stream: &InTurn, data| connections.note(stream, data))
            .h1(map_config(app, |()| AppConfig::default()));
        fn_service(async |socket: TcpStream| {
            // A large answer goes out by one call of the system; the last piece of one that does not must not wait for the
            // acknowledgement of the one before. Where it cannot be had it is only slower.
            let _slower = socket.set_nodelay(true);
            let stream = InTurn::new(socket);
            let peer = stream.peer();
            Ok((stream, peer))
        })
        .and_then(http)
    };
    let server = builder
        .workers(workers)
        .max_concurrent_connections(limits.each_worker(workers))
        .disable_signals()
        .shutdown_timeout(SHUTDOWN)
        .listen("http", listener, service)?
        .run();
    Ok((server.handle(), server))
}
