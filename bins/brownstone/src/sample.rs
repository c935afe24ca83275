//! The sample city in this process, and the account that goes with it.

use std::{net::Ipv4Addr, sync::Arc};

use anyhow::Context as _;
use brownstone_accounts::{Accounts, AccountsError, Actor, KeyState, Role, Tier};
use brownstone_address::pad::PadIndex;
use brownstone_sample_city::SampleCity;
use brownstone_soda::Soda;
use brownstone_valuation::SalesIndex;
use time::OffsetDateTime;

use crate::{parts::Origin, sales};

/// The sample account.
pub(crate) const EMAIL: &str = "demo@example.com";

/// The name of its key.
const KEY_NAME: &str = "sample";

/// How often the city is asked for its sales, where a busy machine does not answer itself in time.
const TRIES: u32 = 3;

/// Starts the city on a free loopback port.
pub(crate) async fn start() -> anyhow::Result<(SampleCity, Origin)> {
    let city = SampleCity::start((Ipv4Addr::LOCALHOST, 0).into())
        .await
        .context("the sample city cannot listen")?;
    let origin = Origin::Sample {
        url: city.url(),
        pad: Arc::new(pad()?),
    };
    Ok((city, origin))
}

/// The city's addresses, read as the publisher's files are.
fn pad() -> anyhow::Result<PadIndex> {
    let files = brownstone_sample_city::pad_files();
    let file = |start: &str| {
        files
            .iter()
            .find(|(name, _)| name.starts_with(start))
            .map(|(_, text)| text.as_bytes())
            .with_context(|| format!("the sample city has no {start} file"))
    };
    let (index, _) = PadIndex::read(file("bobaadr")?, file("bobabbl")?, Some(file("snd")?))?;
    Ok(index)
}

/// The city's sales, indexed. It is in this process: what is late is the machine, and better a moment later.
pub(crate) async fn sales(soda: &dyn Soda) -> anyhow::Result<SalesIndex> {
    for _ in 1..TRIES {
        match sales::fetch(soda).await {
            Ok(index) => return Ok(index),
            Err(error) => tracing::warn!("the sample city's sales are asked for again: {error:#}"),
        }
    }
    let index = sales::fetch(soda).await;
    index.context("the sample city's sales cannot be had")
}

/// A fresh key for the sample account, which is made once. The key of the start before is revoked.
pub(crate) async fn fresh_key(accounts: &Accounts, now: OffsetDateTime) -> anyhow::Result<String> {
    let account = match accounts.find(EMAIL).await {
        Ok(account) => account,
        Err(AccountsError::NoSuchAccount) => {
            match accounts
                .create(EMAIL, Tier::Pro, Role::Developer, Actor::Command)
                .await
            {
                Ok(account) => account,
                // Another instance on the same database was quicker.
                Err(AccountsError::EmailTaken) => accounts.find(EMAIL).await?,
                Err(error) => return Err(error.into()),
            }
        }
        Err(error) => return Err(error.into()),
    };
    for key in accounts.keys(&account.id).await? {
        if key.name == KEY_NAME && key.state(now) != KeyState::Revoked {
            accounts.revoke_key(&key.id, Actor::Command).await?;
        }
    }
    let new = accounts
        .create_key(&account.id, Some(KEY_NAME), Actor::Command)
        .await?;
    Ok(new.key.expose().to_owned())
}
