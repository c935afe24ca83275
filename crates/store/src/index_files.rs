//! Index files by name and version, as opaque bytes: what an import builds once, and each instance fetches into its own
//! folder.
//!
//! The bytes are kept in parts, so that no statement is long and no instance holds a whole file in memory to write one.
//! A version can be seen only once it is whole: its row is written after its parts. The last two versions stay, so that an
//! instance that is fetching one when the next comes can end what it has begun.

use std::{io::Write, time::Duration};

use diesel::prelude::*;
use diesel::upsert::excluded;
use diesel_async::RunQueryDsl;

use crate::error::{IndexFileError, Unavailable};
use crate::pool::{reading, writing};
use crate::schema::{index_files, index_parts};
use crate::store::Store;

/// Bytes of a part.
const PART: usize = 4 * 1024 * 1024;

/// Versions of a name that are kept.
const KEPT: usize = 2;

/// Longest time for one part: a busy disk writes four megabytes in far less.
const PART_WITHIN: Duration = Duration::from_secs(20);

/// A whole version of an index file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexVersion {
    /// The file's name, such as `pad`.
    pub name: String,
    /// What tells its versions apart.
    pub version: String,
    /// Bytes.
    pub length: u64,
    parts: i32,
    checksum: u32,
}

impl Store {
    /// Keeps these bytes as the newest version of `name`, and drops all but the last two. A version that is there already
    /// becomes the newest again.
    ///
    /// # Errors
    /// [`IndexFileError::Disturbed`] when another import of the same name ran at the same time: import again;
    /// [`IndexFileError::Unavailable`] when the database does not answer. What was newest before is then still so.
    pub async fn put_index_file(
        &self,
        name: &str,
        version: &str,
        bytes: &[u8],
    ) -> Result<(), IndexFileError> {
        let checksum = i64::from(crc32fast::hash(bytes));
        let length = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
        let mut parts = 0;
        for body in bytes.chunks(PART) {
            self.put_part(name, version, parts, body.to_vec()).await?;
            parts += 1;
        }
        let (name, version) = (name.to_owned(), version.to_owned());
        let whole: bool = writing!(self, within PART_WITHIN, |connection| {
            let written: i64 = index_parts::table
                .filter(index_parts::name.eq(&name))
                .filter(index_parts::version.eq(&version))
                .filter(index_parts::part.lt(parts))
                .count()
                .get_result(connection)
                .await?;
            if written != i64::from(parts) {
                return Ok(false);
            }
            let newest: Option<i64> = index_files::table
                .filter(index_files::name.eq(&name))
                .select(diesel::dsl::max(index_files::ordinal))
                .get_result(connection)
                .await?;
            diesel::insert_into(index_files::table)
                .values((
                    index_files::name.eq(&name),
                    index_files::version.eq(&version),
                    index_files::ordinal.eq(newest.unwrap_or(0) + 1),
                    index_files::length.eq(length),
                    index_files::parts.eq(parts),
                    index_files::checksum.eq(checksum),
                ))
                .on_conflict((index_files::name, index_files::version))
                .do_update()
                .set((
                    index_files::ordinal.eq(excluded(index_files::ordinal)),
                    index_files::length.eq(excluded(index_files::length)),
                    index_files::parts.eq(excluded(index_files::parts)),
                    index_files::checksum.eq(excluded(index_files::checksum)),
                ))
                .execute(connection)
                .await?;
            let versions: Vec<String> = index_files::table
                .filter(index_files::name.eq(&name))
                .order(index_files::ordinal.desc())
                .select(index_files::version)
                .load(connection)
                .await?;
            let kept: Vec<&String> = versions.iter().take(KEPT).collect();
            // Parts of imports that broke off go, too.
            diesel::delete(index_parts::table)
                .filter(index_parts::name.eq(&name))
                .filter(index_parts::version.ne_all(kept.clone()))
                .execute(connection)
                .await?;
            diesel::delete(index_files::table)
                .filter(index_files::name.eq(&name))
                .filter(index_files::version.ne_all(kept))
                .execute(connection)
                .await?;
            Ok(true)
        })
        .map_err(Unavailable::from)?;
        if whole {
            Ok(())
        } else {
            Err(IndexFileError::Disturbed)
        }
    }

    async fn put_part(
        &self,
        name: &str,
        version: &str,
        part: i32,
        body: Vec<u8>,
    ) -> Result<(), Unavailable> {
        let (name, version) = (name.to_owned(), version.to_owned());
        Ok(writing!(self, within PART_WITHIN, |connection| {
            diesel::insert_into(index_parts::table)
                .values((
                    index_parts::name.eq(name),
                    index_parts::version.eq(version),
                    index_parts::part.eq(part),
                    index_parts::body.eq(body),
                ))
                .on_conflict((index_parts::name, index_parts::version, index_parts::part))
                .do_update()
                .set(index_parts::body.eq(excluded(index_parts::body)))
                .execute(connection)
                .await?;
            Ok(())
        })?)
    }

    /// The newest version of `name`; `None` where none was ever put. One small row: it may be asked every second.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn latest_index(&self, name: &str) -> Result<Option<IndexVersion>, Unavailable> {
        let name = name.to_owned();
        let row: Option<(String, String, i64, i32, i64)> = reading!(self, |connection| {
            Ok(index_files::table
                .filter(index_files::name.eq(name))
                .order(index_files::ordinal.desc())
                .select((
                    index_files::name,
                    index_files::version,
                    index_files::length,
                    index_files::parts,
                    index_files::checksum,
                ))
                .first(connection)
                .await
                .optional()?)
        })?;
        Ok(
            row.map(|(name, version, length, parts, checksum)| IndexVersion {
                name,
                version,
                length: u64::try_from(length).unwrap_or(0),
                parts,
                // Written from 32 bits.
                checksum: u32::try_from(checksum).unwrap_or(0),
            }),
        )
    }

    /// Writes a version's bytes to `into`, part by part, and checks their length and sum. What was written before an error is
    /// not to be used.
    ///
    /// # Errors
    /// [`IndexFileError::Gone`] when two newer versions have pushed it out meanwhile: ask for the newest again;
    /// [`IndexFileError::Damaged`] when the bytes are not those that were put; [`IndexFileError::Write`] when `into` fails.
    pub async fn fetch_index(
        &self,
        of: &IndexVersion,
        into: &mut (dyn Write + Send),
    ) -> Result<(), IndexFileError> {
        let mut sum = crc32fast::Hasher::new();
        let mut length = 0_u64;
        for part in 0..of.parts {
            let body = self.part(of, part).await?.ok_or(IndexFileError::Gone)?;
            sum.update(&body);
            length += body.len() as u64;
            into.write_all(&body).map_err(IndexFileError::Write)?;
        }
        into.flush().map_err(IndexFileError::Write)?;
        if length == of.length && sum.finalize() == of.checksum {
            Ok(())
        } else {
            Err(IndexFileError::Damaged)
        }
    }

    async fn part(&self, of: &IndexVersion, part: i32) -> Result<Option<Vec<u8>>, Unavailable> {
        let (name, version) = (of.name.clone(), of.version.clone());
        Ok(reading!(self, within PART_WITHIN, |connection| {
            Ok(index_parts::table
                .find((name, version, part))
                .select(index_parts::body)
                .first(connection)
                .await
                .optional()?)
        })?)
    }
}
