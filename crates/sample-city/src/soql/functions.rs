//! The functions, as a table.

use rust_decimal::{Decimal, prelude::ToPrimitive};

use super::code::Kind;
use crate::table::Value;

pub(super) struct Function {
    pub(super) name: &'static str,
    pub(super) params: &'static [Kind],
    pub(super) result: Kind,
    pub(super) apply: fn(&[Value]) -> Value,
}

const fn function(
    name: &'static str,
    params: &'static [Kind],
    result: Kind,
    apply: fn(&[Value]) -> Value,
) -> Function {
    Function {
        name,
        params,
        result,
        apply,
    }
}

use Kind::{Checkbox, Floating, Number, Shape, Text};

pub(super) const FUNCTIONS: [Function; 16] = [
    function("upper", &[Text], Text, |args| text(args, str::to_uppercase)),
    function("lower", &[Text], Text, |args| text(args, str::to_lowercase)),
    function("trim", &[Text], Text, |args| {
        text(args, |text| text.trim().to_owned())
    }),
    function("starts_with", &[Text, Text], Checkbox, |args| {
        two_texts(args, |text, start| text.starts_with(start))
    }),
    function("contains", &[Text, Text], Checkbox, |args| {
        two_texts(args, |text, part| text.contains(part))
    }),
    function("date_extract_y", &[Floating], Number, |args| {
        extract(args, 0, 4)
    }),
    function("date_extract_m", &[Floating], Number, |args| {
        extract(args, 5, 7)
    }),
    function("date_extract_d", &[Floating], Number, |args| {
        extract(args, 8, 10)
    }),
    function("date_trunc_y", &[Floating], Floating, |args| {
        truncate(args, 4, "-01-01T00:00:00.000")
    }),
    function("date_trunc_ym", &[Floating], Floating, |args| {
        truncate(args, 7, "-01T00:00:00.000")
    }),
    function("date_trunc_ymd", &[Floating], Floating, |args| {
        truncate(args, 10, "T00:00:00.000")
    }),
    function(
        "within_circle",
        &[Shape, Number, Number, Number],
        Checkbox,
        |args| {
            // Latitude first, then longitude, then metres.
            let (Some(place), Some(lat), Some(lon), Some(metres)) = (
                place(args, 0),
                float(args, 1),
                float(args, 2),
                float(args, 3),
            ) else {
                return Value::Null;
            };
            Value::Bool(distance(place, (lon, lat)) <= metres)
        },
    ),
    function(
        "within_box",
        &[Shape, Number, Number, Number, Number],
        Checkbox,
        |args| {
            let (Some((lon, lat)), Some(north), Some(west), Some(south), Some(east)) = (
                place(args, 0),
                float(args, 1),
                float(args, 2),
                float(args, 3),
                float(args, 4),
            ) else {
                return Value::Null;
            };
            Value::Bool(south <= lat && lat <= north && west <= lon && lon <= east)
        },
    ),
    function("intersects", &[Shape, Text], Checkbox, |args| {
        let (Some(Value::Json(shape)), Some(point)) = (args.first(), point_of_wkt(args, 1)) else {
            return Value::Null;
        };
        Value::Bool(holds(shape, point))
    }),
    function("distance_in_meters", &[Shape, Text], Number, |args| match (
        place(args, 0),
        point_of_wkt(args, 1),
    ) {
        (Some(left), Some(right)) => Decimal::from_f64_retain(distance(left, right))
            .map_or(Value::Null, |metres| Value::number(metres.round_dp(6))),
        _ => Value::Null,
    }),
    function("op$||", &[Text, Text], Text, |args| match args {
        [Value::Text(left), Value::Text(right)] => Value::text(format!("{left}{right}")),
        _ => Value::Null,
    }),
];

/// Arithmetic; what overflows or divides by zero is nothing.
pub(super) const ARITHMETIC: [Function; 4] = [
    function("op$+", &[Number, Number], Number, |args| {
        arithmetic(args, Decimal::checked_add)
    }),
    function("op$-", &[Number, Number], Number, |args| {
        arithmetic(args, Decimal::checked_sub)
    }),
    function("op$*", &[Number, Number], Number, |args| {
        arithmetic(args, Decimal::checked_mul)
    }),
    function("op$/", &[Number, Number], Number, |args| {
        arithmetic(args, Decimal::checked_div)
    }),
];

fn text(args: &[Value], change: impl Fn(&str) -> String) -> Value {
    match args {
        [Value::Text(text)] => Value::text(change(text)),
        _ => Value::Null,
    }
}

fn two_texts(args: &[Value], test: impl Fn(&str, &str) -> bool) -> Value {
    match args {
        [Value::Text(left), Value::Text(right)] => Value::Bool(test(left, right)),
        _ => Value::Null,
    }
}

fn extract(args: &[Value], from: usize, to: usize) -> Value {
    match args {
        [Value::Time(time)] => (time.get(from..to))
            .and_then(|digits| digits.parse::<i64>().ok())
            .map_or(Value::Null, |part| Value::number(part.into())),
        _ => Value::Null,
    }
}

fn truncate(args: &[Value], keep: usize, rest: &str) -> Value {
    match args {
        [Value::Time(time)] => (time.get(..keep)).map_or(Value::Null, |kept| {
            Value::Time(format!("{kept}{rest}").into())
        }),
        _ => Value::Null,
    }
}

fn arithmetic(args: &[Value], apply: fn(Decimal, Decimal) -> Option<Decimal>) -> Value {
    match args {
        [Value::Number(_, left), Value::Number(_, right)] => {
            apply(*left, *right).map_or(Value::Null, Value::number)
        }
        _ => Value::Null,
    }
}

fn float(args: &[Value], at: usize) -> Option<f64> {
    match args.get(at)? {
        Value::Number(_, value) => value.to_f64(),
        _ => None,
    }
}

/// Longitude and latitude of a point or an old location.
fn place(args: &[Value], at: usize) -> Option<(f64, f64)> {
    let Value::Json(shape) = args.get(at)? else {
        return None;
    };
    let number = |value: &serde_json::Value| {
        (value.as_f64()).or_else(|| value.as_str().and_then(|text| text.parse().ok()))
    };
    match shape.get("coordinates") {
        Some(coordinates) => Some((number(coordinates.get(0)?)?, number(coordinates.get(1)?)?)),
        None => Some((
            number(shape.get("longitude")?)?,
            number(shape.get("latitude")?)?,
        )),
    }
}

/// `POINT (lon lat)`
fn point_of_wkt(args: &[Value], at: usize) -> Option<(f64, f64)> {
    let Value::Text(text) = args.get(at)? else {
        return None;
    };
    let inside = text.trim().strip_prefix("POINT")?.trim();
    let inside = inside.strip_prefix('(')?.strip_suffix(')')?;
    let mut parts = inside.split_whitespace();
    let lon = parts.next()?.parse().ok()?;
    let lat = parts.next()?.parse().ok()?;
    parts.next().is_none().then_some((lon, lat))
}

/// Metres between two places, on a sphere.
fn distance((lon_1, lat_1): (f64, f64), (lon_2, lat_2): (f64, f64)) -> f64 {
    let half = |from: f64, to: f64| ((to - from).to_radians() / 2.0).sin().powi(2);
    let chord = half(lat_1, lat_2)
        + lat_1.to_radians().cos() * lat_2.to_radians().cos() * half(lon_1, lon_2);
    2.0 * 6_371_000.0 * chord.sqrt().asin()
}

/// Whether a point lies in a multipolygon: a ray from it crosses the outline an odd number of times.
fn holds(shape: &serde_json::Value, (lon, lat): (f64, f64)) -> bool {
    let Some(polygons) = shape.get("coordinates").and_then(|list| list.as_array()) else {
        return false;
    };
    let corner =
        |corner: &serde_json::Value| Some((corner.get(0)?.as_f64()?, corner.get(1)?.as_f64()?));
    let rings = (polygons.iter()).flat_map(|polygon| polygon.as_array().into_iter().flatten());
    let crossings = rings
        .flat_map(|ring| {
            let corners: Vec<(f64, f64)> = (ring.as_array().into_iter().flatten())
                .filter_map(corner)
                .collect();
            let next: Vec<(f64, f64)> = corners.iter().skip(1).copied().collect();
            corners.into_iter().zip(next)
        })
        .filter(|((lon_1, lat_1), (lon_2, lat_2))| {
            (lat_1 > &lat) != (lat_2 > &lat)
                && lon < lon_1 + (lat - lat_1) / (lat_2 - lat_1) * (lon_2 - lon_1)
        })
        .count();
    crossings % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    fn call(name: &str, args: &[Value]) -> Value {
        let function = FUNCTIONS.iter().find(|function| function.name == name);
        (function.expect("known").apply)(args)
    }

    fn number(text: &str) -> Value {
        Value::of(crate::table::ColumnType::Number, text)
    }

    #[test]
    fn a_circle_takes_latitude_first() {
        let place = Value::Json(Arc::new(
            json!({"type": "Point", "coordinates": [-73.98566, 40.74844]}),
        ));
        let near = [
            place.clone(),
            number("40.7485"),
            number("-73.9856"),
            number("20"),
        ];
        assert_eq!(call("within_circle", &near), Value::Bool(true));
        let swapped = [place, number("-73.9856"), number("40.7485"), number("20")];
        assert_eq!(call("within_circle", &swapped), Value::Bool(false));
    }

    #[test]
    fn a_point_is_inside_or_outside() {
        let square = json!({"type": "MultiPolygon", "coordinates": [[[[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0], [0.0, 0.0]]]]});
        let square = Value::Json(Arc::new(square));
        for (point, inside) in [
            ("POINT (1 1)", true),
            ("POINT (3 1)", false),
            ("POINT(1)", false),
        ] {
            let answer = call("intersects", &[square.clone(), Value::text(point)]);
            assert_eq!(answer == Value::Bool(true), inside, "{point}");
        }
    }

    #[test]
    fn parts_of_a_date() {
        let time = Value::Time("2024-03-09T10:00:00.000".into());
        assert_eq!(
            call("date_extract_m", std::slice::from_ref(&time)),
            Value::number(3.into())
        );
        assert_eq!(
            call("date_trunc_ym", &[time]),
            Value::Time("2024-03-01T00:00:00.000".into())
        );
    }
}
