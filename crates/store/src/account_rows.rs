//! Rows of accounts, keys and the audit trail, and what they are in the product's words.

use brownstone_accounts::chain::{self, AuditLink, LinkHash};
use brownstone_accounts::model::{
    Account, AccountId, AuditEntry, Environment, KeyHash, KeyId, KeyRecord, Overrides, Role,
    Suspension, Tier,
};
use diesel::prelude::*;
use time::OffsetDateTime;

use crate::audit::link_hash;
use crate::error::Fault;
use crate::moment::At;
use crate::schema::{accounts, api_keys, audit};

fn moment(at: Option<At>) -> Option<OffsetDateTime> {
    at.map(|At(at)| at)
}

/// Takes an account's row until the transaction ends, as its first step: whoever else takes it waits, and then
/// reads what this one left. It writes nothing new, so that both databases understand it.
macro_rules! hold_account {
    ($connection:ident, $account:expr) => {{
        use $crate::schema::accounts;

        let account: &str = $account;
        let rows = diesel::update(accounts::table.find(account))
            .set(accounts::created_at.eq(accounts::created_at))
            .execute($connection)
            .await?;
        if rows == 0 {
            return Err($crate::error::Fault::Missing("account"));
        }
    }};
}
pub(crate) use hold_account;

/// A row of `accounts`.
#[derive(Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = accounts)]
pub(crate) struct AccountRow {
    id: String,
    email: String,
    tier: String,
    role: String,
    suspended_at: Option<At>,
    suspension_reason: Option<String>,
    per_minute: Option<i64>,
    per_day: Option<i64>,
    overrides_until: Option<At>,
    created_at: At,
}

impl From<&Account> for AccountRow {
    fn from(account: &Account) -> Self {
        Self {
            id: account.id.as_str().to_owned(),
            email: account.email.clone(),
            tier: account.tier.as_str().to_owned(),
            role: account.role.as_str().to_owned(),
            suspended_at: account
                .suspension
                .as_ref()
                .map(|suspension| At(suspension.at)),
            suspension_reason: account
                .suspension
                .as_ref()
                .map(|suspension| suspension.reason.clone()),
            per_minute: account.overrides.per_minute.map(i64::from),
            per_day: account.overrides.per_day.map(i64::from),
            overrides_until: account.overrides.until.map(At),
            created_at: At(account.created_at),
        }
    }
}

impl TryFrom<AccountRow> for Account {
    type Error = Fault;

    fn try_from(row: AccountRow) -> Result<Self, Fault> {
        let ceiling = |units: Option<i64>| {
            units
                .map(u32::try_from)
                .transpose()
                .map_err(|_| Fault::Unreadable("ceiling"))
        };
        Ok(Self {
            id: AccountId::from(row.id),
            email: row.email,
            tier: Tier::from_name(&row.tier).ok_or(Fault::Unreadable("tier"))?,
            role: Role::from_name(&row.role).ok_or(Fault::Unreadable("role"))?,
            suspension: row
                .suspended_at
                .zip(row.suspension_reason)
                .map(|(At(at), reason)| Suspension { at, reason }),
            overrides: Overrides {
                per_minute: ceiling(row.per_minute)?,
                per_day: ceiling(row.per_day)?,
                until: moment(row.overrides_until),
            },
            created_at: row.created_at.0,
        })
    }
}

/// A row of `api_keys`.
#[derive(Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = api_keys)]
pub(crate) struct KeyRow {
    id: String,
    account_id: String,
    name: String,
    environment: String,
    hash: Vec<u8>,
    prefix: String,
    last_four: String,
    created_at: At,
    expires_at: Option<At>,
    revoked_at: Option<At>,
    last_used_at: Option<At>,
}

impl From<&KeyRecord> for KeyRow {
    fn from(key: &KeyRecord) -> Self {
        Self {
            id: key.id.as_str().to_owned(),
            account_id: key.account.as_str().to_owned(),
            name: key.name.clone(),
            environment: key.environment.as_str().to_owned(),
            hash: key.hash.0.to_vec(),
            prefix: key.prefix.clone(),
            last_four: key.last_four.clone(),
            created_at: At(key.created_at),
            expires_at: key.expires_at.map(At),
            revoked_at: key.revoked_at.map(At),
            last_used_at: key.last_used_at.map(At),
        }
    }
}

impl TryFrom<KeyRow> for KeyRecord {
    type Error = Fault;

    fn try_from(row: KeyRow) -> Result<Self, Fault> {
        let hash: [u8; 32] = row
            .hash
            .try_into()
            .map_err(|_| Fault::Unreadable("key hash"))?;
        Ok(Self {
            id: KeyId::from(row.id),
            account: AccountId::from(row.account_id),
            name: row.name,
            environment: Environment::from_name(&row.environment)
                .ok_or(Fault::Unreadable("environment"))?,
            hash: KeyHash(hash),
            prefix: row.prefix,
            last_four: row.last_four,
            created_at: row.created_at.0,
            expires_at: moment(row.expires_at),
            revoked_at: moment(row.revoked_at),
            last_used_at: moment(row.last_used_at),
        })
    }
}

/// A line of `audit`; the database numbers its row, the chain its place.
#[derive(Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = audit)]
pub(crate) struct AuditRow {
    at: At,
    actor: String,
    action: String,
    account_id: String,
    detail: String,
    number: Option<i64>,
    hash: Option<Vec<u8>>,
}

impl AuditRow {
    /// The line as number `number` of the chain, after the one whose hash is `before`; and its own hash.
    pub(crate) fn linked(
        entry: &AuditEntry,
        number: i64,
        before: Vec<u8>,
    ) -> Result<(Self, LinkHash), Fault> {
        let place = u64::try_from(number).map_err(|_| Fault::Unreadable("audit number"))?;
        let hash = chain::link(&link_hash(before)?, place, entry);
        let row = Self {
            at: At(entry.at),
            actor: entry.actor.clone(),
            action: entry.action.clone(),
            account_id: entry.account.as_str().to_owned(),
            detail: entry.detail.clone(),
            number: Some(number),
            hash: Some(hash.to_vec()),
        };
        Ok((row, hash))
    }
}

impl From<AuditRow> for AuditEntry {
    fn from(row: AuditRow) -> Self {
        Self {
            at: row.at.0,
            actor: row.actor,
            action: row.action,
            account: AccountId::from(row.account_id),
            detail: row.detail,
        }
    }
}

impl TryFrom<AuditRow> for AuditLink {
    type Error = Fault;

    fn try_from(mut row: AuditRow) -> Result<Self, Fault> {
        let number = row.number.and_then(|number| u64::try_from(number).ok());
        // A hash that was taken away, or is no hash, follows from nothing: the check says so at its line.
        let hash = row.hash.take().map(link_hash).and_then(Result::ok);
        Ok(Self {
            number: number.ok_or(Fault::Unreadable("audit number"))?,
            hash: hash.unwrap_or(chain::BEGINNING),
            entry: row.into(),
        })
    }
}
