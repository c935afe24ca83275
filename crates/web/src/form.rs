//! What a form or a query sent.

use secrecy::SecretString;

/// Fields in the order sent; the first of a name counts.
#[derive(Clone, Default)]
pub struct Form(Vec<(String, String)>);

impl std::fmt::Debug for Form {
    /// Names alone: values may be secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|(name, _)| name))
            .finish()
    }
}

impl Form {
    /// Reads `application/x-www-form-urlencoded` text. Nothing is refused here: what is missing is empty.
    pub fn parse(sent: &[u8]) -> Self {
        Self(url::form_urlencoded::parse(sent).into_owned().collect())
    }

    /// A field, blanks around it dropped; empty where it was not sent.
    pub fn get(&self, name: &str) -> &str {
        self.raw(name).trim()
    }

    /// Every value of a field that was sent and is not blank, blanks around it dropped.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let sent = self.0.iter().filter(move |(sent, _)| sent == name);
        sent.map(|(_, value)| value.trim())
            .filter(|value| !value.is_empty())
    }

    /// A field exactly as sent, as a secret.
    pub fn secret(&self, name: &str) -> SecretString {
        SecretString::from(self.raw(name))
    }

    fn raw(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(sent, _)| sent == name);
        found.map_or("", |(_, value)| value)
    }

    /// Where to go on: a path of this host, or `otherwise`.
    pub fn next(&self, otherwise: &str) -> String {
        own_path(self.get("next")).unwrap_or(otherwise).to_owned()
    }
}

/// A path on this host: it begins with one slash, and holds nothing that a browser reads as another host or line.
pub fn own_path(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('/')?;
    let fits = text.len() <= 500
        && !rest.starts_with(['/', '\\'])
        && text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    fits.then_some(text)
}

/// A value inside a query.
pub fn encode(value: &str) -> String {
    url::form_urlencoded::byte_serialize(value.as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_own_paths_are_followed() {
        for good in ["/", "/dashboard", "/property/1008350041/x?y=1#z"] {
            assert_eq!(own_path(good), Some(good));
        }
        for bad in [
            "",
            "dashboard",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "/a\\b",
            "/a\nb",
            "/\tb",
            "javascript:alert(1)",
            "/é",
        ] {
            assert_eq!(own_path(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn the_first_of_a_name_counts_and_nothing_secret_is_printed() {
        let form = Form::parse(b"a=1&a=2&password=s+e%20cret&b=+x+");
        assert_eq!(
            (form.get("a"), form.get("b"), form.get("c")),
            ("1", "x", "")
        );
        assert!(!format!("{form:?}").contains("cret"));
    }

    proptest! {
        #[test]
        fn an_own_path_never_leaves_the_host(text in "[/\\\\a-z.:@\\t ]{0,12}") {
            if let Some(path) = own_path(&text) {
                let base = url::Url::parse("http://here.example/page").unwrap();
                let joined = base.join(path).unwrap();
                prop_assert_eq!(joined.host_str(), Some("here.example"));
            }
        }
    }
}
