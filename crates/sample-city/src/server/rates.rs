//! Mortgage rates: FRED's API and its download, and the weekly survey's file. Any day there is has its value, the same in
//! every process, so that a client may stand at any day.

use actix_web::{
    HttpRequest, HttpResponse,
    web::{self, Data, ServiceConfig},
};
use serde_json::json;
use time::{Date, Duration, OffsetDateTime, Weekday, macros::date};

use super::faults;
use crate::{
    Control, PMMS,
    seed::{Seed, hash},
};

/// The series of FRED that are made up: id, level in thousandths of a percent, published weekly or daily.
const SERIES: [(&str, i64, bool); 19] = [
    ("OBMMIC30YF", 6_950, false),
    ("OBMMIC30YFNA", 6_900, false),
    ("OBMMIC15YF", 6_050, false),
    ("OBMMIJUMBO30YF", 7_150, false),
    ("OBMMIFHA30YF", 6_600, false),
    ("OBMMIVA30YF", 6_500, false),
    ("OBMMIUSDA30YF", 6_580, false),
    ("OBMMIC30YFLVLE80FGE740", 6_820, false),
    ("OBMMIC30YFLVLE80FB720A739", 6_930, false),
    ("OBMMIC30YFLVLE80FB700A719", 7_010, false),
    ("OBMMIC30YFLVLE80FB680A699", 7_120, false),
    ("OBMMIC30YFLVLE80FLT680", 7_240, false),
    ("OBMMIC30YFLVGT80FGE740", 6_870, false),
    ("OBMMIC30YFLVGT80FB720A739", 6_990, false),
    ("OBMMIC30YFLVGT80FB700A719", 7_080, false),
    ("OBMMIC30YFLVGT80FB680A699", 7_190, false),
    ("OBMMIC30YFLVGT80FLT680", 7_330, false),
    ("MORTGAGE30US", 7_000, true),
    ("MORTGAGE15US", 6_300, true),
];

/// The first day of the daily series.
const FIRST_DAY: Date = date!(2017 - 01 - 03);
/// The first week of the survey's file; the publisher's own begins in 1971.
const FIRST_WEEK: Date = date!(2015 - 01 - 01);
/// From this week on the survey's rows have four columns, quoted, and no points.
const FOUR_COLUMNS: Date = date!(2022 - 11 - 17);
/// The most rows FRED gives.
const MOST_ROWS: usize = 100_000;

pub(super) fn routes(config: &mut ServiceConfig) {
    config
        .route("/fred/series/observations", web::get().to(observations))
        .route("/graph/fredgraph.csv", web::get().to(download))
        .route("/pmms/docs/PMMS_history.csv", web::get().to(survey));
}

/// The level of a series, if it is one of ours, and whether it is weekly.
fn level(id: &str) -> Option<(i64, bool)> {
    let known = SERIES.iter().find(|(known, ..)| *known == id);
    known.map(|(_, level, weekly)| (*level, *weekly))
}

/// Thousandths of a percent on a day: a slow wave that all series share, and a little of the series' own.
fn thousandths(id: &str, level: i64, day: Date) -> i64 {
    let days = f64::from(day.to_julian_day());
    let wave = (days / 190.0).sin() * 420.0 + (days / 23.0).sin() * 60.0;
    let own = Seed::new(&[id.as_bytes(), day.to_string().as_bytes()]).below(31);
    // Far within range: levels are thousands, the wave hundreds.
    level + wave as i64 + i64::try_from(own).unwrap_or(0) - 15
}

/// The value's text: three decimals for an index, two for the survey; `None` on a holiday, of which one weekday in forty is.
fn value(id: &str, level: i64, weekly: bool, day: Date) -> Option<String> {
    if weekly {
        let hundredths = thousandths("survey", level, day) / 10;
        return Some(format!("{}.{:02}", hundredths / 100, hundredths % 100));
    }
    let holiday = hash(&[b"holiday", day.to_string().as_bytes()]).is_multiple_of(40);
    let value = thousandths(id, level, day);
    (!holiday).then(|| format!("{}.{:03}", value / 1_000, value % 1_000))
}

fn is_published_on(weekly: bool, day: Date) -> bool {
    match day.weekday() {
        Weekday::Thursday => true,
        Weekday::Saturday | Weekday::Sunday => false,
        _ => !weekly,
    }
}

/// The days of a series, oldest first.
fn days(weekly: bool, from: Date, to: Date) -> impl DoubleEndedIterator<Item = Date> {
    let first = from.max(if weekly { FIRST_WEEK } else { FIRST_DAY });
    (first.to_julian_day()..=to.to_julian_day())
        .filter_map(|day| Date::from_julian_day(day).ok())
        .filter(move |day| is_published_on(weekly, *day))
}

/// The newest day that has a value for a client who stands at `end`, or today: an index comes out a day late.
fn newest(weekly: bool, end: Option<Date>) -> Date {
    let end = end.unwrap_or_else(|| OffsetDateTime::now_utc().date());
    if weekly { end } else { end - Duration::DAY }
}

fn params(request: &HttpRequest) -> Vec<(String, String)> {
    web::Query::from_query(request.query_string())
        .map(web::Query::into_inner)
        .unwrap_or_default()
}

fn param<'a>(params: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = params.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_str())
}

fn day(text: &str) -> Option<Date> {
    Date::parse(
        text,
        time::macros::format_description!("[year]-[month]-[day]"),
    )
    .ok()
}

/// FRED refuses in JSON only where JSON was asked for.
fn refused(json: bool, message: &str) -> HttpResponse {
    let mut answer = HttpResponse::BadRequest();
    if json {
        return answer.json(json!({ "error_code": 400, "error_message": message }));
    }
    answer.content_type("text/xml; charset=UTF-8").body(format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\" ?>\n<error code=\"400\" message=\"{message}\" />"
    ))
}

async fn observations(request: HttpRequest, control: Data<Control>) -> HttpResponse {
    let params = params(&request);
    let id = param(&params, "series_id").unwrap_or_default().to_owned();
    let plan = control.begin(&id, &without_key(request.query_string()));
    let filled = control.city().has_records();
    faults::meet(plan, || fred_answer(&params, &id, filled)).await
}

/// A query as it may be remembered: a test that looks for a leaked key must not find it here.
fn without_key(query: &str) -> String {
    let kept: Vec<&str> = query
        .split('&')
        .filter(|pair| !pair.starts_with("api_key="))
        .collect();
    kept.join("&")
}

fn fred_answer(params: &[(String, String)], id: &str, filled: bool) -> HttpResponse {
    let json = param(params, "file_type") == Some("json");
    let key = param(params, "api_key").unwrap_or_default();
    let is_key = |key: &str| {
        key.len() == 32
            && key
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    if !is_key(key) {
        return refused(
            json,
            "Bad Request.  The value for variable api_key is not a 32 character alpha-numeric lower-case string.  Read https://fred.stlouisfed.org/docs/api/api_key.html for more information.",
        );
    }
    let Some((level, weekly)) = level(id) else {
        return refused(json, "Bad Request.  The series does not exist.");
    };
    if !json {
        // XML is the default; no client of ours asks for it.
        return HttpResponse::Ok()
            .content_type("text/xml; charset=UTF-8")
            .body("<?xml version=\"1.0\" encoding=\"utf-8\" ?>\n<observations />");
    }
    let of = |name: &str| param(params, name).map(day);
    let (start, end) = match (of("observation_start"), of("observation_end")) {
        (Some(None), _) | (_, Some(None)) => {
            return refused(json, "Bad Request.  A date is not of the form YYYY-MM-DD.");
        }
        (start, end) => (
            start.flatten().unwrap_or(FIRST_WEEK),
            newest(weekly, end.flatten()),
        ),
    };
    let limit = match param(params, "limit").map(str::parse::<usize>) {
        None => MOST_ROWS,
        Some(Ok(limit @ 1..=MOST_ROWS)) => limit,
        Some(_) => {
            return refused(
                json,
                "Bad Request.  Variable limit is not between 1 and 100000.",
            );
        }
    };
    let descending = param(params, "sort_order") == Some("desc");
    let mut all: Vec<Date> = days(weekly, start, end).filter(|_| filled).collect();
    if descending {
        all.reverse();
    }
    let today = OffsetDateTime::now_utc().date().to_string();
    let rows: Vec<_> = all
        .iter()
        .take(limit)
        .map(|day| {
            let value = value(id, level, weekly, *day);
            json!({
                "realtime_start": today,
                "realtime_end": today,
                "date": day.to_string(),
                "value": value.unwrap_or_else(|| ".".to_owned()),
            })
        })
        .collect();
    HttpResponse::Ok().json(json!({
        "realtime_start": today,
        "realtime_end": today,
        "observation_start": start.to_string(),
        "observation_end": end.to_string(),
        "units": "lin",
        "output_type": 1,
        "file_type": "json",
        "order_by": "observation_date",
        "sort_order": if descending { "desc" } else { "asc" },
        "count": all.len(),
        "offset": 0,
        "limit": limit,
        "observations": rows,
    }))
}

async fn download(request: HttpRequest, control: Data<Control>) -> HttpResponse {
    let params = params(&request);
    let id = param(&params, "id").unwrap_or_default().to_owned();
    let plan = control.begin(&id, request.query_string());
    let filled = control.city().has_records();
    faults::meet(plan, || {
        let Some((level, weekly)) = level(&id) else {
            return HttpResponse::NotFound()
                .content_type("text/html; charset=utf-8")
                .body("<html><body>We can't find the page you're looking for.</body></html>");
        };
        let of = |name: &str| param(&params, name).and_then(day);
        let start = of("cosd").unwrap_or(FIRST_WEEK);
        let end = newest(weekly, of("coed"));
        let mut text = format!("observation_date,{id}\n");
        for day in days(weekly, start, end).filter(|_| filled) {
            let value = value(&id, level, weekly, day).unwrap_or_default();
            text.push_str(&format!("{day},{value}\n"));
        }
        HttpResponse::Ok().content_type("text/csv").body(text)
    })
    .await
}

async fn survey(request: HttpRequest, control: Data<Control>) -> HttpResponse {
    let plan = control.begin(PMMS, request.query_string());
    let filled = control.city().has_records();
    faults::meet(plan, || {
        HttpResponse::Ok()
            .content_type("text/csv")
            .body(survey_file(newest(true, None), filled))
    })
    .await
}

/// The survey's file up to a day, in the publisher's two forms.
fn survey_file(to: Date, filled: bool) -> String {
    let mut text =
        "date,pmms30,pmms30p,pmms15,pmms15p,pmms51,pmms51p,pmms51m,pmms51spread\r\n".to_owned();
    let of = |id: &str, week: Date| {
        let (level, weekly) = level(id).unwrap_or((7_000, true));
        value(id, level, weekly, week).unwrap_or_default()
    };
    for week in days(true, FIRST_WEEK, to).filter(|_| filled) {
        let date = format!("{}/{}/{}", u8::from(week.month()), week.day(), week.year());
        let (thirty, fifteen) = (of("MORTGAGE30US", week), of("MORTGAGE15US", week));
        let line = if week < FOUR_COLUMNS {
            format!("{date},{thirty},0.7,{fifteen},0.8,5.9,0.3,2.75, \r\n")
        } else {
            format!("\"{date}\",\"{thirty}\",\"\",\"{fifteen}\"\r\n")
        };
        text.push_str(&line);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_one_value_and_the_better_class_pays_less() {
        let day = date!(2026 - 11 - 25);
        let of = |id: &str| {
            let (level, weekly) = level(id).unwrap();
            value(id, level, weekly, day)
        };
        let best = of("OBMMIC30YFLVLE80FGE740").unwrap();
        assert_eq!(of("OBMMIC30YFLVLE80FGE740"), Some(best.clone()));
        let rate = |text: String| text.parse::<f64>().unwrap();
        assert!(rate(best) < rate(of("OBMMIC30YFLVGT80FLT680").unwrap()));
    }

    #[test]
    fn an_index_has_holidays_and_no_weekends() {
        let year = || days(false, date!(2026 - 01 - 01), date!(2026 - 12 - 31));
        assert_eq!(year().count(), 261);
        let holidays = year()
            .filter(|day| value("OBMMIC30YF", 6_950, false, *day).is_none())
            .count();
        assert!((1..20).contains(&holidays), "{holidays}");
    }

    #[test]
    fn the_survey_changes_its_form_midway_and_agrees_with_fred() {
        let file = survey_file(date!(2022 - 11 - 17), true);
        let lines: Vec<&str> = file.lines().collect();
        let [.., nine, four] = lines.as_slice() else {
            panic!("a file of weeks")
        };
        assert_eq!(nine.split(',').count(), 9, "{nine}");
        assert_eq!(four.split(',').count(), 4, "{four}");
        let fred = value("MORTGAGE30US", 7_000, true, date!(2022 - 11 - 17)).unwrap();
        assert!(four.contains(&format!("\"{fred}\"")), "{four}");
        assert_eq!(survey_file(date!(2022 - 11 - 17), false).lines().count(), 1);
    }

    #[test]
    fn no_key_is_remembered() {
        assert_eq!(
            without_key("series_id=X&api_key=secret&limit=10"),
            "series_id=X&limit=10"
        );
    }
}
