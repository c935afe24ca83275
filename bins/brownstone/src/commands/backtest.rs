//! `brownstone backtest`: how wrong values are, on sales that were not known when they were made.

use std::{io::IsTerminal as _, path::PathBuf, time::Instant};

use anyhow::{Context as _, bail, ensure};
use brownstone_valuation::{
    backtest::Backtest,
    day_number, load,
    model::{Group, Settings},
};
use clap::Args;
use indicatif::ProgressBar;
use time::{Date, format_description::well_known::Iso8601};

use super::{complain, say};

/// Between these lines a page's table is written anew; what stands around them stays.
const BEGIN: &str = "<!-- back-test: begin -->";
const END: &str = "<!-- back-test: end -->";

#[derive(Debug, Args)]
pub(crate) struct BacktestArgs {
    /// Published files of sales (CSV, plain or gzip, XLSX), or folders of them
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    from: Vec<PathBuf>,
    /// Train on what is sold before this day, value what is sold from it on
    #[arg(long, value_name = "YYYY-MM-DD")]
    cut: String,
    /// A sale is known only so many days after it: the city publishes late
    #[arg(long, value_name = "DAYS", default_value_t = 0)]
    delay: u16,
    /// Write the table here: between the two marks where the page has them, else as the whole page
    #[arg(long, value_name = "PATH")]
    write: Option<PathBuf>,
}

impl BacktestArgs {
    /// Prints the table, and writes it.
    ///
    /// # Errors
    /// When a file is no table of sales, or nothing was sold on one side of the cut.
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let cut = Date::parse(&self.cut, &Iso8601::DATE).with_context(|| {
            format!(
                "--cut is {:?}; a day such as 2023-07-01 is expected",
                self.cut
            )
        })?;
        let bar = spinner("reading sales");
        let started = Instant::now();
        let loaded = load(&self.from)?;
        let day = day_number(cut);
        let before = loaded.sales.iter().filter(|sale| sale.date < day).count();
        ensure!(
            before > 0 && before < loaded.sales.len(),
            "--cut is {cut}; {before} of the {} sales read are before it, and there must be some on each side",
            loaded.sales.len()
        );
        bar.set_message("training and valuing");
        let settings = Settings::default();
        let test = Backtest::run(&loaded, day, i32::from(self.delay), &settings)?;
        bar.finish_and_clear();
        let valued = test.rows.iter().filter(|row| row.value.is_some()).count();
        let head = format!(
            "{} rows read, {} sales kept; trained on what was sold before {cut}, {valued} of {} later sales valued, \
             each by what was {}.",
            loaded.rows,
            loaded.sales.len(),
            test.rows.len(),
            match self.delay {
                0 => "sold before its day".to_owned(),
                days => format!("sold {days} days before its day or earlier"),
            },
        );
        let text = format!("{head}\n{}", test.table());
        say(text.trim_end());
        complain(&format!(
            "model {}, {:.0} s in all",
            test.model.version(),
            started.elapsed().as_secs_f64()
        ));
        for group in Group::ALL {
            let used = test.rows.iter().filter(|row| row.group == group);
            let method = used
                .filter_map(|row| row.value)
                .map(|value| value.method.name())
                .next();
            complain(&format!(
                "{}: {}",
                group.name(),
                method.unwrap_or("no sale")
            ));
        }
        if let Some(path) = &self.write {
            let page = match std::fs::read_to_string(path) {
                Ok(page) => page,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
                Err(error) => return Err(error).context(format!("cannot read {}", path.display())),
            };
            std::fs::write(path, within(&page, &text)?)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}

fn spinner(what: &'static str) -> ProgressBar {
    let bar = if std::io::stderr().is_terminal() {
        ProgressBar::new_spinner()
    } else {
        ProgressBar::hidden()
    };
    bar.enable_steady_tick(std::time::Duration::from_millis(120));
    bar.set_message(what);
    bar
}

/// The page with the text between its marks; the text alone when there is no page.
fn within(page: &str, text: &str) -> anyhow::Result<String> {
    let text = text.trim_end();
    if page.trim().is_empty() {
        return Ok(format!("{text}\n"));
    }
    let Some((before, rest)) = page.split_once(BEGIN) else {
        bail!("the page has no line {BEGIN:?}; nothing was written");
    };
    let Some((_, after)) = rest.split_once(END) else {
        bail!("the page has no line {END:?}; nothing was written");
    };
    Ok(format!("{before}{BEGIN}\n{text}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_marks_is_written_anew() {
        let page = format!("# Title\n{BEGIN}\nold\n{END}\nend\n");
        let new = within(&page, "| table |\n\n").unwrap();
        assert_eq!(new, format!("# Title\n{BEGIN}\n| table |\n{END}\nend\n"));
        assert_eq!(within(&new, "| table |").unwrap(), new);
        assert_eq!(within("", "| table |").unwrap(), "| table |\n");
        assert!(within("# Title", "x").is_err());
        assert!(within(&format!("{BEGIN} only"), "x").is_err());
    }
}
