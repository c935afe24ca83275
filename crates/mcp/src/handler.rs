//! The protocol's methods over the service.

use brownstone_domain::{RequestId, Surface};
use brownstone_service::{Call, Caller, Failure, Service, body};
use bytes::Bytes;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    },
    service::RequestContext,
};
use rmcp_actix_web::transport::on_request_extensions;
use serde_json::{Value, json};
use tracing::{Instrument as _, Span};

use crate::{arguments, result, tools};

/// How long a client may keep the list of tools, in milliseconds.
const LIST_TTL_MS: u64 = 300_000;

/// Who calls, and by which identity the call is known: handed from the guard to the handler.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) caller: Caller,
    pub(crate) request_id: RequestId,
    /// A key that came twice among the arguments: by now one of its values is gone.
    pub(crate) twice: Option<String>,
    /// The request's span: the protocol's library runs the handler in a task of its own.
    pub(crate) span: Span,
}

/// One server for every request: it remembers nothing.
#[derive(Clone)]
pub(crate) struct Handler {
    pub(crate) service: Service,
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("brownstone", env!("CARGO_PKG_VERSION")))
            .with_instructions(tools::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all().collect())
            .with_ttl_ms(LIST_TTL_MS)
            .with_cache_scope(CacheScope::Private))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::operation(name).and_then(tools::tool)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(spec) = tools::operation(&request.name) else {
            let names: Vec<String> = tools::all().map(|tool| tool.name.to_string()).collect();
            return Err(ErrorData::invalid_params(
                format!("Unknown tool. The tools are {}.", names.join(", ")),
                None,
            ));
        };
        let identity = on_request_extensions(&context.extensions)
            .and_then(|extensions| extensions.get::<Identity>())
            .cloned();
        let Some(Identity {
            caller,
            request_id,
            twice,
            span,
        }) = identity
        else {
            // The guard lets nobody through without one.
            return Err(broken("no identity", None));
        };
        let arguments = request.arguments.unwrap_or_default();
        if let Some(key) = twice {
            // Of two faults REST names the unknown field, too.
            let unknown = body::unknown_fields(arguments.keys().map(String::as_str), spec);
            let failure = Failure::from(unknown.unwrap_or_else(|| body::duplicate_field(&key)));
            span.in_scope(|| {
                let (service, operation) = (&self.service, spec.operation);
                service.count_failure(&caller, Surface::Mcp, operation, &request_id, &failure);
            });
            return Ok(result::failure(&failure, request_id.as_str()).into());
        }
        let body = Value::Object(arguments::body(spec.operation, arguments));
        let call = Call {
            surface: Surface::Mcp,
            operation: spec.operation,
            caller,
            request_id: request_id.clone(),
            body: Bytes::from(body.to_string()),
        };
        match self.service.call(call).instrument(span).await {
            Ok(answer) => result::success(spec, &answer)
                .map(Into::into)
                .map_err(|error| broken(&error.to_string(), Some(&request_id))),
            Err(failure) => {
                if let Some(internal) = &failure.internal {
                    tracing::warn!(%request_id, code = failure.code.as_str(), internal, "tool failed");
                }
                Ok(result::failure(&failure, request_id.as_str()).into())
            }
        }
    }
}

/// A fault of ours: the text is for the log, the caller gets the identity to name.
fn broken(why: &str, request_id: Option<&RequestId>) -> ErrorData {
    tracing::error!(why, "a tool broke");
    let data = request_id.map(|id| json!({"request_id": id.as_str()}));
    ErrorData::internal_error("Something went wrong on our side.", data)
}
