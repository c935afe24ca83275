//! Where to look for an address, by what the text says of its borough, city and ZIP.

use brownstone_domain::Borough;

use crate::{
    area::{Boroughs, ZipArea},
    parse::{NewYork, Where},
};

/// Where to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scope {
    /// The boroughs that are meant.
    pub(crate) boroughs: Boroughs,
    /// Boroughs that the ZIP means, where it contradicts: an address there counts when its ZIP is the one typed.
    pub(crate) contrary: Boroughs,
    /// What says so.
    pub(crate) by: By,
}

/// What says where to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// A borough's name.
    Borough,
    /// A post-office city or a neighbourhood.
    City,
    /// `New York`.
    NewYork,
    /// The ZIP alone.
    Zip,
    /// `NY` alone.
    State,
    /// Nothing.
    Nothing,
}

/// The scope of a text.
pub(crate) fn scope(place: &Where) -> Scope {
    let zip = place.zip_boroughs();
    let with = |boroughs: Boroughs, by| {
        let agree = boroughs.and(zip);
        if zip.is_empty() || !agree.is_empty() {
            Scope {
                boroughs: if agree.is_empty() { boroughs } else { agree },
                contrary: Boroughs::default(),
                by,
            }
        } else {
            Scope {
                boroughs,
                contrary: zip,
                by,
            }
        }
    };
    if let Some(borough) = place.named {
        // A borough by name outweighs a ZIP: the ZIP is said to be wrong, and no other place is looked at. Where two are
        // named, the address must be in one of them alone.
        return Scope {
            boroughs: Boroughs::only(borough).or(place.also),
            contrary: Boroughs::default(),
            by: By::Borough,
        };
    }
    if !place.hinted.is_empty() {
        return with(place.hinted, By::City);
    }
    match place.new_york {
        // Its ZIP may reach over a line that `New York` does not know of: 10463.
        NewYork::City if zip.contains(Borough::Manhattan) => Scope {
            boroughs: zip,
            contrary: Boroughs::default(),
            by: By::NewYork,
        },
        NewYork::City => with(Boroughs::only(Borough::Manhattan), By::NewYork),
        _ if !zip.is_empty() => Scope {
            boroughs: zip,
            contrary: Boroughs::default(),
            by: By::Zip,
        },
        NewYork::State => Scope {
            boroughs: Boroughs::ALL,
            contrary: Boroughs::default(),
            by: By::State,
        },
        NewYork::No => Scope {
            boroughs: Boroughs::ALL,
            contrary: Boroughs::default(),
            by: By::Nothing,
        },
    }
}

/// Whether a text that fits no row means a place across the Nassau line.
pub(crate) fn means_nassau(place: &Where) -> bool {
    match place.zip_area() {
        Some(ZipArea::Line(_)) => true,
        Some(ZipArea::City(_)) => false,
        _ => place.on_the_line,
    }
}

/// Whether the ZIP is one of Nassau beside a name that Nassau shares: nothing of it is the city's.
pub(crate) fn is_nassau(place: &Where) -> bool {
    place.on_the_line && place.zip_area() == Some(ZipArea::State)
}
