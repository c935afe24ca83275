//! What the tests share: every route of the program, and for whom it is there.

/// A listener of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// The API's.
    Api,
    /// The web host's.
    Web,
}

/// For whom a route is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum For {
    /// Whoever has a key; in the OpenAPI document.
    Key,
    /// Machines that look after the process, and MCP with a key: beside the OpenAPI document, on purpose.
    Beside,
    /// Everybody.
    All,
    /// Whoever is signed in.
    Signed,
    /// The owner of what the path names.
    Owner,
    /// Those with the role `support` or `admin`.
    Support,
}

/// A route: where, whether it is looked at or takes a form, and for whom.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// The listener.
    pub host: Host,
    /// Whether `GET` is answered.
    pub get: bool,
    /// Whether `POST` is.
    pub post: bool,
    /// The path, as the program registers it.
    pub path: &'static str,
    /// For whom.
    pub whose: For,
}

const fn route(host: Host, methods: &str, path: &'static str, whose: For) -> Route {
    let bytes = methods.as_bytes();
    Route {
        host,
        get: bytes[0] == b'G',
        post: bytes[bytes.len() - 1] == b'P',
        path,
        whose,
    }
}

/// Every route there is. `tidy` holds it to what the sources register, and the matrices of the tests of the real program go through it.
pub const ROUTES: &[Route] = &[
    route(Host::Api, "P", "/v1/lookup", For::Key),
    route(Host::Api, "P", "/v1/search", For::Key),
    route(Host::Api, "P", "/v1/comps", For::Key),
    route(Host::Api, "P", "/v1/rentals", For::Key),
    route(Host::Api, "P", "/v1/updates", For::Key),
    route(Host::Api, "P", "/v1/rates", For::Key),
    route(Host::Api, "G", "/v1/usage", For::Key),
    route(Host::Api, "G", "/healthz", For::Beside),
    route(Host::Api, "G", "/readyz", For::Beside),
    route(Host::Api, "G", "/version", For::Beside),
    route(Host::Api, "G", "/openapi.json", For::Beside),
    route(Host::Api, "P", "/mcp", For::Beside),
    route(Host::Web, "G", "/", For::All),
    route(Host::Web, "G", "/robots.txt", For::All),
    route(Host::Web, "G", "/docs", For::All),
    route(Host::Web, "G", "/docs/{page}", For::All),
    route(Host::Web, "GP", "/sign-up", For::All),
    route(Host::Web, "GP", "/sign-in", For::All),
    route(Host::Web, "G", "/sign-in/oidc", For::All),
    route(Host::Web, "G", "/sign-in/oidc/callback", For::All),
    route(Host::Web, "GP", "/link/{token}", For::All),
    route(Host::Web, "P", "/sign-out", For::Signed),
    route(Host::Web, "GP", "/again", For::Signed),
    route(Host::Web, "GP", "/lookup", For::Signed),
    route(Host::Web, "G", "/property/{id}", For::Signed),
    route(Host::Web, "G", "/property/{id}/{slug}", For::Signed),
    route(Host::Web, "G", "/property/{id}/report.json", For::Signed),
    route(Host::Web, "G", "/suggest", For::Signed),
    route(Host::Web, "G", "/search", For::Signed),
    route(Host::Web, "G", "/dashboard", For::Signed),
    route(Host::Web, "G", "/dashboard/budget.json", For::Signed),
    route(Host::Web, "G", "/dashboard/usage", For::Signed),
    route(Host::Web, "GP", "/dashboard/keys", For::Signed),
    route(Host::Web, "P", "/dashboard/keys/{id}/rotate", For::Owner),
    route(Host::Web, "P", "/dashboard/keys/{id}/revoke", For::Owner),
    route(Host::Web, "G", "/dashboard/account", For::Signed),
    route(
        Host::Web,
        "G",
        "/dashboard/account/export.json",
        For::Signed,
    ),
    route(Host::Web, "P", "/dashboard/account/password", For::Signed),
    route(Host::Web, "P", "/dashboard/account/delete", For::Signed),
    route(
        Host::Web,
        "P",
        "/dashboard/account/sessions/others",
        For::Signed,
    ),
    route(
        Host::Web,
        "P",
        "/dashboard/account/sessions/{id}",
        For::Owner,
    ),
    route(Host::Web, "G", "/support", For::Support),
    route(Host::Web, "GP", "/support/audit", For::Support),
    route(Host::Web, "G", "/support/accounts/{id}", For::Support),
    route(
        Host::Web,
        "P",
        "/support/accounts/{id}/{action}",
        For::Support,
    ),
];
