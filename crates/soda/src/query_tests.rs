use proptest::prelude::*;

use super::*;
use crate::name::RESERVED;

/// Just enough of SoQL's lexer to see how many tokens a text has and what its literals say.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Number(String),
    Text(String),
    Sign(char),
}

fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut chars = text.chars().peekable();
    let mut found = Vec::new();
    while let Some(c) = chars.next() {
        let mut rest_while = |first: char, fits: fn(char) -> bool| {
            let mut word = String::from(first);
            while let Some(next) = chars.next_if(|next| fits(*next)) {
                word.push(next);
            }
            word
        };
        found.push(match c {
            ' ' => continue,
            '\'' => {
                let mut literal = String::new();
                loop {
                    match chars.next()? {
                        '\'' if chars.next_if_eq(&'\'').is_some() => literal.push('\''),
                        '\'' => break,
                        other => literal.push(other),
                    }
                }
                Token::Text(literal)
            }
            '`' => {
                let mut name = String::new();
                loop {
                    match chars.next()? {
                        '`' => break,
                        other => name.push(other),
                    }
                }
                Token::Word(name)
            }
            '0'..='9' | '-' => Token::Number(rest_while(c, |c| c.is_ascii_digit())),
            'a'..='z' | '_' | ':' => {
                Token::Word(rest_while(c, |c| c.is_ascii_alphanumeric() || c == '_'))
            }
            '=' | '>' | '(' | ')' | ',' | '*' => Token::Sign(c),
            _ => return None,
        });
    }
    Some(found)
}

fn masked(found: &[Token]) -> Vec<Token> {
    found
        .iter()
        .map(|token| match token {
            Token::Text(_) => Token::Text(String::new()),
            other => other.clone(),
        })
        .collect()
}

fn column(name: &str) -> Column {
    Column::new(name).unwrap()
}

/// Text that likes to break out.
fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,24}",
        "['\"\\\\`;()%_ a\u{0}\n-]{0,24}",
        Just("' or '1'='1".to_owned()),
        Just("\\' or 1=1 --".to_owned()),
        Just("''".to_owned()),
    ]
}

fn literal() -> impl Strategy<Value = Literal> {
    prop_oneof![
        4 => hostile().prop_map(Literal::Text),
        1 => any::<i64>().prop_map(Literal::Number),
        1 => any::<bool>().prop_map(Literal::Bool),
    ]
}

fn name() -> impl Strategy<Value = Column> {
    "[a-z_][a-z0-9_]{0,8}".prop_map(|name| Column::new(&name).unwrap())
}

fn condition() -> impl Strategy<Value = Condition> {
    let leaf = prop_oneof![
        (name(), literal()).prop_map(|(c, l)| Condition::Eq(c, l)),
        (name(), prop::collection::vec(literal(), 1..4)).prop_map(|(c, l)| Condition::In(c, l)),
        (name(), literal(), literal()).prop_map(|(c, a, b)| Condition::Between(c, a, b)),
        (name(), hostile()).prop_map(|(c, t)| Condition::StartsWith(c, t)),
        (name(), hostile()).prop_map(|(c, t)| Condition::Contains(c, t)),
        (name(), literal()).prop_map(|(c, l)| Condition::Gt(c, l)),
        name().prop_map(Condition::NotNull),
        name().prop_map(Condition::Null),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Condition::And),
            prop::collection::vec(inner, 0..4).prop_map(Condition::Or),
        ]
    })
}

/// The same condition with every text empty, and the texts in the order they stand.
fn emptied(condition: &Condition, texts: &mut Vec<String>) -> Condition {
    let mut empty = |literal: &Literal| match literal {
        Literal::Text(text) => {
            texts.push(text.clone());
            Literal::Text(String::new())
        }
        other => other.clone(),
    };
    match condition {
        Condition::Eq(c, l) => Condition::Eq(c.clone(), empty(l)),
        Condition::In(c, l) => Condition::In(c.clone(), l.iter().map(empty).collect()),
        Condition::Between(c, a, b) => Condition::Between(c.clone(), empty(a), empty(b)),
        Condition::StartsWith(c, text) => {
            texts.push(text.clone());
            Condition::StartsWith(c.clone(), String::new())
        }
        Condition::Gt(c, l) => Condition::Gt(c.clone(), empty(l)),
        Condition::Contains(c, text) => {
            texts.push(format!("%{text}%"));
            Condition::Contains(c.clone(), String::new())
        }
        Condition::NotNull(c) => Condition::NotNull(c.clone()),
        Condition::Null(c) => Condition::Null(c.clone()),
        Condition::And(parts) => Condition::And(parts.iter().map(|p| emptied(p, texts)).collect()),
        Condition::Or(parts) => Condition::Or(parts.iter().map(|p| emptied(p, texts)).collect()),
    }
}

proptest! {
    #[test]
    fn no_text_in_a_literal_changes_the_structure_of_a_query(condition in condition()) {
        let found = tokens(&condition.to_string()).expect("what was rendered can be read");
        let mut texts = Vec::new();
        let plain = tokens(&emptied(&condition, &mut texts).to_string()).unwrap();
        prop_assert_eq!(masked(&found), masked(&plain));
        let read: Vec<String> = found
            .into_iter()
            .filter_map(|token| match token { Token::Text(text) => Some(text), _ => None })
            .collect();
        prop_assert_eq!(read, texts);
    }

    #[test]
    fn a_column_is_one_word_or_refused(text in prop_oneof!["\\PC{0,16}", "[a-z0-9_:]{0,12}", hostile()]) {
        let fits = text == ":id" || (!text.is_empty()
            && !text.as_bytes()[0].is_ascii_digit()
            && text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_')));
        match Column::new(&text) {
            Ok(column) => {
                prop_assert!(fits, "{text:?} was taken for a column");
                prop_assert_eq!(tokens(&format!("{column}")), Some(vec![Token::Word(text)]));
            }
            Err(_) => prop_assert!(!fits, "{text:?} was refused"),
        }
    }

    #[test]
    fn a_dataset_id_is_four_dash_four_or_refused(text in prop_oneof!["\\PC{0,12}", "[a-z0-9-]{9}", "[a-z0-9]{4}-[a-z0-9]{4}"]) {
        let parts: Vec<&str> = text.split('-').collect();
        let fits = parts.len() == 2 && parts.iter().all(|part| {
            part.len() == 4 && part.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9'))
        });
        prop_assert_eq!(DatasetId::new(&text).is_ok(), fits, "{:?}", text);
    }
}

#[test]
fn conditions_are_written_as_the_language_has_them() {
    let bin = || column("bin");
    for (condition, text) in [
        (Condition::eq(bin(), "1015862"), "bin = '1015862'"),
        (Condition::eq(column("block"), 835_i64), "block = 835"),
        (Condition::eq(column("splitzone"), true), "splitzone = true"),
        (
            Condition::any_of(bin(), ["1", "2"]).unwrap(),
            "bin in ('1','2')",
        ),
        (
            Condition::Between(column("issue_date"), "20240101".into(), "20241231".into()),
            "issue_date between '20240101' and '20241231'",
        ),
        (
            Condition::StartsWith(column("device_number"), "1P'".into()),
            "starts_with(device_number, '1P''')",
        ),
        (
            Condition::Gt(Column::row_id(), "row-1".into()),
            ":id > 'row-1'",
        ),
        (
            Condition::Contains(column("lots"), "1'2".into()),
            "lots like '%1''2%'",
        ),
        (Condition::NotNull(column("date")), "date is not null"),
        (
            Condition::eq(bin(), 1_i64)
                .or(Condition::eq(column("bbl"), 2_i64).and(Condition::Null(bin()))),
            "bin = 1 or (bbl = 2 and bin is null)",
        ),
        (
            Condition::eq(bin(), 1_i64)
                .and(Condition::NotNull(column("date")))
                .and(Condition::eq(bin(), 2_i64).or(Condition::eq(bin(), 3_i64))),
            "bin = 1 and date is not null and (bin = 2 or bin = 3)",
        ),
        (
            Condition::NotNull(bin()).and(Condition::Between(bin(), 1_i64.into(), 2_i64.into())),
            "bin is not null and (bin between 1 and 2)",
        ),
        (Condition::eq(column("order"), 1_i64), "`order` = 1"),
        (Condition::In(bin(), vec![]), "1 = 0"),
        (Condition::And(vec![]), "1 = 1"),
        (Condition::Or(vec![]), "1 = 0"),
    ] {
        assert_eq!(condition.to_string(), text);
    }
    assert_eq!(Condition::any_of(bin(), Vec::<String>::new()), None);
}

#[test]
fn reserved_words_are_sorted_for_the_search() {
    assert!(RESERVED.is_sorted());
}

#[test]
fn a_query_names_its_limit_and_puts_the_star_first() {
    let dataset = DatasetId::new("ic3t-wcy2").unwrap();
    assert_eq!(
        Query::of(dataset.clone()).params(),
        [("$limit", "1000".to_owned())]
    );
    let query = Query::of(dataset.clone())
        .select([Select::RowId, Select::All])
        .order_asc(Column::row_id())
        .limit(50)
        .offset(100);
    assert!(query.selects_row_id() && !query.is_aggregate());
    assert_eq!(
        query.params(),
        [
            ("$select", "*,:id".to_owned()),
            ("$order", ":id asc".to_owned()),
            ("$limit", "50".to_owned()),
            ("$offset", "100".to_owned()),
        ]
    );
    let totals = Query::of(dataset)
        .columns([column("severity")])
        .select([
            Select::Count(column("n")),
            Select::Sum(column("balance_due"), column("owed")),
            Select::Min(column("issue_date"), column("oldest")),
            Select::Max(column("issue_date"), column("newest")),
            Select::CountDistinct(column("bin"), column("buildings")),
        ])
        .filter(Condition::eq(column("bin"), "1015862"))
        .filter(Condition::NotNull(column("severity")))
        .group([column("severity")]);
    assert!(totals.is_aggregate());
    assert_eq!(
        totals.params(),
        [
            (
                "$select",
                "severity,count(*) as n,sum(balance_due) as owed,min(issue_date) as oldest,\
                 max(issue_date) as newest,count(distinct bin) as buildings"
                    .to_owned()
            ),
            (
                "$where",
                "bin = '1015862' and severity is not null".to_owned()
            ),
            ("$group", "severity".to_owned()),
            ("$limit", "1000".to_owned()),
        ]
    );
}

#[test]
fn names_of_a_catalogue_are_checked_as_they_are_read() {
    #[derive(Debug, serde::Deserialize)]
    struct Entry {
        dataset: DatasetId,
        key: Column,
    }
    let entry: Entry = serde_json::from_str(r#"{"dataset":"6bgk-3dad","key":"bin"}"#).unwrap();
    assert_eq!(
        (entry.dataset.as_str(), entry.key.as_str()),
        ("6bgk-3dad", "bin")
    );
    let fault = serde_json::from_str::<Entry>(r#"{"dataset":"6bgk-3dad","key":"BIN"}"#)
        .unwrap_err()
        .to_string();
    assert!(fault.contains("no column name"), "{fault}");
}
