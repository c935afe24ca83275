//! A request, built so that no text in it changes where it goes.

use bytes::Bytes;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::HeaderMap;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::config::header_pair;
use crate::error::Fault;

/// Everything but the unreserved characters of RFC 3986: slashes, question marks, percent and plus signs among them.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Publishers refuse longer addresses (about 1,100 ids in one condition are a 414 at the city's).
const MAX_URL_BYTES: usize = 16 * 1024;

/// A request below the upstream's base address: a GET, or the POST of a form where [`Request::post_form`] made it.
///
/// ```
/// use brownstone_upstream::Request;
/// let request = Request::get(["resource", "6bgk-3dad.json"])
///     .query("$where", "bin = '1015862'")
///     .breaker("6bgk-3dad");
/// assert_eq!(request.path(), "/resource/6bgk-3dad.json");
/// ```
#[derive(Debug, Clone, Default)]
pub struct Request {
    segments: Vec<String>,
    query: Vec<(String, String)>,
    headers: Vec<(String, String)>,
    secret_query: Vec<(String, SecretString)>,
    secret_headers: Vec<(String, SecretString)>,
    breaker_key: Option<String>,
    /// The fields of a form that is posted; `None` for a GET.
    form: Option<Vec<(String, SecretString)>>,
}

impl Request {
    /// A request for a path of these segments. Each is percent-encoded whole: a slash in one stays in it.
    pub fn get<S: Into<String>>(segments: impl IntoIterator<Item = S>) -> Self {
        Self {
            segments: segments.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// The POST of a form to a path of these segments; of none, to the base address itself. It is tried again like a GET, so
    /// it is for what may happen twice: asking for a token.
    pub fn post_form<S: Into<String>>(segments: impl IntoIterator<Item = S>) -> Self {
        Self {
            form: Some(Vec::new()),
            ..Self::get(segments)
        }
    }

    /// Adds a field of the form, which no log shows. A GET has none: it becomes a POST.
    #[must_use]
    pub fn field(mut self, name: impl Into<String>, value: impl Into<SecretString>) -> Self {
        let form = self.form.get_or_insert_default();
        form.push((name.into(), value.into()));
        self
    }

    /// Adds a query parameter; name and value are percent-encoded whole.
    #[must_use]
    pub fn query(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.query.push((name.into(), value.into()));
        self
    }

    /// Adds a query parameter that no log may show, for publishers that take their key no other way.
    #[must_use]
    pub fn secret_query(mut self, name: impl Into<String>, value: SecretString) -> Self {
        self.secret_query.push((name.into(), value));
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Adds a header that no log may show.
    #[must_use]
    pub fn secret_header(mut self, name: impl Into<String>, value: SecretString) -> Self {
        self.secret_headers.push((name.into(), value));
        self
    }

    /// Puts the request under the breaker of `key`: a dataset, for one. Without it none is asked.
    #[must_use]
    pub fn breaker(mut self, key: impl Into<String>) -> Self {
        self.breaker_key = Some(key.into());
        self
    }

    /// The breaker's key.
    pub fn breaker_key(&self) -> Option<&str> {
        self.breaker_key.as_deref()
    }

    /// The path below the base address, encoded; no query. Fit for a log.
    pub fn path(&self) -> String {
        let mut path = String::new();
        for segment in &self.segments {
            path.push('/');
            path.extend(utf8_percent_encode(segment, ESCAPED));
        }
        path
    }

    /// The whole address.
    pub(crate) fn url(&self, base: &Url) -> Result<Url, Fault> {
        // The dots alone survive encoding with a meaning of their own; an empty segment would double a slash.
        let dots = |segment: &String| matches!(segment.as_str(), "" | "." | "..");
        if self.segments.iter().any(dots) {
            return Err(Fault::Refused("an empty or a dot segment in the path"));
        }
        let secrets = self
            .secret_query
            .iter()
            .map(|(name, value)| (name, value.expose_secret()));
        let mut query = String::new();
        for (name, value) in self
            .query
            .iter()
            .map(|(n, v)| (n, v.as_str()))
            .chain(secrets)
        {
            if name.is_empty() {
                return Err(Fault::Refused("a query parameter without a name"));
            }
            if !query.is_empty() {
                query.push('&');
            }
            query.extend(utf8_percent_encode(name, ESCAPED));
            query.push('=');
            query.extend(utf8_percent_encode(value, ESCAPED));
        }
        let mut url = base.clone();
        let prefix = base.path().trim_end_matches('/');
        url.set_path(&format!("{prefix}{}", self.path()));
        url.set_query((!query.is_empty()).then_some(query.as_str()));
        if url.as_str().len() > MAX_URL_BYTES {
            return Err(Fault::Refused("the address is too long"));
        }
        Ok(url)
    }

    /// The body of a POST, as `application/x-www-form-urlencoded`; `None` for a GET.
    pub(crate) fn body(&self) -> Option<Bytes> {
        let mut body = url::form_urlencoded::Serializer::new(String::new());
        for (name, value) in self.form.as_ref()? {
            body.append_pair(name, value.expose_secret());
        }
        Some(body.finish().into())
    }

    /// The request's own headers.
    pub(crate) fn header_map(&self) -> Result<HeaderMap, Fault> {
        let plain = self
            .headers
            .iter()
            .map(|(name, value)| (name, value.as_str(), false));
        let secret = self
            .secret_headers
            .iter()
            .map(|(name, value)| (name, value.expose_secret(), true));
        plain
            .chain(secret)
            .map(|(name, value, sensitive)| header_pair(name, value, sensitive))
            .collect::<Option<HeaderMap>>()
            .ok_or(Fault::Refused("a header that HTTP does not allow"))
    }
}

#[cfg(test)]
mod tests {
    use percent_encoding::percent_decode_str;
    use proptest::prelude::*;

    use super::*;

    fn base() -> Url {
        Url::parse("https://data.cityofnewyork.us/base/").unwrap()
    }

    /// Any text, and text that likes to travel.
    fn hostile() -> impl Strategy<Value = String> {
        prop_oneof![
            "\\PC{0,20}",
            "[-./\\\\%?#&=+;:@ a2eEfF\r\n\t\u{0}]{0,20}",
            prop::sample::select(vec![
                "..",
                ".",
                "%2e%2e",
                "%2E.",
                "../..",
                "/../",
                "..%2f",
                "?x=1",
                "#f",
                "a&b=c",
                "\r\nHost: evil",
                "//evil",
                "\\evil",
                "@evil",
                "1 + 1",
                "O'BRIEN",
            ])
            .prop_map(str::to_owned),
        ]
    }

    proptest! {
        #[test]
        fn no_text_changes_the_path_or_adds_a_parameter(
            segments in prop::collection::vec(hostile(), 1..4),
            pairs in prop::collection::vec((hostile(), hostile()), 0..4),
        ) {
            let mut request = Request::get(segments.clone());
            for (name, value) in &pairs {
                request = request.query(name, value);
            }
            let refused = segments.iter().any(|s| matches!(s.as_str(), "" | "." | ".."))
                || pairs.iter().any(|(name, _)| name.is_empty());
            let Ok(url) = request.url(&base()) else {
                prop_assert!(refused);
                return Ok(());
            };
            prop_assert!(!refused);
            // What a server reads from the line, by the strictest and by the laxest reading.
            let read = Url::parse(url.as_str()).unwrap();
            prop_assert_eq!(read.as_str(), url.as_str(), "parsing again changes nothing");
            prop_assert_eq!((read.scheme(), read.host_str(), read.port()), ("https", Some("data.cityofnewyork.us"), None));
            prop_assert!(read.username().is_empty() && read.password().is_none() && read.fragment().is_none());
            let decode = |text: &str| percent_decode_str(text).decode_utf8().unwrap().into_owned();
            let path: Vec<String> = read.path_segments().unwrap().map(decode).collect();
            prop_assert_eq!(&path[0], "base");
            prop_assert_eq!(&path[1..], segments.as_slice());
            let raw: Vec<(String, String)> = read.query().into_iter()
                .flat_map(|query| query.split('&'))
                .map(|pair| { let (name, value) = pair.split_once('=').unwrap(); (decode(name), decode(value)) })
                .collect();
            prop_assert_eq!(&raw, &pairs);
            let form: Vec<(String, String)> = read.query_pairs().into_owned().collect();
            prop_assert_eq!(form, pairs, "the same to a server that reads a plus sign as a blank");
            prop_assert!(url.as_str().bytes().all(|b| b.is_ascii_graphic()));
        }
    }

    #[test]
    fn an_address_is_encoded_whole() {
        let request = Request::get(["resource", "6bgk-3dad.json"])
            .query("$where", "a = 'b+c' and d like '%'")
            .query("$limit", "1");
        assert_eq!(
            request.url(&base()).unwrap().as_str(),
            "https://data.cityofnewyork.us/base/resource/6bgk-3dad.json?%24where=a%20%3D%20%27b%2Bc%27%20and%20d%20like%20%27%25%27&%24limit=1"
        );
    }

    #[test]
    fn too_long_an_address_is_refused() {
        let request = Request::get(["resource"]).query("q", "x".repeat(MAX_URL_BYTES));
        assert_eq!(
            request.url(&base()),
            Err(Fault::Refused("the address is too long"))
        );
    }

    #[test]
    fn secrets_are_sent_and_not_shown() {
        let request = Request::get(["fred"])
            .secret_query("api_key", "hunter2".into())
            .secret_header("x-app-token", "hunter2".into());
        assert!(
            request
                .url(&base())
                .unwrap()
                .as_str()
                .ends_with("?api_key=hunter2")
        );
        assert_eq!(request.header_map().unwrap()["x-app-token"], "hunter2");
        let shown = format!(
            "{request:?} {:?} {}",
            request.header_map().unwrap(),
            request.path()
        );
        assert!(!shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn a_form_is_encoded_whole_and_not_shown() {
        let request = Request::post_form(Vec::<String>::new())
            .field("grant_type", "client_credentials")
            .field("client_secret", "hunter2 &=+%\u{e9}");
        assert_eq!(request.path(), "");
        assert_eq!(request.url(&base()).unwrap().path(), "/base");
        let body = request.body().unwrap();
        assert_eq!(
            body,
            "grant_type=client_credentials&client_secret=hunter2+%26%3D%2B%25%C3%A9"
        );
        assert!(!format!("{request:?}").contains("hunter2"));
        assert_eq!(Request::get(["x"]).body(), None);
        assert_eq!(Request::post_form(["x"]).body(), Some(Bytes::new()));
    }

    #[test]
    fn a_header_that_would_split_is_refused() {
        let request = Request::get(["x"]).header("accept", "a\r\nb: c");
        assert!(request.header_map().is_err());
        assert!(Request::get(["x"]).header("a b", "c").header_map().is_err());
    }
}
