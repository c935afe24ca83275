//! Any lines in place of the city's files are read or refused without a panic; what is read can be asked.
//!
//! The input is one line of choices and three files, divided by a zero byte: addresses, lots, the street dictionary. Where
//! the first byte is even, the headers of the real files are put before the first two, so that lines are reached sooner.
#![no_main]

use std::sync::Arc;

use brownstone_address::{pad::PadIndex, resolver::Resolver};
use libfuzzer_sys::fuzz_target;

const ADDRESS_HEADER: &[u8] = b"boro,block,lot,bin,lhnd,lhns,hhnd,hhns,scboro,sc5,sclgc,stname,addrtype,validlgcs,dapsflag,zipcode\n";
const LOT_HEADER: &[u8] =
    b"loboro,loblock,lolot,hiboro,hiblock,hilot,boro,block,lot,billboro,billblock,billlot\n";

fuzz_target!(|input: &[u8]| {
    let Some((choice, files)) = input.split_first() else {
        return;
    };
    let mut files = files.splitn(3, |byte| *byte == 0);
    let mut next = |header: &[u8]| {
        let body = files.next().unwrap_or_default();
        if choice % 2 == 0 {
            [header, body].concat()
        } else {
            body.to_vec()
        }
    };
    let (addresses, lots) = (next(ADDRESS_HEADER), next(LOT_HEADER));
    let dictionary = files.next();
    let Ok((index, stats)) = PadIndex::read(&addresses[..], &lots[..], dictionary) else {
        return;
    };
    index.verify().expect("an index that was just built is whole");
    assert!(stats.rows > 0, "an index has an address");
    let resolver = Resolver::new(Arc::new(index));
    for text in ["350 5 Avenue, Manhattan", "46-12A 189 St, Queens", "1015862", "1008350041"] {
        let _ = resolver.resolve(text);
    }
});
