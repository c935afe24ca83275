//! Where a text says that the building is.

use brownstone_domain::Borough;

use super::{Kind, Note};
use crate::{
    area::{self, Boroughs, Place, PlaceKind, ZipArea},
    words::Token,
};

/// Whether `New York` was typed, and as what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum NewYork {
    /// Not at all.
    #[default]
    No,
    /// `NY` alone: the state, and no city.
    State,
    /// As the post-office city of Manhattan; careless lists write it for any borough.
    City,
}

/// Where a text says that the building is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Where {
    /// A borough by name.
    pub named: Option<Borough>,
    /// Boroughs, or cities of one, that contradict the first: no one can tell which is meant.
    pub(crate) also: Boroughs,
    /// The boroughs of a city or neighbourhood typed.
    pub hinted: Boroughs,
    /// Whether that is a post-office city of Queens, which is as good as the borough's name.
    pub is_city: bool,
    /// Whether `New York` was typed.
    pub new_york: NewYork,
    /// The ZIP code.
    pub zip: Option<u32>,
    /// The city or neighbourhood, as our table has it.
    pub(crate) area: Option<PlaceText>,
    /// A place outside the city, by name: the county or state it is in.
    pub(crate) outside: Option<String>,
    /// A name that a Nassau village shares: if no row agrees, the text means the village.
    pub(crate) on_the_line: bool,
    /// Words that seem to be a city, and none that we know.
    pub(crate) unknown_city: bool,
    /// How often `NY` was typed; `New York` counts twice.
    pub(super) new_yorks: u8,
}

/// A place of our table, by its name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlaceText(pub(crate) Place);

impl PartialEq for PlaceText {
    fn eq(&self, other: &Self) -> bool {
        self.0.label == other.0.label
    }
}

impl Where {
    /// The one borough that the text names or hints at; by its ZIP where it does neither.
    pub fn borough(&self) -> Option<Borough> {
        let by_zip = self.zip_boroughs();
        let manhattan = by_zip.is_empty() || by_zip.contains(Borough::Manhattan);
        self.named
            .or_else(|| self.hinted.single())
            .or_else(|| (self.new_york == NewYork::City && manhattan).then_some(Borough::Manhattan))
            .or_else(|| by_zip.single())
    }

    /// The boroughs of the ZIP; none without one that says something.
    pub fn zip_boroughs(&self) -> Boroughs {
        match self.zip.map(area::zip_area) {
            Some(ZipArea::City(boroughs) | ZipArea::Line(boroughs)) => boroughs,
            _ => Boroughs::default(),
        }
    }

    /// What the ZIP says.
    pub(crate) fn zip_area(&self) -> Option<ZipArea> {
        self.zip.map(area::zip_area)
    }

    /// Whether a borough, a city of Queens or a neighbourhood was typed.
    pub(crate) fn says_city(&self) -> bool {
        self.named.is_some() || !self.hinted.is_empty()
    }

    /// The place outside the five boroughs that the text names, if it does, whatever its street.
    ///
    /// A state other than New York decides; then a ZIP of another state; then, where nothing in the city is named, a
    /// city or a ZIP outside.
    pub fn outside(&self) -> Option<&str> {
        if let Some(outside) = &self.outside {
            return Some(outside);
        }
        match self.zip_area() {
            Some(ZipArea::Elsewhere) => Some("another state, by its ZIP code"),
            Some(ZipArea::State) if !self.says_city() => {
                Some("New York State outside the five boroughs, by its ZIP code")
            }
            _ => None,
        }
    }

    /// Whether nothing at all was said.
    pub(super) fn is_silent(&self) -> bool {
        !self.says_city() && self.new_yorks == 0 && self.zip.is_none() && self.outside.is_none()
    }

    /// Whether this says something of where it is that `other` leaves open.
    pub(super) fn adds_to(&self, other: &Self) -> bool {
        if other.is_silent() {
            return !self.is_silent();
        }
        self.says_city() || self.outside.is_some() || (self.zip.is_some() && other.zip.is_none())
    }

    /// What both say; where they differ, this one counts.
    pub(super) fn with(mut self, other: Self) -> Self {
        self.zip = self.zip.or(other.zip);
        self.outside = self.outside.or(other.outside);
        self.new_yorks = self.new_yorks.max(other.new_yorks);
        self.new_york = self.new_york.max(other.new_york);
        self.also = self.also.or(other.also);
        if !self.says_city() {
            self.named = other.named;
            self.hinted = other.hinted;
            self.is_city = other.is_city;
            self.area = other.area;
            self.on_the_line = other.on_the_line;
        }
        self
    }

    /// Takes note of `NY`, which counts once, or of `NEW YORK`, which counts twice: the city.
    pub(super) fn see_new_york(&mut self, weight: u8) {
        self.new_yorks = self.new_yorks.saturating_add(weight);
        self.new_york = if self.new_yorks >= 2 {
            NewYork::City
        } else {
            NewYork::State
        };
    }

    /// Words left over behind the street may be a city that we do not know. With the state behind them they are one, and
    /// outside; without it they leave a doubt.
    pub(super) fn look_at_the_rest(&mut self, body: &[Token<'_>], kind: &Kind, notes: &[Note]) {
        // `New York, NY` has its city; `New York` alone may be the state.
        let known = self.says_city()
            || self.outside.is_some()
            || self.new_yorks > 2
            || !self.zip_boroughs().is_empty();
        if known || !matches!(kind, Kind::Address(_)) {
            return;
        }
        let Some(last_break) = body.iter().rposition(Token::is_break) else {
            return;
        };
        let last = body.get(last_break + 1..).unwrap_or_default();
        // Building and firm names have other words than a city's.
        let is_name = !last.is_empty()
            && last.len() <= 3
            && last.iter().all(|t| {
                t.word.is == 0 && t.text.len() > 2 && t.text.bytes().all(|b| b.is_ascii_uppercase())
            });
        let ignored = notes.iter().any(|n| matches!(n, Note::Ignored(_)));
        if is_name && ignored {
            if self.new_yorks == 0 {
                self.unknown_city = true;
            } else {
                self.outside = Some("a city that is not in the five boroughs".to_owned());
            }
        }
    }

    /// Takes what a place's name says.
    pub(super) fn take(&mut self, place: Place) {
        match place.kind {
            PlaceKind::Borough => {
                let city_elsewhere = self.is_city && self.hinted.and(place.boroughs).is_empty();
                match self.named {
                    None => self.named = place.boroughs.single(),
                    Some(named) => {
                        self.also = self.also.or(place.boroughs.without(Boroughs::only(named)));
                    }
                }
                if city_elsewhere {
                    self.also = self.also.or(self.hinted);
                }
            }
            PlaceKind::City | PlaceKind::Neighborhood | PlaceKind::Line => {
                let elsewhere = self
                    .named
                    .is_some_and(|named| !place.boroughs.contains(named));
                if place.kind == PlaceKind::City && elsewhere {
                    self.also = self.also.or(place.boroughs);
                }
                if self.hinted.is_empty() {
                    self.hinted = place.boroughs;
                    self.is_city = place.kind != PlaceKind::Neighborhood;
                    self.area = Some(PlaceText(place));
                    self.on_the_line = place.kind == PlaceKind::Line;
                }
            }
            PlaceKind::Outside => {
                if !self.says_city() {
                    self.outside.get_or_insert_with(|| place.label.to_owned());
                }
            }
        }
    }
}
