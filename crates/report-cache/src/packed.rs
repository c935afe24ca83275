//! Bytes compressed once, in a form that stands between others.
//!
//! A gzip answer is one member: a header, deflate blocks, the checksum of all that was compressed. The blocks of a report are made
//! once, from an empty window and up to a byte's end, and none says that it is the last; so a few stored blocks before and after
//! them give a whole member whose checksum is the combined one. Whoever serves it copies, and compresses nothing.

use bytes::Bytes;
use crc32fast::Hasher;
use flate2::{Compress, Compression, FlushCompress, Status};

/// Better ones cost more than they save on text like this.
const LEVEL: Compression = Compression::new(6);

/// First bytes of a gzip member: deflate, no name, no time, unknown system.
const GZIP_HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];

/// Longest stored block of deflate.
const STORED: usize = 0xffff;

const NONE: &[u8] = &[];

/// Some bytes, compressed for the middle of a gzip member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    /// Deflate blocks, none of them the last, up to a byte's end.
    blocks: Bytes,
    /// Checksum and count of what they hold.
    crc: u32,
    count: u64,
}

impl Packed {
    /// Compresses `plain`.
    pub fn of(plain: &[u8]) -> Self {
        let mut deflate = Compress::new(LEVEL, false);
        // Room for what cannot be made smaller, and for the flush.
        let mut blocks = Vec::with_capacity(plain.len() / 4 + 64);
        loop {
            let read = usize::try_from(deflate.total_in()).unwrap_or(usize::MAX);
            let rest = plain.get(read..).unwrap_or_default();
            let written = blocks.len();
            let outcome = deflate.compress_vec(rest, &mut blocks, FlushCompress::Sync);
            let all_read =
                usize::try_from(deflate.total_in()).is_ok_and(|read| read >= plain.len());
            // A flush is whole when it left room.
            if all_read && blocks.len() < blocks.capacity() {
                break;
            }
            let stuck = blocks.len() == written && blocks.len() < blocks.capacity();
            if stuck || !matches!(outcome, Ok(Status::Ok | Status::BufError)) {
                return Self::stored(plain);
            }
            blocks.reserve(plain.len() / 4 + 64);
        }
        let mut crc = Hasher::new();
        crc.update(plain);
        Self {
            // What is kept is kept in memory of its own size.
            blocks: Bytes::copy_from_slice(&blocks),
            crc: crc.finalize(),
            count: plain.len() as u64,
        }
    }

    /// As it is: always right, never small. For a compressor that does not do its work.
    fn stored(plain: &[u8]) -> Self {
        let mut blocks = Vec::with_capacity(plain.len() + 5 * (plain.len() / STORED + 1));
        store(&mut blocks, plain, false);
        let mut crc = Hasher::new();
        crc.update(plain);
        Self {
            blocks: blocks.into(),
            crc: crc.finalize(),
            count: plain.len() as u64,
        }
    }

    /// Bytes it takes up.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Whether it takes up none, which it never does.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// A gzip member of the pieces `before`, what this holds, and the pieces `after`, in three. What is compressed anew is nothing; what is
    /// copied is `before` and `after`.
    pub fn gzip(&self, before: &[&[u8]], after: &[&[u8]]) -> [Bytes; 3] {
        let total = |pieces: &[&[u8]]| pieces.iter().map(|piece| piece.len()).sum::<usize>();
        let (leading, trailing) = (total(before), total(after));
        let mut crc = Hasher::new();
        let mut head = Vec::with_capacity(GZIP_HEAD.len() + leading + 5 * before.len());
        head.extend_from_slice(&GZIP_HEAD);
        for piece in before {
            crc.update(piece);
            store(&mut head, piece, false);
        }
        crc.combine(&Hasher::new_with_initial_len(self.crc, self.count));
        let mut foot = Vec::with_capacity(trailing + 5 * (after.len() + 1) + 8);
        let (last, others) = after.split_last().unwrap_or((&NONE, &[]));
        for piece in others {
            crc.update(piece);
            store(&mut foot, piece, false);
        }
        crc.update(last);
        store(&mut foot, last, true);
        foot.extend_from_slice(&crc.finalize().to_le_bytes());
        // The count is kept modulo 2^32, as the format has it.
        let count = leading as u64 + self.count + trailing as u64;
        foot.extend_from_slice(&count.to_le_bytes()[..4]);
        [head.into(), self.blocks.clone(), foot.into()]
    }
}

/// Adds `plain` as stored blocks, the last of them marked so where `last` says it. No bytes are one empty block.
fn store(out: &mut Vec<u8>, plain: &[u8], last: bool) {
    let mut chunks = plain.chunks(STORED).peekable();
    if chunks.peek().is_none() && last {
        out.extend_from_slice(&[1, 0, 0, 0xff, 0xff]);
    }
    while let Some(chunk) = chunks.next() {
        out.push(u8::from(last && chunks.peek().is_none()));
        // A chunk is no longer than two bytes can say.
        let count = u16::try_from(chunk.len()).unwrap_or(u16::MAX);
        out.extend_from_slice(&count.to_le_bytes());
        out.extend_from_slice(&(!count).to_le_bytes());
        out.extend_from_slice(chunk);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use proptest::prelude::*;

    use super::*;

    fn unpacked(member: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        let mut decoder = flate2::read::GzDecoder::new(member);
        decoder.read_to_end(&mut plain).unwrap();
        assert!(decoder.into_inner().is_empty(), "one member and no more");
        plain
    }

    #[test]
    fn text_becomes_small_and_whole_again() {
        let text = "{\"ecb_violation_number\":\"35784804M\",\"penalty\":5750},".repeat(4_000);
        let packed = Packed::of(text.as_bytes());
        assert!(packed.len() * 20 < text.len(), "{}", packed.len());
        let member = packed.gzip(&[b"{", b"\"data\":"], &[b"", b"}"]).concat();
        assert_eq!(unpacked(&member), format!("{{\"data\":{text}}}").as_bytes());
    }

    #[test]
    fn bytes_that_cannot_be_made_small_and_none_at_all() {
        let mut noise = vec![0_u8; 300_000];
        let mut state = 7_u32;
        for byte in &mut noise {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *byte = state.to_be_bytes()[0];
        }
        for plain in [&noise[..], b"", b"x"] {
            for packed in [Packed::of(plain), Packed::stored(plain)] {
                let member = packed.gzip(&[b"a"], &[]).concat();
                assert_eq!(unpacked(&member), [b"a", plain].concat());
            }
        }
    }

    proptest! {
        #[test]
        fn what_goes_in_comes_out(
            before in prop::collection::vec(any::<u8>(), 0..400),
            middle in prop::collection::vec(0_u8..4, 0..70_000),
            after in prop::collection::vec(any::<u8>(), 0..400),
        ) {
            let member = Packed::of(&middle).gzip(&[&before], &[&after]).concat();
            prop_assert_eq!(unpacked(&member), [before, middle, after].concat());
        }

        #[test]
        fn long_neighbours_are_more_than_one_block(extra in 0_usize..3) {
            let long = vec![b'n'; STORED * 2 + extra];
            let member = Packed::of(b"middle").gzip(&[&long], &[&long]).concat();
            prop_assert_eq!(unpacked(&member), [&long[..], b"middle", &long[..]].concat());
        }
    }
}
