//! Which column is which: by the header's names in every spelling seen, or by place where there is no header.

/// A column of the sales table that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Column {
    Bbl,
    Borough,
    Neighborhood,
    TaxClassNow,
    Block,
    Lot,
    ClassNow,
    Address,
    Unit,
    Zip,
    ResidentialUnits,
    CommercialUnits,
    TotalUnits,
    LandSqft,
    GrossSqft,
    YearBuilt,
    TaxClassAtSale,
    ClassAtSale,
    Latitude,
    Longitude,
    Price,
    Date,
}

const COUNT: usize = Column::Date as usize + 1;
const NONE: u16 = u16::MAX;

/// Names without anything but letters, lower case. A name that ends in `*` is a beginning: the annual files add the
/// roll's year (`BUILDING CLASS AS OF FINAL ROLL 18/19`), and SODA cuts long names (`building_class_at_time_of`).
const NAMES: &[(&str, Column)] = &[
    ("bbl", Column::Bbl),
    ("borough", Column::Borough),
    ("boroughfinance", Column::Borough),
    ("neighborhood", Column::Neighborhood),
    ("taxclassatpresent", Column::TaxClassNow),
    ("taxclassasoffinal*", Column::TaxClassNow),
    ("block", Column::Block),
    ("blockfinance", Column::Block),
    ("lot", Column::Lot),
    ("lotfinance", Column::Lot),
    ("buildingclassatpresent", Column::ClassNow),
    ("buildingclassasoffinal*", Column::ClassNow),
    ("address", Column::Address),
    ("addressfinance", Column::Address),
    ("apartmentnumber", Column::Unit),
    ("zipcode", Column::Zip),
    ("residentialunits", Column::ResidentialUnits),
    ("commercialunits", Column::CommercialUnits),
    ("totalunits", Column::TotalUnits),
    ("landsquarefeet", Column::LandSqft),
    ("grosssquarefeet", Column::GrossSqft),
    ("yearbuilt", Column::YearBuilt),
    ("taxclassattimeof*", Column::TaxClassAtSale),
    ("buildingclassattimeof*", Column::ClassAtSale),
    ("latitude", Column::Latitude),
    ("longitude", Column::Longitude),
    ("saleprice", Column::Price),
    ("saledate", Column::Date),
];

/// The table's own order, 21 columns; those that are not read are `None`.
const PLACES: [Option<Column>; 21] = [
    Some(Column::Borough),
    Some(Column::Neighborhood),
    None,
    Some(Column::TaxClassNow),
    Some(Column::Block),
    Some(Column::Lot),
    None,
    Some(Column::ClassNow),
    Some(Column::Address),
    Some(Column::Unit),
    Some(Column::Zip),
    Some(Column::ResidentialUnits),
    Some(Column::CommercialUnits),
    Some(Column::TotalUnits),
    Some(Column::LandSqft),
    Some(Column::GrossSqft),
    Some(Column::YearBuilt),
    Some(Column::TaxClassAtSale),
    Some(Column::ClassAtSale),
    Some(Column::Price),
    Some(Column::Date),
];

/// Where each column stands in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Columns {
    at: [u16; COUNT],
}

impl Columns {
    /// The columns a header names; `None` when it lacks one that a sale cannot do without.
    ///
    /// Of two columns with one name the last is meant: files joined to the land-use table carry the sale's own last.
    pub(crate) fn of_header<'a>(cells: impl Iterator<Item = &'a [u8]>) -> Option<Self> {
        let mut at = [NONE; COUNT];
        for (place, cell) in (0_u16..).zip(cells) {
            let name: String = cell
                .iter()
                .filter(|b| b.is_ascii_alphabetic())
                .map(|b| char::from(b.to_ascii_lowercase()))
                .collect();
            let found = NAMES.iter().find(|(known, _)| {
                known
                    .strip_suffix('*')
                    .map_or(*known == name, |start| name.starts_with(start))
            });
            if let Some((_, column)) = found
                && let Some(slot) = at.get_mut(*column as usize)
            {
                *slot = place;
            }
        }
        let columns = Self { at };
        columns.is_enough().then_some(columns)
    }

    /// The columns by place, of a first row that is data: the table's 21, or 22 with a BBL before them.
    pub(crate) fn of_row(cells: &[&[u8]]) -> Option<Self> {
        let first = cells.first()?;
        let shift = match cells.len() {
            21 => 0,
            22 if first.len() == 10 && first.iter().all(u8::is_ascii_digit) => 1,
            _ => return None,
        };
        let mut at = [NONE; COUNT];
        if shift == 1 {
            at[Column::Bbl as usize] = 0;
        }
        for (place, column) in (shift..).zip(PLACES) {
            if let Some(slot) = column.and_then(|column| at.get_mut(column as usize)) {
                *slot = place;
            }
        }
        let columns = Self { at };
        let cell = |column: Column| {
            columns
                .get(column)
                .and_then(|at| cells.get(at))
                .copied()
                .unwrap_or_default()
        };
        let fits = matches!(cell(Column::Borough), [b'1'..=b'5'])
            && super::value::date(cell(Column::Date)) != super::value::RawDate::Bad
            && super::value::number(cell(Column::Price)) != super::value::Number::Bad;
        fits.then_some(columns)
    }

    /// Where the column stands.
    pub(crate) fn get(&self, column: Column) -> Option<usize> {
        self.at
            .get(column as usize)
            .filter(|at| **at != NONE)
            .map(|at| usize::from(*at))
    }

    /// How many fields a whole record has at least.
    pub(crate) fn width(&self) -> usize {
        self.at
            .iter()
            .filter(|at| **at != NONE)
            .map(|at| usize::from(*at) + 1)
            .max()
            .unwrap_or(0)
    }

    fn is_enough(&self) -> bool {
        let has = |column| self.get(column).is_some();
        let lot =
            has(Column::Bbl) || (has(Column::Borough) && has(Column::Block) && has(Column::Lot));
        lot && has(Column::Price)
            && has(Column::Date)
            && has(Column::Address)
            && (has(Column::ClassAtSale) || has(Column::ClassNow))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(line: &str) -> Option<Columns> {
        Columns::of_header(line.split(',').map(str::as_bytes))
    }

    #[test]
    fn the_spellings_of_one_header() {
        let published = header(
            "BOROUGH,NEIGHBORHOOD,BUILDING CLASS CATEGORY,TAX CLASS AT PRESENT,BLOCK,LOT,EASE-MENT,BUILDING CLASS AT \
             PRESENT,ADDRESS,APARTMENT NUMBER,ZIP CODE,RESIDENTIAL UNITS,COMMERCIAL UNITS,TOTAL UNITS,LAND SQUARE \
             FEET,GROSS SQUARE FEET,YEAR BUILT,TAX CLASS AT TIME OF SALE,BUILDING CLASS AT TIME OF SALE, SALE PRICE ,\
             SALE DATE",
        )
        .unwrap();
        let annual = header(
            "BOROUGH,NEIGHBORHOOD,BUILDING CLASS CATEGORY,TAX CLASS AS OF FINAL ROLL 18/19,BLOCK,LOT,EASE-MENT,BUILDING \
             CLASS AS OF FINAL ROLL 18/19,ADDRESS,APARTMENT NUMBER,ZIP CODE,RESIDENTIAL UNITS,COMMERCIAL UNITS,TOTAL \
             UNITS,LAND SQUARE FEET,GROSS SQUARE FEET,YEAR BUILT,TAX CLASS AT TIME OF SALE,BUILDING CLASS AT TIME OF \
             SALE,SALE PRICE,SALE DATE",
        )
        .unwrap();
        assert_eq!(published, annual);
        let cells: Vec<&[u8]> =
            "1,A,01 X,1,10,20,,A1,1 MAIN STREET,,10001,1,0,1,1,1,1900,1,A1,5,2019-01-02"
                .split(',')
                .map(str::as_bytes)
                .collect();
        assert_eq!(Columns::of_row(&cells), Some(published));
    }

    #[test]
    fn a_header_that_lacks_a_column_is_none() {
        assert_eq!(header("bbl,address,sale_price,sale_date"), None);
        assert_eq!(header("Sales File as of 8/15/2016,,,"), None);
        assert!(header("bbl,address,sale_price,sale_date,building_class_at_time_of").is_some());
    }
}
