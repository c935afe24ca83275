//! Any text is read and resolved without a panic, and an answer keeps the promises that need no knowledge of the city: a
//! building is one of the files', a correction is said, candidates are few and each resolves again.
#![no_main]

use std::sync::{Arc, LazyLock};

use brownstone_address::{geocoder::ResolveError, pad::PadIndex, parse, resolver::Resolver};
use brownstone_domain::Match;
use libfuzzer_sys::fuzz_target;

const ADDRESSES: &str = "\
boro,block,lot,bin,lhnd,lhns,hhnd,hhns,scboro,sc5,sclgc,stname,addrtype,validlgcs,dapsflag,zipcode
1,00835,0041,1015862,338,000338000AA,350,000350000AA,1,10410,01,5 AVENUE,,01,,10118
1,00835,0041,1015862,,,,,1,10990,01,EMPIRE STATE BUILDING,N,01,,10118
1,00047,7501,1001026,120,000120000AA,120,000120000AA,1,13610,01,BROADWAY,,01,,10271
3,02130,0001,3060001,120,000120000AA,120,000120000AA,3,13611,01,BROADWAY,,01,,11249
3,05296,0043,3340270,1279,001279000AA,1279,001279000AA,3,11610,01,37 STREET,,01,,11218
3,07637,0038,3209116,1279,001279000AA,1279,001279000AA,3,38610,01,EAST 37 STREET,,01,,11210
3,09000,0001,3240001,101,000101000AA,101,000101000AA,3,20010,01,AVENUE D,,01,,11203
4,05601,0050,4126588,46-12A,100046012MB,46-12A,100046012MB,4,20020,01,189 STREET,,01,,11358
4,07900,0001,4160001,239-02,100239002AA,239-02,100239002AA,4,20030,01,HILLSIDE AVENUE BELLEROSE,,01,D,11426
2,02359,7501,2117344,700,000700000AA,730,000730000AA,2,20040,01,BROOK AVENUE,,01,,10455
";
const LOTS: &str = "\
loboro,loblock,lolot,hiboro,hiblock,hilot,boro,block,lot,billboro,billblock,billlot
1,00835,0041,1,00835,0041,1,00835,0041,,,
1,00047,7501,1,00047,7501,1,00047,7501,,,
";

static RESOLVER: LazyLock<Resolver> = LazyLock::new(|| {
    let (index, _) = PadIndex::read(ADDRESSES.as_bytes(), LOTS.as_bytes(), None::<&[u8]>)
        .expect("a release of a few rows");
    Resolver::new(Arc::new(index))
});

fuzz_target!(|text: &str| {
    let _ = parse::parse(text);
    match RESOLVER.resolve(text) {
        Ok(resolved) => {
            assert!(resolved.building.bbl.is_some());
            let corrected = resolved.matched == Match::Corrected;
            assert!(!corrected || !resolved.warnings.is_empty(), "a correction is said");
            // The same text leads to the same building.
            assert_eq!(RESOLVER.resolve(text).as_ref(), Ok(&resolved));
        }
        Err(ResolveError::Ambiguous { candidates, .. }) => {
            assert!((1..=5).contains(&candidates.len()));
        }
        Err(ResolveError::Unavailable(_)) => unreachable!("nothing is asked over a network"),
        Err(_) => {}
    }
});
