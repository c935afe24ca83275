//! Tokens to tree.

use super::{
    SoqlError,
    ast::{Expr, Node, Ordering, Selection},
    lexer::{Token, tokens},
};

/// How deep a condition may nest, and how many parts it may have: no query can make a stack overflow.
const MAX_DEPTH: u32 = 100;
const MAX_PARTS: u32 = 2_500;

/// Reads the clauses of one query; expressions are numbered through all of them.
#[derive(Debug, Default)]
pub(super) struct Parser {
    tokens: Vec<Token>,
    position: usize,
    next_at: u32,
    depth: u32,
}

impl Parser {
    pub(super) fn condition(&mut self, text: &str) -> Result<Expr, SoqlError> {
        self.begin(text)?;
        let expr = self.expr()?;
        self.end()?;
        Ok(expr)
    }

    pub(super) fn selections(&mut self, text: &str) -> Result<Vec<Selection>, SoqlError> {
        self.begin(text)?;
        let mut selections = Vec::new();
        loop {
            selections.push(self.selection()?);
            if !self.mark(",") {
                break;
            }
        }
        self.end()?;
        Ok(selections)
    }

    pub(super) fn orderings(&mut self, text: &str) -> Result<Vec<Ordering>, SoqlError> {
        self.begin(text)?;
        let mut orderings = Vec::new();
        loop {
            let expr = self.expr()?;
            let descending = if self.keyword("desc") {
                true
            } else {
                self.keyword("asc");
                false
            };
            orderings.push((expr, descending));
            if !self.mark(",") {
                break;
            }
        }
        self.end()?;
        Ok(orderings)
    }

    pub(super) fn list(&mut self, text: &str) -> Result<Vec<Expr>, SoqlError> {
        self.begin(text)?;
        let list = self.comma_list()?;
        self.end()?;
        Ok(list)
    }

    /// An expression made by the caller, numbered like the others.
    pub(super) fn make(&mut self, node: Node) -> Expr {
        self.next_at += 1;
        Expr {
            at: self.next_at,
            node,
        }
    }

    fn begin(&mut self, text: &str) -> Result<(), SoqlError> {
        self.tokens = tokens(text)?;
        self.position = 0;
        self.depth = 0;
        Ok(())
    }

    fn end(&self) -> Result<(), SoqlError> {
        match self.peek() {
            Token::End => Ok(()),
            other => Err(SoqlError::bad_parse("end of input", &other.describe())),
        }
    }

    fn peek(&self) -> &Token {
        self.tokens.get(self.position).unwrap_or(&Token::End)
    }

    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        self.position += 1;
        token
    }

    fn mark(&mut self, mark: &str) -> bool {
        let found = matches!(self.peek(), Token::Mark(found) if *found == mark);
        self.position += usize::from(found);
        found
    }

    fn keyword(&mut self, keyword: &str) -> bool {
        let found = self.peek().is(keyword);
        self.position += usize::from(found);
        found
    }

    fn expect(&mut self, mark: &'static str) -> Result<(), SoqlError> {
        if self.mark(mark) {
            return Ok(());
        }
        Err(SoqlError::bad_parse(
            &format!("`{mark}'"),
            &self.peek().describe(),
        ))
    }

    fn name(&mut self) -> Result<String, SoqlError> {
        match self.take() {
            Token::Name(name) | Token::Quoted(name) => Ok(name),
            other => Err(SoqlError::bad_parse("an identifier", &other.describe())),
        }
    }

    fn selection(&mut self) -> Result<Selection, SoqlError> {
        if self.mark("*") {
            return Ok(Selection::All);
        }
        if self.mark(":*") {
            return Ok(Selection::System);
        }
        let expr = self.expr()?;
        let alias = match self.keyword("as") {
            true => Some(self.name()?.to_ascii_lowercase()),
            false => None,
        };
        Ok(Selection::Expr(expr, alias))
    }

    fn comma_list(&mut self) -> Result<Vec<Expr>, SoqlError> {
        let mut list = vec![self.expr()?];
        while self.mark(",") {
            list.push(self.expr()?);
        }
        Ok(list)
    }

    fn expr(&mut self) -> Result<Expr, SoqlError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(SoqlError::bad_parse("a simpler expression", "one too deep"));
        }
        if self.next_at > MAX_PARTS {
            return Err(SoqlError::bad_parse("a shorter query", "one too long"));
        }
        let mut left = self.conjunction()?;
        while self.keyword("or") {
            let right = self.conjunction()?;
            left = self.binary("OR", left, right);
        }
        self.depth -= 1;
        Ok(left)
    }

    fn binary(&mut self, op: &'static str, left: Expr, right: Expr) -> Expr {
        self.make(Node::Binary(op, Box::new(left), Box::new(right)))
    }

    fn conjunction(&mut self) -> Result<Expr, SoqlError> {
        let mut left = self.negation()?;
        while self.keyword("and") {
            let right = self.negation()?;
            left = self.binary("AND", left, right);
            if self.next_at > MAX_PARTS {
                return Err(SoqlError::bad_parse("a shorter query", "one too long"));
            }
        }
        Ok(left)
    }

    fn negation(&mut self) -> Result<Expr, SoqlError> {
        let mut negated = false;
        while self.keyword("not") {
            negated = !negated;
        }
        let inner = self.comparison()?;
        match negated {
            true => Ok(self.make(Node::Prefix("NOT", Box::new(inner)))),
            false => Ok(inner),
        }
    }

    fn comparison(&mut self) -> Result<Expr, SoqlError> {
        let left = self.sum()?;
        const COMPARISONS: [(&str, &str); 8] = [
            ("=", "="),
            ("==", "="),
            ("!=", "!="),
            ("<>", "<>"),
            ("<=", "<="),
            (">=", ">="),
            ("<", "<"),
            (">", ">"),
        ];
        for (mark, op) in COMPARISONS {
            if self.mark(mark) {
                let right = self.sum()?;
                return Ok(self.binary(op, left, right));
            }
        }
        if self.keyword("is") {
            let negated = self.keyword("not");
            return match self.take() {
                token if token.is("null") => Ok(self.make(Node::IsNull(Box::new(left), negated))),
                other => Err(SoqlError::bad_parse("NULL", &other.describe())),
            };
        }
        let negated = self.keyword("not");
        if self.keyword("in") {
            self.expect("(")?;
            let list = self.comma_list()?;
            self.expect(")")?;
            return Ok(self.make(Node::In(Box::new(left), list, negated)));
        }
        if self.keyword("between") {
            let low = self.sum()?;
            if !self.keyword("and") {
                return Err(SoqlError::bad_parse("AND", &self.peek().describe()));
            }
            let high = self.sum()?;
            let (low, high) = (Box::new(low), Box::new(high));
            return Ok(self.make(Node::Between(Box::new(left), low, high, negated)));
        }
        if self.keyword("like") {
            let pattern = self.sum()?;
            return Ok(self.make(Node::Like(Box::new(left), Box::new(pattern), negated)));
        }
        if negated {
            return Err(SoqlError::bad_parse(
                "IN, BETWEEN or LIKE",
                &self.peek().describe(),
            ));
        }
        Ok(left)
    }

    fn sum(&mut self) -> Result<Expr, SoqlError> {
        let mut left = self.product()?;
        loop {
            let op = ["||", "+", "-"].into_iter().find(|op| self.mark(op));
            let Some(op) = op else { return Ok(left) };
            let right = self.product()?;
            left = self.binary(op, left, right);
        }
    }

    fn product(&mut self) -> Result<Expr, SoqlError> {
        let mut left = self.cast()?;
        loop {
            let op = ["*", "/"].into_iter().find(|op| self.mark(op));
            let Some(op) = op else { return Ok(left) };
            let right = self.cast()?;
            left = self.binary(op, left, right);
        }
    }

    fn cast(&mut self) -> Result<Expr, SoqlError> {
        let mut inner = self.primary()?;
        while self.mark("::") {
            let kind = self.name()?.to_ascii_lowercase();
            inner = self.make(Node::Cast(Box::new(inner), kind));
        }
        Ok(inner)
    }

    fn primary(&mut self) -> Result<Expr, SoqlError> {
        let node = match self.take() {
            Token::Text(text) => Node::Text(text),
            Token::Number(number) => Node::Number(number),
            Token::Mark("-") => match self.take() {
                Token::Number(number) => Node::Number(format!("-{number}")),
                other => return Err(SoqlError::bad_parse("a number", &other.describe())),
            },
            Token::Mark("(") => {
                let inner = self.expr()?;
                self.expect(")")?;
                return Ok(inner);
            }
            Token::Quoted(name) => Node::Column(name),
            Token::Name(name) if name.eq_ignore_ascii_case("true") => Node::Bool(true),
            Token::Name(name) if name.eq_ignore_ascii_case("false") => Node::Bool(false),
            Token::Name(name) if name.eq_ignore_ascii_case("null") => Node::Null,
            Token::Name(name) if self.mark("(") => self.call(name.to_ascii_lowercase())?,
            // Column names are lower case, and so found in any.
            Token::Name(name) => Node::Column(name.to_ascii_lowercase()),
            other => return Err(SoqlError::bad_parse("an expression", &other.describe())),
        };
        Ok(self.make(node))
    }

    fn call(&mut self, name: String) -> Result<Node, SoqlError> {
        let distinct = self.keyword("distinct");
        let star = self.mark("*");
        let args = if star || matches!(self.peek(), Token::Mark(")")) {
            Vec::new()
        } else {
            self.comma_list()?
        };
        self.expect(")")?;
        Ok(Node::Call {
            name,
            args,
            distinct,
            star,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn and_binds_tighter_than_or_and_not_tighter_than_and() {
        let expr = Parser::default()
            .condition("a = 1 or not b = 2 and c = 3")
            .expect("parses");
        let Node::Binary("OR", _, right) = expr.node else {
            panic!("or on top")
        };
        let Node::Binary("AND", left, _) = right.node else {
            panic!("and below")
        };
        assert!(matches!(left.node, Node::Prefix("NOT", _)));
    }

    #[test]
    fn between_keeps_its_own_and() {
        let expr = Parser::default()
            .condition("a between 1 and 2 and b = 3")
            .expect("parses");
        assert!(matches!(expr.node, Node::Binary("AND", _, _)));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "", "a =", "a = 1 b", "(a = 1", "a not 1", "a in ()", "f(a", "a is 1", "= 1",
        ] {
            assert!(Parser::default().condition(text).is_err(), "{text:?}");
        }
        let deep = "(".repeat(5_000) + "a" + &")".repeat(5_000);
        assert!(Parser::default().condition(&deep).is_err());
    }
}
