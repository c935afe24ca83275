//! Accounts, limits and keys by command.

use std::{process::ExitCode, sync::Arc, time::Duration};

use anyhow::{anyhow, bail};
use brownstone_accounts::{Account, Accounts, Actor, KeyId, Overrides, Role, Tier};
use clap::Subcommand;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::say;
use crate::{clock, config::Config, parts, people};

/// `brownstone account ...`
#[derive(Debug, Subcommand)]
pub(crate) enum AccountCommand {
    /// Open an account; prints its id alone
    Create {
        /// E-mail address
        #[arg(long)]
        email: String,
        /// pro or free
        #[arg(long, default_value = "pro")]
        tier: String,
        /// developer, support or admin
        #[arg(long, default_value = "developer")]
        role: String,
    },
    /// Print a one-time link by which the account's owner sets a password
    Invite {
        /// Account id or e-mail address
        #[arg(long)]
        account: String,
    },
    /// Suspend API access; in force everywhere within two seconds
    Suspend(Reasoned),
    /// Lift a suspension
    Restore(Reasoned),
}

/// An account and why.
#[derive(Debug, clap::Args)]
pub(crate) struct Reasoned {
    /// Account id or e-mail address
    #[arg(long)]
    account: String,
    /// Why; for support, never shown to the caller
    #[arg(long)]
    reason: String,
}

/// `brownstone limits ...`
#[derive(Debug, Subcommand)]
pub(crate) enum LimitsCommand {
    /// Override what is given, leave the rest
    Set {
        /// Account id or e-mail address
        #[arg(long)]
        account: String,
        /// Units per minute
        #[arg(long)]
        per_minute: Option<u32>,
        /// Units per UTC day
        #[arg(long)]
        per_day: Option<u32>,
        /// Why; for support
        #[arg(long, default_value = "by command")]
        reason: String,
        /// When the ceilings end, such as 2026-12-31T00:00:00Z; without it they stay
        #[arg(long, value_parser = moment)]
        until: Option<OffsetDateTime>,
    },
    /// Back to the defaults
    Clear {
        /// Account id or e-mail address
        #[arg(long)]
        account: String,
        /// Why; for support
        #[arg(long, default_value = "by command")]
        reason: String,
    },
}

/// `brownstone audit ...`
#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Check that every line is as it was written; exit code 1 when not
    Verify,
}

impl AuditCommand {
    /// Carries it out.
    pub(crate) async fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        match self {
            Self::Verify => {
                let verdict = accounts(config).await?.verify_audit().await?;
                let hash: String = verdict
                    .hash
                    .iter()
                    .map(|byte| format!("{byte:02x}"))
                    .collect();
                if let Some(fault) = verdict.fault {
                    say(&format!(
                        "broken: {fault}; {} lines before it hold",
                        verdict.lines
                    ));
                    return Ok(ExitCode::FAILURE);
                }
                say(&format!(
                    "whole: {} lines, {} from before the chain began; ends in {hash}",
                    verdict.lines, verdict.unchained
                ));
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

fn moment(text: &str) -> Result<OffsetDateTime, String> {
    OffsetDateTime::parse(text, &Rfc3339)
        .map_err(|_| format!("{text:?} is no moment; use one such as 2026-12-31T00:00:00Z"))
}

/// `brownstone key ...`
#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a key; prints it alone, once
    Create {
        /// Account id or e-mail address
        #[arg(long)]
        account: String,
        /// A name to know it by
        #[arg(long)]
        name: Option<String>,
    },
    /// List an account's keys
    List {
        /// Account id or e-mail address
        #[arg(long)]
        account: String,
    },
    /// Revoke a key; in force everywhere within two seconds
    Revoke {
        /// Key id
        id: String,
    },
    /// Make a key that takes over from this one; prints it alone, once
    Rotate {
        /// Key id
        id: String,
        /// How long the old key stays valid, such as 24h or 7d; at most 7d
        #[arg(long, default_value = "0", value_parser = duration)]
        overlap: Duration,
    },
}

/// `0`, `90s`, `15m`, `24h`, `7d`.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no duration; use 0, or a number with s, m, h or d");
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let split = text.len().saturating_sub(1);
    let (number, unit) = text.split_at_checked(split).ok_or_else(wrong)?;
    let seconds: u64 = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number
        .checked_mul(seconds)
        .map(Duration::from_secs)
        .ok_or_else(wrong)
}

async fn accounts(config: &Config) -> anyhow::Result<Accounts> {
    let store = parts::open_store(config).await?;
    Ok(Accounts::new(
        store.accounts(),
        Arc::clone(&clock::clock(config)?),
        config.environment,
    ))
}

async fn found(config: &Config, account: &str) -> anyhow::Result<(Accounts, Account)> {
    let accounts = accounts(config).await?;
    let account = accounts.find(account).await?;
    Ok((accounts, account))
}

impl AccountCommand {
    /// Carries it out.
    pub(crate) async fn run(self, config: &Config) -> anyhow::Result<()> {
        match self {
            Self::Create { email, tier, role } => {
                let tier = Tier::from_name(&tier)
                    .ok_or_else(|| anyhow!("tier is {tier:?}; pro or free is expected"))?;
                let role = Role::from_name(&role).ok_or_else(|| {
                    anyhow!("role is {role:?}; developer, support or admin is expected")
                })?;
                let accounts = accounts(config).await?;
                let account = accounts.create(&email, tier, role, Actor::Command).await?;
                say(account.id.as_str());
            }
            Self::Invite { account } => {
                let store = parts::open_store(config).await?;
                let clock = clock::clock(config)?;
                let accounts =
                    Accounts::new(store.accounts(), Arc::clone(&clock), config.environment);
                let account = accounts.find(&account).await?;
                let sign_in = people::sign_in(config, &store, &clock)?;
                let (token, _) = sign_in.invite(&account.id, Actor::Command).await?;
                let web_url = people::web_url(config, config.web_addr);
                say(&format!("{web_url}/link/{}", token.expose()));
            }
            Self::Suspend(Reasoned { account, reason }) => {
                let (accounts, account) = found(config, &account).await?;
                accounts
                    .suspend(&account.id, &reason, Actor::Command)
                    .await?;
                say(&format!("suspended {}", account.id));
            }
            Self::Restore(Reasoned { account, reason }) => {
                let (accounts, account) = found(config, &account).await?;
                accounts
                    .restore(&account.id, &reason, Actor::Command)
                    .await?;
                say(&format!("restored {}", account.id));
            }
        }
        Ok(())
    }
}

impl LimitsCommand {
    /// Carries it out.
    pub(crate) async fn run(self, config: &Config) -> anyhow::Result<()> {
        let (account, overrides) = match self {
            Self::Set {
                per_minute: None,
                per_day: None,
                ..
            } => bail!("give --per-minute, --per-day or both"),
            Self::Set {
                account,
                per_minute,
                per_day,
                reason,
                until,
            } => {
                let (accounts, account) = found(config, &account).await?;
                let change = Overrides {
                    per_minute,
                    per_day,
                    until,
                };
                let set = accounts
                    .set_limits(&account.id, change, &reason, Actor::Command)
                    .await?;
                (account, set)
            }
            Self::Clear { account, reason } => {
                let (accounts, account) = found(config, &account).await?;
                accounts
                    .clear_limits(&account.id, &reason, Actor::Command)
                    .await?;
                (account, Overrides::default())
            }
        };
        let limits = overrides.limits();
        say(&format!(
            "{}: {} units per minute, {} units per day",
            account.id,
            limits.per_minute(),
            limits.per_day()
        ));
        Ok(())
    }
}

impl KeyCommand {
    /// Carries it out.
    pub(crate) async fn run(self, config: &Config) -> anyhow::Result<()> {
        match self {
            Self::Create { account, name } => {
                let (accounts, account) = found(config, &account).await?;
                let new = accounts
                    .create_key(&account.id, name.as_deref(), Actor::Command)
                    .await?;
                say(new.key.expose());
            }
            Self::List { account } => {
                let (accounts, account) = found(config, &account).await?;
                let now = clock::clock(config)?.now();
                for key in accounts.keys(&account.id).await? {
                    let used = match key.last_used_at {
                        Some(at) => at.format(&Rfc3339)?,
                        None => "never".to_owned(),
                    };
                    say(&format!(
                        "{}  {}…{}  {}  {}  made {}  used {used}  {}",
                        key.id,
                        key.prefix,
                        key.last_four,
                        key.environment.as_str(),
                        key.state(now),
                        key.created_at.format(&Rfc3339)?,
                        key.name
                    ));
                }
            }
            Self::Revoke { id } => {
                let accounts = accounts(config).await?;
                accounts
                    .revoke_key(&KeyId::from(id.as_str()), Actor::Command)
                    .await?;
                say(&format!("revoked {id}"));
            }
            Self::Rotate { id, overlap } => {
                let accounts = accounts(config).await?;
                let rotation = accounts
                    .rotate_key(&KeyId::from(id.as_str()), overlap, Actor::Command)
                    .await?;
                say(rotation.new.key.expose());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(duration("0").unwrap(), Duration::ZERO);
        assert_eq!(duration("24h").unwrap(), Duration::from_secs(86_400));
        assert_eq!(duration("7d").unwrap(), Duration::from_secs(604_800));
        for wrong in ["", "5", "h", "-1h", "1w", "é", "99999999999999999999d"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
