//! Any text is a key or is not, without a panic; what is one is itself again, and says nothing of itself.
#![no_main]

use brownstone_accounts::ApiKey;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(key) = ApiKey::parse(text) else {
        return;
    };
    assert_eq!(key.expose(), text);
    assert!(text.starts_with(key.prefix()) && text.ends_with(key.last_four()));
    assert!(!format!("{key:?}").contains(text));
    // A character less, and it is none.
    assert!(ApiKey::parse(&text[1..]).is_err());
});
