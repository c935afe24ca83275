//! The API host: its routes and its listener.

use std::{
    net::TcpListener,
    sync::{Arc, OnceLock},
};

use actix_web::{
    App, Error, HttpRequest, HttpResponse,
    body::{BoxBody, MessageBody},
    dev::{ServerHandle, ServiceFactory, ServiceRequest, ServiceResponse},
    guard,
    http::header,
    middleware::{Compress, from_fn},
    web,
};
use brownstone_domain::{OPERATIONS, Operation, OperationSpec, Surface};
use brownstone_edge::Limits;
use brownstone_service::{Call, Failure, Service};
use futures::future::{BoxFuture, LocalBoxFuture};
use serde_json::{Value, json};

use crate::{
    edge::{self, Traffic},
    metrics::Wire,
    openapi,
    pieces::{Pieces, is_ready},
    request, respond,
};

/// Says whether this instance can serve, and what it serves from. `Err` is not ready.
pub type Readiness = Arc<dyn Fn() -> BoxFuture<'static, Result<Value, Value>> + Send + Sync>;

/// Registers paths of another transport beside these.
pub type Mount = Arc<dyn Fn(&mut web::ServiceConfig) + Send + Sync>;

/// What the API host is made of.
#[derive(Clone)]
pub struct Api {
    /// The pipeline and its operations.
    pub service: Service,
    /// What comes, and whether the process was told to end.
    pub traffic: Arc<Traffic>,
    /// For `/readyz`.
    pub readiness: Readiness,
    /// For `/version`.
    pub version: Value,
    /// Transports beside this one, below the same edge.
    pub beside: Vec<Mount>,
    /// Where callers reach this host, for the OpenAPI document.
    pub base_url: String,
    /// The document, once somebody has asked for it.
    pub document: Arc<OnceLock<openapi::Ready>>,
}

/// Serves the API on `listener` until the handle stops it. Running calls finish first. Must be called within a runtime.
///
/// # Errors
/// When the listener cannot be used.
pub fn serve(
    listener: TcpListener,
    api: Api,
    limits: &Limits,
    workers: usize,
) -> std::io::Result<(
    ServerHandle,
    impl Future<Output = std::io::Result<()>> + use<>,
)> {
    let wire = Arc::new(Wire::default());
    brownstone_edge::serve(listener, limits, workers, move || app(&api, &wire))
}

/// The host without a listener: its routes behind its edge.
pub fn app(
    api: &Api,
    wire: &Arc<Wire>,
) -> App<
    impl ServiceFactory<
        ServiceRequest,
        Config = (),
        Response = ServiceResponse<impl MessageBody + use<>>,
        Error = Error,
        InitError = (),
    > + use<>,
> {
    let (wire, traffic) = (Arc::clone(wire), Arc::clone(&api.traffic));
    App::new()
        .wrap(from_fn(move |request, next| {
            edge::edge(Arc::clone(&wire), Arc::clone(&traffic), request, next)
        }))
        .configure(|config| routes(config, api))
}

/// Registers every route; one setup for the server and for tests.
pub fn routes(config: &mut web::ServiceConfig, api: &Api) {
    config.app_data(web::Data::new(api.clone()));
    for spec in &OPERATIONS {
        let operation = spec.operation;
        let allowed = spec.method.as_str();
        let resource = || {
            let method = match spec.method {
                brownstone_domain::Method::Get => web::get(),
                brownstone_domain::Method::Post => web::post(),
            };
            web::resource(spec.path)
                .route(method.to(move |req, payload, api| call(operation, req, payload, api)))
                .default_service(web::to(move |req: HttpRequest| async move {
                    respond::method_not_allowed(&req, allowed)
                }))
        };
        if operation == Operation::LookupProperty {
            // A report is there compressed: no answer passes the compressor for nothing.
            let ready = guard::fn_guard(|context| is_ready(context.head().headers()));
            config.service(resource().guard(ready));
        }
        config.service(resource().wrap(Compress::default()));
    }
    plain(config, "/healthz", |_, _| {
        Box::pin(async { HttpResponse::Ok().json(json!({"status": "ok"})) })
    });
    plain(config, "/readyz", |_, api| {
        let readiness = Arc::clone(&api.readiness);
        Box::pin(async move {
            match readiness().await {
                Ok(body) => HttpResponse::Ok().json(body),
                Err(body) => HttpResponse::ServiceUnavailable().json(body),
            }
        })
    });
    plain(config, "/version", |_, api| {
        let version = api.version.clone();
        Box::pin(async move { HttpResponse::Ok().json(version) })
    });
    plain(config, "/openapi.json", |req, api| {
        let answer = document(&req, api);
        Box::pin(async move { answer })
    });
    for mount in &api.beside {
        mount(config);
    }
    config.default_service(web::to(|req: HttpRequest| async move {
        respond::failure(&req, &Failure::no_such_path())
    }));
}

/// The OpenAPI document, made for the first who asks; 304 for one who has it.
fn document(req: &HttpRequest, api: &Api) -> HttpResponse {
    let ready = match api.document.get() {
        Some(ready) => ready,
        None => match openapi::Ready::new(&api.service.sources(), &api.base_url) {
            Ok(ready) => api.document.get_or_init(|| ready),
            Err(error) => return respond::failure(req, &Failure::internal(error)),
        },
    };
    let known = req.headers().get(header::IF_NONE_MATCH);
    let known = known.and_then(|value| value.to_str().ok());
    // A compressed copy comes back with a weak validator or the strong one; both name this document.
    let same = known.is_some_and(|known| {
        known
            .split(',')
            .map(|one| one.trim().trim_start_matches("W/"))
            .any(|one| one == ready.etag || one == "*")
    });
    let mut response = match same {
        true => HttpResponse::NotModified(),
        false => HttpResponse::Ok(),
    };
    response.insert_header((header::ETAG, ready.etag.as_str()));
    response.insert_header((header::CACHE_CONTROL, "no-cache"));
    if same {
        return response.finish();
    }
    response.content_type("application/json");
    response.body(BoxBody::new(Pieces::new(vec![ready.bytes.clone()])))
}

type Plain = fn(HttpRequest, &Api) -> LocalBoxFuture<'static, HttpResponse>;

/// A path for machines that look after the process: `GET` and `HEAD`, no key, JSON.
fn plain(config: &mut web::ServiceConfig, path: &str, answer: Plain) {
    let handler = move |req: HttpRequest, api: web::Data<Api>| answer(req, &api);
    config.service(
        web::resource(path)
            .route(web::get().to(handler))
            .route(web::head().to(handler))
            .default_service(web::to(|req: HttpRequest| async move {
                respond::method_not_allowed(&req, "GET, HEAD")
            }))
            .wrap(Compress::default()),
    );
}

async fn call(
    operation: Operation,
    req: HttpRequest,
    payload: web::Payload,
    api: web::Data<Api>,
) -> HttpResponse {
    match run(operation.spec(), &req, payload, &api).await {
        Ok(answer) => respond::success(&req, &answer),
        Err(failure) => respond::failure(&req, &failure),
    }
}

async fn run(
    spec: &'static OperationSpec,
    req: &HttpRequest,
    payload: web::Payload,
    api: &Api,
) -> Result<brownstone_service::Answer, Failure> {
    let authorization = request::authorization(req.headers());
    let id = edge::request_id(req);
    let caller = api
        .service
        .authenticate_call(authorization, Surface::Rest, spec.operation, &id)
        .await?;
    let body = match request::body(req, payload, spec).await {
        Ok(body) => body,
        Err(failure) => {
            api.service
                .count_failure(&caller, Surface::Rest, spec.operation, &id, &failure);
            return Err(failure);
        }
    };
    api.service
        .call(Call {
            surface: Surface::Rest,
            operation: spec.operation,
            caller,
            request_id: id,
            body,
        })
        .await
}
