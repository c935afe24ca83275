//! The tables, once for both databases.

diesel::table! {
    database_stamp (id) {
        id -> Integer,
        kind -> Text,
    }
}

diesel::table! {
    use diesel::sql_types::*;
    use crate::moment::Moment;

    accounts (id) {
        id -> Text,
        email -> Text,
        tier -> Text,
        role -> Text,
        suspended_at -> Nullable<Moment>,
        suspension_reason -> Nullable<Text>,
        per_minute -> Nullable<BigInt>,
        per_day -> Nullable<BigInt>,
        overrides_until -> Nullable<Moment>,
        created_at -> Moment,
    }
}

diesel::table! {
    use diesel::sql_types::*;
    use crate::moment::Moment;

    api_keys (id) {
        id -> Text,
        account_id -> Text,
        name -> Text,
        environment -> Text,
        hash -> Binary,
        prefix -> Text,
        last_four -> Text,
        created_at -> Moment,
        expires_at -> Nullable<Moment>,
        revoked_at -> Nullable<Moment>,
        last_used_at -> Nullable<Moment>,
    }
}

diesel::table! {
    use diesel::sql_types::*;
    use crate::moment::Moment;

    audit (id) {
        id -> BigInt,
        at -> Moment,
        actor -> Text,
        action -> Text,
        account_id -> Text,
        detail -> Text,
        number -> Nullable<BigInt>,
        hash -> Nullable<Binary>,
    }
}

diesel::table! {
    audit_head (id) {
        id -> Integer,
        lines -> BigInt,
        hash -> Binary,
        unchained -> BigInt,
    }
}

diesel::table! {
    use diesel::sql_types::*;
    use crate::moment::Moment;

    requests (sequence) {
        sequence -> BigInt,
        id -> Text,
        account_id -> Text,
        at -> Moment,
        key_id -> Text,
        surface -> Text,
        operation -> Text,
        outcome -> Text,
        units -> BigInt,
    }
}

diesel::table! {
    usage_counts (account_id, day, key_id, surface, operation) {
        account_id -> Text,
        day -> Date,
        key_id -> Text,
        surface -> Text,
        operation -> Text,
        calls -> BigInt,
        failed -> BigInt,
        units -> BigInt,
        rate_limited -> BigInt,
        permanent -> BigInt,
    }
}

diesel::table! {
    use diesel::sql_types::*;
    use crate::moment::Moment;

    usage_writers (writer) {
        writer -> Text,
        batch -> BigInt,
        forget_at -> Moment,
    }
}

diesel::table! {
    use diesel::sql_types::*;
    use crate::moment::Moment;

    reports (key) {
        key -> Text,
        body -> Binary,
        expires_at -> Moment,
    }
}

diesel::table! {
    use diesel::sql_types::*;
    use crate::moment::Moment;

    leases (name) {
        name -> Text,
        holder -> Text,
        ends_at -> Moment,
    }
}

diesel::table! {
    quota_spent (account) {
        account -> Text,
        day -> BigInt,
        spent -> BigInt,
        deficit -> Nullable<BigInt>,
        last_us -> Nullable<BigInt>,
    }
}

diesel::table! {
    use diesel::sql_types::*;
    use crate::moment::Moment;

    rate_series (id) {
        id -> Text,
        observed_on -> Text,
        rate_percent -> Double,
        points -> Nullable<Double>,
        previous_observed_on -> Nullable<Text>,
        previous_rate_percent -> Nullable<Double>,
        previous_points -> Nullable<Double>,
        fetched_at -> Moment,
    }
}

diesel::table! {
    use diesel::sql_types::*;
    use crate::moment::Moment;

    passwords (account_id) {
        account_id -> Text,
        hash -> Text,
        changed_at -> Moment,
    }
}

diesel::table! {
    use diesel::sql_types::*;
    use crate::moment::Moment;

    sign_in_links (account_id) {
        account_id -> Text,
        hash -> Binary,
        created_at -> Moment,
        expires_at -> Moment,
    }
}

diesel::table! {
    use diesel::sql_types::*;
    use crate::moment::Moment;

    sessions (id) {
        id -> Text,
        hash -> Binary,
        account_id -> Text,
        created_at -> Moment,
        last_seen_at -> Moment,
        authenticated_at -> Moment,
        expires_at -> Moment,
        address -> Text,
        agent -> Text,
    }
}

diesel::table! {
    use diesel::sql_types::*;
    use crate::moment::Moment;

    listing_areas (zip) {
        zip -> Text,
        version -> BigInt,
        first_snapshot_at -> Moment,
        last_complete_scan_at -> Moment,
    }
}

diesel::table! {
    use diesel::sql_types::*;
    use crate::moment::Moment;

    listing_scans (zip) {
        zip -> Text,
        id -> BigInt,
        feed -> Text,
        started_at -> Moment,
        next_page -> Nullable<Text>,
        pages -> BigInt,
    }
}

diesel::table! {
    listing_pages (scan, page) {
        scan -> BigInt,
        page -> BigInt,
        body -> Binary,
    }
}

diesel::table! {
    listings (key) {
        key -> Text,
        zip -> Text,
        bbl -> Nullable<Text>,
        bin -> Nullable<Text>,
        body -> Binary,
    }
}

diesel::table! {
    use diesel::sql_types::*;
    use crate::moment::Moment;

    listing_events (id) {
        id -> BigInt,
        key -> Nullable<Text>,
        zip -> Text,
        listing_type -> Text,
        detected_at -> Moment,
        event_type -> Text,
        property_type -> Text,
        price -> Nullable<BigInt>,
        previous_price -> Nullable<BigInt>,
        bedrooms -> Nullable<BigInt>,
        body -> Binary,
    }
}

diesel::table! {
    listing_numbers (id) {
        id -> Integer,
        last -> BigInt,
    }
}

diesel::table! {
    index_files (name, version) {
        name -> Text,
        version -> Text,
        ordinal -> BigInt,
        length -> BigInt,
        parts -> Integer,
        checksum -> BigInt,
    }
}

diesel::table! {
    index_parts (name, version, part) {
        name -> Text,
        version -> Text,
        part -> Integer,
        body -> Binary,
    }
}

diesel::joinable!(api_keys -> accounts (account_id));
diesel::joinable!(sessions -> accounts (account_id));
diesel::allow_tables_to_appear_in_same_query!(accounts, api_keys);
diesel::allow_tables_to_appear_in_same_query!(accounts, sessions);
diesel::allow_tables_to_appear_in_same_query!(audit, audit_head);
