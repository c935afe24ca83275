//! The listing index beside PostgreSQL with the right indexes on the same listings.

use std::time::Instant;

use anyhow::Context as _;
use brownstone_domain::{AreaQuery, Bounds, Dollars, ListingFilter, ListingSort, ListingType, Zip};
use brownstone_listings::{
    ListingIndex, Row as Listed, Snapshot, area,
    made_up::{NOW, any_row},
};
use tokio_postgres::{NoTls, types::Type};

use super::Part;
use crate::{
    measure::{ROUNDS, Random, median},
    row::{Figure, Row, Wanted},
};

pub(crate) const PART: Part = Part {
    name: "listings",
    tells: "searches of a borough with three filters and a sort over 100,000 listings, beside PostgreSQL",
    about: "\
100,000 made-up listings over the city's ZIPs, half of them rentals. A search is a borough, a listing type, active ones, three filters
(price, bedrooms, living area) and a sort by price, the first 25 of them and whether there are more. One thread and one connection;
medians of alternating rounds by wall time. Ours gives the keys; PostgreSQL gives the keys too, by one prepared statement over an
index on borough, type, status and price that it can walk in order, everything in memory. `TEST_POSTGRES_URL` names the server.",
    run,
};

/// Listings in all.
const LISTINGS: u64 = 100_000;

/// Searches in a round.
const SEARCHES: usize = 2_000;

/// Results of a page.
const LIMIT: usize = 25;

/// A question, the same for both.
struct Question {
    borough: i16,
    zips: Vec<Zip>,
    filter: ListingFilter,
}

fn questions() -> anyhow::Result<Vec<Question>> {
    let mut random = Random::new(6);
    let boroughs = brownstone_domain::Borough::ALL;
    (0..SEARCHES)
        .map(|_| {
            let borough = boroughs[random.below(5) as usize];
            let zips = area::resolve(&AreaQuery::Location(borough.name().to_owned()))?.zips;
            let rental = random.below(2) == 0;
            let mut filter = ListingFilter::active(if rental {
                ListingType::Rental
            } else {
                ListingType::Sale
            });
            let least = if rental {
                1_500 + random.below(4_000)
            } else {
                200_000 + random.below(2_000_000)
            };
            filter.price = Bounds {
                min: Some(least),
                max: Some(least * 2),
            };
            let rooms = u32::try_from(random.below(4))?;
            filter.bedrooms = Bounds {
                min: Some(rooms),
                max: Some(rooms + 1),
            };
            filter.living_area_sqft.min = Some(u32::try_from(400 + random.below(1_200))?);
            Ok(Question {
                borough: i16::from(borough.digit()),
                zips,
                filter,
            })
        })
        .collect()
}

fn run() -> anyhow::Result<Vec<Row>> {
    // Two ZIPs belong to two boroughs; a column holds one.
    let mut zips = area::city_zips();
    zips.retain(|zip| area::boroughs_of(*zip).count() == 1);
    let rows: Vec<Listed> = (0..LISTINGS)
        .map(|number| any_row(number, zips[number as usize % zips.len()]))
        .collect();
    let index = ListingIndex::default();
    index.put(zips.iter().enumerate().map(|(at, zip)| {
        let here: Vec<Listed> = rows.iter().skip(at).step_by(zips.len()).cloned().collect();
        Snapshot::new(*zip, 1, &here)
    }));
    let questions = questions()?;
    let mut times = Vec::with_capacity(SEARCHES * ROUNDS);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let postgres = match std::env::var("TEST_POSTGRES_URL") {
        Ok(url) => Some(runtime.block_on(Postgres::fill(&url, &rows))?),
        Err(_) => {
            eprintln!("listings: TEST_POSTGRES_URL is not set, so PostgreSQL is left out");
            None
        }
    };
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let mut found = Vec::with_capacity(SEARCHES);
        for question in &questions {
            let asked = Instant::now();
            found.push(index.search(
                &question.zips,
                &question.filter,
                ListingSort::PriceAsc,
                LIMIT,
                0,
                NOW.date(),
            ));
            times.push(asked.elapsed().as_secs_f64() * 1e6);
        }
        ours.push(SEARCHES as f64 / begun.elapsed().as_secs_f64());
        if let Some(postgres) = &postgres {
            let begun = Instant::now();
            let keys = runtime.block_on(postgres.ask(&questions))?;
            theirs.push(SEARCHES as f64 / begun.elapsed().as_secs_f64());
            for (found, keys) in found.iter().zip(&keys) {
                let mine: Vec<String> = found.keys.iter().map(ToString::to_string).collect();
                anyhow::ensure!(mine == *keys, "the two give different pages");
            }
        }
    }
    times.sort_by(f64::total_cmp);
    let last = times.get(times.len() * 99 / 100).copied().unwrap_or(0.0);
    let bytes = index.resident_bytes() as f64 / LISTINGS as f64;
    let rate = median(ours);
    let mut search = Row::alone(PART.name, "searches of a borough", Figure::new(rate, "/s"));
    if !theirs.is_empty() {
        let anchor = median(theirs);
        let ratio = rate / anchor;
        search = search
            .beside("PostgreSQL, indexed", Figure::new(anchor, "/s"), ratio)
            .wanted(Wanted::at_least(ratio, 20.0));
    }
    Ok(vec![
        Row::alone(
            PART.name,
            "a search, 99th percentile",
            Figure::new(last, "µs"),
        )
        .wanted(Wanted::at_most(last, 2_000.0)),
        search,
        Row::alone(PART.name, "memory of a listing", Figure::new(bytes, "B"))
            .wanted(Wanted::at_most(bytes, 600.0)),
    ])
}

/// The anchor.
struct Postgres {
    client: tokio_postgres::Client,
    statement: tokio_postgres::Statement,
}

impl Postgres {
    async fn fill(url: &str, rows: &[Listed]) -> anyhow::Result<Self> {
        let (client, connection) = tokio_postgres::connect(url, NoTls)
            .await
            .context("PostgreSQL cannot be reached")?;
        tokio::spawn(connection);
        client
            .batch_execute(
                "CREATE TEMPORARY TABLE listed (
                     key TEXT COLLATE \"C\" NOT NULL, borough SMALLINT NOT NULL, listing_type TEXT NOT NULL,
                     status TEXT NOT NULL, price BIGINT, bedrooms INTEGER, area INTEGER
                 )",
            )
            .await?;
        let insert = client
            .prepare("INSERT INTO listed SELECT * FROM unnest($1::text[], $2::smallint[], $3::text[], $4::text[], $5::bigint[], $6::integer[], $7::integer[])")
            .await?;
        for some in rows.chunks(10_000) {
            let listing = || some.iter().map(|row| &row.listing);
            let keys: Vec<&str> = listing().map(|one| one.listing_key.as_str()).collect();
            let boroughs: Vec<i16> = listing()
                .map(|one| {
                    let borough = one.zip_code.and_then(area::borough_of);
                    borough.map_or(0, |borough| i16::from(borough.digit()))
                })
                .collect();
            let types: Vec<&str> = listing().map(|one| one.listing_type.as_str()).collect();
            let statuses: Vec<&str> = listing().map(|one| one.status.as_str()).collect();
            let prices: Vec<Option<i64>> = listing()
                .map(|one| one.price().and_then(Dollars::cents))
                .collect();
            let whole = |value: Option<u32>| value.and_then(|value| i32::try_from(value).ok());
            let bedrooms: Vec<Option<i32>> = listing().map(|one| whole(one.bedrooms)).collect();
            let areas: Vec<Option<i32>> =
                listing().map(|one| whole(one.living_area_sqft)).collect();
            client
                .execute(
                    &insert,
                    &[
                        &keys, &boroughs, &types, &statuses, &prices, &bedrooms, &areas,
                    ],
                )
                .await?;
        }
        client
            .batch_execute(
                "CREATE INDEX ON listed (borough, listing_type, status, price, key) INCLUDE (bedrooms, area)",
            )
            .await?;
        client.batch_execute("VACUUM ANALYZE listed").await?;
        let statement = client
            .prepare_typed(
                "SELECT key FROM listed
                 WHERE borough = $1 AND listing_type = $2 AND status = 'active' AND price BETWEEN $3 AND $4
                   AND bedrooms BETWEEN $5 AND $6 AND area >= $7
                 ORDER BY price, key LIMIT 26",
                &[
                    Type::INT2,
                    Type::TEXT,
                    Type::INT8,
                    Type::INT8,
                    Type::INT4,
                    Type::INT4,
                    Type::INT4,
                ],
            )
            .await?;
        Ok(Self { client, statement })
    }

    /// The page of each question.
    async fn ask(&self, questions: &[Question]) -> anyhow::Result<Vec<Vec<String>>> {
        let mut pages = Vec::with_capacity(questions.len());
        for question in questions {
            let filter = &question.filter;
            let cents = |dollars: Option<u64>| i64::try_from(dollars.unwrap_or(0) * 100);
            let whole = |value: Option<u32>| i32::try_from(value.unwrap_or(0));
            let rows = self
                .client
                .query(
                    &self.statement,
                    &[
                        &question.borough,
                        &filter.listing_type.as_str(),
                        &cents(filter.price.min)?,
                        &cents(filter.price.max)?,
                        &whole(filter.bedrooms.min)?,
                        &whole(filter.bedrooms.max)?,
                        &whole(filter.living_area_sqft.min)?,
                    ],
                )
                .await?;
            pages.push(
                rows.iter()
                    .take(LIMIT)
                    .map(|row| row.get::<_, String>(0))
                    .collect(),
            );
        }
        Ok(pages)
    }
}
