//! `/api/views/{id}.json`: what a dataset is called, what columns it has, when its rows last changed.

use actix_web::{
    HttpRequest, HttpResponse,
    web::{self, Data, Path, ServiceConfig},
};
use serde_json::json;

use super::faults;
use crate::{Control, VIEWS};

pub(super) fn routes(config: &mut ServiceConfig) {
    config.route("/api/views/{id}.json", web::get().to(view));
}

async fn view(request: HttpRequest, id: Path<String>, control: Data<Control>) -> HttpResponse {
    let id = id.into_inner();
    let plan = control.begin(VIEWS, request.path());
    faults::meet(plan, || {
        let Some(table) = control.table(&id) else {
            return faults::missing(&id);
        };
        let columns: Vec<_> = (table.columns.iter().enumerate())
            .map(|(at, column)| {
                json!({
                    "id": 634_001_031 + at,
                    "name": column.name.replace('_', " "),
                    "dataTypeName": column.kind.metadata_name(),
                    "fieldName": column.name,
                    "position": at + 1,
                    "renderTypeName": column.kind.metadata_name(),
                })
            })
            .collect();
        HttpResponse::Ok()
            .content_type("application/json;charset=utf-8")
            .body(
                json!({
                    "id": table.id,
                    "name": table.name,
                    "assetType": "dataset",
                    "attribution": table.attribution,
                    "displayType": "table",
                    "newBackend": true,
                    "provenance": "official",
                    "publicationStage": "published",
                    "rowsUpdatedAt": table.updated_at,
                    "viewLastModified": table.updated_at,
                    "viewType": "tabular",
                    "columns": columns,
                })
                .to_string(),
            )
    })
    .await
}
