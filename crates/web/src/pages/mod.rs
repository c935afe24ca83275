//! The pages.

pub mod account;
pub mod dashboard;
pub mod docs;
pub mod entry;
pub mod home;
pub mod keys;
pub mod oidc;
pub mod property;
pub mod reference;
pub mod search;
pub mod suggest;
pub mod support;

use actix_web::web;

/// Registers every page.
pub fn routes(config: &mut web::ServiceConfig) {
    config
        .route("/", web::get().to(home::home))
        .service(form(
            "/sign-up",
            web::get().to(entry::sign_up_form),
            web::post().to(entry::sign_up),
        ))
        .service(form(
            "/sign-in",
            web::get().to(entry::sign_in_form),
            web::post().to(entry::sign_in),
        ))
        .route(oidc::BEGIN, web::get().to(oidc::begin))
        .route(oidc::CALLBACK, web::get().to(oidc::callback))
        .service(form(
            "/again",
            web::get().to(entry::again_form),
            web::post().to(entry::again),
        ))
        .service(form(
            "/link/{token}",
            web::get().to(entry::link_form),
            web::post().to(entry::link),
        ))
        .route("/sign-out", web::post().to(entry::sign_out))
        .route("/dashboard", web::get().to(dashboard::dashboard))
        .route("/dashboard/budget.json", web::get().to(dashboard::budget))
        .route("/dashboard/usage", web::get().to(dashboard::usage))
        .service(form(
            "/dashboard/keys",
            web::get().to(keys::keys),
            web::post().to(keys::create),
        ))
        .route("/dashboard/keys/{id}/rotate", web::post().to(keys::rotate))
        .route("/dashboard/keys/{id}/revoke", web::post().to(keys::revoke))
        .route("/dashboard/account", web::get().to(account::account))
        .route(
            "/dashboard/account/password",
            web::post().to(account::password),
        )
        .route(
            "/dashboard/account/sessions/others",
            web::post().to(account::end_others),
        )
        .route(
            "/dashboard/account/sessions/{id}",
            web::post().to(account::end),
        )
        .route(
            "/dashboard/account/export.json",
            web::get().to(account::export),
        )
        .route("/dashboard/account/delete", web::post().to(account::delete))
        .service(form(
            "/lookup",
            web::get().to(property::ask),
            web::post().to(property::lookup),
        ))
        .route("/property/{id}/report.json", web::get().to(property::json))
        .route("/property/{id}", web::get().to(property::property))
        .route("/property/{id}/{slug}", web::get().to(property::property))
        .route("/suggest", web::get().to(suggest::suggest))
        .route("/search", web::get().to(search::search))
        .route("/support", web::get().to(support::find))
        .service(form(
            "/support/audit",
            web::get().to(support::audit),
            web::post().to(support::verify),
        ))
        .route("/support/accounts/{id}", web::get().to(support::account))
        .route(
            "/support/accounts/{id}/{action}",
            web::post().to(support::change),
        )
        .route("/docs", web::get().to(docs::quick_start))
        .route("/docs/{page}", web::get().to(docs::page));
}

/// A path that shows a form and takes it.
fn form(path: &str, shows: actix_web::Route, takes: actix_web::Route) -> actix_web::Resource {
    web::resource(path).route(shows).route(takes)
}
