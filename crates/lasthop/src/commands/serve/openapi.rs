//! Description of the HTTP interface (OpenAPI 3.1), from the types that it uses.

use super::api::{CaptureState, Change, Changed, ProfileName, Record};
use crate::remote::{Running, Status};
use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Value, json};

/// Returns the description.
pub fn description() -> Value {
    // OpenAPI 3.1 uses the JSON Schema of 2020-12.
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut schemas = settings.into_generator();
    let id = json!([{
        "name": "id",
        "in": "path",
        "required": true,
        "description": "ID of the link, or its first digits",
        "schema": { "type": "string" },
    }]);
    let error = json!({
        "description": "the error, as text for people",
        "content": { "application/json": { "schema": {
            "type": "object",
            "required": ["error"],
            "properties": { "error": { "type": "string" } },
        } } },
    });
    let get = |summary: &str, schema: Value| {
        json!({
            "summary": summary,
            "responses": { "200": content("the answer", &schema), "default": error },
        })
    };
    let post = |summary: &str, body: Value, schema: Value| {
        let mut operation = get(summary, schema);
        operation["requestBody"] = content("the request", &body);
        operation["requestBody"]["required"] = true.into();
        operation
    };
    let paths = json!({
        "/api/openapi.json": { "get": {
            "summary": "This description",
            "security": [],
            "responses": { "200": content("the description", &json!({ "type": "object" })) },
        } },
        "/api/links": {
            "get": get("The running links", list::<Running>(&mut schemas)),
        },
        "/api/links/{id}": {
            "parameters": id,
            "get": get("State of a link. Counters are those since its start; flows are counted from the first call on",
                one::<Status>(&mut schemas)),
        },
        "/api/links/{id}/set": {
            "parameters": id,
            "post": post("Change parameters of a link", one::<Change>(&mut schemas), one::<Changed>(&mut schemas)),
        },
        "/api/links/{id}/capture": {
            "parameters": id,
            "get": get("The capture that goes on", one::<CaptureState>(&mut schemas)),
            "post": post("Begin or end a capture", one::<Record>(&mut schemas), one::<CaptureState>(&mut schemas)),
        },
        "/api/links/{id}/capture/file": {
            "parameters": id,
            "get": {
                "summary": "The last capture of a link",
                "responses": {
                    "200": { "description": "pcapng", "content": { "application/x-pcapng": {} } },
                    "default": error,
                },
            },
        },
        "/api/profiles": {
            "get": get("The link and loss profiles", list::<ProfileName>(&mut schemas)),
        },
        "/api/addresses": {
            "get": get("Addresses under which other machines reach this server", list::<String>(&mut schemas)),
        },
    });
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "lasthop serve",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Running emulated links of this machine: their state, and changes.",
        },
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": schemas.take_definitions(true),
        },
    })
}

fn one<T: JsonSchema>(schemas: &mut SchemaGenerator) -> Value {
    schemas.subschema_for::<T>().to_value()
}

fn list<T: JsonSchema>(schemas: &mut SchemaGenerator) -> Value {
    json!({ "type": "array", "items": one::<T>(schemas) })
}

fn content(description: &str, schema: &Value) -> Value {
    json!({ "description": description, "content": { "application/json": { "schema": schema } } })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_description_of_the_interface() {
        let text = serde_json::to_string_pretty(&super::description()).expect("JSON");
        insta::assert_snapshot!(text);
    }
}
