//! `/_control/...`: the switches over HTTP, for a test whose city runs in another process.

use std::time::Duration;

use actix_web::{
    HttpResponse,
    web::{self, Data, Json, Path, ServiceConfig},
};
use serde::Deserialize;
use serde_json::Map;

use crate::{ColumnType, Control, Fault};

pub(super) fn routes(config: &mut ServiceConfig) {
    config.service(
        web::scope("/_control")
            .route("/faults", web::get().to(faults))
            .route("/faults", web::delete().to(clear_faults))
            .route("/faults/{name}", web::put().to(set_fault))
            .route("/faults/{name}", web::delete().to(clear_fault))
            .route("/latency", web::delete().to(clear_latencies))
            .route("/latency/{name}", web::put().to(set_latency))
            .route("/calls", web::get().to(calls))
            .route("/calls", web::delete().to(reset_calls))
            .route("/queries/{name}", web::get().to(queries))
            .route("/app_token", web::put().to(set_token))
            .route("/datasets/{name}", web::put().to(load))
            .route("/datasets/{name}", web::delete().to(unload)),
    );
}

/// `{"millis": 200}`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Latency {
    millis: u64,
}

/// `{"token": "..."}`, null for none.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Token {
    token: Option<String>,
}

/// `{"columns": [["bin", "text"]], "rows": [{"bin": "1015862"}]}`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Load {
    #[serde(default)]
    columns: Vec<(String, ColumnType)>,
    rows: Vec<Map<String, serde_json::Value>>,
}

fn done() -> HttpResponse {
    HttpResponse::NoContent().finish()
}

async fn faults(control: Data<Control>) -> HttpResponse {
    HttpResponse::Ok().json(control.faults())
}

async fn clear_faults(control: Data<Control>) -> HttpResponse {
    control.clear_faults();
    done()
}

async fn set_fault(name: Path<String>, fault: Json<Fault>, control: Data<Control>) -> HttpResponse {
    control.set_fault(&name, fault.into_inner());
    done()
}

async fn clear_fault(name: Path<String>, control: Data<Control>) -> HttpResponse {
    control.clear_fault(&name);
    done()
}

async fn clear_latencies(control: Data<Control>) -> HttpResponse {
    control.clear_latencies();
    done()
}

async fn set_latency(
    name: Path<String>,
    latency: Json<Latency>,
    control: Data<Control>,
) -> HttpResponse {
    control.set_latency(&name, Duration::from_millis(latency.millis));
    done()
}

async fn calls(control: Data<Control>) -> HttpResponse {
    HttpResponse::Ok().json(control.all_calls())
}

async fn reset_calls(control: Data<Control>) -> HttpResponse {
    control.reset_calls();
    done()
}

async fn queries(name: Path<String>, control: Data<Control>) -> HttpResponse {
    HttpResponse::Ok().json(control.queries(&name))
}

async fn set_token(token: Json<Token>, control: Data<Control>) -> HttpResponse {
    control.require_app_token(token.into_inner().token);
    done()
}

async fn load(name: Path<String>, load: Json<Load>, control: Data<Control>) -> HttpResponse {
    let load = load.into_inner();
    control.load(&name, load.columns, load.rows);
    done()
}

async fn unload(name: Path<String>, control: Data<Control>) -> HttpResponse {
    control.unload(&name);
    done()
}
