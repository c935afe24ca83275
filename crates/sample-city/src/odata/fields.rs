//! The fields of the Data Dictionary that the sample feed has, with their types.

/// The type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edm {
    Text,
    /// One value of a list. Some servers write its values with blanks, some without: both compare equal here.
    Lookup,
    /// Several values of a list.
    Lookups,
    Integer,
    Decimal,
    Boolean,
    Date,
    /// A moment, with its zone.
    Moment,
}

impl Edm {
    /// The name in `$metadata`.
    fn name(self) -> &'static str {
        match self {
            Self::Text | Self::Lookup => "Edm.String",
            Self::Lookups => "Collection(Edm.String)",
            Self::Integer => "Edm.Int64",
            Self::Decimal => "Edm.Decimal",
            Self::Boolean => "Edm.Boolean",
            Self::Date => "Edm.Date",
            Self::Moment => "Edm.DateTimeOffset",
        }
    }
}

/// A kind of entity.
#[derive(Debug)]
pub(crate) struct Resource {
    pub(crate) name: &'static str,
    pub(crate) key: &'static str,
    pub(crate) fields: &'static [(&'static str, Edm)],
    /// What `$expand` may add.
    pub(crate) expands: &'static [&'static str],
}

impl Resource {
    pub(crate) fn field(&self, name: &str) -> Option<Edm> {
        (self.fields.iter())
            .find(|(known, _)| *known == name)
            .map(|(_, kind)| *kind)
    }
}

/// Listings.
pub(crate) const PROPERTY: Resource = Resource {
    name: "Property",
    key: "ListingKey",
    expands: &["Media", "OpenHouse"],
    fields: &[
        ("ListingKey", Edm::Text),
        ("ListingId", Edm::Text),
        ("OriginatingSystemName", Edm::Text),
        ("StandardStatus", Edm::Lookup),
        ("MlsStatus", Edm::Lookup),
        ("PropertyType", Edm::Lookup),
        ("PropertySubType", Edm::Lookup),
        ("UnparsedAddress", Edm::Text),
        ("StreetNumber", Edm::Text),
        ("StreetName", Edm::Text),
        ("UnitNumber", Edm::Text),
        ("City", Edm::Lookup),
        ("CountyOrParish", Edm::Lookup),
        ("StateOrProvince", Edm::Lookup),
        ("PostalCode", Edm::Text),
        ("Country", Edm::Lookup),
        ("SubdivisionName", Edm::Text),
        ("BuildingName", Edm::Text),
        ("ParcelNumber", Edm::Text),
        ("Latitude", Edm::Decimal),
        ("Longitude", Edm::Decimal),
        ("ListPrice", Edm::Decimal),
        ("OriginalListPrice", Edm::Decimal),
        ("PreviousListPrice", Edm::Decimal),
        ("ClosePrice", Edm::Decimal),
        ("LeaseAmountFrequency", Edm::Lookup),
        ("ListingContractDate", Edm::Date),
        ("OnMarketDate", Edm::Date),
        ("OffMarketDate", Edm::Date),
        ("CloseDate", Edm::Date),
        ("DaysOnMarket", Edm::Integer),
        ("BedroomsTotal", Edm::Integer),
        ("BathroomsTotalInteger", Edm::Integer),
        ("BathroomsTotalDecimal", Edm::Decimal),
        ("BathroomsFull", Edm::Integer),
        ("BathroomsHalf", Edm::Integer),
        ("RoomsTotal", Edm::Integer),
        ("LivingArea", Edm::Decimal),
        ("LivingAreaUnits", Edm::Lookup),
        ("LotSizeArea", Edm::Decimal),
        ("LotSizeUnits", Edm::Lookup),
        ("LotSizeSquareFeet", Edm::Decimal),
        ("YearBuilt", Edm::Integer),
        ("NewConstructionYN", Edm::Boolean),
        ("EntryLevel", Edm::Integer),
        ("StoriesTotal", Edm::Integer),
        ("NumberOfUnitsTotal", Edm::Integer),
        ("AssociationFee", Edm::Decimal),
        ("AssociationFeeFrequency", Edm::Lookup),
        ("TaxAnnualAmount", Edm::Decimal),
        ("TaxYear", Edm::Integer),
        ("AvailabilityDate", Edm::Date),
        ("LeaseTerm", Edm::Lookup),
        ("Furnished", Edm::Lookup),
        ("PetsAllowed", Edm::Lookups),
        ("NoFeeYN", Edm::Boolean),
        ("NetEffectiveRent", Edm::Decimal),
        ("MonthsFree", Edm::Decimal),
        ("RentStabilizedYN", Edm::Boolean),
        ("InternetEntireListingDisplayYN", Edm::Boolean),
        ("InternetAddressDisplayYN", Edm::Boolean),
        ("ListOfficeName", Edm::Text),
        ("ListAgentFullName", Edm::Text),
        ("ListingURL", Edm::Text),
        ("PublicRemarks", Edm::Text),
        ("PhotosCount", Edm::Integer),
        ("PhotosChangeTimestamp", Edm::Moment),
        ("PriceChangeTimestamp", Edm::Moment),
        ("StatusChangeTimestamp", Edm::Moment),
        ("OriginalEntryTimestamp", Edm::Moment),
        ("ModificationTimestamp", Edm::Moment),
    ],
};

/// Photographs.
pub(crate) const MEDIA: Resource = Resource {
    name: "Media",
    key: "MediaKey",
    expands: &[],
    fields: &[
        ("MediaKey", Edm::Text),
        ("ResourceName", Edm::Lookup),
        ("ResourceRecordKey", Edm::Text),
        ("MediaCategory", Edm::Lookup),
        ("MediaURL", Edm::Text),
        ("MimeType", Edm::Text),
        ("Order", Edm::Integer),
        ("MediaModificationTimestamp", Edm::Moment),
        ("ModificationTimestamp", Edm::Moment),
    ],
};

/// Open houses.
pub(crate) const OPEN_HOUSE: Resource = Resource {
    name: "OpenHouse",
    key: "OpenHouseKey",
    expands: &[],
    fields: &[
        ("OpenHouseKey", Edm::Text),
        ("ListingKey", Edm::Text),
        ("ListingId", Edm::Text),
        ("OpenHouseDate", Edm::Date),
        ("OpenHouseStartTime", Edm::Moment),
        ("OpenHouseEndTime", Edm::Moment),
        ("OpenHouseStatus", Edm::Lookup),
        ("OpenHouseType", Edm::Lookup),
        ("AppointmentRequiredYN", Edm::Boolean),
        ("ModificationTimestamp", Edm::Moment),
    ],
};

/// The document at `$metadata`.
pub(crate) fn metadata() -> String {
    let resources = [&PROPERTY, &MEDIA, &OPEN_HOUSE];
    let mut text = String::from(concat!(
        r#"<?xml version="1.0" encoding="utf-8"?>"#,
        r#"<edmx:Edmx Version="4.0" xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx"><edmx:DataServices>"#,
        r#"<Schema Namespace="org.reso.metadata" xmlns="http://docs.oasis-open.org/odata/ns/edm">"#,
    ));
    for resource in resources {
        text.push_str(&format!(
            r#"<EntityType Name="{}"><Key><PropertyRef Name="{}"/></Key>"#,
            resource.name, resource.key
        ));
        for (name, kind) in resource.fields {
            let kind = kind.name();
            text.push_str(&format!(r#"<Property Name="{name}" Type="{kind}"/>"#));
        }
        for name in resource.expands {
            text.push_str(&format!(
                r#"<NavigationProperty Name="{name}" Type="Collection(org.reso.metadata.{name})"/>"#
            ));
        }
        text.push_str("</EntityType>");
    }
    text.push_str(r#"<EntityContainer Name="Default">"#);
    for Resource { name, .. } in resources {
        text.push_str(&format!(
            r#"<EntitySet Name="{name}" EntityType="org.reso.metadata.{name}"/>"#
        ));
    }
    text.push_str("</EntityContainer></Schema></edmx:DataServices></edmx:Edmx>");
    text
}
