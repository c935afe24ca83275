//! Where a request ends, as its bytes come by.
//!
//! It refuses nothing and changes nothing: that is the parser's. Where a request is malformed the parser closes the connection, and what is
//! thought here of its end does not matter.

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
                Part::Head | Part::Size | Part::ChunkEnd | Part::Trailer => {
                    rest = self.line(rest);
                }
            }
        }
        bytes.len() - rest.len()
    }

    /// Takes the rest of a line, or all there is; returns what follows.
    fn line<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
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
    }

    /// What follows a whole line.
    fn after(&mut self, line: &[u8]) -> Part {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
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
            Part::Trailer if !line.is_empty() => Part::Trailer,
            _ => Part::Over,
        }
    }

    fn header(&mut self, line: &[u8]) {
        // Two of some dozen headers count.
        if !matches!(line.first(), Some(b'C' | b'c' | b'T' | b't')) {
            return;
        }
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
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
    use super::*;

    const HEAD: &str = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n";

    /// Requests, one after the other, and what ends the last.
    const REQUESTS: [&str; 12] = [
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
}
