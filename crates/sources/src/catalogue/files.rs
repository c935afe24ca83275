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
    "nyc_ecb",
    "nyc_dob",
    "nyc_dob_complaints",
    "nyc_dob_jobs",
    "nyc_dob_permits",
    "nyc_hpd_violations",
    "nyc_hpd_complaints",
    "nyc_hpd_registrations",
    "nyc_evictions",
    "nyc_dof_assessments",
    "nyc_acris",
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
