//! The program on its sample city, for examples and tests: a server of its own on a free port, gone with the value.

use std::{
    io::{BufRead as _, BufReader, Error, ErrorKind, Lines},
    path::PathBuf,
    process::{Child, ChildStdout, Command, Stdio},
};

use tempfile::TempDir;

/// A running server.
#[derive(Debug)]
pub struct Sample {
    child: Child,
    url: String,
    key: String,
    // What it prints later must have somewhere to go.
    _output: Lines<BufReader<ChildStdout>>,
    // Its database and its folder go when the server is gone.
    _folder: TempDir,
}

impl Sample {
    /// Starts the program that was built beside this crate, or the one that `TEST_BROWNSTONE_BIN` names.
    ///
    /// # Errors
    /// When there is no such program, or it ends before it is ready.
    pub fn start() -> std::io::Result<Self> {
        let program = program();
        if !program.exists() {
            return Err(Error::new(
                ErrorKind::NotFound,
                format!(
                    "{} is missing: `cargo build -p brownstone` builds it",
                    program.display()
                ),
            ));
        }
        let folder = tempfile::tempdir()?;
        let mut child = Command::new(program)
            .args(["serve", "--sample", "--api-addr", "127.0.0.1:0"])
            .current_dir(folder.path())
            .env_clear()
            .env("BROWNSTONE_WEB_ADDR", "127.0.0.1:0")
            .env("BROWNSTONE_LOG", "error")
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().ok_or(ErrorKind::BrokenPipe)?;
        let mut output = BufReader::new(output).lines();
        let (mut url, mut key) = (None, None);
        while let Some(line) = output.next() {
            let line = line?;
            let after = |mark: &str| line.split_once(mark).map(|(_, rest)| rest.to_owned());
            url = url.or_else(|| after("API listening on "));
            key = key.or_else(|| after("key for demo@example.com: "));
            if let (Some(url), Some(key)) = (&url, &key) {
                return Ok(Self {
                    child,
                    url: url.clone(),
                    key: key.clone(),
                    _output: output,
                    _folder: folder,
                });
            }
        }
        child.kill()?;
        child.wait()?;
        Err(Error::other("the program ended before it was ready"))
    }

    /// Its base URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// An API key of its sample account.
    pub fn key(&self) -> &str {
        &self.key
    }
}

impl Drop for Sample {
    fn drop(&mut self) {
        // Nothing can be done about one that is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program() -> PathBuf {
    if let Some(path) = std::env::var_os("TEST_BROWNSTONE_BIN") {
        return path.into();
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target"),
        PathBuf::from,
    );
    let profile = if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    };
    target.join(profile).join("brownstone")
}
