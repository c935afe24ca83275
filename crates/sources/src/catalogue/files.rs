//! The files of the catalogue, compiled in. Their order is the order of the report.

macro_rules! files {
    ($($key:literal),* $(,)?) => {
        /// Key and text of every file.
        pub(crate) const FILES: &[(&str, &str)] = &[
            $(($key, include_str!(concat!("../../catalogue/", $key, ".toml")))),*
        ];
    };
}

files![
    "nyc_pluto",
    "nyc_zoning_tax_lots",
    "nyc_pluto_corrections",
    "nyc_building_footprints",
    "nyc_building_elevations",
    "nyc_condominium_lots",
    "nyc_condominium_units",
    "nyc_city_owned_property",
    "nyc_e_designations",
    "nyc_zoning_applications",
    "nyc_housing_database",
    "nyc_ecb",
    "nyc_dob",
    "nyc_dob_safety_violations",
    "nyc_dob_complaints",
    "nyc_dob_jobs",
    "nyc_dob_now_jobs",
    "nyc_dob_permits",
    "nyc_dob_now_permits",
    "nyc_dob_limited_alterations",
    "nyc_dob_electrical_permits",
    "nyc_dob_certificates",
    "nyc_dob_now_certificates",
    "nyc_dob_after_hours_variances",
    "nyc_dob_stalled_sites",
    "nyc_dob_incidents",
    "nyc_dob_elevators",
    "nyc_dob_elevator_permits",
    "nyc_dob_boilers",
    "nyc_dob_facades",
    "nyc_hpd_violations",
    "nyc_hpd_complaints",
    "nyc_hpd_registrations",
    "nyc_hpd_buildings",
    "nyc_hpd_litigation",
    "nyc_hpd_vacate_orders",
    "nyc_hpd_relocation_charges",
    "nyc_hpd_bedbugs",
    "nyc_hpd_repair_orders",
    "nyc_hpd_handyman_orders",
    "nyc_hpd_fees",
    "nyc_hpd_alternative_enforcement",
    "nyc_hpd_underlying_conditions",
    "nyc_hpd_heat_sensors",
    "nyc_hpd_no_harassment_list",
    "nyc_hpd_affordable_housing",
    "nyc_hpd_speculation_watch",
    "nyc_hpd_nycha_violations",
    "nyc_nycha_addresses",
    "nyc_evictions",
    "nyc_oath_hearings",
    "nyc_fdny_violations",
    "nyc_fdny_vacates",
    "nyc_fdny_inspections",
    "nyc_fdny_inspections_historical",
    "nyc_311_requests",
    "nyc_rodent_inspections",
    "nyc_restaurants",
    "nyc_child_care",
    "nyc_asbestos",
    "nyc_lead_service_lines",
    "nyc_water_tanks",
    "nyc_cooling_towers",
    "nyc_cooling_tower_inspections",
    "nyc_cleanup_sites",
    "nyc_energy_benchmarking",
    "nyc_energy_grades",
    "nyc_landmark_buildings",
    "nyc_landmark_sites",
    "nyc_landmark_permits",
    "nyc_landmark_violations",
    "nyc_sidewalk_reports",
    "nyc_street_trees",
    "nyc_public_spaces",
    "nyc_facilities",
    "nys_subway_entrances",
    "nyc_dof_assessments",
    "nyc_dof_charges",
    "nyc_dof_exemptions",
    "nyc_dof_abatements",
    "nyc_tax_lien_notices",
    "nyc_dof_rolling_sales",
    "nyc_dof_sales",
    "nyc_acris",
    "nys_corporations",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::FILES;

    #[test]
    fn the_folder_and_the_table_agree() {
        let folder: BTreeSet<String> =
            std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/catalogue"))
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
        let table: BTreeSet<String> = FILES.iter().map(|(key, _)| format!("{key}.toml")).collect();
        assert_eq!(folder, table);
        assert_eq!(table.len(), FILES.len(), "a key stands twice in the table");
    }
}
