//! The audit trail as a chain: each line holds a hash of itself and of the line before, so that a line that is changed, taken out,
//! put in or moved breaks every line after it.
//!
//! Whoever can write the whole database can also write a new chain; against that, note the last hash elsewhere from time to time.

use sha2::{Digest as _, Sha256};

use crate::model::AuditEntry;

/// A link's hash.
pub type LinkHash = [u8; 32];

/// What the first line's hash is made with.
pub const BEGINNING: LinkHash = [0; 32];

/// A line of the trail with its place in the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditLink {
    /// Its number, from 1 without gaps.
    pub number: u64,
    /// SHA-256 of the hash before, the number and the line.
    pub hash: LinkHash,
    /// The line.
    pub entry: AuditEntry,
}

/// Where the chain ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditHead {
    /// Lines in the chain.
    pub lines: u64,
    /// The last line's hash.
    pub hash: LinkHash,
    /// Lines from before the chain began, as counted then.
    pub unchained: u64,
    /// Lines outside the chain now.
    pub unchained_now: u64,
}

/// The hash of a line in its place. Every field's length goes before it, so that no two lines share their bytes.
pub fn link(before: &LinkHash, number: u64, entry: &AuditEntry) -> LinkHash {
    let mut sum = Sha256::new();
    sum.update(b"brownstone audit 1");
    sum.update(before);
    sum.update(number.to_be_bytes());
    // To the microsecond: what storage keeps.
    sum.update(entry.at.unix_timestamp().to_be_bytes());
    sum.update(entry.at.microsecond().to_be_bytes());
    for text in [
        &entry.actor,
        &entry.action,
        entry.account.as_str(),
        &entry.detail,
    ] {
        sum.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_be_bytes());
        sum.update(text.as_bytes());
    }
    sum.finalize().into()
}

/// What a look at the whole chain found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// Lines that stand as they were written.
    pub lines: u64,
    /// Lines from before the chain began.
    pub unchained: u64,
    /// The hash at the chain's end, to be noted elsewhere.
    pub hash: LinkHash,
    /// Where the chain is broken first.
    pub fault: Option<Fault>,
}

/// What is wrong with a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A line is not where it should be.
    #[error("line {0} is missing")]
    Missing(u64),
    /// A line is not what was written, or does not follow the one before.
    #[error("line {0} is not what was written")]
    Altered(u64),
    /// The noted end is not the last line's.
    #[error("the chain's noted end is not its last line")]
    End,
    /// Lines stand outside the chain that were not there when it began, or are gone.
    #[error("{found} lines stand outside the chain where {expected} did when it began")]
    Outside {
        /// When the chain began.
        expected: u64,
        /// Now.
        found: u64,
    },
}

/// Checks a chain, given piece by piece in order.
#[derive(Debug)]
pub struct Check {
    head: AuditHead,
    at: u64,
    hash: LinkHash,
    fault: Option<Fault>,
}

impl Check {
    /// A check against this end, which was read first: lines written meanwhile are left for the next check.
    pub const fn new(head: AuditHead) -> Self {
        Self {
            head,
            at: 0,
            hash: BEGINNING,
            fault: None,
        }
    }

    /// The last line that was found whole.
    pub const fn at(&self) -> u64 {
        self.at
    }

    /// Takes the next line; `false` when no more is wanted.
    pub fn take(&mut self, next: &AuditLink) -> bool {
        if self.fault.is_some() || self.at >= self.head.lines {
            return false;
        }
        let number = self.at.saturating_add(1);
        if next.number != number {
            self.fault = Some(Fault::Missing(number));
        } else if link(&self.hash, number, &next.entry) != next.hash {
            self.fault = Some(Fault::Altered(number));
        } else {
            self.at = number;
            self.hash = next.hash;
        }
        self.fault.is_none()
    }

    /// What was found, once there are no more lines.
    pub fn end(self) -> Verdict {
        let head = self.head;
        let fault = if self.fault.is_some() {
            self.fault
        } else if self.at < head.lines {
            Some(Fault::Missing(self.at.saturating_add(1)))
        } else if self.hash != head.hash {
            Some(Fault::End)
        } else if head.unchained != head.unchained_now {
            Some(Fault::Outside {
                expected: head.unchained,
                found: head.unchained_now,
            })
        } else {
            None
        };
        Verdict {
            lines: self.at,
            unchained: head.unchained_now,
            hash: self.hash,
            fault,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use time::macros::datetime;

    use super::*;
    use crate::model::AccountId;

    fn entry(n: usize) -> AuditEntry {
        AuditEntry {
            at: datetime!(2026-11-27 12:00 UTC)
                + time::Duration::microseconds(i64::try_from(n).unwrap()),
            actor: "command".into(),
            action: "limits.set".into(),
            account: AccountId::from("a"),
            detail: format!("line {n}"),
        }
    }

    fn chain(lines: usize) -> (AuditHead, Vec<AuditLink>) {
        let mut hash = BEGINNING;
        let links: Vec<_> = (1..=lines)
            .map(|n| {
                let number = u64::try_from(n).unwrap();
                hash = link(&hash, number, &entry(n));
                AuditLink {
                    number,
                    hash,
                    entry: entry(n),
                }
            })
            .collect();
        let head = AuditHead {
            lines: u64::try_from(lines).unwrap(),
            hash,
            unchained: 0,
            unchained_now: 0,
        };
        (head, links)
    }

    fn verdict(head: AuditHead, links: &[AuditLink]) -> Verdict {
        let mut check = Check::new(head);
        for link in links {
            if !check.take(link) {
                break;
            }
        }
        check.end()
    }

    #[test]
    fn a_chain_that_was_left_alone_holds_and_later_lines_wait() {
        let (head, links) = chain(5);
        assert_eq!(verdict(head, &links).fault, None);
        let (_, more) = chain(7);
        assert_eq!(verdict(head, &more).fault, None);
        assert_eq!(verdict(chain(0).0, &[]).fault, None);
    }

    #[test]
    fn lines_outside_are_counted_and_a_cut_end_is_seen() {
        let (head, links) = chain(3);
        let outside = AuditHead {
            unchained_now: 1,
            ..head
        };
        let fault = verdict(outside, &links).fault;
        assert_eq!(
            fault,
            Some(Fault::Outside {
                expected: 0,
                found: 1
            })
        );
        let cut = verdict(head, links.split_last().unwrap().1).fault;
        assert_eq!(cut, Some(Fault::Missing(3)));
        let other = AuditHead {
            hash: [9; 32],
            ..head
        };
        assert_eq!(verdict(other, &links).fault, Some(Fault::End));
    }

    #[test]
    fn what_moves_between_fields_is_another_line() {
        let mut a = entry(1);
        let mut b = entry(1);
        (a.actor, a.action) = ("ab".into(), "c".into());
        (b.actor, b.action) = ("a".into(), "bc".into());
        assert_ne!(link(&BEGINNING, 1, &a), link(&BEGINNING, 1, &b));
    }

    proptest! {
        #[test]
        fn any_change_to_a_line_is_found_there(lines in 1_usize..20, at in 0_usize..20, how in 0_usize..6) {
            let at = at % lines;
            let (head, mut links) = chain(lines);
            let changed = &mut links[at];
            match how {
                0 => changed.entry.detail.push('x'),
                1 => changed.entry.actor.clear(),
                2 => changed.entry.at += time::Duration::MICROSECOND,
                3 => changed.entry.account = AccountId::from("b"),
                4 => changed.hash[0] ^= 1,
                _ => { links.remove(at); }
            }
            let fault = verdict(head, &links).fault;
            let number = u64::try_from(at).unwrap() + 1;
            prop_assert!(matches!(fault, Some(Fault::Altered(n) | Fault::Missing(n)) if n == number), "{:?}", fault);
        }
    }
}
