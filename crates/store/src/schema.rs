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

diesel::joinable!(api_keys -> accounts (account_id));
diesel::joinable!(sessions -> accounts (account_id));
diesel::allow_tables_to_appear_in_same_query!(accounts, api_keys);
diesel::allow_tables_to_appear_in_same_query!(accounts, sessions);
