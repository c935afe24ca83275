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

diesel::joinable!(api_keys -> accounts (account_id));
diesel::allow_tables_to_appear_in_same_query!(accounts, api_keys);
