//! Where a request ends, as its bytes come by.
//!
//! It refuses nothing and changes nothing: that is the parser's. Where a request is malformed the parser closes the connection, and what is
//! thought here of its end does not matter.

use memchr::memchr;

/// The most of a line that is kept while its end has not come; lines that count are shorter.
const LINE: usize = 1024;

/// What the next byte belongs to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Part {
    /// Empty lines that may stand before a request.
    #[default]
    Before,
    /// The request line and the headers.
    Head,
    /// A body with so many bytes to come.
    Body(u64),
    /// The line with a chunk's size.
    Size,
    /// A chunk with so many bytes to come.
    Chunk(u64),
    /// The line end behind a chunk.
    ChunkEnd,
    /// What follows the last chunk, to an empty line.
    Trailer,
    /// The rest of such a line: in these a line feed alone ends nothing.
    TrailerRest,
    /// Nothing is left.
    Over,
}

/// The request whose bytes come by.
#[derive(Debug, Default)]
pub(crate) struct Framing {
    part: Part,
    length: u64,
    chunked: bool,
    /// A line whose end has not come.
    line: Vec<u8>,
}

impl Framing {
    /// Whether the whole request has come by.
    pub(crate) fn is_over(&self) -> bool {
        self.part == Part::Over
    }

    /// The next byte is the first of another request, or of an empty line before it.
    pub(crate) fn restart(&mut self) {
        self.part = Part::Before;
        self.length = 0;
        self.chunked = false;
    }

    /// How many of these bytes are still the request's. Not all of them means that it is over.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> usize {
        let mut rest = bytes;
        while let Some(first) = rest.first() {
            match self.part {
                Part::Over => break,
                Part::Before if matches!(first, b'\r' | b'\n') => rest = &rest[1..],
                Part::Before => self.part = Part::Head,
                Part::Body(left) => {
                    let taken = least(left, rest);
                    rest = &rest[taken..];
                    self.part = match left - taken as u64 {
                        0 => Part::Over,
                        left => Part::Body(left),
                    };
                }
                Part::Chunk(left) => {
                    let taken = least(left, rest);
                    rest = &rest[taken..];
                    self.part = match left - taken as u64 {
                        0 => Part::ChunkEnd,
                        left => Part::Chunk(left),
                    };
                }
                Part::Head | Part::Size | Part::ChunkEnd | Part::Trailer | Part::TrailerRest => {
                    rest = self.line(rest);
                }
            }
        }
        bytes.len() - rest.len()
    }

    /// Takes the rest of a line, or all there is; returns what follows.
    fn line<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let Some(end) = memchr(b'\n', bytes) else {
            self.keep(bytes);
            return &[];
        };
        let (line, rest) = bytes.split_at(end);
        if self.line.is_empty() {
            self.part = self.after(line);
        } else {
            self.keep(line);
            let line = std::mem::take(&mut self.line);
            self.part = self.after(&line);
        }
        &rest[1..]
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = LINE.saturating_sub(self.line.len());
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
        // Whether its end is a carriage return counts, however long it is.
        if let (true, Some(end), Some(last)) =
            (bytes.len() > room, self.line.last_mut(), bytes.last())
        {
            *end = *last;
        }
    }

    /// What follows a whole line.
    fn after(&mut self, line: &[u8]) -> Part {
        let with_return = line.strip_suffix(b"\r");
        let line = with_return.unwrap_or(line);
        match self.part {
            Part::Head if line.is_empty() => match (self.chunked, self.length) {
                (true, _) => Part::Size,
                (false, 0) => Part::Over,
                (false, length) => Part::Body(length),
            },
            Part::Head => {
                self.header(line);
                Part::Head
            }
            Part::Size => match size(line) {
                None => Part::Over,
                Some(0) => Part::Trailer,
                Some(size) => Part::Chunk(size),
            },
            Part::ChunkEnd => Part::Size,
            Part::Trailer | Part::TrailerRest if with_return.is_none() => Part::TrailerRest,
            Part::Trailer if !line.is_empty() => Part::Trailer,
            Part::TrailerRest => Part::Trailer,
            _ => Part::Over,
        }
    }

    fn header(&mut self, line: &[u8]) {
        // Two of some dozen headers count.
        if !matches!(line.first(), Some(b'C' | b'c' | b'T' | b't')) {
            return;
        }
        let Some(colon) = memchr(b':', line) else {
            return;
        };
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        if name.eq_ignore_ascii_case(b"content-length") {
            self.length = number(value.trim_ascii(), 10).unwrap_or(0);
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.chunked = value
                .trim_ascii()
                .to_ascii_lowercase()
                .ends_with(b"chunked");
        }
    }
}

fn least(left: u64, bytes: &[u8]) -> usize {
    usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()))
}

/// The size of a chunk, its extensions left out.
fn size(line: &[u8]) -> Option<u64> {
    let digits = line.split(|byte| *byte == b';').next()?;
    number(digits.trim_ascii(), 16)
}

fn number(digits: &[u8], radix: u32) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()
}

#[cfg(test)]
mod tests {
    use actix_http::h1::{Codec, Message, MessageType};
    use bytes::BytesMut;
    use proptest::prelude::*;
    use tokio_util::codec::Decoder as _;

    use super::*;

    const HEAD: &str = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n";

    /// Requests, one after the other, and what ends the last.
    const REQUESTS: [&str; 13] = [
        HEAD,
        "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nCookie: c\r\nTE: trailers\r\n\r\n",
        "GET / HTTP/1.1\nHost: a\n\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nGET ",
        "POST / HTTP/1.1\r\ncontent-length:10\r\nHost: a\r\n\r\n\r\n\r\n\r\n\r\n\r\n",
        "POST / HTTP/1.1\r\nCONTENT-LENGTH: \t 1 \r\nHost: a\r\n\r\nx",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nwxyz\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, Chunked \r\n\r\n1;x=y\r\n\n\r\nA\r\n0123456789\r\n000\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\ntransfer-encoding: chunked\r\n\r\n0\r\nTrailer: x\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\nc\r\n\n\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nX-Content-Length: 9\r\nContent-Lengths: 9\r\nContent-Length 9\r\n\r\n",
        HEAD,
    ];

    /// The pieces that `bytes` is handed over in, when it comes in pieces of `size`.
    fn in_turn(bytes: &[u8], size: usize) -> Vec<Vec<u8>> {
        let mut framing = Framing::default();
        let mut requests = vec![vec![]];
        for mut piece in bytes.chunks(size) {
            loop {
                let taken = framing.take(piece);
                let request = requests.last_mut().expect("one");
                request.extend_from_slice(&piece[..taken]);
                piece = &piece[taken..];
                if piece.is_empty() {
                    break;
                }
                assert!(framing.is_over(), "the rest is another request's");
                framing.restart();
                requests.push(vec![]);
            }
        }
        assert!(framing.is_over(), "the last is whole");
        requests
    }

    #[test]
    fn each_request_ends_where_it_ends_however_it_comes() {
        let all = REQUESTS.concat();
        let wanted: Vec<_> = REQUESTS.map(|text| text.as_bytes().to_vec()).into();
        for size in (1..=64).chain([all.len()]) {
            assert_eq!(in_turn(all.as_bytes(), size), wanted, "pieces of {size}");
        }
    }

    #[test]
    fn what_the_parser_refuses_ends_at_its_head() {
        for length in ["-1", "x", "", "99999999999999999999999", "1 2"] {
            let head = format!("POST / HTTP/1.1\r\nContent-Length: {length}\r\n\r\n");
            let mut framing = Framing::default();
            let taken = framing.take(format!("{head}more").as_bytes());
            assert_eq!(taken, head.len(), "{length}");
            assert!(framing.is_over());
        }
        let chunks = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n";
        let taken = Framing::default().take(format!("{chunks}more").as_bytes());
        assert_eq!(taken, chunks.len());
    }

    #[test]
    fn a_line_without_an_end_is_not_kept_whole() {
        let mut framing = Framing::default();
        for _ in 0..100 {
            assert_eq!(framing.take(&[b'x'; LINE]), LINE);
            assert!(framing.line.len() <= LINE);
        }
        assert!(!framing.is_over());
    }

    #[test]
    fn a_long_line_ends_as_a_short_one_does() {
        let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        let long = "x".repeat(3 * LINE);
        let request = format!("{head}1;{long}\r\ny\r\n0\r\n{long}: {long}\r\n\r\n");
        let twice = [&request[..], HEAD].concat();
        for size in [1, LINE - 1, LINE, LINE + 1, 2 * LINE] {
            let whole = [&request, HEAD].map(|text| text.as_bytes().to_vec());
            assert_eq!(in_turn(twice.as_bytes(), size), whole, "pieces of {size}");
        }
    }

    /// The whole requests that the library's own parser finds in `bytes`, up to one that it refuses.
    fn parsed(bytes: &[u8]) -> Vec<Vec<u8>> {
        let (mut codec, mut rest) = (Codec::default(), BytesMut::from(bytes));
        let (mut requests, mut begun) = (vec![], 0);
        while let Ok(Some(message)) = codec.decode(&mut rest) {
            let whole = match message {
                Message::Item(_) => codec.message_type() == MessageType::None,
                Message::Chunk(piece) => piece.is_none(),
            };
            if whole {
                let end = bytes.len() - rest.len();
                requests.push(bytes[begun..end].to_vec());
                begun = end;
            }
        }
        requests
    }

    /// Text that looks like much of what has a meaning elsewhere in a request.
    fn content() -> impl Strategy<Value = String> {
        prop_oneof![
            "[ -~\r\n]{0,40}",
            "(0|a|;|\r\n|\n|Content-Length: 3\r\n){0,8}",
            prop::sample::select(&REQUESTS[..]).prop_map(str::to_owned),
        ]
    }

    /// The headers that say how long a body is, and the body; lines end in `\n` here.
    fn body() -> impl Strategy<Value = (String, String)> {
        let named = |name: &'static str| {
            (prop::bool::ANY, "[ \t]{0,3}", "[ \t]{0,3}").prop_map(move |(low, before, after)| {
                let name = if low {
                    name.to_ascii_lowercase()
                } else {
                    name.to_owned()
                };
                (format!("{name}:{before}"), after)
            })
        };
        let length = (named("Content-Length"), "0{0,3}", content()).prop_map(
            |((name, after), zeros, content)| {
                (format!("{name}{zeros}{}{after}\n", content.len()), content)
            },
        );
        let chunk = ("0{0,2}", content(), "(|[ \t]{1,2}|;[ -~]{0,9})").prop_map(
            |(zeros, content, extension)| match content.len() {
                0 => String::new(),
                size => format!("{zeros}{size:X}{extension}\r\n{content}\r\n"),
            },
        );
        let trailer = "([A-Z][ -~]{0,9}\r\n){0,2}";
        let chunked = (
            named("Transfer-Encoding"),
            prop::collection::vec(chunk, 0..4),
            "0{1,3}",
            trailer,
        )
            .prop_map(|((name, after), chunks, zeros, trailer)| {
                let body = format!("{}{zeros}\r\n{trailer}\r\n", chunks.concat());
                (format!("{name}chunked{after}\n"), body)
            });
        prop_oneof![Just(Default::default()), length, chunked]
    }

    fn request() -> impl Strategy<Value = String> {
        let others = "(C[a-z]{0,5}-[a-z]{1,9}: [ -~]{0,20}\n|T[A-Z]{1,3}: [ -~]{0,20}\n){0,4}";
        (0..3_usize, others, body(), prop::bool::ANY).prop_map(
            |(empty, others, (header, body), short)| {
                let head = format!(
                    "{}POST /a HTTP/1.1\nHost: a\n{others}{header}\n",
                    "\n".repeat(empty)
                );
                let head = if short {
                    head
                } else {
                    head.replace('\n', "\r\n")
                };
                head + &body
            },
        )
    }

    #[test]
    fn it_ends_where_the_parser_ends_it() {
        let requests = prop::collection::vec(request(), 1..4);
        // The parser's date is a task's.
        actix_web::rt::System::new().block_on(async {
            proptest!(|(requests in requests, size in 1..200_usize)| {
                let bytes = requests.concat().into_bytes();
                let whole: Vec<_> = requests.into_iter().map(String::into_bytes).collect();
                prop_assert_eq!(&parsed(&bytes), &whole);
                prop_assert_eq!(in_turn(&bytes, size), whole);
            });
        });
    }

    /// The start of a request, and then anything that has a meaning somewhere in one, often where it has none.
    fn soup() -> impl Strategy<Value = String> {
        const STARTS: [&str; 4] = [
            "POST / HTTP/1.1\r\nHost: a\r\n",
            "\r\nPOST / HTTP/1.1\nHost: a\n",
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
            "GET / HTTP/1.0\r\n",
        ];
        const PIECES: [&str; 31] = [
            "\r\n",
            "\n",
            "\r",
            "\0",
            ":",
            "x",
            "0",
            "POST / HTTP/1.1\r\n",
            "Host: a\r\n",
            "X: y\r\n",
            "X: y\n",
            "Content-Length: 5\r\n",
            "content-length:0\r\n",
            "Content-Length : 5\r\n",
            " Content-Length: 5\r\n",
            "Content-Length: 05\n",
            "Content-Length: 5 \t\r\n",
            "Content-Length: 5\r\r\n",
            "Transfer-Encoding: chunked\r\n",
            "Transfer-Encoding: \tCHUNKED \r\n",
            "transfer-encoding: identity\r\n",
            "TE: chunked\r\n",
            "Expect: 100-continue\r\n",
            "5\r\n",
            "5;a=b\r\nhello\r\n",
            "5 ;x\r\nhello\r\n",
            "hello\r\n",
            "0\r\n",
            "0 \t\r\n\r\n",
            "0\r\nA: b\r\n\r\n",
            "00\r\n\r\n",
        ];
        let pieces = prop::collection::vec(prop::sample::select(&PIECES[..]), 1..12);
        (prop::sample::select(&STARTS[..]), pieces)
            .prop_map(|(start, pieces)| start.to_owned() + &pieces.concat())
    }

    #[test]
    fn whatever_the_parser_takes_for_a_request_ends_there() {
        actix_web::rt::System::new().block_on(async {
            proptest!(|(soup in soup())| {
                if let Some(first) = parsed(soup.as_bytes()).first() {
                    let mut framing = Framing::default();
                    prop_assert_eq!(framing.take(soup.as_bytes()), first.len());
                    prop_assert!(framing.is_over());
                    let mut framing = Framing::default();
                    let taken = soup.as_bytes().chunks(1).map(|byte| framing.take(byte));
                    prop_assert_eq!(taken.sum::<usize>(), first.len());
                }
            });
        });
    }
}
