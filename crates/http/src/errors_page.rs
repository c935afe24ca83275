//! The page of all error codes, of the code table.

use brownstone_domain::ERROR_CODES;

/// The page, in Markdown.
pub fn markdown() -> String {
    let mut page = String::from(
        "# Errors\n\n\
Every failure has this body, with the HTTP status of its code, and the same identifier in the header `x-request-id`:\n\n\
```json\n{\"code\": \"not_found\", \"message\": \"...\", \"request_id\": \"01a21fa9-1f5a-7437-8517-e93e3af0f950\"}\n```\n\n\
The set of codes is closed, and a code keeps its status and its meaning. A failure costs nothing. Any 4xx but 429 does not succeed on \
retry unless the request changes. What the HTTP parser itself refuses (400, 408, 431) has no body.\n\n\
| code | status | a retry helps |\n|---|---|---|\n",
    );
    for row in &ERROR_CODES {
        let retry = match (row.retry, row.status) {
            (true, 429) => "yes, after `Retry-After`; without it never",
            (true, _) => "yes, with backoff",
            (false, _) => "no",
        };
        page.push_str(&format!(
            "| [`{}`](#{}) | {} | {retry} |\n",
            row.name, row.name, row.status
        ));
    }
    for row in &ERROR_CODES {
        page.push_str(&format!(
            "\n## {}\n\nStatus {}. {}\n\nWhat to do: {}\n\nFor example: {}\n",
            row.name, row.status, row.cause, row.advice, row.example
        ));
    }
    page
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_code_has_its_part() {
        let page = super::markdown();
        for row in &brownstone_domain::ERROR_CODES {
            assert!(page.contains(&format!("## {}\n\nStatus {}.", row.name, row.status)));
        }
    }
}
