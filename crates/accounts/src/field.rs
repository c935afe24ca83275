//! Values that people type: what is let in, and an error that names the field.

/// A value that was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct FieldError {
    /// Which field.
    pub field: &'static str,
    /// What is wrong with it and what is allowed, for a person.
    pub problem: &'static str,
}

/// Greatest length of an e-mail address: what a mail server takes (RFC 5321).
const EMAIL_MAX: usize = 254;
/// Greatest length of what stands before the @.
const LOCAL_MAX: usize = 64;
const NAME_MAX: usize = 100;
const REASON_MAX: usize = 500;

/// An e-mail address in the form it is kept and looked up in: lower case.
///
/// Printable ASCII only: two spellings of one letter must not make two accounts. International domains come in their `xn--` form.
///
/// ```
/// use brownstone_accounts::field::normalise_email;
/// assert_eq!(normalise_email("Demo@Example.COM").unwrap(), "demo@example.com");
/// assert_eq!(normalise_email("demo.example.com").unwrap_err().field, "email");
/// ```
///
/// # Errors
/// Names the field and what is wrong.
pub fn normalise_email(text: &str) -> Result<String, FieldError> {
    let refuse = |problem| {
        Err(FieldError {
            field: "email",
            problem,
        })
    };
    if text.is_empty() {
        return refuse("is empty");
    }
    if text.len() > EMAIL_MAX {
        return refuse("is longer than 254 characters");
    }
    if text
        .chars()
        .any(|c| c.is_whitespace() || c.is_control() || !c.is_ascii())
    {
        return refuse(
            "has a blank, a control character or a letter outside ASCII; write it as name@host",
        );
    }
    let Some((local, host)) = text.split_once('@') else {
        return refuse("has no @; write it as name@host");
    };
    if host.contains('@') {
        return refuse("has more than one @");
    }
    if local.len() > LOCAL_MAX {
        return refuse("has more than 64 characters before the @");
    }
    if !dotted(local, |byte| {
        byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte)
    }) {
        return refuse(
            "is not a plain address before the @: letters, digits and single dots, as in name@host",
        );
    }
    if !dotted(host, |byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return refuse("is not a host name after the @, as in name@host");
    }
    Ok(text.to_ascii_lowercase())
}

/// Whether `text` is non-empty runs of `allowed` bytes with single dots between.
fn dotted(text: &str, allowed: impl Fn(u8) -> bool) -> bool {
    text.split('.')
        .all(|part| !part.is_empty() && part.bytes().all(&allowed))
}

/// A key's name: 1 to 100 characters, blanks around it dropped.
///
/// # Errors
/// Names the field and what is wrong.
pub fn key_name(text: &str) -> Result<String, FieldError> {
    line("name", text, NAME_MAX, "is longer than 100 characters")
}

/// Support's reason for what it does: 1 to 500 characters, blanks around it dropped.
///
/// # Errors
/// Names the field and what is wrong.
pub fn reason(text: &str) -> Result<String, FieldError> {
    line("reason", text, REASON_MAX, "is longer than 500 characters")
}

/// One line of text: it goes into lists and logs, where a control character could forge a line.
fn line(
    field: &'static str,
    text: &str,
    max: usize,
    too_long: &'static str,
) -> Result<String, FieldError> {
    let text = text.trim();
    let problem = if text.is_empty() {
        "is empty"
    } else if text.chars().count() > max {
        too_long
    } else if text.chars().any(char::is_control) {
        "has a control character"
    } else {
        return Ok(text.to_owned());
    };
    Err(FieldError { field, problem })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plain_addresses_are_kept_in_lower_case() {
        for (typed, kept) in [
            ("demo@example.com", "demo@example.com"),
            (
                "First.Last+Tag@Sub.Example.ORG",
                "first.last+tag@sub.example.org",
            ),
            ("o'brien@localhost", "o'brien@localhost"),
            ("x@xn--bcher-kva.example", "x@xn--bcher-kva.example"),
        ] {
            assert_eq!(normalise_email(typed).as_deref(), Ok(kept));
        }
    }

    #[test]
    fn other_texts_are_refused_and_the_field_is_named() {
        let long_local = format!("{}@example.com", "a".repeat(65));
        let long = format!("a@{}.com", "b".repeat(250));
        for typed in [
            "",
            "@",
            "demo",
            "demo@",
            "@example.com",
            "a@b@c",
            "demo @example.com",
            " demo@example.com",
            "demo@example.com\n",
            "demo@exam\u{0}ple.com",
            "demo@example.com\u{a0}",
            "d\u{200b}emo@example.com",
            "dém@example.com",
            "Demo <demo@example.com>",
            "a..b@example.com",
            ".a@example.com",
            "a@example..com",
            "a@example.com.",
            "a@exa_mple.com",
            &long_local,
            &long,
        ] {
            let error = normalise_email(typed).unwrap_err();
            assert_eq!(error.field, "email", "{typed:?}");
            assert!(error.to_string().starts_with("email: "));
        }
    }

    #[test]
    fn names_and_reasons_are_one_line() {
        assert_eq!(
            key_name("  nightly import ").as_deref(),
            Ok("nightly import")
        );
        assert_eq!(reason("  ").unwrap_err().field, "reason");
        assert_eq!(
            key_name("a\nb").unwrap_err().problem,
            "has a control character"
        );
        assert!(key_name(&"é".repeat(100)).is_ok(), "characters, not bytes");
        assert!(key_name(&"é".repeat(101)).is_err());
        assert!(reason(&"r".repeat(500)).is_ok());
        assert!(reason(&"r".repeat(501)).is_err());
    }

    proptest! {
        #[test]
        fn what_is_kept_is_kept_again_unchanged(
            text in prop_oneof![any::<String>(), "[!-~]{1,70}@[!-~]{1,70}", "[A-Za-z.+]{1,10}@[A-Za-z.-]{1,10}"]
        ) {
            if let Ok(kept) = normalise_email(&text) {
                let again = normalise_email(&kept);
                prop_assert_eq!(again.as_ref(), Ok(&kept));
                prop_assert_eq!(kept.matches('@').count(), 1);
                prop_assert!(kept.bytes().all(|b| b.is_ascii_graphic() && !b.is_ascii_uppercase()));
                prop_assert!(kept.eq_ignore_ascii_case(&text));
            }
        }
    }
}
